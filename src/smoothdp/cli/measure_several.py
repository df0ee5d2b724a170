"""``smoothdp measure --epsilon 0.01,0.1,1``: delta(x) at several epsilons, in one table."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import click

import smoothdp as sd
from smoothdp.text import log10_up, number_up, table

_BETWEEN = (
    "Between two of these epsilons delta(x) is at most what the straight line through their values "
    "has,\ndrawn against e^epsilon; beyond the last it is at most the last."
)


def split_epsilons(epsilon: str | None) -> list[str | None]:
    """Return the epsilons of the option, in order; None alone where it is left out."""
    if epsilon is None:
        return [None]
    parts = [part.strip() for part in epsilon.split(",")]
    if not all(parts):
        raise click.UsageError(
            f"Expected epsilons separated by commas; got {epsilon!r}. Write them as 0.01,0.1,1."
        )
    return list(parts)


def show_several(
    results: Sequence[sd.report.Measurement],
    *,
    plot: Path | None,
    notes: tuple[str, str],
    as_json: bool,
) -> None:
    """Print delta(x) at each epsilon, and what holds between; draw the widest if asked to.

    Args:
        notes: about the file and about missing values; "" for none.
    """
    if plot is not None:
        max(results, key=lambda result: float(result.epsilon)).draw(plot)
        click.echo(f"Picture: {plot}", err=True)
    if as_json:
        several = [result.to_dict() for result in results]
        told = {"file": notes[0], "missing": notes[1]}
        shown = {"measurements": several, **told, "version": sd.__version__}
        click.echo(json.dumps(shown, indent=2))
        return
    first, last = results[0], results[-1]
    rows = [
        ("mechanism", first.mechanism.describe()),
        ("counts", first.counts_text()),
        *((f"delta(x) at {result.epsilon_text()}", _delta(result)) for result in results),
        (
            "ordinary DP",
            f"{number_up(first.mechanism.inclusion())}  (its delta at every finite epsilon)",
        ),
    ]
    text = f"{table(rows)}\n\n{_BETWEEN}\n{last.sentence()}"
    click.echo("\n".join(filter(None, (text, *notes))))


def _delta(result: sd.report.Measurement) -> str:
    if result.log_delta.upper == -math.inf:
        return "0  (exact)"
    return f"{result.delta_text()}  (rounded up; log10 {log10_up(result.log_delta.upper)})"
