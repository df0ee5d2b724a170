"""Tasks of the second protocol: each party's keys on its own host, a task from public halves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

FIRST_PROTOCOLS = ("boolean-sum", "real-sum", "histogram")
PROTOCOL_CHOICES = (
    *FIRST_PROTOCOLS,
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

    @property
    def given(self) -> bool:
        """Whether any of them was given: then the task is one of the second protocol."""
        return any(asdict(self).values())


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
    from smoothdp.services.formats.party_files import PUBLIC_FILE, make_keys

    make_keys(party, directory)  # type: ignore[arg-type]
    click.echo(f"Hand {directory / PUBLIC_FILE} to whoever makes the task; nothing else.")


def create_from_halves(directory: Path, parties: PartyOptions, **request: Any) -> None:
    """Write the task of parties whose public halves are given, or made here."""
    from smoothdp.services.formats.design.task_request import create_task
    from smoothdp.services.formats.design.task_shape import TaskIssuer
    from smoothdp.services.formats.party_files import (
        callers_of,
        make_keys,
        read_half,
        write_callers,
        write_task,
    )
    from smoothdp.services.formats.signing import VerifyingKey
    from smoothdp.services.wire.key_files import TASK_FILE, write_new

    files = {
        "analyzer": parties.analyzer,
        "shuffler": parties.shuffler,
        "collector": parties.collector,
    }
    if not parties.is_open:
        files["issuer"] = parties.issuer
    _require_consistent(parties, files)
    halves: dict[Any, Any] = {}
    for name, file in files.items():
        if parties.one_host:
            halves[name] = make_keys(name, directory / name)  # type: ignore[arg-type]
        else:
            assert file is not None
            halves[name] = read_half(file, party=name)  # type: ignore[arg-type]
    url = parties.issuer_url or "http://127.0.0.1:8603"
    issuer = None
    if "issuer" in halves:
        issuer = TaskIssuer(_host_of(url), url, halves["issuer"].sign_key)
    request["honest_share"] = _one_minus(request.pop("dishonest_share"))
    made = create_task(
        **request,
        analyzer_sign_key=VerifyingKey.from_hex(halves["analyzer"].sign_key),
        shuffler_sign_key=VerifyingKey.from_hex(halves["shuffler"].sign_key),
        issuer=issuer,
        proof="slots" if issuer else "none",
        origin=parties.origin or "127.0.0.1",
    )
    write_task(directory, made, callers_of(halves))
    if parties.one_host:
        for name in files:
            write_new(directory / name / TASK_FILE, made.encoded, mode=0o644)
        write_callers(directory / "analyzer", callers_of(halves))
    for sentence in made.advice:
        click.echo(sentence, err=True)
    if parties.one_host:
        click.echo(ONE_HOST, err=True)
    click.echo(f"Task {made.task_id.hex()} in {directory / TASK_FILE}. Give it to each party.")


def issue(directory: Path, count: int) -> list[str]:
    """Return passes or invitations, as the directory is."""
    from smoothdp.services.formats.party_files import read_half
    from smoothdp.services.issuer.issuer_party import issue_invitations
    from smoothdp.services.shuffler.windows.shuffler_party import issue_passes

    party = read_half(directory).party
    if party not in ("shuffler", "issuer"):
        raise click.UsageError(
            f"Expected the directory of a shuffler or an issuer; got that of the {party}. Passes "
            "are made by the shuffler, invitations by the issuer."
        )
    return (issue_passes if party == "shuffler" else issue_invitations)(directory, count)


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


def _host_of(url: str) -> str:
    from urllib.parse import urlsplit

    return urlsplit(url).hostname or url


def _one_minus(share: str) -> str:
    from smoothdp.exact.parameters.numbers import exact_fraction, exact_text

    return exact_text(1 - exact_fraction(share, name="dishonest_share"))
