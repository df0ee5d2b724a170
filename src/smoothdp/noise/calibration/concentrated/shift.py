"""The largest shift that keeps zero-concentrated or truncated concentrated DP.

What is claimed is certified, whatever the estimate that it starts from
(proofs/zcdp-certificates#9); every smaller shift is good too (proofs/zcdp-certificates#1).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from smoothdp.claims.guarantees.concentrated import ZCDP, TruncatedCDP
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.parameters.numbers import float_bounds
from smoothdp.noise.abstract_law import AbstractLaw
from smoothdp.noise.calibration.concentrated.certificate import certify
from smoothdp.noise.calibration.concentrated.estimate import Binding, Problem
from smoothdp.noise.calibration.concentrated.promise import (
    Promise,
    forward_tail,
    last_excess,
    reverse_tail,
)
from smoothdp.noise.shift_claim import ShiftClaim, below
from smoothdp.sources import Source

_STEP = 4e-6
# A cover of fewer intervals: noise that is larger by so much, certified in half the time.
_COVER_STEP = 2e-4
_MOST_STEPS = 14
_SOURCE = Source("bun-steinke-averages", "section 3, calibrated exactly")
# Orders below omega are promised, omega itself is not.
_INSIDE = 1 - Fraction(1, 2**40)
# Of the noise's scale: what a pure dilation is tested with.
_NOTHING = Fraction(1, 10**9)


def concentrated_shift(
    law: AbstractLaw, guarantee: ZCDP | TruncatedCDP, smoothing: Fraction
) -> ShiftClaim:
    """Return a certified shift, and one at which the guarantee is refuted.

    Raises:
        InvalidParameter: no scale of the law meets the guarantee.
        OutOfReach: none was certified.
    """
    omega = guarantee.exact_omega if isinstance(guarantee, TruncatedCDP) else None
    promise = Promise(guarantee.exact_rho, omega, smoothing)
    claim = _closed(law, guarantee, promise)
    if claim is not None:
        return claim
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
    law: AbstractLaw, guarantee: ZCDP | TruncatedCDP, smoothing: Fraction
) -> float:
    """Return the largest shift in plain floats, which proves nothing.

    Raises:
        InvalidParameter: no scale of the law meets the guarantee.
    """
    omega = guarantee.exact_omega if isinstance(guarantee, TruncatedCDP) else None
    promise = Promise(guarantee.exact_rho, omega, smoothing)
    claim = _closed(law, guarantee, promise)
    return _estimated(law, promise)[0] if claim is None else float(claim.exact_shift)


def _closed(
    law: AbstractLaw, guarantee: ZCDP | TruncatedCDP, promise: Promise
) -> ShiftClaim | None:
    """Return the claim of a law that has one in closed form; raise where no scale will do."""
    _refuse(law, promise)
    claim = None if promise.smoothing else law._undilated_claim(guarantee)
    if claim is None and promise.omega is None:
        _refuse_unknown(law, promise)
    return claim


def _estimated(law: AbstractLaw, promise: Promise) -> tuple[float, Binding]:
    """Return about the largest shift and its binding point."""
    problem = _problem(law, promise)
    try:
        estimate = problem.largest_shift()
    except (ValueError, ArithmeticError):
        # Numbers that floats do not hold.
        raise OutOfReach(
            expected="a guarantee and a smoothing within what floats hold",
            got=f"rho={shown(promise.rho)}, smoothing={shown(promise.smoothing)} with {law!r}",
            remedy="Use a less extreme guarantee, smoothing or shape",
        ) from None
    if estimate is None:
        raise _hopeless(law, promise, problem)
    return estimate


def _certified(law: AbstractLaw, promise: Promise, start: float) -> tuple[Fraction, str]:
    """Return a shift just below ``start`` that is certified, and how."""
    covers = promise.smoothing > 0 and not law._reverse_convexity(below(start))
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


def refutes(law: AbstractLaw, promise: Promise, shift: Fraction, binding: Binding) -> bool:
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


def _problem(law: AbstractLaw, promise: Promise) -> Problem:
    @lru_cache(maxsize=4096)
    def last(shift: float, reverse: bool) -> float | None:
        return last_excess(law, promise, Fraction(shift), promise.smoothing, reverse=reverse)

    return Problem(law, float(promise.rho), float(promise.smoothing), last)


def _refuse(law: AbstractLaw, promise: Promise) -> None:
    """Raise where analysis says that no scale will do."""
    if promise.rho <= 0:
        raise InvalidParameter(
            expected="rho > 0", got=f"rho={shown(promise.rho)}", remedy="Give a positive rho"
        )
    t = promise.smoothing
    if t == 0:
        return
    growth = law.growth()
    limit = growth.highest_order(t)
    if growth.exponent is not None and promise.omega is None:
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
    sigma = growth.sigma
    if promise.omega is None and sigma is not None and t * t >= 2 * promise.rho * sigma**2:
        # D_a of the dilation grows like a t^2 / (2 sigma^2).
        edge = float(sigma) * math.sqrt(2 * float(promise.rho))
        raise InvalidParameter(
            expected=f"smoothing < sigma sqrt(2 rho) = {edge:.6g} for {law!r}",
            got=f"smoothing={shown(t)}",
            remedy="Lower smoothing, or raise sigma or rho",
        )


def _refuse_unknown(law: AbstractLaw, promise: Promise) -> None:
    """Raise where nothing is known of the orders that no computation reaches."""
    tails = [tail(law, Fraction(1), promise.smoothing) for tail in (forward_tail, reverse_tail)]
    if None in tails:
        raise OutOfReach(
            expected="a law whose growth is proved, for zCDP (its hook `_growth`)",
            got=f"{law!r}, of which nothing is known at orders that no computation reaches",
            remedy="Use TruncatedCDP, or a law such as ArsinhNormal",
        )


def _hopeless(
    law: AbstractLaw, promise: Promise, problem: Problem
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
