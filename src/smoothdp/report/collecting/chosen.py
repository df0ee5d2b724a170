"""The protocol of a collection: as it was named, or as the planner recommends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import exact_fraction
from smoothdp.planning.collecting.offers import Task
from smoothdp.planning.collecting.plan_collect import plan_collect
from smoothdp.report.collecting.common import named_protocol
from smoothdp.shuffle.affordable import require_affordable

_DEFAULT_SLOTS = 64
# Their design follows the limits, instead of being compared with them.
_DESIGNED = ("paired-count", "paired-histogram")


@dataclass(frozen=True)
class Chosen:
    """A calibrated protocol, how it is named to repeat the collection, and what is said of it."""

    protocol: Any
    named: Mapping[str, Any]
    notes: dict[str, str]


def chosen(
    task: Task,
    protocols: Mapping[str, Any],
    n_users: int,
    *,
    protocol: str | None,
    liars: int | None,
    common: Mapping[str, Any],
    limits: Mapping[str, Any],
    n_bits: int | None = None,
    n_bins: int | None = None,
) -> Chosen:
    """Return a calibrated protocol: as named, or else as `plan_collect` recommends.

    Args:
        task: what is collected.
        protocols: name -> how to make it.
        n_users: n.
        protocol: a name, or None.
        liars: how many users may send anything; the planner chooses by it. None: one is counted.
        common: guarantee and honest_share.
        limits: most_messages and most_slots of a user; None for any of a protocol that is named,
            and for 64 slots of one that is chosen.
        n_bits: of a real sum, which it names.
        n_bins: of a histogram.
    """
    if n_bits is not None and protocol not in (None, "real-sum"):
        raise InvalidParameter(
            expected="n_bits with a real sum alone",
            got=f"n_bits={n_bits}, protocol={protocol}",
            remedy="Leave n_bits out, or the protocol",
        )
    if protocol is None and n_bits is None:
        return _planned(task, n_users, liars=liars, common=common, limits=limits, n_bins=n_bins)
    if liars is not None:
        named_by = f"n_bits={n_bits}" if protocol is None else f"protocol={protocol!r}"
        raise InvalidParameter(
            expected="protocol or liars, not both",
            got=f"{named_by}, liars={liars}",
            remedy="Leave liars out: a protocol that is named is not chosen by them",
        )
    protocol = "real-sum" if protocol is None else protocol
    make = named_protocol(protocol, protocols)
    more: dict[str, Any] = {"n_bits": n_bits, "n_bins": n_bins}
    if protocol in _DESIGNED:
        more |= limits
    given = {name: value for name, value in more.items() if value is not None}
    made = make(n_users, **common, **given)
    require_affordable(made, **limits)
    named: dict[str, Any] = {"protocol": protocol}
    if protocol == "real-sum":
        named["n_bits"] = made.n_bits
    return Chosen(made, named | _design_limits(protocol, limits), {})


def _planned(
    task: Task,
    n_users: int,
    *,
    liars: int | None,
    common: Mapping[str, Any],
    limits: Mapping[str, Any],
    n_bins: int | None,
) -> Chosen:
    slots = _DEFAULT_SLOTS if limits["most_slots"] is None else limits["most_slots"]
    plan = plan_collect(
        task,
        n_users=n_users,
        liars=liars,
        most_slots=slots,
        most_messages=limits["most_messages"],
        n_bins=n_bins,
        **common,
    )
    best = plan.recommended
    named = dict(best.named)
    return Chosen(
        best.protocol, named | _design_limits(named["protocol"], limits), {"why": plan.reason}
    )


def _design_limits(protocol: str, limits: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits that were set, where a design follows them: without, it is another one."""
    if protocol not in _DESIGNED:
        return {}
    given: dict[str, Any] = {}
    if limits["most_messages"] is not None:
        given["most_messages"] = str(exact_fraction(limits["most_messages"], name="most_messages"))
    if limits["most_slots"] is not None:
        given["most_slots"] = limits["most_slots"]
    return given
