"""The report about a plan: what will be released, with what promise and what error."""

from __future__ import annotations

import math

from smoothdp.errors import SmoothdpError
from smoothdp.exact.parameters import exact_text, float_of
from smoothdp.noise import Laplace, NoiseDistribution, StudentT
from smoothdp.noise.calibration import Calibration
from smoothdp.planning import Plan
from smoothdp.plots import plot_densities, plot_tails
from smoothdp.privacy import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, TruncatedCDP
from smoothdp.report.chord_profile import ChordProfile
from smoothdp.report.html_page import HtmlReport, Section
from smoothdp.report.html_parts import (
    citation_section,
    curves_section,
    promise_section,
    reproduce_section,
)

_SHARES = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75)
"""Of the largest epsilon: where the profile of the noise is asked. Beyond it gets costly."""


def report_plan(plan: Plan, *, command: str = "smoothdp report") -> HtmlReport:
    """Return the page about a plan, which knows nothing about the private data.

    Args:
        plan: of `sd.plan`, or read from its file.
        command: what the reader types to get the same page.

    Raises:
        InvalidParameter: a noise that cannot keep the guarantee at this smoothing.
        MissingExtra: matplotlib is not installed.

    >>> from smoothdp.planning import plan
    >>> from smoothdp.privacy import PureDP
    >>> from smoothdp.queries import Median
    >>> made = plan(Median((0, 100)), guarantee=PureDP(1), n_records=1000)
    >>> "PolyPlace" in report_plan(made).html()
    True
    """
    calibration = plan.mechanism().calibration
    profile, reach = _profile(calibration)
    inputs = Section("Inputs").table(
        [
            ("statistic", plan.query.describe()),
            ("records", f"{plan.n_records}, public"),
            ("guarantee", repr(plan.guarantee)),
            ("noise", f"{plan.noise!r}, scaled to the smooth sensitivity"),
            ("smoothing", exact_text(plan.smoothing)),
            ("assumption", f"{plan.assumption}: about accuracy, the guarantee does not need it"),
        ],
        caption="What the plan fixes before any private data are read.",
    )
    curves = curves_section(
        {"this noise": profile, "the guarantee alone": plan.guarantee},
        profile,
        largest_epsilon=reach,
        note=f"Asked at {len(_SHARES)} epsilons and joined from above.",
    )
    _add_noise(curves, calibration)
    python = (
        "import smoothdp as sd\nfrom pathlib import Path\n"
        'plan = sd.plan_from_json(Path("plan.json").read_text())\nprint(plan.text())'
    )
    return HtmlReport(
        title="What will be released, and what it will tell",
        lead=f"{plan.query.describe()}, of {plan.n_records} records, with {plan.guarantee!r}.",
        sections=(
            inputs,
            promise_section(plan.guarantee),
            curves,
            _errors(plan),
            _comparison(plan, calibration),
            reproduce_section(command, python),
            citation_section([plan.query.source, plan.noise.source, plan.guarantee.source]),
        ),
        summary={
            "statistic": plan.query.describe(),
            "n_records": plan.n_records,
            "guarantee": plan.guarantee.sentence(),
            "noise": repr(plan.noise),
            "smoothing": exact_text(plan.smoothing),
            "expected_error": plan.rmse,
        },
    )


def reach_of(guarantee: Guarantee) -> float:
    """Return the largest epsilon worth drawing for a claim."""
    if isinstance(guarantee, PureDP | ApproxDP):
        return max(1.25 * guarantee.epsilon, 0.05)
    return max(1.1 * guarantee.profile().epsilon("1e-9"), 0.05)


def _profile(calibration: Calibration) -> tuple[ChordProfile, float]:
    """Return the exact profile of the noise at a few epsilons, and where the picture ends."""
    claim, reach = calibration.guarantee, reach_of(calibration.guarantee)
    last = claim.epsilon if isinstance(claim, PureDP | ApproxDP) else reach
    exact, bound = calibration.profile(), claim.profile()

    def log_delta(epsilon: float) -> float:
        best = bound.log_delta(epsilon)
        return best if epsilon == last else min(best, exact.log_delta(epsilon))

    places = dict.fromkeys([*(share * last for share in _SHARES), last])
    return ChordProfile.of(log_delta, list(places)), reach


