"""``smoothdp cite``: BibTeX for what was used."""

from __future__ import annotations

import click

import smoothdp as sd
from smoothdp.papers.citations import citations, known_names


@click.command()
@click.argument("names", nargs=-1)
def cite(names: tuple[str, ...]) -> None:
    """Print BibTeX for what was used: public names, or papers by key or number.

    Without a name, list what is known.

    \b
    Examples:
      smoothdp cite SmoothNoise shuffle.Histogram
      smoothdp cite paper-1
      smoothdp cite
    """
    if not names:
        for name, where in known_names(sd):
            click.echo(f"{name:<32}  {where}")
        return
    click.echo("\n\n".join(citations(names, public=sd)))
