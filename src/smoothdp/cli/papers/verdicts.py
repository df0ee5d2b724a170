"""``smoothdp papers verdicts`` and ``verify``: what became of each claim, and counterexamples."""

from __future__ import annotations

import json
import sys

import click

from smoothdp.papers import (
    STATUSES,
    counterexamples,
    verdicts,
    verdicts_page,
    verdicts_text,
    verify,
)


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


@click.command("verify")
@click.argument("names", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Run all of them.")
def run_counterexamples(names: tuple[str, ...], every: bool) -> None:
    """Print and run counterexamples: ten lines at most, with numpy and nothing of this package.

    Without a name, list them. Exit code 1 if a program does not show what it says.

    \b
    Examples:
      smoothdp papers verify paper-1/lemma-2
      smoothdp papers verify --all
    """
    known = counterexamples()
    if not names and not every:
        for name, row in known.items():
            click.echo(f"{name:<34}  {row.claim}")
        return
    failed = []
    for name in known if every else names:
        done = verify(name)
        click.echo(f"# {name}: {done.row.claim}\n{done.row.counterexample}\n\n{done.output}")
        if not done.refuted:
            failed.append(name)
    if failed:
        click.echo(f"Not shown: {', '.join(failed)}", err=True)
        sys.exit(1)
