"""What a noise law says of itself in ball arithmetic: certified figures are made of nothing else.

With v = ln|x| and A = -d ln f(e^v) / dv, divergences rest on three facts: the balls contain the
law, A is the slope, and A does not fall. Then ln of e^v f(e^v) is concave, and its integral lies
between chords and tangents: that is how the mass is certified here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball, precision, round_down, round_up
from smoothdp.exact.balls.special import Ball
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.laws.floats import normal_tail_quantile
from smoothdp.testing.law_floats import require

_BITS = 96
_SLACK = 2.0**-60
_POINTS = (1e-9, 1e-4, 0.03, 0.3, 0.7, 1.0, 1.7, 4.0, 15.0, 200.0, 1e4)
_FIRST, _STEP, _MOST = -14.0, 2.0**-4, 6000
_TAIL = 1e-9


def floats_are_near_the_balls(law: NoiseDistribution) -> None:
    """Density and tail in floats are within a relative 1e-12 of the balls."""
    for x in _POINTS:
        stated = {
            "density": (
                law.log_density(x),
                special.nearest(lambda x=x: law._ball_log_density(special.number(x).log())),  # type: ignore[misc]
            ),
            "tail": (
                law.log_survival(x),
                special.nearest(lambda x=x: law._ball_survival(special.number(x)).log()),  # type: ignore[misc]
            ),
        }
        for name, (value, truth) in stated.items():
            require(
                abs(value - truth) <= 1e-12 + 1e-13 * abs(truth),
                f"ln of the {name} of {law!r} at {x} near {truth!r}, as in balls",
                repr(value),
                f"Write the {name} in floats and in balls from one formula",
            )
    peak = special.nearest(law._ball_log_peak)
    near = law.log_density(0.0)
    require(abs(near - peak) <= 1e-12, f"ln f(0) = {peak!r}", repr(near), "See _ball_log_peak")


def elasticity_is_the_slope(law: NoiseDistribution) -> None:
    """A mean slope lies between the elasticities of its ends, which rise up to their limit."""
    with precision(_BITS):
        slack, before = special.number(_SLACK), special.number(0.0)
        for k in range(-40, 40):
            v = special.number(k / 8 + 1 / 64)
            after = v + special.number(2.0**-12)
            value, later = law._ball_elasticity(v), law._ball_elasticity(after)
            mean = (law._ball_log_density(v) - law._ball_log_density(after)) * 2**12
            point = f"v = {k / 8 + 1 / 64} of {law!r}"
            require(
                value >= before,
                f"an elasticity that does not fall at {point}",
                value,
                "Only laws with -d ln f / d ln|x| nondecreasing can be certified: choose another",
            )
            require(
                value <= mean * (1 + slack) + slack and later >= mean * (1 - slack) - slack,
                f"an elasticity near {mean}, the slope of _ball_log_density, at {point}",
                value,
                "See _ball_elasticity",
            )
            before = value
        _has_a_limit_or_a_slope(law)


def _has_a_limit_or_a_slope(law: NoiseDistribution) -> None:
    limit, far = law._elasticity_limit(), special.number(200.0)
    if limit is not None:
        reached = law._ball_elasticity(far)
        require(
            law._ball_elasticity(special.number(8.0)) <= limit and reached > 0.999999 * limit,
            f"elasticities that rise to {limit}, the limit of {law!r}",
            reached,
            "See _elasticity_limit: the power of the tail, density ~ |x|^-limit",
        )
        return
    if _is_closed(law):
        return
    for k in range(-3, 12):
        v = special.number(float(k))
        rise = law._ball_elasticity(v + 1) - law._ball_elasticity(v)
        bound = law._elasticity_slope(v)
        require(
            rise <= bound,
            f"an elasticity of {law!r} that rises by at most {bound} from v = {k}",
            rise,
            "Write _elasticity_slope, or the three closed forms of its divergences",
        )


def _is_closed(law: NoiseDistribution) -> bool:
    """Return whether every divergence has a closed form, as of laws with lighter tails."""
    one, half = special.number(1.0), special.number(0.5)
    return (
        law._renyi_closed(special.number(2.0), half, special.number(0.0)) is not None
        and law._supremum_closed(half, special.number(0.0)) is not None
        and law._delta_closed(one, half, special.number(0.0)) is not None
    )


def wide_balls_contain_narrow_ones(law: NoiseDistribution) -> None:
    """The elasticity over an interval, real or complex, contains those of its points."""
    with precision(_BITS):
        for k in range(-24, 25):
            low, high = k / 4, k / 4 + 0.25
            wide = law._ball_elasticity(special.interval(*map(special.number, (low, high))))
            if not wide.is_finite():
                continue
            for share in (0.0, 0.3, 0.5, 1.0):
                point = law._ball_elasticity(special.number(low + share * (high - low)))
                require(
                    wide.overlaps(point),
                    f"the elasticity of {law!r} over [{low}, {high}] around {point}",
                    wide,
                    "Compute with the balls that are given, never with their midpoints",
                )
            centre = special.number((low + high) / 2)
            around = law._ball_branch(centre)(special.rectangle(centre, 0.01, 0.01))
            point = law._ball_elasticity(centre)
            _is_continued(law, float(centre), around)
            require(
                not around.is_finite() or special.real(around).overlaps(point),
                f"a continuation of the elasticity of {law!r} around {point}",
                around,
                "Use functions that take complex balls: special.log and special.sqrt",
            )


def _is_continued(law: NoiseDistribution, v: float, around: Ball) -> None:
    """Away from kinks the elasticity is finite on small complex balls: integrals need them."""
    near_kink = any(abs(v - math.log(kink)) < 0.25 for kink in law._kinks())
    require(
        around.is_finite() or near_kink or _is_closed(law),
        f"a finite _ball_elasticity of {law!r} on the complex ball of radius .01 around v = {v:g}",
        around,
        "Write it so that wide balls stay finite: with exponentials of -v where v > 0, not of v",
    )


def growth_is_true(law: NoiseDistribution) -> None:
    """What `_growth` says of score and tail holds at the points that are looked at."""
    growth = law.growth()
    rates = [growth.power, growth.sigma, growth.exponent]
    require(rates.count(None) >= 2, "at most one of power, sigma and exponent", rates, "Choose one")
    with precision(_BITS):
        points = [special.number(k / 8 + 1 / 64) for k in range(-80, 81)]
        elasticities = [law._ball_elasticity(v) for v in points]
        limit = law._elasticity_limit()
        for v, value in zip(points, elasticities, strict=True):
            score = value * (-v).exp()
            require(
                growth.score is None or score <= ball(growth.score) * (1 + special.number(_SLACK)),
                f"a score of {law!r} of at most {growth.score} at |x| = e^{float(v):.4g}",
                score,
                "See _growth: the score bounds the slope of -ln f",
            )
        if growth.power is not None:
            require(
                limit is not None and limit.overlaps(ball(growth.power) + 1),
                f"an elasticity of {law!r} that rises to power + 1 = {growth.power + 1}",
                limit,
                "See _growth and _elasticity_limit",
            )
        if growth.sigma is not None and not growth.folded:
            for low, high in pairwise(elasticities):
                slope = (high - low) * 8 * ball(growth.sigma) ** 2
                require(
                    slope <= 1 + special.number(1e-9), "dA/dv <= sigma^-2", slope, "See _growth"
                )
        if growth.exponent is not None:
            ratio = (law._ball_elasticity(special.number(9.0)) / elasticities[-1]).log()
            rise = float(ratio) / (9.0 - float(points[-1]))
            wanted = growth.exponent
            require(abs(rise - wanted) < 0.01, f"a tail exp(-c |x|^{wanted})", rise, "See _growth")
    if growth.sigma is not None and growth.folded:
        x = np.exp(np.linspace(-8, 12, 81))
        moved = np.diff(normal_tail_quantile(law.log_survival(x))) * float(growth.sigma)
        most = math.log(x[1] / x[0])
        require(
            np.all(moved <= most * (1 + 1e-9)), f"Y moved by at most {most}", moved, "See _growth"
        )


@dataclass(frozen=True, slots=True)
class _Cells:
    """The mass of (e^v, e^(v + h)) between chords and tangents, for v = _FIRST, _FIRST + h, ..."""

    lower: list[float]
    upper: list[float]
    tail: float


def mass_is_one(law: NoiseDistribution) -> None:
    """The certified integral of the density is 1/2 on each side, and its parts are the tails'."""
    cells = _cells(law)
    with precision(_BITS):
        start = special.number(_FIRST)
        first = start.exp()
        near = (
            round_down((start + law._ball_log_density(start)).exp()),
            round_up((start + law._ball_log_peak()).exp()),
        )
    # Sums of a few thousand floats, each rounded to its side.
    slack = 1e-12
    lower = np.cumsum([0.0, *reversed(cells.lower)])[::-1] * (1 - slack)
    upper = np.cumsum([cells.tail, *reversed(cells.upper)])[::-1] * (1 + slack)
    whole = (near[0] + lower[0], near[1] + upper[0])
    require(
        whole[0] <= 0.5 <= whole[1] and whole[1] - whole[0] < 0.01,
        f"a density of {law!r} whose integral over x > 0 is 1/2",
        f"from {whole[0]} to {whole[1]}",
        "See the constant of _ball_log_density",
    )
    with precision(_BITS):
        for index in range(0, len(lower), 16):
            x = first * (special.number(index * _STEP)).exp()
            tail = law._ball_survival(x)
            require(
                round_up(tail) >= lower[index] and round_down(tail) <= upper[index],
                f"P(Z > {float(x):.6g}) of {law!r} from {lower[index]} to {upper[index]}",
                tail,
                "See _ball_survival",
            )


