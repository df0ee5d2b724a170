"""Honest, absent, colluding and lying users, enumerated user by user; what the share means."""

from __future__ import annotations

import itertools
import math
import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import fields
from fractions import Fraction
from typing import Any

import pytest

from smoothdp.claims import ApproxDP
from smoothdp.errors import InvalidParameter
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.shuffle import (
    BooleanSum,
    Histogram,
    LowCommunicationHistogram,
    RealSum,
    ShuffleProtocol,
    ZeroPreservingCount,
    identify_support,
)
from smoothdp.shuffle.users.honest_share import honest_condition, least_honest, least_users

Law = dict[Any, Fraction]
GOAL = ApproxDP(1, delta="1e-6")
EPSILONS = ("0", "1/3", "1", "2")


# ---- laws, user by user ---------------------------------------------------------------------


def rare_noise(protocol: LowCommunicationHistogram) -> Law:
    """The noise of one user: the bins of noise bits that are 1, drawn again until they fit."""
    gamma, law = protocol.noise_probability, {}
    for bits in itertools.product((0, 1), repeat=protocol.n_bins):
        if sum(bits) < protocol.n_slots:
            law[bits] = gamma ** sum(bits) * (1 - gamma) ** (protocol.n_bins - sum(bits))
    total = sum(law.values())
    return {bits: mass / total for bits, mass in law.items()}


def slots_of(protocol: LowCommunicationHistogram, datum: int) -> Law:
    """The sorted slots of one user, dummies included."""
    law: Law = defaultdict(Fraction)
    for bits, mass in rare_noise(protocol).items():
        sent = [datum, *(index for index, bit in enumerate(bits) if bit)]
        sent += [protocol.n_bins] * (protocol.n_slots - len(sent))
        law[tuple(sorted(sent))] += mass
    return law


def view(laws: list[Law], seen: int = 0) -> Law:
    """What the analyser sees: all messages shuffled, and those of the last ``seen`` users apart."""
    result: Law = {((), ()): Fraction(1)}
    for position, law in enumerate(laws):
        told = position >= len(laws) - seen
        grown: Law = defaultdict(Fraction)
        for (shuffled, apart), mass in result.items():
            for sent, chance in law.items():
                whole = tuple(sorted(shuffled + sent))
                grown[whole, (*apart, sent) if told else apart] += mass * chance
        result = grown
    return result


def hockey_stick(p: Law, q: Law, growth: float) -> float:
    return sum(max(0.0, float(mass) - growth * float(q.get(key, 0))) for key, mass in p.items())


def worst(views: Callable[[int], Law], epsilon: str, data: int = 2) -> float:
    growth = math.exp(Fraction(epsilon))
    laws = [views(datum) for datum in range(data)]
    return max(hockey_stick(p, q, growth) for p, q in itertools.permutations(laws, 2))


PADDED = LowCommunicationHistogram(4, n_bins=2, noise_probability="1/5", n_slots=2)
FREE = LowCommunicationHistogram(4, n_bins=2, noise_probability="1/5")


@pytest.mark.parametrize("protocol", [PADDED, FREE], ids=["redrawn", "free"])
class TestWhoFollows:
    """Three honest users of four, one of them protected."""

    def test_absent_colluding_and_lying_users_are_all_one(
        self, protocol: LowCommunicationHistogram
    ) -> None:
        """A fourth who stays away, follows and tells, or lies: nothing but three honest count."""
        others = [slots_of(protocol, 0), slots_of(protocol, 1)]
        lie: Law = {(1,) * protocol.n_slots: Fraction(1)}
        for epsilon in EPSILONS:
            values = [
                worst(
                    lambda datum, more=more, seen=seen: view(  # type: ignore[misc]
                        [slots_of(protocol, datum), *others, *more], seen=seen
                    ),
                    epsilon,
                )
                for more, seen in (([], 0), ([slots_of(protocol, 0)], 1), ([lie], 0), ([lie], 1))
            ]
            assert max(values) - min(values) < 1e-14
            lower, upper = protocol.profile(n_honest=3).delta_bounds(epsilon)
            assert lower - 1e-14 <= values[0] <= upper + 1e-14
            if protocol.redraw_probability == 0:
                # Exact, whatever the others hold.
                assert upper == pytest.approx(values[0], rel=1e-11, abs=1e-15)

    def test_a_design_holds_for_any_more_honest_users(
        self, protocol: LowCommunicationHistogram
    ) -> None:
        for epsilon in EPSILONS:
            values = [
                worst(
                    lambda datum, h=h: view(  # type: ignore[misc]
                        [slots_of(protocol, datum), *[slots_of(protocol, 0)] * (h - 1)]
                    ),
                    epsilon,
                )
                for h in (1, 2, 3, 4)
            ]
            assert all(more <= fewer + 1e-14 for fewer, more in itertools.pairwise(values))

    def test_the_number_of_messages_does_not_depend_on_the_datum(
        self, protocol: LowCommunicationHistogram
    ) -> None:
        laws = []
        for datum in range(2):
            law: Law = defaultdict(Fraction)
            for sent, mass in slots_of(protocol, datum).items():
                assert len(sent) == protocol.slots_per_user
                law[sum(message < 2 for message in sent)] += mass
            laws.append(dict(law))
        assert laws[0] == laws[1]
        rng = SeededRandom(4)
        drawn = {len(protocol.randomize(datum, rng=rng)) for datum in (0, 1) for _ in range(50)}
        assert drawn == {protocol.slots_per_user}


