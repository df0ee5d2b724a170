"""The poll page before services that lead away, drip or are silent, and before many pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from smoothdp.services.formats.result import SignedResult
from smoothdp.services.shuffler.poll_routes import poll_routes
from smoothdp.services.shuffler.published_results import publish
from smoothdp.services.wire.running import on_loopback
from tests.services.page.page_person import page
from tests.services.page.page_program import needs_node, run
from tests.services.storages import ON_BOTH_STORAGES
from tests.services.worlds.issuing_world import WINDOW, IssuingWorld, Recorder
from tests.services.worlds.small_tasks import ANALYZER_SIGN, small_task


@needs_node
def test_a_page_takes_an_answer_that_leads_away_for_silence(tmp_path: Path) -> None:
    """ "A browser tells a redirect from silence to no page: there it is repeated"; one report."""
    world = IssuingWorld(tmp_path)
    world.open_window()
    shuffler = Recorder(world)

    async def away(request: Request) -> Response:
        await request.body()
        return RedirectResponse("https://other.example/")

    leading = Starlette(routes=[Route("/{path:path}", away, methods=["POST"])])
    with on_loopback(leading) as lead:
        asked, said, then = page(
            *(world, shuffler),
            """
            let count = 0;
            const led = (url, fields) => {
              if (!url.includes("/reports/")) return fetcher(url, fields);
              count++;
              return fetch(given.lead + url, fields);
            };
            const said = await press(1, undefined, { fetcher: led });
            return [count, said, await press(0)];
            """,
            lead=lead,
        )
    assert asked == 5
    assert "does not answer" in said
    assert then == ""
    assert len(shuffler.reports()) == 1
    world.close()


@needs_node
@pytest.mark.parametrize("which", ["/cards/", "/tokens/"])
def test_a_service_that_drips_is_not_heard_for_ever(world: IssuingWorld, which: str) -> None:
    """A byte before each time that is waited for: the whole of an answer has a time too."""
    found = page(
        world,
        Recorder(world),
        """
        const wait = globalThis.setTimeout, times = [];
        let all;
        globalThis.setTimeout = (work, time, ...more) => {
          if (time < 30000) return wait(work, time, ...more);
          times.push(time);
          if (time > 60000) all = work;
        };
        let bytes = 0;
        const drips = () => new Response(new ReadableStream({ pull: (to) => {
          if (++bytes === 9) all?.();
          if (bytes > 40) throw new Error("heard for too long");
          to.enqueue(new Uint8Array(1));
          return new Promise((done) => setImmediate(done));
        } }));
        const fetched = async (url, fields) =>
          url.includes(given.which) ? drips() : fetcher(url, fields);
        const said = await press(1, given.invitations[0], { fetcher: fetched, attempts: 1 });
        return [said, Math.max(...times)];
        """,
        which=which,
    )
    said, longest = found
    assert said.startswith("The service does not answer. Press"), said
    assert 60_000 < longest < 63_000


@needs_node
def test_a_silent_shuffler_is_asked_once_what_it_destroyed() -> None:
    """Half a minute for each window of the budget would be a quarter of an hour for 30."""
    task = small_task(windows=30)
    found = run(
        """
        const { outcomes, placeOf, submit } = smoothdp;
        const of = (...numbers) => new Uint8Array(numbers);
        const task = JSON.parse(given), taskId = "task", asked = [];
        const who = { task, taskId, pass: "a".repeat(96), invitation: "b".repeat(96) };
        for (let window = 100; window < 130; window++) {
          const row = { cardDigest: of(1), state: outcomes.DRAWN, slots: of(2), seed: of(3) };
          const place = await placeOf({ ...who, window });
          await outcomes.keep(place, { row, signed: of(4) }, { most: 30 });
          await outcomes.keepReport(place, of(5));
          await outcomes.keepMarks([taskId, window, place.who], of(6));
        }
        const fetcher = async (url, { method }) => {
          asked.push(method ?? "GET");
          throw new TypeError("Failed to fetch");
        };
        const seconds = () => 130 * task.window_seconds;
        await submit({ ...who, datum: 1, window: 130, fetcher, attempts: 1, seconds })
          .catch(() => {});
        return asked;
        """,
        task.encoded.decode(),
    )
    assert found == ["HEAD", "GET"]


@needs_node
def test_results_that_drip_hold_a_page_for_as_long_as_is_said() -> None:
    """ "For one that drips a minute and a second for each 64 kB": of results 64 MB are meant."""
    longest = run(
        """
        const own = setTimeout, times = [];
        globalThis.setTimeout = (work, time) => { times.push(time); return own(work, time); };
        const fetcher = async () => new Response("[]");
        await smoothdp.ask("/poll/x/results", {}, { most: smoothdp.MOST_RESULTS, fetcher });
        return Math.max(...times);
        """
    )
    assert longest == 1000 * (60 + 1024)


@ON_BOTH_STORAGES
def test_a_result_that_is_looked_at_again_is_not_checked_again(
    quick_world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "The same request a thousand times": each open page asks every three seconds, with no pass.

    Of 365 windows a request took 90 ms of the process that takes the reports.
    """
    for window in range(WINDOW, WINDOW + 30):
        document = {"task_id": quick_world.task.task_id.hex(), "window": window, "users": 12}
        publish(quick_world.folder / "published", SignedResult.sign(document, ANALYZER_SIGN))
    checked: list[bytes] = []
    verify = SignedResult.verify

    def counted(result: SignedResult, *key: Any) -> bool:
        checked.append(result.encode())
        return verify(result, *key)

    monkeypatch.setattr(SignedResult, "verify", counted)
    routes = poll_routes(quick_world.task, "Tea?", quick_world.folder / "published")
    with on_loopback(Starlette(routes=routes)) as page:
        for _ in range(10):
            answer = httpx.get(f"{page}/poll/{quick_world.task.task_id.hex()}/results")
            assert len(answer.json()) == 30
    assert len(checked) <= 2 * 30
