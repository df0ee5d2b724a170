"""A design in words: as lines of text, as one sentence, and for JSON."""

from __future__ import annotations

import math

from smoothdp.claims.guarantees.guarantee import factor_text
from smoothdp.design.cells import Cell
from smoothdp.design.facts import DesignFacts
from smoothdp.exact.balls.compare import float_up
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.text import (
    lesser,
    number_down,
    number_up,
    rate_float,
    rate_text,
    ratio_up,
    table,
    upper_text,
)

SHOWN = 12
UNSEEN = (
    "Which records are drawn must be random and must stay unseen: a list of them, a seed or a rule "
    "that tells who was drawn undoes it all. Rate and merged cells are fixed before the sample is "
    "drawn."
)
PUBLIC = (
    "delta(x), and with it the rate, is as private as the counts: design on public tables, such as "
    "the last census."
)
NO_MARK = (
    "That delta is below 1/n is no pass mark: it is the share of outcomes that may tell more than "
    "epsilon allows, and a target is chosen for what is at stake."
)
MODELLED = (
    "The model is an assumption: it is fixed without the private data, and records are independent."
)


def cautions(design: DesignFacts) -> tuple[str, ...]:
    """Return what must hold for the figures to mean something."""
    return (UNSEEN, PUBLIC if design.model is None else MODELLED, NO_MARK)


def rate_words(design: DesignFacts) -> str:
    """Return the rate: given as one, it draws so many and no more."""
    if design.strata:
        return number_down(design.rate, 9)
    return rate_text(design.n_draws, design.n_records)


def delta_words(design: DesignFacts) -> str:
    """Return delta, rounded up, never above ordinary DP beside it."""
    if design.n_draws == 0:
        return "0"
    return lesser(upper_text(design.log_delta.upper), ratio_up(design.ordinary_delta))


def sentence(design: DesignFacts) -> str:
    """Return the result in plain English."""
    if design.n_draws == 0:
        why = f"{_binds(design)} {_remedy(design)}".strip()
        return f"No record can be drawn at this target. {why}\n{' '.join(cautions(design))}"
    strata = f" of {len(design.strata)} strata" if design.strata else ""
    drawn = (
        f"Draw {design.n_draws} of {design.n_records} records{strata} at random, without "
        f"replacement, a rate of {rate_words(design)}, and publish their counts."
    )
    subject = (
        "At these counts, replacing any one record by another of these cells"
        if design.model is None
        else "On average over data sets of the model, in the worst mixture of its distributions, "
        "replacing any one record"
    )
    stays = ", in its stratum," if design.strata else ""
    return (
        f"{drawn} {subject}{stays} changes the probability of any set of published tables by at "
        f"most a factor {factor_text(design.epsilon)}, plus {delta_words(design)}. "
        f"{_largest(design)} {_binds(design)}\n"
        f"{' '.join(cautions(design))}\n"
        "For every database at once only ordinary DP holds: (epsilon, "
        f"{ratio_up(design.ordinary_delta)}) at every finite epsilon."
    )


def _largest(design: DesignFacts) -> str:
    if len(design.strata) > 1:  # a stratum that does not decide may lend more
        if design.is_largest:
            return "A larger rate is proved too many."
        return "Whether a larger rate does is open."
    if design.is_largest:
        return "One more record is proved too many."
    if design.undecided:
        last = design.undecided[-1]
        return f"Whether {design.n_draws + 1} to {last} do is open; {last + 1} are proved too many."
    return "Whether one more does is open."


def _binds(design: DesignFacts) -> str:
    shown = cell_words(design.binding)
    if design.pinned:
        return (
            f"A cell of 0 or 1 record pins delta(x) to T/n, the share that is drawn: {shown}. "
            "Merge such cells, or leave those out that nobody can be in."
        )
    if design.model is not None:
        return f"The rarest categories decide (least expected records): {shown}."
    return f"The two smallest cells decide: {shown}."


def _remedy(design: DesignFacts) -> str:
    best = next((one for one in design.merges if one.rate > design.rate), None)
    if best is None:
        return "Raise epsilon or delta, merge more cells, or add noise."
    return (
        f"With the {best.n_cells} smallest cells merged, the rate is {number_down(best.rate, 6)}."
    )


def cell_words(cells: tuple[Cell, ...]) -> str:
    """Return cells with their numbers of records, the first few."""
    more = f" and {len(cells) - SHOWN} more" if len(cells) > SHOWN else ""
    return "; ".join(f"{cell.name} ({cell.count})" for cell in cells[:SHOWN]) + more


