"""``smoothdp measure --model --databases``: an estimate by sampled databases, and its setting."""

from __future__ import annotations

from fractions import Fraction

import smoothdp as sd
from smoothdp.cli.options.command_line import progress_bar
from smoothdp.cli.options.smoothed_words import Mechanism
from smoothdp.text import SAMPLE_UNSEEN, number_down, number_up, percent_text


def describe_interval(
    mechanism: Mechanism, model: sd.DataModel, epsilon: str, n_databases: int
) -> tuple[str, dict[str, object]]:
    """Return an estimate of smoothed delta by sampled databases, in words and for JSON."""
    with progress_bar("databases") as progress:
        result = sd.smoothed.smoothed_delta_interval(
            mechanism, model, epsilon=epsilon, n_databases=n_databases, progress=progress
        )
    most, ordinary = mechanism.inclusion(), mechanism.worst_case_delta(epsilon=0)
    estimate, upper = (min(most, Fraction(value)) for value in (result.estimate, result.upper))
    text = (
        f"mechanism       {mechanism.describe()}\n"
        f"smoothed delta  about {number_up(estimate)}, between {number_down(result.lower)} "
        f"and {number_up(upper)} with {percent_text(result.confidence)} confidence\n"
        f"databases       {result.n_databases} for each of {result.n_compositions} "
        f"compositions, each all from one distribution ({result.method})\n"
        f"ordinary DP     {number_up(mechanism.inclusion(), 8)}\n\n"
        "An estimate, not a guarantee: mixtures of the distributions were not looked at.\n"
        f"{SAMPLE_UNSEEN}"
    )
    return text, {
        **setting(mechanism, float(sd.PureDP(epsilon).epsilon)),
        "unseen": SAMPLE_UNSEEN,
        "estimate": min(result.estimate, ordinary),
        "interval": [min(result.lower, ordinary), min(result.upper, ordinary)],
        "confidence": float(result.confidence),
        "n_databases": result.n_databases,
        "vertex_counts": result.vertex_counts,
        "method": result.method,
    }


def setting(mechanism: Mechanism, epsilon: float) -> dict[str, object]:
    """Return what every document about a model says of the question."""
    return {
        "mechanism": mechanism.describe(),
        "n_records": mechanism.n_records,
        "epsilon": epsilon,
        "worst_case_delta": mechanism.worst_case_delta(epsilon=0),
        "version": sd.__version__,
    }
