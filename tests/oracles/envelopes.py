"""The law of a symmetrised pair and of compositions, by mpmath: no code of the library.

Of two laws p, q the larger of D(E) = sum (p - E q)_+ and its reverse is taken on the mesh of all
likelihood ratios, with the crossings of both; its kinks are the atoms. Compositions are
enumerated atom by atom, a Gaussian by its closed form.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import mpmath

# Slopes are differences of values: as many digits as masses of 1e-300 and their ratios take.
DIGITS = 900
SHORT = 50
Number = Any
"""An mpf."""


class Envelope(NamedTuple):
    """Atoms (P-mass, likelihood ratio) and the P-mass at infinity."""

    atoms: list[tuple[Number, Number]]
    infinite: Number


def hockey(p: list[Number], q: list[Number], growth: Number) -> Number:
    return mpmath.fsum(a - growth * b for a, b in zip(p, q, strict=True) if a > growth * b)


def masses(log_masses: list[float]) -> list[Number]:
    return [mpmath.exp(mpmath.mpf(x)) if x > -math.inf else mpmath.mpf(0) for x in log_masses]


def envelope(log_p: list[float], log_q: list[float], *, digits: int = DIGITS) -> Envelope:
    """Return the law of the larger of both directions."""
    with mpmath.workdps(digits):
        return _envelope(log_p, log_q)


def _envelope(log_p: list[float], log_q: list[float]) -> Envelope:
    p, q = masses(log_p), masses(log_q)
    ratios = {a / b for a, b in zip(p, q, strict=True) if a and b}
    mesh = [mpmath.mpf(0)]
    for ratio in sorted(ratios | {1 / ratio for ratio in ratios}):
        if ratio > mesh[-1] * (1 + mpmath.mpf(10) ** (30 - mpmath.mp.dps)):
            mesh.append(ratio)
    end = 2 * mesh[-1] + 1

    def both(growth: Number) -> tuple[Number, Number]:
        return hockey(p, q, growth), hockey(q, p, growth)

    points = []
    for left, right in itertools.pairwise([*mesh, end]):
        points.append((left, max(both(left))))
        # Both are linear here.
        (a, b), (c, d) = both(left), both(right)
        if (a - b) * (c - d) < 0:
            share = (a - b) / ((a - b) - (c - d))
            crossing = left + share * (right - left)
            points.append((crossing, max(both(crossing))))
    infinite = max(both(end))
    points.append((end, infinite))
    slopes = [(y - v) / (x - u) for (u, v), (x, y) in itertools.pairwise(points)] + [mpmath.mpf(0)]
    atoms = []
    for (x, _), (before, after) in zip(points[1:], itertools.pairwise(slopes), strict=True):
        # What is left of the last digits of slopes up to 1 is no kink.
        if after - before > mpmath.mpf(10) ** (40 - mpmath.mp.dps):
            atoms.append((x * (after - before), x))
    return Envelope(atoms, infinite)


def composed_delta(parts: list[tuple[Envelope, int]], square: Number, epsilon: Number) -> Number:
    """Return delta of the product of envelopes and a Gaussian of mu^2 = square."""
    with mpmath.workdps(SHORT):
        return _composed_delta(parts, square, epsilon)


def _composed_delta(parts: list[tuple[Envelope, int]], square: Number, epsilon: Number) -> Number:
    total = [(mpmath.mpf(1), mpmath.mpf(0))]
    log_finite = mpmath.mpf(0)
    for law, count in parts:
        own = [(mass, mpmath.log(ratio)) for mass, ratio in law.atoms]
        for _ in range(count):
            total = [(a * b, x + y) for a, x in total for b, y in own]
            log_finite += mpmath.log1p(-law.infinite) if law.infinite < 1 else -mpmath.inf
    found = [mass * gaussian_delta(square, epsilon - loss) for mass, loss in total]
    return mpmath.fsum(found) - mpmath.expm1(log_finite)


def gaussian_delta(square: Number, epsilon: Number) -> Number:
    if not square:
        return -mpmath.expm1(epsilon) if epsilon < 0 else mpmath.mpf(0)
    mu = mpmath.sqrt(square)
    tail = mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)
    return mpmath.ncdf(mu / 2 - epsilon / mu) - tail
