"""``smoothdp serve check``: what is wrong with a party's directory, in words."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--peer", help="Address of the other party, https://...")
@click.option(
    "--ca", type=click.Path(path_type=Path), help="PEM file: the only authorities believed there."
)
@click.option(
    "--client-certificate",
    type=click.Path(path_type=Path),
    help="PEM file of certificate and key, shown there.",
)
@click.option(
    "--certificate", type=click.Path(path_type=Path), help="PEM file, of the service itself."
)
@click.option(
    "--results",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of published results: the ledger must have charged each.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON on stdout.")
def check(
    directory: Path,
    peer: str | None,
    ca: Path | None,
    client_certificate: Path | None,
    certificate: Path | None,
    results: Path | None,
    as_json: bool,
) -> None:
    """Say whether DIRECTORY of a party is fit to be served: files, rights, keys, clock, disk.

    Nothing is changed, and the service may run. The status is 1 if something is wrong.

    \b
    Examples:
      smoothdp serve check smokers/analyzer
      smoothdp serve check smokers/shuffler --peer https://analyser.example --json
    """
    from smoothdp import services

    trust = services.Trust(ca=ca, client_certificate=client_certificate)
    found = services.check_party(
        directory, peer=peer, trust=trust, certificate=certificate, results=results
    )
    good = all(condition.good for condition in found)
    if as_json:
        document = {"good": good, "conditions": [c.to_json() for c in found]}
        click.echo(json.dumps(document, indent=2))
    else:
        for condition in found:
            click.echo(
                f"{'good ' if condition.good else 'WRONG'}  {condition.name}: {condition.says}"
            )
    if not good:
        raise SystemExit(1)
