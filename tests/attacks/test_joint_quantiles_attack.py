"""Attacks on quantiles that are released together, from their public claims alone.

Densities, losses, moments, windows and excesses are written here anew, from the statements of
docs/proofs/joint-quantiles, exponential-quantile, half-shift and quantile-bars; no code of the
library takes part in what it is compared with.
"""

import copy
import itertools
import math
import pickle
import re
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import smoothdp as sd
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.special import number
from smoothdp.noise.joint.joint_poly_place import JointCalibration
from smoothdp.types import FloatArray as Floats


def calibrated(smoothings: list[str], epsilon: str = "1") -> JointCalibration:
    law = sd.noise.JointPolyPlace(len(smoothings))
    given = smoothings[0] if len(set(smoothings)) == 1 else smoothings
    return law.calibrate(sd.PureDP(epsilon), smoothing=given)


class Law:
    """The law of the statement: g(t N(z)), from m, the smoothings and epsilon alone."""

    def __init__(self, smoothings: list[str], epsilon: str) -> None:
        exact = [Fraction(each) for each in smoothings]
        self.m, self.t = len(exact), float(max(exact))
        self.s = float(min(exact) / max(exact))
        self.b = float((Fraction(epsilon) - sum(exact)) / max(exact))
        self.steps = np.array([float(each) for each in exact])
        self.first = 1 / (self.b + self.s)
        self.second = 2 / self.b if self.s < 1 else self.first

    def log_g(self, x: Floats) -> Floats:
        b, s = self.b, self.s
        inner = b / s * np.log1p(-s * np.minimum(x, self.first))
        middle = np.clip(x, self.first, self.second)
        inner -= (b / s + 2) * np.log((1 + s * middle) / (1 + s * self.first))
        return inner - (b + 2) * np.log((1 + np.maximum(x, self.second)) / (1 + self.second))

    def log_density(self, z: Floats) -> Floats:
        spread = np.maximum(z.max(axis=-1), 0) + np.maximum((-z).max(axis=-1), 0)
        return self.log_g(self.t * spread)

    def moment(self, k: int) -> float:
        """Return the integral of r^(m - 1 + k) g(t r) over r > 0."""

        def under(r: float) -> float:
            return float(r ** (self.m - 1 + k) * np.exp(self.log_g(np.array(self.t * r))))

        ends = [0.0, self.first / self.t, self.second / self.t, math.inf]
        return sum(
            float(integrate.quad(under, low, high, epsabs=0, epsrel=1e-11, limit=200)[0])
            for low, high in itertools.pairwise(ends)
            if low < high
        )

    def variance(self) -> float:
        m = self.m
        return (m + 2) * (m + 3) / (6 * m * (m + 1)) * self.moment(2) / self.moment(0)


SMOOTHINGS = [
    ["0.1"],
    ["0.05", "0.05"],
    ["0.05", "0.1"],
    ["0.3", "0.001"],
    ["0.2", "0.2", "0.2"],
    ["0.01", "0.2", "0.1"],
    ["0.3", "0.3", "0.001"],
]


def largest_loss(law: Law, rng: np.random.Generator, signs: str) -> float:
    """Return the largest loss found: a search over outputs, shifts and dilations, then a climb."""
    m, count = law.m, 40_000

    def losses(raw: Floats) -> Floats:
        radius, theta, shifts, tilts = (
            raw[..., :1], raw[..., 1 : 1 + m], raw[..., 1 + m : 1 + 2 * m], raw[..., 1 + 2 * m :]
        )  # fmt: skip
        z = (
            np.exp(np.clip(radius, -8, 16))
            * theta
            / np.maximum(np.abs(theta).max(-1), 1e-9)[..., None]
        )
        tau = np.clip(tilts, -1, 1) * law.steps
        largest = np.minimum(1, np.exp(tau))
        shift = np.clip(np.abs(shifts), 0, 1) if signs == "one" else np.clip(shifts, -1, 1)
        moved = (z - shift * largest) * np.exp(-tau)
        found: Floats = law.log_density(z) - law.log_density(moved) + tau.sum(-1)
        return np.abs(found)

    raw = np.concatenate(
        [
            rng.uniform(-4, 12, (count, 1)),
            rng.normal(size=(count, m)) * rng.choice([0, 1, 1], size=(count, m)),
            rng.choice([-1.0, 0.0, 0.5, 1.0], size=(count, m)),
            rng.choice([-1.0, 0.0, 1.0], size=(count, m)),
        ],
        axis=1,
    )
    found = losses(raw)
    best = float(found.max())
    for start in raw[np.argsort(found)[-3:]]:
        climbed = optimize.minimize(
            lambda at: -float(losses(np.asarray(at))), start, method="Nelder-Mead",
            options={"maxiter": 600},
        )  # fmt: skip
        best = max(best, -float(climbed.fun))
    return best


