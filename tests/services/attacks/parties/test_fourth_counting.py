"""Attacks on what is counted and what is printed: false users, singling out, tasks, tables."""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from math import exp
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from click.testing import CliRunner
from scipy.stats import binom
from starlette.applications import Starlette

from smoothdp.cli.serving.submit import results
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.services.analyzer.estimates import estimate_of
from smoothdp.services.analyzer.release import read_result, work
from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.analyzer.who_could import sentence
from smoothdp.services.client.inclusion import read_evidence
from smoothdp.services.formats.design.agreeing import agree_on_one_host
from smoothdp.services.formats.design.values import DUMMY, INVALID
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.formats.task import Task
from smoothdp.services.shuffler.poll_routes import poll_routes
from smoothdp.services.shuffler.published_results import publish
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import small_task

OPEN: dict[str, Any] = {"issuer": None, "proof": "none"}
TASKS: dict[str, dict[str, Any]] = {
    "boolean_sum": {},
    "real_sum": {"size": 3},
    "histogram": {"size": 3, "min_batch": 60},
    "low_communication_histogram": {"size": 4, "min_batch": 60},
    "paired_count": {"min_batch": 60},
    "paired_histogram": {"size": 3, "min_batch": 60},
    "split_sum": {"bounds": ("0", "1"), "min_batch": 20},
}


SLOW = ("paired_histogram", "low_communication_histogram")
BY_SPEED = [pytest.param(p, marks=pytest.mark.slow if p in SLOW else ()) for p in TASKS]


def sent(task: Task, honest: int, false: Mapping[int, int], seed: int = 1) -> Counter[int]:
    """Return the tally of honest users, and of false ones that all send the same."""
    tally, rng = Counter[int](), SeededRandom(seed)
    for _ in range(honest):
        tally.update(task.values(0, rng=rng))
    return tally + Counter(false)


# ---- more false users than assumed ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "value", "false", "words"),
    [
        ("histogram", DUMMY, 20, "sent too little noise"),
        ("histogram", DUMMY, 60, "sent too little noise"),
        ("low_communication_histogram", DUMMY, 59, "sent too little noise"),
        ("low_communication_histogram", 0, 40, "sent too many messages"),
        ("paired_count", DUMMY, 60, "sent no sign of their own"),
        ("paired_histogram", DUMMY, 60, "sent no sign of their own"),
    ],
)
def test_more_false_users_than_assumed_quarantine_what_shows_them(
    protocol: str, value: int, false: int, words: str
) -> None:
    """With six of 60 assumed false, noise that twenty did not send is not promised to the rest."""
    task = small_task(protocol, **TASKS[protocol])
    tally = sent(task, 60 - false, {value: false * task.slots})
    unsigned = small_task(protocol, **TASKS[protocol], **OPEN)
    for used, served in ((task, 60), (task, 65), (unsigned, None)):
        ruling = rule(used, users=60, served=served, tally=tally)
        assert (ruling.state, words in ruling.reason) == ("QUARANTINED", True)
        assert "more than the 6 that the task assumes" in ruling.reason


@pytest.mark.parametrize("protocol", list(TASKS))
def test_who_follows_the_protocol_is_released_and_so_are_as_many_false_ones_as_assumed(
    protocol: str,
) -> None:
    """False alarm below 1e-12 a batch: 20 batches of each protocol, none may fail."""
    task = small_task(protocol, **TASKS[protocol])
    users = task.min_batch
    silent = {DUMMY: task.dishonest(users) * task.slots} if task.design.has_dummies else {}
    false = task.dishonest(users) if silent else 0
    for seed in range(10):
        for liars, tally in ((0, {}), (false, silent)):
            told = sent(task, users - liars, tally, seed)
            assert rule(task, users=users, served=users, tally=told).state == ""


