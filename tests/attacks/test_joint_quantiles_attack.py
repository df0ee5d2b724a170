"""Attacks on quantiles that are released together, from their public claims alone.

Densities, losses, moments, windows and excesses are written here anew, from the statements of
docs/proofs/joint-quantiles, exponential-quantile, half-shift and quantile-bars; no code of the
library takes part in what it is compared with.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import smoothdp as sd
from smoothdp.exact.balls.special import number
from smoothdp.noise.joint.joint_poly_place import JointCalibration

from smoothdp.types import FloatArray as Floats


def calibrated(smoothings: list[str], epsilon: str = "1") -> JointCalibration:
    law = sd.noise.JointPolyPlace(len(smoothings))
    given = smoothings[0] if len(set(smoothings)) == 1 else smoothings
    return law.calibrate(sd.PureDP(epsilon), smoothing=given)


class Law:
    """The law of the statement: g(t N(z)), from m, the smoothings and epsilon alone."""

    def __init__(self, smoothings: list[str], epsilon: str) -> None:
        exact = [Fraction(each) for each in smoothings]
        self.m, self.t = len(exact), float(max(exact))
        self.s = float(min(exact) / max(exact))
        self.b = float((Fraction(epsilon) - sum(exact)) / max(exact))
        self.steps = np.array([float(each) for each in exact])
        self.first = 1 / (self.b + self.s)
        self.second = 2 / self.b if self.s < 1 else self.first

    def log_g(self, x: Floats) -> Floats:
        b, s = self.b, self.s
        inner = b / s * np.log1p(-s * np.minimum(x, self.first))
        middle = np.clip(x, self.first, self.second)
        inner -= (b / s + 2) * np.log((1 + s * middle) / (1 + s * self.first))
        return inner - (b + 2) * np.log((1 + np.maximum(x, self.second)) / (1 + self.second))

    def log_density(self, z: Floats) -> Floats:
        spread = np.maximum(z.max(axis=-1), 0) + np.maximum((-z).max(axis=-1), 0)
        return self.log_g(self.t * spread)

    def moment(self, k: int) -> float:
        """Return the integral of r^(m - 1 + k) g(t r) over r > 0."""

        def under(r: float) -> float:
            return float(r ** (self.m - 1 + k) * np.exp(self.log_g(np.array(self.t * r))))

        ends = [0.0, self.first / self.t, self.second / self.t, math.inf]
        return sum(
            float(integrate.quad(under, low, high, epsabs=0, epsrel=1e-11, limit=200)[0])
            for low, high in itertools.pairwise(ends)
            if low < high
        )

    def variance(self) -> float:
        m = self.m
        return (m + 2) * (m + 3) / (6 * m * (m + 1)) * self.moment(2) / self.moment(0)


SMOOTHINGS = [
    ["0.1"],
    ["0.05", "0.05"],
    ["0.05", "0.1"],
    ["0.3", "0.001"],
    ["0.2", "0.2", "0.2"],
    ["0.01", "0.2", "0.1"],
    ["0.3", "0.3", "0.001"],
]


def largest_loss(law: Law, rng: np.random.Generator, signs: str) -> float:
    """Return the largest loss found: a search over outputs, shifts and dilations, then a climb."""
    m, count = law.m, 40_000

    def losses(raw: Floats) -> Floats:
        radius, theta, shifts, tilts = (
            raw[..., :1], raw[..., 1 : 1 + m], raw[..., 1 + m : 1 + 2 * m], raw[..., 1 + 2 * m :]
        )  # fmt: skip
        z = np.exp(np.clip(radius, -8, 16)) * theta / np.maximum(np.abs(theta).max(-1), 1e-9)[..., None]
        tau = np.clip(tilts, -1, 1) * law.steps
        largest = np.minimum(1, np.exp(tau))
        shift = np.clip(np.abs(shifts), 0, 1) if signs == "one" else np.clip(shifts, -1, 1)
        moved = (z - shift * largest) * np.exp(-tau)
        found: Floats = law.log_density(z) - law.log_density(moved) + tau.sum(-1)
        return np.abs(found)

    raw = np.concatenate(
        [
            rng.uniform(-4, 12, (count, 1)),
            rng.normal(size=(count, m)) * rng.choice([0, 1, 1], size=(count, m)),
            rng.choice([-1.0, 0.0, 0.5, 1.0], size=(count, m)),
            rng.choice([-1.0, 0.0, 1.0], size=(count, m)),
        ],
        axis=1,
    )
    found = losses(raw)
    best = float(found.max())
    for start in raw[np.argsort(found)[-3:]]:
        climbed = optimize.minimize(
            lambda at: -float(losses(np.asarray(at))), start, method="Nelder-Mead",
            options={"maxiter": 600},
        )  # fmt: skip
        best = max(best, -float(climbed.fun))
    return best


@pytest.mark.parametrize("smoothings", SMOOTHINGS, ids="-".join)
def test_no_pair_of_databases_loses_more_than_epsilon(smoothings: list[str]) -> None:
    law, calibration = Law(smoothings, "1"), calibrated(smoothings)
    radial = calibration.radial
    assert float(radial.rest) == pytest.approx(law.b)
    assert float(radial.ratio) == pytest.approx(law.s)
    rng = np.random.default_rng(len(smoothings))
    assert 0.95 < largest_loss(law, rng, "one") <= 1 + 1e-9


def test_the_search_finds_the_loss_of_opposite_shifts() -> None:
    """The search can fail: shifts of two signs lose nearly twice as much."""
    law = Law(["0.001", "0.001"], "0.1")
    assert largest_loss(law, np.random.default_rng(1), "any") > 0.19


@pytest.mark.parametrize("smoothings", SMOOTHINGS, ids="-".join)
def test_the_variance_is_that_of_the_density(smoothings: list[str]) -> None:
    law = Law(smoothings, "1")
    found = calibrated(smoothings).variance
    if law.b <= law.m:
        assert found == math.inf
        return
    assert found == pytest.approx(law.variance(), rel=1e-8)


def test_the_variance_is_that_of_the_plane() -> None:
    """Without polar coordinates: the density of two numbers, summed over the plane."""
    law = Law(["0.05", "0.1"], "1")
    points, weights = np.polynomial.legendre.leggauss(400)
    scaled = np.sinh(7 * points)
    pull = weights * 7 * np.cosh(7 * points)
    grid = np.stack(np.meshgrid(scaled, scaled, indexing="ij"), axis=-1)
    mass = np.exp(law.log_density(grid)) * pull[:, None] * pull[None, :]
    assert float(mass.sum()) == pytest.approx(6 * law.moment(0), rel=2e-3)
    for axis in (0, 1):
        second = float((mass * grid[..., axis] ** 2).sum() / mass.sum())
        assert second == pytest.approx(calibrated(["0.05", "0.1"]).variance, rel=5e-3)


def drawn(calibration: JointCalibration, count: int, seed: int) -> Floats:
    """Draw from `lazy` by floats of numpy: what it maps uniform numbers to, and which it rejects."""
    lazy = calibration.lazy()
    rng = np.random.default_rng(seed)
    kept: list[list[float]] = []
    while len(kept) < count:
        case = int(rng.integers(lazy.n_cases))
        found = lazy.function()(case, [number(float(u)) for u in rng.random(lazy.n_uniforms)])
        if isinstance(found, list):
            kept.append([float(each) / float(calibration.exact_shift) for each in found])
    return np.array(kept)


def radius_law(law: Law) -> tuple[Floats, Floats]:
    radii = np.concatenate([[0.0], np.geomspace(1e-4, 1e6, 20_001)])
    under = radii ** (law.m - 1) * np.exp(law.log_g(law.t * radii))
    sums = integrate.cumulative_trapezoid(under, radii, initial=0)
    return radii, np.asarray(sums / sums[-1])


def p_values(z: Floats, law: Law) -> tuple[float, float, float]:
    """P-values of the radius, of which coordinates are the ends, and of the middle ones."""
    count, m = z.shape
    points = np.concatenate([np.zeros((count, 1)), z], axis=1)
    spread = points.max(1) - points.min(1)
    radii, below = radius_law(law)
    radius = stats.kstest(np.interp(spread, radii, below), "uniform").pvalue
    ends = points.argmin(1) * (m + 1) + points.argmax(1)
    cases = np.array([(ends == p * (m + 1) + q).sum() for p in range(m + 1) for q in range(m + 1) if p != q])
    inner = np.sort(points, axis=1)[:, 1:-1]
    middle = ((inner - points.min(1)[:, None]) / spread[:, None]).mean(1)
    uniform = middle if m == 2 else np.where(middle < 0.5, 2 * middle**2, 1 - 2 * (1 - middle) ** 2)
    return (
        float(radius),
        float(stats.chisquare(cases).pvalue),
        float(stats.kstest(uniform, "uniform").pvalue) if m > 1 else 1.0,
    )


FALSE_ALARM = 1e-6


@pytest.mark.parametrize("smoothings", [["0.3", "0.001"], ["0.05", "0.1"], ["0.01", "0.2", "0.1"]], ids="-".join)
def test_draws_have_the_density(smoothings: list[str]) -> None:
    """False alarm: 3e-6 each. A law of another smoothing, or of one for all, is rejected."""
    z = drawn(calibrated(smoothings), 4000, seed=3)
    assert min(p_values(z, Law(smoothings, "1"))) > FALSE_ALARM
    wrong = Law([max(smoothings)] * len(smoothings), "1") if smoothings[0] == "0.3" else Law(smoothings, "0.9")
    assert min(p_values(z, wrong)) < FALSE_ALARM
