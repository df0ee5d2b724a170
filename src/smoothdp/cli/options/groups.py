"""A release by groups as it stands on the command line, and private numbers of records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from smoothdp.cli.options.command_line import NEIGHBOURS, gathered
from smoothdp.tables import plain_labels, read_key_file


def _with_dashes(
    context: click.Context, parameter: click.Parameter, value: str | None
) -> str | None:
    del context, parameter
    return None if value is None else value.replace("_", "-")


_OPTIONS = (
    click.option("--by", help="Release it of every group: the column of the groups, or a,b."),
    click.option("--keys", help="With --by one column: its public groups, comma-separated."),
    click.option(
        "--keys-file",
        type=click.Path(path_type=Path),
        help="With --by: a public file with a row for each group.",
    ),
    click.option("--counts", is_flag=True, help="With --by: the number of rows of each group too."),
    click.option(
        "--neighbours",
        type=click.Choice(NEIGHBOURS),
        callback=_with_dashes,
        metavar="[replace-one|add-remove]",
        help="By what two data sets differ. Default: replace-one; with --by always add-remove.",
    ),
    click.option("--n-guess", help="About how many records (a group) has, where n is private."),
    click.option("--label", help="A name for the output and the ledger."),
)


@dataclass(frozen=True)
class GroupOptions:
    """Groups, neighbours and label; None where an option is left out."""

    by: str | None
    keys: str | None
    keys_file: Path | None
    counts: bool
    neighbours: str | None
    n_guess: str | None
    label: str | None

    @property
    def is_private_size(self) -> bool:
        """Whether the number of records is private."""
        return self.neighbours == "add-remove"

    def public_keys(self) -> tuple[list[str], object]:
        """Return the columns of the groups, and the public groups."""
        if self.by is None:
            raise click.UsageError("Expected --by with --keys; got none. Name the column.")
        by = [name.strip() for name in self.by.split(",")]
        if (self.keys is None) == (self.keys_file is None):
            raise click.UsageError(
                "Expected one of --keys and --keys-file with --by; got "
                f"{'neither' if self.keys is None else 'both'}. List the public groups."
            )
        if self.keys_file is not None:
            return by, read_key_file(self.keys_file, by)
        assert self.keys is not None
        if len(by) > 1:
            raise click.UsageError(
                "Expected --keys with one column in --by; got several. Give --keys-file, with a "
                "row for each group."
            )
        return by, plain_labels([label.strip() for label in self.keys.split(",")])


def group_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --by and what belongs to it, as ``groups``."""
    command = gathered(GroupOptions, "groups")(command)
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def refuse_without_by(asked: GroupOptions) -> None:
    """Raise UsageError for options of groups where there are none."""
    strays = [
        option
        for option, value in (
            ("--keys", asked.keys),
            ("--keys-file", asked.keys_file),
            ("--counts", asked.counts),
        )
        if value
    ]
    if strays:
        raise click.UsageError(
            f"Expected {', '.join(strays)} with --by alone; got no --by. Name the column of the "
            "groups, or leave them out."
        )
    if asked.n_guess is not None and not asked.is_private_size:
        raise click.UsageError(
            "Expected --n-guess with --neighbours add-remove, where n is private; got none. Leave "
            "it out, or add that."
        )