@pytest.mark.parametrize("smoothings", SMOOTHINGS, ids="-".join)
def test_no_pair_of_databases_loses_more_than_epsilon(smoothings: list[str]) -> None:
    law, calibration = Law(smoothings, "1"), calibrated(smoothings)
    radial = calibration.radial
    assert float(radial.rest) == pytest.approx(law.b)
    assert float(radial.ratio) == pytest.approx(law.s)
    rng = np.random.default_rng(len(smoothings))
    assert 0.95 < largest_loss(law, rng, "one") <= 1 + 1e-9


def test_the_search_finds_the_loss_of_opposite_shifts() -> None:
    """The search can fail: shifts of two signs lose nearly twice as much."""
    law = Law(["0.001", "0.001"], "0.1")
    assert largest_loss(law, np.random.default_rng(1), "any") > 0.19


@pytest.mark.parametrize("smoothings", SMOOTHINGS, ids="-".join)
def test_the_variance_is_that_of_the_density(smoothings: list[str]) -> None:
    law = Law(smoothings, "1")
    found = calibrated(smoothings).variance
    if law.b <= law.m:
        assert found == math.inf
        return
    assert found == pytest.approx(law.variance(), rel=1e-8)


def test_the_variance_is_that_of_the_plane() -> None:
    """Without polar coordinates: the density of two numbers, summed over the plane."""
    law = Law(["0.05", "0.1"], "1")
    points, weights = np.polynomial.legendre.leggauss(400)
    scaled = np.sinh(7 * points)
    pull = weights * 7 * np.cosh(7 * points)
    grid = np.stack(np.meshgrid(scaled, scaled, indexing="ij"), axis=-1)
    mass = np.exp(law.log_density(grid)) * pull[:, None] * pull[None, :]
    assert float(mass.sum()) == pytest.approx(6 * law.moment(0), rel=2e-3)
    for axis in (0, 1):
        second = float((mass * grid[..., axis] ** 2).sum() / mass.sum())
        assert second == pytest.approx(calibrated(["0.05", "0.1"]).variance, rel=5e-3)


def drawn(calibration: JointCalibration, count: int, seed: int) -> Floats:
    """Draw from `lazy`, with floats of numpy for its uniform numbers."""
    lazy = calibration.lazy()
    rng = np.random.default_rng(seed)
    kept: list[list[float]] = []
    while len(kept) < count:
        case = int(rng.integers(lazy.n_cases))
        found = lazy.function()(case, [number(float(u)) for u in rng.random(lazy.n_uniforms)])
        if isinstance(found, list):
            kept.append([float(each) / float(calibration.exact_shift) for each in found])
    return np.array(kept)


def radius_law(law: Law) -> tuple[Floats, Floats]:
    radii = np.concatenate([[0.0], np.geomspace(1e-4, 1e6, 20_001)])
    under = radii ** (law.m - 1) * np.exp(law.log_g(law.t * radii))
    sums = integrate.cumulative_trapezoid(under, radii, initial=0)
    return radii, np.asarray(sums / sums[-1])


