"""Hulls and widened models against linear programs and grids."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

import smoothdp as sd
from smoothdp.claims.model.hull import hull_vertices, is_mixture


def random_distribution(rng: random.Random, m: int, zeros: bool = False) -> tuple[Fraction, ...]:
    weights = [rng.randint(0 if zeros else 1, 12) for _ in range(m)]
    weights[rng.randrange(m)] += 1
    return tuple(Fraction(w, sum(weights)) for w in weights)


def mixture(rng: random.Random, points: list[tuple[Fraction, ...]]) -> tuple[Fraction, ...]:
    weights = [rng.randint(0, 5) for _ in points]
    weights[0] += 1
    total = sum(weights)
    return tuple(
        sum((w * p[i] for w, p in zip(weights, points, strict=True)), Fraction(0)) / total
        for i in range(len(points[0]))
    )


@pytest.mark.parametrize("m", [2, 3, 4, 6])
@pytest.mark.parametrize("seed", range(8))
def test_hull(m: int, seed: int) -> None:
    """Mixtures go, also those on faces; everything left or dropped is so by a linear program."""
    rng = random.Random(seed)
    corners = [random_distribution(rng, m, zeros=True) for _ in range(m + 3)]
    inside = [mixture(rng, corners) for _ in range(5)]
    inside += [mixture(rng, corners[:2]) for _ in range(3)]
    kept = hull_vertices([*corners, *inside])
    assert set(kept) <= set(corners)
    for point in {*corners, *inside}:
        others = [k for k in kept if k != point]
        if point not in kept:
            assert is_mixture(point, kept)
        if others:
            matrix = np.array([[float(p) for p in k] for k in others]).T
            answer = linprog(np.zeros(len(others)), A_eq=matrix, b_eq=[float(p) for p in point])
            # A kept vertex is not in the hull of the others, a dropped one is.
            assert answer.success == (point not in kept)


def test_a_vertex_just_outside_a_face_is_kept() -> None:
    """1e-14 beyond the face: floats cannot tell, rationals can."""
    tiny = Fraction(1, 10**14)
    third, half = Fraction(1, 3), Fraction(1, 2)
    face = [(half, half, Fraction(0)), (Fraction(0), half, half), (third, third, third)]
    on = tuple((a + b) / 2 for a, b in zip(face[0], face[1], strict=True))
    beyond = (on[0] - tiny / 2, on[1] + tiny, on[2] - tiny / 2)
    assert on not in hull_vertices([*face, on])
    assert beyond in hull_vertices([*face, beyond])
    assert beyond in sd.DataModel([*face, on, beyond]).hull().vertices


@pytest.mark.parametrize("m", [2, 3, 4])
@pytest.mark.parametrize("seed", range(6))
def test_widened_by_total_variation(m: int, seed: int) -> None:
    """Every vertex is within the radius, and every distribution within it is inside."""
    rng = random.Random(seed)
    centre = random_distribution(rng, m)
    radius = Fraction(rng.randint(1, 9), 20)
    wide = sd.DataModel([centre]).widened(total_variation=radius)
    for q in wide.vertices:
        assert sum(abs(a - b) for a, b in zip(q, centre, strict=True)) / 2 <= radius
    hull = wide.hull()
    for _ in range(60):
        q = random_distribution(rng, m, zeros=True)
        near = sum(abs(a - b) for a, b in zip(q, centre, strict=True)) / 2 <= radius
        assert hull.contains(q) == near


@pytest.mark.parametrize("m", [2, 3, 4])
@pytest.mark.parametrize("seed", range(6))
def test_widened_by_divergence(m: int, seed: int) -> None:
    rng = random.Random(seed)
    centre = random_distribution(rng, m)
    radius = Fraction(rng.randint(1, 40), 100)
    wide = sd.DataModel([centre]).widened(kl_divergence=radius)
    for _ in range(80):
        q = random_distribution(rng, m, zeros=True)
        divergence = sum(
            float(a) * math.log(a / b) for a, b in zip(q, centre, strict=True) if a > 0
        )
        if divergence <= radius:
            assert wide.contains(q)
        elif m == 2 and divergence > float(radius) + 1e-9:
            assert not wide.contains(q)


def test_smoothed_delta_of_a_wrong_model() -> None:
    """The widened model bounds what any model within the radius gives."""
    mechanism = sd.SamplingHistogram(60, n_draws=55)
    centre = sd.DataModel([("0.3", "0.7")])
    wide = sd.smoothed_delta(mechanism, centre.widened(total_variation="0.05"), epsilon=1)
    assert wide.lower > sd.smoothed_delta(mechanism, centre, epsilon=1).delta
    for shift in ("-0.05", "0.02", "0.05"):
        p = Fraction("0.3") + Fraction(shift)
        moved = sd.smoothed_delta(mechanism, sd.DataModel([(p, 1 - p)]), epsilon=1)
        assert moved.lower <= wide.delta


def test_refusals() -> None:
    model = sd.DataModel([("0.3", "0.7")])
    with pytest.raises(sd.errors.InvalidParameter, match="either total_variation"):
        model.widened()
    with pytest.raises(sd.errors.InvalidParameter, match="radius=2"):
        model.widened(total_variation=2)
    with pytest.raises(sd.errors.InvalidParameter, match=r"radius=-0\.1"):
        model.widened(kl_divergence="-0.1")
    uniform = sd.DataModel([[Fraction(1, 13)] * 13])
    with pytest.raises(sd.errors.OutOfReach, match="12 values"):
        uniform.widened(total_variation="0.01")
    with pytest.raises(sd.errors.InvalidParameter, match="function of one record"):
        model.push(lambda x: x[0])  # type: ignore[index]


def test_push_merges_values() -> None:
    model = sd.DataModel([("0.2", "0.3", "0.5")])
    assert model.push({0: 1, 1: 0, 2: 0}) == sd.DataModel([("0.8", "0.2")])
    for images in product(range(2), repeat=3):
        if set(images) == {0, 1}:
            pushed = model.push(list(images), n_atoms=2).vertices[0]
            assert sum(pushed) == 1
