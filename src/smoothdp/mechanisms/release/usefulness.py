"""Where a quantile's noise is likely to be of the order of the bounds, whatever the noise."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.terms import EpsilonTerms
from smoothdp.errors import Explanation, PrivacyWarning
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.defaults import Rule
from smoothdp.queries import Maximum, Median, Minimum, Quantile
from smoothdp.queries.statistic import Statistic

_USEFUL = 15
_WIDE = 0.1


def useless_words(query: Statistic, guarantee: Guarantee, n_records: int | Fraction | None) -> str:
    """Return what to expect where n min(q, 1 - q) epsilon < 15; "" elsewhere.

    Under zCDP epsilon is sqrt(2 rho). `release` warns with these words; a plan has them as a line.

    Source: where measured errors come to the order of the bounds (proofs/release-rules#6).

    >>> from smoothdp.claims import PureDP
    >>> useless_words(Median((0, 9)), PureDP(1), 100)
    ''
    >>> useless_words(Median((0, 9)), PureDP("0.1"), 100).partition("; ")[2][:24]
    'got 5 with n=100, q=0.5,'
    """
    q = _level(query)
    if q is None:
        return ""
    assert n_records is not None  # n is public
    epsilon = Rule.of(guarantee).epsilon
    strength = float(n_records * min(q, 1 - q)) * epsilon
    if strength >= _USEFUL:
        return ""
    explanation = Explanation(
        f"n min(q, 1 - q) epsilon of at least {_USEFUL}, for noise far below the bounds",
        f"{strength:.3g} with n={float(n_records):.6g}, q={float(q):g}, epsilon={epsilon:.4g}",
        "Expect noise of the order of the bounds, or take more records, a larger epsilon, or a "
        "quantile nearer to the median",
    )
    return str(explanation)


def _level(query: Statistic) -> Fraction | None:
    if isinstance(query, Median):
        return Fraction(1, 2)
    if isinstance(query, Quantile):
        return query.q
    if isinstance(query, Minimum | Maximum):
        return Fraction(isinstance(query, Maximum))
    return None


def useful_size(query: Statistic, guarantee: Guarantee) -> float:
    """Return from which n on the noise of a quantile or trimmed mean is far below the bounds.

    The n at which `useless_words` fall silent; inf at q = 0 and 1.

    >>> from smoothdp.claims import PureDP
    >>> useful_size(Median((0, 9)), PureDP("0.1"))
    300.0
    """
    q = _level(query)
    share = float(min(q, 1 - q)) if q is not None else 0.5
    strength = share * Rule.of(guarantee).epsilon
    return _USEFUL / strength if strength > 0 else math.inf


def warn_if_wide(coverage: Coverage | None, guarantee: Guarantee, smoothing: Fraction) -> None:
    """Warn where an interval for the population's quantile gets several times too long."""
    if coverage is None or coverage.target != "population":
        return
    ratio = float(smoothing) / Rule.of(guarantee).epsilon
    if isinstance(guarantee.terms(), EpsilonTerms) and ratio > _WIDE:
        explanation = Explanation(
            "smoothing of at most epsilon / 10 for an interval that is not far longer than one "
            "without privacy",
            f"smoothing of {ratio:.2g} epsilon, which the number of records and epsilon lead to",
            "Expect a long interval, or take more records or a larger epsilon",
        )
        warnings.warn(str(explanation), PrivacyWarning, stacklevel=3)


def warn_if_useless(
    query: Statistic, guarantee: Guarantee, n_records: int | Fraction | None
) -> None:
    """Warn with `useless_words`, if there are any."""
    words = useless_words(query, guarantee, n_records)
    if words:
        warnings.warn(words, PrivacyWarning, stacklevel=3)
