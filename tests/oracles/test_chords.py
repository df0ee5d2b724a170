"""A profile between the epsilons at which it was asked."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest

import smoothdp as sd
from smoothdp.claims import PrivacyProfile
from smoothdp.claims.curves.chords import ChordProfile, Knot
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real, exact_real

F = Fraction
CASES = [
    (sd.SamplingHistogram(60, n_draws=30).at([10, 20, 30]), ["0", "0.1", "0.3", "ln(2)", "1"]),
    (sd.SamplingHistogram(10**4, n_draws=5_000).at([2_000, 3_000, 5_000]), ["0.1", "0.11"]),
    (sd.SamplingHistogram(9, n_draws=4, sampling="with_replacement").at([2, 3, 4]), ["2", "0"]),
    (sd.GaussianMechanism(2).profile(), ["0", "0.01", "0.02", "3", "3.1"]),
]


@pytest.mark.parametrize(("profile", "epsilons"), CASES)
def test_brackets_contain_the_profile(profile: PrivacyProfile, epsilons: list[str]) -> None:
    chords = ChordProfile.of(profile, epsilons)
    for step in range(80):
        epsilon = exact_real(F(step, 20), name="epsilon")
        truth, bounds = profile.log_delta_bounds(epsilon), chords.log_delta_bounds(epsilon)
        assert bounds.lower <= truth.upper + 1e-12
        assert truth.lower - 1e-12 <= bounds.upper


def test_wide_brackets_at_the_knots() -> None:
    """Each end is used on the side where it is safe."""
    profile = sd.GaussianMechanism(2).profile()
    knots = []
    for step, slip in ((0, 0.0), (3, 0.02), (4, 0.01), (9, 0.05), (10, 0.03)):
        logs = profile.log_delta_bounds(F(step, 10))
        knots.append(Knot(F(step, 10), LogBounds(logs.lower - slip, logs.upper + 2 * slip)))
    chords = ChordProfile(tuple(knots), profile.neighbours)
    informative = 0
    for step in range(45):
        epsilon = F(step, 40)
        truth, bounds = profile.log_delta_bounds(epsilon), chords.log_delta_bounds(epsilon)
        assert bounds.lower <= truth.upper
        assert truth.lower <= bounds.upper
        informative += bounds.lower > -math.inf
    assert informative > 40


def test_a_chord_led_on_by_hand() -> None:
    """At E = 3, from delta(1) in [.5, .6] and delta(2) in [.4, .45]: at least 2 (.4) - .6 = .2."""
    one, two, three = (exact_real(f"ln({e})", name="epsilon") for e in (1, 2, 3))
    knots = (
        Knot(one, LogBounds(math.log(0.5), math.log(0.6))),
        Knot(two, LogBounds(math.log(0.4), math.log(0.45))),
    )
    chords = ChordProfile(knots, sd.PureDP(1).neighbours)
    low, high = chords.delta_bounds(three)
    assert low == pytest.approx(0.2, rel=1e-12)
    assert high == pytest.approx(0.45, rel=1e-12)
    low, high = chords.delta_bounds(exact_real("ln(3/2)", name="epsilon"))
    assert low == pytest.approx(0.4, rel=1e-12)
    assert high == pytest.approx(0.525, rel=1e-12)


def test_close_knots_leave_little() -> None:
    """Second differences: the bracket narrows with the square of the distance."""
    profile = sd.SamplingHistogram(1000, n_draws=500).at([200, 300, 500])
    widths = []
    for parts in (4, 8, 16, 32):
        chords = ChordProfile.of(profile, [F(k, 2 * parts) for k in range(parts + 1)])
        bounds = chords.log_delta_bounds(F(1, 4) + F(1, 4 * parts))
        widths.append(bounds.upper - bounds.lower)
    assert widths[-1] < 0.12
    assert all(later < earlier / 2 for earlier, later in pairwise(widths))


def test_every_epsilon_is_asked_once() -> None:
    asked: list[Real] = []

    class Counted(PrivacyProfile):
        neighbours = sd.PureDP(1).neighbours

        def log_delta_bounds(self, epsilon: Real) -> LogBounds:
            asked.append(epsilon)
            return sd.PureDP(1).profile().log_delta_bounds(epsilon)

    chords = ChordProfile.of(Counted(), ["1", "0", "0", "0.5"])
    assert asked == [0, F(1, 2), 1]
    assert chords.delta("0.75") > 0
    assert len(asked) == 3


def test_outside_of_the_knots() -> None:
    profile = sd.SamplingHistogram(60, n_draws=30).at([10, 20, 30])
    chords = ChordProfile.of(profile, ["0.5"])
    assert chords.delta(0) == 1.0
    assert chords.delta(2) == pytest.approx(profile.delta("0.5"))
    assert chords.log_delta_bounds(F(2)).lower == -math.inf


def test_no_epsilon_is_refused() -> None:
    profile = sd.SamplingHistogram(60, n_draws=30).at([10, 20, 30])
    with pytest.raises(sd.errors.InvalidParameter, match="at least one epsilon"):
        ChordProfile.of(profile, [])
