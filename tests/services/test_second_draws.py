"""One user counts once, however often a shuffler asks: real clients against the real analyser.

The shuffler answers 409, 503 or nothing under ever new keys, to be sent several ciphertexts of
one report, which the analyser could not know for one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.services.changing_keys import ChangingKeys, check_copies_count_once, polled, press
from tests.services.world import small_task


@pytest.mark.parametrize("copies", [100, 15])
def test_copies_collected_under_many_keys_count_once(tmp_path: Path, copies: int) -> None:
    shuffler = ChangingKeys(refusals=copies - 1)
    press(polled(), tmp_path / "u.sqlite", shuffler, times=copies // 5 + 1)
    assert len(set(shuffler.envelopes)) >= copies  # distinct ciphertexts at the outer layer
    check_copies_count_once(tmp_path, [slots for _, slots in shuffler.bundles[:copies]])
    # All of them are one report: its number, and the bytes of its slots.
    assert len(set(shuffler.bundles)) == 1


@pytest.mark.parametrize("protocol", ["real_sum", "histogram"])
def test_reports_of_many_slots_keep_them_too(tmp_path: Path, protocol: str) -> None:
    shuffler, datum = ChangingKeys(refusals=9), "a" if protocol == "histogram" else "0.4"
    press(small_task(protocol), tmp_path / "u.sqlite", shuffler, times=3, datum=datum)
    assert len(shuffler.bundles) >= 10
    assert len(set(shuffler.bundles)) == 1


def test_a_key_changed_under_its_old_number(tmp_path: Path) -> None:
    """The outer layer follows the key, not its number: else a shuffler could never open it."""
    shuffler = ChangingKeys(refusals=9, one_number=True)
    press(small_task(), tmp_path / "u.sqlite", shuffler, times=3)
    assert len(set(shuffler.envelopes)) == len(shuffler.envelopes) >= 10
    assert len(set(shuffler.bundles)) == 1
