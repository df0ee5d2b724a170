"""compose against brute force: small pairs, grid pairs, mechanisms, claims, parallel parts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import smoothdp as sd
from smoothdp import (
    ZCDP,
    ApproxDP,
    DataModel,
    GaussianDP,
    GaussianMechanism,
    LaplaceMechanism,
    Pair,
    PureDP,
    SamplingHistogram,
    SmoothedDP,
    SubsampledGaussian,
    TradeoffFunction,
    TruncatedCDP,
    compose,
)
from smoothdp.claims import Neighbours, PrivacyProfile
from smoothdp.claims.curves.atoms import Atoms
from smoothdp.claims.curves.profile import FunctionProfile
from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.grid_pair import grid_pair
from smoothdp.composition.laws.law import GaussianLaw, LossLaw
from smoothdp.composition.laws.product import log_any_infinite
from smoothdp.composition.laws.symmetrise import both_directions, symmetrised
from smoothdp.composition.parallel import compose_parallel, replace_one_parallel
from smoothdp.errors import IncompatibleClaims, InvalidParameter, OutOfReach, SmoothdpError
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import LogRatio
from smoothdp.smoothed import compose_smoothed

F = Fraction

SENTENCE = r"^Expected .+; got .+\. .+\.$"


def stick(p: np.ndarray[Any, Any], q: np.ndarray[Any, Any], epsilon: float) -> float:
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def stick_of_law(law: LossLaw | GaussianLaw, epsilon: float) -> float:
    assert isinstance(law, AtomsLaw)
    kept = law.losses > epsilon
    finite = np.exp(law.log_masses[kept]) * -np.expm1(epsilon - law.losses[kept])
    return float(finite.sum()) + math.exp(law.log_infinite.upper)


# ---- symmetrising ---------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(150))
def test_symmetrised_law_is_the_larger_of_both(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    p, q = rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))
    for law in (p, q):
        if n > 2 and rng.random() < 0.4:
            law[rng.integers(n)] = 0
            law /= law.sum()
    with np.errstate(divide="ignore"):
        bracket = symmetrised(*both_directions(Atoms(np.log(p), np.log(q), 0.0)))
    assert isinstance(bracket.upper, AtomsLaw)
    for epsilon in [0.0, *rng.normal(0.0, 2.0, 20).tolist()]:
        truth = max(stick(p, q, epsilon), stick(q, p, epsilon))
        slack = bracket.upper.slack
        upper = stick_of_law(bracket.upper, epsilon - slack.loss) * math.exp(slack.mass)
        assert truth <= upper * (1 + 1e-12) + 1e-15
        if bracket.lower is not None:
            assert isinstance(bracket.lower, AtomsLaw)
            slack = bracket.lower.slack
            lower = stick_of_law(bracket.lower, epsilon + slack.loss) * math.exp(-slack.mass)
            assert lower <= truth * (1 + 1e-12) + 1e-15
            assert upper <= lower * (1 + 1e-3) + 1e-14 or slack.mass > 1e-4


# ---- grid pairs -----------------------------------------------------------------------

BLACK_BOXES: list[PrivacyProfile] = [
    GaussianDP(1).profile(),
    GaussianDP("0.025").profile(),
    PureDP("0.3").profile(),
    ApproxDP(1, delta="1e-6").profile(),
    SamplingHistogram(16, n_draws=4).at((5, 11)),
    SamplingHistogram(16, n_draws=2).at((15, 1)),
    LaplaceMechanism(2).profile(),
]


@pytest.mark.parametrize("profile", BLACK_BOXES, ids=range(len(BLACK_BOXES)))
def test_grid_pair_encloses_the_profile(profile: PrivacyProfile) -> None:
    bracket = grid_pair(profile, log_depth=-80.0, n_points=1500)
    assert isinstance(bracket.upper, AtomsLaw)
    assert isinstance(bracket.lower, AtomsLaw)
    for epsilon in (-2.0, -0.5, -0.01, 0.0, 0.003, 0.02, 0.07, 0.2, 0.45, 0.7, 1.5, 4.0):
        low, high = profile.delta_bounds(abs(epsilon))
        if epsilon < 0:
            low, high = (1 - math.exp(epsilon) * (1 - value) for value in (low, high))
        upper = stick_of_law(bracket.upper, epsilon) * math.exp(bracket.upper.slack.mass)
        lower = stick_of_law(bracket.lower, epsilon) * math.exp(-bracket.lower.slack.mass)
        assert low <= upper * (1 + 1e-12)
        assert lower <= high * (1 + 1e-12)
        if low > math.exp(-60.0):
            assert upper <= lower * 1.02


def black_box(profile: PrivacyProfile) -> PrivacyProfile:
    """The same numbers, with nothing to recognise."""
    return FunctionProfile(lambda epsilon: profile.log_delta_bounds(epsilon), profile.neighbours)


@pytest.mark.parametrize("count", [2, 10])
def test_black_boxes_compose_as_what_they_are(count: int) -> None:
    for claim in (GaussianDP("0.3"), PureDP("0.2"), ApproxDP("0.2", delta="1e-7")):
        truth = compose([(claim, count)])
        boxed = compose([(black_box(claim.profile()), count)])
        assert "grid pair" in boxed.route
        for epsilon in ("0", "0.3", "1", "1.7"):
            low, high = truth.delta_bounds(epsilon)
            lower, upper = boxed.delta_bounds(epsilon)
            assert lower <= high
            assert low <= upper
            if low > 1e-30:
                assert upper <= low * 1.01
                assert high <= lower * 1.01


def test_deep_black_boxes() -> None:
    """The grid goes deeper where delta is: no mass at infinity that covers everything."""
    boxed = compose([(black_box(GaussianDP("0.1").profile()), 4)])
    for epsilon in ("4",):
        truth = GaussianDP("0.2").profile().log_delta(epsilon)
        found = boxed.accountant.log_bounds(F(epsilon))
        assert found.lower <= truth <= found.upper <= truth + 0.05


@pytest.mark.slow
def test_black_boxes_beyond_floats() -> None:
    """Mass at infinity below e^-745 is not lost: the bracket holds where floats have ended."""
    boxed = compose([(black_box(GaussianDP(1).profile()), 2)])
    truth = compose([(GaussianDP(1), 2)])
    for epsilon in ("60", "140", "1000"):
        found = boxed.accountant.log_bounds(F(epsilon))
        exact = truth.accountant.log_bounds(F(epsilon))
        assert found.lower <= exact.upper
        assert exact.lower <= found.upper


def test_claims_far_out() -> None:
    items = [(PureDP("1e-300"), 10), (GaussianDP(1), 1), (ZCDP(10), 1000)]
    found = compose(items).accountant.log_bounds(F(100_000))
    assert found.lower <= found.upper


# ---- claims -----------------------------------------------------------------------------


def test_pure_claims_by_the_optimal_composition_theorem() -> None:
    """Kairouz, Oh, Viswanath 2015, Theorem 3.3: k-fold (e0, d0)-DP at (k - 2i) e0."""
    for k, e0, d0 in [(6, "0.4", "0"), (9, "0.7", "1e-4"), (4, "ln(3)", "0.01")]:
        claim = ApproxDP(e0, delta=d0)
        composed = compose([(claim, k)])
        with mpmath.workdps(40):
            e = mpmath.log(3) if e0 == "ln(3)" else mpmath.mpf(e0)
            d = mpmath.mpf(d0)
            for i in range(k // 2 + 1):
                total = mpmath.mpf(0)
                for j in range(i):
                    total += mpmath.binomial(k, j) * (
                        mpmath.exp((k - j) * e) - mpmath.exp((k - 2 * i + j) * e)
                    )
                delta = 1 - (1 - d) ** k * (1 - total / (1 + mpmath.exp(e)) ** k)
                epsilon = (
                    f"{(k - 2 * i) * float(F(e0))}" if e0 != "ln(3)" else f"ln({3 ** (k - 2 * i)})"
                )
                lower, upper = composed.delta_bounds(epsilon)
                assert lower <= delta * (1 + mpmath.mpf("1e-25"))
                assert delta <= upper * (1 + mpmath.mpf("1e-25"))
                assert upper <= lower * (1 + 1e-9) + 1e-300


def test_zcdp_adds_and_never_beats_the_gaussian() -> None:
    both = compose([(ZCDP("0.1"), 3), ZCDP("0.2")])
    assert both.route == "rho adds"
    assert both.delta(3) == ZCDP("0.5").profile().delta(3)
    mixed = compose([ZCDP("0.1"), PureDP("0.5"), GaussianDP("0.2")])
    whole = ZCDP("0.1"), F("0.125"), F("0.02")
    total = ZCDP(whole[0].exact_rho + whole[1] + whole[2])
    gaussians = compose([GaussianMechanism(1, "0.4472135954"), PureDP("0.5"), GaussianDP("0.2")])
    for epsilon in ("0.5", "2", "4"):
        assert mixed.delta(epsilon) <= total.profile().delta(epsilon) * (1 + 1e-12)
        assert gaussians.delta_bounds(epsilon)[0] <= mixed.delta(epsilon)


def test_truncated_claims_add_at_the_smaller_order() -> None:
    both = compose([TruncatedCDP("0.1", omega=8), TruncatedCDP("0.2", omega=5)])
    assert both.delta(2) == TruncatedCDP("0.3", omega=5).profile().delta(2)


def test_smoothed_claims() -> None:
    """Never looser than Proposition 5, and equal to ordinary composition for delta = 0."""
    model = DataModel([("1/3", "2/3")])
    a, b = SmoothedDP("0.5", delta="1e-6", model=model), SmoothedDP(1, delta="2e-6", model=model)
    both = compose([a, b])
    assert both.model == model
    summed = compose_smoothed(a, b)
    assert both.delta("1.5") <= summed.delta * (1 + 1e-12)
    assert both.delta("0.7") < summed.profile().delta("0.7")
    ordinary = compose([PureDP("0.5"), PureDP(1)])
    free = compose([SmoothedDP("0.5", delta=0, model=model), PureDP(1)])
    assert math.isclose(free.delta("0.7"), ordinary.delta("0.7"), rel_tol=1e-11)
    # By hand: d + (1 - d) s, d of the pure parts, s the sum of the smoothed deltas.
    d = ordinary.delta("0.7")
    assert math.isclose(both.delta("0.7"), d + (1 - d) * 3e-6, rel_tol=1e-11)


def test_nothing_at_all() -> None:
    nothing = compose([(GaussianDP(0), 5), PureDP(0)])
    assert nothing.delta(0) == 0.0
    assert nothing.epsilon("1e-9") == 0.0


def test_everything_lost() -> None:
    lost = compose([ApproxDP(0, delta=1), (GaussianDP(1), 3)])
    assert lost.delta_bounds(5) == (1.0, 1.0)


def test_beyond_the_sum_of_pure_epsilons_nothing_is_left() -> None:
    assert compose([(PureDP("0.1"), 1000)]).delta(100) == 0.0
    assert compose([(PureDP("0.1"), 1000)]).delta("99.999") > 0.0
    assert compose([(PureDP("0.1"), 1000)]).epsilon(0) == pytest.approx(100.0, rel=1e-12)


# ---- depth, epsilon(delta), curves --------------------------------------------------------


@pytest.mark.parametrize("delta", ["0.1", "1e-6", "1e-50", "1e-300", "1e-2000"])
def test_epsilon_of_delta(delta: str) -> None:
    composed = compose([(GaussianDP("0.05"), 300), (PureDP("0.05"), 100), LaplaceMechanism(4)])
    lower, upper = composed.epsilon_bounds(delta)
    assert lower <= upper <= lower * (1 + 1e-8)
    goal = mpmath.log(mpmath.mpf(delta))
    assert composed.log_delta(upper) <= goal + 1e-12 * abs(goal)
    assert composed.log_delta(lower * (1 - 1e-9)) >= goal


def test_curve_of_a_composition() -> None:
    composed = compose([(GaussianDP("0.1"), 50), (PureDP("0.1"), 50)])
    curve = composed.tradeoff()
    for epsilon in ("0", "1", "3"):
        assert curve.delta(epsilon) >= composed.delta_bounds(epsilon)[0]
        assert curve.delta(epsilon) <= composed.delta(epsilon) * 1.01
    assert 0.9 < curve.gaussian_mu(delta="1e-6") < 1.3


@pytest.mark.parametrize("k", [1, 2, 7])
def test_trade_off_functions_are_items(k: int) -> None:
    f = TradeoffFunction([0.05, 0.4], [0.3, 0.8])
    whole = f
    for _ in range(k - 1):
        whole = whole.compose(f)
    common = compose([(f, k)], orientation="common")
    for epsilon in (0, "0.4", 1):
        # One orientation at least as large as f itself; symmetrised at least as large as that.
        assert common.delta(epsilon) >= whole.delta(epsilon) * (1 - 1e-12)
        assert compose([(f, k)]).delta(epsilon) >= common.delta_bounds(epsilon)[0]


# ---- mechanisms ---------------------------------------------------------------------------


def test_laplace_mechanism_by_brute_force() -> None:
    """Two Laplace mechanisms: a two-dimensional integral on a fine lattice of both losses."""
    a, b = 0.7, 1.2
    composed = compose([LaplaceMechanism(1, "0.7"), LaplaceMechanism(1, "1.2")])

    def law(ratio: float, n: int = 1500) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        middles = (np.arange(n) + 0.5) / n * 2 * ratio - ratio
        density = np.exp((middles - ratio) / 2) / 4 * (2 * ratio / n)
        losses = np.concatenate([middles, [ratio, -ratio]])
        return losses, np.concatenate([density, [0.5, math.exp(-ratio) / 2]])

    (x, p), (y, q) = law(a), law(b)
    # Not at an atom of the sum, such as 0.5, where both routes converge slowly.
    for epsilon in (0.0, 0.51, 1.3):
        gap = -np.expm1(np.minimum(epsilon - np.add.outer(x, y), 0.0))
        assert composed.delta(epsilon) == pytest.approx(float(p @ gap @ q), rel=1e-5)


def test_laplace_profile_is_below_its_claim() -> None:
    mechanism = LaplaceMechanism("0.5", 1)
    assert mechanism.guarantee.exact_epsilon == 2
    for epsilon in ("0", "0.7", "1.9"):
        assert mechanism.profile().delta(epsilon) < mechanism.guarantee.profile().delta(epsilon)
        truth = -mpmath.expm1((mpmath.mpf(epsilon) - 2) / 2)
        assert mechanism.profile().delta(epsilon) == pytest.approx(float(truth), rel=1e-14)
    assert mechanism.profile().delta(2) == 0.0


@pytest.mark.parametrize(("rate", "noise"), [("0.01", "1"), ("0.3", "2"), ("0.9", "0.7")])
def test_subsampled_profile_by_quadrature(rate: str, noise: str) -> None:
    """Both directions of the Poisson pair; the mixture's is the larger (proved in its class)."""
    profile = SubsampledGaussian(rate, noise_multiplier=noise).profile()
    q, mu = mpmath.mpf(rate), 1 / mpmath.mpf(noise)
    for epsilon in ("0", "0.02", "0.5", "2"):
        growth = mpmath.exp(mpmath.mpf(epsilon))

        def ratio(y: mpmath.mpf) -> mpmath.mpf:
            return 1 - q + q * mpmath.exp(mu * y - mu**2 / 2)

        def positive(y: mpmath.mpf, growth: mpmath.mpf = growth) -> mpmath.mpf:
            return mpmath.npdf(y) * max(ratio(y) - growth, mpmath.mpf(0))

        def reverse(y: mpmath.mpf, growth: mpmath.mpf = growth) -> mpmath.mpf:
            return mpmath.npdf(y) * max(1 - growth * ratio(y), mpmath.mpf(0))

        point = (mpmath.log((growth - 1) / q + 1) + mu**2 / 2) / mu
        forward = mpmath.quad(positive, [point, point + 2, point + 6, point + 20])
        assert profile.delta(epsilon) == pytest.approx(float(forward), rel=1e-9)
        room = (1 / growth - 1 + q) / q
        if room <= 0:
            continue
        end = (mpmath.log(room) + mu**2 / 2) / mu
        backward = mpmath.quad(reverse, [end - 25, end - 8, end - 4, end - 2, end])
        assert float(backward) <= profile.delta(epsilon) * (1 + 1e-9)


