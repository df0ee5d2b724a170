"""``smoothdp release``: a statistic of one column, with a guarantee."""

from __future__ import annotations

import json
from pathlib import Path

import click

import smoothdp as sd
from smoothdp.cli.guarantee_options import KINDS, read_guarantee
from smoothdp.cli.statistics import STATISTICS, read_query


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--column", required=True, help="Column of FILE (CSV or Parquet).")
@click.option("--statistic", type=click.Choice(STATISTICS), required=True)
@click.option("--bounds", nargs=2, required=True, help="Public bounds; values are clamped to them.")
@click.option("--trim", help="With trimmed-mean: share (0.05) or count (50) left out a side.")
@click.option("--q", "quantile", help="With quantile: the share of records below, e.g. 0.9.")
@click.option("--guarantee", "kind", type=click.Choice(KINDS), help="Default: by the options.")
@click.option("--epsilon", help="Epsilon; with zcdp and tcdp it means rho = epsilon^2 / 2.")
@click.option("--delta", help="Delta, with approx.")
@click.option("--rho", help="Rho, with zcdp and tcdp, instead of epsilon.")
@click.option("--omega", help="Omega, with tcdp.")
@click.option("--round-to", help="Round the output to a multiple, e.g. 1 for whole numbers.")
@click.option("--missing", help='A public constant for missing values, or "public-drop".')
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def release(
    file: Path,
    column: str,
    statistic: str,
    bounds: tuple[str, str],
    trim: str | None,
    quantile: str | None,
    kind: str | None,
    epsilon: str | None,
    delta: str | None,
    rho: str | None,
    omega: str | None,
    round_to: str | None,
    missing: str | None,
    as_json: bool,
) -> None:
    """Release a statistic of a column with noise scaled to its smooth sensitivity.

    Nothing but the noisy value depends on the data. The number of rows and the bounds are
    public: choose the bounds without looking at the data. The value is clamped to them.

    \b
    Examples:
      smoothdp release flights.csv --column delay --statistic median --bounds -60 1440 --epsilon 1
      smoothdp release pay.parquet --column pay --statistic trimmed-mean --trim 0.05 \\
        --bounds 0 1e6 --guarantee zcdp --rho 0.5
    """
    query = read_query(statistic, bounds, trim, quantile)
    guarantee = read_guarantee(kind, epsilon, delta, rho, omega)
    values = sd.read_column(file, column, missing=missing)
    found = sd.release(values, query, guarantee=guarantee, round_to=round_to, clamp=True)
    note = missing_note(missing)
    if as_json:
        result = {
            "value": found.value,
            "guarantee": found.guarantee.sentence(),
            "mechanism": found.mechanism,
            "n_records": len(values),
            "missing": note,
            "version": found.library_version,
        }
        click.echo(json.dumps(result, indent=2))
        return
    click.echo(f"value      {found.value:.10g}")
    click.echo(f"mechanism  {found.mechanism}")
    click.echo(f"\n{found.guarantee.sentence()}{' ' + note if note else ''}")


def missing_note(missing: str | None) -> str:
    """Return what was done with missing values, as the promise has to say it."""
    if missing is None:
        return ""
    if missing == "public-drop":
        return "Rows without a value were left out: who has none is declared public."
    return f"Missing values count as {missing}, a public constant."
