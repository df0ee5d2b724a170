"""The report about a plan: what will be released, with what promise and what error."""

from __future__ import annotations

from smoothdp.claims import Guarantee
from smoothdp.claims.terms import EpsilonTerms
from smoothdp.errors import SmoothdpError
from smoothdp.exact.balls.compare import float_up
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.mechanisms import HalfShift, SmoothNoise
from smoothdp.mechanisms.release.bars.pair_noise import PairNoise
from smoothdp.mechanisms.release.defaults import WELL_KNOWN
from smoothdp.noise import Calibration, NoiseDistribution
from smoothdp.planning import Plan
from smoothdp.planning.alternatives import smoothing_text
from smoothdp.planning.mechanisms import PlannedMechanism
from smoothdp.planning.views.plan_words import (
    method_words,
    plan_covers,
    target_words,
    verdict_words,
)
from smoothdp.plots import plot_densities, plot_tails
from smoothdp.report.html.page import HtmlReport, Section
from smoothdp.report.html.plan_figures import comparison_section, errors_section
from smoothdp.report.html.shared_sections import (
    ChordProfile,
    citation_section,
    curves_section,
    promise_section,
    reproduce_section,
)
from smoothdp.sources import Source
from smoothdp.text import percent_text

_SHARES = (0.0, 0.15, 0.3, 0.45, 0.6, 0.75)
"""Shares of the largest epsilon, at which the profile of the noise is computed."""


def report_plan(plan: Plan, *, command: str = "smoothdp report") -> HtmlReport:
    """Return the page about a plan, which knows nothing about the private data.

    Args:
        plan: of `sd.plan`, or read from its file.
        command: what the reader types to get the same page.

    Raises:
        InvalidParameter: a noise that cannot keep the guarantee at this smoothing.
        MissingExtra: matplotlib is not installed.

    >>> from smoothdp.planning import plan
    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.queries import Median
    >>> made = plan(Median((0, 100)), guarantee=PureDP(1), n_records=1000)
    >>> "PolyPlace" in report_plan(made).html()
    True
    """
    mechanism = plan.mechanism()
    calibration = mechanism.calibration if isinstance(mechanism, SmoothNoise) else None
    words = plan.statistic
    assumed = ": about accuracy, the guarantee does not need it" if plan.is_assumed else ""
    inputs = Section("Inputs").table(
        [
            ("statistic", words),
            *([("asked for", plan.note())] if plan.note() else []),
            ("records", f"{plan.n_records}, public"),
            ("guarantee", repr(plan.guarantee)),
            ("method", method_words(plan)),
            *_noise_rows(plan, mechanism),
            *([("caution", plan.caution())] if plan.caution() else []),
            ("assumption", f"{plan.assumption}{assumed}"),
        ],
        caption="What the plan fixes before any private data are read.",
    )
    curves = _curves(plan, mechanism)
    if calibration is not None:
        _add_noise(curves, calibration)
    python = (
        "import smoothdp as sd\nfrom pathlib import Path\n"
        'plan = sd.planning.plan_from_json(Path("plan.json").read_text())\nprint(plan.text())'
    )
    return HtmlReport(
        title="What will be released, and what it will tell",
        lead=f"{words}; of {plan.n_records} records, with {plan.guarantee!r}.",
        sections=(
            inputs,
            promise_section(plan.guarantee, n_records=plan.n_records),
            curves,
            errors_section(plan),
            comparison_section(plan, calibration),
            reproduce_section(command, python),
            citation_section(_sources(plan, mechanism)),
        ),
        summary={
            "statistic": words,
            "n_records": plan.n_records,
            "guarantee": plan.guarantee.sentence(n_records=plan.n_records),
            "method": plan.method,
            "noise": None if plan.noise is None else repr(plan.noise),
            "smoothing": None if plan.smoothing is None else exact_text(plan.smoothing),
            "expected_error": plan.rmse,
            "measured_against": target_words(plan.query, plan.n_records),
            "caution": plan.caution(),
            "gaps": plan.gaps,
            "rivals": {rival.name: rival.error for rival in plan.rivals},
            "verdict": verdict_words(plan),
            "confidence": None if plan.confidence is None else float(plan.confidence),
            "half_width": plan.half_width,
        },
    )


def reach_of(guarantee: Guarantee) -> float:
    """Return the largest epsilon worth drawing for a claim."""
    terms = guarantee.terms()
    if isinstance(terms, EpsilonTerms):
        return max(1.25 * float_up(terms.epsilon), 0.05)
    return max(1.1 * guarantee.profile().epsilon("1e-9"), 0.05)


