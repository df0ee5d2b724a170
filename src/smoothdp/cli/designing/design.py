"""``smoothdp design``: how many records may be published, and one step of training."""

from __future__ import annotations

from pathlib import Path

import click

import smoothdp as sd
from smoothdp.cli.designing.cells import CellOptions, read_design_cells
from smoothdp.cli.designing.sgd import sgd
from smoothdp.cli.options.command_line import (
    StrictCommand,
    gathered,
    given_options,
    refuse_strays,
    written_command,
)
from smoothdp.cli.options.csv_files import CSV_TEXT, CsvTextOptions, csv_text_options
from smoothdp.cli.options.model_file import read_model, read_model_names
from smoothdp.plots import save

_ASKED = ("epsilon", "delta", "merge", "as_json", "html", "plot")
_CROSSED = ("file", "by", "names", "only_occurring", "public", "stratum", "strata_file")
MODES = {
    "counts_file": (
        "--counts-file",
        frozenset(("counts_file", "count", "stratum", "strata_file", *CSV_TEXT, *_ASKED)),
    ),
    "file": (
        "--file with --by",
        frozenset((*_CROSSED, *CSV_TEXT, *_ASKED)),
    ),
    "model": ("--model with --n", frozenset(("model", "n_records", *_ASKED))),
}


class RateByDefault(click.Group):
    """A group of which one command runs where none is named."""

    default = "rate"

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        if not arguments:
            arguments = ["--help"]
        if arguments[0] not in self.commands and arguments[0] not in ("--help", "-h"):
            arguments = [self.default, *arguments]
        return super().parse_args(context, arguments)


def read_merge(text: str | None) -> tuple[int, ...] | None:
    """Return the numbers of --merge; None where it is left out."""
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise click.UsageError(
            f"Expected --merge as whole numbers separated by commas; got {text!r}. Write --merge "
            "10,50."
        )
    return tuple(map(int, parts))


@click.group(cls=RateByDefault)
def design() -> None:
    """Design a sample before it is drawn: the largest rate for a target; a step of training.

    Without the name of a command, `rate` runs.

    \b
    Examples:
      smoothdp design --counts-file cells.csv --epsilon 1 --delta 1e-9 --merge 10,50
      smoothdp design sgd --model batch.csv --n 10000 --batch 100 --epsilon 1
    """


@design.command(cls=StrictCommand)
@click.option("--counts-file", type=click.Path(path_type=Path), help="CSV of cells: labels, count.")
@click.option("--count", help="With --counts-file: its column of counts. Default: the last.")
@click.option("--file", type=click.Path(path_type=Path), help="Public records, CSV or Parquet.")
@click.option("--by", help="With --file: the columns of the cross table, a,b.")
@click.option("--names", multiple=True, help="COLUMN=FILE: all its values, with their names.")
@click.option("--only-occurring", is_flag=True, help="With --file: empty cells are impossible.")
@click.option("--public", is_flag=True, help="With --file: these columns are public.")
@click.option("--stratum", help="The column of the strata, which are sampled separately.")
@click.option("--strata-file", type=click.Path(path_type=Path), help="CSV of label and stratum.")
@csv_text_options
@click.option("--model", type=click.Path(path_type=Path), help="CSV of label and counts.")
@click.option("--n", "n_records", type=int, help="Number of records, with --model.")
@click.option("--epsilon", required=True, help='Epsilon, e.g. 0.5 or "ln(51/49)".')
@click.option("--delta", required=True, help="The target, e.g. 1e-9.")
@click.option("--merge", help="What merging the k smallest cells buys: 10,50.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
@click.option("--html", type=click.Path(path_type=Path), help="Write one page of HTML.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw delta against the rate.")
@gathered(CellOptions, "cells")
@click.pass_context
def rate(
    context: click.Context,
    /,
    cells: CellOptions,
    csv: CsvTextOptions,
    model: Path | None,
    n_records: int | None,
    epsilon: str,
    delta: str,
    merge: str | None,
    as_json: bool,
    html: Path | None,
    plot: Path | None,
) -> None:
    """Find the largest sampling rate at which a table of counts meets a target.

    The answer is as private as the counts: design on public tables, such as the last census.
    The file of cells has a header, a row for each cell, empty ones included, its labels and
    last the number of records; names with commas stand in quotes.

    \b
    Examples:
      smoothdp design --counts-file cells.csv --epsilon 1 --delta 1e-9 --merge 10,50
      smoothdp design rate --counts-file cells.csv --stratum region --epsilon 1 --delta 1e-9
      smoothdp design --file census.csv --by region,job --public --epsilon 1 --delta 1e-9
      smoothdp design --model units.csv --n 1000000 --epsilon 1 --delta 1e-9
    """
    given = given_options(context)
    sources = [name for name in MODES if name in given]
    if len(sources) != 1:
        raise click.UsageError(
            f"Expected one of --counts-file, --file and --model; got {len(sources)} of them. Give "
            "public cells, public records, or a model."
        )
    words, belong = MODES[sources[0]]
    refuse_strays(context, belong, mode=words)
    if cells.stratum is not None and cells.strata_file is not None:
        raise click.UsageError(
            "Expected one of --stratum and --strata-file; got both. Leave one out."
        )
    numbers = read_merge(merge)
    if model is not None:
        if n_records is None:
            raise click.UsageError("Expected --n with --model; got no --n. Give both.")
        designed = sd.rate_design(
            read_model(model),
            epsilon=epsilon,
            delta=delta,
            n_records=n_records,
            merge=numbers,
            categories=read_model_names(model),
        )
    else:
        counts, strata = read_design_cells(cells, csv)
        designed = sd.rate_design(
            counts, epsilon=epsilon, delta=delta, strata=strata, merge=numbers
        )
    if html is not None:
        designed.write_html(html, command=written_command(context))
        click.echo(f"Page: {html}", err=True)
    if plot is not None:
        save(designed.plot(), plot)
        click.echo(f"Picture: {plot}", err=True)
    click.echo(designed.to_json() if as_json else designed.text())


design.add_command(sgd)
