"""Paired counts against literal enumerations: honest, absent, colluding and lying users.

The enumerations list every user's noise as exact rationals (`paired_noise.py`).
"""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

from smoothdp.claims.guarantees.gaussian import GaussianDP
from smoothdp.claims.guarantees.standard import ApproxDP, PureDP
from smoothdp.errors import InvalidData, InvalidParameter, PrivacyWarning
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.shuffle.paired.count import DUMMY, MINUS, PLUS, PairedCount
from tests.oracles.paired_noise import deltas, hockey_stick, moved, noise_of_all, noise_of_one

GROWTHS = [Fraction(1), Fraction(6, 5), Fraction(3, 2), Fraction(3), Fraction(12)]
DESIGNS = [(2, "1/8", "1/4", 1), (2, "1/5", "1/2", 2), (3, "1/8", "1/3", 2)]
"""Honest users, p, clump probability, largest clump."""
DEEP = 14
"""Noise of more messages has less than 1e-9 of the mass in these designs."""


def made(design: tuple[int, str, str, int], n_users: int, slots: int | None = None) -> PairedCount:
    needed, ratio, chance, largest = design
    return PairedCount(
        n_users,
        noise_rate=Fraction(-math.log(Fraction(ratio))),
        clump_probability=chance,
        largest_clump=largest,
        honest_share=Fraction(needed, n_users),
        slots=slots,
    )


def one_user(design: tuple[int, str, str, int], cap: int) -> dict[tuple[int, int], Fraction]:
    needed, ratio, chance, largest = design
    return noise_of_one(Fraction(1, needed), Fraction(ratio), Fraction(chance), largest, cap)


def close(found: tuple[float, float], truth: Fraction) -> bool:
    lower, upper = found
    return lower <= float(truth) + 1e-8 and float(truth) <= upper + 1e-8


@pytest.mark.parametrize("design", DESIGNS[:2])
def test_the_free_law(design: tuple[int, str, str, int]) -> None:
    """As many honest users as the design has: both directions, whatever the others hold."""
    noise = noise_of_all([one_user(design, DEEP)] * design[0])
    profile = made(design, design[0] + 1).profile()
    for growth in GROWTHS:
        bounds = profile.delta_bounds(f"ln({growth})" if growth > 1 else 0)
        for plus, minus in itertools.product(range(2), repeat=2):
            for truth in deltas(noise, plus, minus, growth):
                assert close(bounds, truth)
                assert bounds[1] - bounds[0] < 1e-9


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("n_honest", [1, 2])
def test_fewer_honest_users(design: tuple[int, str, str, int], n_honest: int) -> None:
    """Absent or colluding users add no noise: the view is that of the honest ones."""
    noise = noise_of_all([one_user(design, DEEP)] * n_honest)
    slack = Fraction(1, 10**8)
    profile = made(design, 4).profile(n_honest=n_honest)
    for growth in GROWTHS:
        lower, upper = profile.delta_bounds(f"ln({growth})" if growth > 1 else 0)
        for truth in deltas(noise, 0, 0, growth):
            assert lower - slack <= truth <= upper + slack
            assert upper - lower < 1e-8


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("slots", [5, 7])
def test_the_cap(design: tuple[int, str, str, int], slots: int) -> None:
    """Users who redraw: the true delta is within the bounds, and near the upper one."""
    protocol = made(design, design[0], slots)
    tau = protocol.envelope.overflow
    one = one_user(design, slots - 1)
    noise = noise_of_all([one] * design[0])
    free = noise_of_one(
        Fraction(1, design[0]), Fraction(design[1]), Fraction(design[2]), design[3], 40
    )
    fits = sum((mass for (a, b), mass in free.items() if _fits(a, b, design, slots)), Fraction(0))
    assert design[0] * (1 - fits) <= tau or design[3] > 1
    for growth in GROWTHS:
        lower, upper = protocol.profile().delta_bounds(f"ln({growth})" if growth > 1 else 0)
        for truth in deltas(noise, 1, 1, growth):
            assert lower - 1e-12 <= truth <= upper + 1e-12
            assert upper <= float((truth + (1 + growth) * tau) / (1 - tau)) * (1 + 1e-9) + 1e-9


def _fits(a: int, b: int, design: tuple[int, str, str, int], slots: int) -> bool:
    # For single pairs the messages of (a, b) are a + b, however they came about.
    return a + b <= slots - 1 or design[3] > 1


@pytest.mark.parametrize("slots", [6, DEEP])
def test_a_design_holds_for_any_more(slots: int) -> None:
    """Honest users beyond the design's hide more, with and without the cap."""
    design = (2, "1/8", "1/4", 1)
    one = one_user(design, min(slots, 9) - 1)
    for growth in GROWTHS:
        found = [deltas(noise_of_all([one] * honest), 0, 0, growth)[0] for honest in (1, 2, 3, 4)]
        assert found == sorted(found, reverse=True)
    protocol = made(design, 6, slots)
    assert protocol.profile(n_honest=6).delta(1) == protocol.profile().delta(1)
    assert protocol.profile(n_honest=1).delta(1) > protocol.profile().delta(1)


