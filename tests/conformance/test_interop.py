"""The bridges, against the real packages: the same epsilon, within the bracket."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.errors import IncompatibleClaims, InvalidParameter, MissingExtra, OutOfReach
from smoothdp.interop import (
    from_autodp,
    from_dp_accounting,
    from_opendp,
    to_autodp,
    to_dp_accounting,
    to_opendp,
)
from smoothdp.interop.extras import binary_up, library

MODEL = sd.DataModel([["1/2", "1/2"]])
SMOOTHED = sd.SmoothedDP(1, delta="1e-3", model=MODEL)
CLAIMS = [
    sd.PureDP("0.7"),
    sd.ApproxDP("0.7", delta="1e-5"),
    sd.ZCDP("0.1"),
    sd.GaussianDP("0.5"),
]


def imported(name: str) -> Any:
    """Return a package without its own warnings, or skip."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name)


# ---- dp_accounting -------------------------------------------------------------------


@pytest.fixture(scope="module")
def pld() -> Any:
    return imported("dp_accounting.pld.privacy_loss_distribution")


@pytest.mark.parametrize("claim", CLAIMS, ids=repr)
def test_to_dp_accounting(pld: Any, claim: Guarantee) -> None:
    found = to_dp_accounting(claim, discretization="1/64")
    assert isinstance(found, pld.PrivacyLossDistribution)
    profile = claim.profile()
    for epsilon in (0.0, 0.25, 0.5, 0.6875, 1.5):
        reached = found.get_delta_for_epsilon(epsilon)
        lower, upper = profile.delta_bounds(Fraction(epsilon))
        # Equal at multiples of 1/64; the certified curve of zCDP is not convex, this one is.
        assert (lower if isinstance(claim, sd.ZCDP) else upper) <= reached * (1 + 1e-14) + 1e-17
        assert reached <= upper + 1e-11
    for epsilon in (0.1, 0.3, 0.7):
        assert found.get_delta_for_epsilon(epsilon) >= profile.delta_bounds(epsilon)[0]
    lower, upper = profile.epsilon_bounds("1e-4")
    assert lower <= found.get_epsilon_for_delta(1e-4) <= upper + 1 / 64


def test_to_dp_accounting_composes_safely(pld: Any) -> None:
    """Items whose worst cases point different ways: no less than our own composition."""
    del pld
    skew = sd.Pair(
        [-0.2231435513142097, -1.6094379124341003], [-0.1053605156578263, -2.302585092994046]
    )
    other = sd.GaussianDP("0.5")
    first, second = (to_dp_accounting(item, discretization="1/128") for item in (skew, other))
    both = sd.compose([skew, other])
    for epsilon in (0.25, 0.5, 1.0):
        composed = first.compose(second).get_delta_for_epsilon(epsilon)
        lower, upper = both.delta_bounds(epsilon)
        assert lower <= composed <= upper * 1.01


def test_from_dp_accounting(pld: Any) -> None:
    theirs = pld.from_gaussian_mechanism(2.0, value_discretization_interval=1e-2)
    ours = from_dp_accounting(theirs, neighbours="add_remove")
    exact = sd.GaussianDP("0.5")
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        delta = ours.profile().delta(epsilon)
        assert delta == pytest.approx(theirs.get_delta_for_epsilon(epsilon), rel=1e-9)
        assert (
            exact.profile().delta_bounds(epsilon)[0]
            <= delta
            <= exact.profile().delta(epsilon) * 1.001
        )
    assert ours.profile().delta_bounds(0.5)[0] == 0.0
    lower, upper = sd.compose([(sd.GaussianDP("0.5", neighbours="add_remove"), 10)]).delta_bounds(2)
    composed = sd.compose([(ours, 10)]).delta(2)
    assert lower <= composed <= upper * 1.001
    assert composed == pytest.approx(theirs.self_compose(10).get_delta_for_epsilon(2.0), rel=1e-3)


def test_from_dp_accounting_with_two_directions(pld: Any) -> None:
    theirs = pld.from_gaussian_mechanism(1.0, sampling_prob=0.1, value_discretization_interval=1e-3)
    ours = from_dp_accounting(theirs, neighbours="add_remove")
    assert ours.forward is not ours.backward
    exact = sd.SubsampledGaussian("0.1", noise_multiplier=1)
    assert ours.profile().delta(1) == pytest.approx(theirs.get_delta_for_epsilon(1.0), rel=1e-9)
    lower, upper = sd.compose([(exact, 4)]).delta_bounds(1)
    assert lower <= sd.compose([(ours, 4)]).delta(1) <= upper * 1.01


