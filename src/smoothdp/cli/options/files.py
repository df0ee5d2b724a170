"""Files that commands take: ledgers and plans, and what is said where one is not there."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import smoothdp as sd
from smoothdp.data import reason
from smoothdp.whole_file import whole_file

_BUDGETS = (sd.PureDP, sd.ApproxDP, sd.ZCDP, sd.TruncatedCDP, sd.GaussianDP)
"""What `smoothdp account create` makes a budget of, by the names of the parameters."""


def read_lines(path: Path, what: str) -> list[str]:
    """Return the lines of a text file without blanks at their ends; ``what`` it should hold."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(
            f"Expected a readable file of {what} {path}; got {reason(error)}. Check the path."
        ) from None
    return [line for line in map(str.strip, lines) if line]


def open_ledger(path: Path, guarantee: sd.Guarantee | None = None) -> sd.Ledger:
    """Return the ledger of a file that is there; ``guarantee``: what it is to be charged with."""
    if not path.exists():
        budget = "" if guarantee is None else " (the budget may be larger)"
        raise click.UsageError(
            f"Expected a ledger at {path}; got no such file. Make one with: "
            f"{create_command(path, guarantee)}{budget}."
        )
    return sd.Ledger(path)


def create_command(path: Path, guarantee: sd.Guarantee | None) -> str:
    """Return the command that makes a ledger with room for one release of a guarantee.

    A budget of another kind, or about other neighbours, would refuse it.

    >>> create_command(Path("l.db"), sd.PureDP("1/2", neighbours="add_remove"))
    'smoothdp account create l.db --epsilon 1/2 --neighbours add_remove'
    """
    words = ["smoothdp", "account", "create", str(path)]
    if not isinstance(guarantee, _BUDGETS):
        return f"{shlex.join(words)} --epsilon EPSILON --delta DELTA"
    fields = json.loads(guarantee.to_json())
    for name in guarantee.parameters():
        words += [f"--{name}", fields[name]]
    if guarantee.neighbours is not sd.claims.Neighbours.REPLACE_ONE:
        words += ["--neighbours", guarantee.neighbours.value]
    return shlex.join(words)


def ask_ledger(path: Path | None, guarantee: sd.Guarantee) -> sd.Ledger | None:
    """Return the ledger of a file, if one is named, once it has room; before data are read."""
    if path is None:
        return None
    ledger = open_ledger(path, guarantee)
    ledger.check(guarantee)
    return ledger


def read_plan(path: Path) -> sd.planning.Plan:
    """Return the plan of a file that ``smoothdp plan --out`` wrote."""
    try:
        return sd.planning.plan_from_json(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        got = reason(error)
    except (sd.errors.InvalidData, sd.errors.InvalidParameter) as error:
        got = str(error).partition("; got ")[2].partition(". ")[0] or "something else"
    raise click.UsageError(
        f"Expected a plan as JSON in {path}; got {got}. Give a file that smoothdp plan wrote."
    )


def check_size(plan: sd.planning.Plan, n_records: int) -> None:
    """Refuse data of another size than the plan's, and name the command that mends it."""
    if n_records != plan.n_records:
        raise click.UsageError(
            f"Expected {plan.n_records} records, as the plan was made for; got {n_records}. The "
            f"number is public: make a plan for it with smoothdp plan --n {n_records}, and the "
            "other options as before."
        )


def write_plan(plan: sd.planning.Plan, path: Path) -> None:
    """Write a plan, whole or not at all."""
    with whole_file(path) as partial:
        partial.write_text(plan.to_json() + "\n", encoding="utf-8")


@dataclass(frozen=True)
class AssumptionOptions:
    """The public assumption of a plan, as it stands on the command line."""

    assume: str | None
    public_sample: Path | None
    column: str | None
    missing: str | None


def read_assumption(asked: AssumptionOptions) -> Any:
    """Return the law or the public data that a plan assumes; None for nothing."""
    if asked.public_sample is not None and asked.column is not None:
        return sd.read_column(asked.public_sample, asked.column, missing=asked.missing)
    return None if asked.assume is None else read_law(asked.assume)


def check_assumption(asked: AssumptionOptions, plot: Path | None) -> None:
    """Refuse options about the assumption of a plan that do not go together."""
    assume, public_sample = asked.assume, asked.public_sample
    if (public_sample is None) != (asked.column is None) or None not in (assume, public_sample):
        raise click.UsageError(
            "Expected --assume, or --public-sample with its --column, or none; got another mix. "
            "Give --assume, or both --public-sample and --column."
        )
    if asked.missing is not None and public_sample is None:
        raise click.UsageError(
            "Expected --missing with --public-sample; got none. Leave --missing out."
        )
    if plot is not None and assume is None and public_sample is None:
        raise click.UsageError(
            "Expected --assume or --public-sample with --plot, as errors depend on the data; got "
            "none. Give --assume, or leave --plot out."
        )


def read_law(text: str) -> Any:
    """Return the scipy distribution of a text such as ``lognorm(s=1, scale=20)``."""
    from scipy import stats

    name, parenthesis, rest = text.strip().partition("(")
    family = getattr(stats, name.strip(), None)
    if not isinstance(family, stats.rv_continuous | stats.rv_discrete) or (
        parenthesis and not rest.endswith(")")
    ):
        raise _refused(text, "no distribution of scipy.stats")
    unnamed: list[float] = []
    named: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in rest[:-1].split(","))):
        key, equals, value = part.rpartition("=")
        try:
            number = float(value)
        except ValueError:
            raise _refused(text, f"{part!r}, which is no number") from None
        if equals:
            named[key.strip()] = number
        else:
            unnamed.append(number)
    try:
        return family(*unnamed, **named)
    except TypeError as error:
        raise _refused(text, str(error)) from None


def _refused(text: str, got: str) -> click.UsageError:
    return click.UsageError(
        f'Expected --assume such as "lognorm(s=1, scale=20)", with numbers of scipy.stats; got '
        f"{text!r} ({got}). Write a law of scipy.stats, or leave --assume out."
    )
