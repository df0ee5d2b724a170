"""The shipped table, the choice of shape, and what every result says of itself."""

from __future__ import annotations

import math
import time
from fractions import Fraction

import pytest

import smoothdp.noise as noise
from smoothdp.claims import ZCDP, ApproxDP, PureDP, TruncatedCDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.noise import (
    ArsinhNormal,
    Gaussian,
    GeneralizedCauchy,
    Laplace,
    Log1pNormal,
    PolyPlace,
    StudentT,
    UniformLogNormal,
)
from smoothdp.noise.calibration import Calibration, best_shape, calibrate, optimise_shape
from smoothdp.noise.calibration.approximate.delta_cover import covered, ends_keep
from smoothdp.noise.calibration.approximate.shift import approximate_estimate
from smoothdp.noise.calibration.concentrated.certificate import certify
from smoothdp.noise.calibration.concentrated.promise import Promise
from smoothdp.noise.calibration.concentrated.shift import concentrated_estimate
from smoothdp.noise.calibration.pure import pure_shift
from smoothdp.noise.calibration.shipped_claims import (
    Entry,
    entries,
    guarantee_text,
    shape_text,
    shipped_claim,
    shipped_shape,
)
from smoothdp.noise.law import NoiseDistribution
from smoothdp.noise.make_table import rows
from smoothdp.noise.shift_claim import LABELS, ShiftClaim
from smoothdp.sources import Source

HALF = Fraction(1, 2)
ROWS = {
    (family.__name__, guarantee_text(guarantee), str(smoothing)): guarantee
    for family, guarantee, smoothing in rows()
}


def parts(entry: Entry) -> tuple[NoiseDistribution, Guarantee, Fraction, Fraction]:
    law = getattr(noise, entry.law)(Fraction(entry.shape))
    guarantee = ROWS[entry.law, entry.guarantee, entry.smoothing]
    return law, guarantee, Fraction(entry.smoothing), Fraction(entry.shift)


def proved(entry: Entry) -> bool:
    law, guarantee, t, shift = parts(entry)
    if isinstance(guarantee, ZCDP):
        return certify(law, Promise(guarantee.exact_rho, None, t), shift).holds
    assert isinstance(guarantee, ApproxDP)
    if entry.label == "proved":
        return shift <= pure_shift(law, guarantee.exact_epsilon, t).exact_shift
    target = log_bounds(guarantee.exact_delta).lower
    return covered(law, shift, t, guarantee.exact_epsilon, target) is not None


def refuted(entry: Entry) -> bool:
    law, guarantee, t, _ = parts(entry)
    assert entry.upper is not None
    upper = Fraction(entry.upper)
    if isinstance(guarantee, ZCDP):
        return not certify(law, Promise(guarantee.exact_rho, None, t), upper).holds
    assert isinstance(guarantee, ApproxDP)
    target = log_bounds(guarantee.exact_delta)
    return ends_keep(law, upper, t, guarantee.exact_epsilon, target) is False


def test_table_has_every_row_once() -> None:
    keys = [(e.law, e.guarantee, e.smoothing) for e in entries()]
    assert sorted(keys) == sorted(ROWS)


@pytest.mark.parametrize("index", [1, 9, 12])
def test_table_entries_are_certified_again(index: int) -> None:
    entry = entries()[index]
    assert proved(entry)
    assert refuted(entry)
    assert (
        Fraction(entry.shift)
        < Fraction(entry.upper or 0)
        < Fraction(entry.shift) * Fraction(1001, 1000)
    )


@pytest.mark.slow
@pytest.mark.parametrize("index", range(55))
def test_every_table_entry_is_certified_again(index: int) -> None:
    entry = entries()[index]
    assert proved(entry)
    assert refuted(entry)


def test_table_entry_with_a_larger_shift_fails() -> None:
    entry = next(e for e in entries() if e.law == "ArsinhNormal")
    larger = str(Fraction(entry.shift) * Fraction(1001, 1000))
    wrong = Entry(**{name: getattr(entry, name) for name in Entry.__slots__} | {"shift": larger})
    assert not proved(wrong)


def test_table_is_used_for_its_shape_only() -> None:
    guarantee, t = ZCDP(HALF), Fraction(1, 10)
    shape = shipped_shape(ArsinhNormal, guarantee, t)
    assert shape is not None
    law = best_shape(ArsinhNormal, guarantee, smoothing=t)
    assert shape_text(law) == str(shape)
    claim = shipped_claim(law, guarantee, t)
    assert claim is not None
    assert calibrate(law, guarantee, smoothing="0.1").exact_shift == claim.exact_shift
    assert shipped_claim(ArsinhNormal("0.3"), guarantee, t) is None
    assert shipped_claim(law, guarantee, Fraction(1, 11)) is None
    assert shipped_claim(law, ZCDP("0.51"), t) is None
    assert shipped_claim(law, ZCDP(HALF, neighbours="add_remove"), t) == claim


def test_warm_results_are_instant() -> None:
    calibrate(StudentT(3), ZCDP(HALF), smoothing="0.1")
    start = time.perf_counter()
    for _ in range(20):
        calibrate(StudentT(3), ZCDP(HALF), smoothing="0.1")
    assert (time.perf_counter() - start) / 20 < 1e-3


