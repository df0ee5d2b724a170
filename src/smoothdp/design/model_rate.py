"""The largest sampling rate over a model of the data: smoothed delta in place of delta(x)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.claims.model.model import DataModel
from smoothdp.design.cells import Cell
from smoothdp.design.facts import DesignFacts, Merge, sorted_merges
from smoothdp.design.noise_option import noise_options, rates_in_words
from smoothdp.design.sampling_errors import sampling_error
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.exact.parameters.numbers import Real, exact_int
from smoothdp.mechanisms.histogram.sampling_histogram import SamplingHistogram
from smoothdp.smoothed import largest_sample, smoothed_delta


def model_facts(
    model: DataModel,
    *,
    epsilon: Real,
    target: Fraction,
    n_records: int | None,
    merge: Sequence[int],
    categories: Sequence[str] | None,
) -> DesignFacts:
    """Return the design over a model; the arguments of `rate_design`, read.

    The largest sample is `smoothdp.smoothed.largest_sample`'s, a proved upper bound of
    smoothed delta at most the target. A cell is a category with the least number of records
    that is expected in it, rounded down; it binds where that is least.

    Raises:
        InvalidParameter: no n_records, or categories of another number.
    """
    if n_records is None:
        raise InvalidParameter(
            expected="n_records with a model",
            got="none",
            remedy="Give the number of records that the sample is drawn from",
        )
    n = exact_int(n_records, name="n_records", minimum=2)
    cells = _cells(model, n, categories)
    small = sorted(range(len(cells)), key=lambda place: cells[place].count)
    found = _largest(model, n, epsilon, target)
    merges, known = [], found.n_draws
    for k in sorted(merge):
        gone = set(small[:k])
        kept = [place for place in range(model.n_atoms) if place not in gone]
        numbers = {place: number for number, place in enumerate(kept)}
        joined = model.push([numbers.get(place, len(kept)) for place in range(model.n_atoms)])
        # What could be drawn before can be drawn now (proofs/designer#3), brackets or not.
        known = max(known, _largest(joined, n, epsilon, target).n_draws)
        names = [*(cells[place].label for place in kept), f"the {k} rarest categories"]
        merges.append(
            Merge(
                n_cells=k,
                labels=tuple(cells[place].label for place in sorted(gone)),
                n_merged=sum(cells[place].count for place in gone),
                n_draws=known,
                rate=Fraction(known, n),
                binding=_rarest(_cells(joined, n, names)),
            )
        )
    rate = Fraction(found.n_draws, n)
    return DesignFacts(
        epsilon=epsilon,
        target=target,
        n_records=n,
        n_draws=found.n_draws,
        rate=rate,
        log_delta=found.log_delta,
        is_largest=found.is_largest,
        undecided=found.undecided,
        binding=_rarest(cells),
        merges=sorted_merges(merges),
        noise=noise_options(
            rates_in_words(rate, [(one.n_cells, one.rate) for one in merges]), epsilon, [n]
        ),
        sampling_errors={
            cell.label: sampling_error(
                _widest(model, place) * n, n_records=n, n_draws=found.n_draws
            )
            for place, cell in enumerate(cells)
        },
        cells=cells,
        model=model,
        method=found.method,
    )


@dataclass(frozen=True, slots=True)
class _Largest:
    """The largest sample, which may be none."""

    n_draws: int
    log_delta: LogBounds
    is_largest: bool
    undecided: range
    method: str


def _largest(model: DataModel, n: int, epsilon: Real, target: Fraction) -> _Largest:
    """Return the largest sample; 0 draws where one is proved too many.

    Raises:
        InvalidParameter: it is not known whether one draw meets the target.
    """
    try:
        found = largest_sample(model, n_records=n, epsilon=epsilon, delta=target)
    except InvalidParameter:
        one = smoothed_delta(SamplingHistogram(n, n_draws=1), model, epsilon=epsilon)
        if one.log_lower <= log_bounds(target).upper:
            raise
        return _Largest(0, LOG_ZERO, True, range(0), one.method)
    logs = LogBounds(found.smoothed.log_lower, found.smoothed.log_delta)
    return _Largest(found.n_draws, logs, found.is_largest, found.undecided, found.smoothed.method)


def _cells(model: DataModel, n: int, categories: Sequence[str] | None) -> tuple[Cell, ...]:
    names = [f"category {k}" for k in range(1, model.n_atoms + 1)]
    if categories is not None:
        names = [] if isinstance(categories, str) else list(map(str, categories))
    if len(names) != model.n_atoms or len(set(names)) != len(names):
        raise InvalidParameter(
            expected=f"{model.n_atoms} different names of categories",
            got=f"{len(names)}, {len(set(names))} of them different",
            remedy="Name every category of the model once",
        )
    least = [min(column) for column in zip(*model.vertices, strict=True)]
    return tuple(
        Cell(name, math.floor(n * share)) for name, share in zip(names, least, strict=True)
    )


def _rarest(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    return tuple(sorted(cells, key=lambda cell: cell.count)[:2])


def _widest(model: DataModel, place: int) -> float:
    """Return the share of a category, among those of the model, that is nearest to 1/2."""
    column = [float(vertex[place]) for vertex in model.vertices]
    return min(max(0.5, min(column)), max(column))
