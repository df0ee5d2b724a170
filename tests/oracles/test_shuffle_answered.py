"""Users who stay away, send nothing or lie: what the analyser refuses, says and estimates."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from smoothdp.claims import ApproxDP, GaussianDP, PureDP
from smoothdp.errors import InvalidData, InvalidParameter, PrivacyWarning
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.shuffle import (
    BooleanSum,
    Histogram,
    LowCommunicationHistogram,
    RealSum,
    ZeroPreservingCount,
)
from smoothdp.shuffle.users.honesty import (
    MessagesOfOne,
    most_honest_despite,
    most_honest_users,
    most_messages_of,
)
from tests.checkers.rationals import binomial_law

GOAL = ApproxDP(1, delta="1e-6")


def promised(kind: Any, *, all_users: int, honest: int, **more: Any) -> Any:
    """A protocol of all users whose promise needs fewer of them."""
    if kind in (BooleanSum, RealSum):
        few = kind.calibrate(honest, guarantee=GOAL, honest_share=1, **more)
        users = few.expected_random_users * all_users / honest
        return kind(all_users, expected_random_users=users, promise=GOAL, **more)
    few = kind.calibrate(honest, guarantee=GOAL, honest_share=1, **more)
    name = "noise_probability" if kind is LowCommunicationHistogram else "omission_probability"
    return kind(all_users, **{name: getattr(few, name)}, promise=GOAL, **more)


KINDS = [
    (BooleanSum, {}),
    (RealSum, {"n_bits": 3}),
    (ZeroPreservingCount, {}),
    (Histogram, {"n_bins": 5}),
    (LowCommunicationHistogram, {"n_bins": 5}),
]
IDS = [kind.__name__ for kind, _ in KINDS]


@pytest.mark.parametrize(("kind", "more"), KINDS, ids=IDS)
class TestEveryProtocol:
    def test_the_honest_number_is_the_least_that_keeps_the_promise(
        self, kind: Any, more: dict[str, Any]
    ) -> None:
        protocol = promised(kind, all_users=400, honest=300, **more)
        need = protocol.honest_needed
        assert need <= 300
        assert Fraction(protocol.profile(n_honest=need).delta(1)) <= GOAL.exact_delta
        assert protocol.profile(n_honest=need - 1).delta_bounds(1)[1] > 1e-6
        assert kind.calibrate(300, guarantee=GOAL, honest_share=1, **more).honest_needed > 290

    def test_too_few_answers_are_refused(self, kind: Any, more: dict[str, Any]) -> None:
        protocol = promised(kind, all_users=400, honest=300, **more)
        need, rng = protocol.honest_needed, SeededRandom(5)
        sent = [m for user in range(need) for m in protocol.randomize(user % 2, rng=rng)]
        protocol.analyze(sent, n_answered=need)
        read = protocol.answered(need).read(sent)
        protocol.estimate(read, n_answered=need)
        for n, tolerated in ((need - 1, 0), (need, 1), (1, 0)):
            with pytest.raises(InvalidData, match=f"at least {need} honest users"):
                protocol.analyze(sent, n_answered=n, tolerated=tolerated)
            with pytest.raises(InvalidData, match=f"at least {need} honest users"):
                protocol.estimate(read, n_answered=n, tolerated=tolerated)
        for bad in (0, -1, 401, 1.5, True, math.nan, "3"):
            with pytest.raises(InvalidParameter, match="n_answered"):
                protocol.analyze(sent, n_answered=bad)
        for bad in (-1, 401, 1.5, True, math.nan):
            with pytest.raises(InvalidParameter, match="tolerated"):
                protocol.analyze(sent, tolerated=bad)

    def test_no_answers_at_all_are_not_taken_for_an_empty_result(
        self, kind: Any, more: dict[str, Any]
    ) -> None:
        protocol = promised(kind, all_users=4000, honest=3000, **more)
        with pytest.raises(InvalidData, match="honest users"):
            protocol.analyze([])

    def testthose_who_answered_ran_it_with_the_same_noise(
        self, kind: Any, more: dict[str, Any]
    ) -> None:
        protocol = promised(kind, all_users=400, honest=300, **more)
        fewer = protocol.answered(350)
        assert fewer.n_users == 350
        assert fewer.promise == GOAL
        assert fewer.profile().delta(1) == protocol.profile(n_honest=350).delta(1)
        assert protocol.answered(400) is protocol
        lost = protocol.answered(protocol.honest_needed - 1)
        assert lost.promise is None
        # What it states instead is true.
        assert lost.profile().delta(lost.guarantee.epsilon) <= lost.guarantee.delta
        for name in ("flip_probability", "omission_probability", "noise_probability"):
            assert getattr(fewer, name, None) == getattr(protocol, name, None)

    def test_what_liars_can_do_is_said(self, kind: Any, more: dict[str, Any]) -> None:
        protocol = promised(kind, all_users=400, honest=300, **more)
        assert 1 <= protocol.influence_of_one_liar < 7
        one, many = protocol.liars_sentence(), protocol.liars_sentence(390)
        assert "are enough" in one
        assert "10 are too few" in many
        assert f"the promise needs {protocol.honest_needed} honest users" in one
        assert "if the shuffler lets each user send no more than" in one
        assert f"no more than {protocol.messages_allowed} message" in one
        assert "who send nothing" in protocol.liars_sentence(3)
        assert " hides" not in protocol.liars_sentence(3)
        for bad in (0, 400, 401, -1, 1.5):
            with pytest.raises(InvalidParameter, match="n_liars"):
                protocol.liars_sentence(bad)
        protocol.liars_sentence(399)

    @pytest.mark.parametrize("shown", [400, 300])
    def test_too_many_messages_are_said_or_refused(
        self, kind: Any, more: dict[str, Any], shown: int
    ) -> None:
        """All messages twice: a warning; with a number of answers that they refute, a refusal."""
        protocol, rng = promised(kind, all_users=400, honest=300, **more), SeededRandom(6)
        sent = [m for user in range(shown) for m in protocol.randomize(user % 2, rng=rng)]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            protocol.analyze(sent, n_answered=shown)
        with pytest.warns(PrivacyWarning, match="more than"):
            protocol.analyze(4 * sent)
        fewer = protocol.answered(protocol.honest_needed)
        refused = kind in (Histogram, LowCommunicationHistogram)
        with pytest.raises(InvalidData) if refused else pytest.warns(PrivacyWarning):
            protocol.analyze(2 * sent, n_answered=fewer.n_users)
        assert protocol.surplus(0) == 0
        assert protocol.honest_despite(0) == 400

    def test_a_liar_moves_an_estimate_by_no_more_than_said(
        self, kind: Any, more: dict[str, Any]
    ) -> None:
        """All that one user may send, beside honest others: the largest difference is attained."""
        protocol = kind(3, **_noise(kind, "1/4"), **more)
        d = getattr(protocol, "n_bins", 1)
        alphabet = range(d) if d > 1 else (0, 1)
        if kind is ZeroPreservingCount:
            alphabet, length = range(1, 2), range(3)
        elif d > 1:
            length = range(protocol.most_messages, protocol.most_messages + 1)
        else:
            length = range(protocol.n_bits, protocol.n_bits + 1)
        # Enough of the others' messages that nothing is hidden.
        base = [0] * 4 + [1, 2] if d > 1 else [1] * 4
        if kind in (BooleanSum, RealSum):
            base = [1] * (2 * protocol.n_bits)
        found = set()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for size in length:
                for sent in itertools.combinations_with_replacement(alphabet, size):
                    estimate = protocol.analyze([*base, *sent])
                    found.add(estimate if d == 1 else estimate[0])
        moved = max(found) - min(found)
        assert moved == pytest.approx(protocol.influence_of_one_liar, rel=1e-12)
        # From hidden to shown it is more, as the sentence says.
        if protocol.hidden_up_to > 0:
            assert "appear or disappear" in protocol.liars_sentence()


def _noise(kind: Any, share: str) -> dict[str, Any]:
    if kind in (BooleanSum, RealSum):
        return {"expected_random_users": 6 * Fraction(share)}
    name = "noise_probability" if kind is LowCommunicationHistogram else "omission_probability"
    return {name: share}


@pytest.mark.parametrize("promise", [PureDP(1), GaussianDP("0.5"), ApproxDP("0.5", delta="1e-3")])
def test_the_honest_number_of_every_promise(promise: Any) -> None:
    few = BooleanSum.calibrate(60, guarantee=promise, honest_share=1)
    users = few.expected_random_users * 80 / 60
    protocol = BooleanSum(80, expected_random_users=users, promise=promise)
    # A pure promise is kept by each user alone.
    assert protocol.honest_needed == 1 if isinstance(promise, PureDP) else 55 < 60
    assert protocol.honest_needed <= 60


# ---- the histogram with certain zeros -----------------------------------------------------


def test_a_hundred_of_ten_thousand_stay_away() -> None:
    """100 equal bins, 1% absent: without their number it warns, with it the error holds."""
    honest = Histogram.calibrate(9_000, n_bins=100, guarantee=GOAL, honest_share=1)
    gamma = honest.omission_probability
    protocol = Histogram(10_000, n_bins=100, omission_probability=gamma, promise=GOAL)
    there = protocol.answered(9_900)
    error = there.error("1e-6", simultaneous=True)
    for seed in range(20):
        counts = there.shuffled_counts([99] * 100, rng=SeededRandom(seed))
        with pytest.warns(PrivacyWarning, match="At least 9[0-9] users did not send"):
            wrong = protocol.estimate_counts(counts)
        assert len(wrong.support) < 50
        for found in (
            protocol.estimate_counts(counts, n_answered=9_900),
            protocol.analyze(np.repeat(np.arange(100), counts), n_answered=9_900),
        ):
            assert max(abs(found[j] - 99) for j in range(100)) <= error
    with pytest.raises(InvalidData, match="at least 10000 honest users"):
        Histogram.calibrate(10_000, n_bins=100, guarantee=GOAL, honest_share=1).estimate_counts(
            counts, n_answered=9_900
        )


@pytest.mark.parametrize(("n", "gamma"), [(12, "1/4"), (9, "1/2"), (14, "1/3")])
def test_the_error_holds_though_the_tolerated_send_nothing(n: int, gamma: str) -> None:
    """Exact laws: m <= tolerated silent users, any true count, against `error` of all."""
    share = Fraction(gamma)
    protocol = Histogram(n, n_bins=3, omission_probability=share)
    for tolerated in range(math.floor(n * share) + 1):
        for beta in ("1/3", "1/20"):
            error = protocol.error(beta)
            for silent in range(tolerated + 1):
                law = binomial_law(n - silent, share)
                for true in range(n - silent + 1):
                    fails = Fraction(0)
                    for missing, mass in enumerate(law):
                        counts = np.array([true + n - silent - missing, 10 * n, 10 * n])
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            found = protocol.estimate_counts(counts, tolerated=tolerated)
                        if abs(Fraction(found[0]) - true) > Fraction(error) + Fraction(1, 10**9):
                            fails += mass
                    assert fails <= Fraction(beta)
                # Without the allowance the same figure does not hold: see below.


def test_without_the_allowance_the_error_does_not_hold() -> None:
    n, share, silent = 12, Fraction(1, 4), 3
    protocol = Histogram(n, n_bins=1, omission_probability=share)
    error = protocol.error("1/20")
    true = int(error) + 1
    law = binomial_law(n - silent, share)
    hidden = sum((mass for w, mass in enumerate(law) if true - silent - w <= 0), Fraction(0))
    assert hidden > 3 * Fraction(1, 20)


@pytest.mark.parametrize("tolerated", [1, 2, 3])
def test_false_bins_are_as_rare_as_said(tolerated: int) -> None:
    n, share, d = 12, Fraction(1, 4), 5
    protocol = Histogram(n, n_bins=d, omission_probability=share)
    law = binomial_law(n, share)
    truth = 1 - (1 - sum(law[:tolerated], Fraction(0))) ** d
    bound = protocol.false_bin_probability(tolerated)
    assert truth <= Fraction(bound) <= min(1, d * sum(law[:tolerated])) * (1 + Fraction(1, 10**9))
    assert protocol.false_bin_probability(0) == 0.0
    with pytest.raises(InvalidParameter, match="n gamma"):
        protocol.false_bin_probability(4)


@pytest.mark.parametrize(("sure", "bits", "p"), [(1, 3, "3/4"), (1, 7, "1/8"), (0, 1, "9/10")])
@pytest.mark.parametrize("n", [1, 6, 40])
def test_honest_users_are_not_doubted(sure: int, bits: int, p: str, n: int) -> None:
    """Exactly: with n honest users, fewer are claimed with probability below 1e-12."""
    share = Fraction(p)
    law = binomial_law(n * bits, share)
    doubted = sum(
        (
            mass
            for k, mass in enumerate(law)
            if most_honest_users(
                n * sure + k, n, sure=sure, noise_bits=bits, probability=float(share)
            )
            < n
        ),
        Fraction(0),
    )
    assert doubted <= Fraction(1, 10**12)


@pytest.mark.parametrize(("sure", "bits", "p"), [(1, 3, "3/4"), (1, 7, "1/8"), (1, 1, "9/10")])
@pytest.mark.parametrize("n", [1, 6, 40])
def test_honest_users_do_not_send_too_much(sure: int, bits: int, p: str, n: int) -> None:
    """Exactly: n honest users exceed it with probability below 1e-12, and it is not vacuous."""
    one: MessagesOfOne = {"sure": sure, "noise_bits": bits, "probability": float(Fraction(p))}
    law = binomial_law(n * bits, Fraction(p))
    over = [mass for k, mass in enumerate(law) if n * sure + k > most_messages_of(n, **one)]
    assert sum(over, Fraction(0)) <= Fraction(1, 10**12)
    doubted = [m for k, m in enumerate(law) if most_honest_despite(n * sure + k, n, **one) < n]
    assert sum(doubted, Fraction(0)) <= Fraction(1, 10**12)
    # Some users who send all they may, beside honest ones, are never counted as honest too few.
    for liars in range(n + 1):
        sent = liars * (sure + bits) + (n - liars) * sure
        assert most_honest_despite(sent, n, **one) >= n - liars
    assert most_honest_despite(n * (sure + bits) + 1, n, **one) == 0
    big = 10_000 * (sure + bits * Fraction(p))
    assert most_messages_of(10_000, **one) < big + 1700
    assert most_honest_despite(int(big) + 1700, 10_000, **one) < 10_000


def test_silent_users_are_noticed() -> None:
    """It is not vacuous: about 6 deviations of the total are enough."""
    found = most_honest_users(
        10_000 + 995_700 - 700, 10_000, sure=1, noise_bits=100, probability=0.9957
    )
    assert 9_990 < found < 10_000
