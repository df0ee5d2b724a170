"""The exact shift of a law in pure DP: dispatch, ranges and refusals."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.claims.domains import read_epsilon
from smoothdp.errors import OutOfReach
from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.rationals import positive_ends
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.parameters.numbers import Parameter, Real
from smoothdp.noise.arsinh_normal import ArsinhNormal
from smoothdp.noise.gaussian import Gaussian
from smoothdp.noise.generalized_cauchy import GeneralizedCauchy
from smoothdp.noise.laplace import Laplace
from smoothdp.noise.laplace_log_normal import LaplaceLogNormal
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.log1p_normal import Log1pNormal
from smoothdp.noise.poly_place import PolyPlace
from smoothdp.noise.shift_claim import ShiftClaim
from smoothdp.noise.student_t import StudentT
from smoothdp.noise.theorems.endpoints import largest_shift
from smoothdp.noise.theorems.pure_generalized_cauchy import generalized_cauchy_supremum
from smoothdp.noise.theorems.pure_poly_place import poly_place_closed_shift, poly_place_supremum
from smoothdp.noise.theorems.pure_student_t import student_t_shift
from smoothdp.noise.theorems.refusals import no_exact_shift, no_room, unbounded_loss
from smoothdp.noise.theorems.scores import generalized_cauchy_score
from smoothdp.noise.theorems.statement import read_smoothing
from smoothdp.noise.uniform_log_normal import UniformLogNormal
from smoothdp.sources import Source

_BITS = 256
_LARGEST_EPSILON = Fraction(300)
_SMALLEST_EPSILON = Fraction(1, 10**250)
_REMEDY = "Lower the smoothing, or raise epsilon (no law has finite variance from epsilon / 2 on)"
_POLY_PLACE = Source("hladik-tetek", "Theorem 8, calibrated exactly")
_CAUCHY = Source("hladik-tetek", "Claim 16, calibrated exactly")
_STUDENT_T = Source("bun-steinke-averages", "Theorem 31, calibrated exactly")


def pure_shift(law: NoiseDistribution, epsilon: Parameter, smoothing: Fraction) -> ShiftClaim:
    """Return the largest shift at which a law is epsilon-DP under smooth sensitivity: exact.

    Proved for Student's T and PolyPlace (closed forms) and the generalised Cauchy law (its one
    critical point); the worst dilation is an end of [0, t], which `endpoints` proves. The
    certified and the refuted shift differ by a relative 1e-14 at most.

    Args:
        law: the noise; epsilon: > 0, may be "ln(3)"; smoothing: t >= 0.

    Raises:
        InvalidParameter: the law has no pure DP (tails below every power), or no room: it
            needs max(1, degrees) t < epsilon, max(1, power - 1) t < epsilon, alpha t <= epsilon.
        OutOfReach: epsilon beyond 300 (or below 1e-250 for the generalised Cauchy law).

    >>> claim = pure_shift(StudentT(3), 1, Fraction(1, 10))
    >>> round(float(claim.exact_shift), 12)
    0.805987002549
    """
    t = read_smoothing(smoothing)
    amount = read_epsilon(epsilon)
    if isinstance(law, Gaussian):
        raise unbounded_loss(law, "normal")
    if isinstance(law, Laplace):
        return _laplace(law, amount, t)
    if isinstance(law, LaplaceLogNormal | UniformLogNormal | ArsinhNormal | Log1pNormal):
        raise unbounded_loss(law, "log-normal") if t else no_exact_shift(law)
    if not at_most(amount, _LARGEST_EPSILON):
        raise _out_of_reach("epsilon <= 300", amount)
    if isinstance(law, StudentT):
        return _student_t(law, amount, t)
    if isinstance(law, GeneralizedCauchy):
        return _generalized_cauchy(law, amount, t)
    if isinstance(law, PolyPlace):
        return _poly_place(law, amount, t)
    raise no_exact_shift(law)


def _laplace(law: Laplace, epsilon: Real, t: Fraction) -> ShiftClaim:
    """Return epsilon itself where nothing is dilated: |x + s| - |x| <= s."""
    if t:
        raise unbounded_loss(law, "exponential")
    ends = positive_ends(lambda: ball(epsilon))
    if ends is None:
        raise no_room("epsilon > 0", law, t, "Raise epsilon")
    exact = (epsilon, epsilon) if isinstance(epsilon, Fraction) else ends
    return ShiftClaim(*exact, "proved", Source("dwork-roth", "Theorem 3.6"), "closed form")


def _student_t(law: StudentT, epsilon: Real, t: Fraction) -> ShiftClaim:
    d = law.exact_degrees
    ends = positive_ends(lambda: student_t_shift(d, epsilon, t))
    if ends is None:
        raise no_room("max(1, degrees) * smoothing < epsilon", law, t, _REMEDY)
    return ShiftClaim(*ends, "proved", _STUDENT_T, "closed form (sinh)")


def _generalized_cauchy(law: GeneralizedCauchy, epsilon: Real, t: Fraction) -> ShiftClaim:
    c = law.exact_power
    slope = max(Fraction(1), c - 1)
    # The scores of the shift and of the dilation add up: a shift that is surely good.
    start = positive_ends(lambda: (ball(epsilon) - ball(slope * t)) / generalized_cauchy_score(c))
    if start is None:
        raise no_room("max(1, power - 1) * smoothing < epsilon", law, t, _REMEDY)
    if at_most(epsilon, _SMALLEST_EPSILON) or start[0] < _SMALLEST_EPSILON:
        raise _out_of_reach("epsilon - max(1, power - 1) * smoothing >= 1e-250", epsilon)
    # What is left of 1 - (1 - loss), four times over.
    bits = _BITS + 4 * max(0, start[0].denominator.bit_length() - start[0].numerator.bit_length())
    with precision(bits):
        supremum = generalized_cauchy_supremum(c, bits=bits)
    ends = largest_shift(supremum, epsilon, t, start=start[0], bits=bits)
    return ShiftClaim(*ends, "proved", _CAUCHY, "the one critical point")


def _poly_place(law: PolyPlace, epsilon: Real, t: Fraction) -> ShiftClaim:
    alpha = law.exact_alpha
    ends = positive_ends(lambda: poly_place_closed_shift(alpha, epsilon))
    if ends is None or not at_most(alpha * t, epsilon):
        raise no_room("alpha * smoothing <= epsilon", law, t, _REMEDY)
    if (alpha - 1) * ends[1] <= 2:
        return ShiftClaim(*ends, "proved", _POLY_PLACE, "closed form")
    with precision(_BITS):
        supremum = poly_place_supremum(alpha)
    ends = largest_shift(supremum, epsilon, t, start=ends[0], bits=_BITS)
    return ShiftClaim(*ends, "proved", _POLY_PLACE, "critical points")


def _out_of_reach(expected: str, epsilon: Real) -> OutOfReach:
    return OutOfReach(
        expected=expected, got=f"epsilon={shown(epsilon)}", remedy="Give a less extreme epsilon"
    )
