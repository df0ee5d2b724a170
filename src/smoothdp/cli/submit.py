"""``smoothdp submit``: one user's report."""

from __future__ import annotations

import sys
from pathlib import Path

import click

_AGAIN = (
    "Note: a report of this window was made here with another token, and is not known to be "
    "accepted: that one is sent again, whatever DATUM is. If another person answers, give "
    "--another-person."
)


# A negative DATUM is no option.
@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("datum")
@click.option("--task", type=click.Path(path_type=Path), required=True, help="The file task.json.")
@click.option("--shuffler", required=True, help="Address of the shuffler, https://...")
@click.option(
    "--token-file",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="File with the client's token.",
)
@click.option(
    "--another-person",
    is_flag=True,
    help="Another person answers than the one whose report of this window was not accepted.",
)
def submit(datum: str, task: Path, shuffler: str, token_file: Path, another_person: bool) -> None:
    """Randomise DATUM, seal it and send it, once per window.

    A DATUM of "-" is read from the standard input, where other programs do not see it.
    Calling it again in the same window sends the same report, whatever DATUM is then and from
    whatever folder: the sealed report is kept under $XDG_STATE_HOME, by default ~/.local/state.

    So does another token, while no shuffler has accepted the report: it may have it all the same,
    and a second one would tell more. After a report that was accepted, another token is another
    person's, who answers anew. Before, say that with --another-person.

    \b
    Example:
      smoothdp submit 1 --task task.json --shuffler http://127.0.0.1:8601 --token-file token
    """
    from smoothdp import services

    datum = sys.stdin.readline().strip() if datum == "-" else datum
    agreed, token = services.read_task(task), services.read_token(token_file)
    with services.connect(shuffler) as http:
        store = services.OutcomeStore.of_user()
        client = services.Client(
            agreed, store, name=services.token_hash(token), one_person=not another_person
        )
        window = client.window_now()
        if client.sends_anothers(window):
            click.echo(_AGAIN, err=True)
        services.submit(client, datum, http=http, token=token, window=window)
        store.forget_before(agreed.task_id, window - 1)
        store.close()
    click.echo(f"Accepted for window {window}.")
