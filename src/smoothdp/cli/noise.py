"""``smoothdp noise``: how much noise a guarantee needs, law by law."""

from __future__ import annotations

import json
from pathlib import Path

import click

import smoothdp as sd
from smoothdp.cli.guarantee_options import guarantee_options, read_guarantee
from smoothdp.cli.progress import progress_bar
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
    kind: str | None,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    omega: str | None,
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
    guarantee = read_guarantee(kind, epsilon, delta, rho, omega)
    with progress_bar("calibrating") as progress:
        found = sd.noise_table(guarantee, smoothing=smoothing, progress=progress)
    if plot is not None:
        found.draw(plot)
        click.echo(f"Picture: {plot}", err=True)
    if figures is not None:
        for place in ("1", "2"):
            drawn = FIGURES[f"polyplace/{place}"].compute().draw(figures / f"polyplace-{place}.png")
            click.echo(f"Picture: {drawn}", err=True)
    click.echo(json.dumps(found.to_dict(), indent=2) if as_json else found.text())