def test_one_subsampled_step_composes_to_itself() -> None:
    """A single use by the contour agrees with the closed form, both kinds of sampling."""
    routes = {"poisson": "contour", "without_replacement": "exact sum"}
    for sampling in ("poisson", "without_replacement"):
        step = SubsampledGaussian("0.2", noise_multiplier=1, sampling=sampling)
        still = GaussianDP(0, neighbours=step.neighbours)
        composed = compose([step, still])
        assert composed.route == routes[sampling]
        for epsilon in ("0.1", "1.5"):
            low, high = step.profile().delta_bounds(epsilon)
            lower, upper = composed.delta_bounds(epsilon)
            by_contour = [
                side.upper.inversion.log_bounds(float(epsilon)).linear()
                for side in composed.accountant.sides(0)
            ]
            assert max(ends[0] for ends in by_contour) <= high
            assert low <= max(ends[1] for ends in by_contour)
            assert lower <= high
            assert low <= upper <= low * (1 + 1e-4)


def test_a_release_and_model_training() -> None:
    release = GaussianMechanism(5, neighbours="add_remove")
    step = SubsampledGaussian("0.02", noise_multiplier="1.1")
    both = compose([release, (step, 500)])
    lower, upper = both.delta_bounds(1)
    assert 0 < lower <= upper <= lower * (1 + 1e-9)
    assert upper > compose([(step, 500)]).delta(1)
    whole = SubsampledGaussian(1, noise_multiplier=2)
    assert compose([(whole, 4)]).delta(1) == GaussianDP(1).profile().delta(1)


