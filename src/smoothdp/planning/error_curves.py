"""How the error of the best plan falls with n and with epsilon: data for a plot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_real, float_of
from smoothdp.planning.plan_request import PlanRequest
from smoothdp.planning.search import best_plan
from smoothdp.queries import Query

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class ErrorPoint:
    """The errors of the best plan at one n or one epsilon (x), as in `Plan` under an assumption.

    >>> ErrorPoint(1000, 0.12, 0.1, 0.11, 0.05).rmse
    0.12
    """

    x: float
    rmse: float
    rmse_without_privacy: float
    rmse_lower_bound: float
    privacy_rmse: float


def errors_by_size(
    query: Query, sizes: Iterable[int], *, guarantee: Guarantee, assuming: object = None
) -> list[ErrorPoint]:
    """Return the errors of a new plan for each number of records.

    Raises:
        InvalidParameter, IncompatibleClaims, InvalidData: as `plan`, or nothing assumed of the
            data, on which errors depend.

    >>> from scipy import stats
    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.queries import Median
    >>> points = errors_by_size(
    ...     Median((0, 100)), [100, 1000], guarantee=PureDP(1), assuming=stats.norm(40, 9)
    ... )
    >>> points[0].rmse > points[1].rmse
    True
    """
    numbers = _listed(sizes, "numbers of records, such as [100, 1000]")
    return [
        _point(n, PlanRequest.read(query, guarantee=guarantee, n_records=n, assuming=assuming))
        for n in numbers
    ]


def errors_by_epsilon(
    query: Query,
    guarantees: Iterable[tuple[Parameter, Guarantee]],
    *,
    n_records: int,
    assuming: object = None,
) -> list[ErrorPoint]:
    """Return the errors of a new plan for each (x, guarantee), x being what a plot shows.

    Raises:
        InvalidParameter, IncompatibleClaims, InvalidData: as `errors_by_size`, or no number for x.

    >>> from scipy import stats
    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.queries import Median
    >>> targets = [(epsilon, PureDP(epsilon)) for epsilon in ("0.1", "1")]
    >>> points = errors_by_epsilon(
    ...     Median((0, 100)), targets, n_records=500, assuming=stats.norm(40, 9)
    ... )
    >>> points[0].privacy_rmse > points[1].privacy_rmse
    True
    """
    return [
        _point(
            float_of(exact),
            PlanRequest.read(query, guarantee=guarantee, n_records=n_records, assuming=assuming),
        )
        for x, guarantee in _listed(guarantees, 'pairs such as [("1", PureDP("1"))]')
        for exact in [exact_real(x, name="epsilon")]
    ]


def _listed(values: Iterable[_Item], expected: str) -> list[_Item]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidParameter(expected=expected, got=repr(values), remedy="Give a list")
    listed = list(values)
    if not listed:
        raise InvalidParameter(expected=expected, got="an empty list", remedy="Name at least one")
    return listed


def _point(x: float, request: PlanRequest) -> ErrorPoint:
    made = best_plan(request)
    errors = (made.rmse, made.rmse_without_privacy, made.rmse_lower_bound, made.privacy_rmse)
    known = [error for error in errors if error is not None]
    if len(known) < len(errors):
        raise InvalidParameter(
            expected="an assumption about the data, on which errors depend",
            got="assuming=None",
            remedy="Give a frozen distribution of scipy or a public sample",
        )
    return ErrorPoint(x, *known)
