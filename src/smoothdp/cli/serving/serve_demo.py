"""``smoothdp serve demo``: clients, shuffler and analyser on one machine, to try."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

import smoothdp as sd
from smoothdp.cli.options.columns import missing_note, read_domain, require_bits, require_known
from smoothdp.cli.options.command_line import gathered, refuse_nan
from smoothdp.cli.options.guarantees import require_positive

_MADE_UP = [int(user % 3 == 0) for user in range(300)]


@dataclass(frozen=True)
class DemoOptions:
    """Whose data a demonstration collects, as it stands on the command line."""

    file: Path | None
    column: str | None
    above: float | None
    bounds: tuple[str, str] | None
    domain: Path | None
    missing: str | None

    @property
    def n_chosen(self) -> int:
        """How many of the ways to collect a column are asked for: one at most makes sense."""
        return [option is not None for option in (self.above, self.bounds, self.domain)].count(True)


@click.command()
@click.argument("file", type=click.Path(path_type=Path), required=False)
@click.option("--column", help="Column of FILE (CSV or Parquet): one row a user.")
@click.option(
    "--above",
    type=float,
    callback=refuse_nan,
    help="Collect how many values are above this number.",
)
@click.option("--bounds", nargs=2, help="Collect the sum and mean, values clipped to these.")
@click.option("--domain", type=click.Path(path_type=Path), help="Collect counts: file of values.")
@click.option("--missing", help='A public constant for missing values, or "public-drop".')
@click.option("--epsilon", default="1", show_default=True)
@click.option("--delta", default="1e-6", show_default=True)
@click.option("--poll", is_flag=True, help="A poll page for your browser instead of FILE.")
@click.option("--question", help="With --poll: what is asked.")
@gathered(DemoOptions, "asked")
def demo(asked: DemoOptions, epsilon: str, delta: str, poll: bool, question: str | None) -> None:
    """Run everything on this machine: a client per row, a shuffler, an issuer, an analyser.

    Each of the three is a process of its own; the result is printed. Without FILE, 300 made-up
    users of whom 100 hold a 1. With FILE, --column names what each user holds. Choose one of
    --above, --bounds and --domain; without any, the column holds 0 and 1.
    The result is JSON on stdout; beside it, on stderr, the truth, which only a demo knows.

    \b
    Examples:
      smoothdp serve demo flights.csv --column late
      smoothdp serve demo flights.csv --column dep_delay --above 15
      smoothdp serve demo --poll
    """
    require_positive("--epsilon", epsilon)
    if poll:
        require_poll_alone(question, asked)
        run_poll(question, epsilon, delta)
        return
    require_no_question(question)
    from smoothdp import services

    if asked.file is None and (asked.n_chosen or asked.column or asked.missing):
        raise click.UsageError(
            "Expected FILE with --column, --above, --bounds, --domain and --missing; got none. "
            "Give a CSV or Parquet file, or no options for made-up users."
        )
    if asked.file is not None and asked.column is None:
        raise click.UsageError(
            f"Expected --column with {asked.file}; got none. Name the column that holds the data."
        )
    data: list[Any] = _MADE_UP
    options: dict[str, Any] = {}
    if asked.file is not None and asked.column is not None:
        data, options = read_data(asked.file, asked.column, asked)
    say = partial(click.echo, err=True)
    demonstration = services.demonstrate(data, say=say, epsilon=epsilon, delta=delta, **options)
    click.echo(json.dumps(demonstration.document, indent=2))
    say(services.compare(demonstration, data))
    if asked.missing is not None:
        say(missing_note(asked.missing))
    say(services.ONE_HOST)


def read_data(file: Path, column: str, asked: DemoOptions) -> tuple[list[Any], dict[str, Any]]:
    """Return the users' data, and what is collected of them."""
    if asked.n_chosen > 1:
        raise click.UsageError(
            f"Expected one of --above, --bounds and --domain, or none for a column of 0 and 1; got "
            f"{asked.n_chosen} of them. Say what to collect."
        )
    domain, above, missing = asked.domain, asked.above, asked.missing
    if domain is not None:
        names = read_domain(domain)
        values = sd.read_column(file, column, kind="category", missing=missing)
        require_known(values, names, domain, column=column)
        # Larger envelopes than 128 slots cost an issuer too much.
        few = len(names) < 128
        return list(values), {"protocol": "histogram", "domain": names, "has_issuer": few}
    numbers = sd.read_column(file, column, missing=missing)
    if asked.bounds is not None:
        return numbers.tolist(), {"protocol": "real_sum", "bounds": asked.bounds}
    if above is None:
        require_bits(numbers, column=column)
        above = 0.5
    return [int(value > above) for value in numbers], {}


def run_poll(question: str | None, epsilon: str, delta: str) -> None:
    """Serve the poll page beside made-up participants; close it at Enter, print the result."""
    from smoothdp import services

    made_up, asked = services.POLL_MADE_UP, question or services.POLL_QUESTION
    with services.poll_on_loopback(question=asked, epsilon=epsilon, delta=delta) as poll:
        click.echo(
            f"{len(made_up)} made-up people have answered, {sum(made_up)} of them yes. "
            "Your link, which has your pass, and your invitation, to type into the page:",
            err=True,
        )
        click.echo(poll.link)
        click.echo(poll.invitation)
        click.prompt("Enter closes the poll", default="", show_default=False, err=True)
        mine = poll.answered() - len(made_up)
        click.echo(f"{mine} answer came from a browser.", err=True)
        click.echo(json.dumps(poll.close(), indent=2))
        click.echo(services.ONE_HOST, err=True)
        click.prompt("The page shows it; Enter ends", default="", show_default=False, err=True)


def require_poll_alone(question: str | None, asked: DemoOptions) -> None:
    """Raise UsageError unless a poll is asked for without what a file needs."""
    if asked.file is not None:
        raise click.UsageError(
            f"Expected either FILE or --poll; got --poll and {asked.file}. Leave one out."
        )
    ignored = [f"--{name}" for name, value in asdict(asked).items() if value is not None]
    if ignored:
        raise click.UsageError(
            f"Expected --poll without what a FILE needs; got {', '.join(ignored)}. Leave it out: "
            "a poll collects yes and no."
        )
    if question is not None and not question.strip():
        raise click.UsageError(
            "Expected a question after --question; got an empty text. Write one, or leave "
            "--question out for an example."
        )


def require_no_question(question: str | None) -> None:
    """Raise UsageError where a question is given, but no poll is asked for."""
    if question is not None:
        raise click.UsageError(
            "Expected --question with --poll; got it alone. Add --poll, or leave --question out."
        )