def test_lies_hide_nothing_and_reveal_nothing() -> None:
    """A liar whose messages depend on their own coins: subtracted, or added, delta is no more."""
    design = (2, "1/8", "1/4", 1)
    noise = noise_of_all([one_user(design, 8)] * 2)
    liar = {(0, 9): Fraction(1, 3), (4, 1): Fraction(2, 3)}
    for growth in GROWTHS:
        known = deltas(noise, 0, 0, growth)
        hidden = deltas(noise_of_all([noise, liar]), 0, 0, growth)
        assert max(hidden) <= max(known)
        seen = max(deltas(noise, *lie, growth)[0] for lie in liar)
        assert seen == known[0]


def test_absence_that_depends_on_coins_breaks_the_promise() -> None:
    """Of three users the one with the most noise is lost: two honest ones are not enough then."""
    design = (2, "1/8", "1/4", 1)
    one = one_user(design, 8)
    growth = Fraction(3)
    promised = made(design, 3).profile().delta("ln(3)")
    left: dict[tuple[int, int], Fraction] = {}
    for (a, b), mass in one.items():
        for (c, d), other in one.items():
            kept = min((a + b, a, b), (c + d, c, d))[1:]
            left[kept] = left.get(kept, Fraction(0)) + mass * other
    # The protected user always answers.
    truth = deltas(noise_of_all([one, left]), 0, 0, growth)[0]
    assert float(truth) > 1.05 * promised
    # By chance alone, two are enough.
    assert float(deltas(noise_of_all([one, one]), 0, 0, growth)[0]) <= promised * (1 + 1e-5)


def test_absence_that_depends_on_the_datum_shows_it() -> None:
    """Three answer if the bit is 1, two if it is 0: the number is public."""
    one = one_user((2, "1/8", "1/4", 1), 8)
    first = {(3, *view): mass for view, mass in noise_of_all([one] * 3).items()}
    second = {(2, *view): mass for view, mass in noise_of_all([one] * 2).items()}
    assert hockey_stick(first, second, Fraction(3)) == 1  # type: ignore[arg-type]


def test_sizes_of_unpadded_envelopes_would_reveal() -> None:
    """Who sees how many messages each other user sent beside the shuffled ones learns more."""
    design = (2, "1/8", "1/4", 1)
    one = one_user(design, 6)
    padded = deltas(noise_of_all([one] * 2), 0, 0, Fraction(3))[0]
    worlds = []
    for own in ((1, 0), (0, 1)):
        law: dict[tuple[int, ...], Fraction] = {}
        for (a, b), mass in moved(one, *own).items():
            for (c, d), other in one.items():
                seen = (a + c, b + d, a + b, c + d)
                law[seen] = law.get(seen, Fraction(0)) + mass * other
        worlds.append(law)
    unpadded = hockey_stick(worlds[0], worlds[1], Fraction(3))  # type: ignore[arg-type]
    assert unpadded > padded * Fraction(1005, 1000)


GOAL = ApproxDP(1, delta="1e-6")


@pytest.fixture(scope="module")
def thousand() -> PairedCount:
    return PairedCount.calibrate(1000, guarantee=GOAL)


def test_the_number_of_slots_does_not_depend_on_the_datum(thousand: PairedCount) -> None:
    rng = SeededRandom(5)
    for datum in (0, 1) * 200:
        sent = thousand.randomize(datum, rng=rng)
        assert len(sent) == thousand.slots_per_user == 49
        assert set(sent) <= {MINUS, PLUS, DUMMY}
        # Half of the noise but for the own sign: pairs and single signs.
        assert (PLUS if datum else MINUS) in sent


def test_every_user_by_hand_gives_the_estimate(thousand: PairedCount) -> None:
    bits = [1] * 300 + [0] * 700
    found = thousand.run_messages(bits, rng=SeededRandom(7))
    assert abs(found - 300) <= thousand.error("1e-9")
    assert abs(thousand.release(bits, rng=SeededRandom(8)).value - 300) <= thousand.error("1e-9")


def testthose_who_answered(thousand: PairedCount) -> None:
    rng = SeededRandom(11)
    sent = [m for datum in [1] * 200 + [0] * 750 for m in thousand.randomize(datum, rng=rng)]
    found = thousand.analyze(sent, n_answered=950)
    assert abs(found - 200) <= thousand.error("1e-9")
    fewer = thousand.answered(950)
    assert fewer.promise == GOAL
    assert fewer.n_honest_design == thousand.n_honest_design == 900
    assert fewer.mse() < thousand.mse()
    assert fewer.profile().delta(1) == thousand.profile().delta(1)
    with pytest.raises(InvalidData, match="900 honest users"):
        thousand.analyze(sent[: 49 * 890], n_answered=890)
    with pytest.warns(PrivacyWarning, match="missing"):
        thousand.analyze(sent)