# ---- infinite losses ----------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_mass_at_infinity(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parts = [
        (
            -float(rng.choice([1e-12, 0.01, 0.7, 30.0, 400.0]) * rng.random()),
            int(rng.integers(1, 50)),
        )
        for _ in range(int(rng.integers(1, 5)))
    ]
    found = log_any_infinite([(LogBounds(log_p, log_p), count) for log_p, count in parts])
    with mpmath.workdps(250):
        rest = mpmath.mpf(1)
        for log_p, count in parts:
            rest *= (1 - mpmath.exp(mpmath.mpf(log_p))) ** count
        truth = mpmath.log(1 - rest)
        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower < 1e-10 + 1e-10 * abs(found.upper)


# ---- parallel composition -------------------------------------------------------------------


def test_parts_by_value_under_replacement_by_enumeration() -> None:
    """Randomised counts of two parts; a record moves: exactly two parts change."""
    parts = [PureDP("0.4", neighbours="add_remove"), PureDP("0.9", neighbours="add_remove")]
    profile = replace_one_parallel(parts)
    assert profile.neighbours is Neighbours.REPLACE_ONE
    # Worst case: randomised response per part, one loses a record and the other gains one.
    laws = []
    for e in (0.4, 0.9):
        p = 1 / (1 + math.exp(-e))
        laws.append((np.array([p, 1 - p]), np.array([1 - p, p])))
    (p1, q1), (p2, q2) = laws
    for epsilon in (0.0, 0.3, 0.8, 1.2, 1.5):
        moved = stick(np.outer(p1, q2).ravel(), np.outer(q1, p2).ravel(), epsilon)
        assert moved <= profile.delta(epsilon) * (1 + 1e-12)
    largest = compose_parallel(parts, split="by_value")
    assert largest.delta("0.5") == parts[1].profile().delta("0.5")
    # The pointwise largest is no bound for a record that moves.
    moved = stick(np.outer(p1, q2).ravel(), np.outer(q1, p2).ravel(), 1.0)
    assert moved > largest.delta(1)


