"""How many are honest at most by their signs, against the law of all of them, user by user."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from smoothdp.errors import InvalidParameter
from smoothdp.shuffle import PairedCount, PairedHistogram
from tests.oracles.paired_noise import noise_of_one

DESIGNS = [(2, "1/8", "1/4", 1, 12), (3, "1/8", "1/3", 2, 16), (40, "2/3", "1/5", 5, 60)]
"""Honest users that make all of the noise, p, clump probability, largest clump, K."""


def made(design: tuple[int, str, str, int, int], users: int) -> PairedCount:
    needed, ratio, chance, largest, slots = design
    return PairedCount(
        users,
        noise_rate=Fraction(-math.log(Fraction(ratio))),
        clump_probability=chance,
        largest_clump=largest,
        honest_share=Fraction(1, users),
        slots=slots,
        n_honest_design=needed,
    )


def law_of_signs(design: tuple[int, str, str, int, int], honest: int) -> np.ndarray:
    """Return P(so many signs of honest users), the own ones included."""
    needed, ratio, chance, largest, slots = design
    one = np.zeros(slots + 1)
    law = noise_of_one(Fraction(1, needed), Fraction(ratio), Fraction(chance), largest, slots - 1)
    for (plus, minus), mass in law.items():
        one[1 + plus + minus] += float(mass)
    total = np.ones(1)
    for _ in range(honest):
        total = np.convolve(total, one)
    return total


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("honest", [1, 30, 90])
def test_honest_users_are_refuted_once_in_a_million_million(
    design: tuple[int, str, str, int, int], honest: int
) -> None:
    """Whatever others add: refuted where so few, or so many, have at most 1e-12, and soon then."""
    users = honest + 10
    protocol, law = made(design, users), law_of_signs(design, honest)
    below, above = np.cumsum(law), np.cumsum(law[::-1])[::-1]
    numbers = range(law.size)
    by_few = [protocol.honest_by_few_signs(signs) < honest for signs in numbers]
    others = (users - honest) * protocol.slots_per_user
    by_many = [protocol.honest_by_many_signs(signs + others) < honest for signs in numbers]
    assert all(below[signs] <= 1e-12 for signs in numbers if by_few[signs])
    assert all(above[signs] <= 1e-12 for signs in numbers if by_many[signs])
    if honest == 90:
        assert any(by_few)
        assert any(by_many)
    # A bound by moments is off by a factor alone: what has 1e-16 is refuted.
    assert all(by_few[signs] for signs in numbers if below[signs] < 1e-16)
    assert all(by_many[signs] for signs in numbers if above[signs] < 1e-16 and signs >= honest)


@pytest.mark.parametrize("design", DESIGNS)
def test_more_signs_leave_more_silent_users_out(design: tuple[int, str, str, int, int]) -> None:
    users = 50
    protocol = made(design, users)
    slots = users * protocol.slots_per_user
    few = [protocol.honest_by_few_signs(signs) for signs in range(slots + 1)]
    many = [protocol.honest_by_many_signs(signs) for signs in range(slots + 1)]
    assert few == sorted(few)
    assert many == sorted(many, reverse=True)
    # Nobody can be honest without a sign; all can be with one each; none if all slots are signs.
    assert (few[0], few[-1], many[0]) == (0, users, users)
    assert many[-1] < users
    assert all(found <= signs for signs, found in enumerate(few))


def test_bins_have_noise_each() -> None:
    """Ten bins have ten times the noise: 100 signs are enough for 60 users of a count alone."""
    fields = {
        "noise_rate": "1/2",
        "clump_probability": "1/5",
        "largest_clump": 3,
        "slots": 80,
        "n_honest_design": 40,
    }
    bins = PairedHistogram(60, n_bins=10, **fields)  # type: ignore[arg-type]
    count = PairedCount(60, **fields)  # type: ignore[arg-type]
    assert bins.honest_by_few_signs(100) < 40 < count.honest_by_few_signs(100)
    assert count.honest_by_many_signs(3000) < bins.honest_by_many_signs(3000)


@pytest.mark.parametrize("wrong", [-1, 1.5, "3"])
def test_a_number_of_signs_is_a_whole_number(wrong: object) -> None:
    protocol = made(DESIGNS[0], 20)
    for asked in (protocol.honest_by_few_signs, protocol.honest_by_many_signs):
        with pytest.raises(InvalidParameter, match="n_signs"):
            asked(wrong)  # type: ignore[arg-type]


def test_a_protocol_without_a_cap_says_nothing() -> None:
    free = PairedCount(20, noise_rate=1, clump_probability="1/4", largest_clump=2)
    for asked in (free.honest_by_few_signs, free.honest_by_many_signs):
        with pytest.raises(InvalidParameter, match="envelopes of a fixed size"):
            asked(20)
