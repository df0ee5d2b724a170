"""``smoothdp measure --model``: what is asked of a model, and how many records must be lost."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

import smoothdp as sd
from smoothdp.cli.measure_input import read_mechanism
from smoothdp.cli.measure_model import describe_exact, describe_interval
from smoothdp.cli.model_file import read_model
from smoothdp.cli.smoothed_words import Mechanism, smoothed_sentence, smoothed_text
from smoothdp.smoothed.two_values.two_values import LARGEST_SHARPENED
from smoothdp.text import rate_text


def describe_model(
    model: Path,
    n_records: int | None,
    epsilon: str | None,
    *,
    target_delta: str | None,
    databases: int | None,
    sharpen: bool,
    sampling: tuple[str | None, int | None, str | None, str | None],
) -> tuple[str, dict[str, object]]:
    """Return what the options ask of a model file, in words and for JSON.

    ``sampling`` is (rate, number of draws, kind, probability to keep), as on the command line.
    """
    needed = (("--n", n_records), ("--epsilon", epsilon))
    if n_records is None or epsilon is None:
        lacking = " and ".join(name for name, value in needed if value is None)
        raise click.UsageError(
            f"Expected --n and --epsilon with --model; got no {lacking}. Give both."
        )
    distributions = read_model(model)
    if target_delta is not None:
        return describe_design(distributions, n_records, epsilon, target_delta, sampling[2])
    chosen = read_mechanism(n_records, *sampling)
    if sharpen and not _can_sharpen(chosen, distributions):
        raise click.UsageError(
            f"Expected --sharpen with two values, a sample of a fixed size and at most "
            f"{LARGEST_SHARPENED} records; got another question. Leave it out."
        )
    if databases is not None:
        return describe_interval(chosen, distributions, epsilon, databases)
    return describe_exact(chosen, distributions, epsilon, sharpen=sharpen)


def _can_sharpen(mechanism: Mechanism, model: sd.DataModel) -> bool:
    return (
        isinstance(mechanism, sd.SamplingHistogram)
        and model.n_atoms == 2
        and mechanism.n_records <= LARGEST_SHARPENED
    )


def describe_design(
    model: sd.DataModel, n_records: int, epsilon: str, delta: str, sampling: str | None
) -> tuple[str, dict[str, object]]:
    """Return the largest sample that meets a target, in words and for JSON."""
    kind: Literal["with_replacement", "without_replacement"] = (
        "with_replacement" if sampling == "with_replacement" else "without_replacement"
    )
    design = sd.largest_sample(
        model, n_records=n_records, epsilon=epsilon, delta=delta, sampling=kind
    )
    found = design.smoothed
    mechanism = sd.SamplingHistogram(n_records, n_draws=design.n_draws, sampling=kind)
    sentence = smoothed_sentence(found, mechanism)
    largest = "one more is proved too many" if design.is_largest else "more may do"
    text = (
        f"target          smoothed delta at most {delta} at epsilon {epsilon}\n"
        f"records         {n_records}\n"
        f"largest sample  {design.n_draws} records drawn, a rate of "
        f"{rate_text(design.n_draws, n_records)} ({largest})\n"
        + (f"fewest lost     {design.n_lost}\n" if sampling != "with_replacement" else "")
        + f"smoothed delta  {smoothed_text(found, mechanism)}  (rounded up; {found.method})\n\n"
        f"{sentence}"
    )
    return text, {
        "n_records": n_records,
        "epsilon": found.guarantee.epsilon,
        "target_delta": delta,
        "n_draws": design.n_draws,
        "n_lost": design.n_lost,
        "is_largest": design.is_largest,
        "smoothed_delta": found.delta,
        "log_smoothed_delta": found.log_delta,
        "method": found.method,
        "guarantee": sentence,
        "version": sd.__version__,
    }