# ---- bad input -------------------------------------------------------------------------------

MODEL, OTHER = DataModel([("1/3", "2/3")]), DataModel([("1/4", "3/4")])
BAD: list[tuple[Callable[[], object], type[SmoothdpError], str]] = [
    (lambda: compose([]), InvalidParameter, "empty"),
    (lambda: compose("abc"), InvalidParameter, "abc"),
    (lambda: compose(3), InvalidParameter, "3"),  # type: ignore[arg-type]
    (lambda: compose([3]), InvalidParameter, "item 1"),
    (lambda: compose([PureDP]), InvalidParameter, "item 1"),
    (lambda: compose([(PureDP(1), 0)]), InvalidParameter, "count of item 1"),
    (lambda: compose([(PureDP(1), -2)]), InvalidParameter, "count of item 1"),
    (lambda: compose([(PureDP(1), 1.5)]), InvalidParameter, "count of item 1"),
    (lambda: compose([(PureDP(1), True)]), InvalidParameter, "count of item 1"),
    (lambda: compose([(PureDP(1), math.nan)]), InvalidParameter, "count of item 1"),
    (lambda: compose([(PureDP(1), 1, 2)]), InvalidParameter, "tuple of 3"),
    (lambda: compose([PureDP(1), "x"]), InvalidParameter, "item 2"),
    (
        lambda: compose([PureDP(1), PureDP(1, neighbours="add_remove")]),
        IncompatibleClaims,
        "same neighbours",
    ),
    (
        lambda: compose([PureDP(1), SubsampledGaussian("0.1", noise_multiplier=1)]),
        IncompatibleClaims,
        "add_remove",
    ),
    (
        lambda: compose([SmoothedDP(1, delta=0, model=MODEL), SmoothedDP(1, delta=0, model=OTHER)]),
        IncompatibleClaims,
        "same model",
    ),
    (lambda: compose([PureDP(1)], tolerance=0), InvalidParameter, "tolerance=0"),
    (lambda: compose([PureDP(1)], tolerance=-1), InvalidParameter, "tolerance=-1"),
    (lambda: compose([PureDP(1)], tolerance=math.nan), InvalidParameter, "tolerance=nan"),
    (lambda: compose([PureDP(1)], tolerance="1e-30"), InvalidParameter, "tolerance=1e-30"),
    (lambda: compose([PureDP(1)], orientation="both"), InvalidParameter, "both"),  # type: ignore[arg-type]
    (lambda: compose([Pair([0.0], [0.0, 1.0])]), SmoothdpError, "shapes"),
    (lambda: GaussianMechanism(0), InvalidParameter, "sigma=0"),
    (lambda: GaussianMechanism(-1), InvalidParameter, "sigma=-1"),
    (lambda: GaussianMechanism(1, math.nan), InvalidParameter, "sensitivity=nan"),
    (lambda: GaussianMechanism(True), InvalidParameter, "sigma=True"),
    (lambda: LaplaceMechanism(math.inf), InvalidParameter, "scale=inf"),
    (lambda: LaplaceMechanism(1, 0), InvalidParameter, "sensitivity=0"),
    (lambda: SubsampledGaussian(0, noise_multiplier=1), InvalidParameter, "sampling_rate=0"),
    (lambda: SubsampledGaussian("1.1", noise_multiplier=1), InvalidParameter, "1.1"),
    (lambda: SubsampledGaussian("0.1", noise_multiplier=0), InvalidParameter, "noise_multiplier=0"),
    (
        lambda: SubsampledGaussian("0.1", noise_multiplier=1, sampling="bernoulli"),  # type: ignore[arg-type]
        InvalidParameter,
        "bernoulli",
    ),
    (lambda: compose_parallel([PureDP(1)], split="by_value"), IncompatibleClaims, "add_remove"),
    (lambda: compose_parallel([(PureDP(1), 2)], split="by_position"), InvalidParameter, "x 2"),
    (lambda: compose_parallel([PureDP(1)], split="other"), InvalidParameter, "other"),  # type: ignore[arg-type]
    (lambda: replace_one_parallel([PureDP(1)]), IncompatibleClaims, "add_remove"),
    (
        lambda: compose([ZCDP(1), ApproxDP(1, delta="1e-3")], tolerance="1e-9").delta(2),
        OutOfReach,
        "relative bracket",
    ),
]


