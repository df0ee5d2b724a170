"""Laws of the privacy loss by hand, at 60 digits; shares no code with the library."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath

mp: Any = mpmath.mp.clone()
mp.dps = 60


@dataclass(frozen=True)
class Law:
    """Masses of one law by privacy loss, and the mass at infinite loss."""

    atoms: dict[str, tuple[Any, Any]]
    infinite: Any

    @property
    def total(self) -> Any:
        return sum((mass for _, mass in self.atoms.values()), self.infinite)


UNIT = Law({"0": (mp.mpf(0), mp.mpf(1))}, mp.mpf(0))


def exact(value: Fraction | float | str) -> Any:
    """Return the exact binary value of a float, or the rational of a string, at 60 digits."""
    number = Fraction(value)
    return mp.mpf(number.numerator) / number.denominator


def _add(atoms: dict[str, tuple[Any, Any]], loss: Any, mass: Any) -> None:
    key = "0" if abs(loss) < mp.mpf(10) ** -42 else mp.nstr(loss, 42)
    old = atoms.get(key, (loss, mp.mpf(0)))[1]
    atoms[key] = (loss, old + mass)


def both_directions(log_p: Sequence[float], log_q: Sequence[float]) -> tuple[Law, Law]:
    """Return the laws of the loss of p over q under p, and of q over p under q."""
    sides: list[Law] = []
    for first, second in ((log_p, log_q), (log_q, log_p)):
        atoms: dict[str, tuple[Any, Any]] = {}
        infinite = mp.mpf(0)
        for a, b in zip(first, second, strict=True):
            if a == -math.inf:
                continue
            if b == -math.inf:
                infinite += mp.exp(exact(a))
            else:
                _add(atoms, exact(a) - exact(b), mp.exp(exact(a)))
        sides.append(Law(atoms, infinite))
    return sides[0], sides[1]


def product(first: Law, second: Law) -> Law:
    atoms: dict[str, tuple[Any, Any]] = {}
    for loss, mass in first.atoms.values():
        for other, weight in second.atoms.values():
            _add(atoms, loss + other, mass * weight)
    finite = (first.total - first.infinite) * (second.total - second.infinite)
    has_infinite = first.infinite or second.infinite
    return Law(atoms, first.total * second.total - finite if has_infinite else mp.mpf(0))


def power(law: Law, count: int) -> Law:
    result = UNIT
    for _ in range(count):
        result = product(result, law)
    return result


def gaussian_delta(mu: Any, epsilon: Any) -> Any:
    """Return the hockey stick of N(mu, 1) over N(0, 1), at any real epsilon."""
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def delta(law: Law, epsilon: Any, *, rest: Callable[[Any], Any] | None = None) -> Any:
    """Return the hockey stick of a law, with another mechanism's curve beside it."""
    total = law.infinite
    for loss, mass in law.atoms.values():
        if rest is not None:
            total += mass * rest(epsilon - loss)
        elif loss > epsilon:
            total -= mass * mp.expm1(epsilon - loss)
    return total


def random_pair(rng: random.Random) -> tuple[list[float], list[float]]:
    """Return two laws with infinite losses, far losses and masses that floats cannot hold."""
    size = rng.choice([1, 2, 3])
    laws: list[list[float]] = []
    for _ in range(2):
        weights = [rng.random() ** rng.choice([1, 3, 8]) + 1e-4 for _ in range(size)]
        laws.append([math.log(weight / sum(weights)) for weight in weights])
    for side in range(2):
        if rng.random() < 0.4:
            log_mass = rng.choice([math.log(1e-18), math.log(1e-300), -720.0, -1e5, -20.0])
            laws[side].append(log_mass)
            laws[1 - side].append(-math.inf)
    if rng.random() < 0.35:
        side, share = rng.randrange(2), rng.choice([-0.7, -5.0, -40.0, -700.0])
        kept = math.log1p(-math.exp(share))
        laws[side] = [value + kept for value in laws[side]] + [share]
        laws[1 - side].append(rng.choice([-720.0, -1e5, -3000.0, -50.0]))
    for law in laws:  # masses that sum to 1 as far as doubles can
        total = sum((mp.exp(exact(value)) for value in law if value > -math.inf), mp.mpf(0))
        largest = max(range(len(law)), key=lambda i: law[i])
        law[largest] = min(0.0, law[largest] - float(mp.log(total)) / math.exp(law[largest]))
    return laws[0], laws[1]
