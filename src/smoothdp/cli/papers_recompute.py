"""What ``smoothdp papers figure`` and ``smoothdp papers table`` share."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from smoothdp.cli.progress import progress_bar
from smoothdp.papers import Reproduction

Command = TypeVar("Command", bound=Callable[..., Any])
Kind = TypeVar("Kind", bound=Reproduction)


def size_options(command: Command) -> Command:
    """Add --quick, --full, --json, --csv and --resume."""
    for option in (
        click.option(
            "--resume",
            "store",
            type=click.Path(path_type=Path, file_okay=False),
            help="A folder that keeps what is finished, and from which to go on.",
        ),
        click.option(
            "--csv",
            "csv_file",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Write the data as CSV.",
        ),
        click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout."),
        click.option(
            "--quick/--full",
            "quick",
            default=True,
            help="Half a minute (default), or more points and databases on all cores.",
        ),
    ):
        command = option(command)
    return command


def recompute(
    known: Mapping[str, type[Kind]],
    name: str,
    *,
    quick: bool,
    as_json: bool,
    csv_file: Path | None,
    store: Path | None,
) -> Kind:
    """Compute one of the known, print it and write its data."""
    if name not in known:
        raise click.UsageError(
            f"Expected one of {', '.join(known)}; got {name!r}. See: smoothdp papers list"
        )
    with progress_bar(known[name].title) as progress:
        found = known[name].compute(full=not quick, store=store, progress=progress)
    click.echo(json.dumps(found.to_dict(), indent=2) if as_json else found.text())
    if csv_file is not None:
        header, rows = found.rows()
        csv_file.parent.mkdir(parents=True, exist_ok=True)
        with csv_file.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *rows])
        click.echo(f"Data: {csv_file}", err=True)
    return found