# ---- shapes ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("law", "rho", "t", "shape", "std"),
    [  # found by other code: best shape and its std * epsilon
        (ArsinhNormal, "0.5", "0.1", 0.3551, 1.00107),
        (ArsinhNormal, "0.02", "0.1", 0.7873, 1.51366 / 0.2),
        (Log1pNormal, "0.02", "0.2", 1.0288, 3.88131 / 0.2),
        (ArsinhNormal, "2", "1", 0.6395, 0.96545 / 2),
    ],
)
def test_best_shape_is_near_the_optimum_found_by_other_code(
    law: type[NoiseDistribution], rho: str, t: str, shape: float, std: float
) -> None:
    found = best_shape(law, ZCDP(rho), smoothing=t)
    value = float(next(iter(found.values().values())))
    assert value == pytest.approx(shape, rel=0.1)
    shift = concentrated_estimate(found, ZCDP(rho), Fraction(t))
    assert found.standard_deviation / shift == pytest.approx(std, rel=0.0075)


@pytest.mark.slow
def test_optimiser_is_no_worse_than_its_neighbours() -> None:
    guarantee, t = ZCDP(2), Fraction(1, 5)

    def std(law: NoiseDistribution) -> float:
        return law.standard_deviation / concentrated_estimate(law, guarantee, t)

    best = optimise_shape(ArsinhNormal, guarantee, smoothing=t)
    assert isinstance(best, ArsinhNormal)
    for factor in (Fraction(9, 10), Fraction(11, 10)):
        assert std(best) <= std(ArsinhNormal(best.exact_sigma * factor)) * (1 + 1e-6)


def test_shapes_of_pure_dp() -> None:
    assert best_shape(PolyPlace, PureDP(1), smoothing="0.1") == PolyPlace(10)
    assert best_shape(StudentT, PureDP(1), smoothing="0.1") == StudentT("3.7143")
    cauchy = best_shape(GeneralizedCauchy, PureDP(1), smoothing="0.1")
    result = calibrate(cauchy, PureDP(1), smoothing="0.1")
    assert result.standard_deviation == pytest.approx(2.716, abs=2e-3)


def test_shape_of_approximate_dp() -> None:
    # Found by other code: uniform log-normal, 1.725 at smoothing 0.05, delta = 1e-6.
    law = UniformLogNormal("0.64")
    guarantee = ApproxDP(1, delta="1e-6")
    shift = approximate_estimate(law, guarantee, Fraction("0.05"))
    assert law.standard_deviation / shift == pytest.approx(1.725, abs=2e-3)


def test_shapes_that_do_not_exist() -> None:
    assert best_shape(Laplace, ApproxDP(1, delta="1e-6"), smoothing="0.1") == Laplace()
    with pytest.raises(InvalidParameter, match="finite variance"):
        best_shape(PolyPlace, PureDP(1), smoothing="0.6")
    with pytest.raises(InvalidParameter, match="one shape"):
        optimise_shape(Gaussian, ZCDP(1), smoothing="0.1")


# ---- what a result says ------------------------------------------------------------------


@pytest.fixture(scope="module")
def results() -> list[Calibration[NoiseDistribution]]:
    return [
        calibrate(StudentT(3), ZCDP(HALF), smoothing="0.1"),
        calibrate(StudentT(3), PureDP(1), smoothing="0.1"),
        calibrate(StudentT(3), ApproxDP(1, delta="1e-6"), smoothing="0.1"),
        calibrate(Gaussian(), TruncatedCDP(HALF, omega=4), smoothing="0.1"),
        calibrate(StudentT(3), PureDP(1), smoothing="0.1", method="paper"),
    ]


def test_every_result_is_labelled_and_described(
    results: list[Calibration[NoiseDistribution]],
) -> None:
    for result in results:
        assert result.label in LABELS[:2]
        assert result.relative_gap > 0 or result.label == "proved"
        if result.method == "exact":
            assert result.relative_gap < 1e-3
        assert isinstance(result.source, Source)
        assert result.reason
        assert result.label in result.sentence()
        assert f"shift={result.shift!r}" in repr(result)


def test_floats_are_rounded_to_the_safe_side(results: list[Calibration[NoiseDistribution]]) -> None:
    for result in results:
        assert Fraction(result.shift) <= result.exact_shift
        for sensitivity in ("1", "0.1", "3"):
            scale = Fraction(result.noise_scale(sensitivity))
            assert scale * result.exact_shift >= Fraction(sensitivity)
            assert scale * result.exact_shift <= Fraction(sensitivity) * (1 + Fraction(1, 10**15))
    assert results[0].noise_scale(0) == 0.0
    with pytest.raises(InvalidParameter, match="sensitivity >= 0"):
        results[0].noise_scale(-1)
    with pytest.raises(InvalidParameter, match="finite sensitivity"):
        results[0].noise_scale(math.inf)


def test_distance_from_the_lower_bound(results: list[Calibration[NoiseDistribution]]) -> None:
    assert 1 < results[0].bound_ratio < 2
    assert 1 < results[1].bound_ratio < 3
    # None is proved for approximate DP.
    assert results[2].bound_ratio == math.inf
    near = calibrate(
        best_shape(ArsinhNormal, ZCDP(HALF), smoothing="0.1"), ZCDP(HALF), smoothing="0.1"
    )
    assert near.bound_ratio == pytest.approx(1.093, abs=0.01)


def test_exact_never_needs_more_noise_than_the_paper(
    results: list[Calibration[NoiseDistribution]],
) -> None:
    assert results[1].exact_shift >= results[4].exact_shift


def test_gap_of_a_claim() -> None:
    source = Source("hladik-tetek", "Theorem 8")
    assert ShiftClaim(HALF, None, "proved", source, "").relative_gap == math.inf
    assert ShiftClaim(HALF, Fraction(3, 4), "proved", source, "").relative_gap >= 0.5
