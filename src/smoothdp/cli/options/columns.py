"""What commands ask of a column: a statistic, what missing values count as, which values it has.

A value of a column is private: it is never repeated in a message.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import smoothdp as sd
from smoothdp.cli.options.command_line import gathered
from smoothdp.cli.options.files import read_lines
from smoothdp.queries import FixedStatistic
from smoothdp.tables import NAMED, named_statistic
from smoothdp.types import FloatArray

WINDOWED = ("mean", "trimmed-mean", "median", "quantile", "min", "max")
"""What has a plan: statistics with a smooth sensitivity."""
_RELEASED = tuple(dict.fromkeys((*WINDOWED, *(name for name in NAMED if name != "quantiles"))))
_WHICH = click.option("--statistic", type=click.Choice(WINDOWED), help="What to release.")
_OPTIONS = (
    click.option(
        "--bounds", nargs=2, help="Public bounds, chosen without the data; values are clamped."
    ),
    click.option("--trim", help="With trimmed-mean: share (0.05) or count (50) left out a side."),
    click.option("--q", "quantile", help="With quantile: the share of records below, e.g. 0.9."),
)
_OF_A_RELEASE = (
    click.option("--statistic", type=click.Choice(_RELEASED), help="What to release."),
    *_OPTIONS,
    click.option("--grid", help="With sum: values are rounded to its multiples, e.g. 0.01."),
    click.option("--quantiles", "levels", help="Several at once, e.g. 0.1,0.25,0.5,0.75,0.9."),
)
missing_option = click.option(
    "--missing", help='A public constant for missing values, or "public-drop".'
)


@dataclass(frozen=True)
class StatisticOptions:
    """A statistic as it stands on the command line; None where an option is left out."""

    statistic: str | None
    bounds: tuple[str, str] | None
    trim: str | None
    quantile: str | None


@dataclass(frozen=True)
class ReleaseStatisticOptions(StatisticOptions):
    """A statistic that can be released without a plan."""

    grid: str | None
    levels: str | None

    def several(self) -> sd.queries.Quantiles | None:
        """Return several quantiles at once, if they are asked for."""
        if self.levels is None:
            return None
        others = (self.statistic, self.trim, self.quantile, self.grid)
        if self.bounds is None or any(other is not None for other in others):
            raise click.UsageError(
                "Expected --quantiles with --bounds and without --statistic, --trim, --q and "
                f"--grid; got {'no --bounds' if self.bounds is None else 'one of these'}. Give "
                "levels and bounds alone."
            )
        levels = [level.strip() for level in self.levels.split(",") if level.strip()]
        return sd.queries.Quantiles(levels, bounds=self.bounds)

    def by_name(self) -> tuple[str, sd.queries.Query | FixedStatistic | sd.queries.Quantiles]:
        """Return its name and the statistic of `NAMED`; of several quantiles "quantile"."""
        several = self.several()
        if several is not None:
            return "quantile", several
        if self.statistic is None:
            raise click.UsageError("Expected --statistic; got none. Give median, for example.")
        given = {"bounds": self.bounds, "trim": self.trim, "q": self.quantile, "grid": self.grid}
        options = {name: value for name, value in given.items() if value is not None}
        where = f"--statistic {self.statistic}"
        return self.statistic, named_statistic(self.statistic, options, where=where)

    def query(
        self, *, is_private_size: bool
    ) -> sd.queries.Query | FixedStatistic | sd.queries.Quantiles:
        """Return the statistic of a whole column.

        A mean where the number of records is private is that of clamped values: with noise of a
        fixed scale, as in a table.
        """
        several = self.several()
        if several is not None:
            return several
        if self.statistic in WINDOWED and not (is_private_size and self.statistic == "mean"):
            if self.grid is not None:
                raise click.UsageError(
                    f"Expected --grid with sum alone; got it with {self.statistic}. Leave it out."
                )
            return read_query(self)
        return self.by_name()[1]


def release_statistic_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --statistic, --bounds, --trim, --q, --grid, --quantiles, as ``statistic``."""
    command = gathered(ReleaseStatisticOptions, "statistic")(command)
    for option in reversed(_OF_A_RELEASE):
        command = option(command)
    return command


def statistic_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command --statistic, --bounds, --trim and --q, as ``statistic``."""
    command = gathered(StatisticOptions, "statistic")(command)
    for option in reversed((_WHICH, *_OPTIONS)):
        command = option(command)
    return command


def read_query(asked: StatisticOptions) -> sd.queries.Query:
    """Return the query that the options describe.

    ``trim`` is a count with a whole number, a share a side otherwise.
    """
    statistic, bounds = asked.statistic, asked.bounds
    trim, quantile = asked.trim, asked.quantile
    if statistic is None or bounds is None:
        raise click.UsageError("Expected --statistic and --bounds; one is missing. Give both.")
    if (statistic == "trimmed-mean") != (trim is not None):
        raise click.UsageError(
            "Expected --trim with trimmed-mean and with nothing else. Give the share a side, "
            "such as 0.05."
        )
    if (statistic == "quantile") != (quantile is not None):
        raise click.UsageError(
            "Expected --q with quantile and with nothing else. Give the share below, such as 0.9."
        )
    if trim is not None:
        return sd.queries.TrimmedMean(int(trim) if trim.isdigit() else trim, bounds=bounds)
    if quantile is not None:
        return sd.queries.Quantile(quantile, bounds=bounds)
    if statistic == "mean":
        return sd.queries.Mean(bounds)
    if statistic == "median":
        return sd.queries.Median(bounds)
    return sd.queries.Minimum(bounds) if statistic == "min" else sd.queries.Maximum(bounds)


def missing_note(missing: str | None) -> str:
    """Return what was done with missing values, as the promise has to say it."""
    if missing is None:
        return ""
    if missing == "public-drop":
        return "Rows without a value were left out: who has none is declared public."
    return f"Missing values count as {missing}, a public constant."


def read_domain(path: Path) -> list[str]:
    """Return the public values of a file, one a line."""
    names = read_lines(path, "values")
    if not names:
        raise click.UsageError(
            f"Expected one value a line in the --domain file {path}; got an empty file. List all "
            "values that there may be."
        )
    return names


def require_known(values: Sequence[str], domain: Sequence[str], path: Path, *, column: str) -> None:
    """Raise UsageError unless all values of a column are in the domain that a file lists."""
    known = frozenset(domain)
    if any(value not in known for value in values):
        raise click.UsageError(
            f"Expected values of column {column!r} that {path} lists; got "
            "another. Add the value to that file if it is public, or correct the data."
        )


def require_bits(numbers: FloatArray, *, column: str) -> None:
    """Raise UsageError unless a column holds 0 and 1 alone."""
    if ((numbers != 0) & (numbers != 1)).any():
        raise click.UsageError(
            f"Expected the values 0 and 1 in column {column!r}, or --above, --bounds or --domain; "
            "got another number. Give --above NUMBER to collect how "
            "many are above it, or --bounds LOW HIGH for the mean."
        )