def p_values(z: Floats, law: Law) -> tuple[float, float, float]:
    """P-values of the radius, of which coordinates are the ends, and of the middle ones."""
    count, m = z.shape
    points = np.concatenate([np.zeros((count, 1)), z], axis=1)
    spread = points.max(1) - points.min(1)
    radii, below = radius_law(law)
    radius = stats.kstest(np.interp(spread, radii, below), "uniform").pvalue
    ends = points.argmin(1) * (m + 1) + points.argmax(1)
    cases = np.array(
        [(ends == p * (m + 1) + q).sum() for p in range(m + 1) for q in range(m + 1) if p != q]
    )
    inner = np.sort(points, axis=1)[:, 1:-1]
    middle = ((inner - points.min(1)[:, None]) / spread[:, None]).mean(1)
    uniform = middle if m == 2 else np.where(middle < 0.5, 2 * middle**2, 1 - 2 * (1 - middle) ** 2)
    return (
        float(radius),
        float(stats.chisquare(cases).pvalue),
        float(stats.kstest(uniform, "uniform").pvalue) if m > 1 else 1.0,
    )


FALSE_ALARM = 1e-6
Intervals = tuple[tuple[float, float], ...]


@pytest.mark.parametrize(
    "smoothings", [["0.3", "0.001"], ["0.05", "0.1"], ["0.01", "0.2", "0.1"]], ids="-".join
)
def test_draws_have_the_density(smoothings: list[str]) -> None:
    """False alarm: 3e-6 each. A law of another smoothing, or of one for all, is rejected."""
    z = drawn(calibrated(smoothings), 2500, seed=3)
    assert min(p_values(z, Law(smoothings, "1"))) > FALSE_ALARM
    wrong = (
        Law([max(smoothings)] * len(smoothings), "1")
        if smoothings[0] == "0.3"
        else Law(smoothings, "0.9")
    )
    assert min(p_values(z, wrong)) < FALSE_ALARM


# ---- the joint exponential mechanism -----------------------------------------------------------


def distance(first: Fraction, second: Fraction) -> Fraction:
    return abs(first - second)


def exponential_law(
    data: list[float], levels: list[str], bounds: tuple[int, int], epsilon: str, step: Fraction
) -> dict[tuple[Fraction, ...], float]:
    """Return the law of the rounded values: the density of the statement, summed over boxes."""
    low, high = (Fraction(end) for end in bounds)
    records = [min(max(Fraction(each), low), high) for each in data]
    grid = [step * k for k in range(math.ceil(low / step), math.floor(high / step) + 1)]
    halves = [each + step / 2 for each in grid if low < each + step / 2 < high]
    ends = sorted({low, high, *records, *halves})
    boxes = [(first, last) for first, last in itertools.pairwise(ends)]
    rounded = [min(grid, key=partial(distance, (u + v) / 2)) for u, v in boxes]
    below = [sum(record <= u for record in records) for u, _ in boxes]
    targets = [len(records) * Fraction(level) for level in levels]
    slope = float(Fraction(epsilon) / 4)
    law: dict[tuple[Fraction, ...], float] = {}
    for chosen in itertools.combinations_with_replacement(range(len(boxes)), len(levels)):
        gaps = [Fraction(0)] + [
            below[c] - target for c, target in zip(chosen, targets, strict=True)
        ]
        missed = sum(abs(v - u) for u, v in itertools.pairwise([*gaps, Fraction(0)]))
        weight = math.exp(-slope * float(missed))
        for box, run in itertools.groupby(chosen):
            times = len(list(run))
            weight *= float(boxes[box][1] - boxes[box][0]) ** times / math.factorial(times)
        key = tuple(rounded[c] for c in chosen)
        law[key] = law.get(key, 0.0) + weight
    total = sum(law.values())
    return {key: mass / total for key, mass in law.items()}


def fit(law: dict[tuple[Fraction, ...], float], draws: list[tuple[float, ...]]) -> float:
    """P-value of draws under a law, rare outcomes taken together."""
    counts: dict[tuple[Fraction, ...], int] = dict.fromkeys(law, 0)
    for each in draws:
        counts[tuple(Fraction(value) for value in each)] += 1
    common = [key for key, mass in law.items() if mass * len(draws) >= 5]
    observed = [counts[key] for key in common]
    expected = [law[key] * len(draws) for key in common]
    observed[-1] += len(draws) - sum(observed)
    expected[-1] += len(draws) - sum(expected)
    return float(stats.chisquare(observed, expected).pvalue)