@pytest.mark.parametrize("share", ["0.9", "2/3", "1"])
def test_false_users_in_the_share_quarantine_nothing_but_may_stay_away(share: str) -> None:
    """All that a slot may hold, in all numbers of false users: what the page says of both."""
    task = small_task("histogram", **TASKS["histogram"] | {"honest_share": share})
    for served in range(task.min_batch, 2 * task.min_batch, 7):
        liars = task.dishonest(served)
        for value in (0, DUMMY, INVALID):
            honest = sent(task, served - liars, {value: liars * task.slots})
            assert rule(task, users=served, served=served, tally=honest).state == ""
        without = rule(
            task, users=served - liars, served=served, tally=sent(task, served - liars, {})
        )
        assert (without.state == "") == (served - 2 * liars >= task.fewest_honest)


def test_a_batch_without_any_noise_is_not_released_nor_charged(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path, small_task("histogram", size=3, min_batch=60, **OPEN))
    world.open_window()
    for _ in range(60):
        world.send(world.sign(seal_slots([0, DUMMY, DUMMY, DUMMY], world.card())))
    document = world.finish()
    assert document["state"] == "QUARANTINED"
    assert "sent too little noise" in document["reason"]
    assert "counts" not in document
    assert world.charged() == []
    world.close()


# ---- how far one false user moves what is printed -----------------------------------------------


@pytest.mark.parametrize("protocol", BY_SPEED[:-1])
def test_no_false_user_moves_more_than_is_printed(protocol: str) -> None:
    """Every envelope of one value, in the place of an own value without noise."""
    task = small_task(protocol, **TASKS[protocol], **OPEN)
    others = sent(task, task.min_batch - 1, {})
    if task.design.has_dummies and not protocol.startswith("paired"):
        # A bin just below where it is shown as 0: one message of it more makes it appear.
        others[1] = task.min_batch if protocol == "histogram" else others[1]
    own = Counter({1: task.slots if protocol == "real_sum" else 1})
    shown = estimate_of(task, users=task.min_batch, tally=others + own)
    moved = []
    for value in (*range(task.design.n_values), DUMMY, INVALID):
        false = Counter({value: task.slots})
        lied = estimate_of(task, users=task.min_batch, tally=others + false)
        if "sum" in shown:
            most = shown["most_one_false_user_moves_the_sum"]
            assert abs(lied["sum"] - shown["sum"]) <= most + 1e-9
            moved.append(abs(lied["sum"] - shown["sum"]) / most)
            continue
        most = shown["most_one_false_user_moves_a_count"]
        flips = shown.get("most_one_false_user_makes_appear_or_disappear", most)
        for name in {*shown["counts"], *lied["counts"]}:
            before, after = (one["counts"].get(name, 0) for one in (shown, lied))
            assert abs(after - before) <= (most if before and after else flips)
            moved.append(abs(after - before) / most)
    # The bounds are reached, or nearly so; of hidden counts they are passed by the noise.
    assert max(moved) > 0.7


# ---- what singling out costs, in the words of the result -----------------------------------------


@pytest.mark.parametrize("share", ["1/3", "0.99999999999999999999"])
@pytest.mark.parametrize("protocol", BY_SPEED)
def test_the_sentence_is_the_least_that_the_rule_lets_out(protocol: str, share: str) -> None:
    """By trying every number of accounts of the shuffler, for three numbers of accounts served."""
    options = TASKS[protocol] | {"honest_share": share}
    if share == "1/3":
        options["min_batch"] = 3 * options.get("min_batch", 12)
    task = small_task(protocol, **options)
    for served in (task.min_batch, task.min_batch + 7, 3 * task.min_batch):
        released = [
            users
            for users in range(task.min_batch, served + 1)
            if not rule(task, users=users, served=served, tally={0: users * task.slots}).state
            or task.keeps_promise(task.honest(users, accounts=served))
        ]
        if not released:
            continue
        assert released == list(range(released[0], served + 1))
        users = released[-1]
        ruling = rule(task, users=users, served=served, tally={})
        text = sentence(task, users=users, served=served, ruling=ruling)
        (accounts,) = re.findall(r"A shuffler with (\d+) accounts", text)
        (passes,) = re.findall(r"accounts, an analyser with (\d+) passes", text)
        assert (int(accounts), int(passes)) == (released[0] - 1, task.min_batch - 1)


