"""noise/calibration/: certificates and covers."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_ORDERS = ("tests/rounding/test_calibration.py",)
_CERTIFICATE = (*_ORDERS, "tests/theorems/test_certificate_convexity.py")
_TAILS = _ORDERS
_SCORE = _ORDERS
_COVER = _ORDERS
_CONVEXITY = _CERTIFICATE
_ENVELOPE = (
    "tests/rounding/test_divergences.py",
    "tests/oracles/test_approximate_calibration.py::"
    "test_envelope_is_the_integral_of_the_larger_loss",
)

MUTANTS = (
    Mutant(
        "noise/calibration/concentrated/certificate.py",
        "stretched = shift * Fraction(exp_bounds(high - low).upper)",
        "stretched = shift",
        "Theorem A with the shift of the upper end of a piece",
        _CERTIFICATE,
    ),
    Mutant(
        "noise/calibration/concentrated/certificate.py",
        "            if not left:\n                break",
        "            break",
        "pieces of the cover that nothing proves",
        _CERTIFICATE,
    ),
    Mutant(
        "noise/calibration/concentrated/certificate.py",
        "points += [(t, True, reverse), (t, False, forward)]",
        "points += [(t, False, forward)]",
        "the reverse divergence at the end is not checked",
        _CERTIFICATE,
    ),
    Mutant(
        "noise/calibration/concentrated/certificate.py",
        "points += [(t, True, reverse), (t, False, forward)]",
        "points += [(t, True, reverse)]",
        "the forward divergence at the end is not checked",
        _CERTIFICATE,
    ),
    Mutant(
        "noise/calibration/concentrated/certificate.py",
        "points = [(Fraction(0), False, forward)]",
        "points = []",
        "the divergence without a dilation is not checked",
        _CERTIFICATE,
    ),
    Mutant(
        "noise/calibration/concentrated/orders.py",
        "for b in (low, lowest, high))",
        "for b in (low, high))",
        "a chord below the promise at its ends alone",
        _ORDERS,
    ),
    Mutant(
        "noise/calibration/concentrated/orders.py",
        "np.where(weights >= 0, np.expm1(y_high), np.expm1(y_low))",
        "np.where(weights >= 0, np.expm1(y_low), np.expm1(y_high))",
        "an interpolation from the wrong side of each point",
        _ORDERS,
    ),
    Mutant(
        "noise/calibration/concentrated/orders.py",
        "for before in range(0, n, 2):",
        "for before in range(1, n, 2):",
        "gaps of a window in which the polynomial lies below",
        _ORDERS,
    ),
    Mutant(
        "noise/calibration/concentrated/orders.py",
        "np.sum(np.abs(weights) * blur, axis=1)",
        "0.0 * np.sum(np.abs(weights) * blur, axis=1)",
        "an interpolation without the rounding of its points",
        _ORDERS,
    ),
    Mutant(
        "noise/calibration/concentrated/promise.py",
        "return self.constant + self.spread / b <= gap * (1 + b)",
        "return self.constant <= gap * (1 + b)",
        "a tail of orders without its spread",
        _TAILS,
    ),
    Mutant(
        "noise/calibration/concentrated/promise.py",
        "OrderTail(Fraction(0), dilation + score * shift, Fraction(0))",
        "OrderTail(Fraction(0), score * shift, Fraction(0))",
        "forward: a tail of orders without the dilation",
        _TAILS,
    ),
    Mutant(
        "noise/calibration/concentrated/promise.py",
        "constant + bounds.power * dilation",
        "constant",
        "reverse: a tail of orders without the dilation of a power law",
        _TAILS,
    ),
    Mutant(
        "noise/calibration/concentrated/promise.py",
        "OrderTail(square / 2, constant,",
        "OrderTail(square / 4, constant,",
        "reverse: half the slope of a dilated normal",
        _TAILS,
    ),
    Mutant(
        "noise/calibration/concentrated/promise.py",
        "_LOG_TWO if bounds.folded else Fraction(0)",
        "Fraction(0)",
        "reverse: a folded normal without its ln 2",
        _TAILS,
    ),
    Mutant(
        "noise/abstract_law.py",
        "return Fraction(round_up(value))",
        "return Fraction(-round_up(-value))",
        "the score of a law rounded down",
        _SCORE,
    ),
    Mutant(
        "noise/laws/arsinh_normal.py",
        'score = Fraction("0.66275") / sigma + sigma / 2',
        'score = Fraction("0.66275") / sigma',
        "half of the score of arsinh-normal noise",
        _SCORE,
    ),
    Mutant(
        "noise/laws/generalized_cauchy.py",
        "power=c - 1)",
        "power=c - 2)",
        "too light a tail of generalised Cauchy noise",
        _SCORE,
    ),
    Mutant(
        "noise/laws/poly_place.py",
        "return Growth(self.exact_alpha, power=self.exact_alpha)",
        "return Growth(self.exact_alpha - 1, power=self.exact_alpha)",
        "the score of PolyPlace noise at its centre for its largest",
        _SCORE,
    ),
    Mutant(
        "noise/abstract_law.py",
        "return -round_up(1 / (-self.exponent * ball(smoothing)).expm1())",
        "return -round_up(1 / (-ball(smoothing) / self.exponent).expm1())",
        "orders up to which a dilation has no finite divergence",
        _SCORE,
    ),
    Mutant(
        "noise/shift_claim.py",
        "Fraction(math.floor(Fraction(value) * scale)) / scale",
        "Fraction(math.ceil(Fraction(value) * scale)) / scale",
        "a shift rounded up",
        _COVER,
    ),
    Mutant(
        "noise/calibration/approximate/delta_cover.py",
        "return bounds.upper <= target",
        "return bounds.lower <= target",
        "a piece that the lower bound of its envelope keeps",
        _COVER,
    ),
    Mutant(
        "noise/calibration/approximate/delta_cover.py",
        "for reverse in (True, False):",
        "for reverse in (False,):",
        "a cover of the forward direction alone",
        _COVER,
    ),
    Mutant(
        "noise/calibration/approximate/delta_cover.py",
        "sure = sure and bounds.upper <= target.lower",
        "sure = sure and bounds.lower <= target.lower",
        "a shift kept by lower bounds at the ends",
        _COVER,
    ),
    Mutant(
        "noise/calibration/approximate/delta_cover.py",
        "if upper == 0.0 or covered(law, shift, smoothing, epsilon, upper) is not None:",
        "if upper <= 0.0:",
        "delta of all dilations from that of the ends",
        _COVER,
    ),
    Mutant(
        "noise/calibration/approximate/envelope.py",
        "s, low, high = s * (-ball(low)).exp(), -high, -low",
        "s, low, high = s * (-ball(high)).exp(), -high, -low",
        "reverse: the least shift of a piece for its largest",
        _ENVELOPE,
    ),
    Mutant(
        "noise/calibration/approximate/envelope.py",
        "upper = special.maximum(first.upper, second.upper)",
        "upper = special.minimum(first.upper, second.upper)",
        "the smaller loss of two dilations",
        _ENVELOPE,
    ),
    Mutant(
        "noise/calibration/approximate/envelope.py",
        "return (p, q) if self.offset.shift > 0 else (2 * p, 2 * q)",
        "return p, q",
        "half of the line left out where nothing is shifted",
        (
            "tests/theorems/test_dilated_divergences_proof.py::"
            "test_a_narrow_envelope_is_the_hockey_stick",
        ),
    ),
    Mutant(
        "noise/calibration/approximate/envelope.py",
        "low, high = special.lower(sure), special.upper(sure + doubt)",
        "low, high = special.lower(sure), special.upper(sure)",
        "cells in doubt left out of the envelope",
        _ENVELOPE,
    ),
    Mutant(
        "noise/calibration/approximate/envelope.py",
        "q += self._between(near, low, self.second)",
        "q += self._between(near, low, self.offset)",
        "the larger of two densities taken off",
        _ENVELOPE,
    ),
    Mutant(
        "noise/calibration/approximate/smooth_profile.py",
        "return low, high + step",
        "return low, high",
        "an epsilon that only the ends of all dilations keep",
        _COVER,
    ),
    Mutant(
        "noise/laws/student_t.py",
        "if shift**2 <= self.exact_degrees else None",
        "if shift**2 <= 4 * self.exact_degrees else None",
        "Theorem B for twice the shifts that it is proved for",
        _CONVEXITY,
    ),
    Mutant(
        "noise/laws/arsinh_normal.py",
        "if product <= 1:",
        "if product <= 2:",
        "Theorem B for arsinh-normal noise beyond its domain",
        _CONVEXITY,
    ),
)
