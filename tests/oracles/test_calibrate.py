"""Calibrated numbers against roots found by other means: closed forms and exact rationals."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import pytest

import smoothdp as sd
from smoothdp.claims.curves.profile import FunctionProfile
from smoothdp.errors import IncompatibleClaims, InvalidParameter, OutOfReach
from smoothdp.exact.logspace.bounds import LogBounds


def _gaussian_sigma(count: int, epsilon: float, delta: str) -> mpmath.mpf:
    """The sigma of k Gaussian mechanisms, by the closed form of their sum, in 40 digits."""
    with mpmath.workdps(40):

        def excess(mu: mpmath.mpf) -> mpmath.mpf:
            first = mpmath.ncdf(mu / 2 - epsilon / mu)
            return mpmath.log(first - mpmath.exp(epsilon) * mpmath.ncdf(-mu / 2 - epsilon / mu))

        goal = mpmath.log(mpmath.mpf(delta))
        low, high = mpmath.mpf("1e-3"), mpmath.mpf(50)
        for _ in range(120):
            middle = mpmath.sqrt(low * high)
            low, high = (low, middle) if excess(middle) > goal else (middle, high)
        return mpmath.sqrt(count) / high


@pytest.mark.parametrize(
    ("count", "epsilon", "delta"), [(1, 1, "1e-6"), (100, 1, "1e-6"), (7, 8, "1e-12")]
)
def test_sigma_is_that_of_the_closed_form(count: int, epsilon: int, delta: str) -> None:
    found = sd.calibrate(
        lambda sigma: [(sd.GaussianMechanism(sigma), count)], sd.ApproxDP(epsilon, delta=delta)
    )
    truth = _gaussian_sigma(count, epsilon, delta)
    assert found.refuted is not None
    assert found.refuted < truth <= found.value
    assert found.distance < 1e-9
    assert found.bounds[1] <= float(delta)


def _response_delta(count: int, growth: Fraction, power: Fraction) -> Fraction:
    """Delta of k randomised responses of odds ``growth``, at e^epsilon = ``power``, exactly."""
    keep = growth / (1 + growth)
    total = Fraction(0)
    for ones in range(count + 1):
        ways = math.comb(count, ones)
        p = ways * keep**ones * (1 - keep) ** (count - ones)
        q = ways * keep ** (count - ones) * (1 - keep) ** ones
        total += max(Fraction(0), p - power * q)
    return total


@pytest.mark.parametrize(("power", "delta"), [(3, "1e-3"), (5, "1/100"), (20, "1e-9")])
def test_whole_numbers_are_decided_as_exact_sums_decide(power: int, delta: str) -> None:
    growth = Fraction(6, 5)
    response = sd.Pair([math.log(6 / 11), math.log(5 / 11)], [math.log(5 / 11), math.log(6 / 11)])
    goal = Fraction(delta)
    most = next(k for k in range(1, 200) if _response_delta(k + 1, growth, Fraction(power)) > goal)
    found = sd.calibrate(lambda k: [(response, k)], (f"ln({power})", delta), low=1, high=most * 7)
    assert (found.value, found.refuted) == (most, most + 1)


def test_the_last_of_a_range_has_no_neighbour() -> None:
    found = sd.calibrate(lambda k: [(sd.PureDP("0.01"), k)], (1, 0), low=1, high=50)
    assert (found.value, found.refuted, found.distance) == (50, None, math.inf)
    assert "No number was certified to miss it" in found.sentence()


@pytest.mark.parametrize("count", [3, 30])
def test_epsilons_of_pure_releases_add_up(count: int) -> None:
    found = sd.calibrate(lambda epsilon: [(sd.PureDP(epsilon), count)], sd.PureDP(1))
    assert found.refuted is not None
    assert found.value <= 1 / count < found.refuted
    assert found.distance < 1e-9


@pytest.mark.parametrize(
    ("make", "target", "first", "last", "tries"),
    [
        # Bounds of three claims of zCDP together: what lies between is open.
        (lambda rho: [(sd.ZCDP(rho), 3)], (1, "1e-6"), 0.004, 0.016, 20),
        (lambda rho: [(sd.ZCDP(rho), 1)], (8, "1e-12"), 0.05, 1.6, 20),
        (lambda scale: [(_Loosely(scale), 1)], (1, "1e-6"), 9.0, 2.0, 18),
        (lambda scale: [(_Loosely(scale, below=1e5), 1)], (3, "1e-9"), 9.0, 0.5, 18),
    ],
)
def test_where_a_range_is_undecided_both_ends_are_near_it_after_few_numbers(
    make: Any, target: tuple[Any, str], first: float, last: float, tries: int
) -> None:
    tried: list[float] = []

    def counted(number: float) -> Any:
        tried.append(number)
        return make(number)

    found = sd.calibrate(counted, target)
    assert len(tried) <= tries
    assert found.refuted is not None
    assert found.refuted_bounds is not None
    assert found.bounds[1] <= float(target[1]) < found.refuted_bounds[0]
    # The ends of what is undecided, by bisection from a number that is certain on each side.
    ends = [
        _turn(lambda x: sd.compose(make(x)).delta(target[0]) <= float(target[1]), first, last),
        _turn(
            lambda x: sd.compose(make(x)).delta_bounds(target[0])[0] > float(target[1]), last, first
        ),
    ]
    reached = [abs(end - at) for end, at in zip(ends, (found.value, found.refuted), strict=True)]
    assert max(reached) <= abs(ends[0] - ends[1]) / 10


def _turn(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """Return where a claim about numbers stops holding."""
    assert holds(inside)
    assert not holds(outside)
    for _ in range(60):
        middle = math.sqrt(inside * outside)
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside


class _Loosely:
    """Normal noise, of which delta is known to a factor only."""

    def __init__(self, scale: float, *, below: float = 10.0) -> None:
        self._exact = sd.GaussianMechanism(scale).profile()
        self._below = math.log(below)

    def profile(self) -> FunctionProfile:
        def bounds(epsilon: Any) -> LogBounds:
            found = self._exact.log_delta_bounds(epsilon)
            return LogBounds(found.lower - self._below, min(0.0, found.upper + 0.7))

        return FunctionProfile(bounds, self._exact.neighbours)


def test_a_hump_is_no_trap() -> None:
    # Delta falls, then rises, in x: safety rests on the two evaluations alone.
    found = sd.calibrate(
        lambda x: sd.LaplaceMechanism(1 + (x - 3) ** 2), sd.PureDP("0.5"), low=2.5, high=9.5
    )
    assert found.refuted is not None
    assert 1 + (found.value - 3) ** 2 >= 2 > 1 + (found.refuted - 3) ** 2
    assert found.profile().delta("0.5") == 0


def test_rates_that_do_not_exist_end_the_search() -> None:
    found = sd.calibrate(
        lambda rate: [(sd.SubsampledGaussian(rate, noise_multiplier=3), 5)], (2, "1e-5")
    )
    assert found.refuted is not None
    assert 0 < found.value < found.refuted < 1
    # The rate found is the largest: with all records sampled the target is missed.
    assert sd.compose([(sd.SubsampledGaussian(1, noise_multiplier=3), 5)]).delta(2) > 1e-5


def test_what_no_number_meets_is_refused() -> None:
    with pytest.raises(OutOfReach, match="a number that meets"):
        sd.calibrate(sd.GaussianMechanism, (1, "1e-6"), low=0.5, high=2.0)


@pytest.mark.parametrize(
    ("target", "range_"),
    [
        (sd.ZCDP(1), {}),
        ((1,), {}),
        ("1", {}),
        ((1, "1e-6"), {"low": 1.0}),
        ((1, "1e-6"), {"low": 5, "high": 5}),
        ((-1, "1e-6"), {}),
        ((1, 2), {}),
    ],
)
def test_targets_and_ranges_are_checked(target: object, range_: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        sd.calibrate(sd.GaussianMechanism, target, **range_)  # type: ignore[arg-type]


def test_neighbours_of_the_target_are_those_of_the_items() -> None:
    with pytest.raises(IncompatibleClaims):
        sd.calibrate(sd.GaussianMechanism, sd.ApproxDP(1, delta="1e-6", neighbours="add_remove"))


def test_errors_of_the_maker_pass() -> None:
    with pytest.raises(ZeroDivisionError):
        sd.calibrate(lambda x: x / 0, (1, "1e-6"))


def test_a_budget_is_split_by_weights() -> None:
    shares = sd.split_budget(
        sd.ApproxDP(1, delta="1e-6"),
        {
            "a": (sd.GaussianMechanism, 1),
            "b": (lambda deviation: (sd.GaussianMechanism(deviation), 3), "5/2"),
        },
    )
    found = shares.standard_deviations
    assert found["b"] == pytest.approx(2.5 * found["a"], rel=1e-15)
    # The sum of 1/sigma^2 is that of one Gaussian mechanism.
    total = 1 / found["a"] ** 2 + 3 / found["b"] ** 2
    assert 1 / math.sqrt(total) == pytest.approx(float(_gaussian_sigma(1, 1, "1e-6")), rel=1e-10)
    assert sd.compose(list(shares.items.values())).delta(1) <= 1e-6


@pytest.mark.parametrize("releases", [{}, [], {"a": (sd.GaussianMechanism, 0)}])
def test_a_budget_needs_releases_with_weights(releases: object) -> None:
    with pytest.raises(InvalidParameter):
        sd.split_budget((1, "1e-6"), releases)  # type: ignore[arg-type]


def test_claims_on_average_meet_no_ordinary_target() -> None:
    model = sd.DataModel([["1/2", "1/2"]])
    with pytest.raises(IncompatibleClaims, match="smoothed claim"):
        sd.calibrate(
            lambda epsilon: [sd.SmoothedDP(epsilon, delta="1e-6", model=model), sd.PureDP("0.1")],
            sd.ApproxDP(1, delta="1e-3"),
        )
