"""What an error bar covers: a quantile or a mean of the data, the window, or of the population.

* quantile: of the records, the plain one, whatever they are. The released value is the mean of a
  window, which may be far from the quantile in units of the data, but not in units of the smooth
  sensitivity: so a longer interval covers it (proofs/quantile-bars#1, #3, #8).
* population, of a median or quantile: of any law that records are drawn from independently, ties
  and gaps included, by a mixture over the ranks (proofs/quantile-bars#4).
* window: what is released before noise, such as the mean of the window (proofs/error-bars#2).
* mean: of all records, where none is left out (proofs/error-bars#5).

For means that leave values out, as they were before (proofs/error-bars#6, #7, #9), and nominal:

* population: S is at least the winsorised range over w, so that the deviation of the statistic
  over samples is about c sqrt(n) S at most, c^2 = max p (1 - p) over p in [lo / n, 1 - hi / n].
  A trimmed mean is taken for the mean between the trimming quantiles.
* mean: that interval, widened by what trimming d = (lo + hi) / n of the probability can move a
  mean: sigma sqrt(d / (1 - d)) for a stated bound sigma of the deviation, else
  d max(b - lower, upper - a). The target is the population's mean of values clamped to the bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import (
    Parameter,
    exact_fraction,
    exact_positive,
    exact_text,
)
from smoothdp.mechanisms.release.bars.coverage_words import coverage_words
from smoothdp.mechanisms.release.bars.targets import (
    Target,
    default_target,
    is_quantile,
    read_target,
)
from smoothdp.queries import Mean, Median, Quantile, Query, TrimmedMean, WindowMean
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.queries.statistic import Statistic

_LEAST_MISS = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class Coverage:
    """A confidence, and the figure that the interval covers with it.

    Attributes:
        confidence: from 1e-9 to 1 - 1e-9.
        target: "quantile", "population", "window" or "mean".
        sd_bound: a stated bound on the deviation of a record, for the mean of a population.
    """

    confidence: Fraction
    target: Target = "window"
    sd_bound: Fraction | None = None

    @classmethod
    def read(
        cls, confidence: Parameter, *, covers: str = "window", sd_bound: Parameter | None = None
    ) -> Coverage:
        """Return the coverage that is asked for, or raise InvalidParameter.

        >>> Coverage.read(0.95)
        Coverage(confidence=Fraction(19, 20), target='window', sd_bound=None)
        """
        level = exact_fraction(confidence, name="confidence")
        if not _LEAST_MISS <= level <= 1 - _LEAST_MISS:
            raise InvalidParameter(
                expected="confidence between 1e-9 and 1 - 1e-9",
                got=f"confidence={confidence}",
                remedy="Give a probability such as 0.95",
            )
        target = read_target(covers)
        if sd_bound is not None and target != "mean":
            raise InvalidParameter(
                expected='sd_bound only with covers="mean"',
                got=f"covers={covers!r}",
                remedy='Leave sd_bound out, or use covers="mean"',
            )
        bound = None if sd_bound is None else exact_positive(sd_bound, name="sd_bound")
        return cls(level, target, bound)

    @property
    def miss(self) -> float:
        """1 less the confidence."""
        return float(1 - self.confidence)

    def check(self, query: Statistic, n_records: int | None, *, is_rounded: bool) -> None:
        """Refuse what the statements do not hold for; asks for no data.

        Args:
            query: window and all. is_rounded: whether the caller gave a step for the output.
        """
        if self.target == "window":
            return
        if isinstance(query, PaddedWindow):
            self._check_private_size(query)
            return
        if not isinstance(query, Query):
            raise InvalidParameter(
                expected=f"a window of order statistics for covers={self.target!r}",
                got=query.describe(),
                remedy='Use covers="window"',
            )
        if self.target == "quantile" or (
            self.target == "population" and isinstance(query, Median | Quantile)
        ):
            self._check_quantile(query)
            return
        assert n_records is not None  # n is public
        low, high = query.drops(n_records)
        if self.target == "mean" and low == high == 0 and query.truncate == "inputs":
            if self.sd_bound is not None:
                raise InvalidParameter(
                    expected="sd_bound where values are left out, whose part in the mean it bounds",
                    got=f"the {query.describe()}, which leaves none out",
                    remedy="Leave sd_bound out",
                )
            return
        if is_rounded:
            raise InvalidParameter(
                expected=f"no round_to with covers={self.target!r}, which is nominal here",
                got="round_to",
                remedy='Use covers="window", which holds for all data',
            )
        if (low == 0) != (high == 0) or query.truncate != "inputs":
            raise InvalidParameter(
                expected="values left out on both sides, inputs clamped, for "
                f"covers={self.target!r}",
                got=query.describe(),
                remedy='Use covers="window"',
            )
        if self.target == "mean" and not isinstance(query, Mean | TrimmedMean | WindowMean):
            raise InvalidParameter(
                expected='a mean for covers="mean"',
                got=query.describe(),
                remedy='Use covers="quantile"',
            )

    def _check_quantile(self, query: Query) -> None:
        if not is_quantile(query):
            raise InvalidParameter(
                expected=f"a median, or a quantile with 0 < q < 1, for covers={self.target!r}",
                got=query.describe(),
                remedy='Use covers="window", which covers what is released',
            )

    def _check_private_size(self, query: PaddedWindow) -> None:
        if self.target != "quantile":
            raise InvalidParameter(
                expected='covers "quantile" or "window" where the number of records is private: '
                "how far a sample is from its population depends on that number",
                got=f"covers={self.target!r}",
                remedy="Leave covers out, or replace one record with the number public",
            )
        if query.offset != 0 or not 0 < query.level < 1 or query.width < 2 * query.step:
            raise InvalidParameter(
                expected=f"a window of at least {exact_text(2 * query.step)} ranks around a level "
                'strictly between 0 and 1, for covers="quantile"',
                got=query.describe(),
                remedy='Widen the window, leave it out, or use covers="window"',
            )

    def is_nominal(self, query: Statistic, n_records: int | None) -> bool:
        """Whether the coverage is that of a large sample, and no promise."""
        if self.target not in ("population", "mean") or not isinstance(query, Query):
            return False
        if isinstance(query, Median | Quantile):
            return False
        is_all = n_records is not None and query.drops(n_records) == (0, 0)
        return not (self.target == "mean" and is_all)

    def sampling(self, query: Statistic, n_records: int | None) -> float:
        """Return c sqrt(n): the deviation of a mean over samples, in units of S; else 0."""
        if not self.is_nominal(query, n_records):
            return 0.0
        assert isinstance(query, Query)
        assert n_records is not None
        low, high = query.drops(n_records)
        p = min(max(0.5, low / n_records), 1 - high / n_records)
        return math.sqrt(p * (1 - p) * n_records)

    def widened(
        self, lower: Fraction, upper: Fraction, query: Statistic, n_records: int | None
    ) -> tuple[Fraction, Fraction]:
        """Return an interval for the target, from one for what the window estimates."""
        if self.target != "mean" or not isinstance(query, Query) or n_records is None:
            return lower, upper
        share = Fraction(sum(query.drops(n_records)), n_records)
        if share == 0:
            return lower, upper
        least, greatest = query.bounds
        shift = share * max(greatest - lower, upper - least)
        if self.sd_bound is not None:
            root = math.sqrt(share / (1 - share)) * (1 + 1e-12)
            shift = min(shift, self.sd_bound * Fraction(root))
        return max(least, lower - shift), min(greatest, upper + shift)

    def words(self, query: Statistic, n_records: int | None = None) -> str:
        """Return in a sentence what the interval contains, and how surely.

        Args:
            query: window and all. n_records: n, which says how many values a share leaves, and
                which rank is meant; without it the words hold for every n.

        >>> from smoothdp.queries import Maximum
        >>> Coverage.read("0.95", covers="quantile").words(Median((0, 9)), 1000)[:69]
        'contains the median of these records with probability at least 0.95, '
        """
        return coverage_words(
            self.target,
            query,
            n_records,
            confidence=self.confidence,
            sd_bound=self.sd_bound,
            is_nominal=self.is_nominal(query, n_records),
        )


def read_coverage(
    query: object,
    confidence: Parameter | None,
    *,
    covers: str | None,
    sd_bound: Parameter | None,
    neighbours: Neighbours = Neighbours.REPLACE_ONE,
) -> Coverage | None:
    """Return `Coverage.read`, None without a confidence; raises InvalidParameter.

    Args:
        query: the statistic, which says what is covered where ``covers`` is None.
        neighbours: of the guarantee.
    """
    if confidence is not None:
        target = default_target(query, neighbours) if covers is None else covers
        return Coverage.read(confidence, covers=target, sd_bound=sd_bound)
    if covers is not None:
        read_target(covers)
    if covers is not None or sd_bound is not None:
        raise InvalidParameter(
            expected="a confidence with covers or sd_bound",
            got="confidence=None",
            remedy="Give confidence=0.95",
        )
    return None
