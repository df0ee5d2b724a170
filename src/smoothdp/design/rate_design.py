"""The largest sampling rate for a target, at public counts or over a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from smoothdp.claims.model.model import DataModel
from smoothdp.design.designed import RateDesign
from smoothdp.design.find_design import Counts, Strata, find_design
from smoothdp.exact.parameters.numbers import Parameter


def rate_design(
    counts_or_model: Counts | DataModel,
    *,
    epsilon: Parameter,
    delta: Parameter,
    n_records: int | None = None,
    strata: Strata | None = None,
    merge: Iterable[int] | None = None,
    categories: Sequence[str] | None = None,
) -> RateDesign:
    """Return the largest sampling rate at which a table of counts meets (epsilon, delta).

    A sample is drawn without replacement and its counts are published, without noise. At public
    counts delta(x) is a function of the two smallest cells and of the number of draws T, never
    falls when T grows, and is bracketed: so the largest T is found, and with it what merging
    the smallest cells would buy, which never raises delta(x) (proofs/designer#2, #3). delta(x)
    is as private as the counts: design on public tables, such as the last census.

    Args:
        counts_or_model: public counts over all cells, empty ones included, by label or in
            order, or by stratum and label; or a `DataModel`, for smoothed delta.
        epsilon: >= 0. delta: the target, 0 < delta < 1.
        n_records: with a model, the number of records; with counts their sum, if given.
        strata: the stratum of every cell, by label or in order. Strata are sampled separately,
            all at one rate; a record never changes its stratum, and delta(x) is the largest
            over them (proofs/designer#4).
        merge: numbers k: what one cell of the k smallest (in every stratum) would buy. Default:
            2, 5, 10, 50, ... up to half of the cells at counts, none with a model.
        categories: names of the categories of a model, in order.

    Raises:
        InvalidData: counts that are no whole numbers >= 0, or fewer than two in a stratum.
        InvalidParameter: arguments outside these domains.
        OutOfReach: more records than delta(x) reaches, about 1e13.

    >>> design = rate_design(
    ...     {"north": 5000, "south": 3000, "isles": 40}, epsilon=1, delta="1e-6", merge=[2]
    ... )
    >>> design.n_draws, [cell.label for cell in design.binding], design.is_largest
    (3905, ['isles', 'south'], True)
    >>> design.merges[0].n_draws
    7943
    """
    found = find_design(
        counts_or_model,
        epsilon=epsilon,
        delta=delta,
        n_records=n_records,
        strata=strata,
        merge=merge,
        categories=categories,
    )
    return RateDesign.of(found)
