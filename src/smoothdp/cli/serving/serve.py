"""``smoothdp serve``: the shuffler, the analyser, and what is served or checked beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from smoothdp.cli.options.command_line import HelpByDefault
from smoothdp.cli.serving.serve_check import check
from smoothdp.cli.serving.serve_demo import demo
from smoothdp.cli.serving.serve_issuer import run_issuer
from smoothdp.cli.serving.serve_options import ignore_reloads, serve_options


@click.group(cls=HelpByDefault)
def serve() -> None:
    """Run the services of the shuffle model.

    \b
    Example:
      smoothdp serve demo
    """


@serve.command()
@serve_options(8601)
@click.option("--analyzer", required=True, help="Address of the analyser, https://...")
@click.option(
    "--client-certificate",
    type=click.Path(path_type=Path),
    help="PEM file of certificate and key, shown to the analyser.",
)
@click.option(
    "--ca",
    type=click.Path(path_type=Path),
    help="PEM file: the only authorities believed of the analyser.",
)
@click.option("--poll", metavar="QUESTION", help="Serve a poll page that asks this.")
def shuffler(
    directory: Path,
    analyzer: str,
    work_seconds: float,
    storage: str | None,
    poll: str | None,
    ca: Path | None,
    client_certificate: Path | None,
    **where: Any,
) -> None:
    """Run the shuffler whose secrets are in DIRECTORY (made by task keys).

    \b
    Examples:
      smoothdp serve shuffler smokers/shuffler --analyzer https://analyser.example
      smoothdp serve shuffler --config shuffler.toml
    """
    ignore_reloads()
    from smoothdp import services

    trust = services.Trust(ca=ca, client_certificate=client_certificate)
    services.connect(analyzer, trust=trust).close()
    party = services.ShufflerParty.from_directory(directory, storage=storage)
    more = []
    if poll is not None:
        more = services.poll_routes(party.task, poll, directory / services.PUBLISHED)
    app = party.app(analyzer, work_seconds=work_seconds, more=more, trust=trust)
    services.run(app, **where)


@serve.command("analyzer")
@serve_options(8602)
def run_analyzer(directory: Path, work_seconds: float, storage: str | None, **where: Any) -> None:
    """Run the analyser whose secrets are in DIRECTORY (made by task keys).

    \b
    Examples:
      smoothdp serve analyzer smokers/analyzer
      smoothdp serve analyzer --config analyzer.toml
    """
    ignore_reloads()
    from smoothdp import services

    party = services.AnalyzerParty.from_directory(directory, storage=storage)
    services.run(party.app(work_seconds=work_seconds), **where)


serve.add_command(run_issuer)
serve.add_command(demo)
serve.add_command(check)
