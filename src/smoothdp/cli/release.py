"""``smoothdp release``: a statistic of one column, with a guarantee."""

from __future__ import annotations

from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import click

import smoothdp as sd
from smoothdp.cli.options.columns import (
    ReleaseStatisticOptions,
    missing_note,
    missing_option,
    release_statistic_options,
)
from smoothdp.cli.options.csv_files import CsvFileOptions, csv_options
from smoothdp.cli.options.files import ask_ledger, check_size, read_plan
from smoothdp.cli.options.groups import GroupOptions, group_options, refuse_without_by
from smoothdp.cli.options.guarantees import GuaranteeOptions, guarantee_options, read_guarantee
from smoothdp.cli.released import show_release
from smoothdp.cli.table import release_by_groups
from smoothdp.errors import InvalidData
from smoothdp.queries import FixedStatistic


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--column", required=True, help="Column of FILE (CSV or Parquet).")
@release_statistic_options
@guarantee_options
@click.option("--plan", "plan", type=click.Path(path_type=Path), help="A file of smoothdp plan.")
@click.option(
    "--confidence", help="Also release error bars that cover with this probability at least."
)
@click.option(
    "--covers",
    metavar="[quantile|population|window|mean]",
    help="What error bars contain: the quantile of these records (of medians and quantiles unless "
    "said), that of their population, the mean of the window that is released, or of all records.",
)
@click.option("--simultaneous", is_flag=True, help="With --quantiles: bars that cover together.")
@click.option("--sd-bound", help="With --covers mean: a public bound on the standard deviation.")
@click.option("--round-to", help="Round the output to a multiple, e.g. 1 for whole numbers.")
@click.option("--ledger", type=click.Path(path_type=Path), help="Charge a ledger first.")
@missing_option
@csv_options
@group_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def release(
    file: Path,
    column: str,
    statistic: ReleaseStatisticOptions,
    guarantee: GuaranteeOptions,
    plan: Path | None,
    confidence: str | None,
    covers: str | None,
    simultaneous: bool,
    sd_bound: str | None,
    round_to: str | None,
    ledger: Path | None,
    missing: str | None,
    csv: CsvFileOptions,
    groups: GroupOptions,
    as_json: bool,
) -> None:
    """Release a statistic of a column with noise scaled to its smooth sensitivity.

    Nothing but the noisy value depends on the data. The number of rows and the bounds are
    public: choose the bounds without looking at the data. The value is clamped to them. For a
    median or quantile it is the mean of a window of values around it, or with little data a value
    drawn by ranks, as the words beside it say; with --plan whatever won in the plan.
    With --neighbours add-remove the number of rows is private; count and skewed-mean need that.

    \b
    Examples:
      smoothdp release flights.csv --column delay --statistic median --bounds -60 1440 --epsilon 1
      smoothdp release pay.parquet --column pay --statistic trimmed-mean --trim 0.05 \\
        --bounds 0 1e6 --guarantee zcdp --rho 0.5 --confidence 0.95
      smoothdp release flights.csv --column delay --plan plan.json --ledger ledger.db
      smoothdp release pay.csv --column pay --quantiles 0.1,0.25,0.5,0.75,0.9 --bounds 0 1e5 \\
        --guarantee zcdp --rho 0.5 --confidence 0.95
      smoothdp release pay.csv --column pay --by region --keys N,S,W --statistic median \\
        --bounds 0 1e5 --epsilon 1 --counts
    """
    if groups.by is not None:
        _refuse_beside_groups(plan, missing, sd_bound)
        if simultaneous:
            raise click.UsageError(
                "Expected --simultaneous for one column; got --by. Leave it out."
            )
        release_by_groups(
            file,
            column,
            statistic,
            groups,
            guarantee=read_guarantee(guarantee),
            csv=csv,
            confidence=confidence,
            covers=covers,
            round_to=round_to,
            ledger=ledger,
            as_json=as_json,
        )
        return
    refuse_without_by(groups)
    options: dict[str, Any] = {
        "round_to": round_to,
        "clamp": True,
        "confidence": confidence,
        "covers": covers,
        "sd_bound": sd_bound,
        **({"simultaneous": True} if simultaneous else {}),
    }
    n_records: int | None = None
    statistic_words: str | None = None
    query: sd.queries.Query | FixedStatistic | sd.queries.Quantiles
    if simultaneous and statistic.levels is None:
        raise click.UsageError(
            "Expected --simultaneous with --quantiles; got none. Leave it out: one interval "
            "covers alone."
        )
    if plan is not None:
        options |= {"label": groups.label}
        beside = replace(groups, label=None)
        if any((*astuple(statistic), *astuple(guarantee), *astuple(beside))):
            raise click.UsageError(
                "Expected --plan alone, or with --label: it holds statistic, bounds, guarantee and "
                "neighbours; got some of these too. Leave one out."
            )
        planned = read_plan(plan)
        options["ledger"] = ask_ledger(ledger, planned.guarantee)
        values = sd.read_column(file, column, missing=missing, **csv.given())
        check_size(planned, len(values))
        n_records = len(values)
        query, released = planned.query, planned.release(values, **options)
        statistic_words = planned.statistic
    else:
        query = statistic.query(is_private_size=groups.is_private_size)
        promise = read_guarantee(guarantee)
        options |= {"label": groups.label}
        if groups.is_private_size:
            _refuse_missing(missing)
            promise = promise.changed(neighbours="add_remove")
            more = {"column": column, "csv": csv.given() or None, "n_guess": groups.n_guess}
            options |= {**more, "ledger": ask_ledger(ledger, promise)}
            released = sd.release(str(file), query, guarantee=promise, **options)
        else:
            if isinstance(query, FixedStatistic):
                query.check_neighbours(promise.neighbours)
            options["ledger"] = ask_ledger(ledger, promise)
            try:
                values = sd.read_column(file, column, missing=missing, **csv.given())
            except InvalidData as error:
                raise _or_leave_out(error) from error
            n_records = len(values)
            released = sd.release(values, query, guarantee=promise, **options)
    show_release(
        released,
        query,
        words=statistic_words,
        n_records=n_records,
        note=missing_note(missing),
        as_json=as_json,
    )


def _or_leave_out(error: InvalidData) -> InvalidData:
    """Return the error; of values that are missing with the neighbours that need none of them."""
    if "--missing" not in error.remedy:
        return error
    more = "; or leave such rows out with --neighbours add-remove, where their number is private"
    return InvalidData(
        expected=error.expected, got=error.got, remedy=error.remedy.rstrip(".") + more
    )


def _refuse_missing(missing: str | None) -> None:
    """Refuse --missing where rows without a value are left out by rule."""
    if missing is not None:
        raise click.UsageError(
            "Expected no --missing where the number of records is private: rows without a value "
            f"are left out; got --missing {missing}. Leave it out."
        )


def _refuse_beside_groups(plan: Path | None, missing: str | None, sd_bound: str | None) -> None:
    """Refuse options that a release of groups has no use for."""
    _refuse_missing(missing)
    others = (("--plan", plan), ("--sd-bound", sd_bound))
    strays = [option for option, value in others if value is not None]
    if strays:
        raise click.UsageError(
            "Expected --by with statistic, guarantee, --confidence, --covers, --round-to and "
            f"--ledger; got {', '.join(strays)} too. Leave out what does not apply."
        )
