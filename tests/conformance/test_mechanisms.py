"""What every histogram mechanism does, and what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from smoothdp import ApproxDP, BernoulliHistogram, SamplingHistogram, SeededRandom
from smoothdp.errors import InvalidData, InvalidParameter, OutOfReach, PrivacyWarning
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism

MECHANISMS: list[HistogramMechanism] = [
    SamplingHistogram(1000, n_draws=900),
    SamplingHistogram(1000, n_draws=300, sampling="with_replacement"),
    BernoulliHistogram(1000, keep_probability="0.9"),
]
COUNTS = [(400, 600), (100, 300, 600), (250, 250, 250, 250)]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
class TestEveryMechanism:
    @pytest.mark.parametrize("counts", COUNTS)
    def test_profile_falls_below_the_cap(
        self, mechanism: HistogramMechanism, counts: tuple[int, ...]
    ) -> None:
        cap = mechanism.worst_case_delta(epsilon=1)
        profile = mechanism.at(counts)
        logs = [profile.log_delta(e) for e in ("0", "0.001", "0.1", "0.5", "1", "3")]
        assert all(later <= earlier for earlier, later in pairwise(logs))
        assert profile.delta("0") <= cap
        for epsilon in ("0", "0.1", "1"):
            lower, upper = profile.log_delta_bounds(Fraction(epsilon))
            assert lower <= upper
            assert lower == upper or upper - lower < 1e-10

    def test_order_and_types_of_counts_do_not_matter(self, mechanism: HistogramMechanism) -> None:
        reference = mechanism.delta([100, 300, 600], epsilon=0.3)
        assert mechanism.delta((600, 100, 300), epsilon="3/10") == reference
        assert mechanism.delta(np.array([300, 600, 100]), epsilon=Fraction(3, 10)) == reference
        assert mechanism.delta(np.array([300.0, 600, 100]), epsilon=0.3) == reference

    def test_smaller_counts_are_less_private(self, mechanism: HistogramMechanism) -> None:
        """D falls when a count grows (proved: two smallest counts)."""
        logs = [mechanism.log_delta((a, 200, 800 - a), epsilon=0.5) for a in (2, 5, 20, 80, 200)]
        assert all(later <= earlier for earlier, later in pairwise(logs))

    @pytest.mark.parametrize("counts", [(0, 1000), (1, 999), (0, 400, 600), (1, 1, 998)])
    def test_rare_categories_meet_the_cap(
        self, mechanism: HistogramMechanism, counts: tuple[int, ...]
    ) -> None:
        assert mechanism.delta(counts, epsilon=5) == mechanism.worst_case_delta(epsilon=5)

    def test_release(self, mechanism: HistogramMechanism) -> None:
        release = mechanism.release(counts=[400, 600])
        assert release.is_private
        assert isinstance(release.guarantee, ApproxDP)
        assert release.guarantee.epsilon == 0
        assert release.guarantee.delta == pytest.approx(mechanism.worst_case_delta(epsilon=0))
        assert all(taken >= 0 for taken in release.value)
        seeded = [mechanism.release(counts=[400, 600], rng=SeededRandom(3)) for _ in range(2)]
        assert seeded[0].value == seeded[1].value
        assert not seeded[0].is_private
        assert seeded[0].sentence().startswith("NOT PRIVATE")
        fields = str(release)
        assert "400" not in fields
        assert "600" not in fields

    def test_release_of_records(self, mechanism: HistogramMechanism) -> None:
        data = ["yes"] * 400 + ["no"] * 600
        value = mechanism.release(data, universe=["yes", "no", "maybe"]).value
        assert len(value) == 3
        assert value[2] == 0

    def test_bad_data(self, mechanism: HistogramMechanism) -> None:
        for counts, words in (
            ([400, 601], "another sum"),
            ([1000], "two categories"),
            ([-1, 1001], "a negative one"),
            ([400.5, 599.5], "got something else"),
            ([math.nan, 1000], "got something else"),
            (["400", 600], "got something else"),
            ("400,600", "text"),
            (1000, "got int"),
            (np.ones((2, 500)), "got something else"),
        ):
            with pytest.raises(InvalidData) as caught:
                mechanism.delta(counts, epsilon=1)  # type: ignore[arg-type]
            assert words in str(caught.value)
            with pytest.raises(InvalidData):
                mechanism.release(counts=counts)  # type: ignore[arg-type]
        with pytest.raises(InvalidData, match="exactly one"):
            mechanism.release()
        with pytest.raises(InvalidData, match="universe"):
            mechanism.release(["a"] * 1000)
        with pytest.raises(InvalidData, match="got another"):
            mechanism.release(["b"] * 1000, universe=["a", "c"])

    def test_bad_epsilon_and_threshold(self, mechanism: HistogramMechanism) -> None:
        for epsilon in (-1, math.nan, math.inf, "x", None):
            with pytest.raises(InvalidParameter, match="epsilon"):
                mechanism.delta([400, 600], epsilon=epsilon)  # type: ignore[arg-type]
            with pytest.raises(InvalidParameter, match="epsilon"):
                mechanism.worst_case_delta(epsilon=epsilon)  # type: ignore[arg-type]
        for threshold in (0, 0.49, 1, 1.5, math.nan):
            with pytest.raises(InvalidParameter, match="threshold"):
                mechanism.adversary_utility([399, 600], threshold=threshold)
        with pytest.raises(InvalidData, match="999"):
            mechanism.adversary_utility([400, 600], threshold=0.6)

    def test_utility_out_of_reach_says_so(self, mechanism: HistogramMechanism) -> None:
        with pytest.raises(OutOfReach, match="outputs"):
            mechanism.adversary_utility([199, 200, 200, 200, 200], threshold=0.6)


def test_draws_of_a_rate_are_exact() -> None:
    assert SamplingHistogram(100, sampling_rate=0.07).n_draws == 7
    assert SamplingHistogram(155_507_476, sampling_rate="0.998").n_draws == 155_196_462
    assert SamplingHistogram(10, sampling_rate="2/3").n_draws == 7


BAD = [
    (lambda: SamplingHistogram(10), "either n_draws or sampling_rate"),
    (lambda: SamplingHistogram(10, n_draws=3, sampling_rate=0.3), "either"),
    (lambda: SamplingHistogram(10, n_draws=0), "n_draws=0"),
    (lambda: SamplingHistogram(10, n_draws=11), "n_draws=11"),
    (lambda: SamplingHistogram(10, n_draws=2.5), "n_draws=2.5"),  # type: ignore[arg-type]
    (lambda: SamplingHistogram(1, n_draws=1), "n_records=1"),
    (lambda: SamplingHistogram(1 << 50, n_draws=1), "n_records"),
    (lambda: SamplingHistogram(10, sampling_rate=0), "sampling_rate=0"),
    (lambda: SamplingHistogram(10, sampling_rate=1.1), "sampling_rate=1.1"),
    (lambda: SamplingHistogram(10, n_draws=2, sampling="some"), "'some'"),  # type: ignore[arg-type]
    (lambda: BernoulliHistogram(10, keep_probability=0), "keep_probability=0"),
    (lambda: BernoulliHistogram(10, keep_probability="9/8"), "9/8"),
    (lambda: BernoulliHistogram(0, keep_probability=0.5), "n_records=0"),
]


@pytest.mark.parametrize(("call", "words"), BAD)
def test_bad_mechanisms(call, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidParameter) as caught:
        call()
    assert words in str(caught.value)


def test_nothing_lost_warns_and_is_one() -> None:
    with pytest.warns(PrivacyWarning, match="nothing is lost"):
        mechanism = SamplingHistogram(7, n_draws=7)
    assert mechanism.delta([3, 4], epsilon=3) == 1.0
    assert mechanism.adversary_utility([3, 3], threshold=0.6) == pytest.approx(1.0)
    with pytest.warns(PrivacyWarning, match="nothing is lost"):
        kept = BernoulliHistogram(7, keep_probability=1)
    assert kept.delta([3, 4], epsilon=3) == 1.0


def test_two_routes_to_independent_losses() -> None:
    """Given how many are kept, the law is that of sampling without replacement."""
    from smoothdp.exact.probabilities.points import binomial_point
    from smoothdp.mechanisms.histogram.accounting.hockey_stick import hypergeometric_line_divergence
    from smoothdp.mechanisms.histogram.accounting.independent import independent_divergence

    keep, n = Fraction(4, 5), 120
    direct = independent_divergence(50, 70, keep, Fraction(1, 4))
    mixed = math.fsum(
        math.exp(binomial_point(kept, n, 4, 1).upper)
        * (
            1.0
            if kept == n
            else math.exp(hypergeometric_line_divergence(50, 70, kept, Fraction(1, 4)).upper)
        )
        for kept in range(1, n + 1)
    )
    assert math.exp(direct.upper) == pytest.approx(mixed, rel=1e-12)
