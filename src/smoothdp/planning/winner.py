"""Which of all ways a plan takes, and in what order it names the others."""

from __future__ import annotations

from dataclasses import replace

from smoothdp.planning.alternatives import Alternative, as_alternative
from smoothdp.planning.plan_request import PlanRequest
from smoothdp.planning.planned import Plan

_TIE = 0.98
"""Another method has to be better than a window by so much: errors are estimates."""


def winner(request: PlanRequest, window: Plan, others: list[Alternative]) -> Plan:
    """Return the plan of the least error, all else as runners-up, the best first.

    Args:
        request: what is planned. window: the plan of the best window, its runners-up windows.
        others: other methods.
    """
    runners = sorted([*window.runners_up, *others], key=request.compared)
    plan = replace(window, runners_up=tuple(runners))
    best = min(others, key=request.compared, default=None)
    if best is None or request.compared(best) >= _TIE * request.compared(as_alternative(window)):
        return plan
    return plan.instead(best)
