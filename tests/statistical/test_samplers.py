"""Samplers against their exact law; the same test rejects a declared wrong law.

False-alarm rate: 1e-8 a test, fixed seeds; 1e-6 over the suite.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from smoothdp.exact.probabilities.scalar_pmf import hypergeometric_log_pmf
from smoothdp.exact.probabilities.windows import log_binomial_pmf
from smoothdp.exact.random.entropy import Entropy, SeededRandom, SystemRandom
from smoothdp.exact.random.samplers import (
    bernoulli,
    binomial,
    hypergeometric,
    multinomial,
    multivariate_hypergeometric,
)
from smoothdp.testing import frequency_test

LEVEL = 1e-8
CELLS = 41


def binned(
    draw: Callable[[Entropy], int], law: Callable[[np.ndarray], np.ndarray], low: int, high: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return counts of 20,000 draws and exact probabilities, in about CELLS bins."""
    rng = SeededRandom(20261121)
    draws = np.array([draw(rng) for _ in range(20_000)])
    edges = np.unique(np.linspace(low, high + 1, min(CELLS, high - low + 1) + 1).astype(np.int64))
    pmf = np.exp(law(np.arange(low, high + 1)))
    inside = np.add.reduceat(pmf, edges[:-1] - low)
    counts = np.histogram(draws, bins=edges)[0]
    outside = draws.size - counts.sum()
    return (
        np.append(counts, outside),
        np.append(inside, max(0.0, 1.0 - inside.sum())),
    )


def hypergeometric_logs(k: np.ndarray, n_draws: int, a: int, b: int) -> np.ndarray:
    return np.array([hypergeometric_log_pmf(x, n_draws, a, b)[0] for x in k.tolist()])


BINOMIALS = [
    (1, Fraction(1, 3)),
    (7, Fraction(2, 5)),
    (40, Fraction(99, 100)),
    (1000, Fraction(1, 1000)),
    (10**6, Fraction(1, 2)),
    (10**9, Fraction(1, 3)),
    (10**9, Fraction(1, 10**8)),
]


def spread(n: int, p: Fraction) -> tuple[int, int]:
    centre, sd = float(n * p), float(n * p * (1 - p)) ** 0.5
    return max(0, int(centre - 8 * sd) - 2), min(n, int(centre + 8 * sd) + 2)


@pytest.mark.parametrize(("n", "p"), BINOMIALS)
def test_binomial(n: int, p: Fraction) -> None:
    low, high = spread(n, p)
    counts, law = binned(
        lambda rng: binomial(n, p, rng), lambda k: log_binomial_pmf(k, n, p).log_values, low, high
    )
    assert frequency_test(counts, law / law.sum()) > LEVEL


def test_binomial_wrong_law_is_rejected() -> None:
    """Draws at p + 0.05 standard deviations of the mean, 10^9 trials."""
    n, p = 10**9, Fraction(1, 3)
    wrong = p + Fraction(1, 10**6)
    low, high = spread(n, p)
    counts, law = binned(
        lambda rng: binomial(n, wrong, rng),
        lambda k: log_binomial_pmf(k, n, p).log_values,
        low,
        high,
    )
    assert frequency_test(counts, law / law.sum()) < LEVEL


HYPERGEOMETRICS = [
    (3, 4, 5),
    (9, 4, 6),
    (50, 30, 40),
    (155_196_462, 74_223_975, 81_283_501),
    (5 * 10**8, 3 * 10**8, 7 * 10**8),
    (1000, 10, 10**9),
]


@pytest.mark.parametrize(("n_draws", "a", "b"), HYPERGEOMETRICS)
def test_hypergeometric(n_draws: int, a: int, b: int) -> None:
    n = a + b
    centre = n_draws * a / n
    sd = (centre * (b / n) * ((n - n_draws) / max(1, n - 1))) ** 0.5
    low = max(0, n_draws - b, int(centre - 8 * sd) - 2)
    high = min(a, n_draws, int(centre + 8 * sd) + 2)
    counts, law = binned(
        lambda rng: hypergeometric(n_draws, a, b, rng),
        lambda k: hypergeometric_logs(k, n_draws, a, b),
        low,
        high,
    )
    assert frequency_test(counts, law / law.sum()) > LEVEL


