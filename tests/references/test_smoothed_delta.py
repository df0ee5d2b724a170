"""Reference values of smoothed delta, and literal expectations over all databases."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction
from functools import partial
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.testing import oracles

CASES = json.loads(Path(__file__).with_name("smoothed_delta.json").read_text())["cases"]


def parameters() -> list[Any]:
    return [
        pytest.param(
            case,
            id=f"n{case['inputs']['n']}-m{case['inputs']['m']}-eps{case['inputs']['eps']}",
        )
        for case in CASES
    ]


@pytest.mark.parametrize("case", parameters())
def test_reference(case: dict[str, Any]) -> None:
    inputs = case["inputs"]
    sampling = "with_replacement" if inputs["replacement"] else "without_replacement"
    mechanism = sd.SamplingHistogram(inputs["n"], n_draws=inputs["T"], sampling=sampling)  # type: ignore[arg-type]
    result = sd.smoothed_delta(mechanism, sd.DataModel(inputs["Pi"]), epsilon=inputs["eps"])
    truth = Fraction(case["expected"])
    assert Fraction(result.lower) <= truth <= Fraction(result.delta)
    assert result.delta <= float(truth) * (1 + 5e-11)
    assert result.lower >= float(truth) * (1 - 5e-11)
    worst = result.vertex_counts
    if "argmax_composition" in case:
        assert list(worst) == case["argmax_composition"]
    if "argmax_count_of_first_vertex" in case:
        assert worst[0] == case["argmax_count_of_first_vertex"]
    if "argmax_count_of_larger_p_vertex" in case:
        larger = inputs["Pi"].index(max(inputs["Pi"], key=lambda vertex: float(vertex[0])))
        count = worst[larger]
        # Ends of equal value: either may be named.
        ties = {count, inputs["n"] - count} if len(set(case["endpoint_values"])) == 1 else {count}
        assert case["argmax_count_of_larger_p_vertex"] in ties


@pytest.mark.parametrize(("m", "n", "n_vertices"), [(2, 4, 2), (2, 5, 3), (3, 3, 2), (3, 4, 1)])
@pytest.mark.parametrize("kind", ["without_replacement", "independent"])
def test_against_every_database(m: int, n: int, n_vertices: int, kind: str) -> None:
    """Algorithm 1 by its definition: all assignments of vertices, all databases."""
    rng = random.Random(n + 10 * m)
    vertices = []
    for _ in range(n_vertices):
        weights = [rng.randint(1, 9) for _ in range(m)]
        vertices.append([Fraction(w, sum(weights)) for w in weights])
    mechanism: sd.SamplingHistogram | sd.BernoulliHistogram
    if kind == "independent":
        mechanism = sd.BernoulliHistogram(n, keep_probability="1/2")
        law = partial(oracles.law_independent, n_categories=m, keep=Fraction(1, 2))
    else:
        mechanism = sd.SamplingHistogram(n, n_draws=n - 1)
        law = partial(oracles.law_without_replacement, n_categories=m, n_draws=n - 1)
    growth = Fraction(3, 2)
    deltas: dict[oracles.Database, Fraction] = {}
    best = Fraction(0)
    for assignment in combinations_with_replacement(range(n_vertices), n):
        mean = Fraction(0)
        for x in product(range(m), repeat=n):
            key = tuple(sorted(x))
            if key not in deltas:
                deltas[key] = oracles.delta_by_enumeration(key, m, law, growth)
            chance = math.prod(
                (vertices[v][value] for v, value in zip(assignment, x, strict=True)),
                start=Fraction(1),
            )
            mean += chance * deltas[key]
        best = max(best, mean)
    result = sd.smoothed_delta(mechanism, sd.DataModel(vertices), epsilon="ln(3/2)")
    assert Fraction(result.lower) <= best <= Fraction(result.delta)
    assert result.delta - result.lower < 1e-10
    assert sum(result.vertex_counts) == n


def test_the_maximum_may_lie_inside() -> None:
    """n = 40, T = 38, epsilon = .01, Pi = {.4, .6}: 20 records of each beat 40 of one."""
    mechanism = sd.SamplingHistogram(40, n_draws=38)
    model = sd.DataModel([("0.6", "0.4"), ("0.4", "0.6")])
    result = sd.smoothed_delta(mechanism, model, epsilon="0.01")
    assert result.vertex_counts == (20, 20)
    assert result.method == "all compositions"
    assert result.lower > 0.47637739630517039733
    assert result.guarantee.model == model
    assert result.guarantee.delta >= result.delta


def test_lower_bound_by_the_likeliest_unanimity() -> None:
    """delta >= (1 - pi_a)^(n-T) - (1 - T/n)(1 - pi_a)^n for every finite epsilon."""
    mechanism = sd.SamplingHistogram(60, n_draws=55)
    for share in ("0.05", "0.3"):
        rest = 1 - float(share)
        model = sd.DataModel([(share, str(1 - Fraction(share)))])
        bound = rest**5 - (1 - 55 / 60) * rest**60
        for epsilon in ("0.1", "5", "200"):
            assert sd.smoothed_delta(mechanism, model, epsilon=epsilon).delta >= bound * (1 - 1e-12)


def test_bad_input() -> None:
    mechanism = sd.SamplingHistogram(40, n_draws=38)
    with pytest.raises(sd.errors.InvalidParameter, match="model"):
        sd.smoothed_delta(mechanism, [(0.5, 0.5)], epsilon=1)  # type: ignore[arg-type]
    with pytest.raises(sd.errors.InvalidParameter, match="epsilon=-1"):
        sd.smoothed_delta(mechanism, sd.DataModel([(0.5, 0.5)]), epsilon=-1)
    large = sd.BernoulliHistogram(10**6, keep_probability="0.998")
    result = sd.smoothed_delta(large, sd.DataModel([(0.5, 0.5), (0.4, 0.6)]), epsilon=1)
    assert result.method.startswith("proved upper bound")
    with pytest.warns(sd.errors.PrivacyWarning, match="probability 0"):
        result = sd.smoothed_delta(mechanism, sd.DataModel([(0, 1)]), epsilon=1)
    assert result.delta == mechanism.worst_case_delta(epsilon=1)
