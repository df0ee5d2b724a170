"""Bounds of the score of each law: how fast -ln f can rise with the shift and the scale.

With phi = -ln f, rising in |x|, and the elasticity A(v) = d phi(e^v) / dv, rising in v:

* shift: c = sup phi', so phi(|x| + s) - phi(|x|) <= c s;
* scale: phi(e^t |x|) - phi(|x|) is at most t sup A where A is bounded (power laws). For the
  laws made from a normal Y it is quadratic: see `tails.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from smoothdp.exact.balls.balls import ball, precision, round_up
from smoothdp.exact.balls.special import Ball
from smoothdp.noise.arsinh_normal import ArsinhNormal
from smoothdp.noise.gaussian import Gaussian
from smoothdp.noise.generalized_cauchy import GeneralizedCauchy
from smoothdp.noise.laplace import Laplace
from smoothdp.noise.laplace_log_normal import LaplaceLogNormal
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.log1p_normal import Log1pNormal
from smoothdp.noise.poly_place import PolyPlace
from smoothdp.noise.student_t import StudentT
from smoothdp.noise.theorems import scores
from smoothdp.noise.uniform_log_normal import UniformLogNormal

_BITS = 128


@dataclass(frozen=True, slots=True)
class Growth:
    """What the tail of a law allows.

    Attributes:
        score: a rational not below c = sup phi', None where phi' is unbounded.
        power: sup A - 1 for laws that fall like a power, else None.
        sigma: the shape of a law made from a normal Y, else None.
        folded: whether its dilation moves |Y|, not ln|Z|, by at most t / sigma (`tails.py`).
    """

    score: Fraction | None
    power: Fraction | None = None
    sigma: Fraction | None = None
    folded: bool = False


@lru_cache(maxsize=1024)
def growth(law: NoiseDistribution) -> Growth:
    """Return proved bounds of how fast -ln f of a law rises.

    >>> growth(Laplace()).score
    Fraction(1, 1)
    """
    with precision(_BITS):
        match law:
            case ArsinhNormal():
                # phi' = (y + sigma tanh(sigma y)) / cosh(sigma y), with max z / cosh z
                # < 0.66275 and max tanh z / cosh z = 1/2.
                sigma = law.exact_sigma
                score = Fraction("0.66275") / sigma + sigma / 2
                return Growth(score, sigma=sigma, folded=True)
            case Log1pNormal():
                # phi' = (y + sigma) e^(-sigma y), largest at y = max(0, 1/sigma - sigma).
                sigma = law.exact_sigma
                if sigma >= 1:
                    return Growth(sigma, sigma=sigma, folded=True)
                top = (ball(sigma) ** 2 - 1).exp() / ball(sigma)
                return Growth(_above(top), sigma=sigma, folded=True)
            case UniformLogNormal():
                sigma = law.exact_sigma
                return Growth(_above(scores.uniform_log_normal_score(sigma)), sigma=sigma)
            case LaplaceLogNormal():
                sigma = law.exact_sigma
                return Growth(_above(scores.laplace_log_normal_score(sigma)), sigma=sigma)
            case StudentT():
                d = law.exact_degrees
                return Growth(_above(scores.student_t_score(d)), power=d)
            case GeneralizedCauchy():
                c = law.exact_power
                return Growth(_above(scores.generalized_cauchy_score(c)), power=c - 1)
            case PolyPlace():
                # phi' = (a - 1) / (1 - x) up to x = 1/a, (a + 1) / (1 + x) from there: both
                # are a at 1/a.
                return Growth(law.exact_alpha, power=law.exact_alpha)
            case Laplace():
                return Growth(Fraction(1))
            case Gaussian():
                return Growth(None)
            case _:
                raise TypeError(f"no bound of the score of {law!r} is known")


def _above(value: Ball) -> Fraction:
    """Return a rational not below a ball."""
    return Fraction(round_up(value))


def largest_order_of_dilation(law: NoiseDistribution, smoothing: Fraction) -> float:
    """Return the order from which on a dilation alone has infinite divergence; inf if none.

    Gaussian: 1 / (1 - e^(-2t)), Laplace: 1 / (1 - e^-t), rounded down.
    """
    if smoothing == 0 or not isinstance(law, Gaussian | Laplace):
        return math.inf
    factor = 2 if isinstance(law, Gaussian) else 1
    with precision(_BITS):
        return -round_up(1 / (-factor * ball(smoothing)).expm1())
