"""``smoothdp noise``: how much noise a guarantee needs, law by law."""

from __future__ import annotations

import json
from pathlib import Path

import click

import smoothdp as sd
from smoothdp.cli.options.command_line import progress_bar
from smoothdp.cli.options.guarantees import GuaranteeOptions, guarantee_options, read_guarantee
from smoothdp.papers import FIGURES


@click.command()
@guarantee_options
@click.option("--smoothing", required=True, help="Smoothing t of the sensitivity, e.g. 0.1.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the densities of the noise.")
@click.option(
    "--figures",
    type=click.Path(path_type=Path, file_okay=False),
    help="A folder for Figures 1 and 2 of paper 4, with the exact curves.",
)
def noise(
    guarantee: GuaranteeOptions,
    smoothing: str,
    as_json: bool,
    plot: Path | None,
    figures: Path | None,
) -> None:
    """Compare all noise laws for smooth sensitivity: the papers' theorems, and exactly.

    \b
    Examples:
      smoothdp noise --epsilon 1 --smoothing 0.1
      smoothdp noise --guarantee zcdp --epsilon 1 --smoothing 0.1 --figures figures
    """
    promise = read_guarantee(guarantee)
    with progress_bar("calibrating") as progress:
        compared = sd.report.noise_table(promise, smoothing=smoothing, progress=progress)
    if plot is not None:
        compared.draw(plot)
        click.echo(f"Picture: {plot}", err=True)
    if figures is not None:
        for number in ("1", "2"):
            drawn = (
                FIGURES[f"polyplace/{number}"].compute().draw(figures / f"polyplace-{number}.png")
            )
            click.echo(f"Picture: {drawn}", err=True)
    click.echo(json.dumps(compared.to_dict(), indent=2) if as_json else compared.text())
