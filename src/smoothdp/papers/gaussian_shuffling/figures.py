"""Figures 1 and 2 of paper 5 (Chen, Long), with the exact curves beside the claimed ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import numpy as np

from smoothdp.claims.curves.pair import Pair
from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.exact.probabilities.windows import log_binomial_pmf
from smoothdp.paper_bounds import (
    chen_long_delta,
    chen_long_tradeoff,
    cheu_delta,
    cheu_fixed_set_epsilon,
)
from smoothdp.papers.panel_figure import PanelFigure
from smoothdp.papers.reproduction import Progress
from smoothdp.papers.runner import run_cells
from smoothdp.plots.panels import Look, Panel
from smoothdp.shuffle import BooleanSum, RealSum

_N, _LAMBDA, _BITS, _RANDOM, _CLAIMED_MU = 100, 58, 10, 50, "0.2386"
_MOST_EPSILON = 1.5
_STEPPED = "claimed, step reading"
_STEPS, _FULL_STEPS = (50, 30), (500, 300)
"""Steps of the type I error from 0 to 1, and of epsilon from 0."""

_NO_BOUND = "the bound grants no delta below 1 there"

Curves = dict[str, list[float]]
Cell = tuple[str, int]
"""The panel's number and letter, and its number of steps."""


class ShufflingFigure(PanelFigure):
    """Figure 1 of paper 5: Boolean and real sums at n = 100, lambda = 58."""

    name: ClassVar[str] = "gaussian-shuffling/1"
    title: ClassVar[str] = "Figure 1 of paper 5: sums of 100 users, lambda = 58, claimed and exact"
    note: ClassVar[str] = (
        "Theorem 2, the claimed curve, is false in general; at these parameters it holds and is "
        "loose. As printed,\n1 - F(F^-1(alpha) + 1), it is a step function, as F is that of a "
        "discrete law: (a) draws its steps where they\nare. The linear reading joins their right "
        "ends, as tests that may toss a coin do. In (b) delta is exactly\n0 from epsilon = "
        "ln(71/29) = .895 on, the epsilon of one report: the exact curve ends there."
    )
    missing: ClassVar[str] = _NO_BOUND

    @classmethod
    def compute(
        cls, *, full: bool = False, store: Path | None = None, progress: Progress | None = None
    ) -> ShufflingFigure:
        """Compute trade-off curves and profiles, exactly and as the paper claims them."""
        return cls(_panels(cls.name, _PANELS_1, full, store, progress))


class FixedSetFigure(PanelFigure):
    """Figure 2 of paper 5: a fixed set H of 50 random users among 100."""

    name: ClassVar[str] = "gaussian-shuffling/2"
    title: ClassVar[str] = "Figure 2 of paper 5: 50 users known to answer at random"
    note: ClassVar[str] = (
        "The claimed curve, as printed, is a step function, as F is that of a discrete law: (a) "
        "draws its steps where\nthey are. The exact curve joins their right ends, as tests that "
        "may toss a coin do."
    )
    missing: ClassVar[str] = _NO_BOUND

    @classmethod
    def compute(
        cls, *, full: bool = False, store: Path | None = None, progress: Progress | None = None
    ) -> FixedSetFigure:
        """Compute the pair Bin(50, 1/2) and the same plus one, exactly."""
        return cls(_panels(cls.name, _PANELS_2, full, store, progress))


_PANELS_1 = {
    "1a": "(a) Boolean sum",
    "1b": "(b) Boolean sum",
    "1c": "(c) real sum, 10 bits",
    "1d": "(d) real sum, 10 bits",
}
_PANELS_2 = {"2a": "(a) C_H", "2b": "(b) C_H"}
_RANDOM_BITS = {
    "1a": (_N, Fraction(_LAMBDA, 2 * _N)),
    "2a": (_RANDOM, Fraction(1, 2)),
}
"""The law Bin(bits, chance) of the noise whose curve is claimed, by panel."""


