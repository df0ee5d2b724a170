"""The tables of the page on threats, from the laws alone: exact, or said to be a bound."""

from __future__ import annotations

import itertools
import math
import re
from math import exp
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, nbinom

from smoothdp.claims import ApproxDP
from smoothdp.shuffle import LowCommunicationHistogram, PairedCount, SplitSum
from tests.services.storages import ON_BOTH_STORAGES, ONLY_SQLITE
from tests.services.worlds.laws import Floats
from tests.services.worlds.page_of_threats import PAGE


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


def printed(row: str) -> list[float]:
    """Return the numbers of a row of a table of the page."""
    (line,) = re.findall(rf"^\| {row} \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    return [float("inf") if cell.strip() == "nothing" else float(cell) for cell in line.split("|")]


def up(epsilons: list[float]) -> list[float]:
    """Return numbers as the page prints them: never below the truth."""
    return [e if e == float("inf") else -(-(e - 1e-7) // 1e-3) / 1e3 for e in epsilons]


@ON_BOTH_STORAGES
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


def _two_bins(honest: int, probability: float, delta: float) -> float:
    noise = binom.pmf(np.arange(honest + 2), honest, probability)
    own = np.concatenate([[0.0], noise[:-1]])
    one, other = np.outer(own, noise), np.outer(noise, own)
    low, high = 0.0, 40.0
    for _ in range(50):
        middle = (low + high) / 2
        more = np.maximum(one - math.exp(middle) * other, 0).sum() > delta
        low, high = (middle, high) if more else (low, middle)
    return high


def test_what_is_left_of_a_low_communication_histogram_is_the_law_of_two_bins() -> None:
    """Of two bins that one user may move between, the exact law: never more than is said."""
    promise = ApproxDP(2, delta="1e-4")
    protocol = LowCommunicationHistogram.calibrate(
        300, n_bins=10, guarantee=promise, honest_share="0.9"
    )
    probability = float(protocol.noise_probability)
    for honest in (270, 250):
        said = protocol.profile(n_honest=honest).epsilon("1e-4")
        exact = _two_bins(honest, probability, 1e-4)
        assert exact <= said * (1 + 1e-9)
        assert said - exact < 1e-2


def least_epsilon(first: Floats, second: Floats, delta: float = 1e-6) -> float:
    """Return the least epsilon of two laws, by halving: the larger of both directions."""
    low, high = 0.0, 60.0
    while high - low > 1e-7:
        at = (low + high) / 2
        sticks = [
            (p - math.exp(at) * q).clip(0).sum() for p, q in ((first, second), (second, first))
        ]
        low, high = (at, high) if max(sticks) > delta else (low, at)
    return high


def paired_epsilon(honest: int, size: int) -> float:
    """Return epsilon of a paired count of 1,000 from the law of what its devices send.

    Noise is drawn again where it does not fit, as they do: the law of one user's noise is that of
    free noise, given that it fits.
    """
    made = PairedCount.calibrate(1000, guarantee=ApproxDP(1, delta="1e-6"), honest_share="0.9")
    most, chance, fits = made.largest_clump, float(made.clump_probability), made.slots_per_user
    clumps = np.array([0.0, *(1 / j for j in range(1, most + 1))])
    clumps *= chance / clumps.sum()
    clumps[0] = 1 - chance
    share = nbinom(1 / made.n_honest_design, -math.expm1(-float(made.noise_rate)))
    signs, one = share.pmf(np.arange(fits)), np.zeros((size, size))
    for pairs, probability in enumerate(clumps):
        for plus, minus in itertools.product(range(fits - 2 * pairs), repeat=2):
            if plus + minus + 2 * pairs < fits:
                both = probability * signs[plus] * signs[minus]
                one[plus + pairs, minus + pairs] += both
    law = np.fft.irfft2(np.fft.rfft2(one / one.sum()) ** honest, s=one.shape).clip(0)
    return least_epsilon(np.roll(law, 1, 0), np.roll(law, 1, 1))


@pytest.mark.parametrize(("column", "honest"), [(4, 100), (3, 250)])
def test_the_row_of_paired_counts_is_exact_or_said_to_be_a_bound(column: int, honest: int) -> None:
    """The page: "what is left is, exactly but for rounding up [...] The same for smallest batches
    of 1,000". With 100 honest users 4.529 is left where 4.540 is printed: a bound, if it says so.
    """
    text = PAGE.read_text(encoding="utf-8")
    (row,) = re.findall(r"^\| paired count \|(.*)\|$", text, re.MULTILINE)
    printed = float(row.split("|")[column])
    left = paired_epsilon(honest, 256 if honest <= 100 else 400)
    assert left - 1e-6 <= printed
    (above,) = re.findall(r"of the paired count at most (\.[0-9]+) above", text) or ["0"]
    assert printed <= math.ceil(1000 * left - 1e-3) / 1000 + float(above)


@ONLY_SQLITE
@pytest.mark.parametrize("honest", [900, 750, 500, 250, 100])
def test_the_row_of_paired_counts_is_never_below_the_law_of_their_signs(
    storage_kind: str,  # noqa: ARG001
    honest: int,
) -> None:
    """The law of all signs of so many honest users, added up cell by cell, at the figures printed.

    Neither the sums of the proof nor anything of the library: signs of negative binomial laws of a
    share each, clumps of pairs, one more + or one more -.
    """
    printed = dict(zip((900, 750, 500, 250, 100), (1.0, 1.234, 1.813, 2.835, 4.54), strict=True))
    made = PairedCount.calibrate(1000, guarantee=ApproxDP(1, delta="1e-6"), honest_share="0.9")
    size, most = 700 if honest > 300 else 300, made.largest_clump
    p, shape = math.exp(-float(made.noise_rate)), honest / made.n_honest_design
    signs = nbinom(shape, 1 - p).pmf(np.arange(size))
    clump = np.zeros(size)
    clump[0] = 1 - float(made.clump_probability)
    harmonic = sum(1 / j for j in range(1, most + 1))
    clump[1 : most + 1] = [
        float(made.clump_probability) / (j * harmonic) for j in range(1, most + 1)
    ]
    pairs = np.fft.irfft(np.fft.rfft(clump, 4 * size) ** honest, 4 * size)[:size].clip(0)
    # By plus signs and the difference of the two: pairs do not change it.
    law = {}
    for apart in range(-45, 46):
        minus = np.arange(size) - apart
        there = (minus >= 0) & (minus < size)
        both = np.where(there, signs * signs[minus.clip(0, size - 1)], 0)
        law[apart] = np.convolve(pairs, both)[:size]
    delta = sum(
        (law[at + 1][1:] - math.exp(printed[honest]) * law[at - 1][:-1]).clip(0).sum()
        + law[at + 1][0]
        for at in range(-44, 45)
    )
    assert 0.9e-6 < delta <= 1e-6


def test_what_is_left_of_a_split_sum_is_the_law_of_one_share_of_noise() -> None:
    """The page: "next to nothing for a split sum, 12.358 at smallest batches of 1,000"."""
    made = SplitSum.calibrate(1000, guarantee=ApproxDP(1, delta="1e-6"), honest_share="0.9")
    rate, steps = float(made.noise_epsilon) / made.resolution, made.resolution
    share = nbinom(1 / 900, -math.expm1(-rate)).pmf(np.arange(int(40 / rate)))
    noise = np.correlate(share, share, "full")
    first = np.concatenate([noise, np.zeros(steps)])
    left = least_epsilon(first, np.concatenate([np.zeros(steps), noise]))
    assert math.ceil(1000 * left - 1e-3) / 1000 == 12.358
    assert "12.358 at smallest batches of 1,000" in PAGE.read_text(encoding="utf-8")
