"""``smoothdp design``: how many records may be published, and one step of training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

import smoothdp as sd
from smoothdp.cli.options.cells_file import cross_table, read_cells, read_strata_file
from smoothdp.cli.options.command_line import (
    StrictCommand,
    gathered,
    given_options,
    refuse_strays,
    written_command,
)
from smoothdp.cli.options.csv_files import CSV_TEXT, CsvTextOptions, csv_text_options
from smoothdp.cli.options.files import read_model, read_model_names
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
    """A group whose first command runs where another is not named."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        if not arguments:
            arguments = ["--help"]
        if arguments[0] not in self.commands and arguments[0] not in ("--help", "-h"):
            arguments = ["rate", *arguments]
        return super().parse_args(context, arguments)


@dataclass(frozen=True)
class CellOptions:
    """Where the cells come from, as it stands on the command line."""

    counts_file: Path | None
    count: str | None
    file: Path | None
    by: str | None
    names: tuple[str, ...]
    only_occurring: bool
    public: bool
    stratum: str | None
    strata_file: Path | None


def read_design_cells(
    asked: CellOptions, csv: CsvTextOptions
) -> tuple[dict[str, int], dict[str, str] | None]:
    """Return the cells by label, and the stratum of every label if there are strata."""
    if asked.counts_file is not None:
        columns, (labels, counts) = read_cells(asked.counts_file, asked.count, csv)
    else:
        assert asked.file is not None
        if asked.by is None or not asked.public:
            lacking = "--by" if asked.by is None else "--public"
            raise click.UsageError(
                f"Expected --by and --public with --file; got no {lacking}. The rate is as private "
                "as the cells: name the columns, and declare them public."
            )
        columns = [name.strip() for name in asked.by.split(",")]
        labels, counts = cross_table(
            asked.file, columns, _names(asked.names), csv, only_occurring=asked.only_occurring
        )
    place = _place(asked.stratum, columns)
    joined = [", ".join(label) for label in labels]
    if len(set(joined)) < len(joined):
        twice = next(one for one in joined if joined.count(one) > 1)
        raise click.UsageError(f"Expected every cell once; got {twice!r} twice. Add its rows up.")
    cells = dict(zip(joined, counts, strict=True))
    if asked.strata_file is not None:
        return cells, read_strata_file(asked.strata_file, csv)
    if place is None:
        return cells, None
    return cells, {name: label[place] for name, label in zip(joined, labels, strict=True)}


def _place(stratum: str | None, columns: Sequence[str]) -> int | None:
    if stratum is None:
        return None
    if stratum not in columns:
        raise click.UsageError(
            f"Expected --stratum as one of the columns {', '.join(columns)}; got {stratum!r}. Name "
            "the column of the strata."
        )
    return list(columns).index(stratum)


def _names(texts: Sequence[str]) -> dict[str, Path]:
    named = {}
    for text in texts:
        column, equals, path = text.partition("=")
        if not equals or not path:
            raise click.UsageError(
                f"Expected --names such as region=regions.csv; got {text!r}. Write COLUMN=FILE."
            )
        named[column] = Path(path)
    return named


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
      smoothdp design --counts-file cells.csv --stratum region --epsilon 1 --delta 1e-9
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


@design.command(cls=StrictCommand)
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