TINY = [
    ([2.0], ["0.5", "0.5001"], "8"),
    ([1.5, 1.5, 1.5], ["0.2", "0.5", "0.8"], "8"),
    ([-9.0, 0.0, 2.5, 4.0, 99.0, 2.5], ["0.1", "0.4", "0.6", "0.9"], "1"),
    ([-9.0, 0.0, 2.5, 4.0, 99.0, 2.5], ["0.1", "0.4", "0.6", "0.9"], "8"),
]


@pytest.mark.parametrize(("data", "levels", "epsilon"), TINY)
def test_tiny_databases_are_drawn_by_their_law(
    data: list[float], levels: list[str], epsilon: str
) -> None:
    """False alarm: 1e-6. End to end; eight times the epsilon, or none, is rejected."""
    query = sd.queries.Quantiles(levels, bounds=(0, 4))
    promise, rng = sd.PureDP(epsilon), sd.SeededRandom(11)
    draws = [
        sd.release(data, query, guarantee=promise, round_to=1, rng=rng).value for _ in range(350)
    ]
    law = exponential_law(data, levels, (0, 4), epsilon, Fraction(1))
    assert fit(law, draws) > FALSE_ALARM
    other = "8" if epsilon == "1" else "0.01"
    assert fit(exponential_law(data, levels, (0, 4), other, Fraction(1)), draws) < FALSE_ALARM


@pytest.mark.parametrize(
    ("counts", "bounds", "levels", "epsilon", "step"),
    [
        ([(1, 500), (3, 501)], (0, 4), ["0.2", "0.4995", "0.5"], "0.02", "1"),
        ([(0, 333), (2, 334), (4, 334)], (0, 4), ["1/3", "1/2", "2/3", "0.999"], "0.02", "1"),
        ([(2**38, 10), (2**39, 1)], (0, 2**40), ["0.1", "0.9", "0.95"], "2", str(2**38)),
        ([(0.25, 3), (0.25 + 2**-40, 1), (0.75, 3)], (0, 1), ["0.2", "0.6", "0.8"], "6", "1/4"),
    ],
)
def test_columns_of_few_values_are_drawn_by_their_law(
    counts: list[tuple[float, int]],
    bounds: tuple[int, int],
    levels: list[str],
    epsilon: str,
    step: str,
) -> None:
    """False alarm: 1e-6. Many records with ties have few cells, so the law is a short sum."""
    data = [value for value, times in counts for _ in range(times)]
    joint = sd.JointExponentialQuantiles(levels, bounds=bounds, guarantee=sd.PureDP(epsilon))
    rng = sd.SeededRandom(5)
    draws = [joint.release(data, round_to=step, rng=rng).value for _ in range(400)]
    law = exponential_law(data, levels, bounds, epsilon, Fraction(step))
    assert fit(law, draws) > FALSE_ALARM
    wrong = exponential_law(data, levels, bounds, "0.001", Fraction(step))
    assert fit(wrong, draws) < FALSE_ALARM


def loss(p: dict[tuple[Fraction, ...], float], q: dict[tuple[Fraction, ...], float]) -> float:
    assert p.keys() == q.keys()
    return max(math.log(p[key] / q[key]) for key in p)


def test_the_exponential_law_of_tiny_databases_is_private() -> None:
    """All pairs of neighbours with values of a grid, exactly; without 1/k! the promise breaks."""
    values, worst = [0.0, 1.5, 4.0], 0.0
    for n, levels in ((1, ["0.25", "0.75"]), (2, ["0.1", "0.5", "0.6"]), (3, ["0.3", "0.9"])):
        laws = {
            data: exponential_law(list(data), levels, (0, 4), "2", Fraction(1))
            for data in itertools.combinations_with_replacement(values, n)
        }
        for first, second in itertools.permutations(laws, 2):
            if sum(u != v for u, v in zip(first, second, strict=True)) == 1:
                worst = max(worst, loss(laws[first], laws[second]))
    assert 0.8 < worst <= 2 + 1e-9
    levels = ["0.25", "0.5", "0.75"]
    pair = [exponential_law([x], levels, (0, 4), "0.1", Fraction(2)) for x in (3.0, 0.0)]
    assert loss(*pair) <= 0.1


