"""Tasks and documents at the ends of their domain, computed beside the library's own numbers."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smoothdp.errors import InvalidParameter, SmoothdpError
from smoothdp.services.analyzer.estimates import estimate_of
from smoothdp.services.analyzer.release_rule import rule
from smoothdp.services.analyzer.window_cards import GATEWAY
from smoothdp.services.formats.design.budget import windows_paid
from smoothdp.services.formats.design.protocols import Design
from smoothdp.services.formats.signing import VerifyingKey
from smoothdp.services.formats.task import Task
from smoothdp.shuffle import LowCommunicationHistogram
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.party_world import HOUR, WINDOW, PartyWorld
from tests.services.worlds.small_tasks import open_task

P = 2**255 - 19
D = -121665 * pow(121666, -1, P) % P
Point = tuple[int, int]


def point_of(encoded: int) -> Point | None:
    """Return the point of an Ed25519 key as RFC 8032 decodes it, y not reduced first; or None."""
    sign, y = encoded >> 255, (encoded & (2**255 - 1)) % P
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P:
        return None
    return (-x % P if x % 2 != sign else x), y


def doubled(point: Point) -> Point:
    x, y = point
    both = D * x * x * y * y % P
    return 2 * x * y * pow(1 + both, -1, P) % P, (y * y + x * x) * pow(1 - both, -1, P) % P


@ONLY_SQLITE
def test_no_spelling_of_a_point_of_small_order_is_a_signing_key(
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Section 3.1: a signing key is "no point of small order", under any of its spellings: one
    whose y is not reduced, and one of x = 0 with a sign, among them.
    """
    # Twice a point of order 8 has y = 0: x^2 = -y^2, so by the curve d y^4 + 2 y^2 = 1.
    root = next(
        s
        for s in (pow(1 + D, (P + 3) // 8, P) * pow(2, k * (P - 1) // 4, P) % P for k in (0, 1))
        if (s * s - 1 - D) % P == 0
    )
    halves = set[int]()
    for square in ((-1 + root) * pow(D, -1, P) % P, (-1 - root) * pow(D, -1, P) % P):
        y = pow(square, (P + 3) // 8, P)
        for candidate in (y, y * pow(2, (P - 1) // 4, P) % P):
            if (candidate * candidate - square) % P == 0:
                halves |= {candidate, P - candidate}
    small, others = set[int](), set[int]()
    for y in (*range(2**255 - P), *range(P - 9, 2**255), *halves):
        for encoded in (y, y | 1 << 255):
            if (point := point_of(encoded)) is not None:
                eightfold = doubled(doubled(doubled(point)))
                (small if eightfold == (0, 1) else others).add(encoded)
    assert len(small) == 14
    for encoded in small:
        with pytest.raises(InvalidParameter, match="full order"):
            VerifyingKey.from_bytes(encoded.to_bytes(32, "little"))
    for encoded in others:
        VerifyingKey.from_bytes(encoded.to_bytes(32, "little"))


def largest_batch(design: Design) -> int:
    """Return the most users whose protocol is in its domain."""

    def is_in_domain(users: int) -> bool:
        try:
            design.collect(users)
        except SmoothdpError:
            return False
        return True

    low, high = 1, 1 << 20
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_in_domain(middle) else (low, middle - 1)
    return low


@ONLY_SQLITE
@pytest.mark.parametrize(
    ("bins", "chance", "slots"), [(3, (1, 3), 3), (8, (1, 2), 8), (10, (1, 4), 8), (5, (1, 10), 4)]
)
def test_the_largest_batch_of_envelopes_that_are_full_is_not_said_to_be_false(
    storage_kind: str,  # noqa: ARG001
    bins: int,
    chance: tuple[int, int],
    slots: int,
) -> None:
    """Section 7, of f: "honest users break either in 1 of 10^12 windows", in a batch of as many
    users as a task may have where nearly every batch has somebody whose noise is drawn again.
    """
    noise = f"{chance[0]}/{chance[1]}"
    design = Design("low_communication_histogram", bins, noise, ("1/40",), slots)
    users, p = largest_batch(design), chance[0] / chance[1]
    protocol = design.collect(users)
    assert isinstance(protocol, LowCommunicationHistogram)
    assert protocol.redraw_probability > 0.9
    one = np.array([math.comb(bins, k) * p**k * (1 - p) ** (bins - k) for k in range(slots)])
    power, law = np.append(0, one / one.sum()), np.ones(1)
    for digit in reversed(f"{users:b}"):
        law = np.convolve(law, power) if digit == "1" else law
        power = np.convolve(power, power)
    assert math.isclose(law.sum(), 1)
    for most in (protocol.honest_at_most, protocol.honest_despite):
        shown = np.array([most(sent) < users for sent in range(len(law))])
        assert law[shown].sum() <= 1e-12
        if most == protocol.honest_at_most:
            # Users who send nothing at all are shown.
            assert shown[0]


@ONLY_SQLITE
@pytest.mark.parametrize("all_say", [0, 1])
def test_the_error_of_a_split_sum_holds_where_its_noise_goes_round_the_modulus(
    storage_kind: str,  # noqa: ARG001
    all_say: int,
) -> None:
    """Section 3.5: "`sum` with `error_of_sum`", "0.05", with the least modulus that a task by hand
    may have, and everybody at one end: noise beyond it comes out at the other end.
    """
    made = open_task(
        protocol="split_sum", min_batch=12, epsilon="4", delta="0.01", size=10, bounds=("0", "1")
    )
    largest = made.min_batch
    task = least_modulus(made, largest)
    modulus = 1 << int(task.design.parameter("modulus_bits"))
    assert modulus < 2 * largest * task.size
    keep = math.exp(-float(Fraction(task.noise)) / task.size)
    shape, most = largest / task.design.n_honest_design, 200
    share = np.zeros(most)
    share[0] = (1 - keep) ** shape
    for at in range(1, most):
        share[at] = share[at - 1] * (at - 1 + shape) / at * keep
    noise, true = np.convolve(share, share[::-1]), all_say * largest
    outside, far, said = 0.0, 0.0, dict[int, dict[str, Any]]()
    for at, probability in enumerate(noise):
        total = (true * task.size + at - (most - 1)) % modulus
        if total not in said:
            tally = Counter({0: largest * task.slots - 1})
            tally[total] += 1
            said[total] = estimate_of(task, users=largest, tally=tally)
        one = said[total]
        if abs(one["sum"] - true) > one["error_of_sum"]:
            outside += float(probability)
        if abs(one["sum"] - true) > largest / 2:
            far += float(probability)
    assert outside <= 0.05
    # It does go round: to the other end, and more than once in 20 windows.
    assert far > 0.05


def least_modulus(task: Task, largest: int) -> Task:
    """Return the task with a largest batch, and the fewest bits of modulus that it may have."""
    for bits in range(1, 32):
        try:
            return replace(task, max_batch=largest, parameters=(str(bits), task.parameters[1]))
        except SmoothdpError:
            continue
    raise AssertionError


@ONLY_SQLITE
def test_a_budget_of_numbers_that_no_float_holds_pays_for_three_windows_and_no_fourth(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Section 3.1: the budgets "pay for floor(min of the two quotients) windows", with an epsilon
    and a delta that have no float: cards and ledger agree with the clients' count.
    """
    task = replace(
        open_task(min_batch=12),
        noise=str(2**62),
        epsilon="20/9",
        delta="1e-999",
        budget_epsilon="20/3",
        budget_delta="3.5e-999",
    )
    assert Task.decode(task.encoded) == task
    assert windows_paid(task) == 3
    world = PartyWorld(tmp_path, task)
    for window in range(WINDOW, WINDOW + 3):
        world.go_to(max(world.now, window * HOUR + 1.0))
        world.open_window(window)
        world.send_many(12, window=window)
        assert world.finish(window=window)["state"] == "RELEASED"
        world.restart()
    key = world.shuffler.cards.offered_key(WINDOW + 3)
    assert world.analyzer.cards.put_key(GATEWAY, WINDOW + 3, key) == 404
    assert world.charged() == [WINDOW, WINDOW + 1, WINDOW + 2]
    world.close()


@ONLY_SQLITE
def test_nothing_is_released_without_one_honest_user_though_one_alone_keeps_the_promise(
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Section 7: "REFUSED unless the exact accountant keeps the promise with h, with one honest
    user, ...": that one user must be there, with a share of honest ones next to none.
    """
    task = replace(
        open_task(min_batch=12), noise=str(2**62), epsilon="2", delta="0.01", honest_share="1e-999"
    )
    assert task.fewest_honest == 1
    for served, state in ((12, ""), (13, "REFUSED"), (2**64 - 1, "REFUSED")):
        ruling = rule(task, users=12, served=served, tally={1: 12})
        # All of them but one may be false, whoever is missing.
        assert (ruling.honest, ruling.state) == (12 - (served - 1), state)
