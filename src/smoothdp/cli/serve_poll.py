"""``smoothdp serve demo --poll``: a poll in the browser on this machine."""

from __future__ import annotations

import json

import click


def run_poll(question: str | None, epsilon: str, delta: str) -> None:
    """Serve the poll page beside made-up participants; close it at Enter, print the result."""
    from smoothdp import services
    from smoothdp.services.poll_demo import MADE_UP, QUESTION, poll_on_loopback

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
