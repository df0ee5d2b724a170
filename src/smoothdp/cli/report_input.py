"""What ``smoothdp report`` is about: a subject, and the options that belong to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from smoothdp.cli.measure_input import read_counts, read_mechanism
from smoothdp.cli.model_file import read_model
from smoothdp.cli.plan_file import read_plan
from smoothdp.cli.progress import progress_bar
from smoothdp.cli.report_protocol import report_protocol
from smoothdp.data.refusals import reason
from smoothdp.report import html

_SAMPLE = ("sampling_rate", "n_draws", "sampling", "keep_probability")
_SUBJECTS: dict[str, tuple[str, ...]] = {
    "plan": (),
    "release": (),
    "counts": (*_SAMPLE, "epsilon", "threshold"),
    "model": (*_SAMPLE, "n", "epsilon"),
    "protocol": ("n", "epsilon", "delta", "bins", "n_bits"),
}


def make_report(command: str, given: dict[str, Any]) -> html.HtmlReport:
    """Return the report that the options ask for; those of another subject are refused."""
    subjects = [name for name in _SUBJECTS if given[name] is not None]
    if len(subjects) != 1:
        raise click.UsageError(
            "Expected one of --plan, --release, --counts, --model and --protocol; got "
            f"{len(subjects)} of them. Say what the report is about."
        )
    subject = subjects[0]
    belong = {subject, *_SUBJECTS[subject]}
    stray = [name for name, value in given.items() if value is not None and name not in belong]
    if stray:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in stray)
        raise click.UsageError(
            f"Expected only options that belong to --{subject}; got {options}. Leave them out."
        )
    if subject == "plan":
        return html.report_plan(read_plan(given["plan"]), command=command)
    if subject == "release":
        return html.report_release(_text(given["release"]), command=command)
    if subject == "protocol":
        return report_protocol(command, given)
    sample = {name: given[name] for name in _SAMPLE}
    if subject == "counts":
        counts = read_counts(given["counts"], None, None, None)
        mechanism = read_mechanism(sum(counts.values()), **sample)
        return html.report_counts(
            mechanism,
            counts,
            epsilon=given["epsilon"],
            threshold=given["threshold"],
            command=command,
        )
    _need(given, "n", "epsilon")
    mechanism = read_mechanism(given["n"], **sample)
    with progress_bar("report") as progress:
        return html.report_model(
            mechanism,
            read_model(given["model"]),
            epsilon=given["epsilon"],
            command=command,
            progress=progress,
        )


def _need(given: dict[str, Any], *names: str) -> None:
    missing = [f"--{name}" for name in names if given[name] is None]
    if missing:
        raise click.UsageError(f"Expected {', '.join(missing)} as well; got none. Give it.")


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(
            f"Expected what smoothdp release --json prints in {path}; got {reason(error)}. Give "
            "that file."
        ) from None
