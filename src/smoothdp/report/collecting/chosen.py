"""The protocol of a collection: as it was named, or as the planner recommends for liars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from smoothdp.errors import InvalidParameter
from smoothdp.planning.collecting.offers import Task
from smoothdp.planning.collecting.plan_collect import plan_collect
from smoothdp.report.collecting.common import named_protocol
from smoothdp.shuffle.affordable import require_affordable

_DEFAULT_SLOTS = 64


def chosen(
    task: Task,
    protocols: Mapping[str, Any],
    n_users: int,
    *,
    protocol: str | None,
    liars: int | None,
    common: Mapping[str, Any],
    limits: Mapping[str, Any],
    domain: Mapping[str, Any] | None = None,
) -> tuple[Any, dict[str, str]]:
    """Return a calibrated protocol, and what is to be said of the choice.

    Args:
        task: what is collected.
        protocols: name -> how to make it; the first is taken if neither a name nor ``liars`` is
            given.
        n_users: n.
        protocol: a name, or None.
        liars: how many users may send anything; the planner chooses by it.
        common: guarantee and honest_share, and what the protocol alone takes.
        limits: most_messages and most_slots of a user; None for any.
        domain: n_bins of a histogram.
    """
    if liars is not None:
        if protocol is not None:
            raise InvalidParameter(
                expected="protocol or liars",
                got=f"protocol={protocol!r}, liars={liars}",
                remedy="Name a protocol, or let the planner choose for so many liars",
            )
        slots = _DEFAULT_SLOTS if limits["most_slots"] is None else limits["most_slots"]
        asked = {name: common[name] for name in ("guarantee", "honest_share")}
        plan = plan_collect(
            task,
            n_users=n_users,
            liars=liars,
            most_slots=slots,
            most_messages=limits["most_messages"],
            **asked,
            **(domain or {}),
        )
        return plan.protocol, {"why": plan.why}
    make = named_protocol(next(iter(protocols)) if protocol is None else protocol, protocols)
    made = make(n_users, **common)
    require_affordable(made, **limits)
    return made, {}
