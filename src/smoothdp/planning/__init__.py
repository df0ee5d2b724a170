"""Planning: window, trimming, smoothing and noise of a release, without the private data."""

from smoothdp.planning.alternatives import Alternative, Replaced
from smoothdp.planning.collecting.offer import Offer
from smoothdp.planning.collecting.plan_collect import CollectPlan, plan_collect
from smoothdp.planning.error_curves import ErrorPoint, errors_by_epsilon, errors_by_size
from smoothdp.planning.planned import Plan
from smoothdp.planning.search import plan
from smoothdp.planning.views.plan_json import plan_from_json

__all__ = [
    "Alternative",
    "CollectPlan",
    "ErrorPoint",
    "Offer",
    "Plan",
    "Replaced",
    "errors_by_epsilon",
    "errors_by_size",
    "plan",
    "plan_collect",
    "plan_from_json",
]
