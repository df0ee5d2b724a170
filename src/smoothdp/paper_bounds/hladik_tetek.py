"""Paper 4: bounds for PolyPlace, and for older noise (appendix B).

The standard deviations are of the noise for smooth sensitivity S = 1, at the paper's own
calibration, rounded up. The exact calibration is `noise.calibration.pure.pure_shift`.
"""

from __future__ import annotations

from fractions import Fraction

from smoothdp.claims.domains import read_epsilon
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.special import Ball, sqrt
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, Real
from smoothdp.noise.laws.generalized_cauchy import generalized_cauchy_score
from smoothdp.paper_bounds.settings import read_above, read_magnitude, upper_float


def hladik_tetek_theorem_8(epsilon: Parameter, *, smoothing: Parameter) -> float:
    """Return the standard deviation of PolyPlace(1 / t, epsilon / t), rounded up.

    epsilon-DP with noise scaled to S. Verdict: holds; loose by a factor
    2 (e^(t/2) - 1) / t, which the exact calibration saves.

    Raises:
        InvalidParameter: smoothing not in (0, epsilon / 2), where the variance is finite.

    >>> 1.68 < hladik_tetek_theorem_8(1, smoothing="0.1") < 1.69
    True
    """
    amount, t = _read_target(epsilon, smoothing, Fraction(2))
    if not isinstance(amount, Fraction):
        raise InvalidParameter(
            expected="a rational epsilon",
            got=f"epsilon={epsilon}",
            remedy="Give a decimal or a ratio",
        )
    return upper_float(lambda: sqrt(_lemma_13_variance(amount / t)) / ball(t))


def hladik_tetek_lemma_13(alpha: Parameter, *, scale: Parameter = 1) -> float:
    """Return the variance of PolyPlace(scale, alpha), alpha > 2, rounded up.

    Verdict: holds.

    Raises:
        InvalidParameter: alpha not above 2, scale not above 0.

    >>> round(hladik_tetek_lemma_13(3), 12)
    1.082857142857
    """
    a, s = read_above(alpha, 2, name="alpha"), read_above(scale, 0, name="scale")
    return upper_float(lambda: ball(s * s) * _lemma_13_variance(a))


def hladik_tetek_claim_16(power: Parameter, *, epsilon: Parameter, smoothing: Parameter) -> float:
    """Return (c + 1) / ((epsilon - t (c + 1)) sqrt(1 + 2 cos(2 pi / c))), rounded up.

    Generalised Cauchy noise as Nissim, Raskhodnikova and Smith scale it. Verdict: right for that
    scaling, which is loose by a factor 1.5 to 20: the range t < epsilon / (c + 1) is its
    artefact, the true one is t < epsilon / (c - 1), so finite variance reaches epsilon / 2.

    Raises:
        InvalidParameter: power not above 3, or smoothing not in (0, epsilon / (power + 1)).

    >>> hladik_tetek_claim_16(4, epsilon=1, smoothing="0.1") < 10.000001
    True
    """
    c = read_above(power, 3, name="power")
    amount, t = _read_target(epsilon, smoothing, c + 1)
    return upper_float(lambda: _claim_16_deviation(c, amount, t))


def hladik_tetek_claim_16_loss(power: Parameter, *, shift: Parameter, dilation: Parameter) -> float:
    """Return (c + 1) (|t| + |s|), rounded up: generalised Cauchy, c > 1.

    The largest loss of Z against e^t Z + s is at most this, by Nissim, Raskhodnikova and Smith.
    Verdict: holds, loose; see `hladik_tetek_claim_16_loss_improved`.

    Raises:
        InvalidParameter: power not above 1.

    >>> hladik_tetek_claim_16_loss(2, shift=1, dilation="0.5")
    4.5
    """
    c = read_above(power, 1, name="power")
    s, t = read_magnitude(shift, name="shift"), read_magnitude(dilation, name="dilation")
    return upper_float(lambda: ball((c + 1) * (s + t)))


def hladik_tetek_claim_16_loss_improved(
    power: Parameter, *, shift: Parameter, dilation: Parameter
) -> float:
    """Return max(1, c - 1) |t| + (c - 1)^((c - 1) / c) |s|, rounded up: generalised Cauchy, c > 1.

    The sum of the two exact scores, never above `hladik_tetek_claim_16_loss`. Not in the paper.

    Raises:
        InvalidParameter: power not above 1.

    >>> hladik_tetek_claim_16_loss_improved(2, shift=1, dilation="0.5")
    1.5
    """
    c = read_above(power, 1, name="power")
    s, t = read_magnitude(shift, name="shift"), read_magnitude(dilation, name="dilation")
    slope = max(Fraction(1), c - 1)
    return upper_float(lambda: ball(slope * t) + ball(s) * generalized_cauchy_score(c))