def _cells(law: NoiseDistribution) -> _Cells:
    lowers, uppers = [], []
    with precision(_BITS):
        h = special.number(_STEP)
        v = special.number(_FIRST)
        here = v + law._ball_log_density(v)
        for _ in range(_MOST):
            after = v + h
            there = after + law._ball_log_density(after)
            middle = v + h / 2
            slope = 1 - law._ball_elasticity(middle)
            lowers.append(round_down(here.exp() * h * _mean_exp(there - here)))
            top = middle + law._ball_log_density(middle)
            uppers.append(round_up((top - slope * h / 2).exp() * h * _mean_exp(slope * h)))
            v, here = after, there
            # Beyond, the density falls at least like the power that it has here.
            power = law._ball_elasticity(v) - 1
            if power > 0:
                tail = round_up(here.exp() / power)
                if tail < _TAIL:
                    return _Cells(lowers, uppers, tail)
    require(False, f"a tail of {law!r} below {_TAIL}", f"v = {float(v)}", "See _ball_elasticity")
    raise AssertionError


def _mean_exp(x: Ball) -> Ball:
    """Return the mean of e^u over u between 0 and x."""
    if x > 0 or x < 0:
        return x.expm1() / x
    ends = (special.lower(x).exp(), special.upper(x).exp(), special.number(1.0))
    return special.interval(special.interval(ends[0], ends[1]), ends[2])
