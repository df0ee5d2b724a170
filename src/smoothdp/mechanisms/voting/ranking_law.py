"""The law of the winner of a rule on sampled rankings, by merging equal tallies.

The sample's histogram h has probability proportional to the product of weights w_j(h_j):
C(H_j, h_j) without replacement, H_j^h_j / h_j! with. Categories are added one by one to
states (votes so far, tally so far), and states that agree are merged: their number is a
polynomial in n_draws. All terms are positive, so nothing cancels.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF
from smoothdp.mechanisms.sampling.finite_law import OutputLaw
from smoothdp.mechanisms.voting.rules import Rule, Tally, tallies
from smoothdp.types import IndexArray

MOST_STATES = 4_000_000
"""States that may be formed at once: about a second and 200 MB."""

# Products of table entries, which are at most 1, stay above e^-650: no float underflows.
_DEEPEST = -650.0
_MOST_EXACT = 300_000  # in whole numbers, which are a hundred times slower
_BLOCK = 256


class _Step(NamedTuple):
    """Add one class of votes: state ``source`` gets ``votes`` of them; then merge."""

    source: IndexArray
    votes: IndexArray
    order: IndexArray
    starts: IndexArray


class _Plan(NamedTuple):
    """How the states of a tally arise, whatever the weights.

    Final states are put in ``order``, and ``last_votes`` is how many votes the last class must
    supply to each state; the states of winner c are from ``ends[c]`` to ``ends[c + 1]``.
    ``largest`` is the most states formed at once, ``units`` counts roundings.
    """

    steps: tuple[_Step, ...]
    order: IndexArray
    last_votes: IndexArray
    ends: tuple[int, ...]
    largest: int
    units: int


def ranking_laws(
    rule: Rule,
    n_candidates: int,
    databases: Sequence[tuple[int, ...]],
    n_draws: int,
    *,
    replacing: bool,
) -> list[OutputLaw]:
    """Return the law of the winner at each of several databases of similar counts.

    Args:
        databases: counts per ranking in lexicographic order, equal sums.
        n_draws: T, the votes in the sample.
        replacing: whether a vote can be drawn more than once.

    Raises:
        OutOfReach: more than `MOST_STATES` states at once.

    >>> law, = ranking_laws("borda", 2, [(1, 2)], 1, replacing=False)
    >>> [round(float(p), 12) for p in np.exp(law.log_values)]
    [0.333333333333, 0.666666666667]
    """
    sums = [[Fraction(0)] * n_candidates for _ in databases]
    units = 0
    for tally in tallies(rule, n_candidates):
        classes = _classes(tally)
        sizes = [
            tuple(
                sum(n for n, vote in zip(counts, tally.votes, strict=True) if vote == one_class)
                for one_class in classes
            )
            for counts in databases
        ]
        most = [max(column) for column in zip(*sizes, strict=True)]
        caps = tuple(n_draws if replacing and n else min(n, n_draws) for n in most)
        plan = _plan(tally, n_candidates, caps, n_draws)
        units = max(units, plan.units + len(classes))
        for totals, size in zip(sums, sizes, strict=True):
            masses = _masses(plan, size, caps, n_draws, replacing=replacing)
            for c, mass in enumerate(masses):
                totals[c] += mass
    return [_law(masses, units * UNIT_ROUNDOFF * 1.01) for masses in sums]


def _classes(tally: Tally) -> list[tuple[int, ...]]:
    """Return the different votes, each beside its opposite: states of the pair merge soonest."""
    most = tuple(max(column) for column in zip(*tally.votes, strict=True))

    def beside_opposite(vote: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        opposite = tuple(top - v for top, v in zip(most, vote, strict=True))
        return min(vote, opposite), vote

    return sorted(set(tally.votes), key=beside_opposite)


def _law(masses: Sequence[Fraction], relative: float) -> OutputLaw:
    """Return logarithms of exact sums of floats that are right to a relative error."""
    logs = np.full(len(masses), -np.inf)
    width = 0.0
    for c, mass in enumerate(masses):
        if mass:
            bounds = log_bounds(mass)
            logs[c] = min(0.0, bounds.upper)
            width = max(width, bounds.upper - bounds.lower)
    return OutputLaw(logs, width + relative * (1 + LIBM_ERROR))


# ---- the states ---------------------------------------------------------------------


def _plan(tally: Tally, n_candidates: int, caps: tuple[int, ...], n_draws: int) -> _Plan:
    """Return the plan of a tally whose classes supply at most ``caps`` votes each."""
    classes = _classes(tally)
    # A key holds the votes so far and every number of the tally, in mixed radix.
    radix = [n_draws + 1] + [n_draws * max(column) + 1 for column in zip(*classes, strict=True)]
    units_of_digit = [math.prod(radix[:i]) for i in range(len(radix))]
    if math.prod(radix) >= 1 << 62:
        raise _out_of_reach(n_draws, "keys beyond 64 bits")
    codes = [
        sum(x * unit for x, unit in zip((1, *votes), units_of_digit, strict=True))
        for votes in classes
    ]
    keys = np.zeros(1, dtype=np.int64)
    steps, units, largest = [], _BLOCK + 8, 1
    for j, (code, cap) in enumerate(zip(codes[:-1], caps[:-1], strict=True)):
        used = keys % (n_draws + 1)
        least = np.maximum(0, n_draws - used - sum(caps[j + 1 :]))
        n_choices = np.maximum(0, np.minimum(cap, n_draws - used) - least + 1)
        total = int(n_choices.sum())
        largest = max(largest, total)
        if total > MOST_STATES:
            raise _out_of_reach(n_draws, f"{total} in step {j + 1} of {len(classes)}")
        source = np.repeat(np.arange(keys.size), n_choices)
        votes_taken = (
            np.arange(total)
            - np.repeat(np.cumsum(n_choices) - n_choices, n_choices)
            + least[source]
        )
        formed = keys[source] + votes_taken * code
        order = np.argsort(formed, kind="stable")
        starts = np.flatnonzero(np.diff(formed[order], prepend=-1))
        keys = formed[order][starts]
        sizes = np.diff(starts, append=total)
        units += int(sizes.max(initial=0)) + 3
        arrays = (array.astype(np.int32) for array in (source, votes_taken, order, starts))
        steps.append(_Step(*arrays))
    last_votes = n_draws - keys % (n_draws + 1)
    full_keys = keys + last_votes * codes[-1]
    totals = np.array(
        [full_keys // unit % size for unit, size in zip(units_of_digit[1:], radix[1:], strict=True)]
    )
    winners = tally.winner(totals, n_draws)
    by_winner = np.argsort(winners, kind="stable")  # the undecided, -1, come first
    ends = np.searchsorted(winners[by_winner], np.arange(n_candidates + 1))
    return _Plan(
        tuple(steps),
        by_winner.astype(np.int32),
        last_votes[by_winner].astype(np.int32),
        tuple(int(end) for end in ends),
        largest,
        units,
    )


def _out_of_reach(n_draws: int, got: str) -> OutOfReach:
    return OutOfReach(
        expected=f"at most {MOST_STATES} different partial tallies of a sample of {n_draws} "
        "rankings",
        got=got,
        remedy=(
            "Draw fewer votes, use fewer candidates, or publish the plurality winner, whose "
            "law is computed for millions of votes"
        ),
    )


# ---- the weights --------------------------------------------------------------------


def _masses(
    plan: _Plan, sizes: tuple[int, ...], caps: tuple[int, ...], n_draws: int, *, replacing: bool
) -> list[Fraction]:
    """Return each winner's share of a tally: a float sum times an exact constant."""
    n_records = sum(sizes)
    tilt = Fraction(n_draws, n_records if replacing else n_records - n_draws + 1)
    # Without replacement the other classes can supply no more than all of their votes.
    least = [0 if replacing else max(0, n_draws - n_records + size) for size in sizes]
    exact = [
        _weights(size, low, cap, tilt, replacing)
        for size, low, cap in zip(sizes, least, caps, strict=True)
    ]
    peaks = [max(column) for column in exact]
    n_samples = (
        Fraction(n_records**n_draws, math.factorial(n_draws))
        if replacing
        else Fraction(math.comb(n_records, n_draws))
    )
    constant = math.prod(peaks) / (n_samples * tilt**n_draws)
    scaled = [[w / peak for w in column] for column, peak in zip(exact, peaks, strict=True)]
    depth = sum(_log(min(w for w in column if w)) for column in scaled)
    tables: list[NDArray[Any]]
    if depth > _DEEPEST:
        tables = [np.array([float(w) for w in column]) for column in scaled]
    else:
        if plan.largest > _MOST_EXACT:
            raise _out_of_reach(n_draws, f"{plan.largest}, with weights beyond floats")
        scales = [math.lcm(*(w.denominator for w in column)) for column in scaled]
        constant /= math.prod(scales)
        tables = [
            np.array([int(w * scale) for w in column], dtype=object)
            for column, scale in zip(scaled, scales, strict=True)
        ]
    values = np.ones(1, dtype=tables[0].dtype)
    for table, step in zip(tables[:-1], plan.steps, strict=True):
        values = (values[step.source] * table[step.votes])[step.order]
        if step.starts.size < values.size:
            values = np.add.reduceat(values, step.starts)
    values = values[plan.order] * tables[-1][plan.last_votes]
    return [
        constant * _sum(values[low:high])
        for low, high in zip(plan.ends[:-1], plan.ends[1:], strict=True)
    ]


@lru_cache(maxsize=512)
def _weights(
    size: int, least: int, cap: int, tilt: Fraction, replacing: bool
) -> tuple[Fraction, ...]:
    """Return w(k) tilt^k for k = 0..cap, exactly; 0 below ``least``, where no sample is."""
    weights = [Fraction(0)] * least
    weight = math.comb(size, least) * tilt**least
    for k in range(least, cap + 1):
        weights.append(weight)
        weight *= tilt * (size if replacing else size - k) / (k + 1)
    return tuple(weights)


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _sum(values: NDArray[Any]) -> Fraction:
    """Add positive numbers: floats by blocks, and the blocks exactly but for one rounding."""
    if values.size == 0:
        return Fraction(0)
    if values.dtype == object:
        return Fraction(sum(values.tolist()))
    blocks = np.add.reduceat(values, np.arange(0, values.size, _BLOCK))
    return Fraction(math.fsum(blocks.tolist()))
