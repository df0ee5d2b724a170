"""`plan`: the choice of least expected squared error, found without the private data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.terms import EpsilonTerms, RhoTerms
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.mechanisms.release.defaults import Rule, default_smoothing, resolve_window
from smoothdp.mechanisms.release.usefulness import warn_if_useless
from smoothdp.noise.law import NoiseDistribution
from smoothdp.planning.alternatives import Alternative, Replaced
from smoothdp.planning.candidates import candidate_queries, plain
from smoothdp.planning.expected.expected_errors import ExpectedErrors, expected_errors
from smoothdp.planning.expected.sampling_error import SamplingError
from smoothdp.planning.expected.simulated_samples import SimulatedSamples, mean_gap
from smoothdp.planning.noise_levels import short
from smoothdp.planning.other_ways import other_ways
from smoothdp.planning.plan_request import PlanRequest
from smoothdp.planning.planned import Plan
from smoothdp.planning.price import Price
from smoothdp.planning.winner import winner, with_pair
from smoothdp.queries import Query, TrimmedMean

_SAMPLES = 800
_RATES = 18
_LEAST, _LEAST_FOR_BARS = 0.015, 0.006
_MOST, _MOST_UNKNOWN = 0.45, 0.32
_MOST_CONCENTRATED = 0.6
_RUNNERS_UP = 3
_TIE = math.log(1.02)


@dataclass(frozen=True, slots=True)
class _Choice:
    """A window and a smoothing; `log_square` is ln E S^2, and `criterion` the least sought."""

    query: Query
    rate: float
    log_square: float
    criterion: float


@dataclass(frozen=True, slots=True)
class _Weighed:
    """A choice with a law, its errors, and the deviation that no noise can beat."""

    choice: Alternative
    law: NoiseDistribution
    errors: ExpectedErrors
    least: float


def plan(
    query: Query,
    *,
    guarantee: Guarantee,
    n_records: int,
    assuming: object = None,
    may_change_trim: bool = False,
    confidence: Parameter | None = None,
    covers: str | None = None,
) -> Plan:
    """Return the release of least expected squared error under an assumption about the data.

    Weighed are the mean of a window with noise scaled to its smooth sensitivity; for a quantile
    whose window is open the exponential mechanism on ranks and, under concentrated and Gaussian DP,
    a half shift as `release` makes it; noise scaled to global sensitivity, on
    the best window or the mean of all values; and, where something is assumed, the middle of the
    bounds, which reads no data. `Plan.method` is the winner, and the plan runs it; the others are
    `Plan.runners_up`. With a confidence only windows compete, and for a quantile of the data or of
    the population the plan is what `release` runs: one law of noise for value and bars under pure
    and approximate DP, where `release` takes it, else two. Within 2% of the best wins the way of
    `release`: the half shift where there is one, else the window.

    For a median or quantile the error is the distance to the plain sample quantile, so that a wide
    window counts against itself even if the assumed law is symmetric; for other statistics it is
    the distance to the statistic itself, of the same records, before noise. Only where the
    trimming may change is it the distance to the mean of a record clamped to the bounds, so that
    trimming counts as bias.

    Searched among windows: 18 smoothings t on a geometric grid, from .015 epsilon (.006 with a
    confidence) to .45 epsilon (zCDP .6 sqrt(2 rho); truncated CDP around the largest that noise
    can serve); windows of 1, 3, ... values in steps of 22%, up to .3 of the values on the shorter
    side of the rank; trims of 0, 1, ... values in such steps, up to .45 n a side where trimming
    may change; and for the best of these PolyPlace against Student's T (pure DP alone: other
    guarantees have one family).

    With a confidence the mean half-width of the error bars, in deviations of a normal law, takes
    the place of the noise: window and smoothing suit the interval, at some cost to the value.

    A plan sees no private data. A wrong assumption costs accuracy, never privacy. Without one the
    choice is that for data spread as Student's T(3), and no error is told: `Plan.rmse` and the
    like are None, as they would come from the width of the bounds and nothing else.

    Windows are chosen by errors before clamping; those told, and those of other methods, are of the
    value clamped to the bounds.

    Args:
        query: the statistic with its bounds. A window of its own is kept, None is chosen; the
            trimming of a `TrimmedMean` is kept.
        guarantee: PureDP, ApproxDP, ZCDP, TruncatedCDP or GaussianDP, about replacing one record.
        n_records: n, public.
        assuming: a frozen distribution of scipy, or a public sample of at least 10 numbers.
            None: chosen as for Student's T(3) with bounds 6,000 of its scale apart, with t at most
            .32 epsilon (zCDP .6 sqrt(2 rho)). `release` without a plan uses closed-form rules for
            bounds 1e5 spreads wide: a rule cannot search.
        may_change_trim: whether a trimming of less error for the population's mean may take the
            place of that of ``query``; `Plan.replaced` says so.
        confidence: that of the error bars which the release is to have; None: none.
        covers: what they cover, as `release` takes it. For a quantile, of the data or of the
            population, window and smoothing are those of `release` without a plan.

    Warns:
        PrivacyWarning: n min(q, 1 - q) epsilon < 15, as `release` does: the noise may be of the
            order of the bounds. `Plan.caution` has the words.

    Raises:
        InvalidParameter: an argument outside its domain, or error bars that no smoothing allows.
        IncompatibleClaims: a guarantee about adding or removing records.
        InvalidData: a sample that is no column of numbers; too few records for the statistic.

    >>> from scipy import stats
    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.queries import Median
    >>> made = plan(
    ...     Median((-60, 1440)), guarantee=PureDP(1), n_records=10_000,
    ...     assuming=stats.lognorm(s=1, scale=20),
    ... )
    >>> made.query.window > 5, made.rmse < 1.2 * made.rmse_without_privacy
    (True, True)
    """
    request = PlanRequest.read(
        query,
        guarantee=guarantee,
        n_records=n_records,
        assuming=assuming,
        may_change_trim=may_change_trim,
        confidence=confidence,
        covers=covers,
    )
    made = best_plan(request)
    warn_if_useless(query, guarantee, made.n_records)
    return made


def best_plan(request: PlanRequest) -> Plan:
    """Return `plan` without a warning: for curves, which go where noise is large."""
    n_records, assumption = request.n_records, request.assumption
    if request.has_quantile_bars:
        # The length of these bars goes by window and smoothing together: by the rule of `release`.
        queries = [_ruled(request)]
        price = Price(request.guarantee, n_records, request.coverage, queries[0])
        covers = None if request.coverage is None else request.coverage.target
        t = default_smoothing(queries[0], request.guarantee, n_records, covers=covers)
        rates = [float(t)]
    else:
        may_change = request.may_change_trim
        queries = candidate_queries(request.query, n_records, may_change_trim=may_change)
        price = Price(request.guarantee, n_records, request.coverage)
        rates = _rates(request)
    costs = price.log_costs(rates)
    reference = plain(request.query)
    drops = {statistic.drops(n_records) for statistic in (*queries, reference)}
    if request.is_quantile and request.coverage is None:
        # For the clipped mean in its place.
        drops.add((0, 0))
    samples = SimulatedSamples.draw(
        assumption, n_records, drops, request.bounds, n_samples=_SAMPLES
    )
    gap = 0.0
    if request.is_quantile:
        gap = mean_gap(assumption, n_records, reference.drops(n_records)[0] + 1)
    error = SamplingError(
        assumption,
        samples,
        reference,
        is_quantile=request.is_quantile,
        asked=request.asked,
        gap=gap,
    )
    choices = []
    for candidate in queries:
        window = candidate.drops(n_records)
        without = error.criterion(window)
        if sum(window) == 0:
            # Nothing is left out: S is (b - a) / n at all data, and t is 0.
            low, high = request.bounds
            least = 2 * math.log((high - low) / n_records)
            tried = [(0.0, least, price.log_cost_without_smoothing())]
        else:
            squares = samples.log_squared_sensitivities(window, rates)
            tried = list(zip(rates, squares, costs, strict=True))
        choices += [
            _Choice(candidate, rate, square, without + math.exp(min(square + 2 * cost, 700)))
            for rate, square, cost in tried
            if math.isfinite(cost)
        ]
    if not choices:
        if request.coverage is not None:
            # At the least smoothing tried: says what is needed.
            price.split(short(rates[0]))
        raise InvalidParameter(
            expected="a guarantee that some noise can keep",
            got=f"{request.guarantee!r}",
            remedy="Weaken the guarantee: raise its epsilon, delta, rho or mu",
        )
    made = _best_window(request, choices, price, error)
    if request.coverage is None:
        made = winner(request, made, other_ways(request, queries, error))
    elif request.has_quantile_bars:
        made = with_pair(request, made, error)
    return made.without_errors() if assumption.is_default else made


def _best_window(
    request: PlanRequest, choices: list[_Choice], price: Price, error: SamplingError
) -> Plan:
    """Return the plan of the best window, its noise certified."""
    query, n_records, assumption = request.query, request.n_records, request.assumption
    best_of: dict[tuple[int, int], _Choice] = {}
    for choice in sorted(choices, key=lambda c: c.criterion):
        best_of.setdefault(choice.query.drops(n_records), choice)
    best, *others = best_of.values()
    rate = short(best.rate)
    window = best.query.drops(n_records)
    chosen, *same = _weighed(best, price, error)
    value_guarantee, _ = price.split(rate)
    law = chosen.law
    deviation = law.calibrate(value_guarantee, smoothing=rate).standard_deviation
    # One law for each of the other statistics, two for that chosen.
    runners = same + [_weighed(choice, price, error)[0] for choice in others[:_RUNNERS_UP]]
    if request.coverage is None:
        runners.sort(key=lambda a: a.errors.privacy if error.is_quantile else a.errors.release)
    errors = expected_errors(
        error,
        window,
        rate,
        law,
        noise=math.exp(best.log_square / 2) * deviation,
        least=chosen.least,
    )
    replaced = None
    if isinstance(query, TrimmedMean) and query.drops(n_records) != window:
        asked = best_of.get(query.drops(n_records))
        wish = [] if asked is None else _weighed(asked, price, error)
        replaced = Replaced(query, wish[0].errors.release if wish else None, bool(wish))
    return Plan(
        query=best.query,
        guarantee=request.guarantee,
        n_records=n_records,
        noise=law,
        smoothing=rate,
        rmse=errors.release,
        privacy_rmse=errors.privacy,
        rmse_without_noise=error.total(window),
        rmse_without_privacy=error.plain(),
        rmse_lower_bound=errors.least,
        assumption=assumption.text,
        runners_up=tuple(runner.choice for runner in runners[:_RUNNERS_UP]),
        confidence=None if request.coverage is None else request.coverage.confidence,
        covers=None if request.coverage is None else request.coverage.target,
        half_width=chosen.choice.half_width,
        replaced=replaced,
        noise_deviation=deviation,
        gaps=error.in_gaps(errors.privacy),
        asked=query,
        may_change_trim=request.asked is None,
    )


def _ruled(request: PlanRequest) -> Query:
    """Return the statistic with the window that the rule for its bars chooses."""
    assert request.coverage is not None
    covers, n_records = request.coverage.target, request.n_records
    query = resolve_window(request.query, request.guarantee, n_records, covers=covers)
    assert isinstance(query, Query)
    query.check_size(n_records)
    request.coverage.check(query, n_records, is_rounded=False)
    return query


def _weighed(choice: _Choice, price: Price, error: SamplingError) -> list[_Weighed]:
    """Return a choice with laws of some families, by estimated scales; the best law first.

    An earlier family counts as better up to 2%: its certificates are quicker.
    """
    window, rate = choice.query.drops(price.n_records), short(choice.rate)
    least = math.exp(choice.log_square / 2 + price.log_least(rate))
    width = float(choice.query.bounds[1] - choice.query.bounds[0])
    ranked = []
    for rank, quote in enumerate(price.quotes(rate)):
        # An estimate may lie a little below what is proved.
        noise = max(math.exp(choice.log_square / 2 + quote.log_deviation), least)
        errors = expected_errors(error, window, rate, quote.law, noise=noise, least=least)
        half = math.exp(min(choice.log_square / 2 + quote.log_half_width, 700.0))
        alternative = Alternative(
            choice.query,
            quote.law,
            rate,
            errors.release,
            errors.privacy,
            error.total(window),
            errors.least,
            # Bars end at the bounds.
            None if price.coverage is None else min(half, width / 2),
            gaps=error.in_gaps(errors.privacy),
        )
        cost = quote.log_cost(price.per_deviation) + rank * _TIE
        ranked.append((cost, rank, _Weighed(alternative, quote.law, errors, least)))
    return [entry for _, _, entry in sorted(ranked, key=lambda row: row[:2])]


def _rates(request: PlanRequest) -> list[float]:
    """Return the smoothings to try."""
    terms, is_default = request.guarantee.terms(), request.assumption.is_default
    e = Rule.of(request.guarantee).epsilon
    most = _MOST_CONCENTRATED
    if isinstance(terms, EpsilonTerms):
        most = _MOST_UNKNOWN if is_default else _MOST
    cap = Rule.of(request.guarantee).most
    most = min(most, cap) if is_default else most
    # Error bars pay for t a second time: smaller ones are tried, larger ones are refused anyway.
    least = _LEAST if request.coverage is None else _LEAST_FOR_BARS
    if isinstance(terms, RhoTerms) and terms.omega is not None:
        # Beyond twice the cap of the rule noise costs several times as much, or none serves.
        least, most = min(least, cap / 5), min(most, 2 * cap)
    ratio = (most / least) ** (1 / (_RATES - 1))
    return [float(short(min(least * e * ratio**k, 20.0))) for k in range(_RATES)]