# ---- joint noise, end to end -------------------------------------------------------------------


def windows(mechanism: str, m: int) -> tuple[int, list[float]]:
    """Read the width of the windows and the smoothings off the printed mechanism."""
    around = re.search(r"means? of (\d+) values", mechanism)
    given = re.search(r"with t = ([^;]*);", mechanism)
    assert given is not None
    smoothings = [float(Fraction(each)) for each in given[1].split(", ")]
    return int(around[1]) if around else 1, smoothings * (m if len(smoothings) == 1 else 1)


def window_and_sensitivity(
    data: Floats, level: str, width: int, t: float, bounds: tuple[float, float]
) -> tuple[float, float]:
    """Return the mean of the window and its smooth sensitivity, formula (1) of quantile-bars."""
    low, high = bounds
    n, q = len(data), Fraction(level)
    values = np.sort(np.clip(data, low, high))
    rank = math.floor(q * (n - 1) + Fraction(1, 2)) + 1
    first, last = rank - (width - 1) // 2, rank + (width - 1) // 2
    assert first >= 1
    assert last <= n
    padded = np.concatenate([np.full(n + 1, low), values, np.full(n + 1, high)])
    down, up = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    steps = down + up
    spans = padded[n + last + up] - padded[np.maximum(n + first - down, 0)]
    spans = np.where(steps >= 1, np.exp(-t * (steps - 1.0)) * spans, 0.0)
    return float(values[first - 1 : last].mean()), float(spans.max()) / width


@pytest.mark.parametrize(
    ("levels", "n", "epsilon"),
    [pytest.param(["0.4", "0.6"], 150, "3", marks=pytest.mark.slow), (["0.25", "0.5"], 1001, "1")],
)
def test_released_values_have_the_windows_noise(levels: list[str], n: int, epsilon: str) -> None:
    """False alarm: 3e-6 each. Windows, sensitivities and the joint law; one law for all fails."""
    data = np.sort(np.random.default_rng(8).lognormal(0, 0.5, n)) * 1000
    bounds = (-(10**7), 10**7)
    query, rng = sd.queries.Quantiles(levels, bounds=bounds), sd.SeededRandom(2)
    found = [sd.release(data, query, guarantee=sd.PureDP(epsilon), rng=rng) for _ in range(350)]
    assert "joint PolyPlace" in found[0].mechanism
    width, smoothings = windows(found[0].mechanism, len(levels))
    scaled = [
        window_and_sensitivity(data, level, width, t, bounds)
        for level, t in zip(levels, smoothings, strict=True)
    ]
    value, scale = (np.array(each) for each in zip(*scaled, strict=True))
    z = (np.array([each.value for each in found]) - value) / scale
    exact = [str(Fraction(each).limit_denominator(100_000)) for each in smoothings]
    assert min(p_values(z, Law(exact, epsilon))) > FALSE_ALARM
    assert min(p_values(z * 1.5, Law(exact, epsilon))) < FALSE_ALARM


# ---- arguments and edited calibrations ---------------------------------------------------------


def test_smoothings_far_apart_are_refused_plainly() -> None:
    """The variance of such a law raised a bare ArithmeticError."""
    assert calibrated(["1e-13", "0.1"]).variance == pytest.approx(
        calibrated(["1e-9", "0.1"]).variance
    )
    with pytest.raises(InvalidParameter, match="within a factor"):
        calibrated(["1e-20", "0.1"])