def test_hypergeometric_wrong_law_is_rejected() -> None:
    """A sample with replacement is not one without."""
    counts, law = binned(
        lambda rng: binomial(50, Fraction(30, 70), rng),
        lambda k: hypergeometric_logs(k, 50, 30, 40),
        10,
        30,
    )
    assert frequency_test(counts, law / law.sum()) < LEVEL


def test_bernoulli() -> None:
    rng = SeededRandom(5)
    hits = sum(bernoulli(Fraction(3, 7), rng) for _ in range(30_000))
    assert frequency_test([hits, 30_000 - hits], [3 / 7, 4 / 7]) > LEVEL
    assert frequency_test([hits, 30_000 - hits], [0.45, 0.55]) < LEVEL


@pytest.mark.parametrize("replacing", [False, True])
def test_multivariate_samplers(replacing: bool) -> None:
    """Every histogram of 3 draws from counts (2, 1, 2), against enumeration."""
    from smoothdp.testing import oracles

    x = oracles.database((2, 1, 2))
    enumerate_law = oracles.law_with_replacement if replacing else oracles.law_without_replacement
    law = enumerate_law(x, 3, 3)
    draw = multinomial if replacing else multivariate_hypergeometric
    rng = SeededRandom(99)
    outputs = sorted(law)
    tally = dict.fromkeys(outputs, 0)
    for _ in range(20_000):
        tally[draw(3, (2, 1, 2), rng)] += 1
    stated = [float(law[output]) for output in outputs]
    assert frequency_test([tally[o] for o in outputs], stated) > LEVEL
    other = [1 / len(outputs)] * len(outputs)
    assert frequency_test([tally[o] for o in outputs], other) < LEVEL


def test_certain_cases() -> None:
    rng = SystemRandom()
    assert binomial(0, Fraction(1, 2), rng) == 0
    assert binomial(10**9, Fraction(0), rng) == 0
    assert binomial(10**9, Fraction(1), rng) == 10**9
    assert hypergeometric(5, 0, 9, rng) == 0
    assert hypergeometric(9, 4, 5, rng) == 4
    assert multinomial(4, (0, 3, 0), rng) == (0, 4, 0)
    assert multivariate_hypergeometric(0, (3, 2), rng) == (0, 0)


def test_seeded_draws_repeat_and_are_marked() -> None:
    first = [binomial(100, Fraction(1, 3), SeededRandom(4)) for _ in range(2)]
    assert first[0] == first[1]
    assert not SeededRandom(4).is_private
    assert SystemRandom().is_private
    assert "not private" in repr(SeededRandom(4))


def test_envelope_of_log_concave_laws() -> None:
    """P(m + x) <= P(m) min(1, e^(1 - P(m)|x|)): Devroye's bound, on every small case."""
    for n in range(1, 30):
        for numerator in range(1, 10):
            p = Fraction(numerator, 10)
            law = np.exp(log_binomial_pmf(np.arange(n + 1), n, p).log_values)
            mode = min(n, (n + 1) * p.numerator // p.denominator)
            assert law[mode] >= law.max() * (1 - 1e-12)
            distance = np.abs(np.arange(n + 1) - mode)
            envelope = law[mode] * np.minimum(1.0, np.exp(1 - law[mode] * distance))
            assert (law <= envelope * (1 + 1e-12)).all()
    for a in range(1, 12):
        for b in range(1, 12):
            for draws in range(1, a + b):
                low, high = max(0, draws - b), min(a, draws)
                k = np.arange(low, high + 1)
                law = np.exp(hypergeometric_logs(k, draws, a, b))
                mode = min(high, max(low, (draws + 1) * (a + 1) // (a + b + 2)))
                top = law[mode - low]
                assert top >= law.max() * (1 - 1e-12)
                envelope = top * np.minimum(1.0, np.exp(1 - top * np.abs(k - mode)))
                assert (law <= envelope * (1 + 1e-12)).all()
