"""The figures in the report of a plan: errors to expect, and its noise beside theorem and bound."""

from __future__ import annotations

import math

from smoothdp.errors import SmoothdpError
from smoothdp.exact.parameters import float_of
from smoothdp.noise.calibration import Calibration
from smoothdp.planning import Plan
from smoothdp.planning.alternatives import smoothing_text
from smoothdp.planning.words import error_rows
from smoothdp.privacy import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, TruncatedCDP
from smoothdp.report.html_page import Section
from smoothdp.report.noise_comparison import least_deviation
from smoothdp.text import percent_text


def errors_section(plan: Plan) -> Section:
    """Return the errors to expect, each with what it is measured against."""
    part = Section("Error to expect")
    rows = [(name, f"{value:.4g}", words) for name, value, words in error_rows(plan)]
    if plan.confidence is not None and plan.half_width is not None:
        level = percent_text(plan.confidence)
        words = f"half-width of the {level} error bars, on average; no root mean square"
        rows.append(("error bars", f"{plan.half_width:.4g}", words))
    part.table(
        rows,
        header=("root mean square error", "value", "what it is"),
        caption=f"Expected under the assumption ({plan.assumption}); no promise about the data.",
    )
    has_bars = any(other.half_width is not None for other in plan.runners_up)
    others = [
        (
            other.query.describe(),
            f"{other.noise!r}, t = {smoothing_text(other.smoothing)}",
            f"{other.rmse:.4g}",
            f"{other.rmse_without_noise:.4g}",
            f"{other.privacy_rmse:.4g}",
            *_least_of(other.rmse_lower_bound, other.rmse_without_noise),
            *([] if not has_bars else ["" if (w := other.half_width) is None else f"{w:.4g}"]),
        )
        for other in plan.runners_up
    ]
    if others:
        header = ("statistic", "noise", "release", "sampling", "privacy", "its own least")
        part.table(
            others,
            header=(*header, "error bars") if has_bars else header,
            caption="The best of the other choices that were weighed, by estimated scales of the "
            "noise. Each has its own least: what no noise goes below with that statistic and t.",
        )
    return part


def _least_of(bound: float, sampling: float) -> tuple[str]:
    return (f"{bound:.4g}" if bound > sampling else "none known",)


def comparison_section(plan: Plan, calibration: Calibration) -> Section:
    """Return the noise beside the papers' theorems, all for one guarantee, and ordinary noise."""
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
    part = Section("Beside ordinary DP and the bounds of the papers")
    part.table(
        rows,
        header=("noise", "standard deviation", "what it is"),
        caption="Standard deviation of the noise at smooth sensitivity 1, all for "
        f"{budget!r}.{share}",
    )
    low, high = plan.query.bounds
    window = plan.n_records - sum(plan.query.drops(plan.n_records))
    worst = float(high - low) / window
    part.table(
        [
            ("this plan, under its assumption", f"{plan.privacy_rmse:.4g}"),
            ("Laplace or Gaussian noise to global sensitivity", _global(budget, worst)),
        ],
        header=("error by privacy", "value"),
        caption=f"Both for {budget!r}. Ordinary noise has to cover the worst data set: one record "
        f"moves the statistic by up to {worst:.4g}. Smooth sensitivity pays for data sets near "
        "the one at hand.",
    )
    return part


def _global(guarantee: Guarantee, sensitivity: float) -> str:
    """Return the standard deviation of the standard mechanism at a global sensitivity."""
    if isinstance(guarantee, PureDP | ApproxDP) and guarantee.epsilon > 0:
        return f"{math.sqrt(2) * sensitivity / guarantee.epsilon:.4g}"
    if isinstance(guarantee, ZCDP | TruncatedCDP):
        return f"{sensitivity / math.sqrt(2 * float_of(guarantee.exact_rho)):.4g}"
    if isinstance(guarantee, GaussianDP):
        return f"{sensitivity / float_of(guarantee.exact_mu):.4g}"
    return "none"
