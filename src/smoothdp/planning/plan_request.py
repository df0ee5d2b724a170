"""The arguments of a plan, read once: a statistic, a guarantee, n, and what is assumed."""

from __future__ import annotations

from dataclasses import dataclass

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import IncompatibleClaims, InvalidParameter, OutOfReach
from smoothdp.exact.parameters.numbers import Parameter, exact_int
from smoothdp.mechanisms.release.bars.coverage import Coverage, read_coverage
from smoothdp.planning.alternatives import MIDPOINT, Alternative
from smoothdp.planning.candidates import plain
from smoothdp.planning.expected.assumption import Assumption, read_assumption
from smoothdp.planning.expected.simulated_samples import Drops
from smoothdp.queries import Median, Quantile, Quantiles, Query, TrimmedMean

_MOST_RECORDS = 10**15
_OF_QUANTILES = ("quantile", "population")


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The arguments of `smoothdp.plan`, validated: all of them are public.

    Attributes:
        query: the statistic as it was asked for. guarantee: what the release is to promise.
        n_records: n. assumption: what is assumed of a record.
        may_change_trim: whether another trimming may take the place of that of ``query``.
        coverage: of the error bars that the release is to have; None: none.
    """

    query: Query
    guarantee: Guarantee
    n_records: int
    assumption: Assumption
    may_change_trim: bool = False
    coverage: Coverage | None = None

    @classmethod
    def read(
        cls,
        query: Query,
        *,
        guarantee: Guarantee,
        n_records: int,
        assuming: object = None,
        may_change_trim: bool = False,
        confidence: Parameter | None = None,
        covers: str | None = None,
    ) -> PlanRequest:
        """Return the request, or raise what `smoothdp.plan` raises.

        >>> from smoothdp.claims import PureDP
        >>> PlanRequest.read(Median((0, 9)), guarantee=PureDP(1), n_records=99).is_quantile
        True
        """
        n = exact_int(n_records, name="n_records", minimum=1)
        if n > _MOST_RECORDS:
            raise OutOfReach(
                expected="n_records <= 10^15", got=f"{n}", remedy="Plan for fewer records"
            )
        _check(query, guarantee)
        coverage = read_coverage(query, confidence, covers=covers, sd_bound=None)
        assumption = read_assumption(assuming, query.bounds)
        return cls(query, guarantee, n, assumption, may_change_trim, coverage)

    @property
    def has_quantile_bars(self) -> bool:
        """Whether bars are to cover the plain quantile, or the population's."""
        return (
            self.is_quantile and self.coverage is not None and self.coverage.target in _OF_QUANTILES
        )

    @property
    def bounds(self) -> tuple[float, float]:
        """The bounds of the statistic as floats."""
        return float(self.query.bounds[0]), float(self.query.bounds[1])

    @property
    def asked(self) -> Drops | None:
        """What the statistic that was asked for leaves out; None where trimming may change."""
        if isinstance(self.query, TrimmedMean) and self.may_change_trim:
            return None
        reference = plain(self.query) if self.is_quantile else self.query
        return reference.drops(self.n_records)

    def compared(self, choice: Alternative) -> float:
        """Return the error that choices are compared by, of those that know theirs.

        Against the statistic of the records that was asked for; where trimming may change, against
        the population's mean, so that trimming counts as bias. The middle of the bounds is judged
        by the records even then: an assumption may put the population's mean into the middle.
        """
        by_records = self.asked is not None or choice.method == MIDPOINT
        error = choice.privacy_rmse if by_records else choice.rmse
        assert error is not None
        return error

    @property
    def is_quantile(self) -> bool:
        """Whether the statistic is a median or another quantile."""
        return isinstance(self.query, Median | Quantile)


def _check(query: object, guarantee: object) -> None:
    if isinstance(query, Quantiles):
        raise InvalidParameter(
            expected="one statistic in a plan, such as Quantile(q, bounds=...)",
            got=f"Quantiles of {len(query.levels)} levels",
            remedy="Release them without a plan, whose rules see no data either: smoothdp.release",
        )
    if not isinstance(query, Query):
        raise InvalidParameter(
            expected="a statistic such as Median((0, 100))",
            got=f"query={query!r}",
            remedy="Give a statistic of smoothdp.queries",
        )
    if query.truncate != "inputs":
        raise InvalidParameter(
            expected='truncate="inputs" in a plan',
            got="output",
            remedy="Release without a plan: smoothdp.release has rules for this",
        )
    if not isinstance(guarantee, Guarantee):
        raise InvalidParameter(
            expected="a guarantee such as PureDP(1)",
            got=f"guarantee={guarantee!r}",
            remedy="Give a guarantee, such as PureDP(1)",
        )
    if guarantee.neighbours is not Neighbours.REPLACE_ONE:
        raise IncompatibleClaims(
            expected="a guarantee about replacing one record",
            got=f"{guarantee!r}",
            remedy=(
                'Give a guarantee with neighbours="replace_one", such as PureDP(1); where the '
                "number of records is private, release without a plan: smoothdp.release has rules "
                "for it, with n_guess="
            ),
        )
