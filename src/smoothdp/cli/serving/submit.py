"""``smoothdp submit``: one user's report; ``smoothdp results``: what an analyser released."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import click

from smoothdp.cli.options.command_line import refuse_nan

_AGAIN = (
    "Note: a report of this window was made here with another token, and is not known to be "
    "accepted: that one is sent again, whatever DATUM is. If another person answers, give "
    "--another-person."
)
_PAUSE = 0.5


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
def results(window: int, collector: Path, analyzer: str, wait: float) -> None:
    """Print the result of WINDOW as JSON; without one say why there is none, and exit 3.

    With --wait, an analyser that does not answer, or answers with an error of its own, is asked
    again until the wait is over.

    \b
    Example:
      smoothdp results 20778 --collector smokers/collector --analyzer http://127.0.0.1:8602
    """
    from smoothdp import services
    from smoothdp.services.client.windows.window_results import collector_of

    task, look_up = collector_of(collector)
    end = time.monotonic() + wait
    statuses: list[int] = []
    trouble: services.ServiceError | None = None
    with services.connect(analyzer) as http:
        http.event_hooks["response"].append(lambda answer: statuses.append(answer.status_code))
        while True:
            statuses.clear()
            try:
                result, state = look_up(http, window)
                trouble = None
                if result is not None:
                    break
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
    click.echo(json.dumps(result, indent=2))
