"""Attacks on the promise, the budget and one report a person: a fifth round, from the pages."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from smoothdp.errors import BudgetExceeded, InvalidData, InvalidParameter
from smoothdp.services import take_part
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.analyzer.release import end_lapsed, read_result
from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.analyzer.result_document import describe_batch
from smoothdp.services.analyzer.task_ledger import TaskLedger
from smoothdp.services.analyzer.window_cards import key_scope
from smoothdp.services.check import check_party
from smoothdp.services.client.inclusion import read_evidence
from smoothdp.services.formats.design.budget import windows_paid
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.task import Task
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.directories import party_directories
from tests.services.worlds.party_world import WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task

pytestmark = ONLY_SQLITE

# ---- more honest users than the smallest batch has -----------------------------------------------


def many() -> Task:
    return small_task(
        "low_communication_histogram", size=50, epsilon="1", delta="1e-6", min_batch=1000
    )


def full_batch(task: Task) -> Counter[int]:
    """Return the tally of the largest batch, whose users all hold 0, with the mean of the noise."""
    users = task.max_batch
    noise = int(users * Fraction(task.noise))
    return Counter(dict.fromkeys(range(task.size), noise)) + Counter({0: users})


def test_a_million_honest_users_keep_the_promise_that_nine_hundred_keep() -> None:
    """A batch of the largest size was refused: with many users somebody draws noise anew."""
    task = many()
    users = task.max_batch
    assert users > 10**6
    assert task.design.delta(task.epsilon, users) > Fraction(task.delta)
    assert rule(task, users=users, served=users, tally=full_batch(task)).state == ""
    assert not task.keeps_promise(task.fewest_honest - 1)


@pytest.mark.slow
def test_no_figure_of_a_result_grows_with_more_honest_users() -> None:
    """Of the largest batch a share of 1 had a larger epsilon than one of 3/4."""
    task = many()
    users, tally = task.max_batch, full_batch(task)
    ruling = rule(task, users=users, served=users, tally=tally)
    told = describe_batch(task, window=1, users=users, served=users, tally=tally, ruling=ruling)
    curve = list(told["epsilon_by_honest_share"].values())
    assert curve == sorted(curve)
    assert told["epsilon_of_this_batch"] <= told["epsilon_by_honest_share"]["0.75"] < 0.1


# ---- the ledger and the number of windows that clients count -------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "windows"),
    [
        ("12." + 9 * "0" + "1", "1/1", 3),
        ("11." + 50 * "9", "1", 2),
        ("1e300", "0.02" + 50 * "9", 2),
        ("4", "1", 1),
    ],
)
def test_the_ledger_takes_as_many_windows_as_clients_count(
    epsilon: str, delta: str, windows: int, tmp_path: Path
) -> None:
    task = replace(small_task(), budget_epsilon=epsilon, budget_delta=delta)
    ledger = TaskLedger(tmp_path, task)
    for window in range(windows_paid(task)):
        ledger.charge(window)
    with pytest.raises(BudgetExceeded):
        ledger.charge(windows)
    assert sorted(ledger.charged()) == list(range(windows))


# ---- one address for both sides ------------------------------------------------------------------


@pytest.mark.parametrize(
    "shuffler",
    [
        "HTTP://127.0.0.1:8603",
        "http://127.0.0.1:8603//",
        "http://127.0.0.1:08603",
        "http://localhost:8603",
        "http://LOCALHOST:8603/shuffler",
        "http://[::1]:8603",
        "http://[0:0::1]:8603",
    ],
)
def test_one_address_for_both_sides_is_refused_however_it_is_written(
    shuffler: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Another spelling of the issuer's address took the pass to the issuer."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(InvalidParameter, match="addresses of the shuffler and the issuer"):
        take_part(
            small_task(),
            1,
            shuffler=shuffler,
            pass_secret="0a" * 48,
            invitation="0b" * 48,
            issuer="http://127.0.0.1:8603",
        )
    assert list(tmp_path.iterdir()) == []


# ---- windows that nobody can look anything up in -------------------------------------------------


def test_a_refusal_without_evidence_is_said_to_be_one(tmp_path: Path) -> None:
    """The batch was not counted in seven days: people were told to fetch the same file again."""
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(12)
    world.seal()
    world.deliver()
    # Its key is lost: with it, it would be counted at last.
    world.analyzer.keys.erase([key_scope(world.task.task_id, WINDOW)])
    world.go_to(world.now + 7 * 86_400)
    end_lapsed(world.analyzer)
    _, body = read_result(world.analyzer, WINDOW, now=world.now)
    with pytest.raises(
        InvalidData,
        match="a signed refusal without them: what came of this window could not be counted",
    ):
        read_evidence(world.task, WINDOW, body)
    world.close()


# ---- the ledger and the results that were published ----------------------------------------------


def test_results_of_any_name_tell_of_a_ledger_that_lacks_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Collectors name their files: those without .json were passed by, and the ledger was good."""
    written, shown = party_directories(tmp_path / "t"), tmp_path / "shown"
    party = AnalyzerParty.from_directory(written.analyzer)
    key, name = party.analyzer.sign_key, party.task.task_id.hex()
    party.analyzer.ledger.charge(7)
    party.close()

    def ledger() -> tuple[bool, str]:
        found = check_party(written.analyzer, results=shown)
        (said,) = [(one.good, one.says) for one in found if one.name == "ledger"]
        return said

    (shown / "2026").mkdir(parents=True)
    (shown / "notes.txt").write_text("kept by the collector")
    assert (ledger()[0], "nothing to compare" in ledger()[1]) == (False, True)
    for window, file in ((7, "seven"), (8, "2026/result.JSON")):
        signed = SignedResult.sign({"task_id": name, "window": window}, key).encode()
        (shown / file).write_bytes(signed)
        good, words = ledger()
        assert good == (window == 7)
        assert ("signed results compared: 1" if good else "such as 8") in words
    monkeypatch.setattr(os, "access", lambda path, _: Path(path).name != "result.JSON")
    assert "no right to read" in ledger()[1]


def test_few_honest_users_of_a_split_sum_have_what_one_device_has() -> None:
    """Of a quarter of the users the result said that nothing is left, of both services 7.11."""
    task = small_task("split_sum", bounds=("0", "1"), epsilon="0.5", min_batch=60, honest_share="1")
    tally = {0: 60 * task.slots}
    ruling = rule(task, users=60, served=60, tally=tally)
    told = describe_batch(task, window=1, users=60, served=60, tally=tally, ruling=ruling)
    curve = list(told["epsilon_by_honest_share"].values())
    assert curve == sorted(curve)
    assert 7 < curve[-1] == told["epsilon_if_shuffler_and_analyzer_collude"] < 7.2
