"""The rounding constants of the double-precision contour, against ball arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import acb, arb

from smoothdp.composition.laws.atoms import AtomsLaw, atoms_transform
from smoothdp.composition.laws.law import BallTransform, Excess, GaussianLaw, LossLaw
from smoothdp.composition.laws.oscillation import (
    TRIG_ERROR,
    moving_sums,
    oscillating_sums,
    short_step,
    unit_circle,
)
from smoothdp.composition.laws.product import Product
from smoothdp.composition.routes.balls import ball_sums
from smoothdp.composition.routes.contour import (
    Contour,
    Plan,
    _raised,
    kernel_error,
    lower_kernel,
    truncation,
    upper_kernel,
)
from smoothdp.composition.routes.inversion import Inversion
from smoothdp.exact.balls.balls import precision
from smoothdp.exact.balls.gauss_legendre import gauss_legendre
from smoothdp.exact.balls.special import complex_ball, real
from smoothdp.mechanisms.additive.laplace import LaplaceLaw, laplace_transform
from smoothdp.training_runs.gaussian_step.subsampled_law import SubsampledGaussianLaw

F = Fraction


def random_atoms(rng: np.random.Generator, n: int, spread: float) -> AtomsLaw:
    masses = rng.dirichlet(np.ones(n) * rng.choice([0.1, 1.0, 10.0]))
    masses = np.maximum(masses, 1e-280)
    return AtomsLaw(np.log(masses), rng.normal(0.0, spread, n))


def test_cosine_and_sine() -> None:
    """The assumption TRIG_ERROR, on 20,000 angles of all sizes below 1e8."""
    rng = np.random.default_rng(1)
    angles = np.exp(rng.uniform(-30, math.log(1e8), 20_000)) * rng.choice([-1, 1], 20_000)
    points = unit_circle(angles)
    with precision(128):
        for angle, point in zip(angles.tolist(), points.tolist(), strict=True):
            exact = (arb(angle).cos(), arb(angle).sin())
            assert abs(arb(point.real) - exact[0]) < TRIG_ERROR
            assert abs(arb(point.imag) - exact[1]) < TRIG_ERROR * min(1.0, abs(angle))


@pytest.mark.parametrize("size", [1e-9, 1e-4, 0.5, 30.0])
def test_moving_sums(size: float) -> None:
    """Sums of w (e^(i t x) - 1): within the error, and far below u where all x are tiny."""
    rng = np.random.default_rng(8)
    weights, positions = rng.dirichlet(np.ones(150)), rng.normal(0.0, size, 150)
    step = short_step(0.37)
    values, error = moving_sums(weights, positions, step=step, count=130)
    for m in (0, 1, 7, 64, 129):
        with precision(160):
            exact = acb(0)
            for w, x in zip(weights.tolist(), positions.tolist(), strict=True):
                exact += arb(w) * ((acb(0, 1) * arb(m) * arb(step) * arb(x)).exp() - 1)
            assert abs(acb(complex(values[m])) - exact) <= arb(float(error[m]))
        assert error[m] <= 1e-12 * min(1.0, m * step * size) + 1e-15 * m * step * size


@pytest.mark.parametrize("count", [1, 1000, 10**6])
def test_powers_of_what_is_close_to_one(count: int) -> None:
    rng = np.random.default_rng(count)
    size = 1 / count ** rng.uniform(0.5, 1.2, 60) / 4
    z = np.empty(60, dtype=np.complex128)
    z.real, z.imag = -size * rng.uniform(0, 1, 60), 0.3 * size * rng.normal(size=60)
    slips = rng.uniform(0, 1e-12, 60) * np.abs(z)
    powers, error = _raised(Excess(z, slips), count)
    with precision(200):
        for here, slip, power, within in zip(
            z.tolist(), slips.tolist(), powers.tolist(), error.tolist(), strict=True
        ):
            moved = acb(here) + arb(slip) * acb(0.6, 0.8)
            truth = (1 + moved) ** count
            assert abs(acb(power) - truth) <= arb(within) * abs(truth)


@pytest.mark.parametrize("seed", range(6))
def test_oscillating_sums(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 3000))
    weights, positions = rng.dirichlet(np.ones(n)), rng.normal(0.0, 2.0, n)
    step = short_step(float(rng.uniform(0.001, 3.0)))
    found = oscillating_sums(weights, positions, step=step, count=500)
    with precision(120):
        for m in (0, 1, 7, 63, 64, 255, 499):
            t = arb(step) * m
            total = acb(0)
            for w, x in zip(weights.tolist(), positions.tolist(), strict=True):
                total += arb(w) * acb(0, t * arb(x)).exp()
            gap = abs(total - acb(complex(found.values[m])))
            assert gap < found.constant + found.slope * step * m


def psi_in_balls(transform: BallTransform, tilt: float, t: float, centre: float) -> acb:
    turn = acb(0, -arb(t) * arb(centre)).exp()
    at_zero = real(transform(complex_ball(arb(tilt), arb(0))))
    return transform(complex_ball(arb(tilt), arb(t))) / at_zero * turn


@pytest.mark.parametrize("seed", range(12))
def test_transform_and_moments_of_laws(seed: int) -> None:
    rng = np.random.default_rng(seed)
    law: LossLaw
    if seed % 3 == 2:
        ratio = F(int(rng.integers(1, 4000)), 1000)
        law, transform = LaplaceLaw(float(ratio)), laplace_transform(F(float(ratio)))
    else:
        atoms = random_atoms(rng, int(rng.integers(1, 300)), float(rng.choice([0.01, 1.0, 20.0])))
        law, transform = atoms, atoms_transform(atoms.log_masses, atoms.losses)
    for tilt in (0.0078125, 0.5, 3.0, 25.0):
        moments = law.moments(tilt)
        step = short_step(float(rng.uniform(0.01, 2.0)))
        sums = law.transform(tilt, step=step, count=40, budget=1e-12)
        with precision(160):
            log_mgf = real(transform(complex_ball(arb(tilt), arb(0)))).log()
            assert abs(log_mgf - arb(moments.log_mgf)) < moments.error
            for m in (0, 1, 13, 39):
                truth = psi_in_balls(transform, tilt, step * m, sums.centre)
                gap = abs(truth - acb(complex(sums.values[m])))
                assert gap < float(sums.error[m])
                if m:
                    assert not abs(truth) > law.decay(tilt, step * m)


@pytest.mark.parametrize("view", ["mixture", "base", "symmetric"])
@pytest.mark.parametrize(
    ("rate", "mu"),
    [
        ("1/100", "1"),
        pytest.param("3/10", "1/2", marks=pytest.mark.slow),
        pytest.param("9/10", "2", marks=pytest.mark.slow),
    ],
)
def test_quadrature_of_the_subsampled_gaussian(view: str, rate: str, mu: str) -> None:
    q, m = F(rate), F(mu)
    law = SubsampledGaussianLaw(q, m, view)  # type: ignore[arg-type]
    with mpmath.workdps(18):
        share, shift = (
            mpmath.mpf(q.numerator) / q.denominator,
            mpmath.mpf(m.numerator) / m.denominator,
        )

        def ratio(y: mpmath.mpf) -> mpmath.mpf:
            return 1 - share + share * mpmath.exp(shift * y - shift**2 / 2)

        def integral(power: mpmath.mpc, low: mpmath.mpf) -> mpmath.mpc:
            edges = [low + k for k in range(0, 60, 2) if low + k < 40]
            return mpmath.quad(lambda y: mpmath.npdf(y) * ratio(y) ** power, edges)

        def truth(z: mpmath.mpc) -> mpmath.mpc:
            if view == "mixture":
                return integral(z + 1, mpmath.mpf(-14))
            if view == "base":
                return integral(-z, mpmath.mpf(-14))
            half = integral(z + 1, shift / 2) + integral(-z, shift / 2)
            at_zero = 1 - (2 - share) * mpmath.ncdf(-shift / 2) - share * mpmath.ncdf(shift / 2)
            return half + at_zero

        for tilt, t in ((0.5, 3.0), (4.0, 20.0)):
            here = truth(mpmath.mpc(tilt, 0)).real
            moments = law.moments(tilt)
            assert abs(mpmath.log(here) - moments.log_mgf) < moments.error
            step = short_step(max(t, 1.0))
            sums = law.transform(tilt, step=step, count=2, budget=1e-14)
            exact = truth(mpmath.mpc(tilt, step)) / here * mpmath.expj(-step * sums.centre)
            gap = abs(exact - mpmath.mpmathify(complex(sums.values[1])))
            assert gap < float(sums.error[1]) < 1e-10
            assert abs(exact) < law.decay(tilt, step)


@pytest.mark.parametrize("view", ["mixture", "base"])
def test_what_a_rare_step_moves(view: str) -> None:
    """psi - 1 at a rate of 1e-6, by sums over y in 40 digits."""
    q, m, tilt, step = F(1, 10**6), F(5, 4), 4.0, 16.0
    law = SubsampledGaussianLaw(q, m, view)  # type: ignore[arg-type]
    found = law.transform(tilt, step=step, count=5, budget=1e-16)
    assert found.excess is not None
    with mpmath.workdps(40):
        share, shift, size = mpmath.mpf(1) / 10**6, mpmath.mpf("1.25"), mpmath.mpf(1) / 40
        power = tilt + 1 if view == "mixture" else -tilt
        sums = [mpmath.mpc(0)] * 6
        for j in range(-600, 1000):
            y = j * size
            log_ratio = mpmath.log1p(share * mpmath.expm1(shift * y - shift**2 / 2))
            weight = mpmath.npdf(y) * mpmath.exp(power * log_ratio)
            loss = log_ratio if view == "mixture" else -log_ratio
            sums[5] += weight
            for k in range(5):
                sums[k] += weight * mpmath.expm1(1j * k * step * (loss - found.centre))
        for k in range(5):
            gap = abs(sums[k] / sums[5] - mpmath.mpmathify(complex(found.excess.values[k])))
            assert gap <= float(found.excess.error[k]) < 1e-16


def plans(product: Product, epsilon: float) -> list[Plan]:
    inversion = Inversion(product, 1e-6)
    tilt = product.saddle(epsilon)
    found = []
    for gap in (0.0, 1e-2):
        plan = inversion.plan(epsilon, tilt, gap, 1e-8)
        if plan is not None and plan.count < 600:
            found.append(plan)
    return found


@pytest.mark.parametrize("seed", range(30))
def test_the_whole_sum(seed: int) -> None:
    """Value and stated rounding of the double sums against the ball sums of the same nodes."""
    rng = np.random.default_rng(1000 + seed)
    parts: list[tuple[LossLaw | GaussianLaw, int]] = []
    transforms = []
    for _ in range(int(rng.integers(1, 4))):
        atoms = random_atoms(rng, int(rng.integers(2, 9)), float(rng.choice([0.05, 0.3])))
        count = int(rng.integers(1, 60))
        parts.append((atoms, count))
        transforms.append((atoms_transform(atoms.log_masses, atoms.losses), count))
    variance = F(int(rng.integers(1, 100)), 20) if seed % 2 else F(0)
    if variance:
        parts.append((GaussianLaw(variance), 1))
    product = Product.of(parts)
    moments = product.moments(2.0**-10)
    epsilon = float(moments.mean + rng.choice([0.0, 2.0, 8.0]) * math.sqrt(moments.variance))
    tried = 0
    for plan in plans(product, epsilon):
        tried += 1
        contour = Contour(product, plan, budget=1e-9)
        bounds = contour.log_bounds(epsilon)
        balls = ball_sums(
            transforms,
            variance,
            F(epsilon),
            tilt=plan.tilt,
            step=plan.step,
            count=plan.count,
            spread=plan.spread,
        )
        # The bounds allow for rounding and truncation; balls have neither.
        assert bounds.upper >= balls[0].lower
        assert bounds.lower <= balls[-1].upper
        cut = math.log(truncation(product, plan.tilt, plan.step * (plan.count - 1), plan.spread))
        exponent = contour.log_mgf - plan.tilt * epsilon
        if balls[0].upper > exponent + cut + 25:
            assert bounds.upper - balls[0].upper < 1e-6
    assert tried or not variance


@pytest.mark.parametrize("seed", range(20))
def test_kernels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tilt = float(rng.choice([0.01, 0.5, 5.0, 40.0]))
    spread = float(rng.choice([0.001, 0.02, 0.3])) / max(1.0, tilt)
    t = np.linspace(0.0, 9.0 / spread, 50)
    bound = kernel_error(tilt, t, spread)
    up, down = upper_kernel(tilt, t, spread), lower_kernel(tilt, t, spread)
    with precision(160):
        v = arb(spread) * arb(spread)
        for place, at in enumerate(t.tolist()):
            z = acb(arb(tilt), arb(at))
            above = (v * (z * z + z) / 2).exp()
            below = (1 + z) * (v * z * z / 2).exp() - z * (v * (z + 1) * (z + 1) / 2).exp()
            assert abs(above - acb(complex(up[place]))) < bound[place]
            assert abs(below - acb(complex(down[place]))) < bound[place]


def test_gauss_legendre_is_exact_for_polynomials() -> None:
    nodes, weights = gauss_legendre(7)
    for power in range(14):
        exact = 0.0 if power % 2 else 2 / (power + 1)
        assert math.isclose(float(weights @ nodes**power), exact, abs_tol=1e-15)
