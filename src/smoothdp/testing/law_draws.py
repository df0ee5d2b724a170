"""Is a noise law drawn exactly? Lazy draws against its distribution function, and against balls.

False-alarm rate: LEVEL for each test, by exact binomial laws and Massart's inequality. Each test
is also asked to reject two declared wrong laws, 25% wider and moved by a fifth of the quartile: a
test that accepts these says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import precision
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.exact.random.lazy import RoundedDraws, Undrawn
from smoothdp.noise.law import NoiseDistribution
from smoothdp.testing.goodness_of_fit import frequency_test
from smoothdp.testing.law_floats import require
from smoothdp.types import FloatArray

LEVEL = 1e-8
STEP = Fraction(1, 2**60)
"""The grid of the draws: finer than any float of size 1."""
_SEED, _DRAWS, _CELLS, _LOW_DIGITS = 20261129, 20_000, 60, 64
_FAR = 1 << 1100
_TAILS, _MOST_BOXES = (0.25, 0.02), 12_000

Cdf = Callable[[FloatArray], object]


def draws_follow_the_law(law: NoiseDistribution) -> None:
    """Frequencies in cells, the largest distance of distribution functions, and the last bits."""
    indices = drawn_steps(law)
    values = np.array([float(index * STEP) for index in indices])
    moved = law.quantile(0.75) / 5
    for test in (cells_test, distance_test):
        p_value = test(values, law, law.cdf)
        require(
            p_value > LEVEL,
            f"draws of {law!r} that follow its cdf (p-value above {LEVEL})",
            f"{p_value:.3g} by {test.__name__}",
            "See the function that `lazy` names: its draws have another law",
        )
        for wrong in (lambda x: law.cdf(x / 1.25), lambda x: law.cdf(x - moved)):
            missed = test(values, law, wrong)
            require(missed < LEVEL, "a wrong law that is rejected", missed, "See quantile and cdf")
    require(
        low_digits_test(indices) > LEVEL,
        f"last binary digits of {law!r} that are uniform",
        "others",
        "Compute the draw with the balls that are given, without floats",
    )


def drawn_steps(
    law: NoiseDistribution, *, centre: int = 0, factor: Fraction = Fraction(1)
) -> list[int]:
    """Return seeded draws of centre + factor Z in units of STEP, less the centre."""
    draws = RoundedDraws(
        law.lazy(),
        centre=centre / STEP,
        factor=factor / STEP,
        decay=Fraction(0),
        lowest=-_FAR,
        highest=_FAR,
    )
    rng = SeededRandom(_SEED)
    return [draws.draw(rng) - int(centre / STEP) for _ in range(_DRAWS)]


def cells_test(values: FloatArray, law: NoiseDistribution, cdf: Cdf) -> float:
    """Return the p-value of the counts in 60 cells that are equally likely under the law."""
    edges = np.asarray(law.quantile(np.linspace(0, 1, _CELLS + 1)[1:-1]))
    stated = np.diff(np.asarray(cdf(edges)), prepend=0.0, append=1.0)
    counts = np.bincount(np.searchsorted(edges, values), minlength=_CELLS)
    return frequency_test(counts, stated)


def distance_test(values: FloatArray, law: NoiseDistribution, cdf: Cdf) -> float:
    """Return the p-value of the largest distance of two distribution functions (Massart)."""
    del law
    ordered = np.sort(values)
    stated = np.asarray(cdf(ordered))
    ranks = np.arange(values.size + 1) / values.size
    distance = max(float((ranks[1:] - stated).max()), float((stated - ranks[:-1]).max()))
    return min(1.0, 2 * math.exp(-2 * values.size * distance**2))


def low_digits_test(indices: list[int]) -> float:
    """Return the p-value of the last six bits being uniform, for steps far below the noise."""
    counts = np.bincount([index % _LOW_DIGITS for index in indices], minlength=_LOW_DIGITS)
    return frequency_test(counts, np.full(_LOW_DIGITS, 1 / _LOW_DIGITS))


def draws_are_enclosed(law: NoiseDistribution) -> None:
    """What is drawn from wide balls contains what is drawn from the numbers in them.

    Lazy bits rest on this: a result is taken as soon as its ball rounds to one number.
    """
    lazy, rng = law.lazy(), np.random.default_rng(_SEED)
    require(lazy.n_uniforms > 0, "a number of uniform numbers", lazy.n_uniforms, "See `lazy`")
    with precision(128):
        function = lazy.function()
        for case in range(300):
            width = 2.0 ** -rng.integers(3, 40)
            lows = rng.random(lazy.n_uniforms) * (1 - width)
            wide = [special.interval(_exact(low), _exact(low + width)) for low in lows]
            whole = function(bool(case % 2), *wide)
            for shares in rng.random((4, len(lows))):
                inner = [_exact(low) for low in lows + width * shares]
                point = function(bool(case % 2), *inner)
                require(
                    _agree(whole, point),
                    f"a draw of {law!r} from {[str(u) for u in wide]} that contains {point}",
                    whole,
                    "Compute with the balls that are given, and return Undrawn.UNDECIDED where a "
                    "comparison is not certain",
                )


def tails_are_enclosed(law: NoiseDistribution) -> None:
    """The uniform numbers that lead beyond a point have the tail as their measure: certified.

    The cube of the uniform numbers is cut into boxes. One whose ball lies on one side of the
    point counts in full, others in part; so a correct law passes whatever the boxes are. One
    uniform number is seen to a thousandth of the tail, two to a fiftieth; three hardly.
    """
    for tail in _TAILS:
        x = -float(law.quantile(tail))
        lower, upper = _measure_beyond(law, x)
        require(
            lower * (1 - 1e-9) <= law.survival(x) <= upper * (1 + 1e-9),
            f"P(Z > {x:.6g}) of {law!r} from {lower:.6g} to {upper:.6g}, as it is drawn",
            law.survival(x),
            "See the function that `lazy` names: its draws have another law",
        )


def _measure_beyond(law: NoiseDistribution, x: float) -> tuple[float, float]:
    """Return bounds of P(draw > x), given that there is a draw."""
    lazy = law.lazy()
    # Measures of boxes that lead beyond x and not beyond it, in both signs; others to no draw.
    beyond = short = 0.0
    with precision(64):
        function, level = lazy.function(), special.number(x)
        unknown = [(sign, (0.0,) * lazy.n_uniforms) for sign in (True, False)]
        sides, measure, calls = [1.0] * lazy.n_uniforms, 0.5, 0
        while calls + 2 * len(unknown) <= _MOST_BOXES and unknown:
            axis = sides.index(max(sides))
            sides[axis] /= 2
            measure /= 2
            boxes = [
                (sign, (*corner[:axis], corner[axis] + move, *corner[axis + 1 :]))
                for sign, corner in unknown
                for move in (0.0, sides[axis])
            ]
            calls, unknown = calls + len(boxes), []
            for sign, corner in boxes:
                ends = zip(corner, sides, strict=True)
                z = function(sign, *(special.interval(_exact(u), _exact(u + h)) for u, h in ends))
                if z is Undrawn.REJECTED:
                    continue
                if z is not Undrawn.UNDECIDED and z > level:
                    beyond += measure
                elif z is not Undrawn.UNDECIDED and z < level:
                    short += measure
                else:
                    unknown.append((sign, corner))
    open_measure = len(unknown) * measure
    every = beyond + short + open_measure
    return beyond / every, (beyond + open_measure) / every


def _agree(whole: special.Ball | Undrawn, point: special.Ball | Undrawn) -> bool:
    if Undrawn.UNDECIDED in (whole, point):
        return True
    if isinstance(whole, Undrawn) or isinstance(point, Undrawn):
        return whole is point
    return bool(whole.overlaps(point)) or not whole.is_finite()


def _exact(value: float) -> special.Ball:
    return special.number(float(value))
