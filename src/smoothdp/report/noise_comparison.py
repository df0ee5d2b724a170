"""All noise laws side by side for one guarantee and smoothing: theorem, exact, lower bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter, SmoothdpError
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, exact_text
from smoothdp.mechanisms.release.defaults import TABLE_ORDER
from smoothdp.noise import LAWS, NoiseDistribution
from smoothdp.noise.calibration import Calibration, best_shape, calibrate
from smoothdp.plots.canvas import save
from smoothdp.plots.noise import plot_densities
from smoothdp.report.paper_deviations import least_deviation, paper_deviation
from smoothdp.text import table

_MOST_SMOOTHING = 20


@dataclass(frozen=True, slots=True)
class NoiseRow:
    """One family of laws.

    Attributes:
        family: its name.
        paper_deviation: least standard deviation by the printed theorem, at smooth
            sensitivity 1, over shapes; None where there is none, or none that is true.
        calibration: the exact calibration at the best shape; None where there is none.
        why_not: the message of the library where there is no calibration.
    """

    family: str
    paper_deviation: float | None
    calibration: Calibration[NoiseDistribution] | None
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class NoiseTable:
    """Every family of laws for one guarantee and smoothing, as `noise_table` returns it.

    Attributes:
        guarantee, smoothing: what was asked for.
        rows: one for each family.
        least_deviation: no noise with this guarantee has a smaller standard deviation at
            smooth sensitivity 1; inf if none has a finite one; None if not known.

    Raises:
        InvalidParameter: a calibration for another guarantee.

    >>> import smoothdp as sd
    >>> table = sd.report.noise_table(sd.PureDP(1), smoothing="0.1")
    >>> [row.family for row in table.rows if row.calibration is not None]
    ['PolyPlace', 'StudentT', 'GeneralizedCauchy']
    """

    guarantee: Guarantee
    smoothing: Fraction
    rows: tuple[NoiseRow, ...]
    least_deviation: float | None

    def __post_init__(self) -> None:
        for row in self.rows:
            if row.calibration is not None and row.calibration.guarantee != self.guarantee:
                raise InvalidParameter(
                    expected=f"calibrations for {self.guarantee!r}",
                    got=f"one for {row.calibration.guarantee!r} in the row of {row.family}",
                    remedy="Make the table with noise_table()",
                )

    def text(self) -> str:
        """Return the table, with a legend."""
        header = ("law", "theorem", "exact", "label", "s", "gap", "exact / lower bound")
        rows = [self._cells(row) for row in self.rows]
        bound = "no lower bound is known for this guarantee"
        if self.least_deviation == math.inf:
            bound = "no noise has a finite one here"
        elif self.least_deviation is not None:
            bound = f"no noise can have less than {self.least_deviation:.4g}"
        none = "".join(f"\n{row.family}: {row.why_not}" for row in self.rows if row.why_not)
        return (
            f"Noise for {self.guarantee!r}, smoothing {exact_text(self.smoothing)}\n"
            "Standard deviations at smooth sensitivity 1, by the theorems as printed and exactly; "
            f"{bound}.\n\n{table(rows, header=header)}\n\n"
            "A release is f(x) + (S(x) / s) Z, S the smooth sensitivity. s is safe: rounded "
            "down, and `gap` bounds\nhow far below the largest it lies."
            f"{none}"
        )

    def _cells(self, row: NoiseRow) -> tuple[str, ...]:
        paper = "-" if row.paper_deviation is None else f"{row.paper_deviation:.4g}"
        calibration = row.calibration
        if calibration is None:
            return (row.family, paper, "none", "", "", "", "")
        ratio = "-"
        if self.least_deviation is not None:
            ratio = f"{calibration.standard_deviation / self.least_deviation:.3f}"
        gap = "-" if math.isinf(calibration.relative_gap) else f"{calibration.relative_gap:.0e}"
        return (
            repr(calibration.law),
            paper,
            f"{calibration.standard_deviation:.4g}",
            calibration.label,
            f"{calibration.shift:.6g}",
            gap,
            ratio,
        )

    def draw(self, path: str | Path) -> Path:
        """Write a picture of the densities of the noise, and return its path."""
        laws = {
            repr(row.calibration.law): (row.calibration.law, row.calibration.noise_scale(1))
            for row in self.rows
            if row.calibration is not None
        }
        title = f"noise for {self.guarantee!r}, smoothing {exact_text(self.smoothing)}"
        return save(plot_densities(laws, title=title), path)

    def to_dict(self) -> dict[str, object]:
        """Return everything for JSON."""
        infinite = self.least_deviation == math.inf
        return {
            "guarantee": repr(self.guarantee),
            "smoothing": exact_text(self.smoothing),
            # JSON has no infinity.
            "least_standard_deviation": None if infinite else self.least_deviation,
            "least_is_infinite": infinite,
            "laws": [
                {
                    "family": row.family,
                    "paper_standard_deviation": row.paper_deviation,
                    **_calibration_dict(row),
                }
                for row in self.rows
            ],
        }


def noise_table(
    guarantee: Guarantee,
    *,
    smoothing: Parameter,
    progress: Callable[[int, int], None] | None = None,
) -> NoiseTable:
    """Calibrate every family of noise laws, each at its best shape.

    Args:
        guarantee: PureDP, ApproxDP, ZCDP or TruncatedCDP.
        smoothing: t > 0.
        progress: called with (families done, families in all).

    Raises:
        InvalidParameter: another guarantee, or a smoothing outside its domain.

    >>> from smoothdp.claims import PureDP
    >>> "PolyPlace" in noise_table(PureDP(1), smoothing="0.1").text()
    True
    """
    t = exact_fraction(smoothing, name="smoothing")
    if not 0 < t <= _MOST_SMOOTHING:
        raise InvalidParameter(
            expected=f"0 < smoothing <= {_MOST_SMOOTHING}",
            got=f"smoothing={smoothing}",
            remedy="Give the smoothing of the sensitivity, such as 0.1",
        )
    rows = []
    for done, family in enumerate(sorted(LAWS, key=_table_position), 1):
        rows.append(_row(family, guarantee, t))
        if progress is not None:
            progress(done, len(LAWS))
    return NoiseTable(guarantee, t, tuple(rows), least_deviation(guarantee, t))


def _table_position(family: type[NoiseDistribution]) -> int:
    name = family.__name__
    return TABLE_ORDER.index(name) if name in TABLE_ORDER else len(TABLE_ORDER)


def _row(family: type[NoiseDistribution], guarantee: Guarantee, smoothing: Fraction) -> NoiseRow:
    paper = paper_deviation(family, guarantee, smoothing)
    try:
        law = best_shape(family, guarantee, smoothing=smoothing)
        calibration = calibrate(law, guarantee, smoothing=smoothing)
    except SmoothdpError as error:
        return NoiseRow(family.__name__, paper, None, str(error))
    return NoiseRow(family.__name__, paper, calibration)


def _calibration_dict(row: NoiseRow) -> dict[str, object]:
    calibration = row.calibration
    if calibration is None:
        return {"law": None, "why_not": row.why_not}
    return {
        "law": repr(calibration.law),
        "shift": calibration.shift,
        "standard_deviation": calibration.standard_deviation,
        "label": calibration.label,
        "relative_gap": None if math.isinf(calibration.relative_gap) else calibration.relative_gap,
        "reason": calibration.reason,
    }
