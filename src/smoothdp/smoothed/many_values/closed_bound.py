"""Smoothed delta from above by tails alone: any number of records, values and vertices.

Proof: proofs/smoothed-delta#11.

With D the divergence of a pair (a, b) of categories, l the lost records of a category and
r the share lost, D is at most the probability that the likelihood ratio
(l_b + 1) H_a / [(H_b + 1) l_a] (proofs/two-smallest#2) exceeds e^epsilon, hence for every c at most

    P(l_a < c H_a) + P(l_b + 1 > g (H_b + 1)),  g = c e^epsilon.

Moments of l are at most those of Bin(H, r), so these are at most e^(-H_a KL(c, r)) and, with
s = ln(g (1 - r) / (r (1 - g))), e^(s (1 - g) - H_b KL(g, r)), which is
(g / r) e^(-(H_b + 1) KL(g, r)); the second is 0 where g >= 1. The largest over pairs and both
directions (where b has one record less) is at most the sum over all categories; its expectation
is a sum of products, E e^(-k H) = (1 - p (1 - e^-k))^n for a vertex of probability p. Over
compositions that is convex, hence largest at a vertex.

With replacement the logarithm of the ratio is at most h_a / (H_a - 1) - h_b / (H_b + 1), h the
sampled counts, whose moments are at most those of Poisson counts of mean H T / n.

The rates are differences that cancel to second order where epsilon is small beside the mean, and
are then multiplied by n. So rates and offsets are enclosed by balls, and only what follows, which
does not cancel, is in floats.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball, precision, round_down, round_up
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import Real, float_of
from smoothdp.types import FloatArray

Vertex = tuple[Fraction, ...]
_SPLITS = [Fraction(k, 100) for k in range(2, 99)]
# Rates cancel to second order: at differences of 1e-60, 512 bits leave 30 digits. Where nothing
# is left the rate is rounded down to 0, and the bound is 1.
_BITS = 512
_SAFETY = 1e-9
# delta falls when epsilon grows, so a smaller epsilon is on the safe side; and fewer records are.
_LARGEST_EPSILON = 600
_LEAST_SHARE = Fraction(1, 10**30)
_MOST_RECORDS = 10**300


class _Term(NamedTuple):
    """e^(offset - rate H), summed over the categories: offset rounded up, rate down."""

    offset: float
    rate: float


def log_bound_of_lost(
    n_records: int, vertices: tuple[Vertex, ...], epsilon: Real, lost: Fraction
) -> float:
    """Bound ln of smoothed delta, a share of the records lost: exactly, or each by chance.

    The bound is 0, delta = 1, where a share below 1e-30 of the records is lost or kept.
    """
    if not _LEAST_SHARE <= lost <= 1 - _LEAST_SHARE:
        return 0.0
    with precision(_BITS):
        choices = list(_lost_terms(_within(epsilon), ball(lost)))
    return _least(n_records, vertices, choices)


def log_bound_of_drawn(
    n_records: int, vertices: tuple[Vertex, ...], epsilon: Real, n_draws: int
) -> float:
    """Bound ln of smoothed delta, n_draws records drawn with replacement."""
    mean = Fraction(n_draws, n_records)
    if not _LEAST_SHARE <= mean <= 1 / _LEAST_SHARE:
        return 0.0
    with precision(_BITS):
        choices = list(_drawn_terms(_within(epsilon), ball(mean)))
    return _least(n_records, vertices, choices)


def _within(epsilon: Real) -> Ball:
    return ball(epsilon if float_of(epsilon) < _LARGEST_EPSILON else _LARGEST_EPSILON)


def _lost_terms(e: Ball, r: Ball) -> Iterator[list[_Term]]:
    if (-e).exp() < r:
        yield [_term(special.number(0.0), _divergence(-e - r.log(), r))]
    for split in _SPLITS:
        under, over = e * ball(split), e * ball(1 - split)
        if e > 0 and r * over.exp() < 1:
            # In the other direction category b has one record less.
            yield [
                _term(special.number(0.0), _divergence(-under, r)),
                _term(over, _divergence(over, r)),
            ]


def _drawn_terms(e: Ball, mean: Ball) -> Iterator[list[_Term]]:
    for split in _SPLITS:
        under, over = e * ball(split), e * ball(1 - split)
        if e > 0 and under < mean:
            rise = (1 + over / mean) * (over / mean).log1p()
            fall = (1 - under / mean) * (-(under / mean)).log1p()
            yield [
                _term(mean * rise, mean * rise - over),
                _term(under, mean * fall + under),
            ]


def _term(offset: Ball, rate: Ball) -> _Term:
    return _Term(round_up(offset), max(0.0, round_down(rate)))


def _divergence(log_ratio: Ball, chance: Ball) -> Ball:
    """Return KL(chance e^log_ratio, chance) of two Bernoulli laws."""
    share = chance * log_ratio.exp()
    return share * log_ratio + (1 - share) * ((-share).log1p() - (-chance).log1p())


def _least(n: int, vertices: tuple[Vertex, ...], choices: list[list[_Term]]) -> float:
    """Return ln of the smallest of the sums, largest over the vertices each; at most 0.

    Offsets are at most 2400, since y_0 < 50 mu where x_0 > 0: sums round by less than 1e-11,
    logarithms of moments relatively by 1e-13 where a moment of one record is above .01. Of a vertex
    that gives every value a positive probability, one that is at most 1/2 has the largest moment
    of each term, and moments of one record below .01 are beside it at most 4e-4 for two records.
    """
    size = float(min(n, _MOST_RECORDS))
    shares = np.array([[float(p) for p in vertex] for vertex in vertices])
    best = 0.0
    for terms in choices:
        logs = np.concatenate([_log_moments(size, shares, term) for term in terms], axis=1)
        top = logs.max(axis=1)
        with np.errstate(invalid="ignore"):
            totals = top + np.log(np.exp(logs - top[:, None]).sum(axis=1))
        best = min(best, float(totals.max()))
    return min(0.0, best + _SAFETY * (1 + abs(best)))


def _log_moments(n: float, shares: FloatArray, term: _Term) -> FloatArray:
    return np.asarray(term.offset + n * np.log1p(shares * np.expm1(-term.rate)))
