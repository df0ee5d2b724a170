"""``smoothdp task``: what all parties agree on, and their keys."""

from __future__ import annotations

from pathlib import Path

import click

from smoothdp.cli.groups import HelpByDefault
from smoothdp.cli.task_create import create

_DIRECTORY = click.Path(path_type=Path, file_okay=False)


@click.group(cls=HelpByDefault)
def task() -> None:
    """Make and show the task of a collection, issue client tokens, rotate keys.

    \b
    Example:
      smoothdp task show smokers
    """


@task.command()
@click.argument("directory", type=click.Path(path_type=Path))
def show(directory: Path) -> None:
    """Print the task in DIRECTORY, checked, and its name.

    \b
    Example:
      smoothdp task show smokers
    """
    from smoothdp.services import read_task

    found = read_task(directory)
    click.echo(found.encoded.decode())
    needed = found.required_batch
    click.echo(f"Task {found.task_id.hex()}: its promise needs {needed} users", err=True)


@task.command()
@click.argument("directory", type=_DIRECTORY)
@click.option("--count", type=click.IntRange(1), default=1, show_default=True)
def tokens(directory: Path, count: int) -> None:
    """Print tokens for new clients; DIRECTORY is the shuffler's.

    \b
    Example:
      smoothdp task tokens smokers/shuffler --count 1000
    """
    from smoothdp import services

    click.echo("\n".join(services.issue_tokens(directory, count)))


@task.command("rotate-keys")
@click.argument("directory", type=_DIRECTORY)
@click.option("--storage", help="postgresql://...; by default a file in DIRECTORY.")
def rotate_keys(directory: Path, storage: str | None) -> None:
    """Give the shuffler in DIRECTORY a new key; the one before the last is destroyed.

    \b
    Example:
      smoothdp task rotate-keys smokers/shuffler
    """
    from smoothdp import services

    party = services.ShufflerParty.from_directory(directory, storage=storage)
    key_id = party.shuffler.keys.rotate()
    click.echo(f"Key {key_id} is advertised; the last one still opens late reports.")


task.add_command(create)
