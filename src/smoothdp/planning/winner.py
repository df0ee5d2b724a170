"""Which of all ways a plan takes, and in what order it names the others."""

from __future__ import annotations

import math
from dataclasses import replace

from smoothdp.mechanisms.release.bars.pair_noise import PairNoise, takes_pair
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.mechanisms.release.resolved import resolve_request
from smoothdp.planning.alternatives import HALF_SHIFT, PAIR, Alternative, as_alternative
from smoothdp.planning.expected.expected_errors import expected_errors
from smoothdp.planning.expected.max_law_tail import MaxLawTail
from smoothdp.planning.expected.sampling_error import SamplingError
from smoothdp.planning.plan_request import PlanRequest
from smoothdp.planning.planned import Plan
from smoothdp.queries import Query

_TIE = 0.98
"""Another method has to be better than that of `release` by so much: errors are estimates."""


def winner(request: PlanRequest, window: Plan, others: list[Alternative]) -> Plan:
    """Return the plan of the least error, all else as runners-up, the best first.

    Within 2% of the best wins the method of `release` without a plan: the half shift where it is
    among the others, else the window.

    Args:
        request: what is planned. window: the plan of the best window, its runners-up windows.
        others: other methods.
    """
    runners = sorted([*window.runners_up, *others], key=request.compared)
    plan = replace(window, runners_up=tuple(runners))
    own = as_alternative(window)
    ways = [own, *others]
    home = next((way for way in others if way.method == HALF_SHIFT), own)
    best = min(ways, key=request.compared)
    if request.compared(best) >= _TIE * request.compared(home):
        best = home
    return plan if best is own else plan.instead(best)


def with_pair(request: PlanRequest, plan: Plan, error: SamplingError) -> Plan:
    """Return a plan of bars for a quantile with the noise of `release`: the plan itself, or that
    with the max law where `release` takes it for value and bars together.

    Window and smoothing are those of `release`; other ways were not weighed.

    Raises:
        InvalidParameter: bars that `release` refuses.
    """
    asked = ReleaseRequest.read(
        request.query, guarantee=request.guarantee, coverage=request.coverage
    )
    resolved = resolve_request(asked, n_records=request.n_records)
    if not takes_pair(resolved):
        return plan
    pair, query = PairNoise.of_resolved(resolved), resolved.query
    assert isinstance(query, Query)
    window, law = query.drops(request.n_records), MaxLawTail(pair.calibration)
    sizes = error.clamped(window, float(pair.smoothing), against_sample=True).sensitivities
    size, deviation = math.sqrt(float((sizes**2).mean())), law.standard_deviation
    errors = expected_errors(error, window, pair.smoothing, law, noise=size * deviation, least=0.0)
    half_width = size * pair.factor * pair.calibration.moment("stretch")
    low, high = request.bounds
    return replace(
        plan,
        method=PAIR,
        query=query,
        noise=None,
        smoothing=pair.smoothing,
        rmse=errors.release,
        privacy_rmse=errors.privacy,
        rmse_without_noise=error.total(window),
        rmse_lower_bound=errors.least,
        half_width=min(half_width, (high - low) / 2),
        noise_deviation=deviation,
        gaps=error.in_gaps(errors.privacy),
        runners_up=(),
    )
