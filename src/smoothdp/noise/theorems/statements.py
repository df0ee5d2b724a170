"""Papers 2 and 4, sections on noise: what a dilation and a shift cost, as it should read.

`closed_form` makes shifts of these; `paper` those of the theorems as they are printed.

Each statement bounds the loss of Z against e^t' Z + s' for |t'| <= t and |s'| <= s, in both
directions, by an epsilon: in pure DP, or as epsilon^2/2-zCDP. All but the last two have the
form epsilon = cost(t) + rate * s, by the triangle inequality of the divergence (Lemma 11 for
zCDP; sums of losses for pure DP): first the dilation, then the shift, in units of the smaller
scale.

What differs from print, and why:

* Uniform log-normal (Theorem 22): the exact score replaces e^(3 sigma^2 / 2) sqrt(2 / pi) /
  sigma, so that every sigma > 0 is allowed and not only sigma >= sqrt 2. The proof of Lemma 24
  fails (its display needs 1 - e^-2 and e^(1 + 3 sigma^2 / 2)); the lemma is true.
* Student's T (Theorem 31): a dilation costs max(1, d) |t|, not (d + 1) |t|. The proof leaves
  out the Jacobian: d/dt of t + ln f(e^t x) is in [-d, 1].
* Generalised Cauchy (Claim 16): max(1, c - 1) |t| + (c - 1)^((c - 1) / c) |s|, not
  (c + 1) (|t| + |s|). d/dt of t + ln f(e^t x) is 1 - c x^c / (1 + x^c), in [1 - c, 1].
* PolyPlace (Theorem 8): the proof uses of S only |q(D) - q(D')| <= min(S, S') and
  |ln(S / S')| <= gamma, which a smoother S has as well: so any alpha <= epsilon / t will do,
  with s = epsilon / alpha.
* Gaussian, section 3.5: noise scaled to S has a variance ratio of e^(2t), where the text has
  e^t. With Lemma 33 at 2t and g = 1 - omega (1 - e^(-2t)): rho = s^2 / (2 g) + t^2 / g^2.
"""

from __future__ import annotations

from fractions import Fraction

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.parameters.numbers import LogRatio


def theorem_25_dilation_cost(sigma: Fraction, t: Fraction) -> Ball:
    """Return sqrt(t (t / sigma^2 + 1 / sigma + 2)), of the arsinh-normal law."""
    return special.sqrt(ball(t * (t / sigma**2 + 1 / sigma + 2)))


def theorem_34_cost(delta: Fraction, t: Fraction) -> Ball:
    """Return (e^t - 1) ln(1/delta) - t, of the Laplace law.

    It rises with |t| for delta < e^-2, so it covers every |t'| <= t.
    """
    return ball(t).expm1() * -ball(LogRatio(delta)) - ball(t)


def section_3_5_squared_shift(rho: Fraction, omega: Fraction, t: Fraction) -> Ball:
    """Return s^2 = 2 g (rho - t^2 / g^2), of the Gaussian law; negative if there is no s."""
    g = section_3_5_gap(omega, t)
    return 2 * g * (ball(rho) - (ball(t) / g) ** 2)


def section_3_5_gap(omega: Fraction, t: Fraction) -> Ball:
    """Return g = 1 - omega (1 - e^(-2t))."""
    return 1 + ball(omega) * (-2 * ball(t)).expm1()


def lemma_33_bound(
    order: Fraction, squared_distance: Fraction, log_variance_ratio: Fraction, gamma: Fraction
) -> Ball:
    """Return a (D^2 / (2 gamma) + t^2 / (4 gamma^2)): D_a(N(0, 1) || N(D, e^t)) is at most this.

    For 0 < gamma <= min(1, 1 + a (e^t - 1)). Proof: with W(u) = 1 + a (e^u - 1) the divergence
    is a D^2 / (2 W(t)) + k(t) / (2 (a - 1)), k(u) = a u - ln W(u). k(0) = k'(0) = 0 and
    k'' = a (a - 1) e^u / W^2. Between 0 and t: W >= gamma, and e^u <= 1 (u < 0) or
    e^u <= W and 1 <= W (u > 0), so e^u / W^2 <= 1 / gamma^2 and k <= a (a - 1) t^2 /
    (2 gamma^2). As printed gamma may exceed 1, and then it is false: a = 2, D = 0, t = 1,
    gamma = 1 + 2 (e - 1): .2551 > .0254.
    """
    t, g = ball(log_variance_ratio), ball(gamma)
    return ball(order) * (ball(squared_distance) / (2 * g) + (t / (2 * g)) ** 2)