def test_one_liar_moves_the_estimate_by_half_of_k_plus_one(thousand: PairedCount) -> None:
    truthful = [MINUS] * 1000 + [DUMMY] * 48 * 1000
    lying = truthful[:]
    lying[0] = PLUS
    lying[1000:1048] = [PLUS] * 48
    moved_by = thousand.analyze(lying) - thousand.analyze(truthful)
    assert moved_by == thousand.influence_of_one_liar == (49 + 1) / 2


def test_the_error_is_exact() -> None:
    """(A - B) / 2 of all who are present, by the laws of A and B summed directly."""
    protocol = PairedCount(
        10, noise_rate="9/10", clump_probability="1/4", largest_clump=2, honest_share="9/10"
    )
    p, shape = float(np.exp(-0.9)), 10 / 9
    masses = [(1 - p) ** shape]
    for k in range(1, 400):
        masses.append(masses[-1] * (k - 1 + shape) / k * p)
    law = np.array(masses)
    gaps = np.correlate(law, law, "full")
    places = np.arange(-399, 400)
    assert protocol.mse() == pytest.approx(float(gaps @ places**2) / 4, rel=1e-12)
    for failure in ("1/3", "1/20", "1e-3", "1e-9"):
        found = protocol.error(failure)
        assert gaps[abs(places) > 2 * found].sum() <= float(Fraction(failure))
        assert gaps[abs(places) > 2 * found - 1].sum() > float(Fraction(failure))
    # At honest_share 1 in closed form: P(|A - B| > a) = 2 p^(a + 1) / (1 + p).
    whole = PairedCount(9, noise_rate="9/10", clump_probability="1/4", largest_clump=2)
    for failure in ("1/20", "1e-6"):
        a = round(2 * whole.error(failure))
        tails = [2 * p ** (b + 1) / (1 + p) for b in (a, a - 1)]
        assert tails[0] <= float(Fraction(failure)) < tails[1]


def test_the_cap_is_in_the_error() -> None:
    capped = made((3, "1/8", "1/3", 1), 3, 6)
    free = made((3, "1/8", "1/3", 1), 3)
    tau = float(capped.envelope.overflow)
    assert 0 < tau < 0.5
    assert capped.mse() == pytest.approx(free.mse() / (1 - tau), rel=1e-12)
    noise = noise_of_all([one_user((3, "1/8", "1/3", 1), 5)] * 3)
    true_mse = sum(mass * (a - b) ** 2 for (a, b), mass in noise.items()) / 4
    assert true_mse <= capped.mse()
    for failure in ("1/3", "1/20"):
        reach = 2 * capped.error(failure)
        assert sum(m for (a, b), m in noise.items() if abs(a - b) > reach) <= Fraction(failure)


def test_copies_check_the_promise(thousand: PairedCount) -> None:
    assert pickle.loads(pickle.dumps(thousand)) == thousand
    assert copy.deepcopy(thousand) == thousand
    state = dict(vars(thousand)) | {"promise": ApproxDP("1/2", delta="1e-6")}
    with pytest.raises(InvalidParameter, match="promise"):
        copy.copy(thousand).__setstate__(state)


def test_what_is_made_by_hand_has_profiles_only() -> None:
    protocol = made((2, "1/8", "1/4", 1), 3)
    assert protocol.profile().delta(1) > 0
    for refused in (
        lambda: protocol.randomize(1),
        lambda: protocol.release([1, 0, 0]),
        lambda: protocol.analyze([1, 0, 0]),
        lambda: protocol.slots_per_user,
        lambda: protocol.influence_of_one_liar,
    ):
        with pytest.raises(InvalidParameter, match="calibrate"):
            refused()
    assert not protocol.simulate(2).is_private


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"guarantee": PureDP(1)}, "ApproxDP"),
        ({"guarantee": GaussianDP(1)}, "ApproxDP"),
        (
            {"guarantee": ApproxDP("1/2", delta="1e-6"), "largest_clump": 60, "most_messages": 3},
            "most_slots=170",
        ),
        ({"guarantee": GOAL, "most_messages": "3/2"}, "most_messages=2.19"),
        ({"guarantee": GOAL, "largest_clump": 1}, "noise_share=4/5"),
        ({"guarantee": GOAL, "noise_share": 1}, "noise_share"),
        ({"guarantee": ApproxDP(0, delta="1e-6")}, "epsilon > 0"),
    ],
)
def test_refusals_name_what_would_fit(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        PairedCount.calibrate(1000, **arguments)  # type: ignore[arg-type]


def test_too_few_users() -> None:
    with pytest.raises(InvalidParameter, match="Add users"):
        PairedCount.calibrate(3, guarantee=GOAL)


def test_what_fits_does_fit() -> None:
    protocol = PairedCount.calibrate(1000, guarantee=GOAL, noise_share="4/5")
    assert protocol.slots_per_user <= 64
    assert protocol.promise == GOAL
