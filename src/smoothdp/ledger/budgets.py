"""From a budget to the filter that keeps it, and to text and back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from smoothdp.claims.guarantees.codec import guarantee_from_json, require_readable
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.terms import AverageTerms, EpsilonTerms, MuTerms, RhoTerms
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_fraction, exact_text
from smoothdp.ledger.amount import Amount
from smoothdp.ledger.declared import DeclaredFilter, declared_filter
from smoothdp.ledger.filters import Filter
from smoothdp.ledger.prices.renyi_filter import (
    RenyiFilter,
    best_order,
    currency_of_order,
    read_orders,
    renyi_limits,
)
from smoothdp.ledger.sum_filters import (
    BasicFilter,
    ConcentratedFilter,
    GaussianFilter,
    MuFilter,
    RhoFilter,
    mu_squared_within,
    rho_within,
)


def filter_of(
    budget: object,
    *,
    kept: str | None = None,
    orders: Iterable[Parameter] | None = None,
    conversion_delta: Parameter | None = None,
    adaptive: bool = True,
    allow: Iterable[Any] | None = None,
) -> Filter:
    """Return the filter of a budget (see `Ledger` for the arguments)."""
    if not isinstance(adaptive, bool):
        raise InvalidParameter(
            expected="adaptive as True or False",
            got=f"adaptive={adaptive!r}",
            remedy="Give False if all mechanisms are fixed before the first output, else True",
        )
    if kept not in (None, "basic", "concentrated", "gdp", "renyi"):
        raise InvalidParameter(
            expected='kept "basic", "concentrated", "gdp" or "renyi"',
            got=f"kept={kept!r}",
            remedy=(
                "Name gdp for many Gaussian or pure releases, concentrated for many of zCDP, renyi "
                "for steps on samples, else basic; declare steps that are known with allow="
            ),
        )
    if not isinstance(budget, Guarantee):
        raise InvalidParameter(
            expected="a budget as one guarantee, such as ApproxDP(1, delta=1e-6) or ZCDP(0.5)",
            got=f"budget={budget!r}",
            remedy="A whole curve cannot be kept when releases are chosen after seeing others",
        )
    require_readable(budget)
    if budget.is_average is adaptive:
        raise _about_adaptive(budget)
    if orders is not None and kept != "renyi":
        raise InvalidParameter(
            expected='orders with kept="renyi" only',
            got=f"orders={orders!r} with {kept!r}",
            remedy='Add kept="renyi", or leave orders out',
        )
    if allow is not None:
        if kept is not None or conversion_delta is not None:
            raise InvalidParameter(
                expected="allow without kept and conversion_delta",
                got=f"kept={kept!r}, conversion_delta={conversion_delta!r}",
                remedy="Declared items are counted: leave the others out",
            )
        return declared_filter(budget, allow)
    if kept == "concentrated":
        epsilon, delta, conversion = _split_delta(budget, conversion_delta, Fraction(1, 2))
        limits = {
            "rho": Amount(rho_within(epsilon, conversion)),
            "delta": Amount(delta - conversion),
        }
        return ConcentratedFilter(budget, limits, conversion)
    if kept == "gdp" and not isinstance(budget.terms(), MuTerms):
        epsilon, delta, conversion = _split_delta(budget, conversion_delta, Fraction(1))
        # d + (1 - d) conversion <= delta.
        own = (delta - conversion) / (1 - conversion)
        square = mu_squared_within(epsilon, conversion)
        return GaussianFilter(
            budget, {"mu squared": Amount(square), "delta": Amount(own)}, conversion
        )
    if kept == "renyi":
        return _renyi_filter(budget, conversion_delta, orders)
    if conversion_delta is not None:
        raise InvalidParameter(
            expected='conversion_delta with kept="concentrated", "gdp" or "renyi" only',
            got=f"conversion_delta={conversion_delta} with {kept!r}",
            remedy="Leave conversion_delta out",
        )
    match budget.terms():
        case RhoTerms(rho):
            return RhoFilter(budget, {"rho": Amount(rho)})
        case MuTerms(mu):
            return MuFilter(budget, {"mu squared": Amount(mu**2)})
        case EpsilonTerms(epsilon, delta) | AverageTerms(epsilon, delta):
            limits = {"epsilon": Amount.of(epsilon), "delta": Amount(delta)}
            return BasicFilter(budget, limits)
    raise InvalidParameter(
        expected="a budget in epsilon and delta, in rho or in mu, which add up",
        got=f"budget={budget!r}",
        remedy="Give an ApproxDP, ZCDP or GaussianDP that follows from the budget",
    )


def _renyi_filter(
    budget: Guarantee, conversion_delta: Parameter | None, asked: Iterable[Parameter] | None
) -> RenyiFilter:
    epsilon, delta, conversion = _split_delta(budget, conversion_delta, Fraction(1))
    orders = read_orders(asked, epsilon, conversion)
    bounds = renyi_limits(epsilon, conversion, orders)
    if not any(bounds):
        raise InvalidParameter(
            expected=f"an order at which some divergence implies {budget!r}",
            got=f"orders {', '.join(map(exact_text, orders))}",
            remedy="Name a larger order, such as "
            f"{exact_text(best_order(epsilon, conversion))}, or leave orders out",
        )
    limits = {
        currency_of_order(order): Amount(bound) for order, bound in zip(orders, bounds, strict=True)
    }
    limits["delta"] = Amount((delta - conversion) / (1 - conversion))
    return RenyiFilter(budget, limits, orders, conversion)


def _about_adaptive(budget: Guarantee) -> Exception:
    if budget.is_average:
        return IncompatibleClaims(
            expected=(
                "adaptive=False with a budget of smoothed DP, which does not hold for mechanisms "
                "that were chosen after an output"
            ),
            got="adaptive=True",
            remedy="Give adaptive=False if all mechanisms are fixed before the first output",
        )
    return InvalidParameter(
        expected="adaptive=True: this budget holds in any case",
        got="adaptive=False",
        remedy="Leave adaptive out",
    )


def _split_delta(
    budget: Guarantee, conversion_delta: Parameter | None, share: Fraction
) -> tuple[Real, Fraction, Fraction]:
    """Return epsilon, delta, and the part of delta that turns the other notion into epsilon."""
    terms = budget.terms()
    if not isinstance(terms, EpsilonTerms) or not 0 < terms.delta < 1:
        raise InvalidParameter(
            expected="a budget in epsilon and 0 < delta < 1 to be kept in another notion",
            got=f"{budget!r}",
            remedy="Give a budget such as ApproxDP(1, delta=1e-6), or leave kept out",
        )
    conversion = terms.delta * share
    if conversion_delta is not None:
        conversion = exact_fraction(conversion_delta, name="conversion_delta")
    if not 0 < conversion <= terms.delta:
        raise InvalidParameter(
            expected=f"0 < conversion_delta <= {exact_text(terms.delta)}",
            got=f"conversion_delta={conversion_delta}",
            remedy="Give a part of the budget's delta, such as half of it",
        )
    return terms.epsilon, terms.delta, conversion


def filter_to_text(kept: Filter) -> str:
    """Return a filter as JSON, exactly; `filter_from_text` reads it back."""
    fields: dict[str, Any] = {
        "budget": json.loads(kept.budget.to_json()),
        "filter": type(kept).__name__,
        "limits": {name: limit.text() for name, limit in kept.limits.items()},
    }
    if isinstance(kept, DeclaredFilter):
        fields["names"] = list(kept.names)
    if isinstance(kept, RenyiFilter):
        fields["orders"] = [exact_text(order) for order in kept.orders]
    if isinstance(kept, ConcentratedFilter | GaussianFilter | RenyiFilter):
        fields["conversion"] = exact_text(kept.conversion)
    return json.dumps(fields)


def filter_from_text(text: str) -> Filter:
    """Return the filter that `filter_to_text` wrote; its limits are those in the text."""
    fields = json.loads(text)
    budget = guarantee_from_json(json.dumps(fields["budget"]))
    limits = {name: Amount.parse(limit) for name, limit in fields["limits"].items()}
    kind = fields["filter"]
    if kind == DeclaredFilter.__name__:
        return DeclaredFilter(budget, limits, tuple(map(str, fields["names"])))
    if "conversion" in fields:
        conversion = exact_fraction(fields["conversion"], name="conversion")
        if kind == RenyiFilter.__name__:
            orders = tuple(exact_fraction(order, name="order") for order in fields["orders"])
            return RenyiFilter(budget, limits, orders, conversion)
        split = {c.__name__: c for c in (ConcentratedFilter, GaussianFilter)}[kind]
        return split(budget, limits, conversion)
    return {c.__name__: c for c in (BasicFilter, RhoFilter, MuFilter)}[kind](budget, limits)
