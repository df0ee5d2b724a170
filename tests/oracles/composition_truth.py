"""Compositions by plain sums and integrals: nothing of the library is called here.

With P, Q the laws of everything released, D(E) = sup_S P(S) - E Q(S). If a part has the pairs
(p_j, q_j) of probabilities, and D' is that of the rest, D(E) = sum_j p_j D'(E q_j / p_j). So
finite parts are enumerated, Gaussians are joined into one whose D is closed, one more part with a
density may have its D closed, and the others are summed at nodes of a quadrature, on two meshes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Array: TypeAlias = NDArray[np.float64]
Nodes: TypeAlias = tuple[Array, Array]
Curve: TypeAlias = Callable[[Array], Array]
_GAUSS, _WEIGHTS = np.polynomial.legendre.leggauss(16)


@dataclass(frozen=True)
class Way:
    """One direction of a part with a density: its D, and its nodes on a mesh of panels."""

    curve: Curve
    nodes: Callable[[int], Nodes]


@dataclass(frozen=True)
class Part:
    """One item. ``ways``: the record first, the record last; once, if it is symmetrised.

    Exactly one of ``square`` (a Gaussian shift's mu^2), ``atoms`` and ``dense`` is there.
    """

    square: float = 0.0
    atoms: tuple[Nodes, ...] = ()
    dense: tuple[Way, ...] = ()


# ---- curves --------------------------------------------------------------------------------


def gaussian_curve(mu: float) -> Curve:
    """Return D of N(mu, 1) against N(0, 1)."""

    def curve(e: Array) -> Array:
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            at = np.log(e) / mu
            value = ndtr(mu / 2 - at) - np.where(np.isinf(e), 0.0, e * ndtr(-mu / 2 - at))
        return np.where(np.isinf(e), 0.0, np.maximum(value, 0.0))

    return curve


def reversed_curve(curve: Curve) -> Curve:
    def back(e: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = 1 - e + e * curve(1 / e)
        return np.where(np.isinf(e), 0.0, np.where(e == 0, 1.0, np.maximum(value, 0.0)))

    return back


def sampled_curves(rate: float, mu: float) -> tuple[Curve, Curve]:
    """Return D of (1 - q) Q + q P against Q, and of Q against it; P, Q a Gaussian pair."""
    base = gaussian_curve(mu)

    def first(e: Array) -> Array:
        inside = np.maximum(1 + (e - 1) / rate, 0.0)
        return np.where(e <= 1 - rate, 1 - e, rate * base(inside))

    def last(e: Array) -> Array:
        rest = 1 - e * (1 - rate)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = rest * base(e * rate / rest)
        return np.where(rest > 0, value, 0.0)

    return first, last


def panels(low: float, high: float, count: int) -> Nodes:
    """Return points and weights of Gauss-Legendre on equal panels."""
    edges = np.linspace(low, high, count + 1)
    half = np.diff(edges)[:, None] / 2
    middle = (edges[:-1, None] + edges[1:, None]) / 2
    return (middle + half * _GAUSS).ravel(), (half * _WEIGHTS).ravel()


def density(y: Array) -> Array:
    return np.asarray(np.exp(-y * y / 2) / math.sqrt(2 * math.pi))


# ---- parts ---------------------------------------------------------------------------------


def gaussian_part(square: float) -> Part:
    return Part(square=square)


def laplace_part(a: float) -> Part:
    """Laplace noise against a shift of ``a`` scales: its own mirror image."""

    def curve(e: Array) -> Array:
        with np.errstate(divide="ignore"):
            loss = np.log(e)
        return np.where(
            loss >= a, 0.0, np.where(loss <= -a, 1 - e, -np.expm1((np.minimum(loss, a) - a) / 2))
        )

    def nodes(count: int) -> Nodes:
        loss, weight = panels(-a, a, count)
        p = weight * np.exp((loss - a) / 2) / 4
        ends = np.array([0.5, 0.5 * math.exp(-a)])
        return np.append(p, ends), np.append(p * np.exp(-loss), ends[::-1])

    way = Way(curve, nodes)
    return Part(dense=(way, way))


def poisson_part(rate: float, mu: float) -> Part:
    """One Gaussian step on a Poisson sample: both directions."""
    first, last = sampled_curves(rate, mu)

    def nodes(count: int) -> Nodes:
        y, weight = panels(-10.0, 10.0 + mu, count)
        q = weight * density(y)
        return q * (1 - rate + rate * np.exp(mu * y - mu * mu / 2)), q

    return Part(dense=(Way(first, nodes), Way(last, lambda count: nodes(count)[::-1])))


def mixture_part(weights: Sequence[float], shifts: Sequence[float]) -> Part:
    """A mixture of N(m_i, 1) against N(0, 1): both directions; roots by halving."""

    def ratio(y: Array) -> Array:
        parts = [w * np.exp(m * y - m * m / 2) for w, m in zip(weights, shifts, strict=True)]
        return np.asarray(sum(parts))

    def place(level: Array) -> Array:
        low, high = np.full(level.shape, -300.0), np.full(level.shape, 300.0)
        for _ in range(70):
            middle = (low + high) / 2
            with np.errstate(over="ignore"):
                above = ratio(middle) > level
            low, high = np.where(above, low, middle), np.where(above, middle, high)
        return high

    def excess(e: Array, at: Array) -> Array:
        moved = [w * ndtr(m - at) for w, m in zip(weights, shifts, strict=True)]
        with np.errstate(invalid="ignore"):
            value = sum(moved) - e * ndtr(-at)
        return np.where(np.isinf(e), 0.0, np.maximum(value, 0.0))

    def first(e: Array) -> Array:
        return np.where(e <= 0, 1 - e, excess(e, place(np.maximum(e, 1e-300))))

    def last(e: Array) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            at = place(1 / e)
        moved = [w * ndtr(at - m) for w, m in zip(weights, shifts, strict=True)]
        with np.errstate(invalid="ignore"):
            value = ndtr(at) - e * np.asarray(sum(moved))
        return np.where(np.isinf(e), 0.0, np.maximum(value, 0.0))

    def nodes(count: int) -> Nodes:
        y, weight = panels(-10.0, 10.0 + max(shifts), count)
        q = weight * density(y)
        return q * ratio(y), q

    return Part(dense=(Way(first, nodes), Way(last, lambda count: nodes(count)[::-1])))


def fixed_part(rate: float, mu: float) -> Part:
    """One Gaussian step on a sample without replacement: D for E >= 1, reflected."""
    first, _ = sampled_curves(rate, mu)
    back = reversed_curve(first)

    def curve(e: Array) -> Array:
        return np.where(e >= 1, first(np.maximum(e, 1.0)), back(np.minimum(e, 1.0)))

    def nodes(count: int) -> Nodes:
        y, weight = panels(mu / 2, 10.0 + mu, count)
        q = weight * density(y)
        p = q * (1 - rate + rate * np.exp(mu * y - mu * mu / 2))
        rest = 1 - float(p.sum() + q.sum())
        return np.concatenate([p, q, [rest]]), np.concatenate([q, p, [rest]])

    way = Way(curve, nodes)
    return Part(dense=(way, way))


def response_part(epsilon: float, delta: float = 0.0) -> Part:
    """Randomised response that tells all with probability delta."""
    high = 1 / (1 + math.exp(-epsilon))
    low = math.exp(-epsilon) * high
    p = np.array([delta, 0.0, (1 - delta) * high, (1 - delta) * low])
    q = np.array([0.0, delta, (1 - delta) * low, (1 - delta) * high])
    return Part(atoms=((p, q), (p, q)))


def lattice_part(weights: Callable[[int], float], shift: int, reach: int) -> Part:
    """Whole-number noise of these weights against its shift: its own mirror image."""
    p, q = (
        np.array([weights(k - s) for k in range(-reach, reach + shift + 1)]) for s in (shift, 0)
    )
    p, q = p / p.sum(), q / q.sum()
    return Part(atoms=((p, q), (p, q)))


def pair_part(p: Sequence[Fraction], q: Sequence[Fraction], *, ways: bool) -> Part:
    """A finite pair: as it is and reversed, or the larger D of both if nobody says which."""
    if ways:
        one, other = (np.array([float(x) for x in law]) for law in (p, q))
        return Part(atoms=((one, other), (other, one)))
    rows = larger_pair(p, q)
    one, other = (np.array([float(row[i]) for row in rows]) for i in (0, 1))
    return Part(atoms=((one, other), (one, other)))


def stick(p: Sequence[Fraction], q: Sequence[Fraction], e: Fraction) -> Fraction:
    return sum((max(Fraction(0), x - e * y) for x, y in zip(p, q, strict=True)), Fraction(0))


def larger_pair(p: Sequence[Fraction], q: Sequence[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """Return the pair whose D is the larger of both directions' everywhere, exactly."""
    kinks = {Fraction(0), Fraction(1)}
    for x, y in itertools.chain(zip(p, q, strict=True), zip(q, p, strict=True)):
        if y:
            kinks.add(x / y)
    knots = sorted(kinks)
    crossings = []
    for low, high in itertools.pairwise([*knots, knots[-1] + 1]):
        left, right = (stick(p, q, e) - stick(q, p, e) for e in (low, high))
        if left * right < 0:
            crossings.append(low + (high - low) * left / (left - right))
    knots = sorted({*knots, *crossings})
    values = [max(stick(p, q, e), stick(q, p, e)) for e in knots]
    slopes = [
        (above - below) / (high - low)
        for (low, high), (below, above) in zip(
            itertools.pairwise(knots), itertools.pairwise(values), strict=True
        )
    ]
    slopes.append(Fraction(0))
    rows = [(values[-1], Fraction(0))]
    before = Fraction(-1)
    for knot, slope in zip(knots, slopes, strict=True):
        mass = slope - before
        rows.append((knot * mass, mass))
        before = slope
    return [row for row in rows if any(row)]


# ---- the composition -----------------------------------------------------------------------


def product(first: Nodes, second: Nodes) -> Nodes:
    return (np.outer(first[0], second[0]).ravel(), np.outer(first[1], second[1]).ravel())


def merged(nodes: Nodes) -> Nodes:
    """Join outcomes of one ratio (to 13 digits), which changes no D by more than that."""
    p, q = nodes
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.where(q == 0, 1e9, np.where(p == 0, -1e9, np.log(p) - np.log(q)))
    keys = np.round(loss * 2.0**42)
    _, inverse = np.unique(keys, return_inverse=True)
    return (
        np.asarray(np.bincount(inverse, weights=p), dtype=np.float64),
        np.asarray(np.bincount(inverse, weights=q), dtype=np.float64),
    )


def largest_delta(parts: Sequence[tuple[Part, int]], epsilon: float) -> tuple[float, float]:
    """Return (lower, upper) around the larger D(e^epsilon) of both products."""
    ends = [_way_delta(parts, way, epsilon) for way in (0, 1)]
    return max(low for low, _ in ends), max(high for _, high in ends)


def _way_delta(parts: Sequence[tuple[Part, int]], way: int, epsilon: float) -> tuple[float, float]:
    states: Nodes = (np.ones(1), np.ones(1))
    square, dense = 0.0, list[Way]()
    for part, count in parts:
        square += count * part.square
        if part.dense:
            dense += [part.dense[way]] * count
        for _ in range(count if part.atoms else 0):
            states = merged(product(states, part.atoms[way]))
    values = []
    base: Curve | None = gaussian_curve(math.sqrt(square)) if square else None
    if base is None and dense:
        # The others are summed at nodes: a closed D of small losses would turn between two of them.
        widest = max(dense, key=_mean_square_loss)
        dense.remove(widest)
        base = widest.curve
    # Beyond e^700 only what is told outright is left.
    e = math.exp(min(epsilon, 700.0))
    # Three: where a closed D bends inside a panel two errors may be the same by chance.
    sizes = (10, 13, 16) if square else (200, 257, 320)
    for count in sizes if dense else (1,):
        p, q = states
        for one in dense:
            p, q = product((p, q), one.nodes(count))
        keep = p > 0
        p, q = p[keep], q[keep]
        with np.errstate(over="ignore"):
            terms = p * base(e * q / p) if base else np.maximum(p - e * q, 0.0)
        values.append(math.fsum(terms.tolist()))
    # Cancellation inside a closed D is of the size of the probabilities that it subtracts.
    error = 1e-11 * values[-1] + 4e-15
    if dense:
        error += 20 * (max(values) - min(values))
    return values[-1] - error, values[-1] + error


def _mean_square_loss(way: Way) -> float:
    p, q = (law[law > 0] for law in way.nodes(40))
    return float(p @ np.log(p / q) ** 2)


def exact_delta(
    pairs: Sequence[tuple[Sequence[tuple[Fraction, Fraction]], int]], e: Fraction
) -> Fraction:
    """Return D(E) of the product of finite pairs, in rationals."""
    states: dict[Any, list[Fraction]] = {Fraction(1): [Fraction(1), Fraction(1)]}
    for rows, count in pairs:
        for _ in range(count):
            after: dict[Any, list[Fraction]] = {}
            for (p, q), (x, y) in itertools.product(states.values(), rows):
                p2, q2 = p * x, q * y
                key = (p2 / q2) if q2 else "infinite"
                total = after.setdefault(key, [Fraction(0), Fraction(0)])
                total[0] += p2
                total[1] += q2
            states = after
    return sum((max(Fraction(0), p - e * q) for p, q in states.values()), Fraction(0))
