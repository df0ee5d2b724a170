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
_CLASSES = {">= 60": (60.0, math.inf), "15..60": (15.0, 60.0), "6..15": (6.0, 15.0)}
_CLASSES["< 6"] = (0.0, 6.0)
_TARGETS = {">= 60": (0.75, 0.92), "15..60": (0.85, 1.15)}


class Errors(NamedTuple):
    """Squared errors of one table, level and epsilon; an entry, or a column, for each group.

    ``grids`` has a row for each grid of candidates, none where OpenDP is not compared.
    """

    kappa: FloatArray
    ours: FloatArray
    exponential: FloatArray
    grids: FloatArray


def settings(full: bool) -> tuple[str, ...]:
    """Return the epsilons."""
    return ("1/10", "1/5", "1/2", "1", "2") if full else ("1/10", "1/2", "2")


def show_quantiles(full: bool, targets: Targets) -> None:
    """Print a line for each table, level, epsilon and class of kappa."""
    print("\nQuantiles of groups: root-mean-square error of smoothdp / that of the peer, geometric")
    print("  mean over groups; below 1 smoothdp is more accurate. k = n min(q, 1 - q) epsilon")
    print("  EM: continuous exponential mechanism. OpenDP: each group at its best of 17 grids in")
    print("  hindsight; 'one grid': all groups of the line at the one that is best for them")
    head = f"  {'table, q, epsilon':<34}{'k':>7}{'groups':>8}{'EM':>8}{'worst':>8}"
    print(f"{head}{'OpenDP':>9}{'worst':>8}{'one grid':>10}")
    for table in public_tables():
        for q in LEVELS:
            for kind, epsilons in (("pure", settings(full)), ("zcdp", ("1",))):
                every = compare(table, q, kind, epsilons)
                for epsilon, errors in zip(epsilons, every, strict=True):
                    name = f"{table.name} {float(q):g} {kind} eps={float(Fraction(epsilon)):g}"
                    _lines(name, kind, errors, targets)


def compare(
    table: GroupedColumn, q: Fraction, kind: str, epsilons: tuple[str, ...]
) -> list[Errors]:
    """Return the errors for each epsilon, zCDP with rho = epsilon^2 / 2."""
    columns: list[list[tuple[float, float, float]]] = [[] for _ in epsilons]
    grids: list[FloatArray] = []
    for done, group in enumerate(table.groups, 1):
        data = np.sort(np.clip(group, *table.bounds))
        target, kappa = group_errors.plain_quantile(data, q), len(data) * min(q, 1 - q)
        for place, epsilon in enumerate(epsilons):
            guarantee = guarantee_of(epsilon, kind, neighbours="add_remove")
            made = group_errors.made_for(q, table.bounds, guarantee, len(data))
            columns[place].append(
                (
                    float(kappa * Fraction(epsilon)),
                    group_errors.ours(data, made, target),
                    group_errors.exponential(data, q, table.bounds, guarantee, target),
                )
            )
        if kind == "pure":
            numbers = [float(Fraction(epsilon)) for epsilon in epsilons]
            grids.append(group_errors.candidates(data, q, table.bounds, numbers, target))
        progress(done, len(table.groups))
    by_grid = np.array(grids) if grids else np.empty((len(table.groups), 0, len(epsilons)))
    return [
        Errors(*np.array(rows).T, by_grid[:, :, place].T)
        for place, rows in enumerate(columns)
    ]


class Summary(NamedTuple):
    """One class of kappa: geometric means over groups of error / error, and the largest one."""

    name: str
    n_groups: int
    exponential: float
    worst: float
    best_grids: float
    worst_grid: float
    one_grid: float


def summarise(errors: Errors) -> Iterator[Summary]:
    """Yield the classes that have groups; NaN where OpenDP is not compared."""
    for name, (low, high) in _CLASSES.items():
        chosen = (errors.kappa >= low) & (errors.kappa < high)
        if not chosen.any():
            continue
        against = np.sqrt(errors.ours[chosen] / errors.exponential[chosen])
        found = [float(np.exp(np.log(against).mean())), float(against.max())]
        if len(errors.grids):
            logs = np.log(errors.ours[chosen] / errors.grids[:, chosen]) / 2
            each = logs.max(axis=0)
            found += [float(np.exp(x)) for x in (each.mean(), each.max(), logs.mean(axis=1).max())]
        else:
            found += [math.nan] * 3
        yield Summary(name, int(chosen.sum()), *found)


def _lines(name: str, kind: str, errors: Errors, targets: Targets) -> None:
    for found in summarise(errors):
        print(
            f"  {name:<34}{found.name:>7}{found.n_groups:>8}{found.exponential:>8.3g}"
            f"{found.worst:>8.3g}{found.best_grids:>9.3g}{found.worst_grid:>8.3g}"
            f"{found.one_grid:>10.3g}",
            flush=True,
        )
        if found.name not in _TARGETS:
            row = targets.row(f"EM, k {found.name}, {kind}", 0, judged="reported")
            row.add(name, found.exponential)
            continue
        reach, reach_grids = _TARGETS[found.name]
        row = targets.row(f"EM, k {found.name}, {kind}", reach, at_most=True)
        row.add(name, found.exponential)
        if kind == "pure":
            text = f"OpenDP, each group's best of 17 grids, k {found.name}"
            targets.row(text, reach_grids, at_most=True).add(name, found.best_grids)
            text = f"the same, one grid a line, k {found.name}"
            targets.row(text, reach_grids, at_most=True).add(name, found.one_grid)
