"""What the library says, in the words of a command: its options in place of arguments."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import click

from smoothdp.errors import SmoothdpError

# The library's names of what the commands name otherwise.
_OTHER_NAMES = {"n_bins": "--bins", "n_records": "--n", "n_users": "--n"}
# A guarantee stays as Python writes it.
_KEPT = r"\b[A-Z]\w*\((?:[^()]|\([^()]*\))*\)"
_BOTH = r"\b\w+=, (?=--)| \(in Python: [^()]*\)"
_GIVEN = r"(?<![\w.-])(?P<given>[a-z]\w*)=(?P<none>None\b)?(?=\S)(?![,;)=])"
_NAMED = r"(?<![\w./'-])(?P<named>[a-z]+(?:_[a-z]+)+)(?![\w/('=]|\.\w)"
_PARTS = re.compile(f"(?P<kept>{_KEPT})|(?P<both>{_BOTH})|{_GIVEN}|{_NAMED}")


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
        option = options.get(match["given"] or match["named"]) or others.get(match["given"])
        if option is None:
            return match[0]
        if match["none"]:
            return f"no {option}"
        return f"{option} " if match["given"] else option

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
