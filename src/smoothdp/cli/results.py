"""``smoothdp results``: what an analyser released."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command()
@click.argument("window", type=int)
@click.option(
    "--collector",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="The collector's directory, made by task create.",
)
@click.option("--analyzer", required=True, help="Address of the analyser, https://...")
def results(window: int, collector: Path, analyzer: str) -> None:
    """Print the result of WINDOW as JSON; exit 3 while there is none.

    \b
    Example:
      smoothdp results 20778 --collector smokers/collector --analyzer http://127.0.0.1:8602
    """
    from smoothdp import services

    task = services.read_task(collector)
    token = json.loads((collector / "secrets.json").read_text())["collector_token"]
    with services.connect(analyzer) as http:
        found = services.fetch_result(http, task_id=task.task_id, window=window, token=token)
    if found is None:
        click.echo("Not released yet.", err=True)
        raise SystemExit(3)
    click.echo(json.dumps(found, indent=2))