def test_from_dp_accounting_refuses(pld: Any) -> None:
    optimistic = pld.from_gaussian_mechanism(
        2.0, value_discretization_interval=1e-2, pessimistic_estimate=False, use_connect_dots=False
    )
    for bad in (optimistic, 1.0, sd.PureDP(1)):
        with pytest.raises(InvalidParameter):
            from_dp_accounting(bad, neighbours="add_remove")
    theirs = pld.from_gaussian_mechanism(2.0, value_discretization_interval=1e-2)
    with pytest.raises(InvalidParameter, match="neighbours"):
        from_dp_accounting(theirs, neighbours="both")
    with pytest.raises(OutOfReach, match="discretization"):
        to_dp_accounting(sd.PureDP(1), discretization="1e-7")
    with pytest.raises(InvalidParameter):
        to_dp_accounting("PureDP(1)")
    for hidden in (SMOOTHED, sd.compose([SMOOTHED])):
        with pytest.raises(IncompatibleClaims, match="smoothed"):
            to_dp_accounting(hidden)


# ---- OpenDP --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dp() -> Any:
    prelude = imported("opendp.prelude")
    prelude.enable_features("contrib", "honest-but-curious")
    return prelude


AGES = [20.0 + i % 50 for i in range(1000)]
MEDIAN = sd.queries.Median((0, 120))


@pytest.mark.parametrize(
    ("claim", "double"),
    [
        (sd.PureDP("0.3"), sd.PureDP("0.6")),
        (sd.ApproxDP("0.5", delta="1e-6"), None),
        (sd.ZCDP("0.3"), sd.ZCDP("1.2")),
    ],
    ids=repr,
)
def test_to_opendp_and_back(dp: Any, claim: Guarantee, double: Guarantee | None) -> None:
    del dp
    mechanism = sd.mechanisms.SmoothNoise.calibrate(MEDIAN, guarantee=claim, n_records=1000)
    measurement = to_opendp(mechanism)
    assert 20 <= measurement(AGES) <= 70
    back = from_opendp(measurement)
    assert isinstance(back, Guarantee)
    # Rounded up by less than a double can tell.
    assert claim.implies(back)
    for name, value in back.parameters().items():
        assert float(value) == pytest.approx(float(claim.parameters()[name]), rel=1e-15)
    if double is not None:
        two = next(iter(double.parameters().values()))
        assert isinstance(two, Fraction)
        assert Fraction(measurement.map(2)) >= two
    assert measurement.check(1, measurement.map(1))


def test_a_gaussian_claim_in_opendp(dp: Any) -> None:
    del dp

    class Shift:
        guarantee = sd.GaussianDP(2)
        n_records = 3

        def release(self, data: list[float]) -> sd.claims.Release[float]:
            return sd.claims.Release(sum(data), self.guarantee, "test", True, "0", ())

    measurement = to_opendp(Shift())
    assert measurement([1.0, 2.0, 3.0]) == 6.0
    assert (measurement.map(1), measurement.map(3)) == (2.0, 18.0)


def test_from_opendp(dp: Any) -> None:
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    laplace = dp.m.make_laplace(*space, scale=2.0)
    with pytest.raises(InvalidParameter, match="neighbours"):
        from_opendp(laplace, d_in=1.0)
    assert from_opendp(laplace, d_in=1.0, neighbours="replace_one") == sd.PureDP("0.5")
    gaussian = dp.m.make_gaussian(*space, scale=2.0)
    found = from_opendp(gaussian, d_in=1.0, neighbours="add_remove")
    assert found == sd.ZCDP("0.125", neighbours="add_remove")
    curve = dp.c.make_zCDP_to_approxDP(gaussian)
    profile = from_opendp(curve, d_in=1.0, neighbours="replace_one")
    exact = sd.ZCDP("0.125").profile().epsilon("1e-6")
    assert isinstance(profile, sd.claims.PrivacyProfile)
    assert profile.epsilon("1e-6") == pytest.approx(exact, rel=1e-6)
    twice = sd.compose([(profile, 2)]).epsilon("1e-6")
    assert exact < twice < 2 * exact
    fixed = from_opendp(dp.c.make_fix_delta(curve, 1e-6), d_in=1.0, neighbours="replace_one")
    assert isinstance(fixed, sd.ApproxDP)
    assert fixed.epsilon == pytest.approx(exact, rel=1e-6)


