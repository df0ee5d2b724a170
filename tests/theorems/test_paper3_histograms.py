"""Paper 3 (Balcer, Cheu), sections 1 to 3.2 and the appendix: counts and histograms."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from smoothdp.claims import ApproxDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.parameters.numbers import LogRatio, Parameter
from smoothdp.exact.probabilities.tails import log_binomial_tail
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.paper_bounds.balcer_cheu import (
    balcer_cheu_error,
    balcer_cheu_omission,
    balcer_cheu_omission_all_epsilon,
    balcer_cheu_smooth,
    balcer_cheu_users,
)
from smoothdp.shuffle.histogram.accuracy import worst_case_error
from smoothdp.shuffle.histogram.count import ZeroPreservingCount
from smoothdp.shuffle.histogram.histogram import Histogram
from smoothdp.shuffle.histogram.low_communication import LowCommunicationHistogram

ENDS = ("lower", "upper")
LEVELS: list[Parameter] = ["0.1", "0.5", 1]
GRID = [
    (n, epsilon, delta)
    for n, epsilon, delta in itertools.product((5_000, 10**6), LEVELS, ("0.1", "1e-6", "1e-12"))
    if balcer_cheu_users(epsilon=epsilon, delta=delta) <= n
]


def count_of_the_paper(n: int, epsilon: Parameter, delta: str) -> ZeroPreservingCount:
    goal = ApproxDP(epsilon, delta=delta)
    return ZeroPreservingCount.calibrate(n, guarantee=goal, honest_share=1, method="paper")


# ---- section 2 --------------------------------------------------------------------------------


def test_definition_2_6_and_2_7_accuracy_is_that_of_every_data_set() -> None:
    """The worst data set for one bin has A + 1 users in it; error() is attained there."""
    protocol = Histogram(50, n_bins=4, omission_probability="1/5")
    bound = int(protocol.error("1/20"))
    tail = math.exp(log_binomial_tail(bound + 1, 50, Fraction(1, 5)).upper)
    assert tail <= 1 / 20 < math.exp(log_binomial_tail(bound, 50, Fraction(1, 5)).lower)


def test_section_2_a_user_depends_on_the_others_honesty() -> None:
    """The note on robustness: with fewer honest users delta grows, to nearly 1 for one."""
    profile = [
        Histogram(60, n_bins=3, omission_probability="1/3").profile(n_honest=m).delta(1)
        for m in (1, 5, 20, 60)
    ]
    assert profile == sorted(profile, reverse=True)
    assert profile[0] > 0.75 > 0.01 > profile[-1]


# ---- theorem 3.1 ------------------------------------------------------------------------------


def test_theorem_3_1_conditions_mean_p_at_least_one_half() -> None:
    """n >= 100 ln(2/delta) / epsilon^2 holds exactly if gamma <= 1/2."""
    for epsilon, delta in itertools.product(LEVELS, ("0.5", "1e-6", "1e-30")):
        least = balcer_cheu_users(epsilon=epsilon, delta=delta)
        assert balcer_cheu_omission(least, epsilon=epsilon, delta=delta) <= 0.5
        with pytest.raises(InvalidParameter, match="gamma <= 1/2"):
            balcer_cheu_omission(least - 1, epsilon=epsilon, delta=delta)
    for epsilon in ("1.01", 0, -1):
        with pytest.raises(InvalidParameter):
            balcer_cheu_omission(10**6, epsilon=epsilon, delta="1e-6")


@pytest.mark.parametrize(("n", "epsilon", "delta"), GRID)
def test_theorem_3_1_i_privacy(n: int, epsilon: Parameter, delta: str) -> None:
    """Holds; delta is in truth smaller by many orders of magnitude."""
    exact = count_of_the_paper(n, epsilon, delta).profile().log_delta(epsilon)
    claimed = math.log(float(delta))
    assert exact <= claimed
    assert exact <= 10 * claimed


@pytest.mark.parametrize(("n", "epsilon", "delta"), GRID)
@pytest.mark.parametrize("beta", ["0.5", "0.05", "1e-9", "delta^25"])
def test_theorem_3_1_ii_error(n: int, epsilon: Parameter, delta: str, beta: str) -> None:
    """Holds for the exact worst case, at beta = delta^25 as well; loose by 1.01 to 4."""
    failure = Fraction(delta) ** 25 if beta == "delta^25" else Fraction(beta)
    if failure < Fraction(delta) ** 25:
        failure = Fraction(delta) ** 25
    claimed = balcer_cheu_error(n, epsilon=epsilon, delta=delta, failure_probability=failure)
    gamma = count_of_the_paper(n, epsilon, delta).omission_probability
    exact = worst_case_error(n, gamma, failure)
    assert exact <= claimed * n
    assert claimed * n <= 4 * exact
    with pytest.raises(InvalidParameter, match=r"delta\^25"):
        balcer_cheu_error(
            n,
            epsilon=epsilon,
            delta=delta,
            failure_probability=Fraction(delta) ** 25 * Fraction(999, 1000),
        )


@pytest.mark.parametrize(("n", "epsilon", "delta"), GRID)
@pytest.mark.parametrize("beta", ["0.5", "0.05", "1e-9", "delta^25"])
def test_equation_1_the_total_noise(n: int, epsilon: Parameter, delta: str, beta: str) -> None:
    """|sum z - p n| <= 2 sqrt(p (1 - p) n L), L = ln(2/beta), with probability >= 1 - beta.

    The formula is missing in the text read; this is what the error of Theorem 3.1 (ii) is made
    of: its second term is 2 sqrt((1 - p) n L). With V = p (1 - p) n, Bernstein's bound is
    2 e^-(a^2 / (2 V + 2 a / 3)) at a = 2 sqrt(V L), which is at most beta if 9 V >= 4 L. And
    beta >= delta^25 with p >= 1/2 and epsilon <= 1 gives V >= 25 ln(2/delta) >= L.
    """
    least = Fraction(delta) ** 25
    failure = least if beta == "delta^25" else max(Fraction(beta), least)
    gamma = Fraction(count_of_the_paper(n, epsilon, delta).omission_probability)
    log = math.log(2) - math.log(failure.numerator) + math.log(failure.denominator)
    variance = float(gamma * (1 - gamma)) * n
    assert variance >= 25 * math.log(2 / float(delta)) * (1 - 1e-12) >= log * (1 - 1e-9)
    printed = balcer_cheu_error(n, epsilon=epsilon, delta=delta, failure_probability=failure) * n
    assert printed == pytest.approx(float(gamma) * n + 2 * math.sqrt(float(gamma) * n * log))
    mean, reach = float(gamma) * n, 2 * math.sqrt(variance * log)

    def outside(distance: float) -> tuple[float, float]:
        """ln of both tails together, below and above."""
        more, fewer = math.floor(mean + distance) + 1, n - math.ceil(mean - distance) + 1
        tails = [log_binomial_tail(more, n, gamma)]
        tails += [log_binomial_tail(fewer, n, 1 - gamma)] if fewer <= n else []
        low, high = (np.logaddexp.reduce([getattr(x, end) for x in tails]) for end in ENDS)
        return float(low), float(high)

    assert outside(reach)[1] <= math.log(2) - log < outside(reach / 5)[0]


def test_theorem_3_1_iii_zero_is_exact() -> None:
    """Not only with probability 1 in the analysis: in every run, message by message too."""
    protocol = ZeroPreservingCount(30, omission_probability="1/2")
    rng = SeededRandom(31)
    for _ in range(200):
        assert protocol.run_messages([0] * 30, rng=rng) == 0.0


def test_theorem_3_1_iv_messages() -> None:
    protocol, rng = ZeroPreservingCount(30, omission_probability="1/2"), SeededRandom(32)
    sent = {bit: {protocol.randomize(bit, rng=rng) for _ in range(100)} for bit in (0, 1)}
    # The paper's messages are the ones; our envelope always has two slots, filled with zeros.
    assert sent == {0: {(0, 0), (0, 1), (1, 0)}, 1: {(0, 1), (1, 0), (1, 1)}}
    assert protocol.most_messages == 2


# ---- theorem 3.2 ------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "epsilon", "delta"), GRID)
def test_theorem_3_2_i_privacy(n: int, epsilon: Parameter, delta: str) -> None:
    """(2 epsilon, 2 delta)-DP holds: even (epsilon, delta) does for the whole histogram here."""
    gamma = count_of_the_paper(n, epsilon, delta).omission_probability
    profile = Histogram(n, n_bins=5, omission_probability=gamma).profile()
    twice = Fraction(str(epsilon)) * 2
    assert profile.log_delta(twice) <= math.log(2 * float(delta))
    assert profile.log_delta(epsilon) <= math.log(float(delta))


def test_theorem_3_2_i_composition_alone_costs_a_factor_of_two() -> None:
    """Two bins of (epsilon/2, delta/2) each against the exact pair: 96.75 against 42.66."""
    n, goal = 10**6, ApproxDP(1, delta="1e-6")
    exact = (
        n * Histogram.calibrate(n, n_bins=9, guarantee=goal, honest_share=1).omission_probability
    )
    halves = ApproxDP("0.5", delta="5e-7")
    composed = (
        n * ZeroPreservingCount.calibrate(n, guarantee=halves, honest_share=1).omission_probability
    )
    assert float(exact) == pytest.approx(42.6554, rel=1e-5)
    assert float(composed) == pytest.approx(96.75, rel=1e-3)


def test_theorem_3_2_i_at_the_paper_s_noise() -> None:
    """Claimed (1, 2e-6) for the whole histogram; in truth delta(1/2) is already 5e-60."""
    gamma = balcer_cheu_omission(10_000, epsilon="0.5", delta="1e-6")
    profile = Histogram(10_000, n_bins=2, omission_probability=gamma).profile()
    assert 4e-60 < profile.delta("0.5") < 6e-60
    assert profile.delta(1) < 1e-200


@pytest.mark.parametrize(("n", "epsilon", "delta"), GRID)
def test_theorem_3_2_ii_and_iii_errors(n: int, epsilon: Parameter, delta: str) -> None:
    """Per query as Theorem 3.1; simultaneous with beta / n: both hold for the exact worst case."""
    gamma = count_of_the_paper(n, epsilon, delta).omission_probability
    protocol = Histogram(n, n_bins=10**9, omission_probability=gamma)
    for beta in ("0.5", "0.05", "0.01"):
        for simultaneous in (False, True):
            each = Fraction(beta) / n if simultaneous else Fraction(beta)
            if each < Fraction(delta) ** 25:
                continue
            claimed = balcer_cheu_error(
                n,
                epsilon=epsilon,
                delta=delta,
                failure_probability=beta,
                simultaneous=simultaneous,
            )
            assert protocol.error(beta, simultaneous=simultaneous) <= claimed * n


def test_theorem_3_2_iii_the_union_need_not_be_over_n_bins() -> None:
    """At most n / (A + 1) bins can fail: the exact error grows slower than with beta / n."""
    n, gamma = 10**6, Fraction(4266, 10**8)
    exact = Histogram(n, n_bins=10**12, omission_probability=gamma).error("0.05", simultaneous=True)
    union = worst_case_error(n, gamma, Fraction(1, 20) / n)
    assert exact == 75.0
    assert exact < union


def test_theorem_3_2_iv_messages() -> None:
    """d + 1 messages at most, of ceil(log2 d) bits: one for the datum, one per bin of noise."""
    protocol, rng = Histogram(9, n_bins=6, omission_probability="1/100"), SeededRandom(33)
    lengths = [len(protocol.randomize(3, rng=rng)) for _ in range(200)]
    assert max(lengths) == protocol.most_messages == 7
    assert all(0 <= message < 6 for message in protocol.randomize(3, rng=rng))
    sparse = LowCommunicationHistogram(9, n_bins=6, noise_probability="1/100")
    sent = [sparse.randomize(3, rng=rng) for _ in range(200)]
    assert {len(slots) for slots in sent} == {sparse.slots_per_user} == {7}
    assert sum(sum(slot < 6 for slot in slots) for slots in sent) < 260


def test_theorem_1_1_error_does_not_depend_on_the_domain() -> None:
    """O(log(1/delta) / (epsilon^2 n)): constant in d, halved by twice the users, in proportion
    to ln(1/delta) for small delta."""
    goal = ApproxDP(1, delta="1e-6")
    errors = {
        d: Histogram.calibrate(10**5, n_bins=d, guarantee=goal, honest_share=1).error(
            "0.1", simultaneous=True
        )
        for d in (10**6, 10**12, 10**100)
    }
    assert len(set(errors.values())) == 1
    noise = {
        n: n * Histogram.calibrate(n, n_bins=2, guarantee=goal, honest_share=1).omission_probability
        for n in (10**4, 10**8)
    }
    assert float(noise[10**4] / noise[10**8]) == pytest.approx(1.0, abs=0.01)
    by_delta = [
        Histogram.calibrate(
            10**6, n_bins=2, guarantee=ApproxDP("0.5", delta=f"1e-{digits}"), honest_share=1
        ).omission_probability
        for digits in (20, 40, 80, 160)
    ]
    ratios = [float(b / a) for a, b in itertools.pairwise(by_delta)]
    assert all(1.9 < ratio < 2.3 for ratio in ratios)


def test_section_1_1_condition_for_a_smaller_error_than_with_noise_everywhere() -> None:
    """Error sqrt(log d log(1/delta)) / (epsilon n) against log(1/delta) / (epsilon^2 n): ours is
    smaller if log(1/delta) < epsilon^2 log d. The variant with noise in empty bins has the
    log d of the first kind; the zero-preserving one has none."""
    goal = ApproxDP(1, delta="1e-6")
    thresholds, exact = [], []
    for d in (10**3, 10**6, 10**24, 10**96):
        variant = LowCommunicationHistogram.calibrate(
            10**5, n_bins=d, guarantee=goal, honest_share=1
        )
        thresholds.append(variant.error("0.05", simultaneous=True))
        protocol = Histogram.calibrate(10**5, n_bins=d, guarantee=goal, honest_share=1)
        exact.append(protocol.error("0.05", simultaneous=True))
    assert thresholds == sorted(thresholds)
    assert thresholds[-1] > 2 * exact[-1]
    assert exact[1:] == [exact[1]] * 3


# ---- appendix A -------------------------------------------------------------------------------


def smooth_failure(n: int, p: Fraction, growth: Fraction, shift: int) -> Fraction:
    """P over Y of P(Y) / P(Y + shift) >= growth^|shift|, in rationals (Definition A.1)."""
    law = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    total = Fraction(0)
    for k, here in enumerate(law):
        there = law[k + shift] if 0 <= k + shift <= n else Fraction(0)
        if here >= growth ** abs(shift) * there:
            total += here
    return total


@pytest.mark.parametrize("n", [40, 150, 400])
@pytest.mark.parametrize("p", [Fraction(1, 2), Fraction(1, 5), Fraction(1, 20)])
@pytest.mark.parametrize("alpha", [Fraction(1, 4), Fraction(3, 5), Fraction(9, 10)])
def test_lemma_a_3_binomials_are_smooth(n: int, p: Fraction, alpha: Fraction) -> None:
    """Holds at every shift it allows; the exact probability is at most a fifth of the bound."""
    growth = (1 + alpha) / (1 - alpha)
    bound = balcer_cheu_smooth(n, probability=p, alpha=alpha)
    assert bound.epsilon >= math.log(growth) * (1 - 1e-15)
    most = math.floor(alpha * p * n / 2)
    shifts = sorted({1, -1, most, -most} - {0}) if most >= 1 else []
    for shift in shifts:
        failure = smooth_failure(n, p, growth, shift)
        assert failure <= bound.delta
        if shift in (1, -1):
            assert failure <= Fraction(bound.delta) / 5


def test_lemma_a_2_smooth_noise_makes_a_sum_private() -> None:
    """delta of the count at epsilon is at most the smoothness probability at shifts 1, -1."""
    for n, p in ((40, Fraction(1, 4)), (150, Fraction(1, 10))):
        for growth in (Fraction(3, 2), Fraction(3)):
            smooth = max(smooth_failure(n, p, growth, shift) for shift in (1, -1))
            profile = ZeroPreservingCount(n, omission_probability=p).profile()
            assert profile.log_delta_bounds(LogRatio(growth)).lower <= log_bounds(smooth).upper


@pytest.mark.parametrize(("n", "epsilon", "delta"), GRID)
def test_corollary_a_4_and_its_extension_to_every_epsilon(
    n: int, epsilon: Parameter, delta: str
) -> None:
    """alpha = tanh(epsilon/2) >= epsilon / sqrt 5 on (0, 1]: the extension is never larger."""
    paper = balcer_cheu_omission(n, epsilon=epsilon, delta=delta)
    ours = balcer_cheu_omission_all_epsilon(n, epsilon=epsilon, delta=delta)
    assert ours <= paper
    profile = ZeroPreservingCount(n, omission_probability=ours).profile()
    assert profile.log_delta(epsilon) <= math.log(float(delta))


def test_corollary_a_4_beyond_epsilon_one() -> None:
    for epsilon in (2, 4, 8):
        gamma = balcer_cheu_omission_all_epsilon(10_000, epsilon=epsilon, delta="1e-6")
        profile = ZeroPreservingCount(10_000, omission_probability=gamma).profile()
        assert profile.delta(epsilon) <= 1e-6
