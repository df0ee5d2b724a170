"""``smoothdp design sgd``: how private one step of training with quantised gradients is."""

from __future__ import annotations

from pathlib import Path

import click

import smoothdp as sd
from smoothdp.cli.options.command_line import StrictCommand, written_command
from smoothdp.cli.options.model_file import read_model
from smoothdp.plots import save


@click.command(cls=StrictCommand)
@click.option(
    "--model", type=click.Path(path_type=Path), required=True, help="CSV of label, counts."
)
@click.option("--n", "n_records", type=int, required=True, help="Number of records.")
@click.option("--batch", type=int, required=True, help="How many are drawn and averaged.")
@click.option("--epsilon", required=True, help='Epsilon, e.g. 0.5 or "ln(51/49)".')
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
@click.option("--html", type=click.Path(path_type=Path), help="Write one page of HTML.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw both ends against n.")
@click.pass_context
def sgd(
    context: click.Context,
    /,
    model: Path,
    n_records: int,
    batch: int,
    epsilon: str,
    as_json: bool,
    html: Path | None,
    plot: Path | None,
) -> None:
    """Bound smoothed delta of one step of SGD with quantised gradients, from both sides.

    The model is a CSV file: a header, then in every row a label and how often each level of the
    quantised gradient occurs.

    \b
    Example:
      smoothdp design sgd --model batch.csv --n 10000 --batch 100 --epsilon 1
    """
    step = sd.sgd_step_delta(read_model(model), n_records=n_records, batch=batch, epsilon=epsilon)
    if html is not None:
        step.write_html(html, command=written_command(context))
        click.echo(f"Page: {html}", err=True)
    if plot is not None:
        save(step.plot(), plot)
        click.echo(f"Picture: {plot}", err=True)
    click.echo(step.to_json() if as_json else step.text())
