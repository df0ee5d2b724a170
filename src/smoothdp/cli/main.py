"""The ``smoothdp`` command: its commands, and how errors and warnings are shown."""

from __future__ import annotations

import sys
import warnings

import click

import smoothdp as sd
from smoothdp.cli.account import account
from smoothdp.cli.cite import cite
from smoothdp.cli.collect import collect
from smoothdp.cli.measure import measure
from smoothdp.cli.noise import noise
from smoothdp.cli.papers import papers
from smoothdp.cli.plan import plan
from smoothdp.cli.release import release
from smoothdp.cli.report import report
from smoothdp.cli.results import results
from smoothdp.cli.serve import serve
from smoothdp.cli.submit import submit
from smoothdp.cli.task import task
from smoothdp.cli.words import speak_in_options
from smoothdp.data.refusals import reason
from smoothdp.errors import PrivacyWarning, SmoothdpError


@click.group(context_settings={"help_option_names": ["-h", "--help"]}, invoke_without_command=True)
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
    *(measure, noise, plan, release, account, collect, report),
    *(task, serve, submit, results, papers, cite),
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
