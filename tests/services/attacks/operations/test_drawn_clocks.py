"""Clocks that one wrong source draws away slowly, and does not set in a step."""

from __future__ import annotations

from pathlib import Path

import pytest

from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.operations.clock_guard import ClockGuard
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.own_clocks import HOUR, PARTIES, WINDOW, OwnClocks
from tests.services.worlds.page_of_threats import on_the_page

CHRONY = 1 / 12
"""chrony's default `maxslewrate` is 83,333 ppm; after its first updates it steps no clock."""


class Slewed(OwnClocks):
    """Parties whose clocks are slewed, not set.

    CLOCK_BOOTTIME and CLOCK_MONOTONIC run at the adjusted rate too (clock_gettime(2): of all
    clocks since boot CLOCK_MONOTONIC_RAW alone is not adjusted).
    """

    def _of(self, party: str) -> ClockGuard:
        return ClockGuard(
            wall=lambda: self.now + self.wrong[party],
            boot=lambda: self.now + self.wrong[party] - 1000,
        )


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("world", "is_seen"),
    [(OwnClocks, True), (Slewed, False)],
    ids=["boot time stays", "as in Linux"],
)
def test_clocks_that_one_source_draws_away_are_seen_where_the_time_since_boot_stays(
    tmp_path: Path,
    world: type[OwnClocks],
    is_seen: bool,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """All are right at the start, and follow one source that goes wrong later: as the page says,
    nothing shows that where the time since boot is drawn along.
    """
    assert on_the_page("or that one source draws away slowly")
    parties = world(tmp_path)
    parties.round()
    store = OutcomeStore(tmp_path / "clients.sqlite")
    parties.take_part(store)
    before, begin = parties.what_can_be_destroyed(), parties.now
    over = (WINDOW + 1) * HOUR + 600
    while parties.now < over - 120:
        parties.now = min(parties.now + 240, over - 120)
        parties.wrong = dict.fromkeys(PARTIES, CHRONY * (parties.now - begin))
        parties.round()
    after = parties.what_can_be_destroyed()
    parties.running.close()
    store.close()
    assert max(parties.wrong.values()) > 300
    # Two minutes before the window and its grace are over.
    assert (after == before) == is_seen