def test_from_opendp_knows_neighbours(dp: Any) -> None:
    count = dp.t.make_count(
        dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()
    ) >> dp.m.then_laplace(scale=1.0)
    assert from_opendp(count) == sd.PureDP(1, neighbours="add_remove")
    assert from_opendp(count, d_in=2) == sd.PureDP(2)
    with pytest.raises(IncompatibleClaims, match="add_remove"):
        from_opendp(count, neighbours="replace_one")
    ledger_item = from_opendp(count, d_in=2)
    assert sd.compose([ledger_item, sd.GaussianDP("0.5")]).delta(1) > 0


def test_opendp_refuses(dp: Any) -> None:
    for bad in (sd.PureDP(1), "x"):
        with pytest.raises(InvalidParameter):
            to_opendp(bad)
        with pytest.raises(InvalidParameter):
            from_opendp(bad)
    mechanism = sd.mechanisms.SmoothNoise.calibrate(MEDIAN, guarantee=sd.PureDP(1), n_records=10)
    with pytest.raises(IncompatibleClaims, match="metric"):
        to_opendp(mechanism, input_metric=dp.symmetric_distance())

    class Smoothed:
        guarantee = SMOOTHED

        def release(self, data: Any) -> None:
            del data

    with pytest.raises(IncompatibleClaims, match="smoothed"):
        to_opendp(Smoothed())


# ---- autodp --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def autodp() -> Iterator[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield imported("autodp.mechanism_zoo")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("claim", CLAIMS, ids=repr)
def test_to_autodp(autodp: Any, claim: Guarantee) -> None:
    del autodp
    exact = claim.profile().epsilon("1e-4")
    found = to_autodp(claim).get_approxDP(1e-4)
    assert exact * (1 - 1e-9) <= found <= exact * 1.001


@pytest.mark.filterwarnings("ignore")
def test_autodp_composes_what_it_got(autodp: Any) -> None:
    del autodp
    zoo = imported("autodp.transformer_zoo")
    composed = zoo.Composition()([to_autodp(sd.GaussianDP("0.5"))], [8]).get_approxDP(1e-4)
    exact = sd.compose([(sd.GaussianDP("0.5"), 8)]).epsilon("1e-4")
    assert exact <= composed <= 1.2 * exact


@pytest.mark.filterwarnings("ignore")
def test_from_autodp(autodp: Any) -> None:
    theirs = autodp.GaussianMechanism(sigma=2.0)
    found = from_autodp(theirs, neighbours="replace_one", delta="1e-6")
    assert isinstance(found, sd.ApproxDP)
    assert found.epsilon == pytest.approx(sd.GaussianDP("0.5").profile().epsilon("1e-6"), rel=1e-6)
    pure = from_autodp(to_autodp(sd.PureDP("0.5")), neighbours="add_remove")
    assert pure == sd.PureDP("0.5", neighbours="add_remove")
    with pytest.raises(InvalidParameter, match="finite epsilon"):
        from_autodp(theirs, neighbours="replace_one")
    with pytest.raises(InvalidParameter):
        from_autodp(1, neighbours="replace_one")
    with pytest.raises(IncompatibleClaims, match="smoothed"):
        to_autodp(SMOOTHED)


# ---- without them --------------------------------------------------------------------


def test_a_missing_package_is_named() -> None:
    with pytest.raises(MissingExtra, match=r"smoothdp\[opendp\]"):
        library("no_such_package_at_all", extra="opendp")


def test_binary_up() -> None:
    for text in ("0.1", "0.3", "1e-6", "1e-5000", "1"):
        assert Fraction(binary_up(Fraction(text))) >= Fraction(text)
    assert binary_up(Fraction(1, 4)) == 0.25
    assert binary_up(Fraction("1e-5000")) == 5e-324
    assert binary_up(Fraction(0)) == 0.0
