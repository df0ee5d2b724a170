"""Claims as JSON and back, exactly."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from smoothdp.errors import InvalidData, SmoothdpError, explain
from smoothdp.exact.parameters.numbers import exact_text
from smoothdp.privacy.concentrated import ZCDP, TruncatedCDP
from smoothdp.privacy.gaussian import GaussianDP
from smoothdp.privacy.guarantee import Guarantee
from smoothdp.privacy.model import DataModel
from smoothdp.privacy.smoothed import SmoothedDP
from smoothdp.privacy.standard import ApproxDP, PureDP

_TYPES: dict[str, Callable[..., Guarantee]] = {
    kind.__name__: kind for kind in (PureDP, ApproxDP, ZCDP, TruncatedCDP, GaussianDP, SmoothedDP)
}
# The first of each is the positional argument.
_FIELDS = {
    "PureDP": ("epsilon", "neighbours"),
    "ApproxDP": ("epsilon", "delta", "neighbours"),
    "ZCDP": ("rho", "neighbours"),
    "TruncatedCDP": ("rho", "omega", "neighbours"),
    "GaussianDP": ("mu", "neighbours"),
    "SmoothedDP": ("epsilon", "delta", "model", "neighbours"),
}


def to_json(guarantee: Guarantee) -> str:
    """Return a claim as JSON; numbers are text, so that nothing is rounded."""
    fields: dict[str, Any] = {"type": type(guarantee).__name__}
    fields |= {name: exact_text(value) for name, value in guarantee.parameters().items()}
    if isinstance(guarantee, SmoothedDP):
        fields["model"] = json.loads(guarantee.model.to_json())
    fields["neighbours"] = guarantee.neighbours.value
    return json.dumps(fields)


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of a JSON object; of a field that is given twice the last would count.

    Raises:
        ValueError: a field is given twice.
    """
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field that is given twice")
    return fields


def guarantee_from_json(text: str) -> Guarantee:
    """Return the claim that `Guarantee.to_json` wrote.

    Raises:
        InvalidData: text that is not such a claim.

    >>> guarantee_from_json(PureDP("ln(51/49)").to_json()) == PureDP("ln(51/49)")
    True
    """
    try:
        fields = json.loads(text, object_pairs_hook=once)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidData(
            explain("a claim as JSON", f"text that is not JSON ({error})", "Use to_json()")
        ) from None
    kind = fields.pop("type", None) if isinstance(fields, dict) else None
    if not isinstance(kind, str) or kind not in _TYPES:
        raise InvalidData(
            explain(f"a claim with a type among {', '.join(_TYPES)}", repr(kind), "Use to_json()")
        )
    if set(fields) != set(_FIELDS[kind]):
        raise InvalidData(
            explain(
                f"the fields {', '.join(_FIELDS[kind])} of {kind}",
                ", ".join(sorted(fields)) or "none",
                "Use to_json()",
            )
        )
    try:
        if "model" in fields:
            fields["model"] = DataModel(fields["model"])
        first = fields.pop(_FIELDS[kind][0])
        return _TYPES[kind](first, **fields)
    except SmoothdpError as error:
        raise InvalidData(
            explain(f"valid fields of {kind}", f"these: {str(error).rstrip('.')}", "Use to_json()")
        ) from None
