"""``smoothdp release``: a statistic of one column, with a guarantee."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import smoothdp as sd
from smoothdp.cli.files import ask_ledger
from smoothdp.cli.guarantee_options import guarantee_options, read_guarantee
from smoothdp.cli.missing import missing_note, missing_option
from smoothdp.cli.plan_file import check_size, read_plan
from smoothdp.cli.release_output import show_release
from smoothdp.cli.statistics import read_query, statistic_options


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--column", required=True, help="Column of FILE (CSV or Parquet).")
@statistic_options
@guarantee_options
@click.option("--plan", "plan", type=click.Path(path_type=Path), help="A file of smoothdp plan.")
@click.option(
    "--confidence", help="Also release error bars that cover with this probability at least."
)
@click.option(
    "--covers",
    type=click.Choice(("statistic", "population", "mean")),
    default="statistic",
    show_default=True,
    help="What error bars cover: what is released, of these records, or of their population.",
)
@click.option("--sd-bound", help="With --covers mean: a public bound on the standard deviation.")
@click.option("--round-to", help="Round the output to a multiple, e.g. 1 for whole numbers.")
@click.option("--ledger", type=click.Path(path_type=Path), help="Charge a ledger first.")
@missing_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def release(
    file: Path,
    column: str,
    statistic: str | None,
    bounds: tuple[str, str] | None,
    trim: str | None,
    quantile: str | None,
    kind: str | None,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    omega: str | None,
    plan: Path | None,
    confidence: str | None,
    covers: str,
    sd_bound: str | None,
    round_to: str | None,
    ledger: Path | None,
    missing: str | None,
    as_json: bool,
) -> None:
    """Release a statistic of a column with noise scaled to its smooth sensitivity.

    Nothing but the noisy value depends on the data. The number of rows and the bounds are
    public: choose the bounds without looking at the data. The value is clamped to them. For a
    median or quantile it is the mean of a window of values around it, as the words beside it say.

    \b
    Examples:
      smoothdp release flights.csv --column delay --statistic median --bounds -60 1440 --epsilon 1
      smoothdp release pay.parquet --column pay --statistic trimmed-mean --trim 0.05 \\
        --bounds 0 1e6 --guarantee zcdp --rho 0.5 --confidence 0.95
      smoothdp release flights.csv --column delay --plan plan.json --ledger ledger.db
    """
    options: dict[str, Any] = {
        "round_to": round_to,
        "clamp": True,
        "confidence": confidence,
        "covers": covers,
        "sd_bound": sd_bound,
    }
    if plan is not None:
        if any((statistic, bounds, trim, quantile, kind, epsilon, delta, rho, omega)):
            raise click.UsageError(
                "Expected --plan alone: it holds statistic, bounds and guarantee; got some of "
                "these too. Leave one out."
            )
        planned = read_plan(plan)
        options["ledger"] = ask_ledger(ledger, planned.guarantee)
        values = sd.read_column(file, column, missing=missing)
        check_size(planned, len(values))
        query, found = planned.query, planned.release(values, **options)
    else:
        query = read_query(statistic, bounds, trim, quantile)
        guarantee = read_guarantee(kind, epsilon, delta, rho, omega)
        options["ledger"] = ask_ledger(ledger, guarantee)
        values = sd.read_column(file, column, missing=missing)
        found = sd.release(values, query, guarantee=guarantee, **options)
    show_release(found, query, n_records=len(values), note=missing_note(missing), as_json=as_json)
