"""Figures 1 and 2 of paper 5 (Chen, Long), with the exact curves beside the claimed ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import numpy as np

from smoothdp.exact.binomial import log_binomial_pmf
from smoothdp.paper_bounds import chen_long_delta, chen_long_tradeoff, cheu_delta
from smoothdp.plots.canvas import save
from smoothdp.plots.panels import Panel, plot_panels
from smoothdp.privacy.gaussian import GaussianDP
from smoothdp.privacy.pair import Pair
from smoothdp.shuffle import BooleanSum, RealSum
from smoothdp.text import table

_N, _LAMBDA, _BITS, _CLAIMED_MU = 100, 58, 10, "0.2386"
_ALPHAS = tuple(round(0.02 * step, 2) for step in range(51))
_EPSILONS = tuple(round(0.05 * step, 2) for step in range(31))
_SHOWN = 8


@dataclass(frozen=True, slots=True)
class _PanelFigure:
    """A figure made of panels."""

    name: ClassVar[str]
    title: ClassVar[str]
    panels: tuple[Panel, ...]

    def text(self) -> str:
        """Return a table of every panel at a few places."""
        parts = [f"{self.title}"]
        for panel in self.panels:
            step = max(1, len(panel.xs) // _SHOWN)
            rows = [
                (f"{x:g}", *(f"{ys[place]:.5g}" for ys in panel.curves.values()))
                for place, x in enumerate(panel.xs)
                if place % step == 0
            ]
            parts.append(
                f"{panel.title}: {panel.y_label}\n\n"
                f"{table(rows, header=(panel.x_label, *panel.curves))}"
            )
        return "\n\n".join(parts)

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON."""
        return {
            "figure": self.name,
            "panels": [
                {
                    "title": p.title,
                    p.x_label: list(p.xs),
                    "curves": {
                        label: [None if math.isnan(y) else y for y in ys]
                        for label, ys in p.curves.items()
                    },
                }
                for p in self.panels
            ],
        }

    def draw(self, path: str | Path) -> Path:
        """Write the picture, in the arrangement of the paper, and return its path."""
        return save(plot_panels(self.panels), path)


class ShufflingFigure(_PanelFigure):
    """Figure 1 of paper 5: Boolean and real sums at n = 100, lambda = 58."""

    name = "gaussian-shuffling/1"
    title = "Figure 1 of paper 5: sums of 100 users, lambda = 58, claimed and exact"

    @classmethod
    def compute(cls, *, progress: Callable[[int, int], None] | None = None) -> ShufflingFigure:
        """Compute trade-off curves and profiles, exactly and as the paper claims them.

        The claimed curves of Theorem 2 are false in general; at these parameters they hold.
        """
        given = {"n_users": _N, "expected_random_users": _LAMBDA}
        one = BooleanSum(_N, expected_random_users=_LAMBDA)
        panels = [
            Panel(
                "(a) Boolean sum",
                "type I error",
                "type II error",
                _ALPHAS,
                {
                    "exact": one.type_two_error(_ALPHAS).tolist(),
                    "claimed, linear reading": [
                        chen_long_tradeoff(alpha, **given, reading="linear") for alpha in _ALPHAS
                    ],
                    "claimed, step reading": [
                        chen_long_tradeoff(alpha, **given, reading="step") for alpha in _ALPHAS
                    ],
                    "perfect privacy": [1 - alpha for alpha in _ALPHAS],
                },
            ),
            Panel(
                "(b) Boolean sum",
                "epsilon",
                "delta",
                _EPSILONS,
                {
                    "exact": _deltas(one.profile().delta),
                    "claimed, Theorem 2": _deltas(lambda e: chen_long_delta(**given, epsilon=e)),
                    "claimed, Gaussian mu = .2386": _deltas(
                        GaussianDP(_CLAIMED_MU).profile().delta
                    ),
                    "Cheu et al. 2019": _deltas(lambda e: cheu_delta(**given, epsilon=e)),
                },
                log_scale=True,
            ),
        ]
        if progress is not None:
            progress(1, 2)
        many = RealSum(_N, expected_random_users=_LAMBDA, n_bits=_BITS)
        claimed = GaussianDP(f"{float(_CLAIMED_MU) * math.sqrt(_BITS):.6f}").profile()
        panels += [
            Panel(
                "(c) real sum, 10 bits",
                "type I error",
                "type II error",
                _ALPHAS,
                {
                    "exact": many.type_two_error(_ALPHAS).tolist(),
                    "claimed, Gaussian": [float(claimed.tradeoff()(alpha)) for alpha in _ALPHAS],
                    "perfect privacy": [1 - alpha for alpha in _ALPHAS],
                },
            ),
            Panel(
                "(d) real sum, 10 bits",
                "epsilon",
                "delta",
                _EPSILONS,
                {
                    "exact": _deltas(many.profile().delta),
                    "claimed, Gaussian": _deltas(claimed.delta),
                    "basic composition of 10 bits": _deltas(
                        lambda e: _BITS * one.profile().delta(e / _BITS)
                    ),
                },
                log_scale=True,
            ),
        ]
        if progress is not None:
            progress(2, 2)
        return cls(tuple(panels))


class FixedSetFigure(_PanelFigure):
    """Figure 2 of paper 5: a fixed set H of 50 random users among 100."""

    name = "gaussian-shuffling/2"
    title = "Figure 2 of paper 5: 50 users known to answer at random"

    @classmethod
    def compute(cls, *, progress: Callable[[int, int], None] | None = None) -> FixedSetFigure:
        """Compute the pair Bin(50, 1/2) and the same plus one, exactly."""
        law = log_binomial_pmf(np.arange(51), 50, Fraction(1, 2)).log_values
        absent = np.array([-np.inf])
        pair = Pair(np.concatenate([law, absent]), np.concatenate([absent, law]))
        curve, profile = pair.tradeoff(), pair.profile()
        panels = (
            Panel(
                "(a) C_H",
                "type I error",
                "type II error",
                _ALPHAS,
                {
                    "exact": [float(curve(alpha)) for alpha in _ALPHAS],
                    "perfect privacy": [1 - alpha for alpha in _ALPHAS],
                },
            ),
            Panel(
                "(b) C_H", "epsilon", "delta", _EPSILONS, {"exact": _deltas(profile.delta)}, True
            ),
        )
        if progress is not None:
            progress(1, 1)
        return cls(panels)


def _deltas(delta: Callable[[float], float]) -> Sequence[float]:
    """Return delta at every epsilon, nan where it is 0 or no bound, for a log scale."""
    found = [delta(epsilon) for epsilon in _EPSILONS]
    return [value if 0 < value <= 1 else math.nan for value in found]
