"""The sections of every report: promise, curves, how to reproduce the page, citation."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.release import library_version
from smoothdp.errors import IncompatibleClaims, SmoothdpError
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real, float_of
from smoothdp.plots import plot_profiles, plot_tradeoff
from smoothdp.plots.inputs import tradeoff_of
from smoothdp.report.html.page import Section
from smoothdp.sources import Source, bibtex
from smoothdp.text import number_up, upper_text

if TYPE_CHECKING:
    from smoothdp.claims.guarantees.guarantee import Guarantee
    from smoothdp.exact.parameters.numbers import Parameter
    from smoothdp.paper_bounds import Bound
    from smoothdp.plots.inputs import HasProfile

_LN10 = math.log(10)
_ALPHAS = (0.01, 0.05, 0.2)
# Interpolation: exponentials, differences, a quotient and two products of positive floats.
_ROUNDING = 1e-12


def promise_section(
    guarantee: Guarantee,
    *,
    rows_per_person: int = 5,
    n_records: int | None = None,
    delta_at_zero: Parameter | None = None,
    about_person: str = "",
) -> Section:
    """Return the guarantee in plain words, for one row and for a person with several.

    Args:
        guarantee: the promise. rows_per_person: of somebody for whom it is widened.
        n_records, delta_at_zero: as of `Guarantee.sentence`.
        about_person: the promise where it is about a person with all rows: it is not widened.
    """
    section = Section("The guarantee in plain words")
    promise = about_person or guarantee.sentence(n_records=n_records, delta_at_zero=delta_at_zero)
    section.text(promise, kind="promise")
    section.text(f"As a claim: {guarantee!r}.")
    if about_person:
        section.text("It speaks of a person with all rows, however many there are.")
    else:
        wider = _wider(guarantee, rows_per_person, n_records)
        section.text(f"It speaks of one row. For someone with {rows_per_person} rows: {wider}")
    section.text(
        "It holds whatever else the reader knows, and for every use that is made of the output. "
        "It does not say that nothing is learned about people in general: what holds for a "
        "population can be read from the output, as it should. Other releases about the same "
        "people add up."
    )
    return section


def _wider(guarantee: Guarantee, rows_per_person: int, n_records: int | None) -> str:
    try:
        return guarantee.sentence(rows_per_person=rows_per_person, n_records=n_records)
    except IncompatibleClaims:
        return "this notion has no such rule; make the claim about whole persons from the start."


def curves_section(
    curves: Mapping[str, PrivacyProfile | HasProfile],
    main: PrivacyProfile,
    *,
    largest_epsilon: float,
    reference: tuple[float, str] | None = None,
    note: str = "",
) -> Section:
    """Return privacy profiles and trade-off curves, described by those of ``main``."""
    section = Section("Curves")
    # At the epsilons that are printed: delta is more at one rounded down.
    points = [float(f"{largest_epsilon * share:.3g}") for share in (0.25, 0.5, 0.75)]
    read_off = ", ".join(f"{upper_text(main.log_delta(e))} at epsilon {e:.3g}" for e in points)
    labels = ", ".join(curves)
    section.picture(
        plot_profiles(
            curves,
            largest_epsilon=largest_epsilon,
            title="privacy profile",
            reference=reference,
            n_points=81,
        ),
        alt=f"Line chart of delta against epsilon from 0 to {largest_epsilon:.3g}, delta on a "
        f"logarithmic scale: {labels}. The first falls: delta is at most {read_off}.",
        caption="Privacy profile: for every factor e^epsilon, the share delta of outcomes that may "
        f"exceed it. The first curve is at most {read_off}. {note}",
        name="profile",
    )
    curve = tradeoff_of(main)
    errors = ", ".join(
        f"{math.floor(1000 * curve(a)) / 10}% at {100 * a:g}% false alarms" for a in _ALPHAS
    )
    section.picture(
        plot_tradeoff(curves, title="trade-off between the two errors of an attacker"),
        alt="Line chart of the misses of the best attacker against the false alarms, with the "
        f"straight line of guessing: {labels}. For the first, misses are at least {errors}.",
        caption="Trade-off curve: an attacker who decides from the output which of two "
        f"neighbouring data sets was used must miss at least {errors} (the first curve). The "
        f"nearer to the straight line, the less can be told. {note}",
        name="tradeoff",
    )
    return section


def reproduce_section(command: str, python: str) -> Section:
    """Return how to get the same page, and the same numbers in Python."""
    section = Section("How to reproduce")
    section.text(f"With smoothdp {library_version()}, this page is written by:")
    section.code(command)
    section.text("The same numbers in Python:")
    section.code(python)
    section.text(
        "Every privacy figure is an upper bound: rounding, truncation and dropped tails go "
        "outwards, and printed figures are rounded up."
    )
    return section


def citation_section(sources: Iterable[Source]) -> Section:
    """Return where things come from, with BibTeX of what is published."""
    section, named = Section("Citation"), list(dict.fromkeys(sources))
    for source in named:
        own = f"In no publication; it rests on: {source.where}"
        section.text(str(source) if source.is_published else own)
    keys = dict.fromkeys(source.key for source in named if source.is_published)
    if keys:
        section.code("\n\n".join(bibtex(key, with_url=False) for key in keys))
    return section


def log_text(log_value: float) -> str:
    """Return e^log_value, rounded up, with its log10 where floats end."""
    words = upper_text(log_value)
    return words if log_value > -700 else f"{words} (log10 {log_value / _LN10:.1f})"


def up(value: float) -> str:
    """Return a nonnegative figure, rounded up to four digits."""
    return number_up(value) if math.isfinite(value) else "none"


def bound_text(bound: Callable[..., Bound], setting: Mapping[str, Any]) -> str:
    """Return a bound of a paper in words; "none" where its conditions fail."""
    try:
        return log_text(min(0.0, bound(**setting).log))
    except SmoothdpError:
        return "none: its conditions do not hold"


@dataclass(frozen=True)
class ChordProfile(PrivacyProfile):
    """An upper bound of a privacy profile from its values at a few epsilons.

    delta is convex in e^epsilon (a largest value of p - e^epsilon q, or an expectation of such
    values), so that a chord of delta lies above delta; beyond the last epsilon delta does not
    rise. There is no lower bound.

    Attributes:
        points: (epsilon, ln of an upper bound of delta there), epsilon rising from 0.
    """

    points: tuple[tuple[float, float], ...]

    @classmethod
    def of(cls, log_delta: Callable[[float], float], epsilons: Sequence[float]) -> ChordProfile:
        """Ask for ln delta at rising epsilons, of which the first is 0."""
        return cls(tuple((epsilon, min(0.0, log_delta(epsilon))) for epsilon in epsilons))

    @property
    def neighbours(self) -> Neighbours:
        return Neighbours.REPLACE_ONE

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        at = float_of(epsilon)
        for (left, before), (right, after) in pairwise(self.points):
            if left <= at < right:
                return LogBounds(-math.inf, _chord(at, (left, before), (right, after)))
        return LogBounds(-math.inf, self.points[-1][1])


def _chord(at: float, near: tuple[float, float], far: tuple[float, float]) -> float:
    """Return ln of the chord in e^epsilon, rounded up: the shares lie in [0, 1]."""
    (left, before), (right, after) = near, far
    share = math.expm1(at - left) / math.expm1(right - left)
    top = max(before, after)
    if top == -math.inf:
        return top
    mixed = (1 - share) * math.exp(before - top) + share * math.exp(after - top)
    # 1 - share is rounded by a unit, which the larger end bounds.
    return min(0.0, top + math.log(mixed + _ROUNDING) + _ROUNDING)
