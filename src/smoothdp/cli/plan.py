"""``smoothdp plan``: window, trimming, smoothing and noise, chosen without the private data."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path

import click

import smoothdp as sd
from smoothdp.cli.guarantee_options import guarantee_options, read_guarantee
from smoothdp.cli.missing import missing_option
from smoothdp.cli.plan_file import check_assumption, read_law, write_plan
from smoothdp.cli.statistics import read_query, statistic_options
from smoothdp.report.plan_picture import draw_plan


@click.command()
@statistic_options
@guarantee_options
@click.option("--n", "n_records", type=int, required=True, help="Number of records, public.")
@click.option("--assume", help='A scipy law, e.g. "lognorm(s=1, scale=20)". Default: nothing.')
@click.option("--public-sample", type=click.Path(path_type=Path), help="A file of public data.")
@click.option("--column", help="Column of --public-sample.")
@missing_option
@click.option("--keep-trim", is_flag=True, help="Keep the trimming given.")
@click.option("--confidence", help="Choose for error bars that cover with this probability.")
@click.option("--out", type=click.Path(path_type=Path), default="plan.json", show_default=True)
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the error against n.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON on stdout.")
def plan(
    statistic: str | None,
    bounds: tuple[str, str] | None,
    trim: str | None,
    quantile: str | None,
    kind: str | None,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    omega: str | None,
    n_records: int,
    assume: str | None,
    public_sample: Path | None,
    column: str | None,
    missing: str | None,
    keep_trim: bool,
    confidence: str | None,
    out: Path,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Choose how to release a statistic, from public facts alone, and write the plan to a file.

    The errors shown are those to expect under the assumption; a wrong one costs accuracy, never
    privacy. Without --assume and --public-sample none are shown, and the choice is one that suits
    Student's T(3), the bounds 6,000 of its scale apart (release without a plan uses rules for
    bounds 100,000 spreads wide).

    \b
    Example:
      smoothdp plan --statistic median --bounds -60 1440 --epsilon 1 --n 10000 \\
        --assume "lognorm(s=1, scale=20)"
    """
    check_assumption(assume, public_sample, column, missing, plot)
    if keep_trim and statistic != "trimmed-mean":
        raise click.UsageError(f"Expected --keep-trim with trimmed-mean; got {statistic}. Mend it.")
    query = read_query(statistic, bounds, trim, quantile)
    guarantee = read_guarantee(kind, epsilon, delta, rho, omega)
    assuming = None if assume is None else read_law(assume)
    if public_sample is not None and column is not None:
        assuming = sd.read_column(public_sample, column, missing=missing)
    with warnings.catch_warnings():
        # The plan has it as a line, and as a note beside JSON.
        warnings.simplefilter("ignore", sd.PrivacyWarning)
        found = sd.plan(
            query,
            guarantee=guarantee,
            n_records=n_records,
            assuming=assuming,
            keep_trim=keep_trim,
            confidence=confidence,
        )
    if plot is not None:
        draw_plan(found, plot, assuming=assuming)
        click.echo(f"Picture: {plot}", err=True)
    write_plan(found, out)
    click.echo(found.to_json() if as_json else found.text())
    for note in filter(None, (found.note(), found.caution())) if as_json else ():
        click.echo(f"Note: {note}", err=True)
    name = shlex.quote(str(out))
    click.echo(
        f"\nPlan written. Release with:\n  smoothdp release FILE --column COLUMN --plan {name}",
        err=as_json,
    )
