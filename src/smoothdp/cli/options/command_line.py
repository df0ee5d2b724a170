"""What every command shares: its class, its options as one value, and a progress bar.

Nothing that stands on a command line is ignored: an option twice, or one that another mode has, is
refused.
"""

from __future__ import annotations

import functools
import math
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, TypeVar

import click
from click.core import ParameterSource

Command = TypeVar("Command", bound=Callable[..., Any])
NEIGHBOURS = ("replace_one", "add_remove", "replace-one", "add-remove")
"""What --neighbours takes: the names of the library, and as options are written."""


def gathered(kind: type[Any], name: str) -> Callable[[Command], Command]:
    """Let options reach a command as one frozen value: a ``kind``, as its argument ``name``.

    The fields of the data class ``kind`` are the names of the options' parameters.
    """
    names = [field.name for field in fields(kind)]

    def gather(command: Command) -> Command:
        @functools.wraps(command)
        def call(*arguments: Any, **options: Any) -> Any:
            value = kind(**{option: options.pop(option) for option in names})
            return command(*arguments, **{name: value}, **options)

        return call  # type: ignore[return-value]

    return gather


class HelpByDefault(click.Group):
    """A group that prints its help, and no error, if nothing follows its name."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        return super().parse_args(context, arguments or ["--help"])


class StrictCommand(click.Command):
    """A command that refuses an option given twice, where the second would replace the first."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        # The parser uses its list up; the order has each option as often as it was given.
        _, _, order = self.make_parser(context).parse_args(list(arguments))
        times = Counter(id(parameter) for parameter in order)
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


def written_command(context: click.Context) -> str:
    """Return the command as it was given, with its options in the order of the help."""
    words = context.command_path.split()
    for option in context.command.params:
        value = context.params.get(option.name or "")
        if value not in (None, False, ()) and option.name != "as_json":
            for one in value if isinstance(value, tuple) else (value,):
                words += [option.opts[0], *([] if one is True else [str(one)])]
    return shlex.join(words)


def refuse_nan(
    context: click.Context, parameter: click.Parameter, value: float | None
) -> float | None:
    """Return a number, or raise BadParameter for nan: no comparison with it is ever true."""
    if value is not None and math.isnan(value):
        raise click.BadParameter(
            "Expected a number; got nan. Write a number such as 10.", ctx=context, param=parameter
        )
    return value


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function of (steps done, steps in all) that moves the bar."""
    if not sys.stderr.isatty():
        yield lambda done, total: None  # noqa: ARG005
        return
    with click.progressbar(length=1, label=label, file=sys.stderr) as bar:

        def show(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        yield show