def hladik_tetek_claim_17(degrees: Parameter, *, epsilon: Parameter, smoothing: Parameter) -> float:
    """Return sqrt(d / (d - 2)) (d + 1) / (2 sqrt(d) (epsilon - t (d + 1))), rounded up.

    Student's T as Theorem 31 of paper 2 prints it. Verdict: right for that scaling; the range
    t < epsilon / (d + 1) is its artefact, the true one is t < epsilon / d.

    Raises:
        InvalidParameter: degrees not above 2, or smoothing not in (0, epsilon / (degrees + 1)).

    >>> hladik_tetek_claim_17(3, epsilon=1, smoothing="0.1") < 3.333334
    True
    """
    d = read_above(degrees, 2, name="degrees")
    amount, t = _read_target(epsilon, smoothing, d + 1)
    return upper_float(lambda: _claim_17_deviation(d, amount, t))


def hladik_tetek_claim_18(delta: Parameter, *, epsilon: Parameter, smoothing: Parameter) -> float:
    """Return sqrt(2) / (epsilon - t ln(2/delta)), rounded up.

    Laplace noise with a shift of epsilon - t ln(2/delta). Verdict: the printed range
    t < epsilon / ln(1/delta) should have 2/delta, else the deviation is negative. The scaling is
    (epsilon, delta)-DP for epsilon <= 1 and delta < e^-2 (Theorem 34 of paper 2 implies it) and
    **not** in general: delta = 1e-6, t = 1, epsilon = 14.6 loses 7e-5. Theorem 34 is sharper
    where this holds.

    Raises:
        InvalidParameter: delta not in (0, 1), or smoothing not in (0, epsilon / ln(2/delta)).

    >>> round(hladik_tetek_claim_18("1e-5", epsilon=1, smoothing="0.05"), 9)
    3.62901397
    """
    share = read_above(delta, 0, name="delta")
    if share >= 1:
        raise InvalidParameter(expected="delta < 1", got=f"delta={delta}", remedy="Lower delta")
    amount, t = _read_target(epsilon, smoothing, None)
    value = upper_float(lambda: _claim_18_deviation(amount, share, t))
    if not value > 0:
        raise InvalidParameter(
            expected="smoothing < epsilon / ln(2/delta)",
            got=f"smoothing={smoothing}, epsilon={epsilon}",
            remedy="Lower the smoothing or raise epsilon",
        )
    return value


def _read_target(
    epsilon: Parameter, smoothing: Parameter, ratio: Fraction | None
) -> tuple[Real, Fraction]:
    """Return epsilon and 0 < t < epsilon / ratio, exactly."""
    amount, t = read_epsilon(epsilon), read_above(smoothing, 0, name="smoothing")
    if ratio is not None and at_most(amount, ratio * t):
        raise InvalidParameter(
            expected=f"smoothing < epsilon / {ratio}",
            got=f"smoothing={smoothing}, epsilon={epsilon}",
            remedy="Lower the smoothing or raise epsilon",
        )
    return amount, t


# ---- what the paper prints, as balls: standard deviations and a variance ----------------


def _claim_16_deviation(power: Fraction, epsilon: Real, smoothing: Fraction) -> Ball:
    """Return (c + 1) / ((epsilon - (c + 1) t) sqrt(1 + 2 cos(2 pi / c))), c > 3."""
    c = ball(power)
    shift = (ball(epsilon) - (c + 1) * ball(smoothing)) / (c + 1)
    return 1 / (shift * sqrt(1 + 2 * (2 * special.pi() / c).cos()))


def _claim_17_deviation(degrees: Fraction, epsilon: Real, smoothing: Fraction) -> Ball:
    """Return sqrt(d / (d - 2)) (d + 1) / (2 sqrt(d) (epsilon - (d + 1) t)), d > 2."""
    d = ball(degrees)
    shift = 2 * sqrt(d) * (ball(epsilon) - (d + 1) * ball(smoothing)) / (d + 1)
    return sqrt(d / (d - 2)) / shift


def _claim_18_deviation(epsilon: Real, delta: Fraction, smoothing: Fraction) -> Ball:
    """Return sqrt(2) / (epsilon - t ln(2/delta))."""
    cost = ball(smoothing) * -ball(LogRatio(delta / 2))
    return sqrt(special.number(2.0)) / (ball(epsilon) - cost)


def _lemma_13_variance(alpha: Fraction) -> Ball:
    """Return the variance of PolyPlace(1, alpha), alpha > 2.

    2 [(19 a^2 + 5) k + (a - 2)(a - 1)^2] / ((2 k + a - 1)(a^4 - 5 a^2 + 4)), k = (1 - 1/a)^a.
    """
    a = ball(alpha)
    k = (a * ball(LogRatio(1 - 1 / alpha))).exp()
    scale = (2 * k + a - 1) * (a**4 - 5 * a * a + 4)
    return 2 * ((19 * a * a + 5) * k + (a - 2) * (a - 1) ** 2) / scale
