"""The ``smoothdp`` command: its commands, and how errors and warnings are shown."""

from __future__ import annotations

import functools
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import click

import smoothdp as sd
from smoothdp.cli.accounting.account import account
from smoothdp.cli.accounting.elsewhere import lead_to_account
from smoothdp.cli.collect import collect
from smoothdp.cli.designing.design import design
from smoothdp.cli.measure import measure
from smoothdp.cli.papers.figures import cite, papers
from smoothdp.cli.plan import noise, plan
from smoothdp.cli.release import release
from smoothdp.cli.report import report
from smoothdp.cli.serving.serve import serve
from smoothdp.cli.serving.submit import results, submit
from smoothdp.cli.serving.taking_part import look_up
from smoothdp.cli.serving.task import task
from smoothdp.cli.table import table
from smoothdp.data import reason
from smoothdp.errors import PrivacyWarning, SmoothdpError

# The library's names of what the commands name otherwise.
_OTHER_NAMES = {"n_bins": "--bins", "n_records": "--n", "n_users": "--n"}
# A guarantee stays as Python writes it.
_KEPT = r"\b[A-Z]\w*\((?:[^()]|\([^()]*\))*\)"
_BOTH = r"\b\w+=, (?=--)| \(in Python: [^()]*\)"
_ARGUMENT = r"(?<![\w.-])(?P<argument>[a-z]\w*)=(?P<none>None\b)?(?=\S)(?![,;)=])"
_NAMED = r"(?<![\w./'-])(?P<named>[a-z]+(?:_[a-z]+)+)(?![\w/('=]|\.\w)"
_PARTS = re.compile(f"(?P<kept>{_KEPT})|(?P<both>{_BOTH})|{_ARGUMENT}|{_NAMED}")


# ---- what the library says, in the words of a command: its options in place of arguments


def options_of(command: click.Command) -> dict[str, str]:
    """Return the options of a command by the names that the library has for them."""
    return {
        (parameter.name or ""): parameter.opts[0]
        for parameter in command.params
        if isinstance(parameter, click.Option)
    }


def in_options(text: str, options: dict[str, str]) -> str:
    """Return an error of the library with options in place of Python's arguments.

    What stands in brackets as "(in Python: ...)" is left out.

    >>> in_options("Expected confidence < 1; got confidence=2. Lower it.",
    ...     {"confidence": "--confidence"})
    'Expected confidence < 1; got --confidence 2. Lower it.'
    """

    known = set(options.values())
    others = {name: option for name, option in _OTHER_NAMES.items() if option in known}

    def words(match: re.Match[str]) -> str:
        if match["kept"]:
            return match[0]
        if match["both"]:
            return ""
        option = options.get(match["argument"] or match["named"]) or others.get(match["argument"])
        if option is None:
            return match[0]
        if match["none"]:
            return f"no {option}"
        return f"{option} " if match["argument"] else option

    return _PARTS.sub(words, text)


def speak_in_options(command: click.Command) -> None:
    """Let a command, and those below it, name its own options in what it refuses."""
    for leaf in _leaves(command):
        if leaf.callback is not None:
            leaf.callback = _speaking(leaf.callback, options_of(leaf))


def _speaking(callback: Callable[..., Any], options: dict[str, str]) -> Callable[..., Any]:
    @functools.wraps(callback)
    def call(*arguments: Any, **named: Any) -> Any:
        try:
            return callback(*arguments, **named)
        except SmoothdpError as error:
            raise click.ClickException(in_options(str(error), options)) from error

    return call


def _leaves(command: click.Command) -> Iterator[click.Command]:
    if isinstance(command, click.Group):
        for child in command.commands.values():
            yield from _leaves(child)
    else:
        yield command


# ---- the commands


class _Commands(click.Group):
    """The commands; one of a group that is named without its group is led there."""

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = arguments[0]
        if name not in self.commands:
            for group, command in self.commands.items():
                if isinstance(command, click.Group) and name in command.commands:
                    raise click.UsageError(
                        f"Expected a command of smoothdp; got {name}, which is one of {group}. "
                        f"Write smoothdp {group} {name}."
                    )
            lead_to_account(name)
        return super().resolve_command(context, arguments)


@click.group(
    cls=_Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
)
@click.version_option(sd.__version__)
@click.pass_context
def commands(context: click.Context) -> None:
    """Differential privacy beyond the worst case.

    \b
    Example:
      smoothdp measure --counts 81283501,74223975 --sampling-rate 0.998 --threshold 0.51
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


_COMMANDS = (
    *(measure, design, noise, plan, release, table, account, collect, report),
    *(task, serve, submit, results, look_up, papers, cite),
)
for command in _COMMANDS:
    speak_in_options(command)
    commands.add_command(command)


def _one_line(message: Warning | str, *_: object, **__: object) -> None:
    print(f"Note: {message}", file=sys.stderr)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exit with 2 and one line on stderr after bad input."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", PrivacyWarning)
        warnings.showwarning = _one_line
        try:
            commands.main(args=arguments, prog_name="smoothdp", standalone_mode=False)
        except click.ClickException as error:
            message = " ".join(error.format_message().split())
            print(f"Error: {message}", file=sys.stderr)
            sys.exit(2)
        except click.Abort:
            sys.exit(130)
        except SmoothdpError as error:
            print(f"Error: {error}", file=sys.stderr)
            sys.exit(2)
        except OSError as error:
            print(f"Error: {_about_file(error)}", file=sys.stderr)
            sys.exit(2)


def _about_file(error: OSError) -> str:
    """Return which file failed, and why."""
    if error.filename is None:
        return str(error)
    return (
        f"Expected to read or write {error.filename}; got {reason(error)}. Check the path, and the "
        "rights to it."
    )
