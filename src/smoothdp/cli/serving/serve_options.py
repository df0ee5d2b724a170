"""What all services are told where they run: host, port, certificates, a file of options."""

from __future__ import annotations

import signal
import threading
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from smoothdp.cli.options.command_line import refuse_nan

_PATHS = ("directory", "certificate", "certificate-key", "client-ca", "ca", "client-certificate")


def ignore_reloads() -> None:
    """Ignore SIGHUP until the server has its files and a handler of its own.

    Without a handler it ends the process, which systemd takes for a clean end: a reload just after
    a start would stop the service for good.
    """
    if hasattr(signal, "SIGHUP") and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)


def serve_options(port: int, *, storage: bool = True) -> Callable[[Any], Any]:
    """Add where to listen, as whom, where to keep state if that is a choice, and --config."""
    stored = click.option("--storage", help="postgresql://...; by default a file in DIRECTORY.")
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
            type=click.FloatRange(0.1, 300),
            default=10.0,
            callback=refuse_nan,
            show_default=True,
            help="Pause between two rounds of work.",
        ),
        *([stored] if storage else []),
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
                # Not its value, which may be an address with a password, for a log to keep.
                f"Expected only {', '.join(sorted(known))} in {path}; got {name}. Correct that "
                "line."
            )
        if name in _PATHS:
            # Beside the file, wherever the service is started.
            values[name] = str(path.parent / str(value))
        elif not isinstance(value, bool | str):
            # As on a command line: a number in the place of a switch is refused in words.
            values[name] = str(value)
        try:
            names[name].process_value(context, values[name])
        except click.BadParameter as error:
            reason = " ".join(error.format_message().split())
            raise click.UsageError(
                f"Expected values that serve takes in {path}; got: {reason.rstrip('.')}. Correct "
                "that line."
            ) from None
    context.default_map = {name.replace("-", "_"): value for name, value in values.items()}
