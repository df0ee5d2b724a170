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
BUNDLE = FOLDER.parent / "src" / "smoothdp" / "services" / "poll_page" / "poll.js"

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
        await press(1, "abce");
        return sent;
    """)
    assert len(set(bundles(sent[:20]))) == 1
    assert len(set(bundles(sent))) == 2


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
