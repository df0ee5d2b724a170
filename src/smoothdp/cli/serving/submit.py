"""``smoothdp submit``: one user's report; ``smoothdp results``: what an analyser released."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import click

from smoothdp.cli.options.command_line import refuse_nan
from smoothdp.cli.serving.taking_part import take_part
from smoothdp.whole_file import whole_file

_PAUSE = 0.5
_FILE = click.Path(path_type=Path, dir_okay=False)


# A negative DATUM is no option; and what is left over is a part of a DATUM, not to be repeated.
@click.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
@click.argument("datum")
@click.option("--task", type=click.Path(path_type=Path), required=True, help="The file task.json.")
@click.option("--shuffler", required=True, help="Address of the shuffler, https://...")
@click.option(
    "--pass", "pass_file", type=_FILE, required=True, help="File with your pass, of the shuffler."
)
@click.option("--invitation", type=_FILE, help="File with your invitation, of the analyser's side.")
@click.option("--issuer", help="Address of the issuer; by default that in the task.")
@click.option("--cache", multiple=True, help="Address to ask for the card before the issuer.")
@click.option("--person", default="me", help="Who of those who use this account answers.")
@click.option(
    "--task-id", multiple=True, help="The task's hash, as each of the organisations names it."
)
def submit(datum: str, task: Path, shuffler: str, pass_file: Path, **more: Any) -> None:
    """Randomise DATUM, seal it and send it, once per window.

    A DATUM of "-" is read from the standard input, where other programs do not see it.
    Calling it again in the same window goes on where it stopped, and sends the same, whatever
    DATUM is then and from whatever folder: what is sent is kept under $XDG_STATE_HOME, by default
    ~/.local/state, before it is sent.

    The pass and the invitation come from two organisations, over two channels: whoever has both
    of many people can break the promise alone. Both name the task's hash too, and --task-id, once
    for each of them, refuses another task: whoever alone gives somebody a task can be all of its
    parties. If several people use this account, each gives --person with a name of their own; it
    never leaves this machine.

    \b
    Example:
      smoothdp submit 1 --task task.json --shuffler http://127.0.0.1:8601 --pass p --invitation i
    """
    if click.get_current_context().args:
        raise click.UsageError(
            "Expected one DATUM, and no other options than these; got more. Nothing was sent. A "
            "DATUM with a space in it stands in quotes."
        )
    datum = _typed() if datum == "-" else datum
    take_part(datum, task, shuffler, pass_file, **more)


def _typed() -> str:
    """Return a line of the standard input as it was typed: names of bins may begin with a space."""
    if sys.stdin is None:
        raise click.UsageError('Expected DATUM on the standard input for "-"; got a closed one.')
    try:
        return sys.stdin.readline().rstrip("\r\n")
    except UnicodeDecodeError:
        # Its words have a byte of the datum in them.
        raise click.UsageError(
            f"Expected DATUM on the standard input as {sys.stdin.encoding}; got other bytes. "
            "Nothing was sent."
        ) from None


@click.command()
@click.argument("window", type=click.IntRange(0, 2**32 - 1))
@click.option(
    "--collector",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="The collector's directory, made by task create.",
)
@click.option("--analyzer", required=True, help="Address of the analyser, https://...")
@click.option(
    "--wait",
    type=click.FloatRange(0),
    default=0.0,
    callback=refuse_nan,
    help="Seconds to wait for it.",
)
@click.option("--signed", type=_FILE, help="File to write it to with its signature, for look-up.")
@click.option("--ca", type=_FILE, help="PEM file: the only authorities believed of the analyser.")
@click.option(
    "--client-certificate", type=_FILE, help="PEM file of certificate and key, shown to it."
)
def results(
    window: int,
    collector: Path,
    analyzer: str,
    wait: float,
    signed: Path | None,
    ca: Path | None,
    client_certificate: Path | None,
) -> None:
    """Print the result of WINDOW as JSON; without one say why there is none, and exit 3.

    Of a window that was refused for good it exits with 2.

    With --signed it is written to a file as the analyser signed it, too: what smoothdp look-up
    reads, and what the poll page shows. A window that was refused or quarantined has such a file
    as well, for look-up alone: it says why, and what both services signed of the batch.

    With --wait, an analyser that does not answer, or answers with an error of its own, is asked
    again until the wait is over.

    \b
    Example:
      smoothdp results 20778 --collector smokers/collector --analyzer http://127.0.0.1:8602
    """
    from smoothdp import services

    task, token = services.read_collector(collector)
    end = time.monotonic() + wait
    statuses: list[int] = []
    trouble: services.ServiceError | None = None
    trust = services.Trust(ca=ca, client_certificate=client_certificate)
    with services.connect(analyzer, trust=trust) as http:
        http.event_hooks["response"].append(lambda answer: statuses.append(answer.status_code))
        while True:
            statuses.clear()
            try:
                result, state = services.fetch_result(http, task, window, token=token)
                trouble = None
                if result is not None:
                    break
            except services.WindowRefused as error:
                # Of one that was released before it has no evidence, and FILE may hold the result.
                if error.signed.document["state"] != "RELEASED":
                    _write(signed, error.signed.encode())
                raise
            except services.ServiceError as error:
                # No answer, or one that says that the service has a problem: it may pass.
                if statuses and statuses[-1] < 500:
                    raise
                trouble = error
            left = end - time.monotonic()
            if left <= 0:
                break
            time.sleep(min(_PAUSE, left))
    if trouble is not None:
        if wait:
            raise click.ClickException(f"{trouble} This was so after {wait:g} seconds of waiting.")
        raise trouble
    if result is None:
        why = services.missing_sentence(task, window, state=state, now=time.time())
        click.echo(why, err=True)
        raise SystemExit(3)
    _write(signed, result.encode())
    click.echo(json.dumps(result.document, indent=2))


def _write(file: Path | None, signed: bytes) -> None:
    if file is not None:
        with whole_file(file) as partial:
            partial.write_bytes(signed)
