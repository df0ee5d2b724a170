"""Planning: window, trimming, smoothing and noise of a release, without the private data."""

from smoothdp.planning.alternatives import Alternative, Replaced
from smoothdp.planning.codec import plan_from_json
from smoothdp.planning.curves import ErrorPoint, errors_by_epsilon, errors_by_size
from smoothdp.planning.make import plan
from smoothdp.planning.result import Plan

__all__ = [
    "Alternative",
    "ErrorPoint",
    "Plan",
    "Replaced",
    "errors_by_epsilon",
    "errors_by_size",
    "plan",
    "plan_from_json",
]