def _panels(
    name: str, titles: dict[str, str], full: bool, store: Path | None, progress: Progress | None
) -> tuple[Panel, ...]:
    alpha_steps, epsilon_steps = _FULL_STEPS if full else _STEPS
    cells = [(panel, alpha_steps if panel[1] in "ac" else epsilon_steps) for panel in titles]
    computed = run_cells(
        name, cells, panel_curves, store=store, progress=progress, workers=None if full else 1
    )
    return tuple(
        Panel(title, "epsilon", "delta", _epsilons(steps), curves, log_scale=True)
        if panel[1] in "bd"
        else Panel(
            title, "type I error", "type II error", _alphas(steps), curves, look=_look(panel)
        )
        for (panel, title), (_, steps), curves in zip(titles.items(), cells, computed, strict=True)
    )


def _look(panel: str) -> Look:
    """Return the steps of the claimed curve, exactly where they are."""
    if panel not in _RANDOM_BITS:
        return Look()
    bits, chance = _RANDOM_BITS[panel]
    return Look(steps={_STEPPED: claimed_steps(bits, chance)})


def claimed_steps(bits: int, chance: Fraction) -> list[tuple[float, float]]:
    """Return the steps of 1 - F(F^-1(alpha) + 1), F that of Bin(bits, chance).

    F^-1(alpha) is the least k with F(k) >= alpha, so that the curve is 1 - F(k + 1) from F(k - 1)
    to F(k): the points (F(k), 1 - F(k + 1)), each holding from the one before.

    >>> claimed_steps(1, Fraction(1, 2))
    [(0.0, 0.5), (0.5, 0.0), (1.0, 0.0)]
    """
    masses = np.exp(log_binomial_pmf(np.arange(bits + 1), bits, chance).log_values)
    below = np.concatenate([[0.0], np.minimum(np.cumsum(masses), 1.0)])
    below[-1] = 1.0
    above = np.append(1.0 - below[1:], 0.0)
    return list(zip(below.tolist(), above.tolist(), strict=True))


def panel_curves(cell: Cell) -> Curves:
    """Return the curves of one panel; nan where there is no bound."""
    panel, steps = cell
    return _CURVES[panel](_alphas(steps) if panel[1] in "ac" else _epsilons(steps))


def _boolean_errors(alphas: tuple[float, ...]) -> Curves:
    sizes = {"n_users": _N, "expected_random_users": _LAMBDA}
    return {
        "exact": BooleanSum(_N, expected_random_users=_LAMBDA).type_two_error(alphas).tolist(),
        "claimed, linear reading": [
            chen_long_tradeoff(alpha, **sizes, reading="linear") for alpha in alphas
        ],
        _STEPPED: [chen_long_tradeoff(alpha, **sizes, reading="step") for alpha in alphas],
        "perfect privacy": [1 - alpha for alpha in alphas],
        "Cheu et al. 2019": _envelope(lambda e: cheu_delta(**sizes, epsilon=e), alphas),
    }


def _boolean_deltas(epsilons: tuple[float, ...]) -> Curves:
    sizes = {"n_users": _N, "expected_random_users": _LAMBDA}
    return {
        "exact": _deltas(BooleanSum(_N, expected_random_users=_LAMBDA).profile().delta, epsilons),
        "claimed, Theorem 2": _deltas(lambda e: chen_long_delta(**sizes, epsilon=e), epsilons),
        "claimed, Gaussian mu = .2386": _deltas(GaussianDP(_CLAIMED_MU).profile().delta, epsilons),
        "Cheu et al. 2019": _deltas(lambda e: cheu_delta(**sizes, epsilon=e), epsilons),
    }


def _real_sum() -> tuple[RealSum, GaussianDP]:
    """Return the protocol and the guarantee that Corollary 3.3 claims."""
    claimed = GaussianDP(f"{float(_CLAIMED_MU) * math.sqrt(_BITS):.6f}")
    return RealSum(_N, expected_random_users=_LAMBDA, n_bits=_BITS), claimed


