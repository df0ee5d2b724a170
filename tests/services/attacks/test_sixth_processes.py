"""Two faults at once: a source of time that is wrong everywhere, and a party that starts again."""

from __future__ import annotations

from pathlib import Path

import pytest

from smoothdp.services.client.outcomes import OutcomeStore
from tests.services.delivery.test_clocks import HOUR, JUMP, PARTIES, USERS, WINDOW, OwnClocks


def restart(parties: OwnClocks, party: str) -> None:
    """Let one party know no more of clocks than after a start; the others go on."""
    clocks = {
        "shuffler": parties.shuffler.shuffler.clocks,
        "analyzer": parties.analyzer.analyzer.clocks,
        "issuer": parties.issuer.issuer.clocks,
    }
    vars(clocks[party]).update(vars(parties._of(party)))


@pytest.mark.parametrize(
    "killed", [PARTIES[0], *(pytest.param(p, marks=pytest.mark.slow) for p in PARTIES[1:])]
)
def test_a_party_that_starts_again_believes_no_clock_that_was_set(
    tmp_path: Path, killed: str
) -> None:
    """All follow one wrong source, and all hold; one is killed and comes back on the wrong time.

    Its own clock has not moved since *its* start, and agrees with the other party's. But that one
    was set since its start: its time is nobody's second clock.
    """
    parties = OwnClocks(tmp_path)
    parties.round()
    store = OutcomeStore(tmp_path / "clients.sqlite")
    parties.take_part(store)
    before = parties.what_can_be_destroyed()
    assert (len(before["reports"]), len(before["accounts"])) == (USERS, USERS)
    parties.wrong = dict.fromkeys(PARTIES, 8 * JUMP)
    parties.round()
    assert parties.what_can_be_destroyed() == before
    restart(parties, killed)
    for _ in range(3):
        parties.round()
    assert parties.what_can_be_destroyed() == before
    # Right again, and all are started again: what was acknowledged is counted.
    parties.wrong = dict.fromkeys(PARTIES, 0.0)
    parties.running.close()
    parties.open()
    parties.now = (WINDOW + 1) * HOUR + 600.0
    parties.round()
    released = parties.analyzer.analyzer.storage.read("SELECT window FROM release")
    assert released == [(WINDOW,)]
    parties.running.close()
    store.close()
