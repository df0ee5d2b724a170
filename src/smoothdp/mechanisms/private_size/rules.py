"""Window and smoothing where n is private: rules that see a public guess n0 of n, never n.

With m = min(q, 1 - q), M = max(q, 1 - q), and e the epsilon of the guarantee (sqrt(2 rho) for
concentrated claims):

    pure and approximate DP   w = max(1, min(10 / e, .3 m n0)), t between .1 e and .32 e
    concentrated claims       w = max(1, min( 5 / e, .3 m n0)), t between .2 e and .60 e
    t: ln(1e5 n0 / w) / s within these limits, s = (m n0 - w / 2) / M; the upper one where s <= 0

Shorter windows than where one record is replaced: at the median one that comes or goes moves
the window half as far. For truncated CDP, and with error bars that cover the window, the constants
are those of `Rule`; bars that cover the quantile have w = max(2 M, min(7 M / e, .3 m n0)),
zCDP 4 M / e, and t from .09 e or .18 e.

Any w and t > 0 that are public keep the guarantee: a bad guess costs accuracy, never privacy.
A guess that is 1.5 times too low costs a factor 1 to 1.65 of the error, one too high up to 22:
so a released count enters by its low end.

Source: fits to what minimises the error, as in `smoothdp.mechanisms.release.defaults`; by
`python -m benchmarks.tables` and docs/decisions/0006-defaults-of-release.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.terms import EpsilonTerms, MuTerms, RhoTerms
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import float_of
from smoothdp.mechanisms.release.bars.budget import is_worth
from smoothdp.mechanisms.release.bars.targets import Target
from smoothdp.mechanisms.release.defaults import BOUNDS_IN_SPREADS, LARGEST_SMOOTHING, Rule
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.queries import Median, Quantile, Query, TrimmedMean
from smoothdp.queries.private_size.padded_window import PaddedWindow

_MOST_ROWS = 1e12


def needs_guess(request: ReleaseRequest) -> bool:
    """Return whether a rule has to choose a window or a smoothing and no guess of n is given."""
    if not request.has_private_size or request.n_guess is not None:
        return False
    query = request.query
    open_window = isinstance(query, Median | Quantile) and query.window is None
    return request.smoothing is None or open_window or isinstance(query, TrimmedMean)


def with_private_size(request: ReleaseRequest) -> ReleaseRequest:
    """Return the request with the statistic for a private n, and its smoothing.

    Raises:
        InvalidParameter: a statistic that has none, or no n_guess where a rule needs one.
    """
    window, guess = request.query, request.n_guess
    if needs_guess(request):
        raise InvalidParameter(
            expected="n_guess where the number of records is private",
            got="n_guess=None",
            remedy="Give about how many records there are, from what is public; too few is safer",
        )
    covers = None if request.coverage is None else request.coverage.target
    if isinstance(window, Query):
        window = (
            window.with_private_size()
            if guess is None
            else resolve_private_size(window, request.guarantee, guess, covers=covers)
        )
    assert isinstance(window, PaddedWindow)
    smoothing = request.smoothing
    if smoothing is None:
        assert guess is not None
        smoothing = private_size_smoothing(window, request.guarantee, guess, covers=covers)
    return replace(request, query=window, smoothing=smoothing)


def resolve_private_size(
    query: Query, guarantee: Guarantee, n_guess: Fraction, *, covers: Target | None = None
) -> PaddedWindow:
    """Return the statistic for a private n, a median or quantile with a window by the rule.

    >>> from smoothdp.claims import PureDP
    >>> promise = PureDP(1, neighbours="add_remove")
    >>> resolve_private_size(Median((0, 1)), promise, Fraction(1000)).width
    Fraction(10, 1)
    """
    if not isinstance(query, Median | Quantile) or query.window is not None:
        return query.with_private_size(n_guess=n_guess)
    rule = _rule(guarantee, covers=covers)
    level = query.with_private_size().level
    room = 0.3 * float_of(min(level, 1 - level) * max(Fraction(1), n_guess))
    wanted, least = rule.window / rule.epsilon, Fraction(1)
    if covers == "quantile":
        # The excess is w / 2M, and one record moves the window by M ranks.
        step = max(level, 1 - level)
        wanted, least = wanted * float(step), 2 * step
    width = max(least, Fraction(f"{max(1.0, min(wanted, room)):.4g}"))
    if isinstance(query, Median):
        return Median(query.bounds, window=width).with_private_size()
    return Quantile(level, bounds=query.bounds, window=width).with_private_size()


def private_size_smoothing(
    window: PaddedWindow,
    guarantee: Guarantee,
    n_guess: Fraction,
    *,
    covers: Target | None = None,
) -> Fraction:
    """Return t by the rule, with two digits, so that many groups share one calibration.

    >>> from smoothdp.claims import PureDP
    >>> promise = PureDP(1, neighbours="add_remove")
    >>> window = resolve_private_size(Median((0, 1)), promise, Fraction(1000))
    >>> private_size_smoothing(window, promise, Fraction(1000))
    Fraction(1, 10)
    """
    rule = _rule(guarantee, covers=covers)
    n_records = max(1.0, float_of(n_guess))
    width = float_of(window.width)
    least = float_of(min(window.level, 1 - window.level))
    room = (least * n_records - width / 2) / float_of(window.step)
    share = rule.most
    if room > 0:
        jump = math.log(BOUNDS_IN_SPREADS * n_records / width) / room
        share = min(rule.most, max(rule.least, jump / rule.epsilon))
    return Fraction(f"{min(share * rule.epsilon, LARGEST_SMOOTHING):.2g}")


def least_size_with_bars(query: Query, guarantee: Guarantee, *, covers: Target) -> float:
    """Return from about which n on an interval is shorter than the bounds, to 1%; inf for none.

    Of fewer the rule's smoothing is beyond epsilon / 5, where bars are not worth their price.

    >>> from smoothdp.claims import PureDP
    >>> promise = PureDP(1, neighbours="add_remove")
    >>> 60 < least_size_with_bars(Median((0, 1)), promise, covers="quantile") < 90
    True
    """

    def has_bars(size: float) -> bool:
        guess = Fraction(math.ceil(size))
        window = resolve_private_size(query, guarantee, guess, covers=covers)
        t = private_size_smoothing(window, guarantee, guess, covers=covers)
        return is_worth(guarantee, t)

    size = 1.0
    while not has_bars(size):
        size *= 2
        if size > _MOST_ROWS:
            return math.inf
    low = size / 2
    while size > max(low + 1, 1.01 * low):
        middle = (low + size) / 2
        low, size = (low, middle) if has_bars(middle) else (middle, size)
    return float(math.ceil(size))


def _rule(guarantee: Guarantee, *, covers: Target | None) -> Rule:
    """Return the constants for a private n."""
    rule, terms = Rule.of(guarantee, covers=covers), guarantee.terms()
    if covers == "quantile":
        # In units of M / e, where one record moves the window by M ranks.
        return replace(rule, window=4.0 if isinstance(terms, RhoTerms) else 7.0)
    if covers is not None:
        return rule
    if isinstance(terms, EpsilonTerms | MuTerms):
        return replace(rule, window=10.0, least=0.1)
    if isinstance(terms, RhoTerms) and terms.omega is None:
        return replace(rule, window=5.0)
    return rule
