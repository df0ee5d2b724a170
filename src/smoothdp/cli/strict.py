"""Nothing that is given is ignored: an option twice, or one that another mode has, is refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import click
from click.core import ParameterSource


class StrictCommand(click.Command):
    """A command that refuses an option given twice, where the second would replace the first."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        # The parser uses its list up; the order has each option as often as it was given.
        _, _, order = self.make_parser(context).parse_args(list(arguments))
        times = Counter(id(given) for given in order)
        options = (one for one in self.params if isinstance(one, click.Option))
        for option in options:
            if times[id(option)] > 1 and not (option.multiple or option.count):
                raise click.UsageError(
                    f"Expected {option.opts[0]} once; got it {times[id(option)]} times. "
                    "Leave all but one out."
                )
        return super().parse_args(context, arguments)


def given_options(context: click.Context) -> dict[str, str]:
    """Return what stands on the command line: names of parameters, and how a user writes them."""
    return {
        (one.name or ""): one.opts[0] if isinstance(one, click.Option) else (one.name or "").upper()
        for one in context.command.params
        if context.get_parameter_source(one.name or "") is ParameterSource.COMMANDLINE
    }


def refuse_strays(context: click.Context, belong: Collection[str], *, mode: str) -> None:
    """Raise UsageError, naming them, if options are given that a mode has no use for.

    ``belong`` are names of parameters; ``mode`` is what makes it the mode, as a user writes it.
    """
    strays = [text for name, text in given_options(context).items() if name not in belong]
    if strays:
        raise click.UsageError(
            f"Expected {mode} with options that belong to it; got {', '.join(strays)}. "
            "Leave out what does not apply."
        )