def _real_errors(alphas: tuple[float, ...]) -> Curves:
    protocol, claimed = _real_sum()
    curve = claimed.profile().tradeoff()
    return {
        "exact": protocol.type_two_error(alphas).tolist(),
        "claimed, Gaussian": [float(curve(alpha)) for alpha in alphas],
        "perfect privacy": [1 - alpha for alpha in alphas],
    }


def _real_deltas(epsilons: tuple[float, ...]) -> Curves:
    protocol, claimed = _real_sum()
    one_bit = BooleanSum(_N, expected_random_users=_LAMBDA).profile()
    return {
        "exact": _deltas(protocol.profile().delta, epsilons),
        "claimed, Gaussian": _deltas(claimed.profile().delta, epsilons),
        "basic composition of 10 bits": _deltas(
            lambda e: _BITS * one_bit.delta(e / _BITS), epsilons
        ),
    }


def _fixed_set() -> Pair:
    law = log_binomial_pmf(np.arange(_RANDOM + 1), _RANDOM, Fraction(1, 2)).log_values
    absent = np.array([-np.inf])
    return Pair(np.concatenate([law, absent]), np.concatenate([absent, law]))


def _fixed_errors(alphas: tuple[float, ...]) -> Curves:
    pair = _fixed_set()
    curve, below = pair.tradeoff(), np.cumsum(np.exp(pair.log_p))
    # The paper's 1 - F(F^-1(alpha) + 1), where F^-1(0) must be -1.
    positions = np.searchsorted(below[:-1], np.array(alphas)) - (np.array(alphas) <= 0)
    above = 1 - below[np.minimum(positions + 1, below.size - 1)]
    return {
        "exact": [float(curve(alpha)) for alpha in alphas],
        _STEPPED: np.maximum(0.0, above).tolist(),
        "perfect privacy": [1 - alpha for alpha in alphas],
        "Cheu et al. 2019, Claim C.1": _envelope(_fixed_cheu, alphas),
    }


def _fixed_deltas(epsilons: tuple[float, ...]) -> Curves:
    return {
        "exact": _deltas(_fixed_set().profile().delta, epsilons),
        "Cheu et al. 2019, Claim C.1": _deltas(_fixed_cheu, epsilons),
    }


def _fixed_cheu(epsilon: float) -> float:
    """Return the least delta / 2 at which Claim C.1 grants epsilon; inf if at none."""

    def granted(log_delta: float) -> bool:
        delta = math.exp(log_delta)
        return cheu_fixed_set_epsilon(n_random_users=_RANDOM, delta=delta) <= epsilon

    low, high = -30.0, -1e-9
    if not granted(high):
        return math.inf
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if granted(middle) else (middle, high)
    return math.exp(high) / 2


def _envelope(delta: Callable[[float], float], alphas: tuple[float, ...]) -> list[float]:
    """Return the type II errors that a bound (epsilon, delta(epsilon)) grants, both ways."""
    every = ((e, delta(e)) for e in (step / 100 for step in range(1, 500)))
    points = [(e, d) for e, d in every if d <= 1]
    return [
        max(
            0.0,
            *(1 - d - math.exp(e) * alpha for e, d in points),
            *(math.exp(-e) * (1 - d - alpha) for e, d in points),
        )
        for alpha in alphas
    ]


_CURVES: dict[str, Callable[[tuple[float, ...]], Curves]] = {
    "1a": _boolean_errors,
    "1b": _boolean_deltas,
    "1c": _real_errors,
    "1d": _real_deltas,
    "2a": _fixed_errors,
    "2b": _fixed_deltas,
}


def _alphas(steps: int) -> tuple[float, ...]:
    return tuple(round(step / steps, 6) for step in range(steps + 1))


def _epsilons(steps: int) -> tuple[float, ...]:
    return tuple(round(_MOST_EPSILON * step / steps, 6) for step in range(steps + 1))


def _deltas(delta: Callable[[float], float], epsilons: tuple[float, ...]) -> list[float]:
    """Return delta at every epsilon, nan where there is no bound."""
    deltas = [delta(epsilon) for epsilon in epsilons]
    return [value if value <= 1 else math.nan for value in deltas]
