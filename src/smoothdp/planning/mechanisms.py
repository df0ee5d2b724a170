"""The mechanism that a plan runs: one place for each method."""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.mechanisms.quantiles.exponential.exponential_quantile import ExponentialQuantile
from smoothdp.mechanisms.quantiles.half_shift.half_shift import HalfShift
from smoothdp.mechanisms.release.bars.bare_bars import BareBars
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.bars.pair_noise import PairNoise
from smoothdp.mechanisms.release.grid import read_step
from smoothdp.mechanisms.release.midpoint import Midpoint
from smoothdp.mechanisms.release.request import ReleaseRequest
from smoothdp.mechanisms.release.smooth_mechanism import smooth_mechanism
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.planning.alternatives import EXPONENTIAL, GLOBAL, HALF_SHIFT, MIDPOINT, PAIR, WINDOW
from smoothdp.planning.candidates import without_window
from smoothdp.planning.views.figures import PlanFigures
from smoothdp.queries import Quantile
from smoothdp.queries.worst_case import WorstCase

PlannedMechanism: TypeAlias = SmoothNoise | PairNoise | ExponentialQuantile | HalfShift | Midpoint


def planned_mechanism(
    plan: PlanFigures,
    *,
    round_to: Parameter | None,
    clamp: bool,
    coverage: Coverage | None,
) -> PlannedMechanism:
    """Return the mechanism of a plan, for its guarantee; raises as `Plan.mechanism`."""
    if coverage is not None and plan.method not in (WINDOW, PAIR, HALF_SHIFT):
        raise InvalidParameter(
            expected="no confidence for a plan whose method has no error bars",
            got=f"confidence={float(coverage.confidence):g}, method={plan.method!r}",
            remedy="Make the plan with confidence=: it then chooses among what has error bars",
        )
    query, guarantee = plan.query, plan.guarantee
    if plan.method == EXPONENTIAL:
        level = query.q if isinstance(query, Quantile) else Fraction(1, 2)
        return ExponentialQuantile(
            level, bounds=query.bounds, guarantee=guarantee, round_to=round_to
        )
    if plan.method == HALF_SHIFT:
        # Windows and noise by the rule of `release`: no file says them.
        asked = ReleaseRequest.read(
            without_window(query),
            guarantee=guarantee,
            round_to=round_to,
            clamp=clamp,
            coverage=coverage,
        )
        return HalfShift.of_request(asked, n_records=plan.n_records)
    if plan.method == MIDPOINT:
        return Midpoint(query.bounds, guarantee, None if round_to is None else read_step(round_to))
    if plan.method == PAIR:
        asked = ReleaseRequest.read(
            query,
            guarantee=guarantee,
            smoothing=plan.smoothing,
            round_to=round_to,
            clamp=clamp,
            coverage=coverage,
        )
        made = smooth_mechanism(asked, n_records=plan.n_records)
        # Bare bars stand for what is refused where a count was released; n is public here.
        assert not isinstance(made, BareBars)
        return made
    assert plan.noise is not None
    request = ReleaseRequest.read(
        WorstCase(query) if plan.method == GLOBAL else query,
        guarantee=guarantee,
        noise=plan.noise if coverage is None else type(plan.noise),
        smoothing=plan.smoothing,
        round_to=round_to,
        clamp=clamp,
        coverage=coverage,
    )
    return SmoothNoise.of_request(request, n_records=plan.n_records)
