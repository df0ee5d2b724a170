"""Paper 2, Lemmas 45 and 44: both hold as printed (45 for mean 0), 44 with log n and any mean.

Lemma 45. Let X_1, ..., X_n have mean 0 and be sigma-subgaussian, not necessarily independent.
Then E max X_i^2 <= 2 sigma^2 ln(2n). Proof, with sigma = 1, u = 2 ln(2n) and t = sqrt u: for all x

    x^2 <= u - 2 coth u + 2 cosh(t x) / sinh u,

for with w = t x the right side less the left has the derivative 2 (sinh w / sinh u - w / u) in w,
and sinh w / w grows with w > 0: it is least at w = u, and 0 there. So x^2 at the largest X_i is
at most the sum over i, and E cosh(t X_i) <= e^(u/2) = 2n gives in all
u - 2 coth u + e^u / sinh u = u - e^-u / sinh u < u.

Lemma 44. S (n - 2m) is at most the larger of x_(n) - x_(1) and e^(-mt) (b - a). Each of the
n (n - 1) / 2 differences X_i - X_j has mean 0 and is (sqrt 2 sigma)-subgaussian, whatever the mean
of X, so E (x_(n) - x_(1))^2 <= 4 sigma^2 ln(n (n - 1)) <= 8 sigma^2 ln n.
"""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from smoothdp.types import FloatArray

PLACES = np.linspace(1e-2, 60, 1200)


@pytest.mark.parametrize("n", [1, 2, 3, 10, 1000])
def test_lemma_45_the_inequality_and_its_sum(n: int) -> None:
    with mpmath.workdps(40):
        u = 2 * mpmath.log(2 * n)
        for step in range(401):
            x = mpmath.mpf(step) / 40 * mpmath.sqrt(u)
            room = u - 2 * mpmath.coth(u) + 2 * mpmath.cosh(mpmath.sqrt(u) * x) / mpmath.sinh(u)
            assert x**2 <= room + mpmath.mpf(10) ** -30
            # It touches at x = sqrt u, so none of its terms can be smaller.
            assert step != 40 or abs(room - x**2) < mpmath.mpf(10) ** -30
        total = u - 2 * mpmath.coth(u) + 2 * n * mpmath.exp(u / 2) / mpmath.sinh(u)
        assert mpmath.almosteq(total, u - mpmath.exp(-u) / mpmath.sinh(u))
        assert total < u


def subgaussian(values: FloatArray, masses: FloatArray) -> float:
    """The least sigma^2 of Definition 16 for a finite law of mean 0, to a part in a thousand."""
    scale = float(np.abs(values).max())
    places = np.concatenate([PLACES, -PLACES]) / scale
    exponents = places[:, None] * values
    top = exponents.max(axis=1)
    logs = top + np.log(np.exp(exponents - top[:, None]) @ masses)
    return max(float((2 * logs / places**2).max()), float(masses @ values**2))


def expected_maxima(values: FloatArray, masses: FloatArray, n: int) -> tuple[float, float]:
    """E max X_i^2 and E (max - min)^2 of n independent draws, exactly up to rounding."""
    squares = sorted({v * v for v in values.tolist()})
    below = [float(masses[values**2 <= s].sum()) ** n for s in squares]
    largest = sum(s * p for s, p in zip(squares, np.diff([0.0, *below]), strict=True))
    k, spread = len(values), 0.0
    inside = np.zeros((k + 1, k + 1))  # all draws among values[i:j]
    for i in range(k):
        for j in range(i + 1, k + 1):
            inside[i, j] = float(masses[i:j].sum()) ** n
    for i in range(k):
        for j in range(i, k):
            both = inside[i, j + 1] - (inside[i, j] if j > i else 0.0)
            both -= (inside[i + 1, j + 1] - inside[i + 1, j]) if j > i else 0.0
            spread += both * (values[j] - values[i]) ** 2
    return float(largest), spread


def test_both_lemmas_against_laws_of_few_values() -> None:
    """Random laws, and the rare pair of far values that comes nearest: up to .8 of the bound."""
    rng, nearest, widest = np.random.default_rng(44), 0.0, 0.0
    laws = [
        (np.array([-1.0, 0.0, 1.0]), np.array([p / 2, 1 - p, p / 2]))
        for p in (1e-4, 1e-3, 0.02, 0.2, 0.7, 1 - 1e-9)
    ]
    for _ in range(60):
        masses = rng.dirichlet(np.full(4, 0.4))
        values = np.sort(rng.normal(size=4))
        laws.append((values - float(masses @ values), masses))
    for values, masses in laws:
        variance = subgaussian(values, masses)
        for n in (2, 3, 5, 12, 40, 1000, 20_000):
            square, spread = expected_maxima(values, masses, n)
            nearest = max(nearest, square / (2 * variance * math.log(2 * n)))
            widest = max(widest, spread / (4 * variance * math.log(n * (n - 1))))
    assert 0.75 < nearest <= 1
    assert 0.6 < widest <= 1


def test_lemma_44_holds_with_log_n_for_every_mean() -> None:
    """4 ln(n (n - 1)) <= 8 ln n; half of it is too little already for two signs."""
    for n in range(2, 200):
        assert 4 * math.log(n * (n - 1)) < 8 * math.log(n)
    signs, even = np.array([-1.0, 1.0]), np.array([0.5, 0.5])
    assert subgaussian(signs, even) == pytest.approx(1, abs=1e-9)
    spread = expected_maxima(signs, even, 2)[1]
    assert spread == pytest.approx(2)
    assert 2 * math.log(2) < spread <= 4 * math.log(2)
    moved = expected_maxima(signs + 10, even, 2)
    assert moved[1] == pytest.approx(spread)
    assert moved[0] > 2 * math.log(4)  # Lemma 45 does need the mean
