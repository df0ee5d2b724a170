"""The law of the plurality winner of a sample of votes, by sums of positive terms.

With any odds o_j > 0 per candidate and P_j the binomial law of H_j trials at odds o_j
(without replacement) or the Poisson law of mean H_j o_j (with),

    P(c wins) = e^K  sum_s P_c(s) e^(kappa (s - s*))  sum_h  prod_j P_j(h_j) e^(-g_j (s - h_j)),

over h_j <= s (h_j < s for j < c: ties go to the lowest index) with s + sum_j h_j = n_draws.
Here o is the odds of the candidates j != c whose counts are free, o_j = o e^(-g_j) with
g_j >= 0 the odds of the candidates whom the limit s holds down, and kappa the drift that is then
left for c. With
odds near the likeliest such sample every factor is near its mode, however improbable the
win is; K is enclosed by balls.
"""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.exact.balls.balls import ball, enclose, log_bounds, log_factorial, precision
from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.logspace.bounds import LIBM_ERROR, LOG_ONE, LOG_ZERO, LogBounds
from smoothdp.exact.probabilities.tails import log_binomial_tail, log_hypergeometric_tail
from smoothdp.mechanisms.voting.plurality_sum import Centre, Rival, win_sum


def plurality_law(counts: tuple[int, ...], n_draws: int, *, replacing: bool) -> list[LogBounds]:
    """Bound ln P(c wins) for every candidate c; ties go to the lowest index.

    Args:
        counts: votes per candidate, at least two entries.
        n_draws: T, the votes in the sample, at most sum(counts) without replacement.
        replacing: whether a vote can be drawn more than once.

    Raises:
        OutOfReach: three or more candidates and too many votes.

    >>> law = plurality_law((1, 1, 1), 2, replacing=False)
    >>> [round(math.exp(bounds.upper), 12) for bounds in law]
    [0.666666666667, 0.333333333333, 0.0]
    """
    running = [j for j, count in enumerate(counts) if count]
    law = [LOG_ZERO] * len(counts)
    if len(running) == 1:
        law[running[0]] = LOG_ONE
        return law
    if len(running) == 2:
        a, b = running
        law[a] = _tail((n_draws + 1) // 2, n_draws, counts[a], counts[b], replacing)
        law[b] = _tail(n_draws // 2 + 1, n_draws, counts[b], counts[a], replacing)
        return law
    leader = max(running, key=lambda j: counts[j])
    for c in running:
        if c != leader:
            law[c] = _win(counts, c, n_draws, replacing)
    low, high = (math.fsum(ends) for ends in zip(*(b.linear() for b in law), strict=True))
    if high < 0.5:
        slack = 1 + 2 * LIBM_ERROR
        law[leader] = LogBounds(math.log1p(-high * slack) * slack, math.log1p(-low) / slack)
    else:
        law[leader] = _win(counts, leader, n_draws, replacing)
    return law


def _tail(k: int, n_draws: int, count: int, other_votes: int, replacing: bool) -> LogBounds:
    if replacing:
        return log_binomial_tail(k, n_draws, Fraction(count, count + other_votes))
    return log_hypergeometric_tail(k, n_draws, count, other_votes)


def _win(counts: tuple[int, ...], c: int, n_draws: int, replacing: bool) -> LogBounds:
    """Bound ln P(c wins) where three or more candidates have votes."""
    centre = _centre(counts, c, n_draws, replacing)
    if centre is None:
        return LOG_ZERO
    bounds = centre.log_constant.shifted(win_sum(centre, n_draws, replacing=replacing))
    return LogBounds(min(bounds.lower, 0.0), min(bounds.upper, 0.0))


# ---- the odds near the likeliest sample in which c wins --------------------------------


def _centre(counts: tuple[int, ...], c: int, n_draws: int, replacing: bool) -> Centre | None:
    """Return odds near the likeliest sample in which c wins; None if there is none.

    Any odds give the right law: these keep the factors near their modes.
    """
    rivals = [(count, j < c) for j, count in enumerate(counts) if count and j != c]

    def limit(s: int, rival: tuple[int, bool]) -> int:
        return min(s - rival[1], n_draws if replacing else rival[0])

    most = min(n_draws, n_draws if replacing else counts[c])
    least = least_integer(lambda s: s + sum(limit(s, r) for r in rivals) >= n_draws, 1, most + 1)
    if least > most:
        return None

    def log_odds(count: int, sampled: float) -> float:
        return math.log((sampled + 0.5) / ((count if replacing else count - sampled) + 0.5))

    def expected(count: int, log_x: float) -> float:
        x = math.exp(log_x)
        return count * (x if replacing else x / (1 + x))

    def shared_log_odds(s: int) -> float:
        """Return ln of the odds at which the rivals share what s leaves."""
        low, high = -60.0, 60.0
        for _ in range(40):
            middle = (low + high) / 2
            shared = sum(min(limit(s, r), expected(r[0], middle)) for r in rivals)
            low, high = (middle, high) if shared < n_draws - s else (low, middle)
        # Between the odds of no vote at all and those of a rival that is drawn entirely.
        nothing = min(log_odds(r[0], 0) for r in rivals)
        return max(min(high, max(log_odds(r[0], limit(s, r)) for r in rivals)), nothing)

    def limited_log_odds(s: int, log_x: float, rival: tuple[int, bool]) -> float:
        """Return ln of the odds of a rival: less than x where the limit s holds it down."""
        most_votes = s - rival[1]
        if not replacing and most_votes >= rival[0]:
            return log_x
        return min(log_x, log_odds(rival[0], most_votes))

    def surplus(s: int) -> float:
        x = shared_log_odds(s)
        return log_odds(counts[c], s) - x - sum(x - limited_log_odds(s, x, r) for r in rivals)

    votes = min(most, least_integer(lambda s: surplus(s) >= 0, least, most))
    x = shared_log_odds(votes)
    odds = _short(math.exp(x))
    others = [_short(math.exp(limited_log_odds(votes, x, r))) for r in rivals]
    pulled = odds * math.prod(odds / other for other in others)
    inside = least < votes < most
    own = _short(float(pulled) if inside else math.exp(log_odds(counts[c], votes)))
    return Centre(
        counts[c],
        tuple(
            Rival(count, first, other, _log(odds / other))
            for (count, first), other in zip(rivals, others, strict=True)
        ),
        own,
        votes,
        _log(pulled / own),
        least,
        most,
        _constant(
            [*zip((r[0] for r in rivals), others, strict=True), (counts[c], own)],
            odds,
            pulled / own,
            votes,
            n_draws,
            replacing,
        ),
    )


def _short(value: float) -> Fraction:
    """Return a positive rational number of few digits near a float."""
    mantissa, exponent = math.frexp(value)
    return Fraction(round(mantissa * 2**24)) * Fraction(2) ** (exponent - 24)


def _log(ratio: Fraction) -> float:
    return log_bounds(ratio).upper


def _constant(
    candidates: list[tuple[int, Fraction]],
    odds: Fraction,
    drift: Fraction,
    votes: int,
    n_draws: int,
    replacing: bool,
) -> LogBounds:
    """Bound K of the formula."""
    n = sum(count for count, _ in candidates)
    with precision(192):
        k = votes * ball(drift).log() - n_draws * ball(odds).log()
        if replacing:
            k += ball(sum(count * o for count, o in candidates))
            k += log_factorial(n_draws, 192) - n_draws * ball(n).log()
        else:
            for count, o in candidates:
                k += count * ball(1 + o).log()
            k -= log_factorial(n, 192) - log_factorial(n_draws, 192)
            k += log_factorial(n - n_draws, 192)
        return enclose(k)