def _add_noise(part: Section, calibration: Calibration) -> None:
    laws: dict[str, tuple[NoiseDistribution, float]] = {
        repr(calibration.law): (calibration.law, calibration.noise_scale(1))
    }
    for other in (StudentT(3), Laplace()):
        try:
            found = other.calibrate(calibration.guarantee, smoothing=calibration.smoothing)
        except SmoothdpError:
            continue
        laws.setdefault(repr(other), (other, found.noise_scale(1)))
    names = ", ".join(laws)
    far = calibration.law.quantile(0.975) * calibration.noise_scale(1)
    part.picture(
        plot_densities(laws, title="density of the noise", reach=3 * far),
        alt=f"Line chart of the density of the noise around 0, logarithmic: {names}. All are "
        "symmetric with one peak.",
        caption=f"Density of the noise at smooth sensitivity 1. 95% of the noise of the plan lies "
        f"within {far:.4g}.",
        name="density",
    )
    part.picture(
        plot_tails(laws, title="tails of the noise", reach=1000 * far),
        alt=f"Line chart of the probability that the noise exceeds x, both logarithmic: {names}. "
        f"The plan's noise exceeds {far:.4g} with probability 0.05.",
        caption="Tails: how often the noise is larger than x. A steeper fall means fewer releases "
        "that are far off.",
        name="tails",
    )


def _errors(plan: Plan) -> Section:
    part = Section("Error to expect")
    part.table(
        [
            ("of the release", f"{plan.rmse:.4g}"),
            ("by privacy alone", f"{plan.privacy_rmse:.4g}"),
            ("without privacy", f"{plan.rmse_without_privacy:.4g}"),
            ("no noise could go below", f"{plan.rmse_lower_bound:.4g}"),
        ],
        header=("root mean square error", "value"),
        caption=f"Expected under the assumption ({plan.assumption}); no promise about the data.",
    )
    rows = [
        (
            other.query.describe(),
            f"{other.noise!r}, t = {exact_text(other.smoothing)}",
            f"{other.rmse:.4g}",
            f"{other.privacy_rmse:.4g}",
        )
        for other in plan.runners_up
    ]
    if rows:
        header = ("statistic", "noise", "error", "by privacy")
        part.table(rows, header=header, caption="The best of the other choices that were weighed.")
    return part


def _comparison(plan: Plan, calibration: Calibration) -> Section:
    """Return the noise beside the papers' theorems, and noise to global sensitivity."""
    deviation, label = calibration.standard_deviation, calibration.label
    rows = [("this plan", f"{deviation:.4g}", f"exact calibration, {label}")]
    try:
        paper = plan.noise.calibrate(plan.guarantee, smoothing=plan.smoothing, method="paper")
        words = f"the same law by the papers' theorem ({paper.reason})"
        rows.append(("theorem of the paper", f"{paper.standard_deviation:.4g}", words))
    except SmoothdpError:
        words = "no theorem of the papers gives this law a scale here"
        rows.append(("theorem of the paper", "none", words))
    if math.isfinite(calibration.bound_ratio):
        least = deviation / calibration.bound_ratio
        rows.append(("any noise whatever", f"{least:.4g}", "no law can have less, proved"))
    part = Section("Beside ordinary DP and the bounds of the papers")
    part.table(
        rows,
        header=("noise", "standard deviation", "what it is"),
        caption="Standard deviation of the noise at smooth sensitivity 1.",
    )
    low, high = plan.query.bounds
    window = plan.n_records - sum(plan.query.drops(plan.n_records))
    worst = float(high - low) / window
    part.table(
        [
            ("this plan, under its assumption", f"{plan.privacy_rmse:.4g}"),
            ("Laplace or Gaussian noise to global sensitivity", _global(plan.guarantee, worst)),
        ],
        header=("error by privacy", "value"),
        caption=f"Ordinary noise has to cover the worst data set: one record moves the statistic "
        f"by up to {worst:.4g}. Smooth sensitivity pays for data sets near the one at hand.",
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
