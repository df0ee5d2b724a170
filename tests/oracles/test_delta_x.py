"""delta(x) and the utility against literal enumeration of samples, neighbours and sets."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import partial

import pytest

from smoothdp import BernoulliHistogram, SamplingHistogram
from smoothdp.errors import PrivacyWarning
from smoothdp.exact.parameters.numbers import exact_real
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism
from smoothdp.testing import oracles
from tests.checkers.rationals import log_fraction

GROWTHS = [Fraction(1), Fraction(101, 100), Fraction(3, 2), Fraction(3), Fraction(40)]


def mechanism_and_law(
    kind: str, n: int, m: int, size: int
) -> tuple[HistogramMechanism, Callable[[oracles.Database], oracles.Law]]:
    """Return a mechanism and its literal law; size runs from 1 to n."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        if kind == "independent":
            keep = Fraction(size, n)
            mechanism: HistogramMechanism = BernoulliHistogram(n, keep_probability=keep)
            return mechanism, partial(oracles.law_independent, n_categories=m, keep=keep)
        mechanism = SamplingHistogram(n, n_draws=size, sampling=kind)  # type: ignore[arg-type]
    name = {
        "without_replacement": oracles.law_without_replacement,
        "with_replacement": oracles.law_with_replacement,
    }[kind]
    return mechanism, partial(name, n_categories=m, n_draws=size)


def compositions(n: int, m: int) -> list[tuple[int, ...]]:
    if m == 1:
        return [(n,)]
    return [(k, *rest) for k in range(n + 1) for rest in compositions(n - k, m - 1)]


CASES = [
    ("without_replacement", 2, range(2, 9)),
    ("without_replacement", 3, range(3, 7)),
    ("without_replacement", 4, range(4, 6)),
    ("with_replacement", 2, range(2, 6)),
    ("with_replacement", 3, range(3, 5)),
    ("independent", 2, range(2, 8)),
    ("independent", 3, range(3, 6)),
]


@pytest.mark.parametrize(("kind", "m", "sizes"), CASES)
def test_delta_equals_enumeration(kind: str, m: int, sizes: range) -> None:
    checked = 0
    for n in sizes:
        for draws in range(1, n + 1):
            mechanism, law = mechanism_and_law(kind, n, m, draws)
            for counts in compositions(n, m):
                if tuple(sorted(counts)) != counts:
                    continue
                x = oracles.database(counts)
                for growth in GROWTHS:
                    truth = oracles.delta_by_enumeration(x, m, law, growth)
                    epsilon = f"ln({growth})"
                    bounds = mechanism.at(counts).log_delta_bounds(
                        exact_real(epsilon, name="epsilon")
                    )
                    if truth == 0:
                        assert bounds.lower == -math.inf
                        assert mechanism.delta(counts, epsilon=epsilon) <= 1e-290
                    else:
                        log_truth = log_fraction(truth)
                        assert bounds.lower <= log_truth + 4e-16
                        assert bounds.upper >= log_truth - 4e-16
                        assert bounds.upper - bounds.lower < 1e-11
                    checked += 1
    assert checked > 50


@pytest.mark.parametrize("kind", ["without_replacement", "with_replacement", "independent"])
@pytest.mark.parametrize("m", [2, 3])
def test_utility_equals_enumeration(kind: str, m: int) -> None:
    rng = random.Random(20201103)
    for _ in range(40):
        n = rng.randint(2, 5 if kind == "with_replacement" else 6)
        mechanism, law = mechanism_and_law(kind, n, m, rng.randint(1, n))
        known = oracles.histogram((rng.randrange(m) for _ in range(n - 1)), m)
        threshold = rng.choice([Fraction(1, m), Fraction(51, 100), Fraction(3, 5), Fraction(9, 10)])
        truth = oracles.utility_by_enumeration(oracles.database(known), m, law, threshold)
        bounds = mechanism.log_adversary_utility(known, threshold=threshold)
        upper = mechanism.adversary_utility(known, threshold=threshold)
        assert float(truth) <= upper * (1 + 1e-15)
        assert upper <= float(truth) * (1 + 1e-9) + 1e-12
        assert bounds.lower <= (log_fraction(truth) if truth else -math.inf) + 1e-12


def test_the_comparison_can_fail() -> None:
    """A wrong law is told apart: one record more in the sample."""
    mechanism, _ = mechanism_and_law("without_replacement", 7, 2, 3)
    _, wrong = mechanism_and_law("without_replacement", 7, 2, 4)
    truth = oracles.delta_by_enumeration(oracles.database((3, 4)), 2, wrong, Fraction(3, 2))
    lower, upper = mechanism.delta_bounds((3, 4), epsilon="ln(3/2)")
    assert not lower <= truth <= upper
