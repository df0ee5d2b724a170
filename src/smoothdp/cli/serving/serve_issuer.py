"""``smoothdp serve issuer``: cards and tokens, the public face of the analyser's side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from smoothdp.cli.serving.serve_options import ignore_reloads, serve_options


@click.command("issuer")
@serve_options(8603, storage=False)
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
@click.option("--page-origin", help="https://HOST of the poll page, whose visitors may ask.")
def run_issuer(
    directory: Path,
    analyzer: str,
    work_seconds: float,
    page_origin: str | None,
    ca: Path | None,
    client_certificate: Path | None,
    **where: Any,
) -> None:
    """Run the issuer whose secrets are in DIRECTORY (made by task keys).

    Its state is one SQLite file in DIRECTORY. Make no copy of it: an older one would give people a
    second draw. After a loss, new windows only.

    \b
    Examples:
      smoothdp serve issuer smokers/issuer --analyzer https://analyser.example
      smoothdp serve issuer --config issuer.toml
    """
    ignore_reloads()
    from smoothdp import services

    services.require_hardened(where["host"], behind_tls=where["behind_tls"])
    trust = services.Trust(ca=ca, client_certificate=client_certificate)
    services.connect(analyzer, trust=trust).close()
    party = services.IssuerParty.from_directory(directory)
    app = party.app(analyzer, page_origin=page_origin, work_seconds=work_seconds, trust=trust)
    services.run(app, **where)
