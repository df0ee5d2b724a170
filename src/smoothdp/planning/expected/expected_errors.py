"""The errors of a choice that a plan tells: those of the released value, clamped to bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.planning.expected.clamped_error import Tailed, clamped_error
from smoothdp.planning.expected.sampling_error import SamplingError
from smoothdp.planning.expected.simulated_samples import Drops


@dataclass(frozen=True, slots=True)
class ExpectedErrors:
    """Root mean square errors of a clamped value.

    Attributes:
        release: for the population's quantile or mean. privacy: for what the records give.
        least: no noise goes below for the population, before clamping; where clamping shows, no
            such bound is known and it is the error without noise, or a smaller `release`.
    """

    release: float
    privacy: float
    least: float


def expected_errors(
    error: SamplingError,
    window: Drops,
    rate: Fraction,
    law: Tailed,
    *,
    noise: float,
    least: float,
) -> ExpectedErrors:
    """Return the errors of a window's mean with noise.

    Args:
        error: of windows without noise. window, rate: what is left out, and the smoothing.
        law: of the noise. noise: its deviation, the root of E S^2 times that at S = 1.
        least: the deviation that no noise can beat.
    """
    total = error.total(window)
    errors, shows = [], False
    for without, against_sample in ((total, False), (error.moved(window), True)):
        samples = error.clamped(window, float(rate), against_sample=against_sample)
        # noise^2 = E S^2 scale^2 Var Z.
        root = math.sqrt(float((samples.sensitivities**2).mean()))
        scale = min(noise / root, 1e300) / law.standard_deviation if root > 0 else 0.0
        value, clamps = clamped_error(without, noise, samples, law, scale)
        errors.append(value)
        shows = shows or clamps
    release, privacy = errors
    bound = total if shows else math.hypot(total, least)
    return ExpectedErrors(release, privacy, min(bound, release))
