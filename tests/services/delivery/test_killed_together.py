"""All parties over HTTP, each in a process of its own, killed together: exactly once."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from pathlib import Path

import pytest

from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.client.client import Client
from smoothdp.services.client.collector import fetch_result, read_collector
from smoothdp.services.client.inclusion import Standing, look_up
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.faults import CLIENT_POINTS, ISSUER_POINTS, POINTS
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.issuer.issuer_party import issue_invitations
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_passes
from smoothdp.services.wire.calls import Unreachable, connect
from tests.services.worlds.directories import party_directories
from tests.services.worlds.forked_parties import ForkedParties

# The children touch no thread of the parent: they open files of their own and leave.
pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")

USERS, DAY = 5, 86_400
QUICK = ("ingest: before commit", "release: between ledger and result")
ALL = (*CLIENT_POINTS, *ISSUER_POINTS, *POINTS)


def collect(folder: Path, points: list[str | None]) -> None:
    """Let one window pass, all being killed at each of these points; look at what is left."""
    made = party_directories(
        folder, window_seconds=DAY, epsilon="8", honest_share="1", min_batch=USERS, windows=1
    )
    task, (_, token) = made.task, read_collector(made.collector)
    people = list(
        zip(issue_passes(made.shuffler, USERS), issue_invitations(made.issuer, USERS), strict=True)
    )
    now = time.time()
    window = task.window_at(now) + 1
    begin, over = window * DAY + 60 - now, (window + 1) * DAY + task.grace_seconds + 60 - now
    ahead, deaths, results = begin, 0, list[SignedResult]()
    for point in points:
        parties = ForkedParties(
            folder, task, ahead=ahead, people=people, window=window, point=point
        )

        def is_released(analyzer: str = parties.analyzer) -> bool:
            with suppress(Unreachable), connect(analyzer) as http:
                result, _ = fetch_result(http, task, window, token=token)
                results.extend([] if result is None else [result])
                return result is not None
            return False

        try:
            lives = parties.wait(parties.have_sent)
            if lives:
                ahead = over
                parties.move(ahead)
                lives = parties.wait(is_released)
        finally:
            parties.kill()
        deaths += not lives
    # A point after which a window is over is met once.
    assert deaths >= len(set(points)) - 1
    look_at(folder, window, results[-1])


def look_at(folder: Path, window: int, result: SignedResult) -> None:
    """One batch, one charge, one result, in which everybody is once."""
    document = json.loads(result.body)
    assert document["users"] == document["accounts_served"] == USERS
    analyzer = AnalyzerParty.from_directory(folder / "analyzer")
    shuffler = ShufflerParty.from_directory(folder / "shuffler")
    assert list(analyzer.analyzer.ledger.charged()) == [window]
    assert analyzer.analyzer.storage.read("SELECT count(*) FROM release") == [(1,)]
    assert shuffler.shuffler.totals() == {
        "pending": 0,
        "batched": USERS,
        "shared": 0,
        "expired": 0,
    }
    marks, store = shuffler.shuffler.marks(window) or b"", OutcomeStore(folder / "clients.sqlite")
    for place in range(USERS):
        kept = Client(analyzer.task, store, name=str(place)).kept(window)
        said = look_up(analyzer.task, window, kept, result=result.encode(), marks=marks)
        assert said is Standing.INCLUDED
    for opened in (analyzer, shuffler, store):
        opened.close()


def test_all_parties_killed_together(tmp_path: Path) -> None:
    collect(tmp_path, [*QUICK, None])


@pytest.mark.slow
@pytest.mark.parametrize("point", ALL)
def test_all_parties_killed_together_at_each_point(tmp_path: Path, point: str) -> None:
    collect(tmp_path, [point, point, None])
