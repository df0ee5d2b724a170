"""A group of commands that shows its help where no command is named."""

from __future__ import annotations

import click


class HelpByDefault(click.Group):
    """A group that prints its help, and no error, if nothing follows its name."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        return super().parse_args(context, arguments or ["--help"])
