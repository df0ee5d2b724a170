"""Claims as JSON and back, exactly."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from smoothdp.errors import InvalidData, SmoothdpError, explain
from smoothdp.exact.parameters import exact_text
from smoothdp.privacy.concentrated import ZCDP, TruncatedCDP
from smoothdp.privacy.gaussian import GaussianDP
from smoothdp.privacy.guarantee import Guarantee
from smoothdp.privacy.model import DataModel
from smoothdp.privacy.smoothed import SmoothedDP
from smoothdp.privacy.standard import ApproxDP, PureDP

_TYPES: dict[str, Callable[..., Guarantee]] = {
    kind.__name__: kind for kind in (PureDP, ApproxDP, ZCDP, TruncatedCDP, GaussianDP, SmoothedDP)
}


def to_json(guarantee: Guarantee) -> str:
    """Return a claim as JSON; numbers are text, so that nothing is rounded."""
    fields: dict[str, Any] = {"type": type(guarantee).__name__}
    fields |= {name: exact_text(value) for name, value in guarantee.parameters().items()}
    if isinstance(guarantee, SmoothedDP):
        fields["model"] = json.loads(guarantee.model.to_json())
    fields["neighbours"] = guarantee.neighbours.value
    return json.dumps(fields)


def guarantee_from_json(text: str) -> Guarantee:
    """Return the claim that `Guarantee.to_json` wrote.

    Raises:
        InvalidData: text that is not such a claim.

    >>> guarantee_from_json(PureDP("ln(51/49)").to_json()) == PureDP("ln(51/49)")
    True
    """
    try:
        fields = json.loads(text)
    except (TypeError, ValueError) as error:
        raise InvalidData(
            explain("a claim as JSON", f"text that is not JSON ({error})", "Use to_json()")
        ) from None
    if not isinstance(fields, dict) or fields.get("type") not in _TYPES:
        got = fields.get("type") if isinstance(fields, dict) else type(fields).__name__
        raise InvalidData(
            explain(f"a claim with a type among {', '.join(_TYPES)}", repr(got), "Use to_json()")
        )
    kind = fields.pop("type")
    arguments = dict(fields)
    try:
        if "model" in arguments:
            arguments["model"] = DataModel(arguments["model"])
        first = next(iter(arguments))
        return _TYPES[kind](arguments.pop(first), **arguments)
    except (TypeError, StopIteration, SmoothdpError) as error:
        raise InvalidData(
            explain(f"the fields of {kind}", f"{sorted(fields)} ({error})", "Use to_json()")
        ) from None
