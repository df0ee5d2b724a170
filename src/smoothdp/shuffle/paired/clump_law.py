"""The number of pairs that users send: clumps, rarely, of a size whose law is 1 / (j H_k).

C is the sum over h users of a clump J with probability pi, else 0; P(J = j) = 1 / (j H_k) for
j = 1..k, H_k = 1 + 1/2 + ... + 1/k. Its law is computed by positive terms only, so that every mass
has a relative error that is known (proofs/paired-counts#6).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.logspace.bounds import UNIT_ROUNDOFF
from smoothdp.exact.parameters.numbers import LogRatio
from smoothdp.types import FloatArray, IntArray

MOST_PAIRS = 1 << 18
"""More pairs than any law here is computed for."""
LEAST_MASS = 1e-290
"""Masses below it are left out, and counted in ``outside``."""
_LARGE_BITS = 500
_LARGE = 2.0**_LARGE_BITS
_ROOM = 900
_MANY = 64
_FLOAT_SLACK = 1e-9
_MOST_WORK = 2e9
_MOST_STEPS = 50_000_000


class ClumpLaw(NamedTuple):
    """P(C = c) for c = 0, 1, ...: floats with a bound of their relative error.

    Attributes:
        masses: as floats. error: each is within a factor 1 +- error of the truth.
        outside: an upper bound of all mass that is left out.
    """

    masses: FloatArray
    error: float
    outside: float


@lru_cache(maxsize=256)
def harmonic(largest: int) -> Fraction:
    """Return H_k = 1 + 1/2 + ... + 1/k.

    >>> harmonic(3)
    Fraction(11, 6)
    """
    return sum((Fraction(1, j) for j in range(1, largest + 1)), Fraction(0))


def mean_pairs(n_users: int, probability: Fraction, largest: int) -> Fraction:
    """Return E C = h pi k / H_k.

    >>> mean_pairs(10, Fraction(1, 5), 2)
    Fraction(8, 3)
    """
    return n_users * probability * largest / harmonic(largest)


@lru_cache(maxsize=64)
def clump_law(n_users: int, probability: Fraction, largest: int, *, depth: float) -> ClumpLaw:
    """Return the law of C for h >= 1 users, 0 < pi < 1, leaving out at most about e^-depth.

    Raises:
        OutOfReach: more than 262,144 pairs, or masses that differ too much.

    >>> law = clump_law(2, Fraction(1, 2), 1, depth=60.0)
    >>> law.masses.tolist()
    [0.25, 0.5, 0.25]
    """
    last, outside = _last(n_users, float(probability), largest, depth)
    _require_few(last, largest)
    return _law_to(n_users, probability, largest, last, outside)


def likely_law(n_users: int, probability: Fraction, largest: int) -> ClumpLaw:
    """Return the law up to four deviations above the mean, without what lies outside.

    For searches only: beyond c = h the recursion has terms of both signs.
    """
    mean = float(mean_pairs(n_users, probability, largest))
    last = math.ceil(mean + 4 * math.sqrt(mean * (largest + 1) / 2)) + 2 * largest + 8
    last = min(last, n_users * largest)
    _require_few(last, largest)
    if last <= n_users or n_users < _MANY:
        return _law_to(n_users, probability, largest, last, 0.0)
    return ClumpLaw(*_recursion(n_users, probability, largest, last), 0.0)


def _require_few(last: int, largest: int) -> None:
    if last > MOST_PAIRS or last * largest > _MOST_STEPS:
        raise OutOfReach(
            expected=f"at most {MOST_PAIRS} pairs, and fewer where clumps are large",
            got=f"{last}",
            remedy="Lower noise_share, or raise epsilon: fewer pairs hide a user then",
        )


def _law_to(
    n_users: int, probability: Fraction, largest: int, last: int, outside: float
) -> ClumpLaw:
    if last <= n_users:
        masses, error = _recursion(n_users, probability, largest, last)
    else:
        masses, error = _powers(n_users, probability, largest, last)
    small = masses < LEAST_MASS
    masses = np.where(small, 0.0, masses)
    return ClumpLaw(masses, error, outside + LEAST_MASS * float(small.sum()))


def _last(n_users: int, probability: float, largest: int, depth: float) -> tuple[int, float]:
    """Return M and a bound of P(C > M), about e^-depth, by Chernoff: ln E e^(tC) - t (M + 1).

    Any t is valid. The floats are off by far less than the slack.
    """
    whole = n_users * largest
    sizes = np.arange(1.0, largest + 1)
    shares = 1 / sizes / float(harmonic(largest))
    tilts = np.geomspace(1e-6, 60.0, 300)
    tilts = tilts[tilts * largest < 600.0]
    excess = np.expm1(np.multiply.outer(tilts, sizes)) @ shares
    logs = n_users * np.log1p(probability * excess)
    reaches = (logs + depth) / tilts
    best = int(np.argmin(reaches))
    if reaches[best] >= whole:
        return whole, 0.0
    last = math.ceil(reaches[best])
    drop = float(tilts[best]) * (last + 1)
    bound = float(logs[best]) - drop + _FLOAT_SLACK * (1.0 + float(logs[best]) + drop)
    return last, math.exp(bound)


def _recursion(
    n_users: int, probability: Fraction, largest: int, last: int
) -> tuple[FloatArray, float]:
    """Panjer's recursion up to c = h, where all of its terms are positive.

    w_c = pi / (1 - pi) / (c H_k) sum over j of ((h + 1) j - c) w_(c - j) / j. A step has k + 6
    roundings at most, and c steps lie behind w_c.
    """
    sizes = np.arange(float(largest), 0.0, -1.0)
    tops, inverse = (n_users + 1) * sizes, 1.0 / sizes
    scale = float(probability / (1 - probability) / harmonic(largest))
    if largest == 1:
        return _single(n_users, scale, probability, last)
    kept = np.zeros(last + 1)
    window = np.zeros(last + 1 + largest)
    kept[0] = window[largest] = 1.0
    exponents = np.zeros(last + 1, dtype=np.int64)
    exponent = 0
    for c in range(1, last + 1):
        value = scale / c * float(((tops - c) * inverse) @ window[c : c + largest])
        window[c + largest] = kept[c] = value
        exponents[c] = exponent
        if value > _LARGE:
            shift = _shift(window[c + 1 : c + largest + 1])
            window[c + 1 : c + largest + 1] = np.ldexp(window[c + 1 : c + largest + 1], -shift)
            exponent += shift
    masses = _placed(kept, exponents, n_users, probability)
    return masses, 1.01 * UNIT_ROUNDOFF * ((largest + 6.0) * last + 8.0)


def _single(
    n_users: int, scale: float, probability: Fraction, last: int
) -> tuple[FloatArray, float]:
    """The same for single pairs, where a step is one ratio."""
    kept, exponents = [1.0], [0]
    value, exponent = 1.0, 0
    for c in range(1, last + 1):
        value *= scale * (n_users + 1 - c) / c
        kept.append(value)
        exponents.append(exponent)
        if value > _LARGE:
            value *= 1 / _LARGE
            exponent += _LARGE_BITS
    masses = _placed(np.array(kept), np.array(exponents, dtype=np.int64), n_users, probability)
    return masses, 1.01 * UNIT_ROUNDOFF * (5.0 * last + 8.0)


def _shift(window: FloatArray) -> int:
    """Return by how many bits a window is scaled down without loss."""
    positive = window[window > 0]
    top = math.frexp(float(positive.max()))[1]
    lowest = math.frexp(float(positive.min()))[1]
    shift = min(top, lowest + _ROOM)
    if shift < 100:
        raise OutOfReach(
            expected="pairs whose probabilities lie within 400 orders of magnitude",
            got="others",
            remedy="Lower largest_clump or clump_probability",
        )
    return shift


def _placed(
    kept: FloatArray, exponents: IntArray, n_users: int, probability: Fraction
) -> FloatArray:
    """Multiply by 2^exponent and by P(C = 0) = (1 - pi)^h, which may be below floats."""
    masses = np.zeros_like(kept)
    for exponent in np.unique(exponents).tolist():
        with precision(192):
            log_two = ball(LogRatio(Fraction(2)))
            power = n_users * ball(LogRatio(1 - probability)) / log_two + exponent
            whole = math.floor(float(power))
            factor = float(((power - whole) * log_two).exp())
        part = exponents == exponent
        # ldexp takes an int: what is far below floats becomes 0.
        masses[part] = np.ldexp(kept[part] * factor, max(whole, -100_000))
    return masses


def _powers(
    n_users: int, probability: Fraction, largest: int, last: int
) -> tuple[FloatArray, float]:
    """The law of one user to the power h, by squaring: products of positive arrays.

    A product of arrays with errors a and b has a + b + (terms + 1) u.
    """
    if last**2 * n_users.bit_length() > _MOST_WORK:
        raise OutOfReach(
            expected="fewer pairs a user",
            got=f"up to {last} pairs of {n_users} users",
            remedy="Add users, or lower noise_share",
        )
    share = probability / harmonic(largest)
    one = [float(1 - probability), *(float(share / j) for j in range(1, largest + 1))]
    base = np.array(one)[: last + 1]
    result, error, base_error = np.ones(1), 0.0, UNIT_ROUNDOFF
    left = n_users
    while True:
        if left & 1:
            error += base_error + (min(result.size, base.size) + 1) * UNIT_ROUNDOFF
            result = np.convolve(result, base)[: last + 1]
        left >>= 1
        if not left:
            # Products below floats are off by 2 h M 2^-1074 in all, far below what is kept.
            return result, 1.01 * error
        base_error = 2 * base_error + (base.size + 1) * UNIT_ROUNDOFF
        base = np.convolve(base, base)[: last + 1]
