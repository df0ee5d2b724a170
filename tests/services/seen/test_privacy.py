"""Tests 57 to 61: what is promised is what the code does, from the datum to the released sum.

Real clients, the real shuffler and analyser, without an issuer: tokens do not touch the law.
Audits bound epsilon from below by Clopper and Pearson on two neighbouring inputs; the law of the
ones that are counted is compared with the exact one, people who drop out included.
"""

from __future__ import annotations

import dataclasses
import math
import os
import secrets
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.shuffler.ingest import OpenedReport, Taken
from smoothdp.services.shuffler.shuffler import Shuffler
from tests.services.seen.audit import audit
from tests.services.storages import without_waiting_for_disks
from tests.services.worlds import party_world
from tests.services.worlds.party_world import HOUR, WINDOW
from tests.services.worlds.small_tasks import small_task

USERS, DROPPED = 8, 2
EPSILON, DELTA = 0.3, 0.2
"""Few users and little noise: a slot that is counted five times costs epsilon = 1.36."""
RUNS = 400
"""Runs for each datum by which the audit finds that: from 350 on it misses once in a million."""
FEW_RUNS = 100
"""Runs for each datum of the tests that are not slow: a wrong law is twice the largest distance of
the right one away, so that it too is missed once in a million."""


class Unguarded(Shuffler):
    """The mutant: every copy of a report is stored as if it were another person's."""

    def judge(self, window: int, sender: bytes, sealed: bytes) -> OpenedReport | Taken:
        judged = super().judge(window, sender, sealed)
        if isinstance(judged, Taken):
            return judged
        return dataclasses.replace(
            judged, sender_tag=secrets.token_bytes(16), report_id=secrets.token_bytes(32)
        )


def run_services(folder: Path, runs: int, *, copies: int = 0) -> dict[int, list[dict[str, Any]]]:
    """Return what was released, for the first person's datum 0 and 1; the others have 0.

    In each window more people draw than send: those who drop out are drawn by their clients too.
    """
    # A budget of so many windows is no promise to anybody: each is a run of its own.
    task = small_task(
        epsilon=str(EPSILON),
        delta=str(DELTA),
        min_batch=USERS,
        windows=5,
        honest_share="1",
        issuer=None,
        proof="none",
    )
    found: dict[int, list[dict[str, Any]]] = {0: [], 1: []}
    for first in range(0, runs, 5):
        place = folder / str(first)
        place.mkdir(parents=True)
        world = party_world.PartyWorld(place, task)
        outcomes = OutcomeStore(place / "clients.sqlite")
        for storage in (
            *(world.shuffler.storage, world.analyzer.storage, outcomes._storage),
            *(keys._storage for keys in world.keys),
        ):
            without_waiting_for_disks(storage)
        if copies:
            world.shuffler.__class__ = Unguarded
        for run in range(first, min(first + 5, runs)):
            window = WINDOW + run - first
            world.go_to(window * HOUR + 700.0)
            world.open_window(window)
            card = world.shuffler.cards.stored(window)
            assert card is not None
            for person in range(USERS + DROPPED):
                client = Client(task, outcomes, name=str(person), clock=partial(now_of, world))
                client.take_part(run % 2 if person == 0 else 0, card=card, window=window)
                if person >= USERS:
                    continue
                sender = world.shuffler.sender(world.new_pass())
                assert sender is not None
                for _ in range(1 + copies * (person == 0)):
                    judged = world.shuffler.judge(window, sender, client.sealed_report(window))
                    assert not isinstance(judged, Taken)
                    assert world.shuffler.accept([judged]) == [Taken.ACCEPTED]
            found[run % 2].append(world.finish(window=window))
        outcomes.close()
        world.close()
    return found


def now_of(world: party_world.PartyWorld) -> float:
    """Return the present time of a world."""
    return world.now


def ones(documents: list[dict[str, Any]]) -> list[int]:
    """Return how many ones were counted, from what was released."""
    flip = flip_probability()
    return [round(d["sum"] * (1 - 2 * flip) + d["users"] * flip) for d in documents]


def flip_probability() -> float:
    task = small_task(
        epsilon=str(EPSILON), delta=str(DELTA), min_batch=USERS, windows=5, honest_share="1"
    )
    protocol: Any = task.collect(USERS)
    return float(protocol.flip_probability)


def binomial_law(n: int, p: float) -> list[float]:
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def law_of_ones(datum: int, flip: float) -> list[float]:
    """Return the exact law of the ones of a batch: one person's bit, and seven zeros."""
    others, mine = binomial_law(USERS - 1, flip), 1 - flip if datum else flip
    return [
        (others[k] * (1 - mine) if k < len(others) else 0.0) + (others[k - 1] * mine if k else 0.0)
        for k in range(USERS + 1)
    ]


