"""Lower bounds of the noise that smooth sensitivity must add, whatever the law."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction

from smoothdp.claims.guarantees.concentrated import ZCDP, TruncatedCDP
from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import PureDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball, precision, round_down
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.rationals import fraction_ends
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_fraction
from smoothdp.noise.calibration.staircase import staircase_variance
from smoothdp.noise.shift_claim import read_smoothing

_BITS = 256
# Steps of group privacy beyond which e^(k t) is not formed; fewer steps are as true.
_LARGEST_EXPONENT = 10**5
_MOST_STEPS = 10**6


def variance_lower_bound(guarantee: Guarantee, *, shift: Parameter, smoothing: Parameter) -> float:
    """Return a number that E Z^2 is not below, for every noise that meets the guarantee.

    Z is symmetric with a density that falls with |x|, and Z against e^t' Z + s' meets the
    guarantee for 0 <= t' <= t and |s'| <= s, both ways. The largest of:

    * zCDP (also of a Gaussian claim): Proposition 36 of paper 2 with l = 0, over k, for any Z
      of mean 0: s^2 ((e^(kt) - 1) / (e^t - 1))^2 / (e^(2 rho k^2) - 1). With l > 0 its
      hypothesis is more than privacy gives, so it is not shown for mechanisms.
    * zCDP and truncated CDP: `kl_variance`, for any Z.
    * pure DP: `pure_variance` for any Z, and `staircase`, which needs the shape; infinite
      from t = epsilon / 2 on (proofs/pure-noise#7, #8).

    Args:
        guarantee: PureDP, ZCDP, TruncatedCDP or GaussianDP.
        shift: s > 0; noise (S / s) Z is added. smoothing: t >= 0.

    Returns:
        A float, rounded down; inf where the variance is proved infinite.

    Raises:
        InvalidParameter: another guarantee, or a parameter that is not positive.

    >>> bound = variance_lower_bound(PureDP(1), shift=1, smoothing="0.1")
    >>> 1.55 < bound**0.5 < 1.6457  # PolyPlace has 1.6457
    True
    >>> variance_lower_bound(PureDP(1), shift=1, smoothing="0.5")
    inf
    """
    s, t = _positive(shift, "shift"), read_smoothing(smoothing)
    if isinstance(guarantee, PureDP):
        epsilon = guarantee.exact_epsilon
        if at_most(epsilon, 2 * t):
            return math.inf
        with precision(_BITS):
            units = [pure_variance(epsilon, t), staircase_variance(epsilon, t)]
            return max(_float_down(ball(s) ** 2 * unit) for unit in units)
    rho = _rho(guarantee)
    if rho == 0:
        return math.inf
    with precision(_BITS):
        units = [kl_variance(rho)]
        if not isinstance(guarantee, TruncatedCDP):
            units.append(proposition_36(rho, t))
        return max(_float_down(ball(s) ** 2 * unit) for unit in units)


def tail_lower_bound(
    guarantee: Guarantee, *, shift: Parameter, smoothing: Parameter, beyond: Parameter
) -> float:
    """Return a number that P(|Z| >= x) is not below, for every symmetric noise.

    Setting as in `variance_lower_bound`; any symmetric Z, and half of it for any Z. k is the
    least whole number with s (e^(kt) - 1) / (e^t - 1) >= x. zCDP: Proposition 35 of paper 2
    with its last step done exactly, E / (1 + sqrt(1 - E)) with E = e^(-2 rho k^2) (printed:
    E / 4). Pure DP: e^(-k epsilon), because P(Z >= x) >= e^(-k epsilon) P(Z >= 0).

    Args:
        guarantee: PureDP, ZCDP or GaussianDP.
        shift: s > 0; smoothing: t >= 0; beyond: x > 0.

    Returns:
        A float, rounded down; `log_tail_lower_bound` reaches deeper.

    Raises:
        InvalidParameter: another guarantee, or a parameter that is not positive.

    >>> tail_lower_bound(ZCDP("0.5"), shift=1, smoothing="0.1", beyond=1) > 0.2
    True
    """
    log_bound = log_tail_lower_bound(guarantee, shift=shift, smoothing=smoothing, beyond=beyond)
    with precision(_BITS):
        return round_down(special.number(log_bound).exp())


def log_tail_lower_bound(
    guarantee: Guarantee, *, shift: Parameter, smoothing: Parameter, beyond: Parameter
) -> float:
    """Return ln of `tail_lower_bound`, rounded down; pure DP: proofs/pure-noise#8."""
    s, x = _positive(shift, "shift"), _positive(beyond, "beyond")
    t = read_smoothing(smoothing)
    k = steps_to(x / s, t)
    with precision(_BITS):
        if isinstance(guarantee, PureDP):
            return round_down(-k * ball(guarantee.exact_epsilon))
        if isinstance(guarantee, TruncatedCDP):
            raise _unsupported(guarantee)
        return round_down(proposition_35_log(_rho(guarantee), k))


def steps_to(distance: Fraction, t: Fraction) -> int:
    """Return the least k with (e^(kt) - 1) / (e^t - 1) >= distance > 0."""
    if distance <= 1 or t == 0:
        return math.ceil(distance)
    bits = 128
    while True:
        # Only k = 1 can be an equality: e^t is transcendental.
        with precision(bits):
            steps = (ball(distance) * ball(t).expm1()).log1p() / ball(t)
            low, high = (math.ceil(end) for end in fraction_ends(steps))
            if low == high:
                return low
        bits *= 2


def proposition_35_log(rho: Fraction, k: int) -> Ball:
    """Return ln(E / (1 + sqrt(1 - E))), E = e^(-2 rho k^2).

    p = P(Z >= x) has p (1 - p) >= E / 4, so 2 p >= 1 - sqrt(1 - E).
    """
    exponent = ball(2 * rho * k * k)
    return -exponent - (1 + special.sqrt(-(-exponent).expm1())).log()


def proposition_36(rho: Fraction, t: Fraction) -> Ball:
    """Return max over k of ((e^(kt) - 1) / (e^t - 1))^2 / (e^(2 rho k^2) - 1)."""
    # About the best k; every k is as true.
    return _best_step(t, lambda k: ball(2 * rho * k * k).expm1(), t / (2 * rho))


def pure_variance(epsilon: Real, t: Fraction) -> Ball:
    """Return max over k of ((e^(kt) - 1) / (e^t - 1))^2 / (2 cosh(k epsilon) - 2).

    For any Z of mean 0: as Proposition 36, with e^(D_2) - 1 <= 2 cosh(epsilon) - 2, the largest
    chi-square of two laws whose loss is at most epsilon both ways (met by two points).
    Source: proofs/pure-noise#8.
    """
    # 2 cosh(v) - 2 = 4 sinh(v / 2)^2. Beyond 2 t = epsilon it rises for ever.
    return _best_step(t, lambda k: 4 * (k * ball(epsilon) / 2).sinh() ** 2, 1)


def kl_variance(rho: Fraction) -> Ball:
    """Return 1 / (4 sinh(x)^2), x tanh x = rho / 2: E Z^2 / s^2 if D_1(Z || Z + s) <= rho.

    Proof. With m = (1 - l) q + l p, D_1(p || q) is the integral over l in [0, 1] of
    (1 - l) times that of (p - q)^2 / m (the second derivative in l of D_1(m || q)). By
    Cauchy-Schwarz the latter is at least s^2 / (V + l (1 - l) s^2), the means being s apart and
    the denominator the variance of m. By l -> 1 - l and with c^2 = V / s^2 + 1/4:
    D_1 >= (1 / c) artanh(1 / (2 c)) = 2 x tanh x where 1 / (2 c) = tanh x. QED
    """
    half = ball(rho) / 2
    # x tanh x is between x^2 / (1 + x) and x^2.
    low, high = special.sqrt(half), (half + special.sqrt(half * half + 4 * half)) / 2
    for _ in range(_BITS // 2):
        middle = ((low + high) / 2).mid()
        low, high = (low, middle) if middle * middle.tanh() > half else (middle, high)
    return 1 / (4 * high.sinh() ** 2)


def _best_step(t: Fraction, spread: Callable[[int], Ball], around: Fraction | int) -> Ball:
    """Return the largest ((e^(kt) - 1) / (e^t - 1))^2 / spread(k) over likely k."""
    most = max(1, min(math.floor(_LARGEST_EXPONENT / t), _MOST_STEPS)) if t else _MOST_STEPS
    grid = [math.floor(2 ** (j / 8)) for j in range(160)] + [min(math.floor(around), most)]

    def value(k: int) -> Ball:
        # The sum of e^(j t) over j < k.
        reach = (k * ball(t)).expm1() / ball(t).expm1() if t else ball(k)
        return reach**2 / spread(k)

    best = max((k for k in grid if 1 <= k <= most), key=lambda k: _order(value(k)), default=1)
    step = max(1, best // 8)
    while step:
        for k in (best - step, best + step):
            if 1 <= k <= most and _order(value(k)) > _order(value(best)):
                best = k
                break
        else:
            step //= 2
    return value(best)


def _order(value: Ball) -> float:
    """Return ln of the middle, to compare candidates by."""
    return float(special.real(value).mid().log().mid())


def _float_down(value: Ball) -> float:
    """Return a float not above a positive number; the largest float beyond floats."""
    return round_down(special.minimum(value, special.number(sys.float_info.max)))


def _rho(guarantee: Guarantee) -> Fraction:
    if isinstance(guarantee, ZCDP | TruncatedCDP):
        return guarantee.exact_rho
    if isinstance(guarantee, GaussianDP):
        return guarantee.exact_mu**2 / 2
    raise _unsupported(guarantee)


def _unsupported(guarantee: Guarantee) -> InvalidParameter:
    return InvalidParameter(
        expected=(
            "a guarantee for which a lower bound is proved (PureDP, ZCDP or GaussianDP; for "
            "the variance TruncatedCDP as well)"
        ),
        got=f"{guarantee!r}",
        remedy="Ask for PureDP, ZCDP or GaussianDP (approximate DP allows infinite losses)",
    )


def _positive(value: Parameter, name: str) -> Fraction:
    number = exact_fraction(value, name=name)
    if number <= 0:
        raise InvalidParameter(
            expected=f"{name} > 0",
            got=f"{name}={shown(number)}",
            remedy=f"Give a positive number for {name}",
        )
    return number
