"""``smoothdp measure --model``: smoothed DP over a set of distributions."""

from __future__ import annotations

import math
from fractions import Fraction

import smoothdp as sd
from smoothdp.cli.progress import progress_bar
from smoothdp.cli.smoothed_words import Mechanism, smoothed_sentence, smoothed_text
from smoothdp.text import number_down, number_up, percent_text


def describe_exact(
    mechanism: Mechanism, model: sd.DataModel, epsilon: str, *, sharpen: bool
) -> tuple[str, dict[str, object]]:
    """Return smoothed delta with ordinary DP beside it, in words and for JSON."""
    result = sd.smoothed_delta(mechanism, model, epsilon=epsilon, sharpen=sharpen)
    claim = result.guarantee
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
        f"epsilon         {claim.epsilon:.6g}\n"
        f"smoothed delta  {smoothed_text(result, mechanism)}  (rounded up; {truth}; "
        f"{result.method})\n"
        f"ordinary DP     {number_up(mechanism.inclusion(), 8)}\n\n{sentence}"
    )
    return text, {
        **_setting(mechanism, claim.epsilon),
        "smoothed_delta": result.delta,
        "smoothed_delta_lower": result.lower,
        "log_smoothed_delta": result.log_delta,
        "vertex_counts": result.vertex_counts,
        "method": result.method,
        "guarantee": sentence,
    }


def describe_interval(
    mechanism: Mechanism, model: sd.DataModel, epsilon: str, n_databases: int
) -> tuple[str, dict[str, object]]:
    """Return an estimate of smoothed delta by sampled databases, in words and for JSON."""
    with progress_bar("databases") as progress:
        result = sd.smoothed_delta_interval(
            mechanism, model, epsilon=epsilon, n_databases=n_databases, progress=progress
        )
    most = mechanism.inclusion()
    estimate, upper = (min(most, Fraction(value)) for value in (result.estimate, result.upper))
    text = (
        f"mechanism       {mechanism.describe()}\n"
        f"smoothed delta  about {number_up(estimate)}, between {number_down(result.lower)} "
        f"and {number_up(upper)} with {percent_text(result.confidence)} confidence\n"
        f"databases       {result.n_databases} for each of {result.n_compositions} "
        f"compositions, each all from one distribution ({result.method})\n"
        f"ordinary DP     {number_up(mechanism.inclusion(), 8)}\n\n"
        "An estimate, not a guarantee: mixtures of the distributions were not looked at."
    )
    return text, {
        **_setting(mechanism, float(sd.PureDP(epsilon).epsilon)),
        "estimate": result.estimate,
        "interval": [result.lower, result.upper],
        "confidence": float(result.confidence),
        "n_databases": result.n_databases,
        "vertex_counts": result.vertex_counts,
        "method": result.method,
    }


def _setting(mechanism: Mechanism, epsilon: float) -> dict[str, object]:
    return {
        "mechanism": mechanism.describe(),
        "n_records": mechanism.n_records,
        "epsilon": epsilon,
        "worst_case_delta": mechanism.worst_case_delta(epsilon=0),
        "version": sd.__version__,
    }
