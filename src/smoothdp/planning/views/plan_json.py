"""Plans read from JSON, exactly as `Plan.to_json` wrote them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from smoothdp.claims.guarantees.codec import guarantee_from_json, once
from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.exact.parameters.numbers import exact_fraction, exact_int
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.bars.targets import read_target
from smoothdp.noise import LAWS
from smoothdp.noise.law import NoiseDistribution
from smoothdp.planning.alternatives import ERRORS, ERRORS_OF_OTHERS, WINDOW, Alternative, Replaced
from smoothdp.planning.expected.assumption import NOTHING, STAND_IN
from smoothdp.planning.planned import Plan
from smoothdp.planning.views.figures import PLAN_VERSION
from smoothdp.queries import STATISTICS, Median, Quantile, Query, TrimmedMean

_KNOWN = {
    *("type", "version", "guarantee", "n_records", "statistic", "caution", "query", "noise"),
    *("smoothing", *ERRORS, "assumption", "runners_up", "confidence", "half_width", "replaced"),
    *("noise_deviation", "rivals", "covers", "method", "gaps", "asked", "may_change_trim"),
}
_QUERIES: dict[str, Callable[..., Query]] = {kind.__name__: kind for kind in STATISTICS}
_LAWS: dict[str, Callable[..., NoiseDistribution]] = {law.__name__: law for law in LAWS}


def plan_from_json(text: str) -> Plan:
    """Return the plan that `Plan.to_json` wrote.

    What the file says of errors is believed; what it says of noise is calibrated anew before a
    release, so that no file can weaken the guarantee that it names.

    Raises:
        InvalidData: text that is no plan.

    >>> from smoothdp.planning.search import plan
    >>> from smoothdp.claims import PureDP
    >>> from smoothdp.queries import Median
    >>> made = plan(Median((0, 100)), guarantee=PureDP(1), n_records=1000)
    >>> plan_from_json(made.to_json()) == made
    True
    """
    try:
        fields = json.loads(text, object_pairs_hook=once, parse_constant=_no_number)
    except (TypeError, ValueError, RecursionError) as error:
        raise _refused(f"text that is not JSON ({error})") from None
    if not isinstance(fields, dict) or fields.get("type") != "Plan":
        raise _refused("JSON of another type")
    if fields.get("version") not in (1, PLAN_VERSION):
        raise _refused(f"version {fields.get('version')!r}")
    if more := sorted(set(fields) - _KNOWN):
        raise _refused(f"unknown fields {', '.join(more)}")
    try:
        query, law, smoothing = _read_choice(fields)
        plan = Plan(
            query=query,
            guarantee=guarantee_from_json(json.dumps(fields["guarantee"])),
            n_records=exact_int(fields["n_records"], name="n_records", minimum=1),
            noise=law,
            smoothing=smoothing,
            **{name: _read_number(fields[name]) for name in ERRORS},
            assumption=str(fields["assumption"]),
            runners_up=tuple(
                _read_alternative(alternative) for alternative in fields["runners_up"]
            ),
            confidence=_read_confidence(fields.get("confidence")),
            covers=_read_covers(fields),
            half_width=_read_number(fields.get("half_width")),
            replaced=_read_replaced(fields.get("replaced")),
            noise_deviation=_read_deviation(fields.get("noise_deviation")),
            method=str(fields.get("method", WINDOW)),
            gaps=_read_number(fields.get("gaps")),
            asked=None if fields.get("asked") is None else _read_query(fields["asked"]),
            may_change_trim=fields.get("may_change_trim", False) is True,
        )
    except KeyError as error:
        raise _refused(f"no field {error}") from None
    except (SmoothdpError, TypeError, ValueError, AttributeError) as error:
        raise _refused(f"fields that make none ({str(error).rstrip('.')})") from None
    if plan.assumption == STAND_IN:
        # An older version told errors where nothing was assumed.
        plan = replace(plan, assumption=NOTHING)
    is_told = plan.assumption != NOTHING and None not in [getattr(plan, e) for e in ERRORS]
    return plan if is_told else plan.without_errors()


def _no_number(text: str) -> None:
    raise ValueError(f"{text} for a number")


def _read_choice(
    fields: dict[str, Any],
) -> tuple[Query, NoiseDistribution | None, Fraction | None]:
    made, smoothing = _read_query(fields["query"]), fields["smoothing"]
    if isinstance(made, Median | Quantile) and made.window is None:
        raise ValueError("a plan without the window that it chose")
    law = None
    if fields["noise"] is not None:
        parameters = dict(fields["noise"])
        law = _LAWS[parameters.pop("type")](**parameters)
    return made, law, None if smoothing is None else exact_fraction(smoothing, name="smoothing")


def _read_alternative(fields: dict[str, Any]) -> Alternative:
    query, law, smoothing = _read_choice(fields)
    release, privacy, without, least = (_read_number(fields[name]) for name in ERRORS_OF_OTHERS)
    half_width = _read_number(fields.get("half_width"))
    return Alternative(
        query,
        law,
        smoothing,
        release,
        privacy,
        without,
        least,
        half_width,
        method=str(fields.get("method", WINDOW)),
        gaps=_read_number(fields.get("gaps")),
    )


def _read_query(fields: dict[str, Any]) -> Query:
    query = dict(fields)
    kind = query.pop("type")
    if kind not in _QUERIES:
        raise ValueError(f"the statistic {kind}, which is none of {', '.join(sorted(_QUERIES))}")
    return _QUERIES[kind](**query)


def _read_replaced(fields: dict[str, Any] | None) -> Replaced | None:
    if fields is None:
        return None
    query = _read_query(fields["query"])
    if not isinstance(query, TrimmedMean):
        raise TypeError("a replaced statistic that is no trimmed mean")
    error = _read_number(fields["rmse"])
    return Replaced(query, error, bool(fields.get("is_served", error is not None)))


def _read_number(value: Any) -> float | None:
    return None if value is None else float(value)


def _read_deviation(value: Any) -> float | None:
    deviation = _read_number(value)
    if deviation is not None and not deviation > 0:
        raise ValueError("noise of deviation 0")
    return deviation


def _read_covers(fields: dict[str, Any]) -> str | None:
    """Return what the bars cover; a plan of an older version chose for those of the window."""
    if fields.get("confidence") is None:
        return None
    return read_target(fields.get("covers", "window"))


def _read_confidence(value: Any) -> Fraction | None:
    return None if value is None else Coverage.read(value).confidence


def _refused(got: str) -> InvalidData:
    return InvalidData(expected="a plan as JSON", got=got, remedy="Use Plan.to_json()")
