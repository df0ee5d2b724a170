"""A request with its statistic and smoothing chosen by rules that see no data."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_int
from smoothdp.mechanisms.private_size.rules import with_private_size
from smoothdp.mechanisms.release.arguments import resolve_smoothing
from smoothdp.mechanisms.release.defaults import resolve_window
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.queries import Query
from smoothdp.queries.statistic import Statistic


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a mechanism is made of, before its noise.

    Attributes:
        request: what was asked for. query: the statistic, window and all.
        n_records: n where it is public. smoothing: t.
    """

    request: ReleaseRequest
    query: Statistic
    n_records: int | None
    smoothing: Fraction


def resolve_request(request: ReleaseRequest, *, n_records: int | None) -> Resolved:
    """Return the request resolved, or raise what `SmoothNoise.calibrate` raises.

    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.queries import Median
    >>> request = ReleaseRequest.read(Median((0, 9)), guarantee=PureDP(1))
    >>> resolve_request(request, n_records=1001).smoothing
    Fraction(2, 25)
    """
    if request.has_private_size:
        if n_records is not None:
            raise InvalidParameter(
                expected="no n_records under a guarantee about adding or removing a record, "
                "which keeps it private",
                got=f"n_records={n_records}",
                remedy="Leave it out and give n_guess, or replace a record instead",
            )
        request = with_private_size(request)
    query, guarantee, coverage = request.query, request.guarantee, request.coverage
    assert isinstance(query, Statistic)
    if n_records is not None or isinstance(query, Query):
        n_records = exact_int(n_records, name="n_records", minimum=1)
    covers = None if coverage is None else coverage.target
    query = resolve_window(query, guarantee, n_records, covers=covers)
    query.check_size(n_records)
    rate = resolve_smoothing(query, guarantee, n_records, request.smoothing, covers=covers)
    if coverage is not None:
        coverage.check(query, n_records, is_rounded=request.step is not None)
    return Resolved(request, query, n_records, rate)
