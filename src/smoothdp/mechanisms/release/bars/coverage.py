"""What an error bar covers: the statistic of the data, or a figure of the population.

The statistic: the very one that is released, at every database, with at least the probability
asked for. Where a window stands in for a median or quantile the statistic is the mean of the
window, and not the plain quantile, which that mean may miss by any part of the bounds: of 15,001
zeros and 14,999 hundreds the median is 0, and the mean of a window of 40 near 50. `words` says so.

Beyond it the records must be a sample of independent draws, and the coverage is nominal, not
conservative (for quantiles checked, not proved: proofs/error-bars#8):

* population: S is at least the winsorised range over w, so that the deviation of the statistic
  over samples is about c sqrt(n) S at most, c^2 = max p (1 - p) over p in [lo / n, 1 - hi / n].
  It needs a continuous density at the quantile: ties and gaps there break it (measured: .54 to
  .88 for a nominal .95). A trimmed mean is taken for the mean between the trimming quantiles.
* mean: that interval, widened by what trimming d = (lo + hi) / n of the probability can move a
  mean: sigma sqrt(d / (1 - d)) for a stated bound sigma of the deviation, else
  d max(b - lower, upper - a). The target is the mean of the values clamped to the bounds.

Source: proofs/error-bars#6, #7, #9.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, cast, get_args

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, exact_positive
from smoothdp.mechanisms.release.statistic_words import (
    clamped_words,
    stands_for,
    statistic_words,
)
from smoothdp.queries import Mean, Median, Quantile, Query, TrimmedMean, WindowMean
from smoothdp.queries.statistic import Statistic

Target = Literal["statistic", "population", "mean"]

_LEAST_MISS = Fraction(1, 10**9)


@dataclass(frozen=True, slots=True)
class Coverage:
    """A confidence, and the figure that the interval covers with it.

    Attributes:
        confidence: from 1e-9 to 1 - 1e-9.
        target: "statistic", "population" or "mean".
        sd_bound: a stated bound on the deviation of a record, for "mean".
    """

    confidence: Fraction
    target: Target = "statistic"
    sd_bound: Fraction | None = None

    @classmethod
    def read(
        cls, confidence: Parameter, *, covers: str = "statistic", sd_bound: Parameter | None = None
    ) -> Coverage:
        """Return the coverage that is asked for, or raise InvalidParameter.

        >>> Coverage.read(0.95)
        Coverage(confidence=Fraction(19, 20), target='statistic', sd_bound=None)
        """
        level = exact_fraction(confidence, name="confidence")
        if not _LEAST_MISS <= level <= 1 - _LEAST_MISS:
            raise InvalidParameter(
                expected="confidence between 1e-9 and 1 - 1e-9",
                got=f"confidence={confidence}",
                remedy="Give a probability such as 0.95",
            )
        target = _read_target(covers)
        if sd_bound is not None and target != "mean":
            raise InvalidParameter(
                expected='sd_bound only with covers="mean"',
                got=f"covers={covers!r}",
                remedy='Leave sd_bound out, or use covers="mean"',
            )
        bound = None if sd_bound is None else exact_positive(sd_bound, name="sd_bound")
        return cls(level, target, bound)

    def check(self, query: Statistic, n_records: int | None, *, is_rounded: bool) -> None:
        """Refuse what the statements do not hold for; asks for no data.

        Args:
            query: window and all. is_rounded: whether the caller gave a step for the output.
        """
        if self.target == "statistic":
            return
        if not isinstance(query, Query):
            raise InvalidParameter(
                expected=f"a window of order statistics for covers={self.target!r}",
                got=query.describe(),
                remedy='Use covers="statistic"',
            )
        assert n_records is not None  # n is public
        if is_rounded:
            raise InvalidParameter(
                expected=f"no round_to with covers={self.target!r}, which needs a continuous "
                "density",
                got="round_to",
                remedy='Use covers="statistic", which holds for all data',
            )
        low, high = query.drops(n_records)
        if low == high == 0 and self.sd_bound is not None:
            raise InvalidParameter(
                expected="sd_bound where values are left out, whose part in the mean it bounds",
                got=f"the {query.describe()}, which leaves none out",
                remedy="Leave sd_bound out",
            )
        if (low == 0) != (high == 0) or query.truncate != "inputs":
            raise InvalidParameter(
                expected="values left out on both sides, inputs clamped, for "
                f"covers={self.target!r}",
                got=query.describe(),
                remedy='Use covers="statistic"',
            )
        if self.target == "mean" and not isinstance(query, Mean | TrimmedMean | WindowMean):
            raise InvalidParameter(
                expected='a mean for covers="mean"',
                got=query.describe(),
                remedy='Use covers="population"',
            )

    def sampling(self, query: Statistic, n_records: int | None) -> float:
        """Return c sqrt(n): the deviation of the statistic over samples, in units of S."""
        if self.target == "statistic" or not isinstance(query, Query) or n_records is None:
            return 0.0
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
        """Return what is covered, in words.

        Args:
            query: window and all. n_records: n, which says how many values a share leaves, and
                which rank is meant; without it the words hold for every n.

        >>> from smoothdp.queries import Maximum
        >>> Coverage.read("0.95").words(Maximum((0, 9)), 1000)
        'the largest value of these records, each value clamped to [0, 9]'
        """
        if self.target == "statistic":
            return _statistic(query, n_records)
        if self.target == "mean":
            deviation = (
                "" if self.sd_bound is None else f", deviation at most {float(self.sd_bound):g}"
            )
            return f"the population's mean of values clamped to the bounds{deviation} (nominal)"
        if isinstance(query, Median | Quantile):
            return "the population's quantile, if the density there is continuous (nominal)"
        return "the population's mean between the trimming quantiles (nominal)"


def _statistic(query: Statistic, n_records: int | None) -> str:
    if not isinstance(query, Query):
        return f"of these data the {query.describe()}"
    if n_records is None:
        return f"of these records the {query.describe()}"
    words = f"{statistic_words(query, n_records)} of these records, {clamped_words(query)}"
    plain = stands_for(query, n_records)
    return f"{words}; not {plain.replace('the', 'their', 1)}" if plain else words


def read_coverage(
    confidence: Parameter | None, *, covers: str, sd_bound: Parameter | None
) -> Coverage | None:
    """Return `Coverage.read`, None without a confidence; raises InvalidParameter."""
    if confidence is not None:
        return Coverage.read(confidence, covers=covers, sd_bound=sd_bound)
    if _read_target(covers) != "statistic" or sd_bound is not None:
        raise InvalidParameter(
            expected="a confidence with covers or sd_bound",
            got="confidence=None",
            remedy="Give confidence=0.95",
        )
    return None


def _read_target(covers: str) -> Target:
    if covers in get_args(Target):
        return cast("Target", covers)
    raise InvalidParameter(
        expected='covers "statistic", "population" or "mean"',
        got=f"covers={covers!r}",
        remedy='Use covers="statistic", which holds for all data',
    )
