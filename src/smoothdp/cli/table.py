"""``smoothdp table``: statistics of every group of a file, from a spec that people sign."""

from __future__ import annotations

import csv as csv_module
import json
import os
import shlex
from pathlib import Path
from typing import Any

import click

import smoothdp as sd
from smoothdp.cli.options.columns import ReleaseStatisticOptions
from smoothdp.cli.options.command_line import progress_bar
from smoothdp.cli.options.csv_files import CsvFileOptions, csv_options
from smoothdp.cli.options.files import ask_ledger, open_ledger
from smoothdp.cli.options.groups import GroupOptions
from smoothdp.data import CsvFormat
from smoothdp.tables import ReleasedTable, TableSpec, release_table
from smoothdp.whole_file import whole_file

FILE = click.Path(path_type=Path)


@click.command("table")
@click.argument("file", required=False, type=FILE)
@click.option("--spec", type=FILE, help="What to release: a file of TOML, as above.")
@click.option("--check", is_flag=True, help="Say what it promises and expects; read no data.")
@csv_options
@click.option("--html", type=FILE, help="Write a page that stands alone.")
@click.option("--csv", "csv_file", type=FILE, help="Write the table as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def table(
    file: Path | None,
    spec: Path | None,
    check: bool,
    csv: CsvFileOptions,
    html: Path | None,
    csv_file: Path | None,
    as_json: bool,
) -> None:
    """Release statistics of every group of a table, under one guarantee.

    The spec is a file that people can read and sign. FILE takes the place of its data. With --check
    no data are read, and nothing is charged: it says what the table promises and what accuracy to
    expect.

    \b
    A spec, whose keys docs/reference/table-spec.md explains:
      data = "wages.csv"
      by = "region"
      keys = ["north", "south"]
      counts = true
      guarantee = { epsilon = 1 }
      [statistics.median]
      column = "wage"
      statistic = "median"
      bounds = [0, 20000]
      round_to = 1

    \b
    Examples:
      smoothdp table --spec wages.toml --check
      smoothdp table wages.csv --spec wages.toml --html wages.html --csv released.csv
    """
    if spec is None:
        raise click.UsageError(
            "Expected --spec with a file that says what to release; got none. Write one as "
            "smoothdp table --help shows, or release one statistic: smoothdp release FILE --by."
        )
    asked = TableSpec.read(spec)
    if check:
        if file is not None or html is not None or csv_file is not None:
            raise click.UsageError(
                "Expected --check without FILE, --html and --csv; got one of these. It reads no "
                "data and writes no file: leave it out."
            )
        CsvFormat.read(csv.given() or None)
        if asked.ledger is not None:
            open_ledger(asked.ledger, asked.request().guarantee)
        checked = asked.check()
        click.echo(json.dumps(checked.to_dict(), indent=2) if as_json else checked.text())
        return
    _check_outputs(html, csv_file)
    # What is asked before data are read is the table's own charge, which says whom it is about.
    ledger = None
    if asked.ledger is not None:
        ledger = open_ledger(asked.ledger, asked.request().guarantee)
    with progress_bar("groups") as progress:
        released = asked.release(file, csv=csv.given() or None, ledger=ledger, progress=progress)
    words = ["smoothdp", "table", *([str(file)] if file else []), "--spec", str(spec)]
    write_table(released, html, csv_file, command=shlex.join(words))
    show_table(released, as_json=as_json)


def release_by_groups(
    file: Path,
    column: str,
    statistic: ReleaseStatisticOptions,
    groups: GroupOptions,
    *,
    guarantee: sd.Guarantee,
    csv: CsvFileOptions,
    confidence: str | None,
    round_to: str | None,
    covers: str | None,
    ledger: Path | None,
    as_json: bool,
) -> None:
    """Release one statistic of every public group, for ``smoothdp release --by``."""
    by, keys = groups.public_keys()
    name, query = statistic.by_name()
    options: dict[str, Any] = {
        "confidence": confidence,
        "covers": covers,
        "n_guess": groups.n_guess,
    }
    promise = guarantee.changed(neighbours="add_remove")
    if groups.neighbours == "replace-one":
        promise = guarantee
    with progress_bar("groups") as progress:
        released = release_table(
            str(file),
            by=by,
            keys=keys,
            statistics={name: (column, query, {"round_to": round_to})},
            guarantee=promise,
            counts=groups.counts,
            label=groups.label,
            csv=csv.given() or None,
            ledger=ask_ledger(ledger, promise),
            progress=progress,
            **options,
        )
    show_table(released, as_json=as_json)


def show_table(released: ReleasedTable, *, as_json: bool) -> None:
    """Print a table with its promise."""
    if as_json:
        click.echo(released.to_json())
        return
    click.echo(released.text())


def write_table(
    released: ReleasedTable, html: Path | None, csv_file: Path | None, *, command: str
) -> None:
    """Write the files that are asked for, each whole or not at all."""
    if csv_file is not None:
        columns = released.columns()
        with (
            whole_file(csv_file) as partial,
            partial.open("w", encoding="utf-8", newline="") as out,
        ):
            writer = csv_module.writer(out)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        click.echo(f"Table: {csv_file}", err=True)
    if html is not None:
        released.page(command=command).write(html)
        click.echo(f"Page: {html}", err=True)


def _check_outputs(html: Path | None, csv_file: Path | None) -> None:
    """Refuse, before anything is charged, files that could not be written."""
    for option, path in (("--html", html), ("--csv", csv_file)):
        if path is None:
            continue
        folder = path.parent
        if path.is_dir() or not (folder.is_dir() and os.access(folder, os.W_OK)):
            got = f"the folder {path}" if path.is_dir() else str(path)
            raise click.UsageError(
                f"Expected {option} with a file in a folder that is there and can be written to; "
                f"got {got}. Make the folder, or name another file."
            )
    if html is None:
        return
    if html.suffix.lower() not in (".html", ".htm"):
        raise click.UsageError(
            f"Expected --html with a file such as table.html; got {html}. Let it end in .html."
        )
    # Raises MissingExtra where pictures cannot be drawn.
    sd.plots.plot_groups(["a"], [0.0], title="", x_label="")