def test_who_is_lost_by_their_coins_or_the_datum_is_not_covered() -> None:
    """Without hypothesis (H) nearly all may answer, all honest, and nothing is hidden."""
    h, protocol = 3, FREE
    promised = protocol.profile(n_honest=h).delta(1)
    silent = [
        {sent: mass for sent, mass in slots_of(protocol, 0).items() if sent.count(2) == 2}
        for _ in range(h - 1)
    ]
    # The others who drew noise are lost; who is left sent the own message alone.
    lost = [{sent: mass / sum(law.values()) for sent, mass in law.items()} for law in silent]
    alone = worst(lambda datum: view([slots_of(protocol, datum), *lost]), "1")
    assert alone > promised + 0.25
    # Two honest users beside a 0, three beside a 1: their number is public.
    ends = [view([slots_of(protocol, datum)] * (2 + datum)) for datum in (0, 1)]
    assert hockey_stick(ends[0], ends[1], math.e) == 1.0


@pytest.mark.parametrize("n_bits", [1, 2])
def test_flipped_bits_of_fewer_users(n_bits: int) -> None:
    protocol = RealSum(4, expected_random_users="3/2", n_bits=n_bits, honest_share="3/4")
    q = protocol.flip_probability
    bit = [{0: 1 - q, 1: q}, {0: q, 1: 1 - q}]

    def total(ones: int, zeros: int) -> Law:
        law: Law = {0: Fraction(1)}
        for one in [1] * ones + [0] * zeros:
            grown: Law = defaultdict(Fraction)
            for value, mass in law.items():
                for sent, chance in bit[one].items():
                    grown[value + sent] += mass * chance
            law = grown
        return law

    for epsilon in EPSILONS:
        growth = math.exp(Fraction(epsilon))
        truth = 0.0
        for others in range(2 * n_bits + 1):
            laws = [total(others + own, 3 * n_bits - others - own) for own in range(n_bits + 1)]
            truth = max(
                truth, *(hockey_stick(p, s, growth) for p, s in itertools.permutations(laws, 2))
            )
        lower, upper = protocol.profile().delta_bounds(epsilon)
        assert protocol.honest_assumed == 3
        assert lower * (1 - 1e-9) - 1e-15 <= truth <= upper * (1 + 1e-12)
        assert upper <= truth * (1 + 1e-6) + 1e-12


# ---- what calibrations and constructors mean by it --------------------------------------------

KINDS: list[tuple[Any, dict[str, Any], str]] = [
    (BooleanSum, {}, "flip_probability"),
    (RealSum, {"n_bits": 3}, "flip_probability"),
    (ZeroPreservingCount, {}, "omission_probability"),
    (Histogram, {"n_bins": 5}, "omission_probability"),
    (LowCommunicationHistogram, {"n_bins": 5}, "noise_probability"),
]