# ---- tasks that could never be released ----------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"bounds": ("0", "1e400")}, "bounds from -1e100"),
        ({"bounds": ("-1e999", "1e999")}, "bounds from -1e100"),
        ({"bounds": ("-1.7e308", "0")}, "bounds from -1e100"),
        ({"budget_epsilon": "1e999"}, "1e300"),
    ],
)
def test_a_task_whose_results_have_no_number_is_refused(changes: dict[str, Any], word: str) -> None:
    with pytest.raises(InvalidParameter, match=word):
        replace(small_task("real_sum"), **changes)


def test_a_task_that_is_refused_leaves_no_keys_and_is_made_at_the_next_try(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"epsilon": "4", "delta": "0.01", "min_batch": 12}
    asked |= {"issuer_url": "http://127.0.0.1:8603", "origin": "127.0.0.1", "size": 2}
    with pytest.raises(InvalidParameter, match="two bounds"):
        agree_on_one_host(tmp_path, "real_sum", bounds=("1", "0"), **asked)
    assert list(tmp_path.iterdir()) == []
    task = agree_on_one_host(tmp_path, "real_sum", bounds=("0", "1"), **asked)
    keys = (tmp_path / "issuer" / "secrets.json").read_bytes()
    with pytest.raises(InvalidData, match="exists"):
        agree_on_one_host(tmp_path, "real_sum", bounds=("0", "1"), **asked)
    assert (tmp_path / "issuer" / "secrets.json").read_bytes() == keys
    assert (tmp_path / "task.json").read_bytes() == task.encoded


def test_numbers_at_the_largest_bounds_have_a_mean(tmp_path: Path) -> None:
    world = PartyWorld(tmp_path, small_task("real_sum", size=2, bounds=("-1e100", "1e100")))
    world.open_window()
    world.send_many(12, (1,))
    document = world.finish(12)
    assert document["state"] == "RELEASED"
    assert abs(document["mean"] - 1e100) <= document["error_of_mean"] < 1e101
    world.close()


def test_a_window_that_cannot_be_counted_holds_up_no_other(tmp_path: Path) -> None:
    """Its key is damaged on disk: the next window is released, and the first is reported."""
    world = PartyWorld(tmp_path)
    for window in (WINDOW, WINDOW + 1):
        world.go_to(window * HOUR + 700.0)
        world.open_window(window)
        world.send_many(12, window=window)
        world.seal(window)
        world.deliver()
        world.tell_served(12, window)
    with world.analyzer.storage.transaction() as change:
        change.change("UPDATE card SET sealed_key = ? WHERE window = ?", (bytes(60), WINDOW))
    with pytest.raises(Exception, match=r"."):
        work(world.analyzer)
    assert world.result(WINDOW + 1)["state"] == "RELEASED"
    assert world.charged() == [WINDOW + 1]
    world.go_to((WINDOW + 3) * HOUR + 8 * 86_400.0)
    with pytest.raises(Exception, match=r"."):
        work(world.analyzer)
    assert world.result(WINDOW)["state"] == "REFUSED"
    work(world.analyzer)
    world.close()


async def asked_of(page: Starlette, path: str) -> Any:
    """Return the document that a page answers to a request."""
    transport = httpx.ASGITransport(app=page)
    async with httpx.AsyncClient(transport=transport, base_url="https://x") as http:
        return (await http.get(path)).json()


# ---- what was signed of a window that is not released --------------------------------------------


