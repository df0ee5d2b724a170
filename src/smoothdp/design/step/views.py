"""One step of training as a picture over n, and as a page of HTML that stands alone."""

from __future__ import annotations

import math
from typing import Any

from smoothdp.design.step.bounds import step_bounds
from smoothdp.design.step.facts import StepFacts
from smoothdp.design.step.words import (
    STEP_CAUTIONS,
    crossover_words,
    delta_words,
    lower_words,
    ordinary_words,
    step_sentence,
)
from smoothdp.exact.balls.compare import float_up
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.mechanisms.sampling.counts import LARGEST_COUNT
from smoothdp.plots.bound_curves import plot_bound_curves
from smoothdp.report.html.page import HtmlReport, Section
from smoothdp.report.html.shared_sections import citation_section, reproduce_section
from smoothdp.sources import Source
from smoothdp.text import number_up

_LN10 = math.log(10)
_POINTS = 40
_LEAST = -120.0


def draw_step(step: StepFacts) -> Any:
    """Return a picture of both ends against n, the batch as it is, across the crossover."""
    middle = step.crossover if math.isfinite(step.crossover) else 100.0 * step.n_records
    first = max(2, step.batch + 1, int(min(step.n_records, middle) / 100))
    last = min(LARGEST_COUNT - 1, int(max(step.n_records, 30 * middle)))
    growth = (math.log(last) - math.log(first)) / _POINTS
    sizes = sorted({round(first * math.exp(growth * k)) for k in range(_POINTS)} | {last})
    found = [
        step_bounds(step.model.vertices, n_records=n, batch=step.batch, epsilon=step.epsilon)
        for n in sizes
    ]
    xs = [float(n) for n in sizes]
    return plot_bound_curves(
        {
            "at most (proved)": (xs, [one.log_upper / _LN10 for one in found]),
            "at least (proved)": (xs, [one.log_lower / _LN10 for one in found]),
            "ordinary DP, T/n": (xs, [one.log_ordinary / _LN10 for one in found]),
        },
        x="records n",
        y="smoothed delta of one step",
        title=f"average of {step.batch} of n quantised gradients, "
        f"epsilon {number_up(float_up(step.epsilon))}",
        mark=(step.crossover, "crossover, about") if math.isfinite(step.crossover) else None,
        least=_LEAST,
        log_x=True,
    )


def step_page(step: StepFacts, *, command: str = "") -> HtmlReport:
    """Return the page about one step."""
    asked = Section("What was asked").table(
        [
            ("records", str(step.n_records)),
            ("batch", str(step.batch)),
            ("epsilon", number_up(float_up(step.epsilon), 6)),
            ("levels", str(step.model.n_atoms)),
            ("distributions of the model", str(step.model.n_vertices)),
        ],
        caption="Fixed without the private data.",
    )
    answer = Section("The answer").text(step_sentence(step).split("\n")[0], kind="promise")
    for caution in STEP_CAUTIONS:
        answer.text(caution, kind="caution")
    answer.table(
        [
            ("smoothed delta at most", delta_words(step)),
            ("in the worst mixture at least", lower_words(step)),
            ("ordinary DP, at every finite epsilon", ordinary_words(step)),
            ("the bound leaves T/n with", crossover_words(step)),
        ],
        caption="Upper ends are rounded up, the lower one down.",
    )
    picture = Section("Picture").picture(
        draw_step(step),
        alt="Both ends of smoothed delta against the number of records; at "
        f"{step.n_records} at most {delta_words(step)}.",
        caption="The upper end is T/n until every level is expected often enough; from there it "
        "falls exponentially in n. The truth lies between the ends.",
        name="step",
    )
    python = (
        "import smoothdp as sd\n"
        f"sd.sgd_step_delta(model, n_records={step.n_records}, batch={step.batch}, "
        f'epsilon="{exact_text(step.epsilon)}")'
    )
    return HtmlReport(
        title="How private is one step of training?",
        lead=f"The average of {step.batch} of {step.n_records} quantised gradients, no noise.",
        sections=(
            asked,
            answer,
            picture,
            reproduce_section(command or "smoothdp design sgd", python),
            citation_section([Source("liu-wang-xia", "Algorithm 3 and Section 4.2")]),
        ),
        summary={"log_smoothed_delta": step.log_delta, "n_records": step.n_records},
    )
