"""``smoothdp measure``: how private is a histogram of a sample?"""

from __future__ import annotations

import json
from pathlib import Path

import click

import smoothdp as sd
from smoothdp.cli.measure_design import describe_model
from smoothdp.cli.measure_input import read_counts, read_mechanism
from smoothdp.cli.measure_modes import read_mode
from smoothdp.cli.measure_output import show_measurement
from smoothdp.cli.missing import missing_note, missing_option
from smoothdp.cli.strict import StrictCommand

SAMPLING = click.Choice(["without_replacement", "with_replacement"])


@click.command(cls=StrictCommand)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--counts", help="Records per category, e.g. 81283501,74223975 (empty ones as 0).")
@click.option("--column", help="Column of FILE (CSV or Parquet) whose values are categories.")
@click.option("--universe", help="All categories of the column, comma-separated.")
@click.option("--public", is_flag=True, help="The counts, or the column, are public.")
@missing_option
@click.option("--model", type=click.Path(path_type=Path), help="CSV of label and counts.")
@click.option("--n", "n_records", type=int, help="Number of records, with --model.")
@click.option("--sharpen", is_flag=True, help="With --model: all mixtures, up to 100,000 records.")
@click.option("--databases", type=int, help="With --model: estimate by so many databases.")
@click.option("--target-delta", help="With --model: the largest sample that meets it.")
@click.option("--sampling-rate", help="Share of records drawn; T = ceil(rate * n), exactly.")
@click.option("--n-draws", type=int, help="Number of records drawn, instead of a rate.")
@click.option("--sampling", type=SAMPLING, help="Default: without_replacement.")
@click.option("--keep-probability", help="Instead: each record is kept independently.")
@click.option("--epsilon", help='Epsilon, e.g. 0.5 or "ln(51/49)".')
@click.option("--threshold", help="Adversary's accuracy t; sets epsilon = ln(t / (1 - t)).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw delta(x) against epsilon.")
@click.pass_context
def measure(
    context: click.Context,
    /,
    file: Path | None,
    counts: str | None,
    column: str | None,
    universe: str | None,
    public: bool,
    missing: str | None,
    model: Path | None,
    n_records: int | None,
    sharpen: bool,
    databases: int | None,
    target_delta: str | None,
    sampling_rate: str | None,
    n_draws: int | None,
    sampling: str | None,
    keep_probability: str | None,
    epsilon: str | None,
    threshold: str | None,
    as_json: bool,
    plot: Path | None,
) -> None:
    """Measure a histogram of a sample that is published without added noise.

    Prints delta(x) at these counts, ordinary DP beside it, and the adversary's utility.
    delta(x) is a function of the data, as private as they are: measure public, hypothetical or
    modelled counts. Of a column nothing else is printed, unless --public declares it public.

    \b
    Examples:
      smoothdp measure --counts 81283501,74223975 --sampling-rate 0.998 --threshold 0.51
      smoothdp measure --model units.csv --n 10000 --sampling-rate 0.998 --epsilon 7
      smoothdp measure --model units.csv --n 1000000 --epsilon 1 --target-delta 1e-9
      smoothdp measure votes.csv --column candidate --public --keep-probability 0.99 --epsilon 1
    """
    mode = read_mode(context)
    sample = (sampling_rate, n_draws, sampling, keep_probability)
    if model is not None:
        found = describe_model(
            *(model, n_records, epsilon),
            target_delta=target_delta,
            databases=databases,
            sharpen=sharpen,
            sampling=sample,
        )
        click.echo(json.dumps(found[1], indent=2) if as_json else found[0])
        return
    categories = read_counts(counts, file, column, universe, missing)
    mechanism = read_mechanism(sum(categories.values()), *sample)
    result = sd.measure_histogram(
        mechanism,
        categories,
        epsilon=epsilon,
        threshold=threshold,
        all_named=file is None or universe is not None,
        counts_are="public" if public else "given" if mode == "counts" else "private",
    )
    show_measurement(result, plot=plot, note=missing_note(missing), as_json=as_json)
