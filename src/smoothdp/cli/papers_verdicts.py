"""``smoothdp papers verdicts``: what became of every claim of the papers."""

from __future__ import annotations

import json

import click

from smoothdp.papers.verdicts import STATUSES, verdicts, verdicts_page, verdicts_text


@click.command("verdicts")
@click.option("--paper", type=click.IntRange(1, 5), help="Only the claims of this paper.")
@click.option("--status", type=click.Choice(list(STATUSES)), help="Only claims of this status.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
@click.option("--markdown", is_flag=True, help="Print docs/papers.md: all claims, as tables.")
def show_verdicts(paper: int | None, status: str | None, as_json: bool, markdown: bool) -> None:
    """Say of each numbered claim whether it holds, and which test shows it.

    \b
    Examples:
      smoothdp papers verdicts --paper 5
      smoothdp papers verdicts --status false
    """
    if markdown:
        if paper is not None or status is not None or as_json:
            raise click.UsageError("--markdown is the whole page: give it alone")
        click.echo(verdicts_page(), nl=False)
        return
    rows = verdicts(paper, status=status)
    if as_json:
        click.echo(json.dumps([row.to_dict() for row in rows], indent=2))
    else:
        click.echo(verdicts_text(rows))
