"""The closed-form bounds of paper 3 (Balcer, Cheu): noise, error, users, smooth distributions.

All are rounded up, so that they stay true as floats. Exact figures, which are 42 to 115 times
smaller, come from `smoothdp.shuffle.Histogram` and `ZeroPreservingCount`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from smoothdp.claims.domains import read_delta, read_epsilon, read_inner_probability
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import ball, precision, round_up
from smoothdp.exact.parameters.numbers import (
    LogRatio,
    Parameter,
    Real,
    exact_fraction,
    exact_int,
    sign,
)

__all__ = [
    "balcer_cheu_error",
    "balcer_cheu_omission",
    "balcer_cheu_omission_all_epsilon",
    "balcer_cheu_smooth",
    "balcer_cheu_users",
]

_BITS = 128


class SmoothLaw(NamedTuple):
    """(epsilon, delta) with which a binomial law is smooth, both rounded up."""

    epsilon: float
    delta: float


def balcer_cheu_omission(
    n_users: int, *, epsilon: Parameter, delta: Parameter, whole_histogram: bool = False
) -> float:
    """Return gamma = 1 - p = 50 ln(2/delta) / (epsilon^2 n), rounded up: Theorems 3.1 and 3.2.

    The probability with which a noise bit is omitted. It makes the count (epsilon, delta)-DP
    and the histogram (2 epsilon, 2 delta)-DP. With ``whole_histogram`` epsilon and delta are
    those of the whole histogram, and are halved first. Verdict: holds, loose: 42 to 115 times
    the exact value at delta = 1e-6 (proofs/binomial-noise#2, #3).

    Raises:
        InvalidParameter: epsilon (halved, for the whole histogram) outside (0, 1], delta
            outside (0, 1), or fewer users than `balcer_cheu_users`.

    >>> round(balcer_cheu_omission(10_000, epsilon=1, delta="1e-6"), 12)
    0.072543288693
    """
    n, level, chance = _read_arguments(n_users, epsilon, delta, whole_histogram)
    _require_small(level)
    return _require_half(omission_upper(n, level, chance), n)


def omission_upper(n_users: int, epsilon: Real, delta: Fraction, *, divisor: int = 1) -> float:
    """Return 50 ln(2/delta') / (epsilon'^2 n), rounded up, for delta' = delta / divisor.

    epsilon' likewise: a histogram has the divisor 2, as a replaced record moves two counts.
    """
    with precision(_BITS):
        square = _square(epsilon) / divisor**2
        return round_up(50 * _log_inverse(delta / divisor) / (square * n_users))


def balcer_cheu_omission_all_epsilon(
    n_users: int, *, epsilon: Parameter, delta: Parameter, whole_histogram: bool = False
) -> float:
    """Return gamma = 10 ln(2/delta) / (n tanh^2(epsilon/2)), rounded up, for every epsilon > 0.

    Not in the paper: Lemma A.3 with alpha = tanh(epsilon/2), where the paper has
    epsilon / sqrt 5. The lemma asks for alpha gamma n >= 2, and 10 ln(2/delta) > 2 grants it.
    Verdict: holds (proofs/binomial-noise#3); at most the paper's.

    Raises:
        InvalidParameter: epsilon <= 0, delta outside (0, 1), or gamma above 1/2.

    >>> round(balcer_cheu_omission_all_epsilon(10_000, epsilon=1, delta="1e-6"), 12)
    0.067939610008
    """
    n, level, chance = _read_arguments(n_users, epsilon, delta, whole_histogram)
    with precision(_BITS):
        slope = (ball(level) / 2).tanh()
        gamma = round_up(10 * _log_inverse(chance) / (slope**2 * n))
    return _require_half(gamma, n)


def balcer_cheu_users(
    *, epsilon: Parameter, delta: Parameter, whole_histogram: bool = False
) -> int:
    """Return the least n with n >= 100 ln(2/delta) / epsilon^2, as Theorems 3.1 and 3.2 ask.

    Raises:
        InvalidParameter: epsilon (halved, for the whole histogram) outside (0, 1], delta
            outside (0, 1).

    >>> balcer_cheu_users(epsilon=1, delta="1e-6", whole_histogram=True)
    6081
    """
    _, level, chance = _read_arguments(1, epsilon, delta, whole_histogram)
    _require_small(level)
    with precision(_BITS):
        needed = (100 * _log_inverse(chance) / _square(level)).ceil().unique_fmpz()
    if needed is None:
        raise InvalidParameter(
            expected="parameters that are not a tie",
            got=f"epsilon={epsilon}",
            remedy="Change epsilon or delta in the last digit",
        )
    return int(needed)


def balcer_cheu_error(
    n_users: int,
    *,
    epsilon: Parameter,
    delta: Parameter,
    failure_probability: Parameter,
    simultaneous: bool = False,
) -> float:
    """Return the error of a frequency, rounded up: Theorems 3.1(ii), 3.2(ii) and 3.2(iii).

    50 ln(2/delta) / (epsilon^2 n) + sqrt(200 ln(2/delta) ln(2/beta)) / (epsilon n), beta the
    failure probability, divided by n if ``simultaneous``. epsilon and delta are those of
    Theorem 3.1 (a histogram has twice both). Times n it is a count. Verdict: holds, loose.

    Raises:
        InvalidParameter: as `balcer_cheu_omission`; beta outside (0, 1) or, divided by n if
            simultaneous, below delta^25.

    >>> round(balcer_cheu_error(10_000, epsilon=1, delta="1e-6", failure_probability="0.05"), 9)
    0.082889369
    """
    n, level, chance = _read_arguments(n_users, epsilon, delta, False)
    _require_small(level)
    balcer_cheu_omission(n, epsilon=epsilon, delta=delta)
    beta = read_inner_probability(failure_probability, name="failure_probability", example="0.05")
    each = beta / n if simultaneous else beta
    if each < chance**25:
        raise InvalidParameter(
            expected="failure_probability >= delta^25" + (" n" if simultaneous else ""),
            got=f"failure_probability={failure_probability}",
            remedy="Raise failure_probability; the exact error of the protocol has no such limit",
        )
    with precision(_BITS):
        log_inverse = _log_inverse(chance)
        spread = (200 * log_inverse * ball(LogRatio(2 / each))).sqrt()
        return round_up(50 * log_inverse / (_square(level) * n) + spread / (ball(level) * n))


def balcer_cheu_smooth(n_trials: int, *, probability: Parameter, alpha: Parameter) -> SmoothLaw:
    """Return (epsilon, delta) with which Bin(n, gamma) is smooth, rounded up: Lemma A.3.

    epsilon = ln((1 + alpha)/(1 - alpha)), delta = e^(-alpha^2 gamma n / 8) +
    e^(-alpha^2 gamma n / (8 + 2 alpha)), for shifts k up to alpha gamma n / 2. Adding such
    noise to a sum makes it (epsilon, delta)-DP (Lemma A.2), if a shift by 1 is allowed.
    Verdict: holds (proofs/binomial-noise#1); the exact delta is below a fifth of it at the points
    tried.

    Args:
        n_trials: n >= 1. probability: gamma in (0, 1/2]. alpha: in (0, 1).

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> round(balcer_cheu_smooth(1000, probability="0.1", alpha="0.5").delta, 12)
    0.106113457646
    """
    n = exact_int(n_trials, name="n_trials", minimum=1)
    gamma = exact_fraction(probability, name="probability")
    slope = read_inner_probability(alpha, name="alpha", example="0.5")
    if not 0 < gamma <= Fraction(1, 2):
        raise InvalidParameter(
            expected="0 < probability <= 1/2",
            got=f"{probability}",
            remedy="Give the probability of a trial, such as 0.1; of above 1/2, count the misses",
        )
    weight = slope**2 * gamma * n
    with precision(_BITS):
        delta: Any = (-ball(weight) / 8).exp() + (-ball(weight) / (8 + 2 * ball(slope))).exp()
        epsilon = round_up(ball(LogRatio((1 + slope) / (1 - slope))))
        return SmoothLaw(epsilon, round_up(delta))


def _read_arguments(
    n_users: int, epsilon: Parameter, delta: Parameter, whole_histogram: bool
) -> tuple[int, Real, Fraction]:
    n = exact_int(n_users, name="n_users", minimum=1)
    level, chance = read_epsilon(epsilon), read_delta(delta)
    if sign(level) == 0 or not 0 < chance < 1:
        raise InvalidParameter(
            expected="epsilon > 0 and 0 < delta < 1",
            got=f"{epsilon}, {delta}",
            remedy="Give both above 0, such as epsilon 1 and delta 1e-6",
        )
    if not whole_histogram:
        return n, level, chance
    if isinstance(level, LogRatio):
        raise InvalidParameter(
            expected="a rational epsilon to halve",
            got=f"epsilon={epsilon}",
            remedy="Give epsilon as a number, not as a logarithm",
        )
    return n, level / 2, chance / 2


def _log_inverse(delta: Fraction) -> Any:
    return ball(LogRatio(2 / delta))


def _square(level: Real) -> Any:
    return ball(level) ** 2


def _require_small(level: Real) -> None:
    with precision(_BITS):
        small = bool(ball(level) <= 1)
    if not small:
        raise InvalidParameter(
            expected="epsilon <= 1 (<= 2 for a whole histogram), as paper 3 assumes",
            got=f"epsilon={float(level)} per bin",
            remedy="Use balcer_cheu_omission_all_epsilon, or the exact calibration",
        )


def _require_half(gamma: float, n: int) -> float:
    if not gamma <= 0.5:
        raise InvalidParameter(
            expected="n_users large enough for gamma <= 1/2",
            got=f"gamma={gamma} at n_users={n}",
            remedy="Add users (balcer_cheu_users says how many), or calibrate exactly",
        )
    return gamma