@pytest.mark.parametrize(
    ("kind", "more", "noise"), KINDS, ids=[kind.__name__ for kind, *_ in KINDS]
)
class TestEveryProtocol:
    def test_the_noise_is_that_of_the_honest_users(
        self, kind: Any, more: dict[str, Any], noise: str
    ) -> None:
        made = kind.calibrate(401, guarantee=GOAL, **more)
        few = kind.calibrate(361, guarantee=GOAL, honest_share=1, **more)
        assert (made.n_users, made.honest_share, made.honest_assumed) == (401, Fraction(9, 10), 361)
        assert getattr(made, noise) == getattr(few, noise)
        assert made.honest_needed <= 361
        for epsilon in ("0", "1/2", "1"):
            assert made.profile().delta(epsilon) == few.profile().delta(epsilon)
            assert made.profile().delta(epsilon) == made.profile(n_honest=361).delta(epsilon)
        assert made.profile(n_honest=401).delta(1) < made.profile().delta(1) <= 1e-6
        # All are there, and their noise too.
        assert made.error("0.05") > few.error("0.05") * 0.999

    def test_constructors_count_on_all(self, kind: Any, more: dict[str, Any], noise: str) -> None:
        few = kind.calibrate(401, guarantee=GOAL, honest_share="1/2", **more)
        name = "expected_random_users" if noise == "flip_probability" else noise
        made = kind(401, **{name: getattr(few, name)}, **more)
        assert (made.honest_share, made.honest_assumed) == (1, 401)
        kept = kind(401, **{name: getattr(few, name)}, promise=GOAL, honest_share="1/2", **more)
        assert kept.promise == GOAL
        with pytest.raises(InvalidParameter, match="promise"):
            # A smaller share than the noise was made for.
            kind(401, **{name: getattr(few, name)}, promise=GOAL, honest_share="2/5", **more)

    def test_who_answered_must_have_as_many_honest_ones(
        self, kind: Any, more: dict[str, Any], noise: str
    ) -> None:
        made = kind.calibrate(401, guarantee=GOAL, **more)
        fewer = made.answered(380)
        assert (fewer.n_users, fewer.honest_assumed) == (380, 361)
        assert fewer.promise == GOAL
        assert fewer.profile().delta(1) == made.profile().delta(1)
        least = made.answered(300)
        assert least.honest_assumed == 300
        assert least.promise is None
        assert getattr(least, noise) == getattr(made, noise)

    def test_the_condition_is_in_every_release(
        self, kind: Any, more: dict[str, Any], noise: str
    ) -> None:
        del noise
        made: ShuffleProtocol[Any, Any] = kind.calibrate(400, guarantee=GOAL, **more)
        found = made.release([0] * 400)
        assert found.condition == made.condition() == honest_condition(400, 360)
        assert found.sentence().endswith(f"It holds {honest_condition(400, 360)}.")
        assert "at least 360 of the 400 users follow the protocol" in found.sentence()
        assert made.slots_per_user >= made.messages_per_user
        assert made.bytes_per_user == 52 * made.slots_per_user

    def test_shares_outside_their_domain(self, kind: Any, more: dict[str, Any], noise: str) -> None:
        del noise
        for bad in (0, -1, "11/10", math.nan, True, "x"):
            with pytest.raises(InvalidParameter, match="honest_share"):
                kind.calibrate(400, guarantee=GOAL, honest_share=bad, **more)


def test_a_support_that_is_found_has_the_condition_of_its_histogram() -> None:
    protocol = Histogram.calibrate(400, n_bins=9, guarantee=GOAL)
    found = identify_support(protocol, [3] * 400)
    assert found.value == {3}
    assert found.sentence().endswith(f"{protocol.condition()}.")


def shares() -> Iterator[Fraction]:
    yield from (Fraction(1), Fraction(9, 10), Fraction(1, 3), Fraction(7, 11))


def test_the_least_number_of_users_for_so_many_honest_ones() -> None:
    for share in shares():
        for honest in range(1, 40):
            n = least_users(honest, share)
            assert least_honest(n, share) >= honest
            assert n == 1 or least_honest(n - 1, share) < honest
    goal = ApproxDP(1, delta="1e-6")
    least = Histogram.smallest_n_users(guarantee=goal)
    Histogram.calibrate(least, n_bins=3, guarantee=goal)
    with pytest.raises(InvalidParameter, match=f"at least {least} .*9/10"):
        Histogram.calibrate(least - 1, n_bins=3, guarantee=goal)


def test_pickles_of_earlier_versions_count_on_all_users() -> None:
    """They had no honest share, no slots and no bin for other values."""
    for kind, more, noise in KINDS:
        few = kind.calibrate(401, guarantee=GOAL, honest_share=1, **more)
        name = "expected_random_users" if noise == "flip_probability" else noise
        made = kind(401, **{name: getattr(few, name)}, promise=GOAL, **more)
        assert pickle.loads(pickle.dumps(made)) == made
        old = {
            field.name: getattr(made, field.name)
            for field in fields(made)
            if field.name not in ("honest_share", "n_slots", "catch_all")
        }
        read = kind.__new__(kind)
        read.__setstate__(old)
        assert read == made