@pytest.mark.parametrize(("call", "kind", "words"), BAD, ids=[str(i) for i in range(len(BAD))])
def test_bad_input(call: Callable[[], object], kind: type[SmoothdpError], words: str) -> None:
    with pytest.raises(kind, match=SENTENCE) as caught:
        call()
    assert words in str(caught.value)


def test_progress_is_told() -> None:
    seen: list[tuple[int, int]] = []
    items = [(PureDP(LogRatio(F(k + 1, k))), 1) for k in range(10, 70)]
    compose(items, progress=lambda done, total: seen.append((done, total))).delta(1)
    assert seen
    assert all(0 <= done <= total for done, total in seen)


def test_every_assignment_of_grouped_pairs() -> None:
    """Exact grouping against the enumeration of all joint outputs."""
    rng = np.random.default_rng(9)
    for _ in range(10):
        p = rng.dirichlet(np.ones(3))
        q = p[::-1]
        composed = compose([(Pair(np.log(p), np.log(q)), 5)])
        for epsilon in (0.0, 0.5, 2.0):
            total = 0.0
            for outputs in itertools.product(range(3), repeat=5):
                a = math.prod(p[i] for i in outputs)
                b = math.prod(q[i] for i in outputs)
                total += max(0.0, a - math.exp(epsilon) * b)
            lower, upper = composed.delta_bounds(epsilon)
            assert lower * (1 - 1e-10) <= total <= upper * (1 + 1e-10)


@pytest.mark.parametrize(
    ("items", "truth"),
    [
        ([sd.PureDP("0.5")], 0.4998393),
        ([(sd.PureDP("0.7"), 8)], 5.5974802),
        ([(sd.LaplaceMechanism(2), 8)], 3.9753187),
    ],
    ids=["one response", "eight responses", "eight Laplace"],
)
def test_epsilon_where_delta_drops_to_zero(items: list[Any], truth: float) -> None:
    """The tail is not straight there; the bracket used to stay wide."""
    lower, upper = sd.compose(items).epsilon_bounds("1e-4")
    assert lower <= upper <= lower * (1 + 1e-8)
    assert upper == pytest.approx(truth, rel=1e-6)


@pytest.mark.parametrize("noise_multiplier", [1, 2])
def test_few_steps_of_training(noise_multiplier: int) -> None:
    """A plan at a far tilt used to overflow."""
    step = sd.SubsampledGaussian("0.01", noise_multiplier=noise_multiplier)
    lower, upper = sd.compose([(step, 100)]).epsilon_bounds("1e-6")
    assert 0 < lower <= upper < 1.1
