"""Two values, every record from one distribution: E delta(H) for H ~ Bin(n, p).

Only the counts that carry weight are evaluated; Chernoff's bound on blocks of counts covers
the rest, so nothing is assumed about the shape of the summand. Beside the expectation
stands that of the least symmetric valley-shaped function above delta, its envelope
(proofs/smoothed-delta#4).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF, LogBounds, log_sum_upper
from smoothdp.exact.probabilities.windows import log_binomial_pmf
from smoothdp.smoothed.two_values.delta_line import FIRST, DeltaLine
from smoothdp.types import FloatArray, IntArray

_NATS = 46.0
"""Blocks below e^-46 of the largest term are bounded, not evaluated."""
_EXTENSION = 1 << 22


class Endpoint(NamedTuple):
    """Bounds of ln E delta(H), and of ln of the expectation of its envelope from above."""

    expectation: LogBounds
    envelope: float


class _HalfTerms(NamedTuple):
    """The terms of one half: lower, upper and envelope, as logarithms, and what is beside."""

    lower: FloatArray
    upper: FloatArray
    envelope: FloatArray
    beside: float


@dataclass(frozen=True)
class _Half:
    """H or n - H, whichever is asked, from 0 to ``last``."""

    line: DeltaLine
    chance: Fraction
    last: int

    def log_mass(self, h: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return ln P(h) from below and above."""
        values, error = log_binomial_pmf(h, self.line.n_records, self.chance)
        return values - error, values + error

    def heights(self) -> tuple[IntArray, FloatArray]:
        """Return the blocks' first counts and bounds of ln (P(block) times the envelope).

        The first block is 0..1, where delta is the cap.
        """
        starts = np.concatenate([[0], self.line.breaks[:-1]])
        starts = starts[starts <= self.last]
        ends = np.append(starts[1:] - 1, self.last)
        envelope = np.concatenate([[self.line.cap.upper], self.line.coarse_envelope])
        _, at_start = self.log_mass(starts)
        _, at_end = self.log_mass(ends)
        mean = self.line.n_records * self.chance
        around = (starts <= math.ceil(mean) + 1) & (ends >= math.floor(mean) - 1)
        largest = np.where(around, 0.0, np.maximum(at_start, at_end))
        mass = np.minimum(largest + np.log(ends - starts + 1.0) * (1 + 1e-15), 0.0)
        return starts, mass + envelope[: starts.size]

    def terms(self, starts: IntArray, heights: FloatArray, target: float) -> _HalfTerms:
        """Evaluate the blocks within reach of ``target``, bound the others."""
        near = np.flatnonzero(heights > target - _NATS)
        none = np.zeros(0)
        if near.size == 0:
            return _HalfTerms(none, none, none, _log_total(heights))
        first_block, last_block = int(near[0]), int(near[-1])
        first = int(starts[first_block])
        last = int(starts[last_block + 1]) - 1 if last_block + 1 < starts.size else self.last
        h = np.arange(first, last + 1)
        lower, upper = np.full(h.size, self.line.cap.lower), np.full(h.size, self.line.cap.upper)
        inner = max(first, FIRST)
        if inner <= last:
            lower[inner - first :], upper[inner - first :] = self.line.window(inner, last)
        beyond = self.line.upper_envelope_beyond(
            max(last + 1, FIRST), level=float(upper[-1]), most=_EXTENSION
        )
        envelope = np.maximum.accumulate(np.append(upper, beyond)[::-1])[::-1][:-1]
        low_mass, high_mass = self.log_mass(h)
        outside = np.concatenate([heights[:first_block], heights[last_block + 1 :]])
        return _HalfTerms(
            low_mass + lower, high_mass + upper, high_mass + envelope, _log_total(outside)
        )

    def probe(self, starts: IntArray, heights: FloatArray) -> float:
        """Return about the largest term, looked for where the blocks stand highest."""
        starts_of_highest = np.sort(starts[np.argsort(-heights)[:32]])
        log_mass = self.log_mass(starts_of_highest)[0]
        delta = np.full(starts_of_highest.size, self.line.cap.lower)
        inner = starts_of_highest >= FIRST
        delta[inner] = self.line.rough(starts_of_highest[inner])
        return float((log_mass + delta).max())


def coarse_endpoint(line: DeltaLine, chance: Fraction) -> float:
    """Bound ln of the expectation of the envelope from above, by Chernoff's bound alone."""
    return _log_total(np.concatenate([half.heights()[1] for half in _halves(line, chance)]))


def _halves(line: DeltaLine, chance: Fraction) -> tuple[_Half, _Half]:
    n = line.n_records
    return _Half(line, chance, n // 2), _Half(line, 1 - chance, (n - 1) // 2)


def endpoint(line: DeltaLine, chance: Fraction) -> Endpoint:
    """Return the expectation of delta and of its envelope, each record in with ``chance``."""
    halves = _halves(line, chance)
    blocks = [half.heights() for half in halves]
    target = max(half.probe(*block) for half, block in zip(halves, blocks, strict=True))
    terms = [half.terms(*block, target) for half, block in zip(halves, blocks, strict=True)]
    beside = log_sum_upper(terms[0].beside, terms[1].beside)
    lower = _log_total(np.concatenate([half_terms.lower for half_terms in terms]), -1)
    upper = _log_total(np.concatenate([half_terms.upper for half_terms in terms]))
    envelope = _log_total(np.concatenate([half_terms.envelope for half_terms in terms]))
    cap = line.cap.upper
    return Endpoint(
        LogBounds(lower, min(cap, log_sum_upper(upper, beside))),
        min(cap, log_sum_upper(envelope, beside)),
    )


def _log_total(logs: FloatArray, direction: int = 1) -> float:
    """Return ln of the sum of e^logs, above the truth, or below it with direction -1.

    Each term carries the rounding of its own sum and shift, and exp; numpy adds pairwise, at
    most a hundred roundings deep.
    """
    top = float(logs.max(initial=-math.inf))
    if top == -math.inf:
        return -math.inf
    shifted = logs - top
    terms = np.exp(shifted)
    total = float(terms.sum())
    depth = float(np.max(np.where(terms > 1e-20, np.abs(logs) + np.abs(shifted), 0.0)))
    error = LIBM_ERROR + (128 + 3 * depth) * UNIT_ROUNDOFF
    # Terms far down have a larger relative error and no weight.
    total *= 1 + direction * (error + 1e-18)
    if direction > 0:
        total += logs.size * 1e-19 * 1e-12
    value = top + math.log(total)
    return value + direction * (LIBM_ERROR + 4 * UNIT_ROUNDOFF * (abs(top) + abs(value) + 1))