def design_text(design: DesignFacts) -> str:
    """Return tables and the sentence."""
    n = design.n_records
    what = "smoothed delta" if design.model is not None else "delta(x)"
    rows = [
        ("target", f"{what} at most {ratio_up(design.target)} at epsilon "
         f"{number_up(float_up(design.epsilon), 6)}"),
        ("records", f"{n} in {len(design.cells)} cells"
         + (f", {len(design.strata)} strata" if design.strata else "")),
        ("largest rate", f"{rate_words(design)}  ({design.n_draws} drawn, "
         f"{n - design.n_draws} not; {_largest(design)[:-1].lower()})"),
        (what, f"{delta_words(design)}  (rounded up; {design.method})"),
        ("ordinary DP", f"{ratio_up(design.ordinary_delta)}  (its delta at every finite epsilon)"),
        ("1/n", f"{1 / n:.4g}  (no pass mark)"),
        ("what binds", cell_words(design.binding)),
    ]  # fmt: skip
    parts = [table(rows)]
    if design.merges:
        parts.append("Merging the k smallest cells (never raises delta):\n" + table(
            merge_rows(design), header=("k", "records in them", "rate", "drawn", "then binds")
        ))  # fmt: skip
    if design.noise:
        parts.append(
            "Noise instead (Algorithm 4 on all integers): epsilon is then pure, at every database\n"
            + table(noise_rows(design), header=NOISE_HEADER)
        )
    parts.append(
        "Sampling error of a published cell, scaled by n/T (standard deviation)\n"
        + table(error_rows(design), header=ERROR_HEADER)
    )
    if design.strata:
        parts.append("Strata\n" + table(strata_rows(design), header=STRATA_HEADER))
    return "\n\n".join([*parts, sentence(design)])


NOISE_HEADER = ("at", "rate", "noise epsilon", "sd of the noise", "scaled by n/T")
ERROR_HEADER = ("cell", "records", "error", "in percent")
STRATA_HEADER = ("stratum", "records", "drawn", "could lend", "delta", "what binds")


def merge_rows(design: DesignFacts) -> list[tuple[str, ...]]:
    """Return a row for each merge, the largest gain first."""
    return [
        (
            str(one.n_cells),
            str(one.n_merged),
            number_down(one.rate, 6),
            str(one.n_draws),
            cell_words(one.binding[:2]),
        )
        for one in design.merges
    ]


def noise_rows(design: DesignFacts) -> list[tuple[str, ...]]:
    """Return a row for each rate at which noise is shown."""
    return [
        (
            one.what,
            number_down(one.rate, 6),
            number_down(one.noise_epsilon, 6),
            f"{one.standard_deviation:.4g}",
            f"{one.scaled:.4g}",
        )
        for one in design.noise
    ]


def error_rows(design: DesignFacts, *, most: int = SHOWN) -> list[tuple[str, ...]]:
    """Return a row for a cell: of many the smallest and the largest ones."""
    by_size = sorted(design.cells, key=lambda cell: cell.count)
    if len(by_size) > most:
        half = most // 2
        by_size = by_size[:half] + by_size[half - most :]
    rows: list[tuple[str, ...]] = []
    for cell in by_size:
        error = design.sampling_errors[cell.name]
        share = f"{100 * error / cell.count:.3g}%" if cell.count and math.isfinite(error) else ""
        rows.append((cell.name, str(cell.count), f"{error:.4g}", share))
    return rows


def strata_rows(design: DesignFacts) -> list[tuple[str, ...]]:
    """Return a row for each stratum."""
    return [
        (
            str(one.name),
            str(one.n_records),
            str(one.n_draws),
            str(one.largest_draws),
            upper_text(one.log_delta.upper),
            cell_words(one.binding[:2]),
        )
        for one in design.strata
    ]


def design_dict(design: DesignFacts) -> dict[str, object]:
    """Return everything for JSON; logarithms are natural, floats of delta rounded up."""
    lower, upper = design.log_delta.linear()
    return {
        "what": "smoothed delta" if design.model is not None else "delta(x)",
        "epsilon": float(design.epsilon),
        "epsilon_exact": exact_text(design.epsilon),
        "target_delta": exact_text(design.target),
        "n_records": design.n_records,
        "n_cells": len(design.cells),
        "n_draws": design.n_draws,
        "rate": float(rate_words(design)),
        "rate_exact": str(design.rate),
        "is_largest": design.is_largest,
        "undecided": [design.undecided.start, design.undecided.stop - 1]
        if design.undecided
        else None,
        "delta": min(upper, float(number_up(design.ordinary_delta, 17))),
        "delta_lower": lower,
        "log_delta": _finite(design.log_delta),
        "ordinary_delta": float(number_up(design.ordinary_delta, 17)),
        "one_over_n": 1 / design.n_records,
        "method": design.method,
        "pinned": design.pinned,
        "binding": [_cell_dict(cell) for cell in design.binding],
        "merges": [
            {
                "n_cells": one.n_cells,
                "n_merged": one.n_merged,
                "n_draws": one.n_draws,
                "rate": rate_float(one.rate),
                "rate_exact": str(one.rate),
                "merged": list(one.labels),
                "binding": [_cell_dict(cell) for cell in one.binding],
            }
            for one in design.merges
        ],
        "noise": [one.to_dict() for one in design.noise],
        "sampling_errors": {
            name: error if math.isfinite(error) else None
            for name, error in design.sampling_errors.items()
        },
        "strata": [
            {
                "name": one.name,
                "n_records": one.n_records,
                "n_draws": one.n_draws,
                "largest_draws": one.largest_draws,
                "log_delta": _finite(one.log_delta),
                "binding": [_cell_dict(cell) for cell in one.binding],
            }
            for one in design.strata
        ],
        "cautions": list(cautions(design)),
        "sentence": sentence(design),
    }


def _cell_dict(cell: Cell) -> dict[str, object]:
    named = {} if cell.stratum is None else {"stratum": cell.stratum}
    return {**named, "label": cell.label, "count": cell.count}


def _finite(logs: LogBounds) -> float | None:
    return logs.upper if math.isfinite(logs.upper) else None
