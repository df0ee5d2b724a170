"""delta(epsilon) of compositions by quadrature: no contour, no lattice, positive terms.

With D the profile of what came before, at every real epsilon, the next item makes of it
E_P[D(epsilon - L)], L its loss. Between breaks, where atoms of L sit, ln D is interpolated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Curve = Callable[[Array], Array]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
_DEGREE = 16
_POINTS = np.cos(np.pi * (np.arange(_DEGREE) + 0.5) / _DEGREE)
_BARYCENTRIC = (-1.0) ** np.arange(_DEGREE) * np.sin(np.pi * (np.arange(_DEGREE) + 0.5) / _DEGREE)


def bell(x: Array) -> Array:
    return np.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class Part:
    """Losses that rise with x in [low, high], and where each of them is."""

    low: float
    high: float
    loss: Curve
    density: Curve
    place: Callable[[float], float]


@dataclass(frozen=True)
class Step:
    """A law of the loss under the first of two neighbours."""

    atoms: tuple[tuple[float, float], ...]
    parts: tuple[Part, ...]

    def log_moment(self, order: float) -> float:
        """Return the Renyi divergence of the order."""
        total = sum(mass * math.exp((order - 1) * loss) for loss, mass in self.atoms)
        for part in self.parts:
            x, weights = panels([part.low, part.high])
            with np.errstate(divide="ignore"):
                logs = (order - 1) * part.loss(x) + np.log(part.density(x))
            total += float((weights * np.exp(logs)).sum())
        return math.log(total) / (order - 1)


def panels(cuts: list[float]) -> tuple[Array, Array]:
    ends = [
        np.linspace(low, high, max(2, math.ceil(2 * (high - low)) + 1))
        for low, high in itertools.pairwise(cuts)
    ]
    low = np.concatenate([each[:-1] for each in ends])
    high = np.concatenate([each[1:] for each in ends])
    half = ((high - low) / 2)[:, None]
    return (low[:, None] + half * (1 + _NODES)).ravel(), (half * _WEIGHTS).ravel()


def fixed_batch(rate: float, mu: float, reach: float = 14.0) -> Step:
    """One step on a batch of fixed size under replacing: rate D(1 + (E - 1) / rate), both ways."""

    def loss(x: Array) -> Array:
        return np.log1p(rate * np.expm1(mu * x - mu * mu / 2))

    def place(value: float) -> float:
        inside = (math.expm1(min(max(value, 0.0), 600.0)) + rate) / rate
        return (math.log(inside) + mu * mu / 2) / mu

    up = Part(
        mu / 2,
        reach + mu,
        loss,
        lambda x: (1 - rate) * bell(x) + rate * bell(x - mu),
        place,
    )
    down = Part(-reach - mu, -mu / 2, lambda x: -loss(-x), bell, lambda value: -place(-value))
    return Step(((0.0, (1 - rate) * math.erf(mu / 2**1.5)),), (up, down))


def shifted_bell(mu: float) -> Step:
    """The Gaussian mechanism."""
    return Step(
        (),
        (
            Part(
                -14.0,
                14.0 + mu,
                lambda x: mu * x - mu * mu / 2,
                lambda x: bell(x - mu),
                lambda value: (value + mu * mu / 2) / mu,
            ),
        ),
    )


def _nothing(epsilon: Array) -> Array:
    return np.asarray(-np.expm1(np.minimum(epsilon, 0.0)))


def _graded(low: float, high: float, width: float, fine: float) -> list[float]:
    """Return ends of panels from low to high, short beside both."""
    middle, steps, h = (low + high) / 2, [0.0], fine
    while low + steps[-1] + h < middle:
        steps.append(steps[-1] + h)
        h = min(width, 1.3 * h)
    return [*(low + each for each in steps), *(high - each for each in reversed(steps))]


class _Interpolated:
    def __init__(self, curve: Curve, reach: float, fine: float) -> None:
        ends = [*_graded(-reach, 0.0, reach / 40, fine)[:-1], *_graded(0, reach, reach / 40, fine)]
        self.ends = np.array(ends)
        low, high = self.ends[:-1], self.ends[1:]
        points = (low + high)[:, None] / 2 + (high - low)[:, None] / 2 * _POINTS
        with np.errstate(divide="ignore"):
            logs = np.log(curve(points.ravel())).reshape(points.shape)
        bad = ~np.isfinite(logs).all(axis=1)
        self.reach = float(low[np.argmax(bad)]) if bad.any() else reach
        self.logs = np.where(np.isfinite(logs), logs, -800.0)

    def __call__(self, epsilon: Array) -> Array:
        out = np.where(epsilon < 0, _nothing(epsilon), 0.0)
        inside = (epsilon > self.ends[0]) & (epsilon < self.reach)
        value = epsilon[inside]
        at = np.clip(np.searchsorted(self.ends, value, side="right") - 1, 0, len(self.ends) - 2)
        low, high = self.ends[at], self.ends[at + 1]
        gaps = ((2 * value - low - high) / (high - low))[:, None] - _POINTS
        weights = _BARYCENTRIC / np.where(gaps == 0, 1e-300, gaps)
        out[inside] = np.exp((weights * self.logs[at]).sum(axis=1) / weights.sum(axis=1))
        return out


def _after(curve: Curve, step: Step) -> Curve:
    def composed(epsilons: Array) -> Array:
        out = np.empty(len(epsilons))
        for number, epsilon in enumerate(epsilons):
            total = sum(
                mass * float(curve(np.array([epsilon - loss]))[0]) for loss, mass in step.atoms
            )
            for part in step.parts:
                cut = part.place(float(epsilon))
                # What came before bends at 0 as sharply as a rare loss is small.
                beside = [cut, *(cut + side * 0.4 * 0.5**k for side in (-1, 1) for k in range(14))]
                inner = sorted(each for each in beside if part.low < each < part.high)
                x, weights = panels([part.low, *inner, part.high])
                total += float((weights * part.density(x) * curve(epsilon - part.loss(x))).sum())
            out[number] = total
        return out

    return composed


def deltas(
    steps: list[Step], epsilons: Iterable[float], reach: float, fine: float = 1e-4
) -> list[float]:
    """Return delta of the composition: atoms at 0 alone, those steps first; about ten digits."""
    curve: Curve = _nothing
    for step in steps[:-1]:
        curve = _Interpolated(_after(curve, step), reach, fine)
    return [float(each) for each in _after(curve, steps[-1])(np.array(list(epsilons)))]
