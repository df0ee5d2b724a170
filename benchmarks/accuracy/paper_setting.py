"""The setting of paper 2's Figures: N(0, 1), bounds [-50, 1050], n = 1001, epsilon = 1."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from scipy import stats

from benchmarks.accuracy.cells import SEED
from benchmarks.accuracy.planned import window_of
from benchmarks.accuracy.ratios import Ratio, Targets
from benchmarks.accuracy.smooth import parts
from smoothdp.claims import ZCDP, PureDP
from smoothdp.mechanisms.release.defaults import default_trim
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.planning import plan
from smoothdp.queries import TrimmedMean

_N = 1001
_BOUNDS = (-50, 1050)


def show_paper_setting(full: bool, targets: Targets) -> None:
    """Print n MSE - 1 with standard errors; the paper's best is .11."""
    print("\nn MSE - 1, N(0, 1) with bounds [-50, 1050], n = 1001, epsilon = 1 (the paper: .11)")
    rng = np.random.default_rng(SEED)
    every = list(rng.normal(size=(8000 if full else 2400, _N)))
    for guarantee, kind, reach in (
        (PureDP(1), "pure", (0.07, 0.08)),
        (ZCDP(Fraction(1, 2)), "zCDP", (0.033, 0.045)),
    ):
        for place, what in enumerate(("plan", "default", "5% trimmed", "10% trimmed")):
            if what == "plan":
                made = window_of(
                    plan(
                        TrimmedMean(1, bounds=_BOUNDS),
                        guarantee=guarantee,
                        n_records=_N,
                        assuming=stats.norm(),
                        may_change_trim=True,
                    )
                )
            else:
                trims = {"default": default_trim(guarantee, _N), "5% trimmed": 50}
                query = TrimmedMean(trims.get(what, 100), bounds=_BOUNDS)
                made = SmoothNoise.calibrate(query, guarantee=guarantee, n_records=_N)
            # More of them where there is a target.
            columns = every if place < len(reach) else every[::4]
            values, noise = parts(made, columns)
            # The sample mean is independent of the rest: its error is 1 / n, known.
            excess = _N * ((values - np.array([x.mean() for x in columns])) ** 2 + noise)
            error = float(excess.std()) / math.sqrt(len(columns))
            found = float(excess.mean())
            trimmed = made.windowed.drops(_N)[0]
            print(
                f"  {kind:<6}{what:<12}m = {trimmed:<5}t = {float(made.smoothing):<7.3g}"
                f"{found:.4f} +- {error:.4f}"
            )
            if place < len(reach):
                row = targets.row(
                    f"n MSE - 1 of paper 2's setting, {what}, {kind}", reach[place], at_most=True
                )
                row.add(f"m={trimmed}", Ratio(found, found - 2 * error, found + 2 * error))
