"""The middle of the bounds, which reads no data: what a release has to beat."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.release import Release, library_version
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.release.grid import OutputGrid, finest_step
from smoothdp.queries.read_arguments import Bounds, bounds_text, read_values
from smoothdp.sources import Source


@dataclass(frozen=True, slots=True)
class Midpoint:
    """A constant, (a + b) / 2: it keeps every guarantee, and costs nothing.

    Source: proofs/release-rules#5.

    Attributes:
        bounds: (a, b), fixed without the data. guarantee: what is stated; any is true.
        step: of the output, if the caller gave one.

    >>> from smoothdp.claims import PureDP
    >>> Midpoint((Fraction(0), Fraction(5)), PureDP(1)).release([1, 2, 5]).value
    2.5
    """

    source: ClassVar[Source] = Source("own", "proofs/release-rules#5")
    bounds: Bounds
    guarantee: Guarantee
    step: Fraction | None = None

    def profile(self) -> PrivacyProfile:
        """Return the profile of the guarantee."""
        return self.guarantee.profile()

    def describe(self) -> str:
        """Return the mechanism in words."""
        return f"the middle of the bounds {bounds_text(self.bounds)}; no data were used"

    def read(self, data: object) -> object:
        """Return the column, checked as every mechanism does."""
        return read_values(data)

    def release(self, data: object, *, rng: Entropy | None = None) -> Release[float | int]:
        """Return the middle of the bounds, whatever the data are."""
        del data
        source = read_rng(rng)
        step = finest_step(self.bounds) if self.step is None else self.step
        is_whole = self.step is not None and step.denominator == 1
        grid = OutputGrid(step, self.bounds, is_whole)
        lowest, highest = grid.limits()
        index = min(max(round(sum(self.bounds) / (2 * step)), lowest), highest)
        return Release(
            grid.number(index),
            self.guarantee,
            self.describe(),
            source.is_private,
            library_version(),
            (self.source,),
        )
