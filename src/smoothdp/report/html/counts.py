"""The report about public counts: how private is a count in which some records were lost?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from smoothdp import paper_bounds
from smoothdp.claims import ApproxDP
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.mechanisms import SamplingHistogram
from smoothdp.report.html.page import HtmlReport, Section
from smoothdp.report.html.shared_sections import (
    bound_text,
    citation_section,
    curves_section,
    log_text,
    reproduce_section,
)
from smoothdp.report.measurement import Measurement, measure_histogram
from smoothdp.sources import Source
from smoothdp.text import SAMPLE_UNSEEN, lesser, number_up

if TYPE_CHECKING:
    from smoothdp.mechanisms import BernoulliHistogram

_SHOWN = 60


def report_counts(
    mechanism: SamplingHistogram | BernoulliHistogram,
    counts: Mapping[str, int],
    *,
    epsilon: Parameter | None = None,
    threshold: Parameter | None = None,
    command: str = "smoothdp report",
) -> HtmlReport:
    """Return the page about a histogram mechanism at public counts.

    Everything on the page is a function of the counts and as private as the counts: make the
    page only for counts that are public, hypothetical or modelled.

    Args:
        mechanism, counts, epsilon, threshold: as `measure_histogram` takes them.
        command: what the reader types to get the same page.

    Raises:
        InvalidParameter, InvalidData: as `measure_histogram`.
        MissingExtra: matplotlib is not installed.

    >>> page = report_counts(
    ...     SamplingHistogram(10, n_draws=9), {"yes": 6, "no": 4}, epsilon=1, command="mine.py"
    ... )
    >>> "yes" in page.html()
    True
    """
    measured = measure_histogram(mechanism, counts, epsilon=epsilon, threshold=threshold)
    size, exact = mechanism.n_records, measured.epsilon
    level = float(exact)
    profile = mechanism.at(counts.values())
    worst = ApproxDP(0, delta=mechanism.inclusion())
    promise = Section("The guarantee in plain words")
    promise.text(measured.sentence().split("\n")[0], kind="promise")
    promise.text(
        "This page is about these counts and is as private as they are: it is for public, "
        f"hypothetical or modelled counts. It says nothing about other counts. {SAMPLE_UNSEEN}",
        kind="caution",
    )
    promise.text(f"What holds for every count at once is ordinary DP. {worst.sentence()}")
    curves = curves_section(
        {"at these counts, exact": profile, "ordinary DP, every count": worst},
        profile,
        largest_epsilon=max(2 * level, 0.02),
        reference=(-math.log10(size), "1/n (no pass mark)"),
    )
    rows = [(name, str(value)) for name, value in list(counts.items())[:_SHOWN]]
    inputs = Section("Inputs").table(
        [
            ("mechanism", mechanism.describe()),
            ("records", str(size)),
            (
                "epsilon",
                f"{number_up(level, 6)}: probabilities may change by a factor "
                f"{number_up(math.exp(level), 6)}",
            ),
            ("adversary's accuracy", f"{float(measured.threshold):.6g}"),
            *rows,
        ],
        caption=f"What was asked; counts of the first {len(rows)} of {len(counts)} categories.",
    )
    setting = ", ".join(f"{name!r}: {value}" for name, value in list(counts.items())[:_SHOWN])
    python = (
        "import smoothdp as sd\n"
        f"mechanism = {_code(mechanism)}\n"
        f"profile = mechanism.at({{{setting}}}.values())\n"
        f'profile.delta("{exact}"), mechanism.worst_case_delta(epsilon="{exact}")'
    )
    return HtmlReport(
        title="How private is this count?",
        lead=f"{mechanism.describe()}, published without noise, at counts that are public.",
        sections=(
            inputs,
            promise,
            curves,
            _comparison(measured, list(counts.values())),
            reproduce_section(command, python),
            citation_section(
                [mechanism.source, Source("liu-wang-xia", "Definition 2 and Theorem 1")]
            ),
        ),
        summary=measured.to_dict(),
    )


def _comparison(measured: Measurement, counts: list[int]) -> Section:
    """Return delta(x) beside ordinary DP, 1/n and the bounds of paper 1."""
    mechanism, most = measured.mechanism, number_up(measured.mechanism.inclusion())
    rows = [
        (
            "exact, at these counts",
            lesser(log_text(measured.log_delta.upper), most),
            "the figure of this page",
        ),
        ("ordinary DP", most, "the worst conceivable counts"),
        (
            "1/n",
            log_text(-math.log(mechanism.n_records)),
            "what paper 1 asks a private release to be below; no pass mark",
        ),
    ]
    if isinstance(mechanism, SamplingHistogram) and mechanism.sampling == "without_replacement":
        setting = {"counts": counts, "epsilon": measured.epsilon, "n_draws": mechanism.n_draws}
        bounds = (
            (paper_bounds.liu_kl_upper, "inequality (7), repaired", "proved"),
            (paper_bounds.liu_all_epsilon_upper, "two-term bound", "proved"),
            (paper_bounds.liu_inequality_7, "inequality (7) as printed", "false in general"),
        )
        for bound, name, verdict in bounds:
            rows.append((f"paper 1, {name}", bound_text(bound, setting), verdict))
    if measured.log_utility is not None:
        gain = "gain of an adversary who knows every other record, equation (3) of paper 1"
        rows.append(("adversary's utility", log_text(measured.log_utility.upper), gain))
    section = Section("Beside ordinary DP and the bounds of the papers")
    section.table(
        rows,
        header=("delta at this epsilon", "at most", "what it is"),
        caption="The same question answered in several ways; figures are rounded up.",
    )
    beside = "below" if measured.below_one_over_n else "not below"
    return section.text(f"delta at these counts is {beside} 1/n, which is no pass mark.")


def _code(mechanism: SamplingHistogram | BernoulliHistogram) -> str:
    if isinstance(mechanism, SamplingHistogram):
        return (
            f"sd.SamplingHistogram({mechanism.n_records}, n_draws={mechanism.n_draws}, "
            f'sampling="{mechanism.sampling}")'
        )
    return (
        f"sd.BernoulliHistogram({mechanism.n_records}, "
        f'keep_probability="{mechanism.keep_probability}")'
    )
