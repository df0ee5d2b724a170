"""A quantile by the exponential mechanism on ranks, over the real numbers between the bounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.neighbours import Neighbours
from smoothdp.claims.release import Release, library_version
from smoothdp.claims.sealed import Sealed
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.mechanisms.quantiles.exponential.cells import Cells
from smoothdp.mechanisms.quantiles.exponential.draws import drawn_step
from smoothdp.mechanisms.quantiles.exponential.expected_error import root_mean_square
from smoothdp.mechanisms.quantiles.exponential.slope import slope_of
from smoothdp.mechanisms.release.grid import OutputGrid, finest_step, read_step
from smoothdp.queries.private_size.known_column import KnownColumn
from smoothdp.queries.private_size.read_rows import read_rows
from smoothdp.queries.quantile import Quantile
from smoothdp.queries.read_arguments import Bounds, Values, bounds_text, read_bounds, read_values
from smoothdp.sources import Source


@dataclass(frozen=True, slots=True, init=False)
class ExponentialQuantile:
    """A draw from the density proportional to exp(-lambda |#{x < v} - q n|) on [a, b].

    Ranks near q n are likely: the error is about 2 / lambda gaps between values near the
    quantile, whatever the bounds are, once n min(q, 1 - q) epsilon is large; where it is small
    the noise is less than that of any window. Values that are tied or clamped leave no gap, so
    that of tied data a draw never hits the tie itself: give ``round_to`` where data lie on a grid.

    lambda = epsilon / 2 under pure DP, sqrt(2 rho) under zCDP and ln(Phi(mu/2) / Phi(-mu/2)) under
    Gaussian DP, over max(q, 1 - q) where records are added or removed
    (`smoothdp.mechanisms.quantiles.exponential.slope`). The draw is that of the ideal density over
    the reals, rounded once to a public grid: no grid of candidates is needed.

    Source: proofs/exponential-quantile#1, #2, #3, #4; the idea is McSherry and Talwar's.

    Args:
        q: from 0 to 1.
        bounds: (a, b), a < b; values are clamped to it. Fixed without looking at the data.
        guarantee: PureDP, ApproxDP (served by its epsilon alone), ZCDP, TruncatedCDP or
            GaussianDP, about replacing a record or about adding or removing one. In the latter
            case n is private: it may be 0, and no row is refused.
        round_to: a step for the output, such as 1 for whole numbers; None: that of the floats
            near the larger bound.

    Raises:
        InvalidParameter: an argument outside its domain, or a guarantee that allows no loss.
        IncompatibleClaims: a guarantee of another kind, or about other neighbours.

    >>> from smoothdp.exact.random.entropy import SeededRandom
    >>> from smoothdp.claims import PureDP
    >>> mechanism = ExponentialQuantile("0.5", bounds=(0, 100), guarantee=PureDP(1), round_to=1)
    >>> mechanism.release([40, 50, 55, 60, 70] * 20, rng=SeededRandom(1)).value
    57
    """

    source: ClassVar[Source] = Source("own", "proofs/exponential-quantile#2")
    q: Fraction
    bounds: Bounds
    guarantee: Guarantee
    step: Fraction | None
    slope: Fraction

    def __init__(
        self,
        q: Parameter,
        *,
        bounds: object,
        guarantee: Guarantee,
        round_to: Parameter | None = None,
    ) -> None:
        level = exact_fraction(q, name="q")
        if not 0 <= level <= 1:
            raise InvalidParameter(
                expected="0 <= q <= 1", got=f"q={q}", remedy="Give q=0.5 for the median"
            )
        if not isinstance(guarantee, Guarantee):
            raise InvalidParameter(
                expected="a guarantee such as PureDP(1)",
                got=f"guarantee={guarantee!r}",
                remedy="Give guarantee=PureDP(epsilon), or an ApproxDP, ZCDP or GaussianDP",
            )
        object.__setattr__(self, "q", level)
        object.__setattr__(self, "bounds", read_bounds(bounds))
        object.__setattr__(self, "guarantee", guarantee)
        object.__setattr__(self, "step", None if round_to is None else read_step(round_to))
        object.__setattr__(self, "slope", slope_of(guarantee, level))
        # Refuses here, before any data.
        self.grid.limits()

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return _made, (self.q, self.bounds, self.guarantee, self.step)

    @property
    def grid(self) -> OutputGrid:
        """The values that can come out: multiples of a step within the bounds."""
        if self.step is None:
            return OutputGrid(finest_step(self.bounds), self.bounds)
        return OutputGrid(self.step, self.bounds, self.step.denominator == 1)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release: that of the guarantee."""
        return self.guarantee.profile()

    def describe(self) -> str:
        """Return the mechanism and its public parameters in words."""
        return (
            f"the {float(self.q):g} quantile by the exponential mechanism on ranks: density "
            f"proportional to exp(-{float(self.slope):.6g} |rows below - {float(self.q):g} n|) on "
            f"{bounds_text(self.bounds)}; {self.grid.describe()}"
        )

    def read(self, data: object) -> Values:
        """Return the numbers of the column, checked; no row is refused where n is private."""
        if self.guarantee.neighbours is not Neighbours.ADD_REMOVE:
            return read_values(data)
        return data.whole() if isinstance(data, KnownColumn) else read_rows(data)

    def release(self, data: object, *, rng: Entropy | None = None) -> Release[float | int]:
        """Return a draw, and the guarantee.

        Args:
            data: one column. rng: `SystemRandom()` (default), or `SeededRandom`, marked not
                private.

        Raises:
            InvalidData: no column of finite numbers, where n is public.
        """
        source = read_rng(rng)
        cells = Sealed(self._cells(self.read(data)))
        grid = self.grid
        index = drawn_step(cells, step=grid.step, limits=grid.limits(), rng=source)
        return Release(
            grid.number(index),
            self.guarantee,
            self.describe(),
            source.is_private,
            library_version(),
            (self.source,),
        )

    def rmse(self, public_data: object, target: Parameter | None = None) -> float:
        """Return the root mean square error of a draw, before it is rounded, exactly to a float.

        Args:
            public_data: one column; the error is a function of it, and as private as it is.
            target: what the error is about; None: the value of rank floor(q (n - 1) + 1/2) + 1.

        Raises:
            InvalidData: no column of numbers, or no row and no target.

        >>> from smoothdp.claims import PureDP
        >>> mechanism = ExponentialQuantile("1/4", bounds=(0, 30), guarantee=PureDP("0.1"))
        >>> mechanism.rmse([1, 2, 4, 7, 11, 16, 22], target=4)
        13.4772462217876
        """
        values = self.read(public_data)
        if target is not None:
            about = exact_fraction(target, name="target")
        elif len(values):
            about = Fraction(Quantile(self.q, bounds=self.bounds, window=1).value(values))
        else:
            raise InvalidData(
                expected="a row, or target=", got="neither", remedy="Say what the error is about"
            )
        return root_mean_square(self._cells(values), about, self.bounds)

    def _cells(self, values: Values) -> Cells:
        """Return the cells of a column: as private as it is."""
        return Cells(values, self.q, self.bounds, slope=self.slope)


def _made(
    q: Fraction, bounds: Bounds, guarantee: Guarantee, step: Fraction | None
) -> ExponentialQuantile:
    """Return what was pickled, read anew."""
    return ExponentialQuantile(q, bounds=bounds, guarantee=guarantee, round_to=step)
