"""The figures in the report of a plan: errors to expect, and its noise beside theorem and bound."""

from __future__ import annotations

import math

from smoothdp.errors import SmoothdpError
from smoothdp.noise import Calibration, NoiseDistribution
from smoothdp.planning import Plan
from smoothdp.planning.views.plan_words import (
    UNKNOWN,
    error_rows,
    rivals_words,
    verdict_words,
)
from smoothdp.report.html.page import Section
from smoothdp.report.paper_deviations import least_deviation
from smoothdp.text import percent_text


def errors_section(plan: Plan) -> Section:
    """Return the errors to expect, each with what it is measured against; none where unknown."""
    section = Section("Error to expect")
    if plan.is_assumed:
        rows = [(name, f"{value:.4g}", words) for name, value, words in error_rows(plan)]
        if plan.confidence is not None and plan.half_width is not None:
            level = percent_text(plan.confidence)
            words = f"half-width of the {level} error bars, on average; no root mean square"
            rows.append(("error bars", f"{plan.half_width:.4g}", words))
        section.table(
            rows,
            header=("root mean square error", "value", "what it is"),
            caption=f"Expected under the assumption ({plan.assumption}); no promise about the "
            "data.",
        )
    else:
        section.text(f"The errors are {UNKNOWN}.")
    if plan.caution():
        section.text(plan.caution())
    if plan.runners_up:
        _add_runners(section, plan)
    return section


def _add_runners(section: Section, plan: Plan) -> None:
    """Add the other choices, with their errors if something was assumed."""
    has_bars = any(choice.half_width is not None for choice in plan.runners_up)
    header = ["what is released"]
    caption = "The best of the other choices that were weighed."
    if plan.is_assumed:
        header += ["release", "sampling", "privacy", "its own least"]
        header += ["error bars"] if has_bars else []
        caption = (
            "The best of the other choices that were weighed, by estimated scales of the noise. "
            "Each has its own least: what no noise goes below with that statistic and t."
        )
    header.append("in gaps")
    rows = []
    for choice in plan.runners_up:
        errors = [choice.rmse, choice.rmse_without_noise, choice.privacy_rmse]
        least = choice.rmse_lower_bound if choice.has_lower_bound else None
        figures = [*map(_figure, errors), "none known" if least is None else _figure(least)]
        figures += [_figure(choice.half_width)] if has_bars else []
        figures.append("" if choice.gaps is None else f"{choice.gaps:.3g}")
        without = figures[-1:]
        rows.append((choice.name(plan.n_records), *(figures if plan.is_assumed else without)))
    section.table(rows, header=tuple(header), caption=caption)


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def comparison_section(plan: Plan, calibration: Calibration[NoiseDistribution] | None) -> Section:
    """Return the best rivals, and the noise beside the papers' theorems for one guarantee."""
    section = Section("Beside other ways and the bounds of the papers")
    if calibration is not None:
        _add_noises(section, plan, calibration)
    own = plan.compared_error
    if plan.confidence is not None:
        return section.text("Other ways than windows have no error bars: none is compared.")
    if own is None or not plan.rivals:
        return section.text(
            "How much others would err with the same promise depends on the data, too: it is not "
            "compared, as nothing is assumed of them."
        )
    section.table(
        [("this plan", f"{own:.4g}"), *((r.name, f"{r.error:.4g}") for r in plan.rivals)],
        header=("what is released", "root mean square error"),
        caption=f"{rivals_words(plan)}. Under the assumption. The others spend all of "
        f"{plan.guarantee!r} on the value. Ordinary noise has to cover the worst data set; smooth "
        "sensitivity and the exponential mechanism pay for data sets near the one at hand.",
    )
    return section.text(verdict_words(plan)) if verdict_words(plan) else section


def _add_noises(section: Section, plan: Plan, calibration: Calibration[NoiseDistribution]) -> None:
    """Add the noise beside the papers' theorems, all for one guarantee."""
    budget, smoothing = calibration.guarantee, calibration.smoothing
    deviation, label = calibration.standard_deviation, calibration.label
    rows = [("this plan", f"{deviation:.4g}", f"exact calibration, {label}")]
    try:
        paper = calibration.law.calibrate(budget, smoothing=smoothing, method="paper")
        words = f"the same law by the papers' theorem ({paper.reason})"
        rows.append(("theorem of the paper", f"{paper.standard_deviation:.4g}", words))
    except SmoothdpError:
        words = "no theorem of the papers gives this law a scale here"
        rows.append(("theorem of the paper", "none", words))
    least = least_deviation(budget, smoothing)
    if least is not None and math.isfinite(least):
        words = "no law can have less at this smoothing, proved"
        rows.append(("any noise whatever", f"{least:.4g}", words))
    share = ""
    if budget != plan.guarantee:
        share = f" The rest of {plan.guarantee!r} pays for the error bars."
    section.table(
        rows,
        header=("noise", "standard deviation", "what it is"),
        caption="Standard deviation of the noise at smooth sensitivity 1, all for "
        f"{budget!r}.{share}",
    )
