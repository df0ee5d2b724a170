"""``smoothdp task``: what all parties agree on, and their keys."""

from __future__ import annotations

from pathlib import Path

import click
from click.core import ParameterSource

from smoothdp.cli.options.columns import read_domain
from smoothdp.cli.options.command_line import HelpByDefault, gathered
from smoothdp.cli.options.guarantees import require_positive
from smoothdp.cli.serving.task_parties import (
    BOUNDED,
    PROTOCOL_CHOICES,
    PartyOptions,
    create_from_halves,
    issue,
    keys,
    party_options,
)
from smoothdp.cli.serving.task_revoke import revoke

_DIRECTORY = click.Path(path_type=Path, file_okay=False)


@click.group(cls=HelpByDefault)
def task() -> None:
    """Make each party's keys, make and show the task, issue passes and invitations.

    \b
    Example:
      smoothdp task show smokers
    """


@task.command()
@click.argument("directory", type=click.Path(path_type=Path))
def show(directory: Path) -> None:
    """Print the task in DIRECTORY, checked, and its name.

    \b
    Example:
      smoothdp task show smokers
    """
    from smoothdp import services

    agreed = services.read_task(directory)
    click.echo(agreed.encoded.decode())
    needed = agreed.required_batch
    click.echo(f"Task {agreed.task_id.hex()}: its promise needs {needed} users", err=True)


@task.command()
@click.argument("directory", type=_DIRECTORY)
@click.option("--count", type=click.IntRange(1), default=1, show_default=True)
def tokens(directory: Path, count: int) -> None:
    """Print tokens for new clients: passes or invitations, as DIRECTORY is.

    Two organisations make the two, and deliver them over two channels: whoever sees both of many
    people can invent people.

    \b
    Example:
      smoothdp task tokens smokers/shuffler --count 1000
    """
    click.echo("\n".join(issue(directory, count)))


task.add_command(revoke)


@task.command()
@click.argument("directory", type=_DIRECTORY)
@click.option("--protocol", type=click.Choice(PROTOCOL_CHOICES), required=True)
@click.option("--epsilon", required=True, help="Of each window.")
@click.option("--delta", required=True, help="Of each window, e.g. 1e-6.")
@click.option("--min-batch", type=int, required=True, help="Fewest users in a batch.")
@click.option("--honest-share", default="0.9", show_default=True, help="Assumed at least.")
@click.option("--n-bits", type=int, default=8, show_default=True, help="Bits of a real sum.")
@click.option("--bounds", nargs=2, help="Lower and upper end of a real datum.")
@click.option("--domain", type=click.Path(path_type=Path), help="File of names of a histogram.")
@click.option("--window-seconds", type=int, default=86_400, show_default=True)
@click.option("--grace-seconds", type=int, default=3_600, show_default=True)
@click.option("--windows", type=int, default=1, show_default=True, help="Paid by the budget.")
@click.option("--unit", default="one client", show_default=True, help="Who may send once.")
@party_options
@gathered(PartyOptions, "parties")
def create(
    directory: Path,
    parties: PartyOptions,
    protocol: str,
    n_bits: int,
    bounds: tuple[str, str] | None,
    domain: Path | None,
    min_batch: int,
    windows: int,
    window_seconds: int,
    grace_seconds: int,
    **promise: str,
) -> None:
    """Write DIRECTORY/task.json from the public halves that each party made on its own host.

    With --one-host the keys of all parties are made here: whoever controls this machine then
    holds all of them, and the promise does not hold against it.

    \b
    Examples:
      smoothdp task create smokers --protocol boolean-sum --epsilon 1 --delta 1e-6
        --min-batch 1000 --analyzer a.json --shuffler s.json --collector c.json --issuer i.json
        --issuer-url https://issuer.example --origin analyser.example
      smoothdp task create smokers --protocol boolean-sum --epsilon 1 --delta 1e-6
        --min-batch 1000 --one-host
    """
    source = click.get_current_context().get_parameter_source("n_bits")
    if protocol != "real-sum" and source is not ParameterSource.DEFAULT:
        raise click.UsageError(
            f"Expected --n-bits with a real-sum alone; got it with a {protocol}. Leave "
            "--n-bits out."
        )
    require_positive("--epsilon", promise["epsilon"])
    names = read_domain(domain) if domain else []
    if ("histogram" in protocol) != bool(names) or (protocol in BOUNDED) != bool(bounds):
        raise click.UsageError(
            "Expected --domain with a file of names for a histogram, --bounds for a real-sum, "
            f"and neither for a boolean-sum; got another choice for {protocol}. Give "
            "the option of that protocol alone."
        )
    create_from_halves(
        directory,
        parties,
        protocol=protocol.replace("-", "_"),
        size=n_bits if protocol == "real-sum" else None,
        bounds=bounds or (),
        domain=names,
        min_batch=min_batch,
        windows=windows,
        window_seconds=window_seconds,
        grace_seconds=grace_seconds,
        **promise,
    )


task.add_command(keys)
