"""Plans as windows: the best window of a plan, whatever won, and its mechanism."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.mechanisms import SmoothNoise
from smoothdp.noise import NoiseDistribution
from smoothdp.planning import Plan


def best_window(plan: Plan) -> Plan:
    """Return the plan itself if a window won, else that of its best window."""
    if plan.method == "window":
        return plan
    return plan.instead(next(other for other in plan.runners_up if other.method == "window"))


def smooth(plan: Plan, **options: str) -> SmoothNoise:
    """Return the mechanism of a plan that adds noise to smooth sensitivity."""
    mechanism = plan.mechanism(**options)  # type: ignore[arg-type]
    assert isinstance(mechanism, SmoothNoise)
    return mechanism


def noise_of(plan: Plan) -> tuple[NoiseDistribution, Fraction]:
    """Return the law of the noise of a plan, and its smoothing."""
    assert plan.noise is not None
    assert plan.smoothing is not None
    return plan.noise, plan.smoothing
