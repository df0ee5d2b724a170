"""``smoothdp measure --model``: what is asked of a model, and how many records must be lost."""

from __future__ import annotations

from pathlib import Path

import click

import smoothdp as sd
from smoothdp.cli.measure_input import read_mechanism
from smoothdp.cli.measure_model import describe_exact, describe_interval
from smoothdp.cli.model_file import read_model
from smoothdp.text import rate_text, upper_text


def describe_model(
    model: Path,
    n_records: int | None,
    epsilon: str | None,
    *,
    strays: tuple[object, ...],
    target_delta: str | None,
    databases: int | None,
    sharpen: bool,
    sampling: tuple[str | None, int | None, str, str | None],
) -> tuple[str, dict[str, object]]:
    """Return what the options ask of a model file, in words and for JSON.

    ``sampling`` is (rate, number of draws, kind, probability to keep), as on the command line;
    ``strays`` are options that go with counts alone.
    """
    if n_records is None or epsilon is None or any(stray is not None for stray in strays):
        raise click.UsageError(
            "Expected --n and --epsilon with --model, and no counts; got other options. "
            "Give the number of records and epsilon."
        )
    distributions = read_model(model)
    if sharpen and databases is not None:
        raise click.UsageError(
            "Expected one of --sharpen and --databases; got both. An estimate is not sharpened."
        )
    if target_delta is not None:
        if sharpen or databases is not None or any(sampling[place] for place in (0, 1, 3)):
            raise click.UsageError(
                "Expected --target-delta without --sampling-rate, --n-draws, --keep-probability, "
                "--sharpen and --databases; got one of them. The design finds the rate."
            )
        return describe_design(distributions, n_records, epsilon, target_delta, sampling[2])
    chosen = read_mechanism(n_records, *sampling)
    if databases is not None:
        return describe_interval(chosen, distributions, epsilon, databases)
    return describe_exact(chosen, distributions, epsilon, sharpen=sharpen)


def describe_design(
    model: sd.DataModel, n_records: int, epsilon: str, delta: str, sampling: str
) -> tuple[str, dict[str, object]]:
    """Return the largest sample that meets a target, in words and for JSON."""
    design = sd.largest_sample(
        model,
        n_records=n_records,
        epsilon=epsilon,
        delta=delta,
        sampling="with_replacement" if sampling == "with_replacement" else "without_replacement",
    )
    found = design.smoothed
    largest = "one more is proved too many" if design.is_largest else "more may do"
    text = (
        f"target          smoothed delta at most {delta} at epsilon {epsilon}\n"
        f"records         {n_records}\n"
        f"largest sample  {design.n_draws} records drawn, a rate of "
        f"{rate_text(design.n_draws, n_records)} ({largest})\n"
        + (f"fewest lost     {design.n_lost}\n" if sampling != "with_replacement" else "")
        + f"smoothed delta  {upper_text(found.log_delta, 8)}  (rounded up; {found.method})\n\n"
        f"{found.guarantee.sentence()}"
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
        "guarantee": found.guarantee.sentence(),
        "version": sd.__version__,
    }
