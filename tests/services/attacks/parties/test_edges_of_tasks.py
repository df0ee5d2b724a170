"""Tasks at the edges of what they may say: promises, data, ends, and errors that are stated."""

from __future__ import annotations

import itertools
import json
import math
import random
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from scipy.stats import binom, nbinom

from smoothdp.errors import InvalidData, InvalidParameter, OutOfReach
from smoothdp.services.analyzer.estimates import estimate_of
from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.analyzer.result_document import describe_batch
from smoothdp.services.client.datum import read_datum
from smoothdp.services.formats.design.protocols import Design
from smoothdp.services.formats.task import Task
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.laws import Law, added, largest_stick
from tests.services.worlds.party_world import PartyWorld
from tests.services.worlds.small_tasks import open_task, small_task
from tests.services.worlds.whole_world import WholeWorld

WEAK = [("12", "0.01", 3), ("15", "1e-6", 8), ("20", "1e-6", 20), ("20", "1e-6", 200)]
"""Epsilon, delta and smallest batch of boolean sums whose devices seldom flip a bit."""


def chance_of_more_than_the_error(task: Task, users: int, ones: int) -> float:
    """Return how often the sum is further off than is printed, from the law of the flips."""
    flip = int(task.noise) / 2**64
    law = np.convolve(
        binom.pmf(np.arange(ones + 1), ones, 1 - flip),
        binom.pmf(np.arange(users - ones + 1), users - ones, flip),
    )
    chance = 0.0
    for total in np.flatnonzero(law > 1e-9).tolist():
        said = estimate_of(task, users=users, tally={1: total, 0: users - total})
        if abs(Fraction(said["sum"]) - ones) > Fraction(said["error_of_sum"]):
            chance += float(law[total])
    return chance


@ONLY_SQLITE
@pytest.mark.parametrize(("epsilon", "delta", "users"), WEAK)
def test_the_error_of_a_sum_fails_as_rarely_as_is_said(
    storage_kind: str,  # noqa: ARG001
    epsilon: str,
    delta: str,
    users: int,
) -> None:
    """The protocol, 3.5: "`sum` with `error_of_sum`, in users", and
    "`error_fails_with_probability`, "0.05"".

    All say yes. The sum is rounded to a float, which its error does not count in: nearly always
    the truth is outside, by some 1e-16.
    """
    task = open_task(epsilon=epsilon, delta=delta, min_batch=users, windows=5)
    assert chance_of_more_than_the_error(task, users, users) <= 0.05


