"""Attacks that failed: laws, sensitivities, words and refusals held against brute force."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from tests.checkers.windows import smooth

from .brute_force import (
    databases,
    delta_at,
    hockey_stick,
    loss,
    smooth_sensitivity,
    window_mean,
)

ONE = sd.PureDP(1)
INSIDE = (Fraction(0), Fraction(1, 4), Fraction(1))
OUTSIDE = (Fraction(-3), Fraction(0), Fraction(1, 4), Fraction(1), Fraction(9))


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("truncate", ["inputs", "output"])
def test_values_and_smooth_sensitivities(n: int, truncate: str) -> None:
    """All windows, all databases, all neighbours: f and S are those of the literal definition."""
    graph = databases(OUTSIDE if truncate == "output" else INSIDE, n)
    for low, high in itertools.product(range(n), repeat=2):
        if low + high >= n:
            continue
        query = sd.queries.WindowMean(low, drop_high=high, bounds=(0, 1), truncate=truncate)
        f = {x: window_mean(x, low, high, output=truncate == "output") for x in graph}
        columns = {x: [float(v) for v in x] for x in graph}
        assert all(abs(query.value(columns[x]) - float(f[x])) < 1e-15 for x in graph)
        for t in (0.05, 2.0):
            s = {x: query.smooth_sensitivity(columns[x], smoothing=t) for x in graph}
            if truncate == "inputs":
                exact = smooth_sensitivity(graph, f, t)
                assert all(abs(s[x] / exact[x] - 1) < 1e-9 for x in graph)
            for x in graph:
                for y in graph[x]:
                    assert float(abs(f[x] - f[y])) <= s[x] * (1 + 1e-12)
                    assert abs(math.log(s[x] / s[y])) <= t + 1e-9


@pytest.mark.parametrize(
    "guarantee", [ONE, sd.PureDP("0.3"), sd.ApproxDP(1, delta="1e-3")], ids=repr
)
@pytest.mark.parametrize(("n", "low", "high"), [(1, 0, 0), (2, 0, 0), (3, 1, 1), (4, 0, 1)])
def test_laws_of_neighbours(guarantee: Any, n: int, low: int, high: int) -> None:
    """The noise is (S / s) times one law at all databases, and neighbours keep the guarantee."""
    query = sd.queries.WindowMean(low, drop_high=high, bounds=(0, 1))
    mechanism = SmoothNoise.calibrate(query, guarantee=guarantee, n_records=n)
    graph, t, s = databases(INSIDE, n), float(mechanism.smoothing), mechanism.calibration.shift
    f = {x: window_mean(x, low, high) for x in graph}
    scale = smooth_sensitivity(graph, f, t) if t else dict.fromkeys(graph, 1 / n)
    for x in graph:
        for y in graph[x]:
            shift, ratio = float(abs(f[x] - f[y])) / scale[x] * s, math.log(scale[y] / scale[x])
            if isinstance(guarantee, sd.PureDP):
                assert loss(mechanism.noise, shift, ratio) <= float(guarantee.epsilon) * (1 + 1e-9)
            else:
                delta = hockey_stick(mechanism.noise, shift, ratio, float(guarantee.epsilon))
                assert delta <= float(guarantee.delta) * (1 + 1e-4)
    for seed in range(3):
        noise = []
        for x in graph:
            drawn = mechanism.release([float(v) for v in x], rng=sd.SeededRandom(seed)).value
            noise.append((drawn - float(f[x])) * s / scale[x])
        assert max(noise) - min(noise) < 1e-6 * (1 + abs(noise[0]))


QUERIES: list[Any] = [
    sd.queries.Mean((0, 100)),
    sd.queries.TrimmedMean("0.2", bounds=(0, 100), truncate="output"),
    sd.queries.Median((0, 100)),
    sd.queries.Maximum((0, 100)),
]


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: type(q).__name__)
@pytest.mark.parametrize(
    "guarantee",
    [ONE, sd.ZCDP("0.5")],
    ids=lambda g: type(g).__name__,
)
def test_words_are_the_same_at_all_data(query: Any, guarantee: Any, tmp_path: Path) -> None:
    """Mechanism, promise, sources, warnings and the ledger's entry follow from n alone."""
    for n in (1, 2, 10):
        said = set()
        for k, data in enumerate(
            (
                [0.0] * n,
                [100.0] * n,
                [0.1 * i for i in range(n)],
                [10**17] * n,
                [-1e300] * (n // 2) + [1e300] * (n - n // 2),
            )
        ):
            ledger = sd.Ledger(tmp_path / f"{n}.{k}.db", budget=guarantee)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                found = sd.release(
                    data, query, guarantee=guarantee, ledger=ledger, rng=sd.SeededRandom(k)
                )
            (entry,) = ledger.entries()
            said.add(
                (
                    found.mechanism,
                    found.sentence(),
                    repr(found.guarantee),
                    repr(found.sources),
                    type(found.value),
                    entry.mechanism,
                    repr(entry.parameters),
                    repr(entry.costs),
                    *(str(each.message) for each in caught),
                )
            )
        assert len(said) == 1


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("covers", ["window", "population", "mean"])
def test_bars_of_untrimmed_means_are_public(covers: str) -> None:
    """Where S is the same at all data, so is the length of the interval."""
    lengths = set()
    for data in ([50.0] * 400, [0.0] * 200 + [100.0] * 200, [40.0] * 399 + [60.0]):
        for seed in (1, 2):
            found = sd.release(
                data,
                sd.queries.Mean((0, 100)),
                guarantee=ONE,
                confidence="0.95",
                covers=covers,
                rng=sd.SeededRandom(seed),
            )
            assert isinstance(found, sd.mechanisms.IntervalRelease)
            lengths.add(round(found.interval[1] - found.interval[0], 9))
    assert len(lengths) == 1


@pytest.mark.parametrize("guarantee", [ONE, sd.ZCDP("0.5")], ids=lambda g: type(g).__name__)
@pytest.mark.parametrize("data", [[0.0] * 15 + [1.0] * 15, [0.0] * 30], ids=["halves", "ties"])
def test_value_and_bars_cost_the_guarantee(guarantee: Any, data: list[float]) -> None:
    """The spread of ln(half-width) pays for itself, and the interval covers the statistic."""
    query, t = sd.queries.TrimmedMean(6, bounds=(-50, 50)), 0.05
    found = [
        sd.release(
            data,
            query,
            guarantee=guarantee,
            confidence="0.8",
            smoothing="0.05",
            rng=sd.SeededRandom(seed),
        )
        for seed in range(300)
    ]
    truth = query.value(data)
    intervals: list[Any] = [getattr(each, "interval") for each in found]  # noqa: B009
    covered = sum(low <= truth <= high for low, high in intervals) / 300
    assert covered > 0.8 - 3 * (0.8 * 0.2 / 300) ** 0.5
    logs = np.log([high - low for low, high in intervals])
    mechanism = found[0].mechanism
    share = Fraction(mechanism.split("interval for ")[1].split(" of")[0].split()[-1])
    if isinstance(guarantee, sd.PureDP):  # Laplace of scale t / epsilon
        measured = t / float(np.mean(np.abs(logs - np.median(logs))))
    else:  # normal of variance t^2 / (2 rho)
        measured = t * t / (2 * float(np.var(logs)))
    assert 0.7 < measured / float(share) < 1.4


def refused(value: Callable[[Any], Any], log_s: Callable[..., Any]) -> BaseException:
    """Return what a release of the two functions raises."""
    query = sd.queries.Custom(
        value=value, log_smooth_sensitivity=log_s, bounds=(0, 10), proof="p", name="n"
    )
    with pytest.raises(sd.errors.InvalidData) as caught:
        sd.release([73.5], query, guarantee=ONE, smoothing="0.1")
    return caught.value


def fails(_: Any, smoothing: float = 0.0) -> float:
    """Raise an error with private content."""
    raise ValueError(f"secret 73.5 {smoothing}")


def test_odd_returns_of_custom_functions_say_nothing() -> None:
    """Errors, NaN, text, arrays, hostile subclasses: one sentence for all, no context."""

    class Hostile(float):
        def as_integer_ratio(self) -> tuple[int, int]:
            raise ValueError("secret")

    odd = [None, math.nan, math.inf, "5", True, 1j, [3], np.array([3.0]), np.bool_(True)]

    def returning(what: Any) -> Callable[..., Any]:
        return lambda _, smoothing=0.0: what if smoothing is not None else 0.0

    said = set()
    for value in (fails, *map(returning, [*odd, Hostile(3.0)])):
        for error in (
            refused(value, lambda _, smoothing: 0 * smoothing),
            refused(lambda _: 1, value),
        ):
            said.add(str(error))
            assert error.__cause__ is None
            assert error.__context__ is None
    assert len(said) == 1


@pytest.mark.parametrize("t", ["0.1", "0.3", "1/3", "0.7"])
@pytest.mark.parametrize("rounding", ["0", "1e-9", "0.01"])
def test_rounding_of_custom_functions_is_paid_for(t: str, rounding: str) -> None:
    """S is asked for at t - 2r, rounded down, and e^r is put on top."""
    asked: list[float] = []

    def log_s(_: Any, smoothing: float) -> float:
        asked.append(smoothing)
        return 0.0

    def draw(r: str) -> float:
        query = sd.queries.Custom(
            value=lambda _: 0,
            log_smooth_sensitivity=log_s,
            bounds=(0, 9),
            proof="p",
            rounding=r,
        )
        found = sd.release(None, query, guarantee=sd.PureDP(3), smoothing=t, rng=sd.SeededRandom(1))
        return float(found.value)

    noise = draw(rounding)
    assert Fraction(asked[0]) <= Fraction(t) - 2 * Fraction(rounding)
    assert abs(noise / draw("0") / math.exp(float(Fraction(rounding))) - 1) < 1e-10


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_triangles_of_the_guide_are_smooth(n: int) -> None:
    """Both facts at every graph of up to 5 vertices, by counting triples."""
    guide = Path(__file__).parents[2] / "docs" / "how-to" / "any-statistic.md"
    names: dict[str, Any] = {}
    code = guide.read_text(encoding="utf-8").split("```python")[1].split("n = 40")[0]
    exec(compile(code, "guide", "exec"), names)
    edges = list(itertools.combinations(range(n), 2))
    triples = list(itertools.combinations(range(n), 3))
    for t in (0.2, 1.5):
        log_s, f = [], []
        for mask in range(1 << len(edges)):
            graph: dict[int, set[int]] = {i: set() for i in range(n)}
            for k, (a, b) in enumerate(edges):
                if mask >> k & 1:
                    graph[a].add(b)
                    graph[b].add(a)
            f.append(sum(b in graph[a] and c in graph[a] & graph[b] for a, b, c in triples))
            log_s.append(names["log_sensitivity"](graph, smoothing=t))
        for mask, k in itertools.product(range(len(f)), range(len(edges))):
            other = mask ^ 1 << k
            if log_s[mask] != log_s[other]:
                assert abs(log_s[mask] - log_s[other]) <= t + 1e-12
            assert f[mask] == f[other] or abs(f[mask] - f[other]) <= math.exp(log_s[mask]) + 1e-12


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("smoothing",), "0"),
        (("smoothing",), "-0.1"),
        (("smoothing",), "0.9"),
        (("smoothing",), None),
        (("guarantee", "epsilon"), "0"),
        (("guarantee", "epsilon"), "-1"),
        (("guarantee", "epsilon"), "1e-9"),
        (("guarantee", "neighbours"), "add_remove"),
        (("n_records",), 3),
        (("n_records",), True),
        (("noise",), {"type": "Gaussian"}),
        (("noise",), {"type": "PolyPlace", "alpha": "30"}),
        (("query", "window"), 2),
        (("query", "window"), 39),
        (("query", "bounds"), ["100", "0"]),
        (("query",), {"type": "Mean", "bounds": ["0", "100"]}),
        (("query", "type"), "Custom"),
        (("confidence",), "2"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_edited_plans_are_refused(path: tuple[str, ...], value: Any) -> None:
    """A plan made impossible by hand releases nothing."""
    made = sd.plan(sd.queries.Median((0, 100)), guarantee=ONE, n_records=40)
    document = json.loads(made.to_json())
    place = document
    for name in path[:-1]:
        place = place[name]
    place[path[-1]] = value
    with pytest.raises(sd.errors.SmoothdpError):
        sd.planning.plan_from_json(json.dumps(document)).release([1.0] * int(document["n_records"]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("epsilon", ["0.9", "2", "30"])
def test_a_plan_with_another_promise_keeps_it(epsilon: str) -> None:
    """The noise is calibrated again: s keeps the promise that is printed."""
    made = sd.plan(sd.queries.Median((0, 100)), guarantee=ONE, n_records=400)
    document = json.loads(made.to_json())
    document["guarantee"]["epsilon"] = epsilon
    try:
        mechanism = smooth(sd.planning.plan_from_json(json.dumps(document)))
    except sd.errors.InvalidParameter:
        return
    t, s = float(mechanism.smoothing), mechanism.calibration.shift
    for ratio in (-t, -t / 2, 0.0, t / 2, t):
        worst = loss(mechanism.noise, s * min(1.0, math.exp(ratio)), ratio)
        assert worst <= float(epsilon) * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("k", [2, 3])
def test_delta_of_samples_by_literal_enumeration(n: int, k: int) -> None:
    """delta(x) is never below the truth, tight, and never above ordinary DP."""
    for counts in itertools.combinations_with_replacement(range(n + 1), k):
        if sum(counts) != n:
            continue
        for draws, epsilon in itertools.product(range(1, n + 1), (0.0, 0.5, 3.0)):
            sample = sd.SamplingHistogram(n, n_draws=draws)
            truth = float(delta_at(counts, draws, Fraction(math.exp(epsilon))))
            low, high = sample.delta_bounds(counts, epsilon=epsilon)
            assert low * (1 - 1e-9) - 1e-15 <= truth <= high * (1 + 1e-12)
            assert high <= truth * (1 + 1e-6) + 1e-12
            figure, ordinary = (
                sample.delta(counts, epsilon=epsilon),
                sample.worst_case_delta(epsilon=epsilon),
            )
            assert truth <= figure * (1 + 1e-12)
            assert figure <= ordinary * (1 + 1e-12)


@pytest.mark.filterwarnings("ignore")
def test_refused_releases_cost_nothing_and_budgets_hold(tmp_path: Path) -> None:
    """Bad data, bad options and exhausted budgets charge nothing; three tenths are three."""
    ledger = sd.Ledger(tmp_path / "budget.db", budget=sd.PureDP(0.3))
    query, tenth, good = sd.queries.Median((0, 9)), sd.PureDP(0.1), [1.0, 2.0, 3.0]
    bad: list[Any] = [[], [math.nan] * 3, ["a"], [1e308] * 3, np.ma.array([1.0], mask=[True])]
    options: list[dict[str, Any]] = [
        {"round_to": -1},
        {"noise": sd.noise.Gaussian()},
        {"confidence": "0.95"},
        {"covers": "x", "confidence": "0.9"},
    ]
    for data in bad:
        with pytest.raises(sd.errors.InvalidData):
            sd.release(data, query, guarantee=tenth, ledger=ledger)
    for option in options:
        with pytest.raises(sd.errors.InvalidParameter):
            sd.release(good, query, guarantee=tenth, ledger=ledger, **option)
    assert not ledger.entries()
    for spent in (1, 2, 3):
        sd.release(good, query, guarantee=tenth, ledger=ledger)
        assert len(ledger.entries()) == spent
    said = set()
    for data in (good, *bad, (v for v in good), None):
        with pytest.raises(sd.errors.BudgetExceeded) as caught:
            sd.release(data, query, guarantee=tenth, ledger=ledger)
        said.add((str(caught.value), caught.value.__context__))
    assert len(said) == 1
    assert len(ledger.entries()) == 3