@pytest.mark.parametrize("status", [200, 403])
def test_the_evidence_of_a_refused_window_comes_to_those_who_look_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    """Whatever status stands before it: it is not a result, and `--signed` keeps it."""
    world = PartyWorld(tmp_path)
    world.open_window()
    world.send_many(12)
    assert world.finish(200)["state"] == "REFUSED"
    body = read_result(world.analyzer, WINDOW, now=world.now)[1]
    answers = httpx.MockTransport(lambda _: httpx.Response(status, content=body))
    monkeypatch.setattr("smoothdp.services.read_collector", lambda _: (world.task, "token"))
    monkeypatch.setattr(
        "smoothdp.services.connect", lambda url: httpx.Client(base_url=url, transport=answers)
    )
    asked = [str(WINDOW), "--collector", str(tmp_path), "--analyzer", "https://x", "--signed"]
    outcome = CliRunner().invoke(results, [*asked, str(tmp_path / "signed.json")])
    assert outcome.exit_code == 1
    assert "of 200 accounts that were served 12 are here" in outcome.output
    kept = (tmp_path / "signed.json").read_bytes()
    evidence = read_evidence(world.task, WINDOW, kept)
    assert evidence.marks_sha256 == evidence.header.marks_sha256
    assert evidence.header.users == 12
    # A page that shows numbers has none to show of it.
    publish(tmp_path / "published", SignedResult.decode(kept))
    page = Starlette(routes=poll_routes(world.task, "Tea?", tmp_path / "published"))
    assert asyncio.run(asked_of(page, f"/poll/{world.task.task_id.hex()}/results")) == []
    world.close()


# ---- the tables of the page on threats, from binomial laws alone ---------------------------------


def flipped(zeros: int, ones: int, flip: float) -> Any:
    """Return the law of the number of ones after each bit was flipped."""
    laws = (binom.pmf(np.arange(n + 1), n, p) for n, p in ((zeros, flip), (ones, 1 - flip)))
    return np.convolve(*laws)


def epsilon_of(first: Any, second: Any, delta: float = 1e-6) -> float:
    """Return the least epsilon of two laws at a delta, in both directions, by bisection."""

    def enough(epsilon: float) -> bool:
        pairs = ((first, second), (second, first))
        return all(np.maximum(a - exp(epsilon) * b, 0).sum() <= delta for a, b in pairs)

    low, high = 0.0, 20.0
    if not enough(high):
        return float("inf")
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


PAGE = Path(__file__).parents[4] / "docs" / "threats.md"


def printed(row: str) -> list[float]:
    """Return the numbers of a row of a table of the page."""
    (line,) = re.findall(rf"^\| {row} \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [float("inf") if cell.strip() == "nothing" else float(cell) for cell in line.split("|")]


def up(epsilons: list[float]) -> list[float]:
    """Return numbers as the page prints them: never below the truth."""
    return [e if e == float("inf") else -(-(e - 1e-7) // 1e-3) / 1e3 for e in epsilons]


def test_the_tables_of_the_page_are_those_of_the_laws_and_never_below() -> None:
    """Flips of `boolean_sum` and `real_sum`, omitted noise of `histogram`: figures rounded up."""
    for row, flip, width, honest in (
        ("epsilon at delta 1e-6", 0.11993425230555556, 1, (180, 150, 100, 75, 50, 10, 1)),
        ("real sum, 8 bits", 0.11529399933333333, 8, (900, 750, 500, 250, 100, 1)),
    ):
        epsilons = []
        for h in honest:
            others = (h - 1) * width
            # The worst data of the others are all alike, but for two bits or less.
            ones = {k for n in range(3) for k in (n, others - n) if 0 <= k <= others}
            pairs = ((flipped(others + width - k, k, flip), k) for k in ones)
            epsilons.append(
                max(epsilon_of(p, flipped(others - k, k + width, flip)) for p, k in pairs)
            )
        assert printed(row) == pytest.approx(up(epsilons), abs=1e-9)
    omitted, epsilons = 0.04864903535857026, []
    for h in (900, 750, 500, 250, 100, 1):
        noise = binom.pmf(np.arange(h + 1), h, 1 - omitted)
        noise = noise[max(0, h - 120) :] if h > 250 else noise
        moved = np.outer(np.append(0.0, noise), np.append(noise, 0.0))
        epsilons.append(epsilon_of(moved, moved.T))
    assert printed("histogram, 10 bins") == pytest.approx(up(epsilons), abs=1e-9)