def distance(seen: list[int], law: list[float]) -> float:
    """Return the largest difference of the distribution functions."""
    worst, total = 0.0, 0.0
    for k, p in enumerate(law):
        total += p
        worst = max(worst, abs(sum(s <= k for s in seen) / len(seen) - total))
    return worst


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[dict[str, Any]]]:
    return run_services(tmp_path_factory.mktemp("audit"), 2 * FEW_RUNS)


def test_57_the_audit_of_the_real_path_stays_below_the_promise(
    released: dict[int, list[dict[str, Any]]],
) -> None:
    assert {d["users"] for documents in released.values() for d in documents} == {USERS}
    assert audit({x: ones(d) for x, d in released.items()}, DELTA) <= EPSILON


def test_57_the_released_sum_has_the_exact_law(
    released: dict[int, list[dict[str, Any]]],
) -> None:
    """By Dvoretzky, Kiefer and Wolfowitz with Massart's constant: wrong once in a million."""
    flip = flip_probability()
    most = math.sqrt(math.log(2 * 2 / 1e-6) / (2 * FEW_RUNS))
    for datum, documents in released.items():
        seen = ones(documents)
        # What was released is the count of ones, unbiased, and nothing else.
        for k, document in zip(seen, documents, strict=True):
            assert document["sum"] == pytest.approx((k - USERS * flip) / (1 - 2 * flip), abs=1e-9)
        assert distance(seen, law_of_ones(datum, flip)) <= most
        # Wrong laws are told apart: no noise, and three times the flips.
        for wrong in (0.0, 3 * flip):
            assert distance(seen, law_of_ones(datum, wrong)) > most


@pytest.mark.slow
def test_58_the_audit_finds_services_without_their_checks_of_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("smoothdp.services.shuffler.sealing.repeated_marks", lambda _: [])
    monkeypatch.setattr("smoothdp.services.analyzer.counting.repeated_marks", lambda _: [])
    documents = run_services(tmp_path, 2 * RUNS, copies=4)
    flip = flip_probability()
    users = USERS + 4
    seen = {
        x: [round(d["sum"] * (1 - 2 * flip) + users * flip) for d in found]
        for x, found in documents.items()
    }
    # The event is stated beforehand: a copied one makes the total at least 5. With it, the lower
    # bound on epsilon stays below 0.3 in fewer than one run of 1e6 (checked below).
    assert audit(seen, DELTA, least=5) > EPSILON


def test_58_the_audit_misses_the_mutant_less_than_once_in_a_million() -> None:
    """By the exact law of the total: five times the datum's bit, and seven other users."""
    flip = flip_probability()
    others = binomial_law(USERS - 1, flip)
    above = [math.fsum(others[max(5 - 5 * bit, 0) :]) for bit in (0, 1)]
    law = [above[0] * (1 - flip) + above[1] * flip, above[0] * flip + above[1] * (1 - flip)]
    # Three standard errors off at once, on both sides, or five on one: both are rarer than 1e-6.
    for off in ((3.5, 3.5), (5.0, 0.0), (0.0, 5.0)):
        sd = [math.sqrt(p * (1 - p) / RUNS) for p in law]
        counts = {
            0: round(RUNS * (law[0] + off[0] * sd[0])),
            1: round(RUNS * (law[1] - off[1] * sd[1])),
        }
        totals = {x: [5] * k + [0] * (RUNS - k) for x, k in counts.items()}
        assert audit(totals, DELTA, least=5) > EPSILON


@pytest.mark.parametrize("off", [(), ("sealing",), ("counting",)])
def test_58_one_check_alone_holds_against_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, off: tuple[str, ...]
) -> None:
    """Copies are left out when sealing; a batch that has some is not released."""
    for where in off:
        party = "shuffler" if where == "sealing" else "analyzer"
        monkeypatch.setattr(f"smoothdp.services.{party}.{where}.repeated_marks", lambda _: [])
    found = run_services(tmp_path, 2, copies=4)
    # The person who was copied is left out, and the batch too small; or it is not genuine.
    states = {d["state"] for documents in found.values() for d in documents}
    assert ("QUARANTINED" in states) == ("sealing" in off)
    assert len(states) == 1
    assert "RELEASED" not in states


@pytest.mark.slow
def test_57_a_longer_audit(tmp_path: Path) -> None:
    runs = int(os.environ.get("SMOOTHDP_AUDIT_RUNS", "10000"))
    found = run_services(tmp_path, runs)
    least = audit({x: ones(d) for x, d in found.items()}, DELTA)
    print(f"epsilon at least {least:.4f} in {runs} runs, promised {EPSILON}")
    assert least <= EPSILON
