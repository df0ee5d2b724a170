"""``smoothdp serve``: the shuffler and the analyser; their options, from a file too."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from smoothdp.cli.options.command_line import HelpByDefault, refuse_nan
from smoothdp.cli.serving.serve_check import check
from smoothdp.cli.serving.serve_demo import demo

_PATHS = ("directory", "certificate", "certificate-key", "client-ca", "ca", "client-certificate")


def serve_options(port: int) -> Callable[[Any], Any]:
    """Add where to listen, as whom, and --config."""
    options = (
        click.option("--admin", help="127.0.0.1:PORT for /livez, /readyz and /metrics."),
        click.option("--behind-tls", is_flag=True, help="A proxy in front encrypts."),
        click.option(
            "--client-ca",
            type=click.Path(path_type=Path),
            help="PEM file: only callers with a certificate of these authorities.",
        ),
        click.option("--certificate-key", type=click.Path(path_type=Path), help="PEM file."),
        click.option("--certificate", type=click.Path(path_type=Path), help="PEM file."),
        click.option("--port", type=click.IntRange(0, 65535), default=port, show_default=True),
        click.option("--host", default="127.0.0.1", show_default=True),
        click.option(
            "--work-seconds",
            type=click.FloatRange(0.1, 86400),
            default=10.0,
            callback=refuse_nan,
            show_default=True,
            help="Pause between two rounds of work.",
        ),
        click.option("--storage", help="postgresql://...; by default a file in DIRECTORY."),
        click.option(
            "--config",
            type=click.Path(path_type=Path),
            is_eager=True,
            expose_value=False,
            callback=_read_config,
            help="TOML file of these options and of directory.",
        ),
        click.argument("directory", type=click.Path(path_type=Path, file_okay=False)),
    )

    def add(command: Any) -> Any:
        for option in options:
            command = option(command)
        return command

    return add


def _read_config(context: click.Context, _: click.Parameter, path: Path | None) -> None:
    """Make the values of a file the defaults of the options that have their names."""
    if path is None:
        return
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise click.UsageError(
            f"Expected a TOML file {path}; got: {reason}. Correct that file, or leave --config out."
        ) from None
    names = {(p.name or "").replace("_", "-"): p for p in context.command.params}
    known = {name for name in names if name not in ("config", "help")}
    for name, value in values.items():
        if name not in known or isinstance(value, dict | list):
            raise click.UsageError(
                f"Expected only {', '.join(sorted(known))} in {path}; got {name}={value!r}. "
                "Correct that line."
            )
        if name in _PATHS:
            # Beside the file, wherever the service is started.
            values[name] = str(path.parent / str(value))
        try:
            names[name].process_value(context, values[name])
        except click.BadParameter as error:
            reason = " ".join(error.format_message().split())
            raise click.UsageError(
                f"Expected values that serve takes in {path}; got: {reason.rstrip('.')}. Correct "
                "that line."
            ) from None
    context.default_map = {name.replace("-", "_"): value for name, value in values.items()}


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
    """Run the shuffler whose secrets are in DIRECTORY (made by task create).

    \b
    Examples:
      smoothdp serve shuffler smokers/shuffler --analyzer https://analyser.example
      smoothdp serve shuffler --config shuffler.toml
    """
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
    """Run the analyser whose secrets are in DIRECTORY (made by task create).

    \b
    Examples:
      smoothdp serve analyzer smokers/analyzer
      smoothdp serve analyzer --config analyzer.toml
    """
    from smoothdp import services

    party = services.AnalyzerParty.from_directory(directory, storage=storage)
    services.run(party.app(work_seconds=work_seconds), **where)


serve.add_command(demo)
serve.add_command(check)