@pytest.mark.parametrize(
    "change",
    [
        {"shape": Fraction(11)},
        {"smoothing": Fraction(1, 5)},
        {"smoothings": (Fraction(1, 20), Fraction(1, 20))},
        {"smoothings": [Fraction(1, 20), Fraction(1, 10)]},
        {"smoothings": (0.05, 0.1)},
        {"guarantee": sd.PureDP("0.9")},
        {"guarantee": sd.ZCDP(1)},
        {"law": sd.noise.JointPolyPlace(3)},
    ],
    ids=str,
)
def test_edited_calibrations_are_refused(change: dict[str, Any]) -> None:
    """A list of smoothings could be changed after it was checked."""
    honest = calibrated(["0.05", "0.1"])
    assert pickle.loads(pickle.dumps(honest)) == honest
    with pytest.raises(InvalidParameter):
        replace(honest, **change)
    edited = copy.deepcopy(honest)
    for name, value in change.items():
        object.__setattr__(edited, name, value)
    with pytest.raises(InvalidParameter):
        pickle.loads(pickle.dumps(edited))


PROMISES = [
    sd.PureDP(1),
    sd.ZCDP("1/2"),
    sd.GaussianDP(1),
    sd.ApproxDP(1, delta="1e-6"),
    sd.TruncatedCDP("1/2", omega=10),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("promise", PROMISES, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("confidence", [None, "0.9"])
def test_no_choice_depends_on_the_values(promise: Any, confidence: str | None) -> None:
    """All databases of 1 and 2 values of a grid, and extreme columns of 400: one mechanism each."""
    query = sd.queries.Quantiles(["0.25", "0.5"], bounds=(0, 100))
    columns: list[list[float]] = [
        list(each)
        for n in (1, 2)
        for each in itertools.combinations_with_replacement([-5.0, 0.0, 50.0, 1e300], n)
    ]
    columns += [[0.0] * 400, [0.0] * 200 + [100.0] * 200, [float(i) for i in range(400)]]
    seen: dict[int, set[str]] = {}
    for column in columns:
        try:
            found = sd.release(
                column, query, guarantee=promise, confidence=confidence, rng=sd.SeededRandom(1)
            ).mechanism
        except InvalidParameter as error:
            found = str(error)
        seen.setdefault(len(column), set()).add(found)
    assert {n: len(each) for n, each in seen.items()} == {1: 1, 2: 1, 400: 1}


@pytest.mark.parametrize("promise", PROMISES[:4], ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("confidence", [None, "0.9"])
def test_the_ledger_is_charged_once_for_all_levels(
    tmp_path: Path, promise: Any, confidence: str | None
) -> None:
    query = sd.queries.Quantiles(["0.3", "0.5"], bounds=(0, 1000))
    ledger = sd.Ledger(tmp_path / "ledger", budget=promise)

    def release(data: list[float], bits: int) -> object:
        return sd.release(
            data, query, guarantee=promise, confidence=confidence, ledger=ledger,
            label="deciles", rng=sd.SeededRandom(bits),
        )  # fmt: skip

    for bad in ([], [1.0, math.nan], [math.inf]):
        with pytest.raises(sd.errors.SmoothdpError):
            release(bad, 0)
    assert len(list(ledger.entries())) == 0
    release([float(i) for i in range(1001)], 1)
    assert len(list(ledger.entries())) == 1
    with pytest.raises(sd.errors.BudgetExceeded):
        release([float(i) for i in range(1001)], 2)


# ---- the max law and intervals -----------------------------------------------------------------


def max_law_height(z: Floats, a: float, t: float) -> Floats:
    """H of quantile-bars#5."""
    x = np.abs(z) * t
    inner = -(a - 1) * np.log1p(-np.minimum(x, 1 / a))
    return np.asarray(inner + (a + 1) * np.log((1 + np.maximum(x, 1 / a)) / (1 + 1 / a)))


@pytest.mark.parametrize("offset", ["0", "1/2", "1", "7", "100"])
@pytest.mark.parametrize("t", [0.05, 0.4])
def test_the_max_law_loses_at_most_epsilon(offset: str, t: float) -> None:
    """Random outputs and pairs; dilations that are twice as large lose more than epsilon."""
    calibration = sd.noise.MaxLaw(offset).calibrate(sd.PureDP(1), smoothing=str(t))
    assert float(calibration.shape) * t == pytest.approx(1)
    a, d = 1 / t, float(Fraction(offset))
    rng = np.random.default_rng(4)

    def psi(z: Floats, b: Floats) -> Floats:
        return np.maximum(max_law_height(z, a, t) + d, (a - 1) * np.abs(b))

    count = 200_000
    z = rng.choice([-1, 1], count) * np.exp(rng.uniform(-4, 8, count))
    b = rng.choice([-1, 1], count) * np.exp(rng.uniform(-6, 4, count))
    edge = rng.random(count) < 0.5
    b = np.where(edge, np.sign(b) * (max_law_height(z, a, t) + d) / (a - 1), b)
    unit, sign = rng.choice([-t, 0, t], count), rng.choice([-1.0, 0.0, 1.0], count)

    def largest(tau: Floats) -> float:
        moved = (z - sign * np.minimum(1, np.exp(tau))) * np.exp(-tau)
        return float(np.abs(psi(moved, b - tau) - psi(z, b) + tau).max())

    assert 0.9 < largest(unit) <= 1 + 1e-9
    assert largest(2 * unit) > 1.5


@pytest.mark.parametrize(
    ("offset", "t", "k", "factor"),
    [("1", 0.1, 2.0, 9.0), ("3", 0.2, 0.0, 4.0), ("0", 0.05, 7.0, 12.0)],
)
def test_coverage_of_the_max_law_is_that_of_its_density(
    offset: str, t: float, k: float, factor: float
) -> None:
    """P(|Z + k| <= F e^B) by a sum over a grid of the plane."""
    a, d = 1 / t, float(Fraction(offset))
    b = np.linspace(-60, 60, 1501) * t
    points = np.sinh(np.linspace(-14, 14, 3001))
    pull = np.cosh(np.linspace(-14, 14, 3001))
    height = max_law_height(points, a, t) + d
    mass = np.exp(-np.maximum(height[:, None], (a - 1) * np.abs(b)[None, :])) * pull[:, None]
    inside = np.abs(points + k)[:, None] <= factor * np.exp(b)[None, :]
    law = sd.noise.MaxLaw(offset).calibrate(sd.PureDP(1), smoothing=str(t))
    found = law.coverage(excess=k, factor=factor)
    assert found == pytest.approx(float(mass[inside].sum() / mass.sum()), abs=2e-3)


HALVES = [0.0] * 501 + [100.0] * 500
EVEN = [0.0] * 500 + [100.0] * 500


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("data", "levels", "truths"),
    [
        (HALVES, ["0.3", "0.5"], ([0.0, 0.0],)),
        pytest.param(
            HALVES[1:], ["0.4", "0.5"], ([0.0, 0.0], [0.0, 100.0]), marks=pytest.mark.slow
        ),
        ([37.0], ["0.3", "0.5"], ([37.0, 37.0],)),
        ([0.0, 0.0, 100.0], ["0.5", "2/3"], ([0.0, 0.0], [0.0, 100.0])),
    ],
    ids=["odd", "even", "one", "three"],
)
@pytest.mark.parametrize("promise", [sd.PureDP(4), sd.ZCDP("1/2")], ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("together", [False, True])
def test_intervals_cover_the_worst_data(
    data: list[float], levels: list[str], truths: Any, promise: Any, together: bool
) -> None:
    """Both ends of the plain quantiles. False alarm: below 1e-6 each, of 40 draws."""
    query, rng = sd.queries.Quantiles(levels, bounds=(-300, 400)), sd.SeededRandom(6)
    draws = 40

    def interval() -> Intervals:
        found: Any = sd.release(
            data, query, guarantee=promise, confidence="0.9", simultaneous=together, rng=rng
        )
        return cast("Intervals", found.interval)

    if len(data) == 3 and isinstance(promise, sd.PureDP):
        with pytest.raises(InvalidParameter, match="Take more records"):
            interval()
        return
    ends = np.array([interval() for _ in range(draws)])
    fewest = stats.binom.ppf(1e-6, draws, 0.9)
    for truth in truths:
        inside = (ends[:, :, 0] <= np.array(truth)) & (np.array(truth) <= ends[:, :, 1])
        covered = [inside.all(axis=1).sum()] if together else list(inside.sum(axis=0))
        assert min(covered) >= fewest


def test_an_interval_for_the_window_misses_the_quantile() -> None:
    """What the test above would see: these are shorter, and are about another number."""
    query, rng = sd.queries.Quantiles(["0.4", "0.5"], bounds=(-300, 400)), sd.SeededRandom(6)
    found: list[Any] = [
        sd.release(
            HALVES, query, guarantee=sd.PureDP(4), confidence="0.9", covers="window", rng=rng
        )
        for _ in range(40)
    ]
    ends = [each.interval[1] for each in found]
    assert sum(low <= 0 <= high for low, high in ends) < stats.binom.ppf(1e-6, 40, 0.9)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("promise", [*PROMISES, sd.PureDP(4)], ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("together", [False, True])
def test_intervals_cover_a_population_of_two_values(promise: Any, together: bool) -> None:
    """Records 0 or 100, the median of the population between them. False alarm: 1e-6 each."""
    levels, truth = ["0.3", "0.5"], np.array([0.0, 50.0])
    query, rng = sd.queries.Quantiles(levels, bounds=(-300, 400)), sd.SeededRandom(6)
    records = np.random.default_rng(17)
    draws = 250
    ends = []
    for _ in range(draws):
        data = 100.0 * (records.random(1001) < 0.5)
        found: Any = sd.release(
            data, query, guarantee=promise, confidence="0.8", covers="population",
            simultaneous=together, rng=rng,
        )  # fmt: skip
        ends.append(found.interval)
    both = np.array(ends)
    inside = (both[:, :, 0] <= truth) & (truth <= both[:, :, 1])
    covered = [inside.all(axis=1).sum()] if together else list(inside.sum(axis=0))
    assert min(covered) >= stats.binom.ppf(1e-6, draws, 0.8)


# ---- half shifts, end to end -------------------------------------------------------------------


def certified_loss(first: list[object], second: list[object], measure: str) -> float:
    """A bound from below of mu or rho, over all events, with error 2e-6 for each event."""
    outcomes = sorted({*first, *second}, key=str)
    n, least = len(first), 0.0
    for size in range(1, len(outcomes)):
        for event in itertools.combinations(outcomes, size):
            for one, other in ((first, second), (second, first)):
                hits, others = (sum(each in event for each in x) for x in (one, other))
                if hits == 0 or others == n:
                    continue
                p = float(stats.beta.ppf(1e-6, hits, n - hits + 1))
                q = float(stats.beta.ppf(1 - 1e-6, others + 1, n - others))
                if p <= q:
                    continue
                if measure == "mu":
                    least = max(least, float(stats.norm.ppf(p) - stats.norm.ppf(q)))
                for order in (1.5, 2, 4) if measure == "rho" else ():
                    moment = p**order * q ** (1 - order) + (1 - p) ** order * (1 - q) ** (1 - order)
                    least = max(least, math.log(moment) / (order - 1) / order)
    return least


@pytest.mark.slow
@pytest.mark.parametrize(
    ("promise", "measure", "most"),
    [(sd.GaussianDP(3), "mu", 3.0), (sd.ZCDP(4), "rho", 4.0)],
    ids=["mu", "rho"],
)
@pytest.mark.parametrize(
    ("first", "second"), [([0.0], [100.0]), ([0.0] * 3 + [100.0] * 2, [0.0] * 2 + [100.0] * 3)]
)
def test_half_shifts_of_tiny_databases_keep_the_promise(
    first: list[float], second: list[float], promise: Any, measure: str, most: float
) -> None:
    """False alarm: below 1e-4. A third of mu, or a quarter of rho, is refuted by the same draws."""
    query = sd.queries.Quantiles(["0.5", "0.6"], bounds=(0, 100))

    def draws(data: list[float], bits: int) -> list[object]:
        rng = sd.SeededRandom(bits)
        return [
            sd.release(data, query, guarantee=promise, round_to=100, rng=rng).value
            for _ in range(1200)
        ]

    lost = certified_loss(draws(first, 1), draws(second, 2), measure)
    assert most / 4 < lost <= most
