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
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from smoothdp.exact.parameters.numbers import Real, float_of
from smoothdp.types import FloatArray

Vertex = tuple[Fraction, ...]
_SPLITS = np.linspace(0.02, 0.98, 97)
_SAFETY = 1e-9
# Where logarithms of a share, and of a share times e^-epsilon, are floats far from their ends.
# delta falls when epsilon grows, so a smaller epsilon is on the safe side; and fewer records are.
_LARGEST_EPSILON = 600.0
_LEAST_SHARE, _LEAST_SPLIT_SHARE = 1e-30, 1e-300
_MOST_RECORDS = 10**300


class _Term(NamedTuple):
    """e^(offset - rate H), summed over the categories."""

    offset: float
    rate: float


def log_bound_of_lost(
    n_records: int, vertices: tuple[Vertex, ...], epsilon: Real, lost: Fraction
) -> float:
    """Bound ln of smoothed delta, a share of the records lost: exactly, or each by chance.

    The bound is 0, delta = 1, where a share below 1e-30 of the records is lost or kept.
    """
    if not _LEAST_SHARE <= lost <= 1 - Fraction(_LEAST_SHARE):
        return 0.0
    terms = _lost_terms(_within(epsilon), float(lost), float(1 - lost))
    return _least(n_records, vertices, list(terms))


def log_bound_of_drawn(
    n_records: int, vertices: tuple[Vertex, ...], epsilon: Real, n_draws: int
) -> float:
    """Bound ln of smoothed delta, n_draws records drawn with replacement."""
    mean = Fraction(n_draws, n_records)
    if not _LEAST_SHARE <= mean <= 1 / Fraction(_LEAST_SHARE):
        return 0.0
    return _least(n_records, vertices, list(_drawn_terms(_within(epsilon), float(mean))))


def _within(epsilon: Real) -> float:
    return min(_LARGEST_EPSILON, float_of(epsilon))


def _lost_terms(e: float, r: float, kept: float) -> Iterator[list[_Term]]:
    if e > 0 and -e < math.log(r):
        yield [_Term(0.0, _divergence(math.exp(-e), r, kept))]
    for split in _SPLITS:
        c = r * math.exp(-e * split)
        g = r * math.exp(e * (1 - split))
        if e > 0 and g < 1 and c > _LEAST_SPLIT_SHARE:
            s = math.log(g * kept / (r * (1 - g)))
            rate = _divergence(g, r, kept)
            # In the other direction category b has one record less.
            yield [_Term(0.0, _divergence(c, r, kept)), _Term(s * (1 - g) + rate, rate)]


def _drawn_terms(e: float, mean: float) -> Iterator[list[_Term]]:
    for split in _SPLITS:
        x = mean - e * split
        y = x + e
        if e > 0 and x > 0:
            below, above = (z * math.log(z / mean) - z + mean for z in (x, y))
            yield [
                _Term(y * math.log(y / mean), above),
                _Term(x * math.log(mean / x) + below, below),
            ]


def _divergence(share: float, chance: float, miss: float) -> float:
    """Return KL(share, chance) of two Bernoulli laws; ``miss`` is 1 - chance, well rounded."""
    return share * math.log(share / chance) + (1 - share) * math.log((1 - share) / miss)


def _least(n: int, vertices: tuple[Vertex, ...], choices: list[list[_Term]]) -> float:
    """Return ln of the smallest of the sums, largest over the vertices each; at most 0.

    Offsets and rates carry relative errors below 1e-12 of what they are made of.
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
    rate = max(term.rate - 1e-13, 0.0)
    return np.asarray(term.offset + n * np.log1p(shares * math.expm1(-rate)))
