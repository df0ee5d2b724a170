"""``smoothdp measure``: how private is a histogram of a sample?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import click

import smoothdp as sd
from smoothdp.cli.designing.sample_file import describe_sample, population_note
from smoothdp.cli.measure_model import ModelQuestion, describe_model
from smoothdp.cli.measure_several import show_several, split_epsilons
from smoothdp.cli.options.columns import missing_note, missing_option
from smoothdp.cli.options.command_line import (
    StrictCommand,
    gathered,
    given_options,
    refuse_strays,
)
from smoothdp.cli.options.counts import SAMPLE, SampleOptions, read_counts, read_mechanism
from smoothdp.cli.options.csv_files import CSV_TEXT, CsvTextOptions, csv_text_options

SAMPLING = click.Choice(["without_replacement", "with_replacement"])


class Mode(NamedTuple):
    """A way to use the command: what asks for it, and the parameters that it has a use for."""

    words: str
    options: frozenset[str]


_AT_COUNTS = (*SAMPLE, "epsilon", "threshold", "public", "as_json", "plot")
_OF_MODEL = ("model", "n_records", "epsilon", "as_json")

MODES = {
    "counts": Mode("--counts", frozenset(("counts", *_AT_COUNTS))),
    "column": Mode(
        "a FILE with --column",
        frozenset(("file", "column", "universe", "missing", *CSV_TEXT, *_AT_COUNTS)),
    ),
    "model": Mode("--model", frozenset((*_OF_MODEL, *SAMPLE, "sharpen", "tolerance", "at_delta"))),
    "sample": Mode(
        "a FILE with --population and --model",
        frozenset(("file", "population", "model", "epsilon", "as_json")),
    ),
    "databases": Mode("--model with --databases", frozenset((*_OF_MODEL, *SAMPLE, "databases"))),
    "design": Mode(
        "--model with --target-delta", frozenset((*_OF_MODEL, "sampling", "target_delta"))
    ),
}


def read_mode(context: click.Context) -> str:
    """Return the mode that the command line asks for, or raise UsageError for other options."""
    standing = given_options(context)
    if "population" in standing:
        mode = "sample"
        if not {"file", "model"} <= set(standing):
            raise click.UsageError(
                "Expected a FILE and --model with --population: FILE is a sample then, and "
                "delta(x) needs the population's counts, which no sample has; got no "
                f"{'--model' if 'file' in standing else 'FILE'}. Give a model of public tables."
            )
    elif "model" in standing:
        if {"sharpen", "databases"} <= set(standing):
            raise click.UsageError(
                "Expected one of --sharpen and --databases; got both. An estimate is not sharpened."
            )
        signs = (("design", "target_delta"), ("databases", "databases"))
        mode = next((name for name, sign in signs if sign in standing), "model")
    elif ("counts" in standing and "file" in standing) or not {"counts", "file"} & set(standing):
        got = "both" if "counts" in standing else "neither"
        raise click.UsageError(
            f"Expected either --counts or a FILE with --column; got {got}. Give exactly one."
        )
    else:
        mode = "counts" if "counts" in standing else "column"
    refuse_strays(context, MODES[mode].options, mode=MODES[mode].words)
    return mode


@click.command(cls=StrictCommand)
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--counts", help="Records per category, e.g. 81283501,74223975 (empty ones as 0).")
@click.option("--column", help="Column of FILE (CSV or Parquet) whose values are categories.")
@click.option("--universe", help="All categories of the column, comma-separated.")
@click.option("--public", is_flag=True, help="The counts, or the column, are public.")
@click.option("--population", type=int, help="With --model: FILE is a sample of so many records.")
@missing_option
@csv_text_options
@click.option("--model", type=click.Path(path_type=Path), help="CSV of label and counts.")
@click.option("--n", "n_records", type=int, help="Number of records, with --model.")
@click.option("--sharpen", is_flag=True, help="With --model: all mixtures, up to 100,000 records.")
@click.option("--tolerance", type=float, help="With --model: how close in ln; default 0.7.")
@click.option("--at-delta", help="With --model: the epsilons of these deltas, e.g. 1e-6,1e-9.")
@click.option("--databases", type=int, help="With --model: estimate by so many databases.")
@click.option("--target-delta", help="With --model: the largest sample that meets it.")
@click.option("--sampling-rate", help="Share of records drawn; T = ceil(rate * n), exactly.")
@click.option("--n-draws", type=int, help="Number of records drawn, instead of a rate.")
@click.option("--sampling", type=SAMPLING, help="Default: without_replacement.")
@click.option("--keep-probability", help="Instead: each record is kept independently.")
@click.option("--epsilon", help='E.g. 0.5 or "ln(51/49)"; of counts also several: 0.01,0.1,1.')
@click.option("--threshold", help="Adversary's accuracy t; sets epsilon = ln(t / (1 - t)).")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw delta(x) against epsilon.")
@gathered(SampleOptions, "sample")
@click.pass_context
def measure(
    context: click.Context,
    /,
    file: Path | None,
    counts: str | None,
    column: str | None,
    universe: str | None,
    public: bool,
    population: int | None,
    missing: str | None,
    csv: CsvTextOptions,
    model: Path | None,
    n_records: int | None,
    sharpen: bool,
    tolerance: float | None,
    at_delta: str | None,
    databases: int | None,
    target_delta: str | None,
    sample: SampleOptions,
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
      smoothdp measure --counts 300,900,4000 --sampling-rate 0.9 --epsilon 0.1,0.5,1
      smoothdp measure --model units.csv --n 10000 --sampling-rate 0.998 --epsilon 7
      smoothdp measure --model units.csv --n 1000000 --epsilon 1 --target-delta 1e-9
      smoothdp measure votes.csv --column candidate --public --keep-probability 0.99 --epsilon 1
      smoothdp measure sample.csv --population 9000 --model census.csv --epsilon 1
    """
    mode = read_mode(context)
    if population is not None:
        assert file is not None
        assert model is not None
        counted = sd.data.count_rows(file)
        text, document = describe_sample(model, population, counted, epsilon)
        click.echo(json.dumps(document, indent=2) if as_json else text)
        return
    if model is not None:
        asked = ModelQuestion(
            model, n_records, epsilon, target_delta, databases, sharpen, tolerance, at_delta, sample
        )
        text, document = describe_model(asked)
        click.echo(json.dumps(document, indent=2) if as_json else text)
        return
    categories = read_counts(counts, file, column, universe, missing, csv)
    mechanism = read_mechanism(sum(categories.values()), sample)
    results = [
        sd.report.measure_histogram(
            mechanism,
            categories,
            epsilon=each,
            threshold=threshold,
            all_named=file is None or universe is not None,
            counts_are="public" if public else "given" if mode == "counts" else "private",
        )
        for each in split_epsilons(epsilon)
    ]
    first = results[0]
    notes = (population_note(first.mechanism.n_records) if file else "", missing_note(missing))
    if len(results) > 1:
        show_several(results, plot=plot, notes=notes, as_json=as_json)
    else:
        show_measurement(first, plot=plot, notes=notes, as_json=as_json)


def show_measurement(
    result: sd.report.Measurement, *, plot: Path | None, notes: tuple[str, str], as_json: bool
) -> None:
    """Print a measurement, and draw it if asked to."""
    if plot is not None:
        result.draw(plot)
        click.echo(f"Picture: {plot}", err=True)
    if as_json:
        told = {"file": notes[0], "missing": notes[1]}
        shown = {**result.to_dict(), **told, "version": sd.__version__}
        click.echo(json.dumps(shown, indent=2))
    else:
        click.echo("\n".join(filter(None, (result.text(), *notes))))
