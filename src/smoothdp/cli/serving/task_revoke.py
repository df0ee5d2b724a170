"""``smoothdp task revoke``: passes or invitations that count no more."""

from __future__ import annotations

from pathlib import Path
from typing import TextIO

import click

AFTERWARDS = (
    "Hand out others in their place when the open window and its grace are over: who gets a new "
    "invitation before can be counted in it twice."
)


@click.command()
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
@click.argument("file", type=click.File("r", encoding="ascii", errors="replace"))
def revoke(directory: Path, file: TextIO) -> None:
    """Revoke the passes or invitations in FILE, one a line, that were made in DIRECTORY.

    The service may run; it takes them no more from now on. A FILE of "-" is the standard input.
    Hand out others in their place when the open window and its grace are over: who gets a new
    invitation before can be counted in it twice.

    \b
    Example:
      smoothdp task revoke smokers/issuer lost.txt
    """
    from smoothdp import services

    n_revoked = services.revoke_tokens(directory, file.read().split())
    click.echo(f"{n_revoked} revoked.")
    if n_revoked:
        click.echo(AFTERWARDS)