def _noise_rows(plan: Plan, mechanism: PlannedMechanism) -> list[tuple[str, str]]:
    """Return rows about the noise and the error bars; none where nothing is added."""
    if isinstance(mechanism, PairNoise):
        return [
            ("noise", "the max law, scaled to the smooth sensitivity, and on its logarithm"),
            ("smoothing", smoothing_text(mechanism.smoothing)),
            *_covered_rows(plan, "none alone: one law of noise serves value and bars"),
        ]
    if isinstance(mechanism, HalfShift):
        return [("noise", mechanism.describe())]
    if not isinstance(mechanism, SmoothNoise):
        return []
    fixed = mechanism.smoothing == 0
    scale = "the sensitivity at all data" if fixed else "the smooth sensitivity"
    return [
        ("noise", f"{mechanism.noise!r}, scaled to {scale}"),
        ("smoothing", smoothing_text(mechanism.smoothing)),
        *_bars_rows(plan, mechanism),
    ]


def _sources(plan: Plan, mechanism: PlannedMechanism) -> list[Source]:
    """Return where statistic, noise and claim are described."""
    sources = [plan.query.source, mechanism.source, plan.guarantee.source]
    if plan.noise is not None:
        sources[1] = plan.noise.source
    return sources


def _bars_rows(plan: Plan, mechanism: SmoothNoise) -> list[tuple[str, str]]:
    """Return rows about the error bars and their cost; none for a plan without error bars."""
    if mechanism.bars is None or plan.confidence is None:
        return []
    value_guarantee = mechanism.calibration.guarantee
    share = (
        "nothing: its sensitivity is public"
        if value_guarantee == plan.guarantee
        else f"{value_guarantee!r}"
    )
    cost = (
        share
        if value_guarantee == plan.guarantee
        else f"a share; the noise of the value keeps {share}"
    )
    return _covered_rows(plan, cost)


def _covered_rows(plan: Plan, cost: str) -> list[tuple[str, str]]:
    """Return rows about the error bars, and what they cost."""
    assert plan.confidence is not None
    return [
        ("error bars", f"{percent_text(plan.confidence)} confidence, {_half_width(plan)}"),
        ("each", plan_covers(plan)),
        ("the bars take of the guarantee", cost),
    ]


def _half_width(plan: Plan) -> str:
    if plan.half_width is None:
        return "their length depends on the data"
    return f"+- {plan.half_width:.4g} on average, to expect under the assumption"


def _curves(plan: Plan, mechanism: PlannedMechanism) -> Section:
    """Return the curves of what is released: with error bars, of value and bars together."""
    if not isinstance(mechanism, SmoothNoise):
        claim = plan.guarantee.profile()
        return curves_section(
            {"the guarantee": claim}, claim, largest_epsilon=reach_of(plan.guarantee)
        )
    profile, reach = _profile(mechanism.calibration)
    note = f"Asked at {len(_SHARES)} epsilons and joined from above."
    if mechanism.calibration.guarantee == plan.guarantee:
        return curves_section(
            {"this noise": profile, "the guarantee alone": plan.guarantee},
            profile,
            largest_epsilon=reach,
            note=note,
        )
    joint = plan.guarantee.profile()
    return curves_section(
        {"value and error bars, the guarantee": joint, "the noise of the value alone": profile},
        joint,
        largest_epsilon=max(reach, reach_of(plan.guarantee)),
        note=f"The second: {note[0].lower()}{note[1:]}",
    )


def _profile(calibration: Calibration[NoiseDistribution]) -> tuple[ChordProfile, float]:
    """Return the exact profile of the noise at a few epsilons, and where the picture ends."""
    claim, reach = calibration.guarantee, reach_of(calibration.guarantee)
    terms = claim.terms()
    last = float_up(terms.epsilon) if isinstance(terms, EpsilonTerms) else reach
    exact, bound = calibration.profile(), claim.profile()

    def log_delta(epsilon: float) -> float:
        best = bound.log_delta(epsilon)
        return best if epsilon == last else min(best, exact.log_delta(epsilon))

    epsilons = dict.fromkeys([*(share * last for share in _SHARES), last])
    return ChordProfile.of(log_delta, list(epsilons)), reach


def _add_noise(section: Section, calibration: Calibration[NoiseDistribution]) -> None:
    laws: dict[str, tuple[NoiseDistribution, float]] = {
        repr(calibration.law): (calibration.law, calibration.noise_scale(1))
    }
    for law in WELL_KNOWN:
        try:
            known = law.calibrate(calibration.guarantee, smoothing=calibration.smoothing)
        except SmoothdpError:
            continue
        laws.setdefault(repr(law), (law, known.noise_scale(1)))
    names = ", ".join(laws)
    far = calibration.law.quantile(0.975) * calibration.noise_scale(1)
    section.picture(
        plot_densities(laws, title="density of the noise", reach=3 * far),
        alt=f"Line chart of the density of the noise around 0, logarithmic: {names}. All are "
        "symmetric with one peak.",
        caption=f"Density of the noise at smooth sensitivity 1. 95% of the noise of the plan lies "
        f"within {far:.4g}.",
        name="density",
    )
    section.picture(
        plot_tails(laws, title="tails of the noise", reach=1000 * far),
        alt=f"Line chart of the probability that the noise exceeds x, both logarithmic: {names}. "
        f"The plan's noise exceeds {far:.4g} with probability 0.05.",
        caption="Tails: how often the noise is larger than x. A steeper fall means fewer releases "
        "that are far off.",
        name="tails",
    )
