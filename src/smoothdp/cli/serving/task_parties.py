"""Each party's keys on its own host, and a task from their public halves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import click

PROTOCOL_CHOICES = (
    "boolean-sum",
    "real-sum",
    "histogram",
    "low-communication-histogram",
    "paired-count",
    "paired-histogram",
    "split-sum",
)
BOUNDED = ("real-sum", "split-sum")
_FILE = click.Path(path_type=Path)
ONE_HOST = (
    "The keys of all parties were made on this host: whoever controls it can invent people and "
    "read every answer. Move each directory to its own host and delete it here; for a real "
    "collection let each party run smoothdp task keys itself."
)


@dataclass(frozen=True)
class PartyOptions:
    """Who the parties are, as it stands on the command line."""

    analyzer: Path | None
    shuffler: Path | None
    collector: Path | None
    issuer: Path | None
    issuer_url: str | None
    origin: str | None
    is_open: bool
    one_host: bool


def party_options(command: Any) -> Any:
    """Add the options of `PartyOptions`."""
    options: tuple[Callable[[Any], Any], ...] = (
        click.option("--analyzer", type=_FILE, help="The analyser's public.json."),
        click.option("--shuffler", type=_FILE, help="The shuffler's public.json."),
        click.option("--collector", type=_FILE, help="The collector's public.json."),
        click.option("--issuer", type=_FILE, help="The issuer's public.json."),
        click.option("--issuer-url", help="Where clients reach the issuer, https://..."),
        click.option("--origin", help="The analyser's name."),
        click.option(
            "--open",
            "is_open",
            is_flag=True,
            help="No issuer: the shuffler alone could then invent people.",
        ),
        click.option("--one-host", is_flag=True, help="Make the keys of all parties here."),
    )
    for option in reversed(options):
        command = option(command)
    return command


@click.command()
@click.argument("party", type=click.Choice(["analyzer", "shuffler", "issuer", "collector"]))
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False))
def keys(party: str, directory: Path) -> None:
    """Make the keys of PARTY in a new DIRECTORY on its own host.

    Its public.json is for whoever makes the task, and nothing else leaves the host.

    \b
    Example:
      smoothdp task keys shuffler smokers-shuffler
    """
    from smoothdp import services

    services.make_keys(party, directory)  # type: ignore[arg-type]
    click.echo(f"Hand {directory / 'public.json'} to whoever makes the task; nothing else.")


def create_from_halves(directory: Path, parties: PartyOptions, **request: Any) -> None:
    """Write the task of parties whose public halves are given, or made here."""
    from smoothdp import services

    files = {
        "analyzer": parties.analyzer,
        "shuffler": parties.shuffler,
        "collector": parties.collector,
    }
    if not parties.is_open:
        files["issuer"] = parties.issuer
    _require_share(request["honest_share"])
    _require_consistent(parties, files)
    request |= {
        "issuer_url": parties.issuer_url or "http://127.0.0.1:8603",
        "origin": parties.origin or "127.0.0.1",
    }
    if parties.one_host:
        made = services.agree_on_one_host(directory, has_issuer=not parties.is_open, **request)
    else:
        halves: dict[Any, Any] = {
            name: services.read_half(file, party=name)  # type: ignore[arg-type]
            for name, file in files.items()
        }
        made = services.agree_on_task(directory, halves, **request)
    for sentence in made.advice:
        click.echo(sentence, err=True)
    if parties.one_host:
        click.echo(ONE_HOST, err=True)
    click.echo(f"Task {made.task_id.hex()} in {directory / 'task.json'}. Give it to each party.")


def issue(directory: Path, count: int) -> list[str]:
    """Return passes or invitations, as the directory is."""
    from smoothdp import services

    party = services.read_half(directory).party
    if party not in ("shuffler", "issuer"):
        raise click.UsageError(
            f"Expected the directory of a shuffler or an issuer; got that of the {party}. Passes "
            "are made by the shuffler, invitations by the issuer."
        )
    make = services.issue_passes if party == "shuffler" else services.issue_invitations
    return make(directory, count)


def _require_consistent(parties: PartyOptions, files: dict[str, Path | None]) -> None:
    given = [name for name, file in files.items() if file is not None]
    if parties.is_open and (parties.issuer or parties.issuer_url):
        raise click.UsageError(
            "Expected --open without an issuer; got both. Leave one out: an issuer proves that "
            "the shuffler invented nobody."
        )
    if parties.one_host:
        if given:
            raise click.UsageError(
                f"Expected --one-host alone; got --{given[0]} too. Leave one out: with --one-host "
                "the keys of all parties are made here."
            )
        return
    missing = [f"--{name}" for name, file in files.items() if file is None]
    if "issuer" in files and parties.issuer_url is None:
        missing.append("--issuer-url")
    if parties.origin is None:
        missing.append("--origin")
    if missing:
        raise click.UsageError(
            f"Expected the public halves of all parties; got none for {', '.join(missing)}. Give "
            "them, --open for a task without an issuer, or --one-host to try."
        )


def _require_share(share: str) -> None:
    try:
        value = Fraction(share)
    except (ValueError, ZeroDivisionError):
        raise click.UsageError(
            f"Expected --honest-share as a number; got --honest-share {share!r}. "
            "Give a share such as 0.9."
        ) from None
    if not 0 < value <= 1:
        raise click.UsageError(
            f"Expected 0 < --honest-share <= 1; got {share}. Give a share such as 0.9."
        )
