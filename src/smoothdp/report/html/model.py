"""The report about a model: smoothed DP before the data are there."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING

from smoothdp import paper_bounds
from smoothdp.claims import ApproxDP, DataModel
from smoothdp.errors import PrivacyWarning
from smoothdp.exact.parameters.numbers import Parameter, float_of
from smoothdp.mechanisms import SamplingHistogram
from smoothdp.report.html.page import HtmlReport, Section
from smoothdp.report.html.shared_sections import (
    ChordProfile,
    bound_text,
    citation_section,
    curves_section,
    log_text,
    reproduce_section,
)
from smoothdp.smoothed import SmoothedDelta, smoothed_delta
from smoothdp.sources import Source
from smoothdp.text import SAMPLE_UNSEEN, lesser, number_up

if TYPE_CHECKING:
    from smoothdp.mechanisms import BernoulliHistogram

_SHOWN = 60
_RADII = ("0.01", "0.05", "0.1")


def report_model(
    mechanism: SamplingHistogram | BernoulliHistogram,
    model: DataModel,
    *,
    epsilon: Parameter,
    command: str = "smoothdp report",
    progress: Callable[[int, int], None] | None = None,
) -> HtmlReport:
    """Return the page about smoothed DP of a histogram mechanism over a public model.

    Args:
        mechanism, model, epsilon: as `smoothed_delta` takes them.
        command: what the reader types to get the same page.
        progress: called with (steps done, steps in all).

    Raises:
        InvalidParameter, OutOfReach: as `smoothed_delta`.
        MissingExtra: matplotlib is not installed.

    >>> from smoothdp.mechanisms import SamplingHistogram
    >>> from smoothdp.claims import DataModel
    >>> poll, coin = SamplingHistogram(20, n_draws=18), DataModel([("0.5", "0.5")])
    >>> "smoothed" in report_model(poll, coin, epsilon=1).html()
    True
    """
    result = smoothed_delta(mechanism, model, epsilon=epsilon)
    level = float_of(result.guarantee.exact_epsilon)
    pairs = model.n_atoms == 2
    steps = 12 if pairs else 4
    epsilons = [2 * max(level, 0.05) * k / steps for k in range(steps + 1)]
    tell = progress or (lambda done, total: None)  # noqa: ARG005

    def log_delta(asked: float) -> float:
        tell(epsilons.index(asked), steps + 1)
        return smoothed_delta(mechanism, model, epsilon=asked).log_delta

    curve = ChordProfile.of(log_delta, epsilons)
    worst = ApproxDP(0, delta=mechanism.inclusion())
    promise = Section("The guarantee in plain words")
    sentence = result.guarantee.sentence(delta_at_zero=curve.delta(0))
    promise.text(sentence, kind="promise")
    promise.text(
        "The average is over data sets that the model describes, in the worst mixture of its "
        "distributions. The model is an assumption: it must be fixed without the private data, "
        f"and rows must be independent. {SAMPLE_UNSEEN}",
        kind="caution",
    )
    promise.text(f"Without any model, ordinary DP holds. {worst.sentence()}")
    tell(steps + 1, steps + 1)
    sections = (
        _inputs(mechanism, model, level),
        promise,
        curves_section(
            {"over the model": curve, "ordinary DP": worst},
            curve,
            largest_epsilon=epsilons[-1],
            reference=(-math.log10(mechanism.n_records), "1/n (no pass mark)"),
            note=f"Asked at {steps + 1} epsilons and joined from above; an average over the model.",
        ),
        _comparison(mechanism, model, result),
        reproduce_section(
            command,
            "import smoothdp as sd\n"
            f"mechanism = sd.{mechanism!r}\n"
            "model = sd.DataModel.from_counts(rows)   # the rows of the file, without labels\n"
            f'sd.smoothed_delta(mechanism, model, epsilon="{result.guarantee.exact_epsilon}")',
        ),
        citation_section([Source("liu-wang-xia", "Definition 3 and Algorithm 1")]),
    )
    return HtmlReport(
        title="How private will this count be?",
        lead=f"Smoothed differential privacy of a {mechanism.describe()} over a public model.",
        sections=sections,
        summary={
            "mechanism": mechanism.describe(),
            "n_records": mechanism.n_records,
            "epsilon": level,
            "smoothed_delta": result.delta,
            "log_smoothed_delta": result.log_delta,
            "worst_case_delta": mechanism.worst_case_delta(epsilon=0),
            "method": result.method,
            "guarantee": sentence,
            "unseen": SAMPLE_UNSEEN,
        },
    )


def _inputs(
    mechanism: SamplingHistogram | BernoulliHistogram, model: DataModel, epsilon: float
) -> Section:
    section = Section("Inputs").table(
        [
            ("mechanism", mechanism.describe()),
            ("records", str(mechanism.n_records)),
            (
                "epsilon",
                f"{number_up(epsilon, 6)}: probabilities may change by "
                f"{number_up(math.exp(epsilon), 6)}",
            ),
            ("model", f"{model.n_vertices} distributions over {model.n_atoms} values"),
        ],
        caption="What was asked.",
    )
    rows = [
        (f"distribution {number}", ", ".join(f"{float(share):.4g}" for share in vertex))
        for number, vertex in enumerate(model.vertices[:_SHOWN], 1)
    ]
    caption = f"The model: the shares of the first {len(rows)} of {model.n_vertices} distributions."
    return section.table(rows, caption=caption, header=("distribution", "share of each value"))


def _comparison(
    mechanism: SamplingHistogram | BernoulliHistogram, model: DataModel, result: SmoothedDelta
) -> Section:
    """Return smoothed delta beside ordinary DP, the bounds of paper 1 and wider models."""
    epsilon, most = result.guarantee.exact_epsilon, number_up(mechanism.inclusion())
    rows = [
        ("over the model", lesser(log_text(result.log_delta), most), result.method),
        ("ordinary DP", most, "every data set, no model"),
    ]
    if isinstance(mechanism, SamplingHistogram) and mechanism.sampling == "without_replacement":
        setting = {
            "n_records": mechanism.n_records,
            "epsilon": epsilon,
            "n_draws": mechanism.n_draws,
            "model": model,
        }
        bounds = (
            (paper_bounds.liu_kl_smoothed_upper, "Theorem 3 (i), repaired", "proved"),
            (paper_bounds.liu_all_epsilon_smoothed_upper, "two-term bound", "proved"),
            (paper_bounds.liu_remark_8, "Remark 8 as printed", "false in general"),
        )
        for bound, name, verdict in bounds:
            rows.append((f"paper 1, {name}", bound_text(bound, setting), verdict))
    if model.n_atoms == 2:
        for radius in _RADII:
            wider = model.widened(total_variation=radius)
            with warnings.catch_warnings():
                # A wide model may hold a value that nobody has; the row shows what that costs.
                warnings.simplefilter("ignore", PrivacyWarning)
                log_delta = smoothed_delta(mechanism, wider, epsilon=epsilon).log_delta
            description = f"every distribution within total variation {radius}"
            rows.append(
                (f"if the model is off by {radius}", lesser(log_text(log_delta), most), description)
            )
    return Section("Beside ordinary DP and the bounds of the papers").table(
        rows,
        header=("smoothed delta at this epsilon", "at most", "what it is"),
        caption="The same question answered in several ways; figures are rounded up.",
    )
