"""What every protocol of the shuffle model keeps, and what it refuses."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.concentrated import ZCDP
from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.errors import IncompatibleClaims, InvalidData, InvalidParameter, PrivacyWarning
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.exact.random.entropy import Entropy, SeededRandom
from smoothdp.shuffle.flipped.boolean_sum import BooleanSum
from smoothdp.shuffle.flipped.real_sum import RealSum
from smoothdp.shuffle.messages import Message, ReadMessages, read_messages
from smoothdp.shuffle.protocol import ShuffleProtocol
from smoothdp.sources import Source

# ruff: noqa: ARG002 - the dummy does nothing with its arguments


@dataclass(frozen=True)
class Dummy(ShuffleProtocol[int, int]):
    """Sends the datum as it is: what the base class does without any protocol."""

    source: ClassVar[Source] = Source("chen-long", "none")
    n_users: int

    def randomize(self, datum: int, *, rng: Entropy | None = None) -> tuple[int, ...]:
        return (datum,)

    def read(self, messages: Iterable[object]) -> ReadMessages:
        return read_messages(
            messages, protocol="Dummy", n_values=10, at_most=self.n_users, expected=self.n_users
        )

    def estimate(self, read: ReadMessages) -> int:
        return int(read.values.sum())

    def check_data(self, data: Iterable[int]) -> list[int]:
        return list(data)

    def check_counts(self, counts: Any) -> int:
        return int(counts)

    def _run_users(self, data: Any, rng: Entropy) -> int:
        return sum(data)

    def _run_counts(self, counts: Any, rng: Entropy) -> int:
        return int(counts)

    def profile(self, *, n_honest: int | None = None) -> PrivacyProfile:
        self._honest(n_honest)
        return self.guarantee.profile()

    @property
    def guarantee(self) -> Guarantee:
        return ApproxDP(0, delta=1)

    def error(self, failure_probability: Parameter, *, simultaneous: bool = False) -> float:
        return 0.0

    def mse(self, values: Any = None) -> float:
        return 0.0

    def describe(self) -> str:
        return "nothing hidden"


def test_the_frame() -> None:
    dummy = Dummy(3)
    assert dummy.run_messages([1, 2, 3]) == 6
    assert dummy.release([1, 2, 3]).value == 6
    assert dummy.release([1, 2, 3]).is_private
    assert not dummy.release([1, 2, 3], rng=SeededRandom(1)).is_private
    assert not dummy.simulate(6).is_private
    assert dummy.simulate(6).sentence().startswith("NOT PRIVATE")
    assert dummy.local_profile().delta(1) == 1.0
    for bad in (0, -1, 4, 1.5, True, math.nan):
        with pytest.raises(InvalidParameter):
            dummy.profile(n_honest=bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidData, match="either data or counts"):
        dummy.release()


PROTOCOLS = [
    BooleanSum(50, expected_random_users=20),
    RealSum(20, expected_random_users=9, n_bits=3),
]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda p: type(p).__name__)
class TestSums:
    def test_profile(self, protocol: Any) -> None:
        profile = protocol.profile()
        epsilons = ["0", "0.1", "0.5", "1", "2", "10"]
        deltas = [profile.delta(e) for e in epsilons]
        assert deltas == sorted(deltas, reverse=True)
        for epsilon in epsilons:
            lower, upper = profile.delta_bounds(epsilon)
            assert lower <= upper <= lower * (1 + 1e-10) + 1e-300
        last = profile.epsilon(0)
        assert profile.delta(last) == 0.0
        assert profile.delta(last * 0.99) > 0.0
        assert profile.log_delta(last * 0.999) > -math.inf

    def test_fewer_honest_users_hide_less(self, protocol: Any) -> None:
        n = protocol.n_users
        for epsilon in ("0", "0.4"):
            deltas = [protocol.profile(n_honest=m).delta(epsilon) for m in (n, n // 2, 2, 1)]
            assert deltas == sorted(deltas)
            assert protocol.profile(n_honest=n).delta(epsilon) == deltas[0]
        assert protocol.local_profile().delta("0.4") == deltas[-1]
        curve = protocol.honest_curve(epsilon="0.4", shares=["0.1", "0.5", 1])
        assert [m for m, _ in curve] == [max(1, n // 10), n // 2, n]
        assert curve[-1][1] == deltas[0]

    def test_collusion_leaves_the_local_randomizer(self, protocol: Any) -> None:
        """One user alone: the r bits as they are, P0 against P1."""
        q, r = protocol.flip_probability, protocol.n_bits
        growth = Fraction(3, 2)
        law = [math.comb(r, k) * q**k * (1 - q) ** (r - k) for k in range(r + 1)]
        truth = sum(max(Fraction(0), a - growth * b) for a, b in zip(law, law[::-1], strict=True))
        found = protocol.local_profile().delta("ln(3/2)")
        assert found == pytest.approx(float(truth), rel=1e-12)

    def test_replays_reveal_more(self, protocol: Any) -> None:
        deltas = [protocol.replayed_profile(c).delta("0.5") for c in (1, 2, 5)]
        assert deltas[0] == protocol.profile().delta("0.5")
        assert deltas == sorted(deltas)
        # Never more than with no others at all.
        assert deltas[-1] <= protocol.local_profile().delta("0.5") * (1 + 1e-9)

    def test_tradeoff_says_what_the_profile_says(self, protocol: Any) -> None:
        curve = protocol.tradeoff()
        for epsilon in ("0", "0.3", "0.9"):
            assert curve.delta(epsilon) == pytest.approx(
                protocol.profile().delta(epsilon), rel=1e-9
            )
        alphas = np.linspace(0, 1, 21)
        pointwise = protocol.type_two_error(alphas)
        for alpha, beta in zip(alphas.tolist(), pointwise.tolist(), strict=True):
            assert curve(alpha) <= beta + 1e-15

    def test_gaussian_mu(self, protocol: Any) -> None:
        lower, upper = protocol.gaussian_mu_bounds()
        assert lower <= upper <= lower * (1 + 1e-8)
        assert protocol.gaussian_mu() == upper
        # The curve of all data is above the Gaussian one, and touches it.
        assert protocol.tradeoff().gaussian_mu() == pytest.approx(upper, rel=1e-7)
        profile, claim = protocol.profile(), GaussianDP(upper).profile()
        for epsilon in ("0", "0.2", "0.7", "1.5"):
            assert profile.delta(epsilon) <= claim.delta(epsilon)
        assert protocol.gaussian_mu("1e-3") <= upper

    def test_messages_that_do_not_belong(self, protocol: Any) -> None:
        m = protocol.n_users * protocol.n_bits
        name = type(protocol).__name__
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            clean = protocol.analyze([1] * m)
            assert protocol.analyze(np.ones(m, dtype=np.int64)) == clean
            assert protocol.analyze([Message(name, 1)] * m) == clean
        odd = [7, -1, True, "x", None, 1.0, math.nan, Message("Other", 1), (1,), 2**70]
        with pytest.warns(PrivacyWarning, match="3 outside the alphabet") as record:
            assert protocol.analyze([*odd, *[1] * m]) == clean
        text = str(record[0].message)
        assert "6 malformed" in text
        assert "1 of another protocol" in text
        assert "n_honest" in text
        with pytest.warns(PrivacyWarning, match="5 more than the users can send"):
            assert protocol.analyze([1] * (m + 5)) == clean
        with pytest.warns(PrivacyWarning, match="missing"):
            protocol.analyze([1] * (m - 4))
        for bad in ("0101", 5, None):
            with pytest.raises(InvalidData):
                protocol.analyze(bad)

    def test_missing_messages_keep_the_estimate_unbiased(self, protocol: Any) -> None:
        """From m bits: total - m q over r (1 - 2q), exactly."""
        q, r = protocol.flip_probability, protocol.n_bits
        with pytest.warns(PrivacyWarning):
            found = protocol.analyze([1, 0, 1])
        assert found == pytest.approx(float((2 - 3 * q) / (r * (1 - 2 * q))), rel=1e-15)

    def test_guarantee_and_release(self, protocol: Any) -> None:
        release = protocol.release([1] * protocol.n_users)
        assert release.is_private
        assert release.guarantee == protocol.guarantee
        assert isinstance(release.guarantee, ApproxDP)
        assert protocol.profile().delta(release.guarantee.epsilon) <= release.guarantee.delta
        assert str(protocol.n_users) in release.mechanism

    def test_error_holds(self, protocol: Any) -> None:
        assert protocol.error("0.05") < protocol.error("1e-6")
        assert protocol.error("0.05", simultaneous=True) == protocol.error("0.05")
        for bad in (0, 1, -0.1, math.nan, True, "x"):
            with pytest.raises(InvalidParameter):
                protocol.error(bad)

    def test_wrong_data(self, protocol: Any) -> None:
        n = protocol.n_users
        for bad in (2, -1, math.nan, math.inf, "1", None, -1e-9, 1 + 1e-9, 10**30):
            with pytest.raises(InvalidData, match="data in"):
                protocol.release([bad] + [0] * (n - 1))
            with pytest.raises(InvalidData):
                protocol.randomize(bad)
        for size in (0, n - 1, n + 1):
            with pytest.raises(InvalidData, match="n_users"):
                protocol.release([0] * size)
            with pytest.raises(InvalidData, match="n_users"):
                protocol.run_messages([0] * size)
        for whole in ("01", 7, np.zeros((n, 2))):
            with pytest.raises(InvalidData):
                protocol.release(whole)

    def test_wrong_parameters(self, protocol: Any) -> None:
        kind = type(protocol)
        extra = {} if kind is BooleanSum else {"n_bits": 3}
        n = protocol.n_users
        for bad in (0, n, -1, n + 1, math.nan, math.inf, True, "x", None):
            with pytest.raises(InvalidParameter, match="expected_random_users"):
                kind(n, expected_random_users=bad, **extra)
        for bad in (0, -3, 2.5, math.nan, True, "12", None, 10**15):
            with pytest.raises(InvalidParameter, match="n_users"):
                kind(bad, expected_random_users="1/2", **extra)
        for bad in (0, -1, 1.5, True):
            with pytest.raises(InvalidParameter):
                protocol.replayed_profile(bad)
        for bad in (-0.1, 1.1, math.nan):
            with pytest.raises(InvalidParameter):
                protocol.type_two_error(bad)
            with pytest.raises(InvalidParameter):
                protocol.gaussian_mu(bad)


def test_real_data_keep_their_exact_value() -> None:
    protocol = RealSum(1, expected_random_users="1/2", n_bits=10)
    assert protocol.encode(1) == (1,) * 10
    assert protocol.encode(0) == (0,) * 10
    assert protocol.encode(0.3).count(1) in (3, 4)
    assert protocol.encode(np.float64(0.5)) == (1,) * 5 + (0,) * 5
    assert protocol.encode(5e-324) == (0,) * 10


def test_counts() -> None:
    boolean = BooleanSum(10, expected_random_users=1)
    assert boolean.check_counts(4) == boolean.check_counts((6, 4)) == 4
    assert boolean.check_counts(np.array([6, 4])) == 4
    for bad in ((5, 4), (1, 2, 3), "46", 11):
        with pytest.raises(InvalidData):
            boolean.check_counts(bad)
    for worse in (-1, 2.5, (11, -1)):
        with pytest.raises(InvalidParameter):
            boolean.check_counts(worse)
    real = RealSum(3, expected_random_users=1, n_bits=2)
    assert real.check_counts({0.5: 2, 1: 1}) == real.check_counts([(0.5, 2), (1, 1)])
    for wrong in ({0.5: 2}, [(2, 3)], [1, 2, 3]):
        with pytest.raises(InvalidData):
            real.check_counts(wrong)


@pytest.mark.parametrize("n", [1, 2, 30, 300])
@pytest.mark.parametrize(
    "claim", [PureDP(1), ApproxDP("0.5", delta="1e-3"), ApproxDP(0, delta="0.2"), GaussianDP(1)]
)
def test_calibration_meets_the_claim_and_no_more(n: int, claim: Guarantee) -> None:
    protocol = BooleanSum.calibrate(n, guarantee=claim, honest_share=1)
    assert protocol.guarantee == claim
    less = BooleanSum(n, expected_random_users=protocol.expected_random_users * Fraction("0.9995"))
    if isinstance(claim, GaussianDP):
        assert Fraction(protocol.gaussian_mu()) <= claim.exact_mu
        assert Fraction(less.gaussian_mu_bounds()[0]) > claim.exact_mu
        return
    epsilon = claim.exact_epsilon  # type: ignore[attr-defined]
    delta = getattr(claim, "exact_delta", Fraction(0))
    assert Fraction(protocol.profile().delta(epsilon)) <= delta
    assert Fraction(less.profile().delta_bounds(epsilon)[1]) > delta


def test_calibration_of_many_bits() -> None:
    claim = ApproxDP(1, delta="1e-6")
    protocols = [
        RealSum.calibrate(1000, guarantee=claim, honest_share=1, n_bits=r) for r in (1, 4, 16)
    ]
    for protocol in protocols:
        assert protocol.profile().delta(1) <= 1e-6
    # Repeats of a Boolean: nothing is rounded and the noise falls.
    errors = [protocol.mse([0, 1]) for protocol in protocols]
    assert errors == sorted(errors, reverse=True)
    best = RealSum.best_n_bits(1000, guarantee=claim, honest_share=1, data="boolean")
    assert 2 <= best <= 64
    assert RealSum.best_n_bits(1000, guarantee=claim, honest_share=1) >= best


def test_calibration_chooses_the_bits() -> None:
    """All of it within seconds, whatever the number of users; no search is repeated."""
    claim = ApproxDP(1, delta="1e-6")
    started = time.process_time()
    protocol = RealSum.calibrate(336_776, guarantee=claim, honest_share=1)
    assert protocol.n_bits == 256
    assert Fraction(protocol.profile().delta(1)) <= claim.exact_delta
    fewer = RealSum.calibrate(336_776, guarantee=claim, honest_share=1, n_bits=64)
    lower, upper = fewer.profile().epsilon_bounds("1e-6")
    assert 0.9998 < lower <= upper == 1.0
    assert time.process_time() - started < 15
    # The same protocol, given by its numbers: certified once more, from nothing.
    given = RealSum(336_776, expected_random_users=fewer.expected_random_users, n_bits=fewer.n_bits)
    assert Fraction(given.profile().delta(1)) <= claim.exact_delta
    assert (
        protocol.mse()
        < 1.1 * RealSum.calibrate(336_776, guarantee=claim, honest_share=1, n_bits=32).mse()
    )
    for bad in (0, -1, 1.5, True, math.nan):
        with pytest.raises(InvalidParameter, match="at_most"):
            RealSum.best_n_bits(1000, guarantee=claim, honest_share=1, at_most=bad)  # type: ignore[arg-type]
    assert RealSum.best_n_bits(336_776, guarantee=claim, honest_share=1, at_most=7) == 4
    # Rounding is seen beside the noise from about 1e5 users on; a wide total is not doubled.
    many = 10**8
    assert RealSum.best_n_bits(many, guarantee=GaussianDP(mu=2)) == 1024
    assert RealSum.best_n_bits(many, guarantee=GaussianDP(mu=2), at_most=64) == 64
    assert RealSum.best_n_bits(10**6, guarantee=ApproxDP("1/10", delta="1e-6")) == 64


def test_only_what_was_proved_counts_as_proof() -> None:
    claim = ApproxDP(1, delta="1e-6")
    plain = RealSum(1000, expected_random_users=5, n_bits=20)
    assert plain.profile().delta(1) > 1e-3
    assert plain.profile().epsilon("1e-6") > 2
    with pytest.raises(InvalidParameter, match="promise that the exact profile keeps"):
        RealSum(1000, expected_random_users=5, n_bits=20, promise=claim)
    proved = RealSum.calibrate(1000, guarantee=claim, honest_share=1, n_bits=20)
    assert proved.profile().epsilon("1e-6") <= 1.0
    assert proved.profile(n_honest=1000).epsilon("1e-6") <= 1.0
    # Other laws, another epsilon, another delta.
    assert proved.profile(n_honest=900).delta(1) > 1e-6
    assert proved.profile(n_honest=900).epsilon("1e-6") > 1
    assert proved.replayed_profile(2).delta(1) > 1e-6
    assert proved.profile().delta("0.99") > 1.05e-6
    assert proved.profile().delta("1.01") < 0.95e-6
    assert proved.profile().epsilon("0.9e-6") > 1
    assert proved.profile().epsilon("1.1e-6") < 1
    assert replace(proved, n_bits=20) == proved
    with pytest.raises(InvalidParameter, match="promise that the exact profile keeps"):
        replace(proved, expected_random_users=Fraction(5))


TARGETS: list[Guarantee] = [
    PureDP(1),
    PureDP("ln(3)"),
    ApproxDP("0.5", delta="1e-3"),
    ApproxDP(0, delta="0.2"),
    ApproxDP(2, delta="1e-300"),
    ApproxDP(3, delta=0),
    GaussianDP(1),
]


@pytest.mark.parametrize("n_bits", [1, 3])
@pytest.mark.parametrize("n", [2, 30])
@pytest.mark.parametrize("claim", TARGETS, ids=repr)
def test_a_sum_takes_what_calibration_found_and_no_less_noise(
    n: int, n_bits: int, claim: Guarantee
) -> None:
    """The same numbers with the promise are accepted; a little less noise is refused."""
    found = RealSum.calibrate(n, guarantee=claim, honest_share=1, n_bits=n_bits)
    users = found.expected_random_users
    stated = RealSum(n, expected_random_users=users, n_bits=n_bits, promise=claim)
    assert stated == found
    assert stated.guarantee == claim
    assert stated.profile().met == found.profile().met
    with pytest.raises(InvalidParameter, match="promise that the exact profile keeps"):
        RealSum(n, expected_random_users=users * Fraction("0.999"), n_bits=n_bits, promise=claim)
    # What a sum states by itself may be given to it as well.
    plain = RealSum(n, expected_random_users=users, n_bits=n_bits).guarantee
    again = RealSum(n, expected_random_users=users, n_bits=n_bits, promise=plain)
    assert again.guarantee == plain


def test_a_sum_refuses_what_is_no_promise_of_its_kind() -> None:
    with pytest.raises(InvalidParameter, match=r"delta of at least 0\.64"):
        BooleanSum(100, expected_random_users=1, promise=ApproxDP("0.001", delta="1e-12"))
    for bad in ("hello", 1, ZCDP(1), PureDP):
        with pytest.raises(InvalidParameter, match="PureDP, ApproxDP or GaussianDP"):
            BooleanSum(100, expected_random_users=90, promise=bad)  # type: ignore[arg-type]
    with pytest.raises(IncompatibleClaims, match="replace_one"):
        BooleanSum(100, expected_random_users=90, promise=PureDP(9, neighbours="add_remove"))


def test_calibration_by_the_paper() -> None:
    claim = ApproxDP("0.5", delta="1e-6")
    protocol = BooleanSum.calibrate(10**5, guarantee=claim, honest_share=1, method="paper")
    exact = BooleanSum.calibrate(10**5, guarantee=claim, honest_share=1)
    assert protocol.expected_random_users > 10 * exact.expected_random_users
    with pytest.raises(InvalidParameter, match=r"The smallest is \d+") as record:
        BooleanSum.calibrate(20, guarantee=claim, honest_share=1, method="paper")
    smallest = int(str(record.value).split("The smallest is ")[1].split(";")[0])
    BooleanSum.calibrate(smallest, guarantee=claim, honest_share=1, method="paper")
    with pytest.raises(InvalidParameter, match="The smallest is"):
        BooleanSum.calibrate(smallest - 1, guarantee=claim, honest_share=1, method="paper")


def test_calibration_refuses() -> None:
    with pytest.raises(InvalidParameter, match="PureDP, ApproxDP or GaussianDP"):
        BooleanSum.calibrate(100, guarantee=ZCDP(1), honest_share=1)
    with pytest.raises(IncompatibleClaims, match="replace_one"):
        BooleanSum.calibrate(100, guarantee=PureDP(1, neighbours="add_remove"), honest_share=1)
    with pytest.raises(InvalidParameter, match="method"):
        BooleanSum.calibrate(100, guarantee=PureDP(1), honest_share=1, method="best")  # type: ignore[arg-type]
    for nothing in (PureDP(0), ApproxDP(0, delta=0), GaussianDP(0)):
        with pytest.raises(InvalidParameter, match="nothing is learnt"):
            BooleanSum.calibrate(100, guarantee=nothing, honest_share=1)
    with pytest.raises(InvalidParameter, match="paper"):
        BooleanSum.calibrate(100, guarantee=PureDP(1), honest_share=1, method="paper")


@pytest.mark.parametrize("n", [2, 10**3, 10**6, pytest.param(10**9, marks=pytest.mark.slow)])
def test_all_sizes(n: int) -> None:
    protocol = BooleanSum(n, expected_random_users=min(68, n * 0.5))
    lower, upper = protocol.profile().delta_bounds("0.2")
    assert 0 < lower <= upper <= lower * 1.0002
    deep = Fraction(float(protocol.profile().pure_epsilon) * 0.9)
    bounds = protocol.profile().log_delta_bounds(deep)
    assert -math.inf < bounds.lower <= bounds.upper < math.log(lower)
    assert protocol.mse() > 0
    assert protocol.simulate(n // 3).value == pytest.approx(n / 3, abs=12 * protocol.mse() ** 0.5)
