"""``smoothdp measure --model``: smoothed DP over a set of distributions."""

from __future__ import annotations

from pathlib import Path

import click

import smoothdp as sd
from smoothdp.text import number_up


def read_model(path: Path) -> sd.DataModel:
    """Return the model of a CSV file: a header, then a label and counts in every row."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(
            f"Expected a readable CSV file {path}; got {type(error).__name__}. Check the path."
        ) from None
    lines = [line.split(",") for line in text.splitlines() if line]
    if len(lines) < 2 or len(lines[0]) < 3:
        raise click.UsageError(
            f"Expected a header and rows of a label and at least two counts in {path}; got "
            f"{len(lines)} lines. Check the file."
        )
    rows = []
    for place, fields in enumerate(lines[1:], start=1):
        try:
            counts = [int(text) for text in fields[1:]]
        except ValueError:
            counts = []
        if len(counts) != len(lines[0]) - 1 or min(counts) < 0:
            raise click.UsageError(
                f"Expected {len(lines[0]) - 1} counts after the label in row {place} of {path}; "
                f"got {','.join(fields)!r}. Mend that row."
            )
        rows.append(counts)
    return sd.DataModel.from_counts(rows)


def describe(
    result: sd.SmoothedDelta, mechanism: sd.SamplingHistogram | sd.BernoulliHistogram
) -> str:
    """Return a smoothed delta with ordinary DP beside it, and the sentence."""
    claim = result.guarantee
    return (
        f"mechanism       {mechanism.describe()}\n"
        f"model           {claim.model.n_vertices} distributions over "
        f"{claim.model.n_atoms} values\n"
        f"epsilon         {claim.epsilon:.6g}\n"
        f"smoothed delta  {number_up(result.delta, 8)}  (rounded up; lower bound "
        f"{result.delta - result.lower:.1e} below; {result.method})\n"
        f"ordinary DP     {number_up(mechanism.inclusion(), 8)}\n\n{claim.sentence()}"
    )


def to_dict(
    result: sd.SmoothedDelta, mechanism: sd.SamplingHistogram | sd.BernoulliHistogram
) -> dict[str, object]:
    """Return a smoothed delta for JSON."""
    return {
        "mechanism": mechanism.describe(),
        "n_records": mechanism.n_records,
        "epsilon": result.guarantee.epsilon,
        "smoothed_delta": result.delta,
        "smoothed_delta_lower": result.lower,
        "log_smoothed_delta": result.log_delta,
        "vertex_counts": result.vertex_counts,
        "method": result.method,
        "worst_case_delta": mechanism.worst_case_delta(epsilon=0),
        "guarantee": result.guarantee.sentence(),
        "version": sd.__version__,
    }
