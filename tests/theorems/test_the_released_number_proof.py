"""Each statement of docs/proofs/the-released-number.md, by routes of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import pytest
from flint import arb
from mpmath import mp, mpf

import smoothdp as sd
from smoothdp.claims.open_sealed import opened
from smoothdp.exact.balls.balls import ball, precision
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.random.lazy import FIRST_BITS, DrawFunction, LazyLaw, RoundedDraws
from smoothdp.exact.random.samplers import _binomial_law, _hypergeometric_law
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.noise import GeneralizedCauchy, Laplace, NoiseDistribution, PolyPlace, StudentT
from smoothdp.queries import Mean, Median, TrimmedMean

F = Fraction
FAR = 1 << 300

# ---- 1: rounding is post-processing ----------------------------------------------------------


def laplace_cdf(v: float) -> float:
    return 1 - math.exp(-v) / 2 if v > 0 else math.exp(v) / 2


def rounded(f: float, step: float) -> dict[int, float]:
    """The law of the nearest multiple of the step to f + Z, Z Laplace."""
    reach = math.ceil(16 / step)
    return {
        i: laplace_cdf((i + 0.5) * step - f) - laplace_cdf((i - 0.5) * step - f)
        for i in range(-reach, reach + 1)
    }


def stick(law: dict[Any, float], other: dict[Any, float], growth: float) -> float:
    return sum(max(0.0, p - growth * other.get(y, 0.0)) for y, p in law.items())


@pytest.mark.parametrize("step", [0.05, 0.3, 1.0, 2.0, 7.0])
@pytest.mark.parametrize("growth", [1.0, 1.5, 2.5])
def test_rounding_never_adds(step: float, growth: float) -> None:
    # Ideal: the best set is {Z < c}; 1 - e^((ln E - 1) / 2).
    ideal = 1 - math.exp((math.log(growth) - 1) / 2)
    found = stick(rounded(0, step), rounded(1, step), growth)
    assert found <= ideal + 1e-7
    if step == 0.05 and growth == 1:
        assert found > 0.99 * ideal
    # Renyi of order 2: the integral of p^2 / p'.
    p, q = rounded(0, step), rounded(1, step)
    second = sum(p[i] ** 2 / q[i] for i in p)
    assert second <= (2 * math.e + math.exp(-2)) / 3 + 1e-6


def test_the_worked_figures() -> None:
    assert stick(rounded(0, 1), rounded(1, 1), 1) == pytest.approx(0.39347, abs=5e-6)
    assert stick(rounded(0, 2), rounded(1, 2), 1) == pytest.approx(0.31606, abs=5e-6)


def test_a_grid_that_depends_on_the_data_is_not_private() -> None:
    p = {F(i): v for i, v in rounded(0, 1).items()}
    q = {F(i, 3): v for i, v in rounded(1, 1 / 3).items()}
    assert stick(q, p, math.e) > 0.5


# ---- 2: value and sensitivity enter exactly --------------------------------------------------


@pytest.mark.parametrize("query", [Median((0, 10)), TrimmedMean(2, bounds=(0, 10)), Mean((0, 10))])
def test_value_and_sensitivity_enter_exactly(query: Any) -> None:
    """f to the last bit, and S = d e^-u as the maximum over all differences of data."""
    data = [0.1 * i for i in range(9)] + [10.0, 1e-17]
    mechanism = SmoothNoise.calibrate(query, guarantee=sd.PureDP(1), n_records=len(data))
    summary = mechanism.query.private_summary(data, smoothing=mechanism.smoothing)
    exact = sorted(F(v) for v in data)
    low, high = mechanism.windowed.drops(len(data))
    kept = exact[low : len(data) - high]
    assert opened(summary.value) == sum(kept) / len(kept)
    d, u = opened(summary.sensitivity)
    ends = [F(0)] * 12 + exact + [F(10)] * 12
    t = mechanism.smoothing
    if low == high == 0:
        assert (d, u) == (F(10, len(data)), F(0))
        return
    with mp.workdps(60):
        candidates = [
            (mp.log(mpf(gap.numerator) / gap.denominator) - k * mpf(t.numerator) / t.denominator)
            for k in range(12)
            for p in range(k + 2)
            if (gap := (ends[12 + len(data) - high + k - p] - ends[12 + low - p]) / len(kept)) > 0
        ]
        log_s = mp.log(mpf(d.numerator) / d.denominator) - mpf(u.numerator) / u.denominator
        assert abs(max(candidates) - log_s) < mpf(10) ** -50


# ---- 3: lazy refinement ----------------------------------------------------------------------


class Scripted:
    """Bits from a list of binary digits, one list for each uniform number of one attempt."""

    is_private = False

    def __init__(self, sign: int, numbers: Sequence[Fraction]) -> None:
        self._sign, self._numbers = sign, list(numbers)
        self._known = 0
        self.rounds = 0

    def bits(self, n: int) -> int:
        if self._known == 0:
            self._known = FIRST_BITS
            word = 0
            for place, u in enumerate(self._numbers):
                word |= math.floor(u * 2**FIRST_BITS) << (FIRST_BITS * place)
            return word << 1 | self._sign
        assert len(self._numbers) == 1
        assert n == self._known
        (u,) = self._numbers
        digits: int = math.floor(u * (1 << 2 * n)) - (math.floor(u * (1 << n)) << n)
        self._known *= 2
        self.rounds += 1
        return digits

    def below(self, n: int) -> int:
        raise AssertionError(n)


def uniform() -> DrawFunction:
    return lambda positive, u: u if positive else -u


def middles() -> DrawFunction:
    """Wrong: the middle of the ball of u, and not the ball."""
    return lambda positive, u: u.mid() if positive else -u.mid()


HARD = [
    # u, such that c + factor u + 1/2 is whole up to some 2^-depth, and never a tie.
    (F(1, 3) + sign * F(1, 2**depth), depth)
    for depth in (45, 60, 97, 130, 250)
    for sign in (-1, 1)
]


def literal(u: Fraction, factor: Fraction, centre: Fraction) -> int:
    return math.floor(centre + factor * u + F(1, 2))


def differing(function: Callable[[], DrawFunction]) -> list[int]:
    """The depths of HARD at which a draw is not the literal rounding."""
    wrong = []
    for u, depth in HARD:
        for factor, centre in ((F(3), F(1, 2)), (F(3 * 2**40), F(-7, 2))):
            draws = RoundedDraws(
                LazyLaw(1, function),
                centre=centre,
                factor=factor,
                decay=F(0),
                lowest=-FAR,
                highest=FAR,
            )
            rng = Scripted(1, [u])
            if draws.draw(rng) != literal(u, factor, centre):
                wrong.append(depth)
            elif function is uniform and depth > 2 * FIRST_BITS:
                assert rng.rounds >= 1
    return wrong


def test_refinement_returns_the_literal_rounding() -> None:
    assert not differing(uniform)


def test_balls_that_do_not_enclose_are_found_out() -> None:
    """Premise (I) dropped: a midpoint decides too early."""
    assert set(differing(middles)) & {97, 130, 250}


def test_results_are_clamped() -> None:
    for low, high in ((0, 0), (-2, 1), (2, 9)):
        draws = RoundedDraws(
            LazyLaw(1, uniform), centre=F(0), factor=F(9), decay=F(0), lowest=low, highest=high
        )
        for i in range(1, 40):
            u = F(2 * i + 1, 83)
            found = draws.draw(Scripted(1, [u]))
            assert found == min(max(literal(u, F(9), F(0)), low), high)


# ---- 4: the laws -----------------------------------------------------------------------------


def by_inversion(law: NoiseDistribution, u: float) -> float:
    with precision(120):
        z = law.lazy().function()(True, arb(u))
        assert isinstance(z, arb)
        return float(z)


@pytest.mark.parametrize("law", [Laplace(), PolyPlace("1.5"), PolyPlace(4), PolyPlace(30)], ids=str)
def test_one_uniform_number_is_the_tail(law: NoiseDistribution) -> None:
    for u in (1e-9, 0.01, 0.2, 0.37, 0.5, 0.61, 0.8, 0.97, 1 - 1e-6):
        assert 2 * law.survival(by_inversion(law, u)) == pytest.approx(u, rel=1e-10)


RADII: dict[str, tuple[NoiseDistribution, Callable[[Any], Any]]] = {
    # The tail of the radius: P(r > v).
    "normal": (sd.noise.Gaussian(), lambda v: mp.exp(-v * v / 2)),
    "t3": (StudentT(3), lambda v: (1 + v * v / 3) ** (-mpf(3) / 2)),
    "t1/2": (StudentT("0.5"), lambda v: (1 + 2 * v * v) ** (-mpf(1) / 4)),
}


@pytest.mark.parametrize("name", RADII)
def test_tails_of_the_functions_of_uniform_numbers(name: str) -> None:
    """P(r cos(pi V) > x) as an integral over V, against the tail of the law."""
    law, tail = RADII[name]
    for x in (0.1, 1.0, 3.5, 20.0):
        found = mp.quad(lambda v, at=x: tail(at / mp.cos(mp.pi * v)), [0, 0.25, 0.45, 0.499, 0.5])
        assert float(found) == pytest.approx(float(law.survival(x)), rel=1e-7, abs=1e-15)


@pytest.mark.parametrize("name", RADII)
def test_the_radius_is_that_of_the_code(name: str) -> None:
    law, tail = RADII[name]
    for u in (0.001, 0.3, 0.9):
        with precision(120):
            z = law.lazy().function()(True, arb(u), arb(0))
            assert isinstance(z, arb)
            assert float(tail(mpf(float(z)))) == pytest.approx(u, rel=1e-12)


@pytest.mark.parametrize("power", ["1.5", "3", "6"])
def test_rejection_leaves_the_generalised_cauchy_law(power: str) -> None:
    """The measure of kept (u, v) with a draw above x, over that of all kept ones."""
    law, c = GeneralizedCauchy(power), mpf(power)

    def kept(low: Any, high: Any) -> Any:
        def one(u: Any) -> Any:
            y = u * c / (c - 1) if u < (c - 1) / c else (c * u - c + 1) ** (-1 / (c - 1))
            return 1 / (1 + (y if y < 1 else 1 / y) ** c)

        return mp.quad(one, [low, high])

    border = (c - 1) / c
    every = kept(0, border) + kept(border, 1)
    for x in (0.3, 1.0, 2.5):
        if x < 1:
            beyond = kept(x * (c - 1) / c, border) + kept(border, 1)
        else:
            beyond = kept(border, (mpf(x) ** (1 - c) + c - 1) / c)
        assert float(beyond / every / 2) == pytest.approx(law.survival(x), rel=1e-8)


# ---- 7: blocks -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "law",
    [
        _binomial_law(1, F(1, 2)),
        _binomial_law(12, F(1, 7)),
        _binomial_law(40, F(99, 100)),
        _hypergeometric_law(5, 7, 9),
        _hypergeometric_law(20, 11, 30),
    ],
    ids=["coin", "twelve", "forty", "five", "twenty"],
)
def test_blocks_propose_every_point_as_stated(law: Any) -> None:
    """Proposal times the chance to be kept is P(k) / (6 w P(m)), and no chance exceeds 1."""
    one, width_bits = law[0], law[1]
    w = 2**width_bits

    def p(k: int) -> Ball:
        chance: Ball = one.ball_log_pmf(k).exp()
        return chance

    with precision(100):
        at_mode = p(one.mode)
        assert ball(F(w)) * at_mode >= 1
        for k in range(one.lowest, one.highest + 1):
            x = k - one.mode if k >= one.mode else one.mode - 1 - k
            j = x // w
            proposed = (F(1, 3) if j == 0 else F(2, 3) / 2**j) / (2 * w)
            keep = p(k) * 2 ** max(0, j - 1) / at_mode
            assert keep < 1 or k == one.mode or keep.overlaps(arb(1))
            product = ball(proposed) * keep * 6 * w * at_mode
            assert product.overlaps(p(k))
            assert p(k) <= at_mode * (1 - at_mode * abs(k - one.mode)).exp() or k == one.mode
