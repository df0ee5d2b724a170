"""The sampler that opens values and smooth sensitivities of several windows: one joint draw."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from smoothdp.claims.open_sealed import opened
from smoothdp.exact.random.lazy_vector import Place, RoundedVectors
from smoothdp.noise.joint.joint_poly_place import JointCalibration
from smoothdp.queries.statistic import PrivateSummary


def joint_draws(
    summaries: Sequence[PrivateSummary],
    calibration: JointCalibration,
    *,
    step: Fraction,
    limits: tuple[int, int],
) -> RoundedVectors:
    """Return the draws of f_j + S_j Z_j for all j, in steps of the grid: as private as the data.

    Args:
        summaries: f_j and S_j of each window, sealed.
        calibration: of the law of (Z_1, ..., Z_m).
        step: of the grid. limits: the least and the largest result.
    """
    places = []
    for summary in summaries:
        difference, decay = opened(summary.sensitivity)
        factor = difference / (calibration.exact_shift * step)
        places.append(Place(opened(summary.value) / step, factor, decay))
    return RoundedVectors(calibration.lazy(), places, lowest=limits[0], highest=limits[1])
