"""``smoothdp report``: one page of HTML that stands alone."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click

from smoothdp.cli.report_input import make_report
from smoothdp.report.html import PROTOCOLS

FILE = click.Path(path_type=Path)
_SAMPLING = click.Choice(["without_replacement", "with_replacement"])


@click.command()
@click.option("--plan", type=FILE, help="About a plan: a file of smoothdp plan.")
@click.option("--release", type=FILE, help="About a release: what smoothdp release --json prints.")
@click.option("--counts", help="About PUBLIC counts, e.g. 81283501,74223975.")
@click.option("--model", type=FILE, help="About a public model: a CSV of label and counts.")
@click.option("--protocol", type=click.Choice(list(PROTOCOLS)), help="About a protocol.")
@click.option("--n", type=int, help="Records, with --model; users, with --protocol.")
@click.option("--sampling-rate", help="Share of records drawn, with --counts and --model.")
@click.option("--n-draws", type=int, help="Number of records drawn, instead of a rate.")
@click.option("--sampling", type=_SAMPLING, help="Default: without_replacement.")
@click.option("--keep-probability", help="Instead: each record is kept independently.")
@click.option("--epsilon", help='Epsilon, e.g. 0.5 or "ln(51/49)".')
@click.option("--threshold", help="With --counts: the adversary's accuracy, instead of epsilon.")
@click.option("--delta", help="Delta, with --protocol.")
@click.option("--bins", type=int, help="With --protocol histogram: the size of the domain.")
@click.option("--n-bits", type=int, help="With --protocol real-sum: messages per user.")
@click.option("--out", type=FILE, default="report.html", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the main figures as JSON on stdout.")
@click.pass_context
def report(context: click.Context, /, out: Path, as_json: bool, **given: Any) -> None:
    """Write one page of HTML that opens offline: inputs, guarantee, curves, comparison, citation.

    Choose one of --plan, --release, --counts, --model and --protocol. It reads no private data:
    --counts are public, hypothetical or modelled ones.

    \b
    Examples:
      smoothdp report --plan plan.json --out plan.html
      smoothdp report --release release.json
      smoothdp report --counts 81283501,74223975 --sampling-rate 0.998 --threshold 0.51
      smoothdp report --model units.csv --n 1000000 --sampling-rate 0.998 --epsilon 7
      smoothdp report --protocol boolean-sum --n 10000 --epsilon 1 --delta 1e-6
    """
    made = make_report(_command(context), given)
    made.write(out)
    click.echo(json.dumps({"out": str(out), **made.summary}, indent=2) if as_json else str(out))


def _command(context: click.Context) -> str:
    """Return the command as it was given, with its options in the order of the help."""
    words = ["smoothdp", "report"]
    for option in context.command.params:
        value = context.params.get(option.name or "")
        if value not in (None, False) and option.name != "as_json":
            words += [option.opts[0], str(value)]
    return shlex.join(words)
