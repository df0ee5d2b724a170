"""The weights behind the sampling-average, and their bounds, against whole numbers."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pytest

from smoothdp.mechanisms.average.sequences import SequenceSums
from smoothdp.mechanisms.average.subsets import SubsetSums
from smoothdp.mechanisms.average.sum_layers import (
    alternating,
    smallest_in_reach,
    subset_layers,
    sum_upper,
)
from tests.oracles.sample_sums import multiplied


class TestArithmetic:
    def integer_case(self) -> tuple[list[int], int, int]:
        rng = random.Random(11)
        return [rng.randint(3, 25) for _ in range(60)], 12, 30

    @pytest.mark.parametrize("n_draws", [12, 50])
    def test_weights_and_their_bounds(self, n_draws: int) -> None:
        """Every weight within its error, every outline around it, at each place."""
        x, _, span = self.integer_case()
        counts = [x.count(value) for value in range(span + 1)]
        sums = SubsetSums(counts, n_draws)
        assert np.allclose(sums.whole.sum(), math.comb(60, n_draws), rtol=1e-12)
        for removed in (min(x), sorted(x)[30], max(x)):
            rest = list(x)
            rest.remove(removed)
            shared, outline = sums.shared(removed), sums.outline(removed)
            for added in (0, removed, 11, span):
                drawn = multiplied(rest, n_draws - 1, "without_replacement")
                origin = span - sum(x) + (60 - n_draws) * span if n_draws > 30 else 0
                truth = np.zeros(sums.whole.size)
                for total, weight in drawn.items():
                    truth[total + added + origin] = float(weight)
                exact = shared.drawn(added)
                assert np.all(np.abs(exact - truth) <= 2 * sums.error * truth)
                assert np.all(outline.floor(added, added) <= truth * (1 + 1e-15))
                wide = outline.floor(0, span)
                assert np.all(wide <= truth * (1 + 1e-15))
                assert np.all(sums.inserted(sums.key(removed, added)) >= truth * (1 - 1e-15))
                if added == removed:
                    assert np.all(outline.own.lower <= truth * (1 + 1e-15))
                    assert np.all(outline.own.upper >= truth * (1 - 1e-15))
                    assert np.all(sums.own_floor() <= truth * (1 + 1e-15))
                cost = np.abs(np.sin(np.arange(truth.size))) * truth.max()
                surplus = np.maximum(truth - cost, 0).sum()
                for low, high in ((added, added), (max(0, added - 3), min(span, added + 5))):
                    mine, theirs = outline.added(low, high, cost)
                    assert np.maximum(mine - theirs, 0).sum() >= surplus * (1 - 1e-12)

    def test_sequences_and_their_bounds(self) -> None:
        x, n_draws, span = self.integer_case()
        counts = [x.count(value) for value in range(span + 1)]
        sums = SequenceSums(counts, n_draws)
        scale = math.factorial(n_draws)
        for removed in (min(x), max(x)):
            rest = list(x)
            rest.remove(removed)
            without = multiplied(rest, n_draws, "with_replacement")
            outline = sums.outline(removed)
            for added in (0, removed, span):
                truth = np.zeros(sums.whole.size)
                for total, weight in multiplied(
                    [*rest, added], n_draws, "with_replacement"
                ).items():
                    truth[total] = float(Fraction(weight - without.get(total, 0), scale))
                exact = sums.shared(removed).drawn(added)
                assert np.all(np.abs(exact - truth) <= 2 * sums.error * truth)
                assert np.all(outline.floor(0, span) <= truth * (1 + 1e-15))
                assert np.all(sums.inserted(added) >= truth * (1 - 1e-15))
                if added == removed:
                    assert np.all(outline.own.lower <= truth * (1 + 1e-15))
                    assert np.all(outline.own.upper >= truth * (1 - 1e-15))
                cost = np.abs(np.sin(np.arange(truth.size))) * truth.max()
                surplus = np.maximum(truth - cost, 0).sum()
                for low, high in ((added, added), (max(0, added - 3), min(span, added + 5))):
                    mine, theirs = outline.added(low, high, cost)
                    assert np.maximum(mine - theirs, 0).sum() >= surplus * (1 - 1e-12)

    def test_taking_a_record_out(self) -> None:
        """The alternating series brackets whole numbers, also where it cancels."""
        x, depth, span = self.integer_case()
        layers = subset_layers(x, depth, span, 1.0)
        for removed in (max(x), min(x)):
            rest = list(x)
            rest.remove(removed)
            lower, upper = alternating(layers, removed, [1.0] * (depth + 1), 60 * 2.0**-53)
            truth = multiplied(rest, depth, "without_replacement")
            for total in range(lower.size):
                assert Fraction(lower[total]) <= truth.get(total, 0) <= Fraction(upper[total])

    def test_sums_and_minima(self) -> None:
        values = np.random.default_rng(5).random(1000) ** 8
        exact = sum(map(Fraction, values.tolist()))
        assert exact <= Fraction(sum_upper(values)) <= exact * (1 + Fraction(1, 10**13))
        for reach in (0, 1, 2, 5, 31, 999, 1200):
            padded = [0.0] * reach + values.tolist() + [0.0] * reach
            expected = [min(padded[i : i + reach + 1]) for i in range(values.size + reach)]
            assert smallest_in_reach(values, reach).tolist() == expected