def test_a_result_whose_users_all_say_yes_has_them_within_its_error(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol, 3.5: "`sum` with `error_of_sum`, in users": of twenty who all hold 1, signed.

    A bit is flipped with probability 4e-8 in all. That the noise is there is seen in the sum.
    """
    world = PartyWorld(tmp_path, open_task(epsilon="20", delta="1e-6", min_batch=20, windows=5))
    world.open_window()
    world.send_many(20, (1,))
    said = world.finish()
    world.close()
    assert (said["state"], said["error_fails_with_probability"]) == ("RELEASED", "0.05")
    assert abs(Fraction(said["sum"]) - 20) <= Fraction(said["error_of_sum"])


@ONLY_SQLITE
@pytest.mark.parametrize("datum", ["5", "0.001"])
def test_what_an_issuer_sees_of_somebody_is_the_same_whatever_the_number_is(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    datum: str,
) -> None:
    """The protocol, 5, step 1: "Check the datum before anybody is asked." And the page: "Clients
    must not let their datum decide whether or when they send."

    A split sum of much noise, as `task create` made it, had one step between its bounds. A number
    between them was refused only once the card was asked for: the issuer saw somebody who asks for
    the card and for no token, and knew that the number is none of the bounds.
    """
    wanted = {"epsilon": "0.01", "delta": "1e-6", "bounds": ("0", "10")}
    task = small_task("split_sum", min_batch=12, windows=3, **wanted)
    assert task.size == 2
    world = WholeWorld(tmp_path, task, fast=True)
    world.open_window()
    answers, seen = world._issuer_answers, defaultdict[str, list[str]](list)

    def take_part(person: str, number: str) -> None:
        def listen(request: httpx.Request) -> tuple[str, httpx.Response]:
            seen[person].append(request.url.path.split("/")[2])
            return answers(request)

        world._issuer_answers = listen  # type: ignore[method-assign]
        with suppress(InvalidData):
            world.take_part(person, number)

    take_part("bound", "10")
    take_part("between", datum)
    world.close()
    assert seen["bound"] == ["tasks", "tokens"]
    assert seen["between"] == seen["bound"]


def test_no_task_has_a_split_sum_of_one_step() -> None:
    """Also one that is written by hand is refused, in words."""
    task = small_task("split_sum", bounds=("0", "10"), min_batch=12, windows=3)
    with pytest.raises(InvalidParameter, match="2 to 1048576 steps of a split_sum"):
        replace(task, size=1)
    with pytest.raises(InvalidParameter, match="2 to 1048576 steps of a split_sum"):
        small_task("split_sum", bounds=("0", "10"), min_batch=12, windows=3, size=1)


@pytest.mark.parametrize("protocol", ["real_sum", "split_sum"])
def test_every_number_between_the_bounds_is_sent_and_the_mean_is_of_all(protocol: str) -> None:
    """The protocol, 3.1: "`bounds`: two strings"; the how-to of polls: "a real or split sum takes a
    number", and "randomises [...] (the same laws)" as `smoothdp submit` does.

    Whoever held no bound was kept out of a split sum of one step: the mean was of the others alone.
    """
    wanted: dict[str, Any] = {"epsilon": "4", "size": 1}
    if protocol == "split_sum":
        wanted = {"epsilon": "0.01"}
    bounds = ("0", "10")
    task = small_task(protocol, min_batch=12, delta="1e-6", windows=3, bounds=bounds, **wanted)
    for datum in ("0", "10", "11", "5", "0.001"):
        assert len(task.values(read_datum(task, datum))) == task.slots


def of_shares(shape: float, rate: float) -> Any:
    """Return the law of the noise of so many shares: the difference of two sums of them."""
    law = nbinom(shape, -math.expm1(-rate)).pmf(np.arange(4000))
    return np.convolve(law, law[::-1])


@pytest.mark.parametrize(
    ("wanted", "users"),
    [
        # As `task create` makes it; and the fewest steps that there are.
        ({"epsilon": "0.05", "delta": "1e-6", "min_batch": 20}, 200),
        ({"epsilon": "1", "delta": "1e-6", "min_batch": 60, "size": 2}, 60),
        ({"epsilon": "4", "min_batch": 12, "size": 2}, 12),
    ],
)
def test_the_error_of_numbers_that_are_rounded_counts_the_rounding(
    wanted: dict[str, Any], users: int
) -> None:
    """The protocol, 3.5: "`sum` with `error_of_sum` [...] `error_fails_with_probability`, "0.05"".

    All hold a number half way between two of few steps. With one step the error was that of bits:
    0 at epsilon 4, while the sum of twelve was off in three of four windows.
    """
    task = small_task("split_sum", bounds=("0", "10"), windows=3, **wanted)
    assert task.size == 2
    rate, design = float(Fraction(task.noise)) / task.size, int(task.parameters[-1])
    noise = of_shares(users / design, rate)
    total = np.convolve(noise, binom.pmf(np.arange(users + 1), users, 0.5))
    off = np.abs(np.arange(len(total)) - len(noise) // 2 - users / 2) / task.size
    said = estimate_of(task, users=users, tally={0: users * task.slots})
    assert total[off > said["error_of_sum"]].sum() <= 0.05
    assert total[off > said["error_of_sum"] / 4].sum() > 0.05


# ---- held off --------------------------------------------------------------------------------


def signs_by_hand(design: Design) -> tuple[Law, Law, Law]:
    share = nbinom(1 / design.n_honest_design, -math.expm1(-float(Fraction(design.noise))))
    chance = float(design.parameter("clump_probability"))
    weights = [1 / pairs for pairs in range(1, int(design.parameter("largest_clump")) + 1)]
    clumps = [1 - chance, *(chance * weight / sum(weights) for weight in weights)]
    alone = [float(share.pmf(many)) for many in range(design.slots)]
    law: defaultdict[tuple[int, ...], float] = defaultdict(float)
    for minus, plus, pairs in itertools.product(
        range(design.slots), range(design.slots), range(len(clumps))
    ):
        if minus + plus + 2 * pairs < design.slots:
            law[minus + pairs, plus + pairs] += alone[minus] * alone[plus] * clumps[pairs]
    return dict(law), {(0, 1): 1.0}, {(1, 0): 1.0}


def bins_by_hand(design: Design) -> tuple[Law, Law, Law]:
    noise = float(Fraction(design.noise))
    sends = 1 - noise if design.protocol == "histogram" else noise
    law = {
        bits: sends ** sum(bits) * (1 - sends) ** (design.size - sum(bits))
        for bits in itertools.product((0, 1), repeat=design.size)
        if sum(bits) < design.slots
    }
    rest = (0,) * (design.size - 2)
    return law, {(1, 0, *rest): 1.0}, {(0, 1, *rest): 1.0}


def drawn_design(source: random.Random) -> Design:
    """Return numbers of a task as a hand may write them, edges among them."""
    kind = source.choice(("paired_count", "low_communication_histogram", "histogram"))
    if kind == "paired_count":
        clumps = source.choice(("1/1000", "1/3", "99/100"))
        parameters = (clumps, str(source.randint(1, 3)), str(source.randint(1, 4)))
        noise = source.choice(("1/100", "1/3", "1", "3", "100"))
        return Design(kind, 1, noise, parameters, source.randint(1, 9))
    bins, noise = source.randint(2, 4), source.choice(("1/1000", "1/10", "1/3", "1/2"))
    if kind == "histogram":
        return Design(kind, bins, noise, (), bins + 1)
    return Design(kind, bins, noise, ("1/40",), source.randint(1, bins + 1))


def test_no_design_that_a_hand_may_write_promises_more_than_its_law() -> None:
    """The protocol, 3.1: "A task MUST be refused unless `min_batch` - floor(gamma `min_batch`)
    honest users keep the promise, by the exact accountant": against the law of what the devices
    send, drawn again where it does not fit, with envelopes of one slot among them.
    """
    source, looked_at, near = random.Random(20), 0, 0
    for _ in range(120):
        design, honest = drawn_design(source), source.randint(1, 3)
        try:
            bounds = {e: float(design.delta(e, honest)) for e in ("1/100", "1", "3", "10")}
        except (InvalidParameter, OutOfReach):
            continue
        by_hand = signs_by_hand if design.protocol == "paired_count" else bins_by_hand
        noise, first, second = by_hand(design)
        whole = sum(noise.values())
        users: Law = {(0,) * len(next(iter(first))): 1.0}
        for _ in range(honest):
            users = added(users, {key: p / whole for key, p in noise.items()})
        looked_at += 1
        for epsilon, bound in bounds.items():
            stick = largest_stick(added(users, first), added(users, second), epsilon)
            assert stick <= bound * (1 + 1e-9) + 1e-13, (design, honest, epsilon)
            near += stick > bound * 0.99
    assert looked_at > 40
    assert near > 40


@pytest.mark.parametrize("protocol", ["boolean_sum", "real_sum"])
@pytest.mark.parametrize(("epsilon", "delta"), [("1e6", "1e-999"), ("8", "0.999999"), ("1", "0.5")])
@pytest.mark.parametrize("share", ["1", "1/3", "1e-999"])
def test_ends_of_the_domain_of_a_task_have_results_that_keep_its_promise(
    protocol: str, epsilon: str, delta: str, share: str
) -> None:
    """The protocol, 3.5: "`epsilon_of_this_batch` (with h honest users, at the task's delta; null
    if there is none)": not above what is promised, and a number, at the edges of section 3.1.
    """
    wanted = {"epsilon": epsilon, "delta": delta, "honest_share": share}
    task = small_task(protocol, min_batch=3, windows=1, **wanted)
    for users, served in ((3, 3), (task.max_batch, task.max_batch), (3, 2**64 - 1), (3, 2)):
        tally = Counter[int]()
        for _ in range(3):
            tally.update(task.values(0))
        tally = Counter({value: n * users // 3 for value, n in tally.items()})
        ruling = rule(task, users=users, served=served, tally=tally)
        if served < users:
            assert ruling.state == "QUARANTINED"
        elif users == served == 3:
            assert ruling.state == ""
        if ruling.state:
            continue
        assert task.honest(users, accounts=served) >= task.fewest_honest
        said = describe_batch(
            task, window=1, users=users, served=served, tally=tally, ruling=ruling
        )
        json.dumps(said, allow_nan=False)
        assert Fraction(said["epsilon_of_this_batch"]) <= Fraction(epsilon) * (
            1 + Fraction(1, 10**9)
        )


def test_honest_users_of_tasks_by_hand_are_never_said_to_be_false() -> None:
    """The protocol, 7: "honest users break either in 1 of 10^12 windows", with noise that is drawn
    again as often as a task may.
    """
    source, looked_at = random.Random(7), 0
    made = {
        name: open_task(
            protocol=name, size=6, epsilon="40", delta="1/2", min_batch=5, max_batch=15, windows=1
        )
        for name in ("histogram", "low_communication_histogram", "paired_histogram")
    }
    for _ in range(120):
        task = made[source.choice(sorted(made))]
        changes: dict[str, Any] = {"noise": source.choice(("1/1000", "1/10", "1/3", "1/2"))}
        if task.protocol != "histogram":
            changes["slots"] = source.randint(2, 7)
        try:
            task = replace(task, **changes)
        except (InvalidParameter, OutOfReach):
            continue
        looked_at += 1
        for users in (5, 15):
            tally = Counter[int]()
            for person in range(users):
                tally.update(task.values(person % task.size))
            assert "users sent" not in rule(task, users=users, served=None, tally=tally).reason
    assert looked_at > 20
