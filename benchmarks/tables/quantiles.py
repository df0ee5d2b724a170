"""Medians and 90% quantiles of groups: error of smoothdp over that of its peers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from benchmarks.accuracy.cells import guarantee_of, progress
from benchmarks.accuracy.ratios import Targets
from benchmarks.tables import group_errors
from benchmarks.tables.public_tables import GroupedColumn, public_tables
from smoothdp.types import FloatArray

LEVELS = (Fraction(1, 2), Fraction(9, 10))
CLASSES = {">= 60": (60.0, math.inf), "15..60": (15.0, 60.0), "6..15": (6.0, 15.0)}
CLASSES["< 6"] = (0.0, 6.0)
_TARGETS = {">= 60": (0.75, 0.92), "15..60": (0.85, 1.15)}
_FEWEST = 4
"""A mean of fewer groups is printed and not held to a target."""
_NOTHING = 0.01
"""In whole minutes an error below this counts as this much."""


class Errors(NamedTuple):
    """Squared errors of one table, level and epsilon; an entry, or a column, for each group.

    ``grids`` and ``shifted`` have a row for each grid of candidates, none where OpenDP is not
    compared.
    """

    kappa: FloatArray
    ours: FloatArray
    exponential: FloatArray
    grids: FloatArray
    shifted: FloatArray


def settings(full: bool, kind: str) -> tuple[str, ...]:
    """Return the epsilons; zCDP with rho = epsilon^2 / 2."""
    if kind == "zcdp":
        return ("1",)
    return ("1/10", "1/5", "1/2", "1", "2") if full else ("1/10", "1/2", "2")


def show_quantiles(full: bool, targets: Targets) -> None:
    """Print a line for each table, level, epsilon and class of kappa."""
    print("\nQuantiles of groups: root-mean-square error of smoothdp / that of the peer, geometric")
    print("  mean over groups (and the largest): below 1 smoothdp is more accurate.")
    print("  k = n min(q, 1 - q) epsilon. EM: the exponential mechanism over all real numbers.")
    print("  OpenDP over candidates, the best of 17 grids in hindsight: one grid for all groups of")
    print("  a line; the same, mean of four shifts of it; another grid for every group.")
    print("  Whole minutes: all outputs rounded, errors of less than .01 count as .01")
    head = f"  {'table, q, guarantee':<40}{'k':>7}{'groups':>8}{'EM':>8}{'largest':>9}"
    print(f"{head}{'OpenDP':>9}{'shifted':>9}{'every':>9}")
    for table in public_tables():
        for q in LEVELS:
            for kind in ("pure", "zcdp"):
                epsilons = settings(full, kind)
                for epsilon, errors in zip(
                    epsilons, compare(table, q, kind, epsilons), strict=True
                ):
                    name = f"{table.name} {float(q):g} {kind} eps={float(Fraction(epsilon)):g}"
                    _lines(name, kind, errors, targets, is_whole=table.step > 0)


def compare(
    table: GroupedColumn, q: Fraction, kind: str, epsilons: tuple[str, ...]
) -> list[Errors]:
    """Return the errors for each epsilon."""
    columns: list[list[tuple[float, float, float]]] = [[] for _ in epsilons]
    grids: list[FloatArray] = []
    bounds, step = table.bounds, table.step
    for done, group in enumerate(table.groups, 1):
        data = np.sort(np.clip(group, *bounds))
        target, kappa = group_errors.plain_quantile(data, q), len(data) * min(q, 1 - q)
        for place, epsilon in enumerate(epsilons):
            guarantee = guarantee_of(epsilon, kind, neighbours="add_remove")
            made = group_errors.made_for(q, bounds, guarantee, len(data), step=step)
            columns[place].append(
                (
                    float(kappa * Fraction(epsilon)),
                    group_errors.ours(data, made, target, step=step),
                    group_errors.exponential(data, q, bounds, guarantee, target, step=step),
                )
            )
        if kind == "pure":
            numbers = [float(Fraction(epsilon)) for epsilon in epsilons]
            grids.append(group_errors.candidates(data, q, bounds, numbers, target, step=step))
        progress(done, len(table.groups))
    shape = (len(table.groups), 0, len(epsilons), 2)
    by_grid = np.maximum(np.array(grids) if grids else np.empty(shape), _least(table))
    return [
        Errors(
            np.array(rows)[:, 0],
            *np.maximum(np.array(rows)[:, 1:].T, _least(table)),
            *by_grid[:, :, place].T,
        )
        for place, rows in enumerate(columns)
    ]


def _least(table: GroupedColumn) -> float:
    return (table.step * _NOTHING) ** 2


class Summary(NamedTuple):
    """One class of kappa: geometric means over groups of error / error, and the largest one."""

    name: str
    n_groups: int
    exponential: float
    largest: float
    one_grid: float
    shifted: float
    every: float


def summarise(errors: Errors) -> Iterator[Summary]:
    """Yield the classes that have groups; NaN where OpenDP is not compared."""
    for name, (low, high) in CLASSES.items():
        chosen = (errors.kappa >= low) & (errors.kappa < high)
        if not chosen.any():
            continue
        against = np.log(errors.ours[chosen] / errors.exponential[chosen]) / 2
        found = [float(against.mean()), float(against.max())]
        if len(errors.grids):
            logs, shifted = (
                np.log(errors.ours[chosen] / grids[:, chosen]) / 2
                for grids in (errors.grids, errors.shifted)
            )
            found += [
                float(logs.mean(axis=1).max()),
                float(shifted.mean(axis=1).max()),
                float(logs.max(axis=0).mean()),
            ]
        else:
            found += [math.nan] * 3
        yield Summary(name, int(chosen.sum()), *map(math.exp, found))


def _lines(name: str, kind: str, errors: Errors, targets: Targets, *, is_whole: bool) -> None:
    for found in summarise(errors):
        grids = found.one_grid, found.shifted, found.every
        cells = [f"{x:>9.3g}" if kind == "pure" else f"{'':>9}" for x in grids]
        if is_whole:
            cells[1] = f"{'':>9}"
        print(
            f"  {name:<40}{found.name:>7}{found.n_groups:>8}{found.exponential:>8.3g}"
            f"{found.largest:>9.3g}{''.join(cells)}",
            flush=True,
        )
        where = f"{name}, {found.n_groups} groups"
        if found.name not in _TARGETS or is_whole:
            what = f"whole minutes, EM, k {found.name}" if is_whole else f"EM, k {found.name}"
            row = targets.row(f"{what}, {kind}", 0, judged="reported")
            row.add(where, found.exponential)
            continue
        if found.n_groups < _FEWEST:
            continue
        reach, reach_grids = _TARGETS[found.name]
        row = targets.row(f"EM, k {found.name}, {kind}", reach, at_most=True)
        row.add(where, found.exponential)
        if kind == "pure":
            text = f"OpenDP, k {found.name}, the best of 17 grids"
            targets.row(text, reach_grids, at_most=True).add(where, found.one_grid)
            text = f"OpenDP, k {found.name}, the best of 17 grids, shifted"
            targets.row(text, reach_grids, at_most=True).add(where, found.shifted)
