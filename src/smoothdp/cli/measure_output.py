"""What ``smoothdp measure`` prints of counts or of a column."""

from __future__ import annotations

import json
from pathlib import Path

import click

import smoothdp as sd


def show_measurement(
    result: sd.Measurement, *, plot: Path | None, note: str, as_json: bool
) -> None:
    """Print a measurement, and draw it if asked to."""
    if plot is not None:
        result.draw(plot)
        click.echo(f"Picture: {plot}", err=True)
    if as_json:
        shown = {**result.to_dict(), "missing": note, "version": sd.__version__}
        click.echo(json.dumps(shown, indent=2))
    else:
        click.echo(result.text() + (f"\n{note}" if note else ""))
