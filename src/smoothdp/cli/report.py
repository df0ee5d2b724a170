"""``smoothdp report``: one page of HTML that stands alone."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import click

from smoothdp.cli.options.command_line import gathered, progress_bar, written_command
from smoothdp.cli.options.counts import SAMPLE, SampleOptions, read_counts, read_mechanism
from smoothdp.cli.options.files import read_plan
from smoothdp.cli.options.guarantees import read_approximate
from smoothdp.cli.options.model_file import read_model
from smoothdp.data import reason
from smoothdp.report import (
    PROTOCOLS,
    HtmlReport,
    report_counts,
    report_model,
    report_plan,
    report_protocol,
    report_release,
)

FILE = click.Path(path_type=Path)
_BINNED = tuple(name for name in PROTOCOLS if name.endswith("histogram"))
_SAMPLING = click.Choice(["without_replacement", "with_replacement"])
_SUBJECTS: dict[str, tuple[str, ...]] = {
    "plan": (),
    "release": (),
    "counts": (*SAMPLE, "epsilon", "threshold"),
    "model": (*SAMPLE, "n", "epsilon"),
    "protocol": ("n", "epsilon", "delta", "bins", "n_bits", "honest_share"),
}


@dataclass(frozen=True)
class ReportOptions:
    """What a report is about, as it stands on the command line; None where it is left out."""

    plan: Path | None
    release: Path | None
    counts: str | None
    model: Path | None
    protocol: str | None
    n: int | None
    sampling_rate: str | None
    n_draws: int | None
    sampling: str | None
    keep_probability: str | None
    epsilon: str | None
    threshold: str | None
    delta: str | None
    bins: int | None
    n_bits: int | None
    honest_share: str | None

    @property
    def sample(self) -> SampleOptions:
        """How the sample is drawn."""
        return SampleOptions(self.sampling_rate, self.n_draws, self.sampling, self.keep_probability)


@click.command()
@click.option("--plan", type=FILE, help="About a plan: a file of smoothdp plan.")
@click.option("--release", type=FILE, help="About a release: what smoothdp release --json prints.")
@click.option("--counts", help="About PUBLIC counts, e.g. 81283501,74223975.")
@click.option("--model", type=FILE, help="About a public model: a CSV of label and counts.")
@click.option("--protocol", type=click.Choice(list(PROTOCOLS)), help="About a protocol.")
@click.option("--n", type=int, help="Records, with --model; users, with --protocol.")
@click.option("--sampling-rate", help="Share of records drawn, with --counts and --model.")
@click.option("--n-draws", type=int, help="Number of records drawn, instead of a rate.")
@click.option("--sampling", type=_SAMPLING, help="Default: without_replacement.")
@click.option("--keep-probability", help="Instead: each record is kept independently.")
@click.option("--epsilon", help='Epsilon, e.g. 0.5 or "ln(51/49)".')
@click.option("--threshold", help="With --counts: the adversary's accuracy, instead of epsilon.")
@click.option("--delta", help="Delta, with --protocol.")
@click.option("--bins", type=int, help="With a histogram: the size of the domain.")
@click.option("--n-bits", type=int, help="With --protocol real-sum: messages per user.")
@click.option("--honest-share", help="With --protocol: share of honest users (default: 9/10).")
@click.option("--out", type=FILE, default="report.html", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print the main figures as JSON on stdout.")
@gathered(ReportOptions, "asked")
@click.pass_context
def report(context: click.Context, /, out: Path, as_json: bool, asked: ReportOptions) -> None:
    """Write one page of HTML that opens offline: inputs, guarantee, curves, comparison, citation.

    Choose one of --plan, --release, --counts, --model and --protocol. It reads no private data:
    --counts are public, hypothetical or modelled ones.

    \b
    Examples:
      smoothdp report --plan plan.json --out plan.html
      smoothdp report --release release.json
      smoothdp report --counts 81283501,74223975 --sampling-rate 0.998 --threshold 0.51
      smoothdp report --model units.csv --n 1000000 --sampling-rate 0.998 --epsilon 7
      smoothdp report --protocol boolean-sum --n 10000 --epsilon 1 --delta 1e-6
    """
    made = make_report(context, asked)
    made.write(out)
    click.echo(json.dumps({"out": str(out), **made.summary}, indent=2) if as_json else str(out))


def make_report(context: click.Context, asked: ReportOptions) -> HtmlReport:
    """Return the report that the options ask for; those of another subject are refused."""
    command = written_command(context)
    # In the order in which they stand on the command line.
    standing = [name for name in context.params if getattr(asked, name, None) is not None]
    subjects = [name for name in _SUBJECTS if name in standing]
    if len(subjects) != 1:
        raise click.UsageError(
            "Expected one of --plan, --release, --counts, --model and --protocol; got "
            f"{len(subjects)} of them. Say what the report is about."
        )
    subject = subjects[0]
    belong = {subject, *_SUBJECTS[subject]}
    stray = [name for name in standing if name not in belong]
    if stray:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in stray)
        raise click.UsageError(
            f"Expected only options that belong to --{subject}; got {options}. Leave them out."
        )
    if asked.plan is not None:
        return report_plan(read_plan(asked.plan), command=command)
    if asked.release is not None:
        return report_release(_text(asked.release), command=command)
    if asked.protocol is not None:
        return _about_protocol(command, asked)
    if asked.counts is not None:
        counts = read_counts(asked.counts, None, None, None)
        mechanism = read_mechanism(sum(counts.values()), asked.sample)
        return report_counts(
            mechanism,
            counts,
            epsilon=asked.epsilon,
            threshold=asked.threshold,
            command=command,
        )
    if asked.model is None or asked.n is None or asked.epsilon is None:
        lacking = [f"--{name}" for name in ("n", "epsilon") if name not in standing]
        needed = ", ".join(lacking)
        raise click.UsageError(f"Expected {needed} as well; got none. Add {needed}.")
    mechanism = read_mechanism(asked.n, asked.sample)
    with progress_bar("report") as progress:
        return report_model(
            mechanism,
            read_model(asked.model),
            epsilon=asked.epsilon,
            command=command,
            progress=progress,
        )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(
            f"Expected what smoothdp release --json prints in {path}; got {reason(error)}. Give "
            "that file."
        ) from None


def _about_protocol(command: str, asked: ReportOptions) -> HtmlReport:
    assert asked.protocol is not None
    if asked.n is None:
        raise click.UsageError("Expected --n as well; got none. Give the number of users.")
    guarantee = read_approximate(asked.epsilon, asked.delta)
    belongs = (("--bins", asked.bins, _BINNED), ("--n-bits", asked.n_bits, ("real-sum",)))
    for option, value, protocols in belongs:
        if value is not None and asked.protocol not in protocols:
            raise click.UsageError(
                f"Expected {option} with --protocol {' or '.join(protocols)} alone; got it with "
                f"{asked.protocol}. Leave {option} out."
            )
    if asked.protocol in _BINNED and asked.bins is None:
        raise click.UsageError(
            f"Expected --bins with --protocol {asked.protocol}; got none. Give the size of the "
            "domain, such as --bins 100."
        )
    return report_protocol(
        asked.protocol,
        asked.n,
        guarantee=guarantee,
        n_bins=asked.bins,
        n_bits=asked.n_bits,
        honest_share="9/10" if asked.honest_share is None else asked.honest_share,
        command=command,
    )
