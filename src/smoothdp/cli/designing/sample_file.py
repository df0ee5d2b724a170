"""``smoothdp measure FILE --population N``: FILE is the sample, and a model has to answer."""

from __future__ import annotations

from pathlib import Path

import click

import smoothdp as sd
from smoothdp.cli.measure_model import describe_exact
from smoothdp.cli.options.model_file import read_model


def describe_sample(
    model: Path, population: int, n_draws: int, epsilon: str | None
) -> tuple[str, dict[str, object]]:
    """Return what a model says where FILE is the sample: of FILE only its size is used.

    The counts of FILE scaled up would be no guarantee: they are private, and a guess.
    """
    if epsilon is None:
        raise click.UsageError("Expected --epsilon with --population; got none. Give --epsilon.")
    if not n_draws <= population:
        raise click.UsageError(
            f"Expected --population of at least the rows of FILE; got {population} and more rows. "
            "Give the number of records that the sample was drawn from."
        )
    mechanism = sd.SamplingHistogram(population, n_draws=n_draws)
    text, document = describe_exact(
        mechanism, read_model(model), epsilon, sharpen=False, tolerance=None
    )
    used = (
        f"FILE is the sample: of it only its number of rows, {n_draws}, was used. Its counts "
        "scaled up are no population: a delta(x) of them would be a guess, made from private data, "
        "and no guarantee."
    )
    return f"{text}\n{used}", {**document, "file": used}


def population_note(n_records: int) -> str:
    """Return what a FILE was taken for: it does not say so itself."""
    return (
        f"FILE was taken as the population, all {n_records} records that the sample is drawn from. "
        "Where FILE is the sample itself, only a model answers: --population N --model PUBLIC."
    )
