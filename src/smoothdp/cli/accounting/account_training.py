"""``smoothdp account training``: what a training run costs, by how it samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import smoothdp as sd
from smoothdp.cli.options.command_line import StrictCommand, gathered


@dataclass(frozen=True)
class RunOptions:
    """A training run as it stands on the command line; None where an option is left out."""

    n_records: int
    batch: str
    epochs: str | None
    steps: int | None
    noise: str
    sampling: str
    max_batch: int | None
    bands: int | None
    participations: int | None
    choices: int | None
    column_norm: str | None
    neighbours: str | None


_SETTINGS = (
    click.option("--max-batch", type=int, help="Largest batch, with truncated_poisson."),
    click.option("--bands", type=int, help="Bands of the matrix, with banded and ftrl."),
    click.option("--participations", type=int, help="Steps that use one record, with ftrl."),
    click.option(
        "--choices", type=int, help="Steps a record joins in an epoch, with balls_in_bins."
    ),
    click.option(
        "--column-norm",
        help="Largest norm of a column of the matrix, with banded and ftrl; 1 unless given.",
    ),
    click.option(
        "--neighbours",
        type=click.Choice(("add_remove", "replace_one", "zero_out")),
        help="What is protected; unless given, what the sampling is analysed for.",
    ),
)


def settings_of_samplings(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that some samplings need, and the neighbours."""
    for option in reversed(_SETTINGS):
        command = option(command)
    return command


@click.command(cls=StrictCommand)
@click.option("--n", "n_records", type=int, required=True, help="Records of the data.")
@click.option("--batch", required=True, help="Records in a batch, on average.")
@click.option("--epochs", help="Passes over the data; or --steps.")
@click.option("--steps", type=int, help="Steps; or --epochs.")
@click.option("--noise", required=True, help="Standard deviation over clipping norm.")
@click.option(
    "--sampling",
    type=click.Choice(sd.training_runs.SAMPLINGS),
    required=True,
    help="How batches are drawn: check the trainer's loader.",
)
@settings_of_samplings
@gathered(RunOptions, "asked")
@click.option("--delta", required=True, help="Where epsilon is read, such as 1e-5.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw delta against epsilon.")
def training(asked: RunOptions, delta: str, as_json: bool, plot: Path | None) -> None:
    """Say what a training run costs: epsilon at both ends, and what an attacker reaches.

    \b
    Example:
      smoothdp account training --n 60000 --batch 256 --epochs 15 --noise 1.1 \\
        --sampling poisson --delta 1e-5
    """
    run = sd.training(**{name: value for name, value in vars(asked).items() if value is not None})
    cost = sd.report.TrainingCost.of(run, delta=delta)
    if plot is not None:
        click.echo(f"Picture: {cost.draw(plot)}", err=True)
    click.echo(cost.to_json() if as_json else cost.text())
