"""The reference protocols of other models, which the benchmark compares with."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks import histogram_protocols as peers

RNG = np.random.default_rng(20261121)
COUNTS = np.array([4000, 3000, 0, 2000, 1000, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_local_randomisers_have_exactly_their_epsilon(epsilon: float) -> None:
    keep, other = peers.response_probabilities(10, epsilon)
    assert keep + 9 * other == pytest.approx(1.0)
    assert math.log(keep / other) == pytest.approx(epsilon)
    # Two bits differ between two bins: the largest ratio is at (1, 0).
    here, elsewhere = peers.unary_probabilities(epsilon)
    ratio = here * (1 - elsewhere) / ((1 - here) * elsewhere)
    assert math.log(ratio) == pytest.approx(epsilon)


@pytest.mark.parametrize(
    "run",
    [
        lambda: peers.randomised_response(COUNTS, 1.0, RNG),
        lambda: peers.unary_encoding(COUNTS, 1.0, RNG),
        lambda: peers.hadamard_response(COUNTS, 1.0, RNG),
        lambda: peers.laplace(COUNTS, 1.0, RNG),
    ],
)
def test_unbiased(run) -> None:  # type: ignore[no-untyped-def]
    runs = np.array([run() for _ in range(400)])
    spread = runs.std(axis=0) / math.sqrt(400)
    # Ten bins, 6 standard errors: a false alarm has probability 2e-8.
    assert (np.abs(runs.mean(axis=0) - COUNTS) < 6 * spread).all()


def test_spreads_are_those_of_the_formulas() -> None:
    n, e = int(COUNTS.sum()), math.exp(1.0)
    unary = np.array([peers.unary_encoding(COUNTS, 1.0, RNG)[9] for _ in range(2000)])
    assert unary.var() == pytest.approx(n * 4 * e / (e - 1) ** 2, rel=0.2)
    hadamard = np.array([peers.hadamard_response(COUNTS, 1.0, RNG)[9] for _ in range(1000)])
    assert hadamard.var() == pytest.approx(n * ((e + 1) / (e - 1)) ** 2, rel=0.25)
    noise = np.array([peers.laplace(COUNTS, 1.0, RNG)[9] for _ in range(4000)])
    assert noise.var() == pytest.approx(8.0, rel=0.25)


def test_hadamard_matrix() -> None:
    for size in (2, 8, 32):
        rows = np.array([peers._hadamard(row) for row in np.eye(size)])
        assert (rows @ rows.T == size * np.eye(size)).all()
        signs = [[(-1) ** (i & j).bit_count() for j in range(size)] for i in range(size)]
        assert (rows == np.array(signs)).all()


def test_stability_keeps_zeros_and_its_delta() -> None:
    for _ in range(50):
        assert (peers.stability(COUNTS, 1.0, 1e-6, RNG)[COUNTS == 0] == 0.0).all()
    # A bin with one record against an empty one, in each of two bins: P(shown) <= delta / 2.
    shown = 0.5 * math.exp(-(peers.stability_threshold(1.0, 1e-6) - 1) / 2)
    assert 2 * shown <= 1e-6


def test_table_1_orders_the_models() -> None:
    lines = {
        line.protocol: line for line in peers.table(20_000, 50, epsilon=1.0, delta=1e-6, runs=8)
    }
    errors = {name: line.error for name, line in lines.items()}
    assert errors["stability"] < errors["zero-preserving, exact"] < errors["unary encoding"]
    assert errors["zero-preserving, exact"] * 20 < errors["zero-preserving, paper"]
    assert lines["low communication"].messages < 2 < lines["zero-preserving, exact"].messages
    assert lines["zero-preserving, exact"].error <= 75


def test_zipf_counts() -> None:
    counts = peers.zipf_counts(1000, 5000)
    assert counts.sum() == 1000
    assert (counts == 0).any()
