"""`plan`: the choice of least expected squared error, found without the private data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from smoothdp.errors import IncompatibleClaims, InvalidParameter, explain
from smoothdp.exact.parameters import exact_int
from smoothdp.mechanisms.smooth.defaults import Rule, default_smoothing
from smoothdp.noise import NoiseDistribution
from smoothdp.planning.assumption import Assumption, read_assumption
from smoothdp.planning.candidates import candidate_queries, plain
from smoothdp.planning.noise_levels import (
    estimated,
    families,
    log_deviations,
    log_least_deviation,
    short,
)
from smoothdp.planning.result import Alternative, Plan
from smoothdp.planning.sampling import SamplingError
from smoothdp.planning.simulated import SimulatedSamples
from smoothdp.privacy.guarantee import Guarantee
from smoothdp.privacy.neighbours import Neighbours
from smoothdp.privacy.standard import ApproxDP, PureDP
from smoothdp.queries import Mean, Median, Quantile, Query

_SAMPLES = 800
_TIE = 1.02
_RATES = 18
_LEAST = 0.015
_MOST, _MOST_UNKNOWN = 0.45, 0.32
_MOST_CONCENTRATED = 0.6
_RUNNERS_UP = 3


@dataclass(frozen=True, slots=True)
class _Choice:
    query: Query
    rate: float
    log_square: float
    """ln E S^2."""
    criterion: float
    """The expected squared error that is minimised."""


def plan(
    query: Query,
    *,
    guarantee: Guarantee,
    n_records: int,
    assuming: object = None,
    keep_trim: bool = False,
) -> Plan:
    """Return the release of least expected squared error under an assumption about the data.

    Window or trimming, smoothing t and noise law are searched. For a trimmed mean the error is
    that for the mean of a record clamped to the bounds, so that trimming counts as bias; for a
    median or quantile it is the distance to the plain sample quantile, so that a wide window
    counts against itself even if the assumed law is symmetric.

    A plan sees no private data. A wrong assumption costs accuracy, never privacy.

    Args:
        query: the statistic with its bounds. A window that is given is kept, None is chosen; the
            trimming of a `TrimmedMean` is chosen unless ``keep_trim``.
        guarantee: PureDP, ApproxDP, ZCDP or TruncatedCDP, about replacing one record.
        n_records: n, public.
        assuming: a frozen distribution of scipy, or a public sample of at least 10 numbers.
            None: Student's T(3) with bounds 6,000 of its scale apart, and t at most .32 epsilon
            (zCDP .6 sqrt(2 rho)). `release` without a plan uses closed-form rules for bounds
            1e5 spreads wide: a rule cannot search.
        keep_trim: whether the trimming given is kept.

    Raises:
        InvalidParameter: an argument outside its domain.
        IncompatibleClaims: a guarantee about adding or removing records.
        InvalidData: a sample that is no column of numbers; too few records for the statistic.

    >>> from scipy import stats
    >>> from smoothdp.privacy import PureDP
    >>> found = plan(
    ...     Median((-60, 1440)), guarantee=PureDP(1), n_records=10_000,
    ...     assuming=stats.lognorm(s=1, scale=20),
    ... )
    >>> found.query.window > 5, found.rmse < 1.2 * found.rmse_without_privacy
    (True, True)
    """
    n_records = exact_int(n_records, name="n_records", minimum=1)
    _check(query, guarantee)
    assumption = read_assumption(assuming, query.bounds)
    queries = candidate_queries(query, n_records, keep_trim=keep_trim)
    rates = _rates(query, guarantee, n_records, assumption)
    levels = log_deviations(guarantee, rates)
    if all(math.isinf(level) for level in levels):
        raise InvalidParameter(
            explain("a guarantee that some noise can keep", f"{guarantee!r}", "Weaken it")
        )
    reference = plain(query)
    bounds = float(query.bounds[0]), float(query.bounds[1])
    drops = {found.drops(n_records) for found in (*queries, reference)}
    samples = SimulatedSamples.draw(assumption, n_records, drops, bounds, n_samples=_SAMPLES)
    error = SamplingError(assumption, samples, reference, is_quantile=_is_quantile(query))
    choices = []
    for candidate in queries:
        window = candidate.drops(n_records)
        without = error.criterion(window)
        squares = samples.log_squared_sensitivities(window, rates)
        choices += [
            _Choice(candidate, rate, square, without + math.exp(min(square + 2 * level, 700)))
            for rate, square, level in zip(rates, squares, levels, strict=True)
        ]
    return _made(choices, guarantee, n_records, error, assumption)


def _made(
    choices: list[_Choice],
    guarantee: Guarantee,
    n_records: int,
    error: SamplingError,
    assumption: Assumption,
) -> Plan:
    """Return the plan of the best choice, its noise certified."""
    best_of: dict[tuple[int, int], _Choice] = {}
    for choice in sorted(choices, key=lambda c: c.criterion):
        best_of.setdefault(choice.query.drops(n_records), choice)
    best, *others = best_of.values()
    rate = short(best.rate)
    weighed = _weighed([best], families(guarantee), guarantee, n_records, error)
    law = weighed[0].noise
    calibration = law.calibrate(guarantee, smoothing=rate)
    family = type(law)
    runners = weighed[1:] + _weighed(others[:_RUNNERS_UP], (family,), guarantee, n_records, error)
    runners.sort(key=lambda a: a.privacy_rmse if error.is_quantile else a.rmse)
    window = best.query.drops(n_records)
    noise = math.exp(best.log_square / 2) * calibration.standard_deviation
    least = math.exp(best.log_square / 2 + log_least_deviation(guarantee, rate))
    return Plan(
        query=best.query,
        guarantee=guarantee,
        n_records=n_records,
        noise=law,
        smoothing=rate,
        rmse=math.hypot(error.total(window), noise),
        privacy_rmse=math.hypot(error.moved(window), noise),
        rmse_without_privacy=error.plain(),
        rmse_lower_bound=math.hypot(error.total(window), least),
        assumption=assumption.text,
        runners_up=tuple(runners[:_RUNNERS_UP]),
    )


def _weighed(
    choices: list[_Choice],
    kinds: tuple[type[NoiseDistribution], ...],
    guarantee: Guarantee,
    n_records: int,
    error: SamplingError,
) -> list[Alternative]:
    """Return choices with laws of some families, by estimated scales; the best law first.

    An earlier family counts as better up to 2%: its certificates are quicker.
    """
    found = []
    for choice in choices:
        window, rate = choice.query.drops(n_records), short(choice.rate)
        for kind in kinds:
            law = estimated(kind, guarantee, rate)
            if law is None:
                continue
            noise = math.exp(choice.log_square / 2 + law[1])
            total, moved = error.total(window), error.moved(window)
            found.append(
                Alternative(
                    choice.query, law[0], rate, math.hypot(total, noise), math.hypot(moved, noise)
                )
            )
    ranks = {kind: rank for rank, kind in enumerate(kinds)}
    return sorted(found, key=lambda a: a.privacy_rmse * _TIE ** ranks[type(a.noise)])


def _rates(
    query: Query, guarantee: Guarantee, n_records: int, assumption: Assumption
) -> list[float]:
    """Return the smoothings to try."""
    e = Rule.of(guarantee).epsilon
    if isinstance(query, Mean):
        # The sensitivity is the same at all data, whatever t is.
        return [float(default_smoothing(query, guarantee, n_records))]
    most = _MOST_CONCENTRATED
    if isinstance(guarantee, PureDP | ApproxDP):
        most = _MOST_UNKNOWN if assumption.is_default else _MOST
    most = min(most, Rule.of(guarantee).most) if assumption.is_default else most
    ratio = (most / _LEAST) ** (1 / (_RATES - 1))
    return [float(short(min(_LEAST * e * ratio**k, 20.0))) for k in range(_RATES)]


def _is_quantile(query: Query) -> bool:
    return isinstance(query, Median | Quantile)


def _check(query: object, guarantee: object) -> None:
    if not isinstance(query, Query):
        raise InvalidParameter(
            explain("a statistic such as Median((0, 100))", f"query={query!r}", "Give a query")
        )
    if query.truncate != "inputs":
        raise InvalidParameter(
            explain('truncate="inputs" in a plan', "output", "Use release, with its rules")
        )
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter(
            explain("a guarantee such as PureDP(1)", f"guarantee={guarantee!r}", "Give one")
        )
    if guarantee.neighbours is not Neighbours.REPLACE_ONE:
        raise IncompatibleClaims(
            explain("a guarantee about replacing one record", f"{guarantee!r}", "Give one")
        )
