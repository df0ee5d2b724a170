"""Truncated CDP with a large omega is never served worse than by zCDP, which promises more."""

from __future__ import annotations

import pytest

import smoothdp as sd
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.noise import Gaussian
from smoothdp.queries import Median, Query, TrimmedMean

BOUNDS = (0, 50_000)


MEDIAN, TRIMMED = Median(BOUNDS, window=9), TrimmedMean("0.1", bounds=BOUNDS)


@pytest.mark.parametrize(
    ("query", "rho", "omega"),
    [
        (MEDIAN, "0.02", 6),
        (TRIMMED, "0.5", "1.2"),
        pytest.param(MEDIAN, "0.5", "1.2", marks=pytest.mark.slow),
        pytest.param(MEDIAN, "0.5", 1000, marks=pytest.mark.slow),
        pytest.param(TRIMMED, "0.02", 6, marks=pytest.mark.slow),
        pytest.param(TRIMMED, "0.5", 1000, marks=pytest.mark.slow),
    ],
)
def test_a_large_omega_has_the_noise_of_zcdp(query: Query, rho: str, omega: object) -> None:
    asked = sd.TruncatedCDP(rho, omega=omega)  # type: ignore[arg-type]
    found, whole = (
        SmoothNoise.calibrate(query, guarantee=one, n_records=4000) for one in (asked, sd.ZCDP(rho))
    )
    mine, other = found.calibration, whole.calibration
    assert found.guarantee == asked == mine.guarantee
    assert (mine.law, mine.smoothing) == (other.law, other.smoothing)
    assert mine.label == "certified"
    assert mine.standard_deviation <= other.standard_deviation * (1 + 1e-7)
    # The law itself, at the order where it is worst, keeps the promise.
    for order in (1.01, 1.15):
        for sign in ("forward", "reverse"):
            loss = mine.law.renyi(
                order, shift=mine.exact_shift, dilation=mine.smoothing, direction=sign
            )
            assert loss <= float(asked.rho) * order * (1 + 1e-6)


def test_a_small_omega_and_a_large_rho_keep_gaussian_noise() -> None:
    for rho, omega in (("0.005", 5), ("9/2", 20)):
        found = SmoothNoise.calibrate(
            TrimmedMean("0.1", bounds=BOUNDS),
            guarantee=sd.TruncatedCDP(rho, omega=omega),
            n_records=4000,
        )
        assert isinstance(found.calibration.law, Gaussian)
