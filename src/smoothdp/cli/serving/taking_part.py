"""A pass and an invitation at work; ``smoothdp look-up``: whether a report is in the batch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

_FILE = click.Path(path_type=Path, dir_okay=False)


def take_part(
    datum: str,
    task: Path,
    shuffler: str,
    pass_file: Path,
    *,
    invitation: Path | None,
    issuer: str | None,
    cache: Sequence[str],
    person: str,
    task_id: Sequence[str],
) -> None:
    """Take part in the present window with a pass, and an invitation where there is an issuer."""
    from smoothdp import services

    agreed = services.read_task(task)
    for named in task_id:
        if named.lower() != agreed.task_id.hex():
            raise click.UsageError(
                f"Expected the task with the hash {named}; got {task} with {agreed.task_id.hex()}. "
                "Nothing was sent. Ask both organisations for the task's hash: if they name "
                "different ones, do not take part."
            )
    own_pass = services.read_personal_secret(pass_file)
    invited = "" if invitation is None else services.read_personal_secret(invitation)
    if own_pass == invited:
        raise click.UsageError(
            "Expected a pass and an invitation, which differ; got one for both. Ask who runs the "
            "other side for its own."
        )
    part = services.take_part(
        agreed,
        datum,
        shuffler=shuffler,
        pass_secret=own_pass,
        invitation=invited,
        issuer=issuer,
        caches=cache,
        person=person,
    )
    for window in part.late:
        words = f"The report of window {window}, not known to have arrived, was sent now."
        click.echo(words, err=True)
    if part.astray:
        click.echo(
            "A report of before is not known at this address. If it is one of the issuer's, it has "
            "seen your pass now: ask who runs the shuffler for another one.",
            err=True,
        )
    if part.before:
        click.echo(
            f"A report of window {part.window} was accepted before: no other is sent. If another "
            "person answers, give --person.",
            err=True,
        )
    if part.begun:
        click.echo(
            f"What was drawn before in window {part.window} was sent, not a DATUM of now. If "
            "another person answers, give --person.",
            err=True,
        )
    click.echo(f"Accepted for window {part.window}.")


@click.command("look-up")
@click.argument("window", type=click.IntRange(0, 2**32 - 1))
@click.option("--task", type=click.Path(path_type=Path), required=True, help="The file task.json.")
@click.option("--result", type=_FILE, required=True, help="The result with its signature.")
@click.option("--shuffler", help="Address of the shuffler, which has the marks.")
@click.option("--marks", type=_FILE, help="A copy of the file of marks instead.")
@click.option("--person", default="me", help="As it was given to submit.")
def look_up(
    window: int, task: Path, result: Path, shuffler: str | None, marks: Path | None, person: str
) -> None:
    """Say whether the report that was sent from here is in the batch of WINDOW.

    The marks are one file for everybody, so asking for it names nobody's report. Its hash is in
    what the shuffler and the analyser signed. The status is 1 if the report is not in the batch.

    \b
    Example:
      smoothdp look-up 20778 --task task.json --result 20778.json --shuffler http://127.0.0.1:8601
    """
    from smoothdp import services

    said = services.look_up_report(
        services.read_task(task),
        window,
        result=result.read_bytes(),
        shuffler=shuffler,
        marks=None if marks is None else marks.read_bytes(),
        person=person,
    )
    click.echo(str(said))
    if said is services.Standing.NOT_SENT:
        click.echo(
            f"That is what this account of this machine keeps of {person!r}: not of another "
            "--person, of another device, or of a state that was cleared.",
            err=True,
        )
    if said is not services.Standing.INCLUDED:
        raise SystemExit(1)
