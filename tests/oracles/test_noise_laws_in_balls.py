"""What certified divergences are built from: balls of the laws, panels, the function psi."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from smoothdp.exact.balls import special
from smoothdp.exact.balls.balls import ball, precision, round_down, round_up
from smoothdp.exact.balls.gauss_legendre import log_error_factor, nodes_and_weights
from smoothdp.exact.balls.log_normal import log_transform_ball
from smoothdp.exact.balls.special import Ball
from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    GeneralizedCauchy,
    Laplace,
    LaplaceLogNormal,
    Log1pNormal,
    NoiseDistribution,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)
from smoothdp.noise.divergences.divergences import loss_supremum
from smoothdp.noise.divergences.excess import RELATIVE_ERROR, log_psi, log_range, slope_bound
from smoothdp.noise.divergences.loss_cells import CellFactory
from smoothdp.noise.divergences.offset import Offset
from smoothdp.noise.divergences.panels import Panel
from smoothdp.noise.divergences.regions import Left, Middle, Right
from tests.oracles.noise_law_formulas import formulas

LAWS: list[NoiseDistribution] = [
    LaplaceLogNormal("0.5"),
    LaplaceLogNormal("2.5"),
    UniformLogNormal("0.75"),
    ArsinhNormal("0.4"),
    ArsinhNormal("3"),
    Log1pNormal("0.5"),
    StudentT(3),
    StudentT("0.7"),
    GeneralizedCauchy("3.5"),
    PolyPlace("2.5"),
    PolyPlace(20),
    Laplace(),
    Gaussian(),
]
SHAPED = LAWS[:-2]
BITS = 96


def _contains(value: Ball, truth: mp.mpf) -> bool:
    """Whether a ball contains a number known to far more digits than the ball."""
    radius = mp.mpf(round_up(value.rad()))
    middle = mp.mpf(value.mid().str(60, radius=False))
    return bool(abs(middle - truth) <= radius + abs(truth) * mp.mpf(10) ** -35)


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_balls_contain_the_truth_and_are_narrow(law: NoiseDistribution) -> None:
    points = ["0.0001", "0.2", "0.7", "3", "50"]
    with mp.workdps(50), precision(BITS):
        truth = formulas(law)
        for x in points[::2] if isinstance(law, LaplaceLogNormal) else points:
            v = ball(Fraction(x)).log()
            density = law._ball_log_density(v)
            tail = law._ball_survival(ball(Fraction(x)))
            assert _contains(density, mp.log(truth.density(mp.mpf(x))))
            assert _contains(tail, truth.tail(mp.mpf(x)))
            assert round_up(density.rad()) < 1e-20 * max(1, abs(float(density)))
            assert tail.rad() < 1e-18 * tail
        if not isinstance(law, UniformLogNormal):
            assert _contains(law._ball_log_peak(), mp.log(truth.density(mp.mpf(0))))


@pytest.mark.parametrize("law", LAWS, ids=repr)
def test_elasticity_is_the_slope_and_rises(law: NoiseDistribution) -> None:
    with precision(BITS):
        before = special.number(0.0)
        for k in range(-40, 40):
            v = special.number(k / 8 + 1 / 64)
            value = law._ball_elasticity(v)
            # The mean slope over a short stretch lies between the ends' elasticities.
            after = v + special.number(2.0**-12)
            mean = (law._ball_log_density(v) - law._ball_log_density(after)) * 2**12
            assert value >= before
            assert value <= mean * (1 + special.number(2.0**-60)) + special.number(2.0**-60)
            assert law._ball_elasticity(after) >= mean * (1 - special.number(2.0**-60))
            before = value
        limit = law._elasticity_limit()
        if limit is not None:
            assert law._ball_elasticity(special.number(8.0)) < limit
            assert law._ball_elasticity(special.number(200.0)) > 0.999999 * limit
        elif not isinstance(law, Laplace | Gaussian):
            for k in range(-3, 12):
                v = special.number(float(k))
                rise = law._ball_elasticity(v + 1) - law._ball_elasticity(v)
                assert rise <= law._elasticity_slope(v)


@pytest.mark.parametrize("law", SHAPED, ids=repr)
def test_continuation_off_the_real_line(law: NoiseDistribution) -> None:
    """Over a panel, what its slopes allow contains ln f on a circle inside the ellipse."""
    with precision(BITS), mp.workdps(20):
        offset = Offset(law, ball(Fraction(1, 2)), ball(Fraction(1, 10)))
        truth = formulas(law)

        def log_density(v: mp.mpc) -> mp.mpc:
            return mp.log(truth.density(mp.exp(v)))

        for region in (Left(offset.shift), Middle(offset.shift), Right(offset.shift)):
            for center in (Fraction(-3), Fraction(1)):
                panel = Panel(offset, region, center, Fraction(1, 8))
                if not panel.analytic or isinstance(law, PolyPlace):
                    continue
                s, t, c = mp.mpf("0.5"), mp.mpf("0.1"), mp.mpf(center.numerator)
                for angle in (0.3, 1.2, 2.0, 3.0):
                    step = mp.mpf(1) / 8 * mp.expjpi(angle / mp.pi)
                    u = c + step
                    if isinstance(region, Left):
                        near, far = u, mp.log(mp.exp(u) + s)
                    elif isinstance(region, Right):
                        near, far = mp.log(mp.exp(u) + s), u
                    else:
                        near, far = mp.log(s / (1 + mp.exp(-u))), mp.log(s / (1 + mp.exp(u)))
                    if isinstance(law, LaplaceLogNormal):
                        continue
                    loss = log_density(near) - log_density(far - t) + t
                    moved = loss - panel.loss
                    slope = panel.loss_slope
                    reach = abs(step) * math.hypot(max(-slope.lower, slope.upper), slope.imaginary)
                    assert abs(moved) <= math.sqrt(2) * reach + panel.loss_slack + 1e-12
                    assert abs(loss) <= panel.loss_size + 1e-12


@pytest.mark.parametrize("z", ["-30", "-3", "0", "1.3", "6", "25"])
@pytest.mark.parametrize("sigma", ["1/1000", "1/10", "1/2", "7/3"])
def test_transform_by_series_and_by_sum(z: str, sigma: str) -> None:
    shape = Fraction(sigma)
    for offset in (Fraction(0), shape / 5, -shape / 7):
        with precision(BITS):
            short = log_transform_ball(ball(Fraction(z) + offset), shape)
            assert round_up(short.rad()) < 1e-22 * max(1.0, abs(float(short)))
        with precision(320):
            long = log_transform_ball(ball(Fraction(z) + offset), shape)
            assert short.contains(long)
            assert long.rad() < short.rad()


def test_transform_against_mpmath() -> None:
    with mp.workdps(40):
        for log_z in ("-4", "0.5", "3"):
            z, s, h = mp.exp(mp.mpf(log_z)), mp.mpf("0.5"), mp.mpf(1) / 40
            points = (j * h for j in range(-800, 561))
            total = h * mp.fsum(mp.npdf(y) * mp.exp(-z * mp.exp(s * y)) for y in points)
            with precision(BITS):
                found = log_transform_ball(ball(Fraction(log_z)), Fraction(1, 2))
                assert _contains(found, mp.log(total))


def test_quadrature_error_is_within_its_bound() -> None:
    # f(x) = 1 / (x - c), with its pole just outside the ellipse; sup |f| on it is known.
    with precision(256):
        rule = nodes_and_weights(256)
        total_weight = sum((w for _, w in rule), special.number(0.0))
        assert abs(total_weight - 2) < special.number(1e-60)
        for pole in ("1.42", "1.6", "3"):
            c = ball(Fraction(pole))
            found = sum((w / (x - c) for x, w in rule), special.number(0.0))
            truth = ((c - 1) / (c + 1)).log()
            sup = 1 / (float(Fraction(pole)) - math.sqrt(2))
            assert abs(found - truth) < special.number(sup * math.exp(log_error_factor()))
        # And the bound is not idle: the error is within a few powers of ten of it.
        c = ball(Fraction("1.42"))
        miss = abs(
            sum((w / (x - c) for x, w in rule), special.number(0.0)) - ((c - 1) / (c + 1)).log()
        )
        assert miss > special.number(1e-4 * math.exp(log_error_factor()))


@pytest.mark.parametrize("b", [0.0, 1e-300, 1e-3, 0.5, 1.0, 7.0, 1e4])
def test_psi(b: float) -> None:
    sizes = np.concatenate([10.0 ** np.arange(-300, -1, 13.0), np.linspace(0.05, 3, 60), [30, 600]])
    losses = np.concatenate([-sizes, sizes])
    found = log_psi(losses, b)
    with mp.workdps(700):
        for loss, value in zip(losses.tolist(), found.tolist(), strict=True):
            x, k = mp.mpf(loss), mp.mpf(b)
            truth = (mp.expm1(k * x) / k if b else x) + mp.expm1(-x)
            log_truth = mp.log(truth)
            slack = RELATIVE_ERROR + 4e-16 * float(abs(log_truth))
            assert abs(value - float(log_truth)) <= slack
            # d ln psi / d ln|L| = L psi' / psi.
            steep = x * (mp.exp(k * x) - mp.exp(-x)) / truth
            assert float(abs(steep)) <= float(slope_bound(np.array([loss]), b)[0]) * (1 + 1e-12)
    low, high = log_range(-0.2, 1.0, b)
    assert low == -math.inf
    assert high >= float(log_psi(np.array([1.0]), b)[0])
    low, high = log_range(0.5, 1.0, b)
    assert (
        low <= float(log_psi(np.array([0.5]), b)[0]) < float(log_psi(np.array([1.0]), b)[0]) <= high
    )


CLOSED: list[NoiseDistribution] = [PolyPlace("1.5"), PolyPlace(6), StudentT("0.7"), StudentT(4)]


@pytest.mark.parametrize("law", CLOSED, ids=repr)
@pytest.mark.parametrize("s", ["0", "0.05", "0.5", "3"])
@pytest.mark.parametrize("t", ["-0.7", "-0.05", "0", "0.1", "0.4"])
def test_closed_suprema_against_the_general_method(law: NoiseDistribution, s: str, t: str) -> None:
    shift, dilation = Fraction(s), Fraction(t)
    if not shift and not dilation:
        return
    with precision(BITS):
        offset = Offset(law, ball(shift), ball(dilation))
        closed = law._supremum_closed(offset.shift, offset.dilation)
        assert closed is not None
        searched = loss_supremum(offset)
        assert searched[0] <= round_up(closed)
        assert round_down(closed) <= searched[1]
        assert round_up(closed.rad()) < 1e-20
        assert searched[1] - searched[0] < 1e-9


@pytest.mark.parametrize("law", LAWS, ids=repr)
@pytest.mark.parametrize("t", ["-0.2", "0", "0.3"])
def test_cells_bound_the_loss(law: NoiseDistribution, t: str) -> None:
    """The loss at points of a cell, its ends and its tail lies within the cell's bounds."""
    with precision(BITS):
        offset = Offset(law, ball(Fraction(3, 4)), ball(Fraction(t)))
        factory = CellFactory(offset, BITS)
        cells = factory.first()
        for cell in cells[:]:
            cells += factory.cut(cell) or []
        for cell in cells:
            low = -30.0 if cell.low is None else cell.low
            high = 30.0 if cell.high is None else cell.high
            for share in (0.01, 0.4, 0.77, 0.99):
                u = special.number(low + share * (high - low))
                if isinstance(law, Laplace | Gaussian) and cell.is_tail:
                    continue
                _, loss = offset.at(cell.region.logs(u))
                assert cell.lower <= loss + special.number(1e-20)
                assert cell.upper >= loss - special.number(1e-20)
