"""Noise that is drawn anew, or shared by many more than it was made for: exact laws by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from smoothdp.shuffle import LowCommunicationHistogram
from tests.services.worlds.small_tasks import small_task

Law = NDArray[np.float64]


def _numbers_of_one(bins: int, chance: float, slots: int) -> Law:
    """Return the law of the messages of one user, who draws noise again until it fits."""
    law = np.zeros(bins + 2)
    for many in range(min(bins, slots - 1) + 1):
        law[many + 1] = math.comb(bins, many) * chance**many * (1 - chance) ** (bins - many)
    return np.asarray(law / law.sum())


@pytest.mark.parametrize(
    ("users", "bins", "chance", "slots"),
    [(30, 50, "1/10", 11), (60, 20, "1/10", 7), (200, 10, "1/20", 5), (12, 100, "1/5", 29)],
)
def test_honest_users_who_draw_again_are_quarantined_as_rarely_as_is_said(
    users: int,
    bins: int,
    chance: str,
    slots: int,
) -> None:
    """The page of the protocol, of f: "honest users break either in 1 of 10^12 windows".

    With few slots noise is drawn again, so that there is less of it than the numbers of f say.
    Nearly as much is drawn again here as a task may: the exact law of all messages says how often.
    """
    protocol = LowCommunicationHistogram(
        users, n_bins=bins, noise_probability=chance, n_slots=slots
    )
    assert protocol.redraw_probability > Fraction(1, 100)
    one, law = _numbers_of_one(bins, float(Fraction(chance)), slots), np.ones(1)
    for _ in range(users):
        law = np.convolve(law, one)
    shown = np.array(
        [
            min(protocol.honest_at_most(sent), protocol.honest_despite(sent)) < users
            for sent in range(len(law))
        ]
    )
    assert shown.any()
    assert not shown.all()
    assert law[shown].sum() <= 1e-12


def _all_counts(users: int, bins: int, chance: float, slots: int) -> Law:
    """Return the law of the noise in all bins, drawn again until each user's fits."""
    one = {
        bits: math.prod(chance if bit else 1 - chance for bit in bits)
        for bits in product((0, 1), repeat=bins)
        if sum(bits) < slots
    }
    law = np.zeros((users + 2,) * bins)
    law[(0,) * bins] = 1 / sum(one.values()) ** users
    for _ in range(users):
        more = np.zeros_like(law)
        for bits, probability in one.items():
            to = tuple(slice(bit, None) for bit in bits)
            of = tuple(slice(0, len(law) - bit) for bit in bits)
            more[to] += probability * law[of]
        law = more
    return law


@pytest.mark.parametrize(
    ("users", "bins", "chance", "slots"),
    [(30, 2, "1/10", 3), (30, 3, "1/10", 3), (24, 3, "1/8", 3), (40, 2, "1/25", 2)],
)
def test_epsilon_of_noise_that_is_drawn_again_is_never_below_that_of_all_counts(
    users: int,
    bins: int,
    chance: str,
    slots: int,
) -> None:
    """The page of the protocol: "h honest users keep the promise if `profile(n_honest=h)
    .delta(epsilon)` is at most delta", also where noise "is drawn again if it does not fit".

    Then the bins are no longer independent: the law of all of them at once is laid beside it.
    """
    protocol = LowCommunicationHistogram(
        users, n_bins=bins, noise_probability=chance, n_slots=slots
    )
    noise = _all_counts(users, bins, float(Fraction(chance)), slots)
    one, other = (np.roll(noise, 1, axis=axis) for axis in (0, 1))
    profile = protocol.profile(n_honest=users)
    for epsilon in ("0.1", "0.5", "1", "1.5", "2"):
        bound, ratio = float(profile.delta(epsilon)), math.exp(float(epsilon))
        for here, there in ((one, other), (other, one)):
            exact = float(np.maximum(here - ratio * there, 0).sum())
            assert exact <= bound * (1 + 1e-9)
            # Not by saying 1: what is said is near where little is drawn again.
            if slots == bins + 1:
                assert bound <= exact * (1 + 1e-6)


def _shares(shape: float, keep: float, most: int) -> Law:
    """Return the law of a sum of shares of a geometric number."""
    law = np.zeros(most)
    law[0] = (1 - keep) ** shape
    for at in range(1, most):
        law[at] = law[at - 1] * (at - 1 + shape) / at * keep
    return law


@pytest.mark.parametrize("times", [1, 2, 10, 100])
def test_errors_hold_where_many_more_share_the_noise_than_it_was_made_for(
    times: int,
) -> None:
    """The page: beside a sum stands `error_of_sum`, and `error_fails_with_probability` "0.05".

    Noise of paired counts and split sums is shared among the honest users of the smallest batch;
    in a hundred times as many there is a hundred times as much. Of a split sum with every number
    half way between two steps, where rounding adds most.
    """
    paired, split = (
        small_task("paired_count", min_batch=60),
        small_task("split_sum", min_batch=60, bounds=("0", "1")),
    )
    users = 60 * times
    law = _shares(users / 54, math.exp(-float(Fraction(paired.noise))), 400)
    left, middle = np.convolve(law, law[::-1]), len(law) - 1
    reach = round(2 * float(paired.collect(users).error("0.05")))
    outside = 1 - left[middle - reach : middle + reach + 1].sum()
    assert outside <= 0.05
    # One half step less would be too little, if noise that is drawn again is left out.
    assert 1 - left[middle - reach + 1 : middle + reach].sum() > 0.05

    rate = float(Fraction(split.noise)) / split.size
    law = _shares(users / 54, math.exp(-rate), 6000)
    left, middle = np.convolve(law, law[::-1]), len(law) - 1
    error = float(split.collect(users).error("0.05")) * split.size
    up = np.array(
        [
            math.lgamma(users + 1) - math.lgamma(k + 1) - math.lgamma(users - k + 1)
            for k in range(users + 1)
        ]
    )
    rounded = np.exp(up - users * math.log(2))
    heavy = np.flatnonzero(rounded > 1e-15)
    total = np.convolve(left, rounded[heavy[0] : heavy[-1] + 1])
    off = np.abs(np.arange(len(total)) - middle + heavy[0] - users / 2)
    assert total[off > error].sum() <= 0.05
    assert total[off > error / 3].sum() > 0.05
