"""The committed client of the poll page, in Node, with a stand-in for the browser's storage."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.services.changing_keys import check_copies_count_once
from tests.services.page_attack import SERVICE, bundles

FOLDER = Path(__file__).parents[2] / "browser"
BUNDLE = FOLDER.parent / "src" / "smoothdp" / "services" / "shuffler" / "poll_page" / "poll.js"

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def run(code: str, *, bundle: Path = BUNDLE) -> Any:
    """Return what code returns after the page's program was loaded."""
    done = subprocess.run(
        ["node", str(FOLDER / "test" / "page.mjs")],
        input=json.dumps({"bundle": str(bundle), "code": f"let first = 0; {SERVICE}{code}"}),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_copies_collected_under_many_keys_count_once(tmp_path: Path) -> None:
    sent = run("""
        for (let press_ = 0; press_ < 20; press_++) {
          await press(press_ % 2);
          load();  // the page again
        }
        return sent;
    """)
    assert len({text for _, text in sent}) == 100
    got = bundles(sent)
    check_copies_count_once(tmp_path, [slots for _, slots in got])
    assert len(set(got)) == 1


def test_what_is_sent_is_stored_first_and_tells_nothing() -> None:
    found = run("""
        await press(1);
        const [kept] = [...stored.values()];
        return { sent, fields: Object.keys(kept).sort(), slots: smoothdp.toHex(kept.slots) };
    """)
    assert found["fields"] == ["envelope", "keyId", "reportId", "sealedTo", "slots"]
    assert {slots.hex() for _, slots in bundles(found["sent"])} == {found["slots"]}


def test_two_tabs_at_once_agree_on_one_report() -> None:
    sent = run("await Promise.all([press(0), press(1), press(0)]); return sent;")
    assert len(sent) == 15
    assert len(set(bundles(sent))) == 1


def test_one_code_however_it_is_typed() -> None:
    sent = run("""
        for (const token of ["ab cd", "ABCD", " abcd", "abcd"]) await press(1, token);
        await press(1, "abce", now, true);  // another person
        return sent;
    """)
    assert len(set(bundles(sent[:20]))) == 1
    assert len(set(bundles(sent))) == 2


@pytest.mark.parametrize("status", [401, 410, 425, 429])
def test_another_code_sends_what_was_not_accepted(status: int) -> None:
    """Also back under the first; once it is accepted, under whichever, another is a person."""
    found = run(f"""
        const told = [{status}, {status}, 202, 202, 202, 202, 202];
        const other = async (path, fields) => {{
          const answer = await fetcher(path, fields).catch(() => 0);
          return path === "/v1/keys" ? answer : {{ status: told.shift() }};
        }};
        for (const token of ["a", "b", "b", "a", "c", "b"]) {{
          await smoothdp.submit({{
            task, taskId, token, datum: 1, window: now, fetcher: other, pause: async () => {{}},
          }}).catch(() => {{}});
          load();
        }}
        await press(1, "b", now + 4);
        return {{ sent, left: [...stored.values()].map((kept) => Object.keys(kept)) }};
    """)
    first, *again, third, last = bundles(found["sent"])[:6]
    assert again == [first] * 3
    assert last == first
    assert third[0] != first[0]
    assert third[1] != first[1]
    assert found["left"][:3] == [["accepted"]] * 3


def test_tabs_with_other_codes_at_once_agree_on_one_report() -> None:
    sent = run("""
        await Promise.all([press(0, "a"), press(1, "b"), press(0, "c")]);
        return sent;
    """)
    assert len(set(bundles(sent))) == 1


def test_a_destroyed_report_that_was_not_accepted_is_not_made_anew() -> None:
    found = run("""
        await press(1, "a", 5);
        await press(1, "a", 9);
        const before = sent.length;
        return { said: await press(1, "b", 5), more: sent.length - before };
    """)
    assert "Nothing was sent now" in found["said"]
    assert found["more"] == 0


def test_a_clock_that_was_wrong_makes_no_second_report() -> None:
    found = run("""
        await press(1, "ab", 5);
        const before = sent.length;
        await press(1, "ab", 9);  // destroys what is over
        const between = sent.length;
        const said = [await press(1, "ab", 5), await press(0, "ab", 5)];
        const fields = (kept) => Object.keys(kept).length;
        const left = [...stored].map(([key, kept]) => [JSON.parse(key)[1], fields(kept)]);
        return { counts: [before, between, sent.length], said, left };
    """)
    assert found["counts"] == [5, 10, 10]
    assert all("Nothing was sent now" in said for said in found["said"])
    assert sorted(found["left"]) == [[5, 0], [9, 5]]


def test_a_store_that_fails_sends_nothing() -> None:
    found = run("""
        const put = indexedDB.open;
        indexedDB.open = () => { throw new Error("no"); };
        const said = await press(1);
        indexedDB.open = put;
        return { said, sent };
    """)
    assert "Allow storage for this page" in found["said"]
    assert found["sent"] == []
