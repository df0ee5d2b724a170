"""``smoothdp plan`` and ``smoothdp noise``: what is chosen without the private data."""

from __future__ import annotations

import json
import shlex
import warnings
from pathlib import Path

import click

import smoothdp as sd
from smoothdp.cli.options.columns import (
    StatisticOptions,
    missing_option,
    read_query,
    statistic_options,
)
from smoothdp.cli.options.command_line import gathered, progress_bar
from smoothdp.cli.options.files import (
    AssumptionOptions,
    check_assumption,
    read_assumption,
    write_plan,
)
from smoothdp.cli.options.guarantees import GuaranteeOptions, guarantee_options, read_guarantee
from smoothdp.papers import FIGURES
from smoothdp.report import draw_plan


@click.command()
@statistic_options
@guarantee_options
@click.option("--n", "n_records", type=int, required=True, help="Number of records, public.")
@click.option("--assume", help='A scipy law, e.g. "lognorm(s=1, scale=20)". Default: nothing.')
@click.option("--public-sample", type=click.Path(path_type=Path), help="A file of public data.")
@click.option("--column", help="Column of --public-sample.")
@missing_option
@click.option("--may-change-trim", is_flag=True, help="Trim otherwise if that errs less.")
@click.option("--confidence", help="Choose for error bars that cover with this probability.")
@click.option(
    "--covers",
    metavar="[quantile|population|window|mean]",
    help="What these error bars are to contain, as for smoothdp release.",
)
@click.option("--out", type=click.Path(path_type=Path), default="plan.json", show_default=True)
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the error against n.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON on stdout.")
@gathered(AssumptionOptions, "assumption")
def plan(
    statistic: StatisticOptions,
    guarantee: GuaranteeOptions,
    n_records: int,
    assumption: AssumptionOptions,
    may_change_trim: bool,
    confidence: str | None,
    covers: str | None,
    out: Path,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Choose how to release a statistic, from public facts alone, and write the plan to a file.

    Windows with smooth noise, half shifts, the exponential mechanism on ranks, noise scaled to
    global sensitivity and the middle of the bounds are weighed; release --plan runs the winner.

    The errors shown are those to expect under the assumption; a wrong one costs accuracy, never
    privacy. Without --assume and --public-sample none are shown, and the choice is one that suits
    Student's T(3), the bounds 6,000 of its scale apart (release without a plan uses rules for
    bounds 100,000 spreads wide).

    \b
    Example:
      smoothdp plan --statistic median --bounds -60 1440 --epsilon 1 --n 10000 \\
        --assume "lognorm(s=1, scale=20)"
    """
    check_assumption(assumption, plot)
    if may_change_trim and statistic.statistic != "trimmed-mean":
        raise click.UsageError(
            f"Expected --may-change-trim with trimmed-mean; got {statistic.statistic}. Leave "
            "--may-change-trim out."
        )
    query = read_query(statistic)
    promise = read_guarantee(guarantee)
    assuming = read_assumption(assumption)
    with warnings.catch_warnings():
        # The plan has it as a line, and as a note beside JSON.
        warnings.simplefilter("ignore", sd.errors.PrivacyWarning)
        planned = sd.plan(
            query,
            guarantee=promise,
            n_records=n_records,
            assuming=assuming,
            may_change_trim=may_change_trim,
            confidence=confidence,
            covers=covers,
        )
    if plot is not None:
        draw_plan(planned, plot, assuming=assuming)
        click.echo(f"Picture: {plot}", err=True)
    write_plan(planned, out)
    click.echo(planned.to_json() if as_json else planned.text())
    for note in filter(None, (planned.note(), planned.caution())) if as_json else ():
        click.echo(f"Note: {note}", err=True)
    name = shlex.quote(str(out))
    click.echo(
        f"\nPlan written. Release with:\n  smoothdp release FILE --column COLUMN --plan {name}",
        err=as_json,
    )


@click.command()
@guarantee_options
@click.option("--smoothing", required=True, help="Smoothing t of the sensitivity, e.g. 0.1.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw the densities of the noise.")
@click.option(
    "--figures",
    type=click.Path(path_type=Path, file_okay=False),
    help="A folder for Figures 1 and 2 of paper 4, with the exact curves.",
)
def noise(
    guarantee: GuaranteeOptions,
    smoothing: str,
    as_json: bool,
    plot: Path | None,
    figures: Path | None,
) -> None:
    """Compare all noise laws for smooth sensitivity: the papers' theorems, and exactly.

    \b
    Examples:
      smoothdp noise --epsilon 1 --smoothing 0.1
      smoothdp noise --guarantee zcdp --epsilon 1 --smoothing 0.1 --figures figures
    """
    promise = read_guarantee(guarantee)
    with progress_bar("calibrating") as progress:
        compared = sd.report.noise_table(promise, smoothing=smoothing, progress=progress)
    if plot is not None:
        compared.draw(plot)
        click.echo(f"Picture: {plot}", err=True)
    if figures is not None:
        for number in ("1", "2"):
            drawn = (
                FIGURES[f"polyplace/{number}"].compute().draw(figures / f"polyplace-{number}.png")
            )
            click.echo(f"Picture: {drawn}", err=True)
    click.echo(json.dumps(compared.to_dict(), indent=2) if as_json else compared.text())
