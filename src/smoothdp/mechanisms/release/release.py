"""`release`: one statistic of one column, with a guarantee."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from smoothdp.claims.budget import Budget, check_budget
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.label import Label, with_label
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.release import Release
from smoothdp.data.read_table import read_numbers_of
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.quantiles.exponential.exponential_quantile import ExponentialQuantile
from smoothdp.mechanisms.quantiles.half_shift.half_shift import HalfShift
from smoothdp.mechanisms.release.bars.coverage import read_coverage
from smoothdp.mechanisms.release.bars.pair_noise import PairNoise
from smoothdp.mechanisms.release.chosen import prepared
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.mechanisms.release.usefulness import warn_if_useless, warn_if_wide
from smoothdp.noise.law import NoiseDistribution
from smoothdp.queries import FixedStatistic, Quantiles
from smoothdp.queries.statistic import Statistic


# A caller's error state of numpy would show what the data are.
@np.errstate(all="ignore")
def release(
    data: object,
    query: Statistic | FixedStatistic | Quantiles,
    *,
    guarantee: Guarantee,
    noise: NoiseDistribution | type[NoiseDistribution] | None = None,
    smoothing: Parameter | None = None,
    round_to: Parameter | None = None,
    clamp: bool = False,
    confidence: Parameter | None = None,
    covers: str | None = None,
    simultaneous: bool = False,
    sd_bound: Parameter | None = None,
    n_guess: Parameter | None = None,
    n_share: Parameter | None = None,
    column: str | None = None,
    where: object = None,
    derive: object = None,
    csv: object = None,
    label: object = None,
    ledger: Budget | None = None,
    rng: Entropy | None = None,
) -> Release[Any]:
    """Return a statistic of the data with noise scaled to its smooth sensitivity.

    f(x) + (S(x) / s) Z, correctly rounded to a grid that is chosen without the values.
    Window, smoothing and law that are not given come from n, the bounds and the guarantee alone
    (`smoothdp.mechanisms.release.defaults`), never from the data. The number of records is
    public, unless the guarantee is about adding or removing one: then a median, a quantile and
    a trimmed mean are those of `smoothdp.queries.private_size`, and no row is refused. The bounds
    must be fixed without looking at the data.

    Source: paper 2, sections 1.1 and 3; pure DP by default with the law of paper 4.

    Args:
        data: one column of finite numbers: a list, an array, or a column of pandas, polars or
            pyarrow. Floats count as the binary fractions that they are. With ``column=``, a
            table: a frame, a relation of DuckDB, a mapping from names to columns, or the path of
            a file of CSV or Parquet.
        query: the statistic with its bounds, such as `Median((0, 100))`. A median or quantile
            without a window gets a short one, which is far more accurate; under zCDP and Gaussian
            DP one that a hidden number of half ranks moves. With little data,
            n min(q, 1 - q) epsilon below 4 (2.5 where n is private), it is drawn by ranks
            under pure DP and where n is private (`ExponentialQuantile`), within the bounds.
            `Quantiles` are several at once: the value is then a sorted tuple, and the result a
            `QuantilesRelease`.
        guarantee: PureDP, ApproxDP, ZCDP or TruncatedCDP, about replacing one record or, with
            neighbours="add_remove", about adding or removing one.
        noise: a law such as `StudentT(3)`, or a family, whose shape is then chosen.
        smoothing: t > 0.
        round_to: a step for the output, such as 1 for whole numbers; the value is then an int.
        clamp: whether a value outside the bounds is replaced by the nearest one inside.
        confidence: the probability, such as 0.95, with which an interval is to cover; the result
            is then an `IntervalRelease`. A stated share of the guarantee pays for it, and the
            window is wider.
        covers: what the interval contains, with at least that probability: "quantile" (of a
            `Median` or `Quantile` unless said): the plain quantile of these records, whatever
            they are; "population": that of the population they were drawn from independently,
            whatever its distribution (n public); "window": the mean of the window that stands in
            for the quantile, or what else is released, before noise; "mean" (of a mean that
            leaves nothing out unless said): the mean of these records. For means that leave
            values out "population" and "mean" are the population's, and nominal.
        simultaneous: of `Quantiles` with a confidence: whether it is that of all intervals
            together, instead of each for itself.
        sd_bound: with covers="mean" of a trimmed mean, a bound on the deviation of a record that
            is known beforehand.
        n_guess: where the guarantee is about adding or removing a record, so that n is private:
            about how many records there are, from what is public. It chooses window and noise;
            too few is safer than too many. None: a count is bought, and its low end taken.
        n_share: what part of the guarantee buys that count; a tenth unless said.
        column: the name of the column, where the data are a table.
        where, derive, csv: as of `smoothdp.tables.release_table`. A filter and a derived column
            need a guarantee about adding or removing a record.
        label: a name for the ledger, or a `smoothdp.claims.label.Label` with purpose and who.
        ledger: a `Ledger`, asked before the data are touched and charged before they are used.
        rng: `SystemRandom()` (default), or `SeededRandom`, whose output is marked not private.

    Warns:
        PrivacyWarning: n min(q, 1 - q) epsilon < 15: the noise may be of the order of the bounds;
            covers="population" and t > epsilon / 10: a long interval.

    Raises:
        InvalidData: no column of finite numbers, or too few for the statistic.
        InvalidParameter: an argument outside its domain, no noise keeps the guarantee, or an
            interval that is refused: pure DP with too few records (t > epsilon / 5).
        IncompatibleClaims: a guarantee about other neighbours than a `Custom` is, or one that
            the budget of the ledger has no cost for.
        BudgetExceeded, LedgerError: the ledger refuses.
        In all these cases nothing is released.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.queries import Median
    >>> ages = [20 + i % 50 for i in range(1000)]
    >>> release(
    ...     ages, Median((0, 120)), guarantee=PureDP(1), round_to=1, rng=SeededRandom(1)
    ... ).value
    45
    """
    neighbours = getattr(guarantee, "neighbours", Neighbours.REPLACE_ONE)
    coverage = read_coverage(
        query, confidence, covers=covers, sd_bound=sd_bound, neighbours=neighbours
    )
    named = Label.read(label)
    check_budget(ledger, guarantee)
    request = ReleaseRequest.read(
        query,
        guarantee=guarantee,
        noise=noise,
        smoothing=smoothing,
        round_to=round_to,
        clamp=clamp,
        coverage=coverage,
        n_guess=n_guess,
        n_share=n_share,
        simultaneous=simultaneous,
    )
    if column is not None:
        may_drop = guarantee.neighbours is Neighbours.ADD_REMOVE
        data = read_numbers_of(data, column, may_drop=may_drop, where=where, derive=derive, csv=csv)
    elif any(option is not None for option in (where, derive, csv)):
        raise InvalidParameter(
            expected="where, derive and csv with column=, for a table",
            got="none",
            remedy='Give column="wage", for example',
        )
    mechanism, values = prepared(request, data)
    windows = SmoothNoise | PairNoise | HalfShift | ExponentialQuantile
    if isinstance(mechanism, windows) and isinstance(query, Statistic):
        size = request.n_guess if request.has_private_size else query.size(values)
        if size is not None:
            warn_if_useless(query, guarantee, size)
        if isinstance(mechanism, SmoothNoise | PairNoise):
            warn_if_wide(coverage, guarantee, mechanism.smoothing)
    read_rng(rng)
    if ledger is not None:
        ledger.charge(with_label(mechanism, named))
    released = mechanism.release(values, rng=rng)
    return released if named is None else replace(released, label=named)
