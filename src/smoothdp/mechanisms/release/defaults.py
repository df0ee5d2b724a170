"""Window, smoothing and law of a release without a plan: closed-form rules that see no data.

The rules are fits of what minimises the error over laws, sizes and bounds of unknown quality; a bad
fit costs accuracy, never privacy (proofs/release-rules#1). With e the epsilon of the guarantee
(sqrt(2 rho) for concentrated claims, that of `GaussianDP.sufficient_pure` for mu), s the number of
values on the shorter side of the rank, R the width of the bounds in spreads of the data (taken as
1e5):

    quantile      w = odd(14 / e), t = clip(max(.08 e, ln(R n / w) / (s - (w-1)/2)), .32 e)
                  zCDP: 7 / e, .20 e, .60 e;  1 <= w <= .3 s
                  truncated CDP: as zCDP, which keeps it too, where omega e > 1 and rho <= 2;
                  else, with normal noise, at most the t at which it costs 4/3, w of .9 of its
                  inverse
    trimmed mean  t = clip(max(.05 e, ln(R n / 2w) / m), .32 e or .60 e): what the bounds add to
                  w S falls under 2 w / n spreads, less than the range of the values kept
    trimming      m = max(.05 n, 3.6 ln(R n) / e), zCDP 2.5 ln(R n) / e; at most .45 n

With error bars that cover the mean of the window a small t pays more: w = odd(40 / e) and t from
.025 e (zCDP: 20 / e and .05 e; 14 / e leaves bars 10 to 15% longer at the same error of the value).
Bars that cover the quantile pay for the window's width: w = odd(6 / e), t from .09 e (zCDP: 3 / e,
.18 e), and for the population's w = odd(7 / e) (zCDP: 5 / e), t from .5 / sqrt(n q (1 - q)).

Source: constants chosen by search, measured by `python -m benchmarks.accuracy`
(proofs/release-rules#2, #6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.claims.excess import pure_of_mu
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import PureDP
from smoothdp.claims.terms import EpsilonTerms, MuTerms, RhoTerms
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_fraction, exact_int, float_of
from smoothdp.mechanisms.release.bars.targets import Target
from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    Laplace,
    Log1pNormal,
    NoiseDistribution,
    PolyPlace,
    StudentT,
)
from smoothdp.noise.calibration.shipped_claims import shipped_shape
from smoothdp.queries import Median, Quantile, Query
from smoothdp.queries.statistic import Statistic

BOUNDS_IN_SPREADS = 1e5
_RANGE_IN_SPREADS = 2
_LEAST_TRIM, _MOST_TRIM = 0.05, 0.45
LARGEST_SMOOTHING = 20.0
SAMPLING_ERROR = Gaussian()
"""The law of a sampling error, in units of its deviation."""
WELL_KNOWN: tuple[NoiseDistribution, ...] = (StudentT(3), Laplace())
"""The laws that a reader knows: a picture of noise shows them beside it."""
TABLE_ORDER = (
    "PolyPlace",
    "StudentT",
    "GeneralizedCauchy",
    "ArsinhNormal",
    "Log1pNormal",
    "UniformLogNormal",
    "LaplaceLogNormal",
    "Laplace",
    "Gaussian",
)
"""In which a table lists laws: by the strongest claim they serve. What is not named comes last."""
_PURE: dict[Target | None, tuple[float, float, float]] = {
    None: (14.0, 0.08, 0.05),
    "quantile": (6.0, 0.09, 0.025),
    "population": (7.0, 0.0, 0.025),
    "window": (40.0, 0.025, 0.025),
    "mean": (40.0, 0.025, 0.025),
}
_CONCENTRATED: dict[Target | None, tuple[float, float, float]] = {
    None: (7.0, 0.2, 0.05),
    "quantile": (3.0, 0.18, 0.05),
    "population": (5.0, 0.0, 0.05),
    "window": (20.0, 0.05, 0.05),
    "mean": (20.0, 0.05, 0.05),
}
_GAUSSIAN = {**_PURE, "window": (20.0, 0.05, 0.05), "mean": (20.0, 0.05, 0.05)}
"""In units of e, by what error bars cover: windows, and the least t of quantiles and of means."""
_DEAREST = 4 / 3
"""Truncated CDP: the largest factor of the noise that smoothing may cost, as for zCDP at .6 e."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The constants of a kind of guarantee, in units of e."""

    epsilon: float
    window: float
    least: float
    least_trimmed: float
    trim: float
    most: float

    @staticmethod
    def of(guarantee: Guarantee, *, covers: Target | None = None) -> Rule:
        """Return the rule for a guarantee, without error bars or with some that cover a target.

        Raises:
            InvalidParameter: a guarantee of another kind, or one that allows no loss at all.
        """
        terms = guarantee.terms()
        if isinstance(terms, EpsilonTerms):
            rule = Rule(float_of(terms.epsilon), *_PURE[covers], 3.6, 0.32)
        elif isinstance(terms, RhoTerms):
            e = math.sqrt(2 * float_of(terms.rho))
            most = 0.6
            window, least, trimmed = _CONCENTRATED[covers]
            if terms.omega is not None and e > 0 and not as_concentrated(terms):
                most = min(most, _dearest(float_of(terms.omega), e) / e)
                # A small t needs a window of about 1 / t.
                window, least = max(window, 0.9 / most), min(least, 0.7 * most)
                trimmed = min(trimmed, least)
            rule = Rule(e, window, least, trimmed, 2.5, most)
        elif isinstance(terms, MuTerms):
            # The noise is that of the pure claim which implies it; ln S gets normal noise.
            e = float_of(pure_of_mu(terms.mu)) if terms.mu else 0.0
            rule = Rule(e, *_GAUSSIAN[covers], 3.6, 0.32)
        else:
            raise InvalidParameter(
                expected="PureDP, ApproxDP, ZCDP, TruncatedCDP or GaussianDP",
                got=f"{guarantee!r}",
                remedy="Give guarantee=PureDP(epsilon), or one of the others",
            )
        if rule.epsilon <= 0:
            raise InvalidParameter(
                expected="a guarantee that allows some loss",
                got=f"{guarantee!r}",
                remedy="Raise its epsilon, rho or mu",
            )
        return rule


