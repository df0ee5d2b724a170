"""The largest shift that keeps zero-concentrated or truncated concentrated DP."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from smoothdp.claims.guarantees.concentrated import ZCDP, TruncatedCDP
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.parameters.numbers import float_bounds
from smoothdp.noise.calibration.certificate import certify
from smoothdp.noise.calibration.convexity import reverse_is_convex
from smoothdp.noise.calibration.estimate import Binding, Problem
from smoothdp.noise.calibration.promise import Promise, last_excess
from smoothdp.noise.calibration.rounding import below
from smoothdp.noise.calibration.score import growth, largest_order_of_dilation
from smoothdp.noise.gaussian import Gaussian
from smoothdp.noise.laplace import Laplace
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.shift_claim import ShiftClaim
from smoothdp.sources import Source

_STEP = 4e-6
# A cover of fewer pieces: noise that is larger by so much, certified in half the time.
_COVER_STEP = 2e-4
_MOST_STEPS = 14
_SOURCE = Source("bun-steinke-averages", "section 3, calibrated exactly")
# Orders below omega are promised, omega itself is not.
_INSIDE = 1 - Fraction(1, 2**40)
# Of the noise's scale: what a pure dilation is tested with.
_NOTHING = Fraction(1, 10**9)


def concentrated_shift(
    law: NoiseDistribution, guarantee: ZCDP | TruncatedCDP, smoothing: Fraction
) -> ShiftClaim:
    """Return a certified shift, and one at which the guarantee is refuted.

    Raises:
        InvalidParameter: no scale of the law meets the guarantee.
        OutOfReach: none was certified.
    """
    omega = guarantee.exact_omega if isinstance(guarantee, TruncatedCDP) else None
    promise = Promise(guarantee.exact_rho, omega, smoothing)
    _refuse(law, promise)
    if isinstance(law, Gaussian) and smoothing == 0:
        return _gaussian_mechanism(promise.rho)
    start, binding = _estimated(law, promise)
    certified, reason = _certified(law, promise, start)
    upper = None
    for k in range(_MOST_STEPS):
        shift = below(start * (1 + _STEP * 2**k))
        if refutes(law, promise, shift, binding):
            upper = shift
            break
    return ShiftClaim(certified, upper, "certified", _SOURCE, reason)


def concentrated_estimate(
    law: NoiseDistribution, guarantee: ZCDP | TruncatedCDP, smoothing: Fraction
) -> float:
    """Return the largest shift in plain floats, which proves nothing.

    Raises:
        InvalidParameter: no scale of the law meets the guarantee.
    """
    omega = guarantee.exact_omega if isinstance(guarantee, TruncatedCDP) else None
    promise = Promise(guarantee.exact_rho, omega, smoothing)
    _refuse(law, promise)
    if isinstance(law, Gaussian) and smoothing == 0:
        return float(_gaussian_mechanism(promise.rho).exact_shift)
    return _estimated(law, promise)[0]


def _estimated(law: NoiseDistribution, promise: Promise) -> tuple[float, Binding]:
    """Return about the largest shift and its binding point."""
    problem = _problem(law, promise)
    try:
        found = problem.largest_shift()
    except (ValueError, ArithmeticError):
        # Numbers that floats do not hold.
        raise OutOfReach(
            expected="a guarantee and a smoothing within what floats hold",
            got=f"rho={shown(promise.rho)}, smoothing={shown(promise.smoothing)} with {law!r}",
            remedy="Use a less extreme guarantee, smoothing or shape",
        ) from None
    if found is None:
        raise _hopeless(law, promise, problem)
    return found


def _certified(law: NoiseDistribution, promise: Promise, start: float) -> tuple[Fraction, str]:
    """Return a shift just below ``start`` that is certified, and how."""
    covers = promise.smoothing > 0 and not reverse_is_convex(law, below(start))
    step = _COVER_STEP if covers else _STEP
    certificate = None
    for k in range(0, _MOST_STEPS, 2 if covers else 1):
        shift = below(start * (1 - min(0.9, step * 2**k)))
        certificate = certify(law, promise, shift)
        if certificate.holds:
            return shift, certificate.reason
    raise OutOfReach(
        expected=f"a certificate near shift={start:.6g}",
        got=f"none ({certificate.reason if certificate else 'untried'})",
        remedy="Use another law, a less extreme parameter, or method='closed_form'",
    )


def _gaussian_mechanism(rho: Fraction) -> ShiftClaim:
    """D_a = a s^2 / 2: the shift is sqrt(2 rho)."""
    shift = below(math.sqrt(2 * float(rho)))
    while shift * shift > 2 * rho:
        shift *= 1 - Fraction(1, 10**12)
    source = Source("bun-steinke-zcdp", "Proposition 1.6")
    return ShiftClaim(shift, shift * (1 + Fraction(1, 10**10)), "proved", source, "D = a s^2 / 2")


def refutes(law: NoiseDistribution, promise: Promise, shift: Fraction, binding: Binding) -> bool:
    """Whether D_a > a rho is certain at one order, dilation and direction.

    At order 1, D_1 > rho does: D_a >= D_1 is above a rho for a close to 1.
    """
    worst = Fraction(binding.b)
    if promise.omega is not None:
        worst = min(worst, (promise.omega - 1) * _INSIDE)
    for excess in (Fraction(0), worst):
        lower = law.renyi_bounds(
            1 + excess,
            shift=shift,
            dilation=promise.smoothing if binding.dilation else 0,
            direction="reverse" if binding.reverse else "forward",
        )[0]
        if math.isfinite(lower) and Fraction(lower) > promise.rho * (1 + excess):
            return True
    return False


def _problem(law: NoiseDistribution, promise: Promise) -> Problem:
    @lru_cache(maxsize=4096)
    def last(shift: float, reverse: bool) -> float | None:
        return last_excess(law, promise, Fraction(shift), promise.smoothing, reverse=reverse)

    return Problem(law, float(promise.rho), float(promise.smoothing), last)


def _refuse(law: NoiseDistribution, promise: Promise) -> None:
    """Raise where analysis says that no scale will do."""
    if promise.rho <= 0:
        raise InvalidParameter(
            expected="rho > 0", got=f"rho={shown(promise.rho)}", remedy="Give a positive rho"
        )
    t = promise.smoothing
    if t == 0:
        return
    limit = largest_order_of_dilation(law, t)
    if isinstance(law, Gaussian | Laplace) and promise.omega is None:
        raise InvalidParameter(
            expected=(
                f"a law whose dilations have finite divergences of every order, for zCDP with "
                f"smoothing={shown(t)}"
            ),
            got=f"{law!r}, infinite from order {limit:.6g}",
            remedy="Use ArsinhNormal, or TruncatedCDP with omega below that order",
        )
    if promise.omega is not None and promise.omega >= limit:
        raise InvalidParameter(
            expected=f"omega < {limit:.6g} for {law!r} with smoothing={shown(t)}",
            got=f"omega={float(promise.omega):.6g}",
            remedy="Lower omega or smoothing, or use ArsinhNormal",
        )
    sigma = growth(law).sigma
    if promise.omega is None and sigma is not None and t * t >= 2 * promise.rho * sigma**2:
        # D_a of the dilation grows like a t^2 / (2 sigma^2).
        edge = float(sigma) * math.sqrt(2 * float(promise.rho))
        raise InvalidParameter(
            expected=f"smoothing < sigma sqrt(2 rho) = {edge:.6g} for {law!r}",
            got=f"smoothing={shown(t)}",
            remedy="Lower smoothing, or raise sigma or rho",
        )


def _hopeless(
    law: NoiseDistribution, promise: Promise, problem: Problem
) -> InvalidParameter | OutOfReach:
    scale = float_bounds(_NOTHING)[1]
    worst = problem.worst(scale)
    expected = f"a scale of {law!r} that keeps rho={shown(promise.rho)}"
    if refutes(law, promise, Fraction(0), worst):
        got = f"smoothing={shown(promise.smoothing)}, at which the dilation alone breaks it"
        return InvalidParameter(
            expected=expected, got=got, remedy="Lower smoothing, or raise rho or the shape"
        )
    return OutOfReach(
        expected=expected,
        got=f"smoothing={shown(promise.smoothing)}, near its limit",
        remedy="Lower smoothing, or use a law with a heavier tail",
    )
