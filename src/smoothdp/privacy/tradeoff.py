"""Trade-off functions: the least type II error at each type I error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smoothdp.errors import InvalidData, InvalidParameter, OutOfReach, explain
from smoothdp.exact.logspace import UNIT_ROUNDOFF
from smoothdp.exact.parameters import Parameter
from smoothdp.privacy.profile import read_delta, read_epsilon

if TYPE_CHECKING:
    from smoothdp.privacy.profile import PrivacyProfile

FloatArray = NDArray[np.float64]
MOST_SEGMENTS = 5_000_000
_UP = 1 + 8 * UNIT_ROUNDOFF


@dataclass(frozen=True, init=False, eq=False)
class TradeoffFunction:
    """A piecewise-linear trade-off function, by knots (alpha, power), power = 1 - beta.

    f(alpha) = beta is the least type II error of any test with type I error alpha. The
    power is stored, because it is the small side: 1 - 4.7e-31 would be 1. Knots are
    completed by (0, 0) and (1, 1) and replaced by their concave hull, which only adds
    power: the curve never overstates the error of an attacker.

    Source: Dong, Roth, Su 2022.

    Args:
        alphas: type I errors in [0, 1], nondecreasing.
        powers: powers in [0, 1], nondecreasing, one per alpha.

    Raises:
        InvalidData: arrays of different shapes, out of range, or not sorted.

    >>> f = TradeoffFunction([0.25], [0.75])
    >>> f(0.25)
    0.25
    """

    alphas: FloatArray
    powers: FloatArray

    def __init__(self, alphas: ArrayLike, powers: ArrayLike) -> None:
        a, b = (np.array(values, dtype=np.float64) for values in (alphas, powers))
        if a.ndim != 1 or a.shape != b.shape or a.size == 0:
            raise InvalidData(
                explain(
                    "alphas and powers as one-dimensional arrays of one length",
                    f"shapes {a.shape} and {b.shape}",
                    "Give one power per alpha",
                )
            )
        for name, values in (("alphas", a), ("powers", b)):
            inside = (values >= 0) & (values <= 1)
            if not inside.all() or (np.diff(values) < 0).any():
                raise InvalidData(
                    explain(f"{name} in [0, 1], nondecreasing", "other values", "Sort the knots")
                )
        a, b = _concave_hull(np.concatenate([[0.0], a, [1.0]]), np.concatenate([[0.0], b, [1.0]]))
        a.flags.writeable = b.flags.writeable = False
        object.__setattr__(self, "alphas", a)
        object.__setattr__(self, "powers", b)

    def power(self, alpha: float) -> float:
        """Return the largest power at type I error alpha, not below the curve."""
        if not 0 <= alpha <= 1:
            raise InvalidParameter(
                explain("0 <= alpha <= 1", f"alpha={alpha}", "Give a probability")
            )
        place = int(np.searchsorted(self.alphas, alpha, side="right")) - 1
        if alpha == self.alphas[place]:
            return float(self.powers[place])
        rise = self.powers[place + 1] - self.powers[place]
        run = self.alphas[place + 1] - self.alphas[place]
        value = self.powers[place] + rise * ((alpha - self.alphas[place]) / run)
        return min(1.0, float(value) * _UP)

    def __call__(self, alpha: float) -> float:
        """Return the type II error beta at type I error alpha, not above the curve."""
        return max(0.0, 1.0 - self.power(alpha))

    def delta(self, epsilon: Parameter) -> float:
        """Return the largest power - e^epsilon alpha, rounded up, for epsilon >= 0."""
        exact = read_epsilon(epsilon)
        # exp within 4 ulp, and a float of epsilon within half an ulp, both downwards.
        target = float(exact)
        growth = math.exp(min(709.0, target)) * (1 - 16 * UNIT_ROUNDOFF * (1 + target))
        gains = self.powers - growth * self.alphas
        best = int(np.argmax(gains))
        slack = 4 * UNIT_ROUNDOFF * float(self.powers[best])
        return min(1.0, max(0.0, float(gains[best]) + slack))

    def compose(self, other: TradeoffFunction) -> TradeoffFunction:
        """Return the tensor product: both outputs are seen (Definition 2.6 of paper 5).

        Exact for piecewise-linear curves: all products of segments, steepest first.

        Raises:
            OutOfReach: more than 5e6 segments.
        """
        first, second = self._segments(), other._segments()
        size = first[0].size * second[0].size
        if size > MOST_SEGMENTS:
            raise OutOfReach(
                explain(f"at most {MOST_SEGMENTS} segments", f"{size}", "Compose profiles instead")
            )
        runs = np.multiply.outer(first[0], second[0]).ravel()
        rises = np.multiply.outer(first[1], second[1]).ravel()
        order = np.argsort(np.arctan2(runs, rises), kind="stable")
        inflate = 1 + (size + 16) * UNIT_ROUNDOFF
        alphas = np.minimum(1.0, np.cumsum(runs[order]) / inflate)
        powers = np.minimum(1.0, np.cumsum(rises[order]) * inflate)
        return TradeoffFunction(alphas, powers)

    def gaussian_mu(self, delta: Parameter = 0) -> float:
        """Return the smallest mu, rounded up, of a Gaussian curve below this one.

        With delta > 0: the smallest mu with delta_f(e) <= max(delta_mu(e), delta) for all
        epsilons e >= 0. inf where no finite mu exists.
        """
        from smoothdp.privacy.gaussian_fit import exact_mu, mu_with_slack

        slack = read_delta(delta)
        return exact_mu(self) if slack == 0 else mu_with_slack(self, slack)

    def _segments(self) -> tuple[FloatArray, FloatArray]:
        """Return runs and rises, the jump at alpha = 0 among them as a run of 0."""
        runs = np.diff(self.alphas)
        rises = np.diff(self.powers)
        if self.powers[0] > 0:
            runs = np.concatenate([[0.0], runs])
            rises = np.concatenate([[self.powers[0]], rises])
        return runs, rises


def _concave_hull(alphas: FloatArray, powers: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the knots of the least concave curve above sorted points."""
    hull: list[tuple[float, float]] = []
    for point in zip(alphas.tolist(), powers.tolist(), strict=True):
        if hull and point[0] == hull[-1][0]:
            if point[1] <= hull[-1][1]:
                continue
            hull.pop()
        while len(hull) >= 2:
            (x1, y1), (x2, y2) = hull[-2], hull[-1]
            if (y2 - y1) * (point[0] - x1) > (point[1] - y1) * (x2 - x1):
                break
            hull.pop()
        hull.append(point)
    a, b = zip(*hull, strict=True)
    return np.array(a), np.array(b)