def as_concentrated(terms: RhoTerms) -> bool:
    """Whether a promise is best kept by the noise of zCDP: for truncated CDP if omega e > 1.

    Normal noise then needs more at every smoothing than arsinh-normal noise, up to thousands of
    times as much; calibrated to the truncated promise, the latter needs no more than for zCDP.
    Beyond rho = 2 its certificate may come to the limit of work: normal noise again.
    """
    return terms.omega is None or (terms.omega**2 * 2 * terms.rho > 1 and terms.rho <= 2)


def _dearest(omega: float, e: float) -> float:
    """Return a smoothing at which the Gaussian law costs 4/3 of its noise without smoothing.

    Its deviation is 1 / sqrt(2 g (rho - t^2 / g^2)), g = 1 - omega (1 - e^(-2t)).
    """
    low, high = 0.0, 0.6 * e
    for _ in range(40):
        t = (low + high) / 2
        g = 1 + omega * math.expm1(-2 * t)
        cheap = g > 0 and g * (e * e - 2 * t * t / (g * g)) >= (e / _DEAREST) ** 2
        low, high = (t, high) if cheap else (low, t)
    return low


def resolve_window(
    query: Statistic,
    guarantee: Guarantee,
    n_records: int | None,
    *,
    covers: Target | None = None,
) -> Statistic:
    """Return a median or quantile without a window with the default one; others as they are.

    >>> from smoothdp.claims import PureDP
    >>> resolve_window(Median((0, 1)), PureDP(1), 1001)
    Median(bounds=(Fraction(0, 1), Fraction(1, 1)), window=13)
    """
    if not isinstance(query, Median | Quantile) or query.window is not None:
        return query
    assert n_records is not None  # n is public
    rule = Rule.of(guarantee, covers=covers)
    side = _side(query, n_records)
    window = _odd(min(rule.window / rule.epsilon, 0.3 * side))
    if isinstance(query, Median):
        return Median(query.bounds, window=window)
    return Quantile(query.q, bounds=query.bounds, window=window)


def default_trim(guarantee: Guarantee, n_records: int, *, least: float = _LEAST_TRIM) -> int:
    """Return how many values a trimmed mean leaves out on each side if nobody says.

    More under pure and approximate DP, whose noise pays more for a large t.

    Args:
        guarantee: PureDP, ApproxDP, ZCDP, TruncatedCDP or GaussianDP.
        n_records: n, public.
        least: the share a side that is left out however large n is: .05, or .1 for data with
            tails.

    Raises:
        InvalidParameter: a guarantee of another kind, or one that allows no loss at all;
            n_records below 1; least outside [0, 1/2].

    >>> from smoothdp.claims import ZCDP, PureDP
    >>> default_trim(PureDP(1), 1001), default_trim(ZCDP("0.5"), 1001)
    (66, 50)
    """
    rule = Rule.of(guarantee)
    n_records = exact_int(n_records, name="n_records", minimum=1)
    if not 0 <= exact_fraction(least, name="least") <= Fraction(1, 2):
        raise InvalidParameter(
            expected="0 <= least <= 1/2",
            got=f"least={least}",
            remedy="Give the share of the values that is left out on each side, such as 0.05",
        )
    least = float(least)
    n_left_out = rule.trim * math.log(BOUNDS_IN_SPREADS * n_records) / rule.epsilon
    return math.floor(min(max(least * n_records, n_left_out), _MOST_TRIM * n_records))


