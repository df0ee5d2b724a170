"""Statements of docs/proofs/tilted-contour.md, for laws of a few atoms, by mpmath."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from mpmath import mpc, mpf

import smoothdp as sd
from smoothdp.mechanisms.additive.laplace import LaplaceLaw
from smoothdp.training_runs.gaussian_step.subsampled_law import SubsampledGaussianLaw, View


@pytest.fixture(autouse=True)
def _digits() -> Iterator[None]:
    """Roundings of the sums that are tested lie far below their errors."""
    with mpmath.workdps(40):
        yield


Law = list[tuple[mpf, mpf]]


def random_law(seed: int) -> Law:
    """Atoms (mass, loss), one far out; the masses need not add up to 1."""
    rng = random.Random(seed)
    losses = [rng.uniform(-2, 2) for _ in range(4)] + [rng.uniform(3, 5)]
    masses = [rng.random() for _ in losses]
    whole = sum(masses) * rng.uniform(1, 1.2)
    return [(mpf(m) / whole, mpf(loss)) for m, loss in zip(masses, losses, strict=True)]


def delta(law: Law, e: mpf) -> mpf:
    return sum(p * (1 - mpmath.exp(e - loss)) for p, loss in law if loss > e) + mpf(0)


def term(law: Law, e: mpf, z: mpc) -> mpc:
    return sum(p * mpmath.exp(z * (loss - e)) for p, loss in law) / (z * (z + 1))


def aliases(law: Law, e: mpf, c: mpf, period: mpf, m_from: int, m_to: int) -> mpf:
    return sum(
        mpmath.exp(c * m * period) * delta(law, e + m * period) for m in range(m_from, m_to) if m
    ) + mpf(0)


@pytest.mark.parametrize("seed", range(3))
def test_the_sum_is_that_of_the_aliases(seed: int) -> None:
    """Statements 1 and 2. The tail of the sum falls like 1 / t^2: the rest is bounded by that."""
    law, e, c, period = random_law(seed), mpf("0.4"), mpf("0.7"), mpf(5)
    step, count = 2 * mpmath.pi / period, 6000
    total = term(law, e, mpc(c)).real / 2
    for j in range(1, count):
        total += term(law, e, mpc(c, j * step)).real
    total *= step / mpmath.pi
    size = sum(p * mpmath.exp(c * (loss - e)) for p, loss in law)
    rest = size / (mpmath.pi * step * (count - 1))
    truth = delta(law, e) + aliases(law, e, c, period, -12, 3)
    assert abs(total - truth) <= rest
    # Without the aliases it is false: both the rest and they are visible.
    assert abs(total - delta(law, e)) > 10 * rest


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("spread", ["0.05", "0.4"])
def test_smoothing_lies_on_its_side(seed: int, spread: str) -> None:
    """Statement 4: smoothed sums of a finite length, whose rest is below 1e-20."""
    rng = random.Random(seed)
    law, e, c, s = random_law(seed), mpf(rng.uniform(-1, 3)), mpf(rng.uniform(0.2, 2)), mpf(spread)
    period = mpf(30) / min(c, 1)
    step = 2 * mpmath.pi / period

    def gauss(z: mpc) -> mpc:
        return mpmath.exp(s * s * z * z / 2)

    above, below = mpf(0), mpf(0)
    for j in range(int(mpf(10) / s / step) + 2):
        z = mpc(c, j * step)
        value = term(law, e, z) * (step / mpmath.pi) / (2 if j == 0 else 1)
        above += (value * mpmath.exp(s * s * (z + z * z) / 2)).real
        below += (value * ((1 + z) * gauss(z) - z * gauss(z + 1))).real
    truth = delta(law, e)
    assert below - aliases(law, e, c, period, -6, 3) <= truth + mpf("1e-13")
    assert truth <= above + mpf("1e-13")
    assert above - below < 4 * s * s * (1 + c) ** 2 + s


def integral(q: mpf, m: mpf, w: mpc) -> mpc:
    """The transform of a subsampled step by a much finer rule."""
    h, total = mpf(1) / 64, mpc(0)
    for j in range(-12 * 64, 24 * 64):
        y = j * h
        total += mpmath.exp(-y * y / 2) * mpmath.power(1 - q + q * mpmath.exp(m * y - m * m / 2), w)
    return total * h / mpmath.sqrt(2 * mpmath.pi)


STEPS = [(".01", "1", "3"), (".3", "1.6", "1.5"), (".9", ".5", "4")]


@pytest.mark.parametrize(("rate", "shift", "tilt"), STEPS)
@pytest.mark.parametrize("mixture_first", [True, False])
def test_the_trapezoid_rule_of_a_subsampled_step(
    rate: str, shift: str, tilt: str, mixture_first: bool
) -> None:
    """Statement 7: the error is within its bound, which is needed."""
    q, m, c, worst = mpf(rate), mpf(shift), mpf(tilt), mpf(0)
    whole = integral(q, m, mpc(c + 1 if mixture_first else -c)).real
    for t in (mpf(0), mpf(5)):
        w = mpc(c + 1, t) if mixture_first else mpc(-c, -t)
        truth = integral(q, m, w)
        for h in (mpf("0.4"), mpf(1)):
            total = mpf(0)
            for j in range(-int(12 / h), int(24 / h)):
                y = j * h
                ratio = 1 - q + q * mpmath.exp(m * y - m * m / 2)
                total += h * mpmath.npdf(y) * mpmath.power(ratio, w)
            for share in ("0.3", "0.6", "0.95"):
                d = mpf(share) * mpmath.pi / (2 * m)
                size = mpmath.exp(d * d / 2 + t * m * d) * 2 / mpmath.expm1(2 * mpmath.pi * d / h)
                kappa = 1 if mixture_first else mpmath.cos(m * d) ** -c
                assert abs(total - truth) <= size * kappa * whole + mpf("1e-15")
            worst = max(worst, abs(total - truth) / whole)
    # There is an error to be seen.
    assert worst > mpf("1e-12")


@pytest.mark.parametrize(("rate", "shift", "tilt"), STEPS)
@pytest.mark.parametrize("mixture_first", [True, False])
def test_a_subsampled_step_from_a_node_on(
    rate: str, shift: str, tilt: str, mixture_first: bool
) -> None:
    """Statement 8, and what the code makes of it: above every later value, and not 1."""
    view: View = "mixture" if mixture_first else "base"
    law = SubsampledGaussianLaw(Fraction(rate), Fraction(shift), view)
    q, m, c = mpf(rate), mpf(shift), mpf(tilt)
    whole = integral(q, m, mpc(c + 1 if mixture_first else -c)).real
    for t in (1.0, 5.0, 12.0):
        bound = law.decay(float(c), t)
        for later in (t, 1.4 * t):
            w = mpc(c + 1, later) if mixture_first else mpc(-c, -later)
            assert abs(integral(q, m, w)) / whole <= bound
    assert law.decay(float(c), 12.0) < 1


@pytest.mark.parametrize("view", ["mixture", "base"])
def test_sums_over_the_whole_line_are_within_their_error(view: View) -> None:
    """What `plain_sums.py` returns, with its rounding, against 15 digits and more."""
    q, m, c = Fraction(1, 100), Fraction(1), 4.0
    law = SubsampledGaussianLaw(q, m, view)
    p, sign = (mpf(c + 1), 1) if view == "mixture" else (mpf(-c), -1)
    whole = integral(mpf(1) / 100, mpf(1), mpc(p)).real
    moments = law.moments(c)
    assert abs(mpmath.log(whole) - moments.log_mgf) <= moments.error < 1e-12
    found = law.transform(c, step=1.5, count=20, budget=0.0)
    for j in (0, 3, 19):
        t = mpf(1.5) * j
        truth = integral(mpf(1) / 100, mpf(1), mpc(p, sign * t)) / whole
        truth *= mpmath.expj(-t * mpf(found.centre))
        gap = abs(truth - mpc(complex(found.values[j])))
        assert gap <= found.error[j] < 1e-11
        assert gap < 0.1 * found.error[j]


@pytest.mark.parametrize("seed", range(20))
def test_two_atoms_bound_the_product(seed: int) -> None:
    """Statement 9 (i) and (ii), for Laplace laws; with twice the weight it is false."""
    rng = random.Random(seed)
    tilt = rng.uniform(0.2, 20)
    laws = [LaplaceLaw(rng.uniform(0.005, 0.1)) for _ in range(6)]
    t = np.array([rng.uniform(0, 3000) for _ in range(40)] + [1e-3])
    logs, bound = np.zeros(t.size), np.zeros(t.size)
    for law in laws:
        logs += np.log(np.abs(law.transform_at(tilt, t).values))
        atoms = law.two_atoms(tilt)
        bound += atoms.weight * (np.cos(2 * atoms.half_distance * t) - 1)
    assert (logs <= bound + 1e-12).all()
    assert (logs > 4 * bound - 1e-12).any()


def moving_delta(law: Law, n: int, epsilon: mpf, least: int) -> mpf:
    """E[phi(S - epsilon)] of n losses of a law, at least some of which are not 0."""
    total = mpf(0)
    for chosen in itertools.product(law, repeat=n):
        if sum(loss != 0 for _, loss in chosen) >= least:
            loss = sum(each for _, each in chosen)
            if loss > epsilon:
                mass = mpmath.fprod(p for p, _ in chosen)
                total += mass * (1 - mpmath.exp(epsilon - loss))
    return total


@pytest.mark.parametrize("seed", range(3))
def test_losses_that_are_often_zero(seed: int) -> None:
    """Statement 10: the split, the transform, its size; at epsilon < 0 the split fails."""
    rng = random.Random(seed)
    law = [(p * mpf("0.6"), loss) for p, loss in random_law(seed)] + [(mpf("0.4"), mpf(0))]
    n, c = rng.randint(2, 4), mpf(rng.uniform(0.5, 3))
    alone = {e: moving_delta(law, 1, mpf(e), 0) for e in ("0", "0.7", "-0.5")}
    for e, one in alone.items():
        whole = moving_delta(law, n, mpf(e), 0)
        parts = n * one * mpf("0.4") ** (n - 1) + moving_delta(law, n, mpf(e), 2)
        assert (abs(whole - parts) < mpf(10) ** -30) == (mpf(e) >= 0)
    mgf = sum(p * mpmath.exp(c * loss) for p, loss in law)
    for t in (mpf("0.3"), mpf(2), mpf(11)):
        z = mpc(c, t)
        a = mpf("0.4") / mgf
        b = sum(p * mpmath.exp(z * loss) for p, loss in law if loss) / mgf
        found = (a + b) ** n - a**n - n * b * a ** (n - 1)
        sets = sum(
            mpmath.fprod(p * mpmath.exp(z * loss) / mgf for p, loss in chosen)
            for chosen in itertools.product(law, repeat=n)
            if sum(loss != 0 for _, loss in chosen) >= 2
        )
        assert abs(found - sets) < mpf(10) ** -30
        assert abs(found) <= mpf(n * (n - 1)) / 2 * abs(b) ** 2 * (1 + mpf(10) ** -30)


@pytest.mark.parametrize(
    ("rate", "noise", "tilt"),
    [("1/100", "1", 2.0), ("1/10", "2", 8.0), ("1/2", "1/2", 1.0), ("9/10", "3", 4.0)],
)
def test_what_moves_falls(rate: str, noise: str, tilt: float) -> None:
    """Statement 11, against the integral by many points; it is within a factor of 10 of it."""
    law = SubsampledGaussianLaw(Fraction(rate), 1 / Fraction(noise), "symmetric")
    q, m = float(Fraction(rate)), float(1 / Fraction(noise))
    nodes, weights = np.polynomial.legendre.leggauss(40)
    edges = np.linspace(m / 2, m / 2 + (tilt + 1) * m + 10, 1500)
    half = 0.5 * np.diff(edges)[:, np.newaxis]
    y = 0.5 * (edges[1:] + edges[:-1])[:, np.newaxis] + half * nodes
    logs = np.log1p(q * np.expm1(m * y - m * m / 2))
    base = half * weights * np.exp(-y * y / 2) / np.sqrt(2 * np.pi)
    mgf = math.exp(law.moments(tilt).log_mgf)
    scale = max(70.0, 20.0 / (q * m))

    def size(t: float) -> float:
        up, down = (tilt + 1 + 1j * t) * logs, (-tilt - 1j * t) * logs
        return float(abs(np.sum(base * (np.exp(up) + np.exp(down))))) / mgf

    for start in (scale, 3 * scale):
        bound = law.moving_decay(tilt, start)
        found = [size(start * far) for far in (1.0, 1.03, 1.2, 1.5)]
        assert max(found) <= bound < 10 * max(found)


@pytest.mark.parametrize("epsilon", ["0", "0.00062", "0.3", "1.2", "3"])
def test_one_closed_law_beside_atoms(epsilon: str) -> None:
    """A step without replacement, two pure claims and one with a delta, in high precision."""
    step = sd.SubsampledGaussian("0.03", noise_multiplier="0.7", sampling="without_replacement")
    others = [(sd.PureDP("0.0314"), 2), (sd.ApproxDP("0.4", delta="1e-4"), 1)]
    profile = sd.compose([(step, 1), *others])
    assert profile.route == "exact sum"
    with mpmath.workdps(40):
        q, m, e = mpmath.mpf("0.03"), 1 / mpmath.mpf("0.7"), mpmath.exp(mpmath.mpf(epsilon))

        def gaussian(x: mpmath.mpf) -> mpmath.mpf:
            at = mpmath.log(x) / m
            return mpmath.ncdf(m / 2 - at) - x * mpmath.ncdf(-m / 2 - at)

        def closed(x: mpmath.mpf) -> mpmath.mpf:
            return q * gaussian(1 + (x - 1) / q) if x >= 1 else 1 - x + x * closed(1 / x)

        atoms = [(mpmath.mpf(1), mpmath.mpf(1))]
        for size in ("0.0314", "0.0314", "0.4"):
            a = mpmath.exp(mpmath.mpf(size))
            both = [(a / (1 + a), a), (1 / (1 + a), 1 / a)]
            atoms = [(p * w, r * x) for p, r in atoms for w, x in both]
        kept = 1 - mpmath.mpf("1e-4")
        truth = 1 - kept + kept * sum(p * closed(e / r) for p, r in atoms)
        below, above = profile.delta_bounds(epsilon)
        assert below <= truth <= above <= below * (1 + 1e-11)
        wrong = 1 - kept + kept * sum(p * max(0, 1 - e / r) for p, r in atoms)
        assert not below <= wrong <= above
