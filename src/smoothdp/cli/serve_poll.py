"""``smoothdp serve demo --poll``: a poll in the browser on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import click


def run_poll(question: str | None, epsilon: str, delta: str) -> None:
    """Serve the poll page beside made-up participants; close it at Enter, print the result."""
    from smoothdp import services
    from smoothdp.services.demo.poll_demo import MADE_UP, QUESTION, poll_on_loopback

    with poll_on_loopback(question=question or QUESTION, epsilon=epsilon, delta=delta) as poll:
        click.echo(
            f"{len(MADE_UP)} made-up people have answered, {sum(MADE_UP)} of them yes. "
            "Your link, for one answer:",
            err=True,
        )
        click.echo(poll.link)
        click.prompt("Enter closes the poll", default="", show_default=False, err=True)
        mine = poll.answered() - len(MADE_UP)
        click.echo(f"{mine} answer came from a browser.", err=True)
        click.echo(json.dumps(poll.close(), indent=2))
        click.echo(services.ONE_HOST, err=True)
        click.prompt("The page shows it; Enter ends", default="", show_default=False, err=True)


def require_poll_alone(question: str | None, file: Path | None, **options: object) -> None:
    """Raise UsageError unless a poll is asked for without what a file needs."""
    if file is not None:
        raise click.UsageError(
            f"Expected either FILE or --poll; got --poll and {file}. Leave one out."
        )
    ignored = [f"--{name}" for name, value in options.items() if value is not None]
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
