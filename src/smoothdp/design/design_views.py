"""A design as a picture, and as a page of HTML that stands alone."""

from __future__ import annotations

import math
from typing import Any

from smoothdp.design.cells import Cell, Stratum
from smoothdp.design.design_words import (
    ERROR_HEADER,
    NOISE_HEADER,
    STRATA_HEADER,
    cautions,
    cell_words,
    delta_words,
    error_rows,
    merge_rows,
    noise_rows,
    rate_words,
    sentence,
    strata_rows,
)
from smoothdp.design.facts import DesignFacts
from smoothdp.design.largest_draws import CellsQuestion
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.balls.compare import float_up
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.plots import plot_groups
from smoothdp.plots.bound_curves import plot_bound_curves
from smoothdp.report.html.page import HtmlReport, Section
from smoothdp.report.html.shared_sections import citation_section, reproduce_section
from smoothdp.sources import Source
from smoothdp.text import number_down, number_up, ratio_up

_LN10 = math.log(10)
_POINTS = 24
_MOST_CURVES = 3
_ROWS_OF_PAGE = 200


def draw_design(design: DesignFacts) -> Any:
    """Return a picture: delta(x) against the rate, as it is and with cells merged.

    Over a model, where each point takes long: the largest rates alone.
    """
    if design.model is not None:
        names = ["as it is", *(f"{one.n_cells} rarest merged" for one in design.merges)]
        rates = [design.rate, *(one.rate for one in design.merges)]
        title = f"largest rates, smoothed delta at most {ratio_up(design.target)}"
        return plot_groups(names, [float(rate) for rate in rates], title=title, x_label="rate")
    strata = _strata(design)
    chosen = [one.n_cells for one in design.merges if one.rate > design.rate][:_MOST_CURVES]
    curves = {"as it is": _curve(design, strata)}
    for k in sorted(chosen):
        merged = [one.merged(k) for one in strata]
        curves[f"{k} smallest cells merged"] = _curve(design, merged)
    return plot_bound_curves(
        curves,
        x="sampling rate",
        y="delta(x)",
        title=f"delta(x) against the rate at epsilon {number_up(float_up(design.epsilon))}",
        reference=(log_bounds(design.target).upper / _LN10, "target"),
        least=3 * log_bounds(design.target).lower / _LN10 - 3,
    )


def _strata(design: DesignFacts) -> list[Stratum]:
    named: dict[str | None, list[Cell]] = {}
    for cell in design.cells:
        named.setdefault(cell.stratum, []).append(cell)
    return [Stratum(name, tuple(cells)) for name, cells in named.items()]


def _curve(design: DesignFacts, strata: list[Stratum]) -> tuple[list[float], list[float]]:
    questions = [CellsQuestion(one, design.epsilon) for one in strata]
    xs, ys = [], []
    for step in range(1, _POINTS):
        rate = step / _POINTS
        height = max(one.delta(math.ceil(rate * one.n_records)).upper for one in questions)
        xs.append(rate)
        ys.append(height / _LN10)
    return xs, ys


def design_page(design: DesignFacts, *, command: str = "") -> HtmlReport:
    """Return the page about a design."""
    modelled = design.model is not None
    what = "smoothed delta" if modelled else "delta(x)"
    asked = Section("What was asked").table(
        [
            ("epsilon", number_up(float_up(design.epsilon), 6)),
            ("target", f"{what} at most {ratio_up(design.target)}"),
            ("records", str(design.n_records)),
            ("cells", str(len(design.cells))),
            *([("strata", str(len(design.strata)))] if design.strata else []),
        ],
        caption="Fixed before a record is drawn.",
    )
    words = sentence(design).split("\n")
    answer = Section("The answer").text(words[0], kind="promise")
    for caution in cautions(design):
        answer.text(caution, kind="caution")
    answer.table(
        [
            ("largest rate", f"{rate_words(design)} ({design.n_draws} records)"),
            (what, delta_words(design)),
            ("ordinary DP, at every finite epsilon", ratio_up(design.ordinary_delta)),
            ("what binds", cell_words(design.binding)),
        ],
        caption="Figures of delta are rounded up, rates down.",
    )
    picture = Section("Picture").picture(
        draw_design(design),
        alt=f"{what} against the sampling rate. At the target {ratio_up(design.target)} the rate "
        f"is {number_down(design.rate, 4)}.",
        caption=f"{what}, rounded up, by sampling rate; the tables have the numbers.",
        name="rates",
    )
    return HtmlReport(
        title="How many records may be published?",
        lead=f"The largest sample of {design.n_records} records whose counts meet a target.",
        sections=(
            asked,
            answer,
            picture,
            *_ways_on(design),
            _errors(design),
            reproduce_section(command or "smoothdp design", _python(design)),
            citation_section([Source("liu-wang-xia", "Definition 2, Algorithms 2 and 4")]),
        ),
        summary={"rate": float(design.rate), "n_draws": design.n_draws},
    )


def _ways_on(design: DesignFacts) -> list[Section]:
    sections = []
    if design.merges:
        sections.append(
            Section("What merging cells buys")
            .table(
                merge_rows(design),
                header=("k", "records in them", "rate", "drawn", "then binds"),
                caption="The k smallest cells as one; rates rounded down.",
            )
            .text("Merging never raises delta: the merged table is a function of the other.")
        )
    if design.noise:
        sections.append(
            Section("What noise buys").table(
                noise_rows(design),
                header=NOISE_HEADER,
                caption="With two-sided geometric noise on every cell (Algorithm 4 of paper 1 on "
                "all integers), epsilon is pure and holds at every database: no delta, no smallest "
                "cell.",
            )
        )
    if design.strata:
        sections.append(
            Section("Strata").table(
                strata_rows(design)[:_ROWS_OF_PAGE],
                header=STRATA_HEADER,
                caption="Sampled separately, at one rate. A record never changes its stratum.",
            )
        )
    return sections


def _errors(design: DesignFacts) -> Section:
    rows = error_rows(design, most=_ROWS_OF_PAGE)
    caption = "The standard deviation of each published cell scaled by n/T."
    if len(rows) < len(design.cells):
        caption += f" The smallest and the largest of {len(design.cells)} cells; JSON has all."
    return Section("Sampling errors").table(rows, header=ERROR_HEADER, caption=caption)


def _python(design: DesignFacts) -> str:
    target = f'epsilon="{exact_text(design.epsilon)}", delta="{exact_text(design.target)}"'
    if design.model is not None:
        return (
            f"import smoothdp as sd\nsd.rate_design(model, n_records={design.n_records}, {target})"
        )
    return (
        "import smoothdp as sd\n"
        f"sd.rate_design(counts, {target})   # counts: the cells of the file, by label"
    )
