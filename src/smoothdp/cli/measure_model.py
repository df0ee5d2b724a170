"""``smoothdp measure --model``: smoothed DP over a set of distributions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import click

import smoothdp as sd
from smoothdp.cli.options.counts import SampleOptions, read_mechanism
from smoothdp.cli.options.estimate import describe_interval, setting
from smoothdp.cli.options.model_file import read_model
from smoothdp.cli.options.smoothed_words import Mechanism, smoothed_sentence, smoothed_text
from smoothdp.smoothed import LARGEST_SHARPENED
from smoothdp.text import SAMPLE_UNSEEN, number_up, rate_text


@dataclass(frozen=True)
class ModelQuestion:
    """What is asked of the file of a model, as it stands on the command line."""

    model: Path
    n_records: int | None
    epsilon: str | None
    target_delta: str | None
    databases: int | None
    sharpen: bool
    tolerance: float | None
    at_delta: str | None
    sample: SampleOptions


def describe_model(asked: ModelQuestion) -> tuple[str, dict[str, object]]:
    """Return what the options ask of a model file, in words and for JSON."""
    n_records, epsilon, databases = asked.n_records, asked.epsilon, asked.databases
    needed = (("--n", n_records), ("--epsilon", epsilon))
    if n_records is None or epsilon is None:
        lacking = " and ".join(name for name, value in needed if value is None)
        raise click.UsageError(
            f"Expected --n and --epsilon with --model; got no {lacking}. Give both."
        )
    distributions = read_model(asked.model)
    if asked.target_delta is not None:
        kind = asked.sample.sampling
        return describe_design(distributions, n_records, epsilon, asked.target_delta, kind)
    chosen = read_mechanism(n_records, asked.sample)
    if asked.sharpen and not _can_sharpen(chosen, distributions):
        raise click.UsageError(
            f"Expected --sharpen with two values, a sample of a fixed size and at most "
            f"{LARGEST_SHARPENED} records; got another question. Leave --sharpen out."
        )
    if databases is not None:
        return describe_interval(chosen, distributions, epsilon, databases)
    return describe_exact(
        chosen,
        distributions,
        epsilon,
        sharpen=asked.sharpen,
        tolerance=asked.tolerance,
        deltas=[part.strip() for part in (asked.at_delta or "").split(",") if part.strip()],
    )


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
    design = sd.smoothed.largest_sample(
        model, n_records=n_records, epsilon=epsilon, delta=delta, sampling=kind
    )
    smoothed = design.smoothed
    mechanism = sd.SamplingHistogram(n_records, n_draws=design.n_draws, sampling=kind)
    sentence, shown = smoothed_sentence(smoothed, mechanism), smoothed_text(smoothed, mechanism)
    text = (
        f"target          smoothed delta at most {delta} at epsilon {epsilon}\n"
        f"records         {n_records}\n"
        f"largest sample  {design.n_draws} records drawn, a rate of "
        f"{rate_text(design.n_draws, n_records)} ({design.largest_text})\n"
        + (f"fewest lost     {design.n_lost}\n" if sampling != "with_replacement" else "")
        + f"smoothed delta  {shown}  (rounded up; {smoothed.method})\n"
        f"ordinary DP     {number_up(mechanism.inclusion(), 8)}\n\n{sentence}\n{SAMPLE_UNSEEN}"
    )
    return text, {
        "n_records": n_records,
        "worst_case_delta": mechanism.worst_case_delta(epsilon=0),
        "epsilon": smoothed.guarantee.epsilon,
        "target_delta": delta,
        "n_draws": design.n_draws,
        "n_lost": design.n_lost,
        "is_largest": design.is_largest,
        "undecided": [*design.undecided[:1], *design.undecided[-1:]],
        "smoothed_delta": smoothed.delta,
        "log_smoothed_delta": smoothed.log_delta,
        "method": smoothed.method,
        "guarantee": sentence,
        "unseen": SAMPLE_UNSEEN,
        "version": sd.__version__,
    }


def describe_exact(
    mechanism: Mechanism,
    model: sd.DataModel,
    epsilon: str,
    *,
    sharpen: bool,
    tolerance: float | None,
    deltas: Sequence[str] = (),
) -> tuple[str, dict[str, object]]:
    """Return smoothed delta with ordinary DP beside it, in words and for JSON.

    Args:
        deltas: for each also the epsilon that belongs to it.
    """
    closer = {} if tolerance is None else {"tolerance": tolerance}
    result = sd.smoothed_delta(mechanism, model, epsilon=epsilon, sharpen=sharpen, **closer)
    claim = result.guarantee
    at_deltas = {delta: float(number_up(result.epsilon(delta), 6)) for delta in deltas}
    gap = math.expm1(min(700.0, result.log_delta - result.log_lower))
    if gap < 0.01:
        truth = f"within {gap:.1e} of it"
    elif result.log_lower == -math.inf:
        truth = "no lower bound is known"
    else:
        truth = f"the truth is at least 1e{math.floor(result.log_lower / math.log(10))}"
    sentence = smoothed_sentence(result, mechanism)
    text = (
        f"mechanism       {mechanism.describe()}\n"
        f"model           {claim.model.n_vertices} distributions over "
        f"{claim.model.n_atoms} values\n"
        f"epsilon         {number_up(claim.epsilon, 6)}\n"
        f"smoothed delta  {smoothed_text(result, mechanism)}  (rounded up; {truth}; "
        f"{result.method})\n"
        + ("" if tolerance is None else f"tolerance       {tolerance:.6g} in ln, for brackets\n")
        + f"ordinary DP     {number_up(mechanism.inclusion(), 8)}\n"
        + "".join(
            f"epsilon {value:<7.6g} has smoothed delta at most {delta} (proved)\n"
            for delta, value in at_deltas.items()
        )
        + f"\n{sentence}\n{SAMPLE_UNSEEN}"
    )
    return text, {
        "unseen": SAMPLE_UNSEEN,
        **setting(mechanism, claim.epsilon),
        "smoothed_delta": result.delta,
        "smoothed_delta_lower": result.lower,
        "log_smoothed_delta": result.log_delta,
        "vertex_counts": result.vertex_counts,
        "method": result.method,
        "epsilon_at_delta": at_deltas,
        "guarantee": sentence,
    }
