"""The poll page in a real browser, where tabs, storage and services fail it.

Needs node, chromium and the packages of browser/; without them the run says what brings them.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from smoothdp.services.client.inclusion import Standing
from smoothdp.services.demo.poll_demo import Poll, poll_on_loopback
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.report import Report
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.shuffler.poll_routes import poll_routes
from smoothdp.services.shuffler.published_results import publish
from smoothdp.services.wire.running import on_loopback
from tests.services.page.test_browser import (
    FEW,
    browser as browser,
    driven,
    evaluated,
    poll as poll,
    pressing,
    step,
)
from tests.services.worlds.issuing_world import WINDOW
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN, small_task

pytestmark = pytest.mark.slow

SHOWN = """
const $ = (id) => document.getElementById(id);
const pause = (seconds) => new Promise((done) => setTimeout(done, 1000 * seconds));
const until = async (holds) => { while (!(await holds())) await pause(0.02); };
await until(() => !$("poll").hidden || $("status").className === "problem");
const answer = async (invitation, pass = "") => {
  if (pass) $("pass").value = pass;
  $("invitation").value = invitation;
  document.querySelector("input[name=choice]").checked = true;
  $("status").className = "note";
  $("send").click();
  await until(() => ["done", "problem"].includes($("status").className));
  return $("status").textContent;
};
"""


def test_a_tab_that_is_closed_goes_on_in_the_next_one(browser: str, poll: Poll) -> None:
    """Before the tokens and after them, before the shuffler has the report and after."""
    for which, after in (("/tokens/", 0), ("/tokens/", 1), ("/reports/", 0), ("/reports/", 1)):
        code = pressing(
            poll,
            f"""
            const bodies = [];
            const real = async (url, fields) => {{
              const found = await fetch(url, fields);
              if (url.includes("/reports/")) bodies.push(found.status);
              return found;
            }};
            const stuck = new Promise((done) => {{
              const closed = async (url, fields) => {{
                if (!url.includes({which!r})) return real(url, fields);
                if ({after}) await real(url, fields);
                done();
                return new Promise(() => {{}});
              }};
              globalThis.again = () => press(0, {{ fetcher: real }});
              if (!CLOSED) press(1, {{ fetcher: closed }});
            }});
            if (!CLOSED) await stuck;
            else bodies.unshift(await again());
            return [bodies, await kept()];
            """,
        )
        start, end = (f"const CLOSED = {closed};" + code for closed in ("false", "true"))
        with driven(browser, link=poll.link, evaluate=start, reloaded=[end]) as process:
            before, then = (step(process, "evaluated")["value"] for _ in range(2))
            step(process, "end")
        assert then[0] == ["", 202]
        assert then[1][0] == "sent"
        assert before[1][0] == ("drawn" if which == "/tokens/" else "final")
        # The report of before, if there was one.
        assert before[1][1] in (None, then[1][1])


def test_two_tabs_at_once(browser: str, poll: Poll) -> None:
    link, invitation = poll.invite()
    answered = poll.answered()
    code = SHOWN + f"return answer({invitation!r}, {link.partition('#')[2]!r});"
    with driven(browser, link=poll.link, evaluate="return 0;", tabs=[code] * 3) as process:
        step(process, "evaluated")
        said = step(process, "evaluated")["value"]
        assert step(process, "end")["problems"] == []
    assert all("has arrived" in one for one in said)
    assert poll.answered() == answered + 1


def test_what_was_typed_goes_nowhere_else_and_stays_in_no_field(browser: str, poll: Poll) -> None:
    """A pass is not sent to the issuer, and an answer that has arrived is in no field."""
    link, invitation = poll.invite()
    code = f"""
        const asked = [];
        const own = window.fetch;
        window.fetch = (url, fields) => {{ asked.push(url); return own(url, fields); }};
        const persisted = [];
        navigator.storage.persist = async () => persisted.push(1);
        const pass = {link.partition("#")[2]!r};
        const said = [await answer(pass, pass), await answer("typed", pass)];
        const early = asked.filter((url) => !url.includes("/results")).length;
        said.push(await answer({invitation!r}, pass));
        const left = [...document.querySelectorAll("input")].map((input) =>
          input.type === "radio" || input.type === "checkbox" ? input.checked : input.value !== "");
        const off = $("form").autocomplete;
        return {{ said, early, left, off, persisted: persisted.length }};
        """
    found = evaluated(browser, link, SHOWN + code)
    assert found["said"][0].startswith("Pass and invitation are the same here.")
    assert found["said"][1].startswith("That is no invitation")
    assert "has arrived" in found["said"][2]
    assert (found["early"], found["persisted"], found["off"]) == (0, 1, "off")
    assert found["left"] == [False] * len(found["left"])


@pytest.mark.parametrize("name", ["put", "get"])
def test_storage_that_fills_up_or_breaks_on_the_way_sends_nothing(
    browser: str, poll: Poll, name: str
) -> None:
    """At each use of it in turn; once there is room again the same person is counted once."""
    code = pressing(
        poll,
        f"""
        const own = IDBObjectStore.prototype.{name};
        const said = [];
        let good = 0;
        for (let most = 0; most < 60; most++) {{
          let left = most;
          IDBObjectStore.prototype.{name} = function (...all) {{
            if (left-- > 0) return own.apply(this, all);
            throw new DOMException("full", "QuotaExceededError");
          }};
          const before = sent.length;
          told.push(202);
          const words = await press(1);
          said.push(words);
          IDBObjectStore.prototype.{name} = own;
          const row = await kept();
          // What has left is what is kept.
          if (sent.length > before && !["final", "sent"].includes(row?.[0])) return "left unkept";
          if (words === "" && ++good > 1) break;
        }}
        return {{ said, kept: await kept(), sent: sent.length }};
        """,
    )
    found = evaluated(browser, poll.link, code)
    assert found["said"][-1] == ""
    broken = [one for one in found["said"] if one]
    assert broken
    assert all("Allow storage for this page" in one for one in broken), found
    assert found["kept"][0] == "sent"


def test_a_page_that_stays_open_erases_what_is_over(browser: str, poll: Poll) -> None:
    """Its time passes, nobody presses anything: marks are in the place of the report."""
    code = pressing(
        poll,
        """
        await press(1);
        const before = await kept();
        const now = Date.now;
        Date.now = () => now() + 3 * 86400e3;
        const looked = Date.now() + 20e3;
        let after = before;
        while (after[0] === before[0] && Date.now() < looked) {
          await new Promise((done) => setTimeout(done, 200));
          after = await kept();
        }
        return [before, after];
        """,
    )
    before, after = evaluated(browser, poll.link, code)
    assert before[0] == "final"
    assert after == ["marks of a report without an answer", None]


def test_a_page_over_the_end_of_a_window_promises_no_longer_that_the_same_is_sent(
    browser: str, poll: Poll
) -> None:
    """It said so until it was loaded again, and the button then drew a new answer."""
    link, invitation = poll.invite()
    code = f"""
        const own = window.fetch;
        window.fetch = (url, fields) => url.includes("/reports/")
          ? Promise.resolve(new Response("", {{ status: 404 }})) : own(url, fields);
        await answer({invitation!r});
        $("invitation").dispatchEvent(new Event("change"));
        await until(() => $("status").textContent.startsWith("An answer"));
        const said = [$("status").textContent];
        const now = Date.now;
        Date.now = () => now() + 3 * 86400e3;
        await until(() => $("status").textContent !== said[0]);
        return [...said, $("status").textContent];
        """
    said = evaluated(browser, link, SHOWN + code)
    assert "sending again sends the same report" in said[0]
    assert "what you send now is a new answer" in said[1]


def test_a_link_that_lost_its_end_is_mended_by_hand(browser: str, poll: Poll) -> None:
    link, invitation = poll.invite()
    pass_ = link.partition("#")[2]
    code = f"""
        const shown = [!$("pass-row").hidden, $("pass").value.length];
        shown.push(await answer({invitation!r}), await answer({invitation!r}, {pass_!r}));
        return shown;
        """
    found = evaluated(browser, link[:-3], SHOWN + code)
    assert found[:2] == [True, 93]
    assert found[2].startswith("That is no pass")
    assert "has arrived" in found[3]


def test_marks_that_are_not_shown_at_once_accuse_nobody_and_are_asked_for_again(
    browser: str,
) -> None:
    with poll_on_loopback(**FEW) as poll:
        code = f"""
            const own = window.fetch;
            let failing = 2;
            window.fetch = (url, fields) => url.includes("/marks/") && failing-- > 0
              ? Promise.resolve(new Response("", {{ status: 503 - 99 * failing }}))
              : own(url, fields);
            const said = [await answer({poll.invitation!r})];
            while (said.length < 3) {{
              await until(() => ![said.at(-1), ""].includes($("standing").textContent));
              said.push($("standing").textContent);
            }}
            return said;
            """
        with driven(browser, link=poll.link, evaluate=SHOWN + code) as process:
            until = time.monotonic() + 60
            while poll.answered() <= len(FEW["made_up"]) and time.monotonic() < until:
                time.sleep(0.05)
            poll.close()
            found = step(process, "evaluated")["value"]
            step(process, "end")
    assert "has arrived" in found[0]
    assert found[1].startswith("The first service does not show the marks of this time now")
    assert found[2] == Standing.INCLUDED


HOSTILE = "<img src=x onerror='document.title=1'><script>document.title = 2</script>${1}{{1}}"


def test_no_text_of_others_becomes_part_of_the_page(browser: str) -> None:
    fields: dict[str, Any] = {
        "protocol": "histogram",
        "domain": (HOSTILE, "constructor", "\u202egnorw"),
        "made_up": ["constructor"] * 40,
        "question": HOSTILE,
    }
    with poll_on_loopback(**(FEW | fields)) as poll:
        poll.close()
        code = """
            await until(() => !$("result").hidden);
            const sinks = [];
            for (const trial of [() => { $("known").innerHTML = "<b>x</b>"; },
              () => { const it = document.createElement("script"); it.text = "1"; }]) {
              try { trial(); sinks.push("taken"); } catch { sinks.push("refused"); }
            }
            return {
              sinks, title: document.title, question: $("question").textContent,
              elements: document.querySelectorAll("main img, main script").length,
              rows: $("table").tBodies[0].rows.length,
            };
            """
        found = evaluated(browser, poll.link, SHOWN + code)
    assert found["sinks"] == ["refused"] * 2
    assert found["question"] == HOSTILE
    assert found["title"] not in ("1", "2")
    assert (found["elements"], found["rows"]) == (0, 3)


@pytest.mark.parametrize(
    ("which", "answer", "words"),
    [
        ("/about", "new Response('<!doctype html>')", "does not understand"),
        ("/about", "new Response('null')", "does not understand"),
        ("/v2/tasks/", "new Response('<!doctype html>')", "are not those of its name"),
        ("/v2/tasks/", "new Response('', {status: 503})", "does not answer"),
        ("/v2/tasks/", "new Response(new Uint8Array(5e6))", "more than anything that is meant"),
        ("/v2/tasks/", "Promise.reject(new TypeError('Failed to fetch'))", "does not answer"),
    ],
)
def test_answers_at_the_load_that_are_none(
    browser: str, poll: Poll, which: str, answer: str, words: str
) -> None:
    before = f"""
        const own = window.fetch;
        window.fetch = (url, fields) => url.includes({which!r}) ? {answer} : own(url, fields);
        """
    with driven(browser, link=poll.link, before=before, expect=words) as process:
        assert not step(process, "status")["form"]
        step(process, "end")


def test_each_window_with_an_answer_is_looked_up_and_a_refusal_is_no_result(
    browser: str, tmp_path: Path
) -> None:
    """Also where a later window has its result; a window that was refused closes no poll."""
    task = small_task(issuer=None, proof="none", windows=3)
    own, others, digest = bytes(52), b"\x01" * 52, b"d" * 32
    files = {
        WINDOW: MarksFile.of(digest, [own, others]),
        WINDOW + 1: MarksFile.of(digest, [others]),
    }
    for window, file in files.items():
        header = BatchHeader(False, digest, bytes(16), 9, file.slots, (bytes(32),), file.sha256)
        publish(
            tmp_path,
            SignedResult.sign(
                {
                    "task_id": task.task_id.hex(),
                    "window": window,
                    "card_digest": digest.hex(),
                    "marks_sha256": file.sha256.hex(),
                    "batch_header": header.sign(SHUFFLER_SIGN).encode().hex(),
                    "users": 9,
                    "sum": 5.0,
                    "error_of_sum": 1.0,
                    "error_fails_with_probability": 0.05,
                    "epsilon_of_this_batch": 1.0,
                    "sentence": f"The result of {window}.",
                },
                ANALYZER_SIGN,
            ),
        )
    refused = {"task_id": task.task_id.hex(), "window": WINDOW + 2, "state": "refused"}
    publish(tmp_path, SignedResult.sign(refused, ANALYZER_SIGN))

    async def terms(_: Request) -> Response:
        return Response(task.encoded)

    async def marks(request: Request) -> Response:
        return Response(files[int(request.path_params["window"])].encode())

    name = task.task_id.hex()
    routes = [
        Route(f"/v2/tasks/{name}", terms),
        Route(f"/v2/tasks/{name}/marks/{{window}}", marks),
        *poll_routes(task, "Tea?", tmp_path),
    ]
    report = Report(digest, (own,), ()).encode()
    kept = f"""
        for (const window of [{WINDOW}, {WINDOW + 1}]) {{
          const place = {{ taskId: {name!r}, window, who: "me" }};
          const row = {{ cardDigest: smoothdp.fromHex({digest.hex()!r}), state: "final",
            report: smoothdp.fromHex({report.hex()!r}) }};
          await smoothdp.outcomes.keep(place, {{ row, signed: new Uint8Array(1) }}, {{ most: 3 }});
          await smoothdp.outcomes.keepSent(place);
        }}
        """
    shown = """
        await until(() => $("standing").textContent);
        return [$("standing").textContent, $("guarantee").textContent, $("form").hidden];
        """
    with (
        on_loopback(Starlette(routes=routes)) as url,
        driven(
            browser, link=f"{url}/poll/{name}#{'0a' * 48}", evaluate=kept, reloaded=[SHOWN + shown]
        ) as process,
    ):
        step(process, "evaluated")
        standing, guarantee, closed = step(process, "evaluated")["value"]
        assert step(process, "end")["problems"] == []
    assert standing == f"Of 1970-02-11 16:00 UTC: {Standing.INCLUDED} {Standing.LEFT_OUT}"
    assert guarantee.startswith(f"The result of {WINDOW + 1}.")
    assert not closed
