"""Claims read back from JSON, exactly; each claim writes itself (`Guarantee.to_json`)."""

from __future__ import annotations

import json
from typing import Any

from smoothdp.claims.guarantees.concentrated import ZCDP, TruncatedCDP
from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.smoothed import SmoothedDP
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.errors import InvalidData, InvalidParameter, SmoothdpError

CLAIMS: dict[str, type[Guarantee]] = {
    kind.__name__: kind for kind in (PureDP, ApproxDP, ZCDP, TruncatedCDP, GaussianDP, SmoothedDP)
}
"""Every claim that can be read; a new one is added here."""


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of a JSON object; of a field that is given twice the last would count.

    Raises:
        ValueError: a field is given twice.
    """
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("a field that is given twice")
    return fields


def require_readable(claim: Guarantee) -> None:
    """Refuse a claim whose JSON would not be read back as the claim: nothing may be kept of it.

    Raises:
        InvalidParameter: a class that is not in `CLAIMS`.
    """
    if CLAIMS.get(type(claim).__name__) is not type(claim):
        raise InvalidParameter(
            expected=f"a claim that is read back from its JSON: {', '.join(CLAIMS)}",
            got=f"{claim!r} of a class {type(claim).__name__} of its own",
            remedy="Add the class to CLAIMS of smoothdp.claims.guarantees.codec",
        )


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
            expected="a claim as JSON",
            got=f"text that is not JSON ({error})",
            remedy="Use to_json()",
        ) from None
    kind = fields.pop("type", None) if isinstance(fields, dict) else None
    if not isinstance(kind, str) or kind not in CLAIMS:
        raise InvalidData(
            expected=f"a claim with a type among {', '.join(CLAIMS)}",
            got=repr(kind),
            remedy="Use to_json() of one of these; a claim of your own is added to codec.CLAIMS",
        )
    names = CLAIMS[kind].json_names()
    if set(fields) != set(names):
        raise InvalidData(
            expected=f"the fields {', '.join(names)} of {kind}",
            got=", ".join(sorted(fields)) or "none",
            remedy="Use to_json()",
        )
    try:
        return CLAIMS[kind].from_json_fields(fields)
    except SmoothdpError as error:
        raise InvalidData(
            expected=f"valid fields of {kind}",
            got=f"these: {str(error).rstrip('.')}",
            remedy="Use to_json()",
        ) from None
