"""The largest shift that keeps (epsilon, delta)-DP (proofs/zcdp-certificates#10)."""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.errors import InvalidParameter, OutOfReach, SmoothdpError
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.balls.work import WorkLimitReached, limited
from smoothdp.exact.parameters.numbers import float_of
from smoothdp.noise.abstract_law import AbstractLaw
from smoothdp.noise.calibration.approximate.delta_cover import covered, ends_keep
from smoothdp.noise.calibration.limits import MOST_WORK, too_much_work
from smoothdp.noise.calibration.pure import pure_shift
from smoothdp.noise.shift_claim import ShiftClaim, below
from smoothdp.sources import Source

_SOURCE = Source("hladik-tetek", "section 5, calibrated exactly")
_STEP = 1e-4
_MOST_STEPS = 12
_PRECISION = 1e-5


def approximate_shift(law: AbstractLaw, guarantee: ApproxDP, smoothing: Fraction) -> ShiftClaim:
    """Return a certified shift, and one at which (epsilon, delta) is refuted.

    Raises:
        InvalidParameter: no scale of the law meets the guarantee.
        OutOfReach: none was certified.
    """
    _refuse(guarantee)
    claim = None if smoothing else law._undilated_claim(guarantee)
    if claim is not None:
        return claim
    if law.growth().power is not None:
        try:
            # A power law has a claim of pure DP as well, which costs next to nothing.
            with limited(MOST_WORK // 2, lambda: too_much_work(law, guarantee, smoothing)):
                return _by_hockey_stick(law, guarantee, smoothing)
        except WorkLimitReached:
            return pure_shift(law, guarantee.exact_epsilon, smoothing)
    return _by_hockey_stick(law, guarantee, smoothing)


def _by_hockey_stick(law: AbstractLaw, guarantee: ApproxDP, smoothing: Fraction) -> ShiftClaim:
    search = _Search(law, guarantee, smoothing)
    start = search.largest_shift()
    for k in range(_MOST_STEPS):
        shift = below(start * (1 - min(0.9, _STEP * 2**k)))
        intervals = covered(law, shift, smoothing, guarantee.exact_epsilon, search.target.lower)
        if intervals is not None:
            reason = f"hockey stick, a cover of {intervals} pieces"
            claim = ShiftClaim(shift, search.refuted, "certified", _SOURCE, reason)
            return _larger(claim, law, guarantee, smoothing)
    raise OutOfReach(
        expected=f"a certificate near shift={start:.6g}",
        got=f"none for {law!r}",
        remedy="Use another law, a larger delta, or method='closed_form'",
    )


def _refuse(guarantee: ApproxDP) -> None:
    if guarantee.exact_delta == 1:
        raise InvalidParameter(
            expected="delta < 1", got="delta=1, which promises nothing", remedy="Lower delta"
        )


def _larger(
    claim: ShiftClaim, law: AbstractLaw, guarantee: ApproxDP, smoothing: Fraction
) -> ShiftClaim:
    """Return the claim of pure DP with the same epsilon, if its shift is larger."""
    if law.growth().power is None or smoothing == 0:
        return claim
    try:
        pure = pure_shift(law, guarantee.exact_epsilon, smoothing)
    except SmoothdpError:
        return claim
    if pure.exact_shift <= claim.exact_shift:
        return claim
    return ShiftClaim(pure.exact_shift, claim.upper, pure.label, pure.source, pure.reason)


def approximate_estimate(law: AbstractLaw, guarantee: ApproxDP, smoothing: Fraction) -> float:
    """Return the largest shift that the ends of [0, t] allow, which proves nothing.

    Raises:
        InvalidParameter: no scale of the law meets the guarantee.
    """
    _refuse(guarantee)
    claim = None if smoothing else law._undilated_claim(guarantee)
    if claim is not None:
        return float(claim.exact_shift)
    return _Search(law, guarantee, smoothing).largest_shift()


class _Search:
    """The shift at which the hockey stick at the ends of [0, t] is delta."""

    def __init__(self, law: AbstractLaw, guarantee: ApproxDP, smoothing: Fraction) -> None:
        self.law, self.guarantee, self.smoothing = law, guarantee, smoothing
        self.target = log_bounds(guarantee.exact_delta)
        self.refuted: Fraction | None = None

    def _keeps(self, value: float) -> bool:
        """Whether the ends keep the guarantee; remember the least shift that is refuted."""
        shift, epsilon = below(value), self.guarantee.exact_epsilon
        kept = ends_keep(self.law, shift, self.smoothing, epsilon, self.target)
        if kept is False and (self.refuted is None or shift < self.refuted):
            self.refuted = shift
        return kept is True

    def largest_shift(self) -> float:
        """Return about the largest shift that the ends allow."""
        start = max(1e-6, min(1.0, 0.5 * float_of(self.guarantee.exact_epsilon)))
        low = high = start
        while self._keeps(high):
            low, high = high, high * 2
            if high > 1e12:
                raise OutOfReach(
                    expected="a shift up to 1e12",
                    got=f"{self.guarantee!r}",
                    remedy="Lower epsilon or delta",
                )
        while low == high or not self._keeps(low):
            high, low = low, low / 2
            if low < 1e-9 * start:
                raise self._hopeless()
        while high > low * (1 + _PRECISION):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if self._keeps(middle) else (low, middle)
        return low

    def _hopeless(self) -> InvalidParameter | OutOfReach:
        zero, t = Fraction(0), self.smoothing
        kept = ends_keep(self.law, zero, t, self.guarantee.exact_epsilon, self.target)
        expected = f"a scale of {self.law!r} that keeps {self.guarantee!r}"
        if kept is False:
            got = f"smoothing={shown(t)}, at which the dilation alone breaks it"
            return InvalidParameter(
                expected=expected, got=got, remedy="Lower smoothing, or raise epsilon"
            )
        got = f"smoothing={shown(t)}, near its limit"
        return OutOfReach(
            expected=expected, got=got, remedy="Lower smoothing, or raise epsilon or delta"
        )
