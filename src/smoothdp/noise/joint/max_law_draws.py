"""How the max law is drawn: mixtures of exponential and Gamma(2) numbers, exactly.

With 1 - z t = e^-v inside and 1 + z t = (1 + 1/a) e^v outside, |Z| has in v the density
e^-d (1 + d + (a - 1) v) e^(-a v) up to V = -ln(1 - 1/a), or
(1 + 1/a) e^-u1 (1 + u1 + (a + 1) v) e^(-a v), u1 = (a - 1) V + d. Each is a mixture of an
exponential and a Gamma(2) law of rate a. The inner one is drawn without its end, and what is
beyond V is rejected, together with the choice of the part. Given u = H(z) + d, B is uniform on
+-u / (a - 1) with probability u / (1 + u), else +-(u / (a - 1) + an exponential of rate a - 1).

Source: proofs/quantile-bars#6.
"""

from __future__ import annotations

from fractions import Fraction

from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.random.lazy import Undrawn
from smoothdp.exact.random.lazy_pair import LazyPair, PairFunction


def max_law_pair(shape: Fraction, smoothing: Fraction, offset: Fraction) -> LazyPair:
    """Return (Z, B) of the max law.

    Args:
        shape: a > 1. smoothing: t > 0. offset: d >= 0.
    """
    return LazyPair(5, lambda: _function(shape, smoothing, offset))


def _function(shape: Fraction, smoothing: Fraction, offset: Fraction) -> PairFunction:
    a, slope, t, d = ball(shape), ball(shape - 1), ball(smoothing), ball(offset)
    border = -ball(-1 / shape).log1p()
    top = slope * border + d
    outer = ball(1 + 1 / shape) * (-top).exp()
    # The inner part's exponential and Gamma(2), the outer part's; without the end at V.
    masses = (
        (-d).exp() * (1 + d) / a,
        (-d).exp() * slope / (a * a),
        outer * (1 + top) / a,
        outer * ball(shape + 1) / (a * a),
    )
    total = masses[0] + masses[1] + masses[2] + masses[3]
    steps = [masses[0] / total, (masses[0] + masses[1]) / total]
    steps.append(steps[1] + masses[2] / total)

    def draw(
        positive: bool, which: Ball, first: Ball, second: Ball, kind: Ball, place: Ball
    ) -> tuple[Ball, Ball] | Undrawn:
        part = _part_of(which, steps)
        if part is None:
            return Undrawn.UNDECIDED
        v = -first.log() / a
        if part % 2:
            v -= second.log() / a
        if part < 2:
            if v > border:
                return Undrawn.REJECTED
            if not v < border:
                return Undrawn.UNDECIDED
            size = -(-v).expm1() / t
            u = d + slope * v
        else:
            size = (ball(1 + 1 / shape) * v.exp() - 1) / t
            u = top + ball(shape + 1) * v
        b = _log_noise(u, kind, place, slope)
        return b if isinstance(b, Undrawn) else (size if positive else -size, b)

    return draw


def _part_of(uniform: Ball, steps: list[Ball]) -> int | None:
    """Return in which of the intervals that end at ``steps`` a number is; None: undecided."""
    for place, step in enumerate(steps):
        if uniform < step:
            return place
        if not uniform > step:
            return None
    return len(steps)


def _log_noise(u: Ball, kind: Ball, place: Ball, slope: Ball) -> Ball | Undrawn:
    """Return B given u: ``kind`` chooses between middle and tails, ``place`` sign and size."""
    share = u / (1 + u)
    if kind < share:
        return (2 * place - 1) * u / slope
    if not kind > share:
        return Undrawn.UNDECIDED
    # Both halves of `place` are uniform numbers of their own.
    if 2 * place < 1:
        return -(u - (2 * place).log()) / slope
    if 2 * place > 1:
        return (u - (2 * place - 1).log()) / slope
    return Undrawn.UNDECIDED
