"""``smoothdp results``: what an analyser released."""

from __future__ import annotations

import json
import time
from pathlib import Path

import click


@click.command()
@click.argument("window", type=click.IntRange(0, 2**32 - 1))
@click.option(
    "--collector",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="The collector's directory, made by task create.",
)
@click.option("--analyzer", required=True, help="Address of the analyser, https://...")
@click.option("--wait", type=click.FloatRange(0), default=0.0, help="Seconds to wait for it.")
def results(window: int, collector: Path, analyzer: str, wait: float) -> None:
    """Print the result of WINDOW as JSON; without one say why there is none, and exit 3.

    \b
    Example:
      smoothdp results 20778 --collector smokers/collector --analyzer http://127.0.0.1:8602
    """
    from smoothdp import services

    task, token = services.read_collector(collector)
    end = time.monotonic() + wait
    with services.connect(analyzer) as http:
        while True:
            found, state = services.look_up_result(
                http, task_id=task.task_id, window=window, token=token
            )
            if found is not None or time.monotonic() >= end:
                break
            time.sleep(0.5)
    if found is None:
        why = services.missing_sentence(task, window, state=state, now=time.time())
        click.echo(why, err=True)
        raise SystemExit(3)
    click.echo(json.dumps(found, indent=2))
