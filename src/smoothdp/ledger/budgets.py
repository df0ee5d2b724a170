"""From a budget to the filter that keeps it, and to text and back."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from smoothdp.errors import IncompatibleClaims, InvalidParameter, explain
from smoothdp.exact.parameters.numbers import Parameter, exact_fraction, exact_text
from smoothdp.ledger.amount import Amount
from smoothdp.ledger.filters import Filter
from smoothdp.ledger.sum_filters import (
    BasicFilter,
    ConcentratedFilter,
    MuFilter,
    RhoFilter,
    rho_within,
)
from smoothdp.privacy.codec import guarantee_from_json
from smoothdp.privacy.concentrated import ZCDP, TruncatedCDP
from smoothdp.privacy.gaussian import GaussianDP
from smoothdp.privacy.guarantee import Guarantee
from smoothdp.privacy.smoothed import SmoothedDP
from smoothdp.privacy.standard import ApproxDP, PureDP


def filter_of(
    budget: object,
    *,
    method: str = "basic",
    conversion_delta: Parameter | None = None,
    adaptive: bool = True,
) -> Filter:
    """Return the filter of a budget (see `Ledger` for the arguments)."""
    if not isinstance(adaptive, bool):
        raise InvalidParameter(
            explain("adaptive as True or False", f"adaptive={adaptive!r}", "Give one of the two")
        )
    if method not in ("basic", "concentrated"):
        raise InvalidParameter(
            explain('method "basic" or "concentrated"', f"method={method!r}", "Use one of the two")
        )
    if not isinstance(budget, Guarantee):
        raise InvalidParameter(
            explain(
                "a budget as one guarantee, such as ApproxDP(1, delta=1e-6) or ZCDP(0.5)",
                f"budget={budget!r}",
                "A whole curve cannot be kept when releases are chosen after seeing others",
            )
        )
    if isinstance(budget, SmoothedDP) is adaptive:
        raise _about_adaptive(budget)
    if method == "concentrated":
        return _concentrated(budget, conversion_delta)
    if conversion_delta is not None:
        raise InvalidParameter(
            explain(
                'conversion_delta with method="concentrated" only',
                f"conversion_delta={conversion_delta} with {method!r}",
                "Leave it out",
            )
        )
    if isinstance(budget, ZCDP | TruncatedCDP):
        return RhoFilter(budget, {"rho": Amount(budget.exact_rho)})
    if isinstance(budget, GaussianDP):
        return MuFilter(budget, {"mu squared": Amount(budget.exact_mu**2)})
    assert isinstance(budget, PureDP | ApproxDP | SmoothedDP)
    delta = Fraction(0) if isinstance(budget, PureDP) else budget.exact_delta
    limits = {"epsilon": Amount.of(budget.exact_epsilon), "delta": Amount(delta)}
    return BasicFilter(budget, limits)


def _about_adaptive(budget: Guarantee) -> Exception:
    if isinstance(budget, SmoothedDP):
        return IncompatibleClaims(
            explain(
                "adaptive=False with a budget of smoothed DP, which does not hold for mechanisms "
                "that were chosen after an output",
                "adaptive=True",
                "Give adaptive=False if all mechanisms are fixed before the first output",
            )
        )
    return InvalidParameter(
        explain(
            "adaptive=True: this budget holds in any case",
            "adaptive=False",
            "Leave adaptive out",
        )
    )


def _concentrated(budget: Guarantee, conversion_delta: Parameter | None) -> Filter:
    if not isinstance(budget, ApproxDP) or budget.exact_delta == 0:
        raise InvalidParameter(
            explain(
                "a budget in epsilon and delta > 0 for the method concentrated",
                f"{budget!r}",
                "Give such a budget, or leave the method out",
            )
        )
    conversion = budget.exact_delta / 2
    if conversion_delta is not None:
        conversion = exact_fraction(conversion_delta, name="conversion_delta")
    if not 0 < conversion <= budget.exact_delta:
        raise InvalidParameter(
            explain(
                f"0 < conversion_delta <= {exact_text(budget.exact_delta)}",
                f"conversion_delta={conversion_delta}",
                "Give a part of the budget's delta",
            )
        )
    rho = rho_within(budget.exact_epsilon, conversion)
    limits = {"rho": Amount(rho), "delta": Amount(budget.exact_delta - conversion)}
    return ConcentratedFilter(budget, limits, conversion)


def filter_to_text(kept: Filter) -> str:
    """Return a filter as JSON, exactly; `filter_from_text` reads it back."""
    fields: dict[str, Any] = {
        "budget": json.loads(kept.budget.to_json()),
        "filter": type(kept).__name__,
        "limits": {name: limit.text() for name, limit in kept.limits.items()},
    }
    if isinstance(kept, ConcentratedFilter):
        fields["conversion"] = exact_text(kept.conversion)
    return json.dumps(fields)


def filter_from_text(text: str) -> Filter:
    """Return the filter that `filter_to_text` wrote; its limits are those in the text."""
    fields = json.loads(text)
    budget: Any = guarantee_from_json(json.dumps(fields["budget"]))
    limits = {name: Amount.parse(limit) for name, limit in fields["limits"].items()}
    kind = fields["filter"]
    if kind == ConcentratedFilter.__name__:
        conversion = exact_fraction(fields["conversion"], name="conversion")
        return ConcentratedFilter(budget, limits, conversion)
    return {c.__name__: c for c in (BasicFilter, RhoFilter, MuFilter)}[kind](budget, limits)