def default_smoothing(
    query: Query, guarantee: Guarantee, n_records: int, *, covers: Target | None = None
) -> Fraction:
    """Return t for a query whose window is resolved and leaves something out, as a short decimal.

    >>> from smoothdp.claims import PureDP
    >>> default_smoothing(Median((0, 1), window=13), PureDP(1), 1001)
    Fraction(2, 25)
    """
    rule = Rule.of(guarantee, covers=covers)
    low, high = query.drops(n_records)
    is_quantile = isinstance(query, Median | Quantile)
    least = rule.least if is_quantile else rule.least_trimmed
    if isinstance(query, Median | Quantile) and covers == "population":
        # Half of one over the deviation of the rank that the population's quantile has.
        q = 0.5 if isinstance(query, Median) else float(query.q)
        least = 0.5 / math.sqrt(max(n_records * q * (1 - q), 0.25)) / rule.epsilon
    side = min(low, high)
    # In spreads: a gap of a window, or the range of the values that a mean keeps.
    kept_spreads = (n_records - low - high) / n_records * (1 if is_quantile else _RANGE_IN_SPREADS)
    jump = math.log(BOUNDS_IN_SPREADS / kept_spreads) / side if side else math.inf
    share = min(max(least, jump / rule.epsilon), rule.most)
    t = min(share * rule.epsilon, LARGEST_SMOOTHING)
    if not t > 0:
        raise InvalidParameter(
            expected="a guarantee that some smoothing > 0 can keep",
            got=f"{guarantee!r}",
            remedy="Raise its epsilon or rho, or lower its omega",
        )
    return Fraction(f"{t:.3g}")


def default_family(guarantee: Guarantee, smoothing: Fraction) -> type[NoiseDistribution]:
    """Return the family of noise laws for a guarantee and a smoothing.

    Without smoothing: Laplace, which needs the least noise of the laws with a closed form under
    pure DP, and for concentrated claims Gaussian.
    """
    rule, terms = Rule.of(guarantee), guarantee.terms()
    if smoothing == 0:
        return type(global_law(guarantee))
    if isinstance(terms, RhoTerms):
        if not as_concentrated(terms):
            return Gaussian
        # Up to e log1p-normal saves 5% of the noise at most. Its certificate may come to the
        # limit of work unless it comes with the library, that of arsinh-normal takes a second.
        ratio = float_of(smoothing) / rule.epsilon
        is_near = 0.5 < ratio <= 1
        if is_near and shipped_shape(Log1pNormal, guarantee, smoothing) is None:
            return ArsinhNormal
        return ArsinhNormal if ratio <= 0.5 else Log1pNormal
    return PolyPlace


def compared_families(
    guarantee: Guarantee, smoothing: Fraction
) -> tuple[type[NoiseDistribution], ...]:
    """Return the families of laws that a plan compares at a smoothing, the default one first."""
    default = default_family(guarantee, smoothing)
    return (default, StudentT) if isinstance(guarantee, PureDP) and smoothing else (default,)


def global_law(guarantee: Guarantee) -> NoiseDistribution:
    """Return the law of noise scaled to a sensitivity that is the same at all data.

    So is that of ln S. Laplace under pure and approximate DP, else Gaussian.
    """
    return global_law_of(isinstance(guarantee.terms(), EpsilonTerms))


def global_law_of(is_laplace: bool) -> NoiseDistribution:
    """Return the one or the other."""
    return Laplace() if is_laplace else Gaussian()


def _side(query: Median | Quantile, n_records: int) -> int:
    """Return how many values are on the shorter side of the rank."""
    if isinstance(query, Median):
        return (n_records - 1) // 2
    rank = query.rank(n_records)
    return min(rank - 1, n_records - rank)


def _odd(number: float) -> int:
    """Return the largest odd whole number up to a number, at least 1."""
    return max(1, (math.floor(number) - 1) // 2 * 2 + 1)
