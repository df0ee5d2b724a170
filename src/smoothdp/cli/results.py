"""``smoothdp results``: what an analyser released."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click

from smoothdp.cli.number_options import refuse_nan

_PAUSE = 0.5


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

    task, token = services.read_collector(collector)
    end = time.monotonic() + wait
    statuses: list[int] = []
    trouble: services.ServiceError | None = None
    with services.connect(analyzer) as http:
        http.event_hooks["response"].append(lambda answer: statuses.append(answer.status_code))
        while True:
            statuses.clear()
            try:
                found, state = services.look_up_result(
                    http, task_id=task.task_id, window=window, token=token
                )
                trouble = None
                if found is not None:
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
    if found is None:
        why = services.missing_sentence(task, window, state=state, now=time.time())
        click.echo(why, err=True)
        raise SystemExit(3)
    click.echo(json.dumps(found, indent=2))
