"""One step of training in words: lines of text, one sentence, and JSON."""

from __future__ import annotations

import math
from fractions import Fraction

from smoothdp.claims.guarantees.guarantee import factor_text
from smoothdp.design.step.facts import StepFacts
from smoothdp.exact.balls.compare import float_up
from smoothdp.exact.logspace.bounds import exp_upper
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.text import lesser, log10_up, number_down, number_up, ratio_up, table, upper_text

STEP_CAUTIONS = (
    "The batch must be drawn at random and stay unseen, and so must every average but the one that "
    "is published: other steps add up.",
    "The model is an assumption: it is fixed without the private data, and records are "
    "independent. Gradients are quantised to its levels before they are averaged.",
    "That delta is below 1/n is no pass mark: choose a target for what is at stake.",
)


def ordinary_words(step: StepFacts) -> str:
    """Return T/n, rounded up: delta of ordinary DP."""
    return ratio_up(Fraction(step.batch, step.n_records))


def delta_words(step: StepFacts) -> str:
    """Return the upper end, rounded up, never above ordinary DP beside it."""
    return lesser(upper_text(step.log_delta), ordinary_words(step))


def lower_words(step: StepFacts) -> str:
    """Return the lower end, rounded down to a power of ten: it is far below."""
    return f"1e{math.floor(step.log_lower / math.log(10) * (1 + 1e-15) - 1e-9)}"


def crossover_words(step: StepFacts) -> str:
    """Return from about how many records on the bound leaves T/n."""
    if math.isinf(step.crossover):
        return "never: some level may have no record"
    return f"about {step.crossover:.2g} records"


def step_sentence(step: StepFacts) -> str:
    """Return the result in plain English."""
    where = (
        "The bound is still T/n, ordinary DP"
        if step.decided_by == "T/n"
        else "The bound is below T/n, ordinary DP, by now"
    )
    return (
        f"The average of {step.batch} of {step.n_records} quantised gradients, drawn at random "
        "without replacement: on average over data sets of the model, in the worst mixture of its "
        "distributions, replacing any one record changes the probability of any set of averages "
        f"by at most a factor {factor_text(step.epsilon)}, plus {delta_words(step)}. For the worst "
        f"mixture that share is at least {lower_words(step)}; what lies between is not known. "
        f"{where}; it leaves T/n with {crossover_words(step)}.\n{' '.join(STEP_CAUTIONS)}"
    )


def step_text(step: StepFacts) -> str:
    """Return a table and the sentence."""
    rows = [
        ("step", f"average of {step.batch} of {step.n_records} records, without replacement"),
        ("model", f"{step.model.n_vertices} distributions over {step.model.n_atoms} levels"),
        ("epsilon", number_up(float_up(step.epsilon), 6)),
        ("smoothed delta", f"at most {delta_words(step)}  (proved, rounded up; log10 "
         f"{log10_up(step.log_delta)})"),
        ("", f"at least {lower_words(step)}  (in the worst mixture)"),
        ("ordinary DP", f"{ordinary_words(step)}  (T/n, its delta at every finite epsilon)"),
        ("rarest level", f"probability at least {number_down(step.rarest)}"),
        ("bound leaves T/n", crossover_words(step)),
        ("1/n", f"{1 / step.n_records:.4g}  (no pass mark)"),
    ]  # fmt: skip
    return f"{table(rows)}\n\n{step_sentence(step)}"


def step_dict(step: StepFacts) -> dict[str, object]:
    """Return everything for JSON; logarithms are natural."""
    ordinary = float(number_up(Fraction(step.batch, step.n_records), 17))
    return {
        "n_records": step.n_records,
        "batch": step.batch,
        "epsilon": float(step.epsilon),
        "epsilon_exact": exact_text(step.epsilon),
        "n_levels": step.model.n_atoms,
        "n_distributions": step.model.n_vertices,
        "smoothed_delta": min(exp_upper(step.log_delta), ordinary),
        "log_smoothed_delta": step.log_delta if math.isfinite(step.log_delta) else None,
        "log_smoothed_delta_lower": step.log_lower,
        "ordinary_delta": ordinary,
        "rarest_level": float(step.rarest),
        "crossover": step.crossover if math.isfinite(step.crossover) else None,
        "decided_by": step.decided_by,
        "one_over_n": 1 / step.n_records,
        "cautions": list(STEP_CAUTIONS),
        "sentence": step_sentence(step),
    }
