"""``smoothdp serve``: the shuffler and the analyser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from smoothdp.cli.serve_demo import demo


@click.group()
def serve() -> None:
    """Run the services of the shuffle model.

    \b
    Example:
      smoothdp serve demo
    """


def _where(port: int) -> Callable[[Any], Any]:
    def add(command: Any) -> Any:
        for option in (
            click.option("--behind-tls", is_flag=True, help="A proxy in front encrypts."),
            click.option("--certificate-key", type=click.Path(path_type=Path)),
            click.option("--certificate", type=click.Path(path_type=Path)),
            click.option("--port", type=int, default=port, show_default=True),
            click.option("--host", default="127.0.0.1", show_default=True),
            click.option("--work-seconds", type=float, default=10.0, show_default=True),
            click.argument("directory", type=click.Path(path_type=Path, file_okay=False)),
        ):
            command = option(command)
        return command

    return add


@serve.command()
@_where(8601)
@click.option("--analyzer", required=True, help="Address of the analyser, https://...")
def shuffler(directory: Path, analyzer: str, work_seconds: float, **where: Any) -> None:
    """Run the shuffler whose secrets are in DIRECTORY (made by task create).

    \b
    Example:
      smoothdp serve shuffler smokers/shuffler --analyzer https://analyser.example
    """
    from smoothdp import services

    party = services.ShufflerParty.from_directory(directory)
    services.run(party.app(analyzer, work_seconds=work_seconds), **where)


@serve.command("analyzer")
@_where(8602)
def run_analyzer(directory: Path, work_seconds: float, **where: Any) -> None:
    """Run the analyser whose secrets are in DIRECTORY (made by task create).

    \b
    Example:
      smoothdp serve analyzer smokers/analyzer
    """
    from smoothdp import services

    party = services.AnalyzerParty.from_directory(directory)
    services.run(party.app(work_seconds=work_seconds), **where)


serve.add_command(demo)