def from_profile(profile: PrivacyProfile, *, n_lines: int = 200) -> TradeoffFunction:
    """Return the curve above which every mechanism with this profile lies.

    power(alpha) <= delta(e) + e^e alpha and <= 1 - e^-e (1 - delta(e) - alpha) for every
    e >= 0, since the profile covers both directions; the least of these lines.
    """
    last = profile.epsilon("1e-15")
    if not math.isfinite(last):
        last = 50.0
    epsilons = [last * i / (n_lines - 1) for i in range(n_lines)] if last else [0.0]
    slopes, heights = [0.0], [1.0]
    for epsilon in epsilons:
        delta, growth = profile.delta(epsilon), math.exp(min(700.0, epsilon)) * _UP
        slopes += [growth, 1 / growth]
        heights += [delta, min(1.0, (1 - (1 - delta) / growth) * _UP)]
    lines = sorted(zip(slopes, heights, strict=True), key=lambda line: (-line[0], line[1]))
    kept: list[tuple[float, float]] = []
    for slope, height in lines:
        if kept and slope == kept[-1][0]:
            continue
        while kept and height <= kept[-1][1]:
            kept.pop()
        while len(kept) >= 2 and _meet(kept[-2], (slope, height)) <= _meet(kept[-2], kept[-1]):
            kept.pop()
        kept.append((slope, height))
    alphas, powers = [0.0], [kept[0][1]]
    for left, right in pairwise(kept):
        alpha = _meet(left, right)
        if 0 < alpha < 1:
            alphas.append(alpha)
            powers.append(min(1.0, (left[1] + left[0] * alpha) * _UP))
    monotone = np.maximum.accumulate(powers)
    return TradeoffFunction(np.maximum.accumulate(alphas), np.minimum(monotone, 1.0))


def _meet(steep: tuple[float, float], flat: tuple[float, float]) -> float:
    """Return where two lines (slope, height at 0) cross."""
    return (flat[1] - steep[1]) / (steep[0] - flat[0])
