"""The worst composition can mix the vertices: interior maxima for two and three values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.smoothed.many_values.compositions import (
    delta_table,
    expectation,
    expectations,
    relative_error,
)


@pytest.mark.parametrize(
    ("n", "n_draws", "epsilon", "shares", "best", "value"),
    [
        (40, 38, "0.01", ("0.4", "0.6"), 20, 0.47776720740160340644),
        (108, 2, "0.0188", ("0.33", "0.63"), 47, 0.00461580),
        (117, 2, "0.0212", ("0.32", "0.49"), 54, 0.00347891),
    ],
)
def test_interior_maximum_with_two_values(
    n: int, n_draws: int, epsilon: str, shares: tuple[str, str], best: int, value: float
) -> None:
    """proofs/smoothed-delta#6; the last model lies below 1/2 altogether."""
    vertices = tuple((Fraction(p), 1 - Fraction(p)) for p in shares)
    mechanism = sd.SamplingHistogram(n, n_draws=n_draws)
    lower, upper = delta_table(mechanism, 2, Fraction(epsilon))
    error = relative_error(n, 2)
    values = dict(expectations(upper, n, vertices))
    ends = max(values[n, 0], values[0, n]) * (1 + error) + 1e-300
    inside = expectation(lower, (best, n - best), vertices) * (1 - error)
    assert inside > ends
    assert inside == pytest.approx(value, rel=2e-6)
    assert max(values, key=values.__getitem__) == (best, n - best)
    result = sd.smoothed_delta(mechanism, sd.DataModel(vertices), epsilon=epsilon)
    assert result.vertex_counts == (best, n - best)
    assert result.lower > ends


@pytest.mark.slow
def test_interior_maximum_with_three_values() -> None:
    """proofs/smoothed-delta#6: no small case shows it; n = 1500 does, by .17%.

    Two draws, epsilon = 143 / 150000, vertices (37, 49, 57) / 143 and (49, 37, 57) / 143.
    """
    n, epsilon = 1500, Fraction(143, 150_000)
    shares = (Fraction(37, 143), Fraction(49, 143), Fraction(57, 143))
    vertices = (shares, (shares[1], shares[0], shares[2]))
    lower, upper = delta_table(sd.SamplingHistogram(n, n_draws=2), 3, epsilon)
    error = relative_error(n, 3)
    ends = [expectation(upper, (n - j, j), vertices) * (1 + error) + 1e-300 for j in (0, n)]
    middle = expectation(lower, (n // 2, n // 2), vertices) * (1 - error)
    assert middle > 1.0016 * max(ends)
    assert np.allclose([*ends, middle], [6.171737057891e-4] * 2 + [6.182221660476e-4], rtol=1e-11)
