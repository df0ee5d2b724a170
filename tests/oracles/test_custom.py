"""`Custom`: the examples of the guide by brute force, the released law, and what never leaves."""

from __future__ import annotations

import itertools
import math
import re
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.claims.open_sealed import opened
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise

GUIDE = Path(__file__).parents[2] / "docs/how-to/any-statistic.md"
ADD = sd.PureDP(1, neighbours="add_remove")


def guide() -> dict[str, Any]:
    """Return the names of the guide's program on triangles."""
    program = re.search(r"```python\n(.*?)^n = 40$", GUIDE.read_text(), re.DOTALL | re.MULTILINE)
    assert program is not None
    names: dict[str, Any] = {}
    exec(compile(program.group(1), "any-statistic.md", "exec", dont_inherit=True), names)
    return names


Graph = dict[int, set[int]]


def graphs(n: int) -> list[tuple[int, Graph]]:
    """Return every graph on n vertices, with its edges as bits."""
    pairs = list(itertools.combinations(range(n), 2))
    found = []
    for bits in range(1 << len(pairs)):
        graph: Graph = {i: set() for i in range(n)}
        for place, (i, j) in enumerate(pairs):
            if bits >> place & 1:
                graph[i].add(j)
                graph[j].add(i)
        found.append((bits, graph))
    return found


@pytest.mark.parametrize("n", [3, 4, 5])
def test_triangles_of_every_small_graph(n: int) -> None:
    """Both facts at all graphs on up to 5 vertices (1,024 of them) and all their neighbours."""
    names, every = guide(), graphs(n)
    edges = n * (n - 1) // 2
    for t in (0.05, 0.4, 1.3):
        log_s = [names["log_sensitivity"](graph, smoothing=t) for _, graph in every]
        values = [names["triangles"](graph) for _, graph in every]
        for bits, _ in every:
            for place in range(edges):
                other = bits ^ (1 << place)
                assert abs(values[bits] - values[other]) <= math.exp(log_s[bits]) * (1 + 1e-12)
                assert abs(log_s[bits] - log_s[other]) <= t * (1 + 1e-12)
    # The literal maximum over all graphs, by distance: the bound is not below it.
    change = [max(abs(values[b] - values[b ^ (1 << p)]) for p in range(edges)) for b, _ in every]
    literal = max(math.log(change[b]) - 0.4 * bin(b ^ 5).count("1") for b, _ in every if change[b])
    assert names["log_sensitivity"](every[5][1], smoothing=0.4) >= literal - 1e-12


def test_the_brute_force_rejects_a_wrong_bound() -> None:
    """LS_0 alone is not smooth."""
    every = graphs(4)
    log_s = [
        max(
            (math.log(len(g[i] & g[j])) for i, j in itertools.combinations(g, 2) if g[i] & g[j]),
            default=-9.0,
        )
        for _, g in every
    ]
    assert any(
        abs(log_s[b] - log_s[b ^ (1 << place)]) > 0.4 for b, _ in every for place in range(6)
    )


def interquartile() -> sd.queries.Custom:
    low, high = (sd.queries.Quantile(q, bounds=(0, 4)) for q in ("0.25", "0.75"))

    def value(column: list[int]) -> Fraction:
        return high.summary(column, smoothing=1).value - low.summary(column, smoothing=1).value

    def log_sum(column: list[int], *, smoothing: float) -> float:
        a, b = (q.log_smooth_sensitivity(column, smoothing=smoothing) for q in (low, high))
        return max(a, b) + math.log1p(math.exp(-abs(a - b)))

    return sd.queries.Custom(
        value=value,
        log_smooth_sensitivity=log_sum,
        bounds=(0, 4),
        proof="a sum of smooth bounds",
        name="interquartile range",
    )


@pytest.mark.parametrize("n", [1, 2, 4, 5])
def test_interquartile_range_of_every_small_column(n: int) -> None:
    """What is sealed: |f(x) - f(y)| <= S(x) and |ln S(x) - ln S(y)| <= t, exactly."""
    query, t = interquartile(), Fraction(3, 10)
    found = {}
    for column in itertools.combinations_with_replacement(range(5), n):
        summary = query.private_summary(list(column), smoothing=t)
        ratio, decay = opened(summary.sensitivity)
        assert ratio == 1
        found[column] = opened(summary.value), -decay
    for column, (value, log_s) in found.items():
        for place, new in itertools.product(range(n), range(5)):
            other = tuple(sorted((*column[:place], *column[place + 1 :], new)))
            assert abs(value - found[other][0]) <= Fraction(math.exp(log_s) * (1 + 1e-12))
            assert abs(log_s - found[other][1]) <= t


def test_rounding_of_ln_s_is_covered() -> None:
    """A function that is smooth up to r is used so that it is smooth, and an upper bound."""
    # A little above .001, which is no float, and the rounding of the products.
    r, t = Fraction(1001, 10**6), Fraction(1, 10)

    def rough(x: int, smoothing: float) -> float:
        # |x| steps from 0, off by r one way or the other: t' + 2r between neighbours.
        return abs(x) * smoothing + (0.001 if x % 2 else -0.001)

    query = sd.queries.Custom(
        value=lambda x: x, log_smooth_sensitivity=rough, bounds=(-9, 9), proof="p", rounding=r
    )
    logs = [-opened(query.private_summary(x, smoothing=t).sensitivity)[1] for x in range(-5, 6)]
    assert all(abs(a - b) <= t for a, b in itertools.pairwise(logs))
    exact = [abs(x) * (t - 2 * r) for x in range(-5, 6)]
    slack = Fraction(1, 10**15)
    assert all(a >= e - slack for a, e in zip(logs, exact, strict=True))
    # The twin without the slack is not smooth.
    bare = [Fraction(rough(x, 0.1)) for x in range(-5, 6)]
    assert any(abs(a - b) > t for a, b in itertools.pairwise(bare))


def count_of(**changes: Any) -> sd.queries.Custom:
    arguments: dict[str, Any] = {
        "value": len,
        "log_smooth_sensitivity": lambda rows, smoothing: math.log(2),  # noqa: ARG005
        "bounds": (0, 1000),
        "neighbours": "add_remove",
        "unit": "one row",
        "proof": "twice what a count needs",
        "name": "count",
    }
    return sd.queries.Custom(**(arguments | changes))


def distance(samples: list[int], centre: float, law: Callable[[Any], Any], scale: float) -> float:
    """Kolmogorov's distance between whole-number samples and a rounded law."""
    edges = np.arange(min(samples) - 1, max(samples) + 2) + 0.5
    empirical = np.searchsorted(np.sort(samples), edges, side="right") / len(samples)
    return float(np.max(np.abs(empirical - law((edges - centre) / scale))))


def test_the_released_law() -> None:
    """4,000 draws: distance below .04 (false alarm below 1e-5 by Massart); half the scale fails."""
    query = count_of()
    made = SmoothNoise.calibrate(query, guarantee=ADD, n_records=None, smoothing="0.1", round_to=1)
    rng = SeededRandom(5)
    draws = [int(made.release("x" * 500, rng=rng).value) for _ in range(4000)]
    scale = made.calibration.noise_scale(2)
    assert distance(draws, 500, made.noise.cdf, scale) < 0.04
    assert distance(draws, 500, made.noise.cdf, scale / 2) > 0.04
    assert distance(draws, 501, made.noise.cdf, scale) > distance(draws, 500, made.noise.cdf, scale)


def test_bars_cover() -> None:
    """600 intervals at .9: coverage within six standard errors, and .97 would be rejected."""
    made = SmoothNoise.calibrate(
        count_of(), guarantee=ADD, n_records=None, smoothing="0.1", coverage=Coverage.read("0.9")
    )
    rng, hits = SeededRandom(8), 0
    for _ in range(600):
        found = made.release("x" * 500, rng=rng)
        assert isinstance(found, sd.mechanisms.IntervalRelease)
        hits += found.interval[0] <= 500 <= found.interval[1]
    error = math.sqrt(0.9 * 0.1 / 600)
    assert abs(hits / 600 - 0.9) < 6 * error
    assert abs(hits / 600 - 0.97) > 5 * error


def test_what_is_asked_of_the_caller_is_said_in_the_release() -> None:
    found = sd.release("x" * 50, count_of(), guarantee=ADD, smoothing="0.1")
    assert "one row vouched for: twice what a count needs" in found.mechanism
    assert "clamped to [0, 1000]" in found.mechanism


def test_refusals() -> None:
    def release(**changes: Any) -> None:
        arguments: dict[str, Any] = {"guarantee": ADD, "smoothing": "0.1"} | changes
        sd.release("xx", count_of(), **arguments)

    for changes, words in (
        ({"guarantee": sd.PureDP(1)}, "adding or removing one row"),
        ({"smoothing": None}, "smoothing="),
        ({"smoothing": "1e-9", "noise": sd.noise.StudentT(3)}, "twice rounding"),
        ({"confidence": "0.9", "covers": "mean"}, "window of order statistics"),
    ):
        with pytest.raises(sd.errors.SmoothdpError, match=words):
            release(**changes)
    for argument in (
        {"value": 3},
        {"log_smooth_sensitivity": None},
        {"proof": " "},
        {"unit": ""},
        {"bounds": (1, 1)},
        {"neighbours": "foo"},
        {"rounding": "0.5"},
    ):
        with pytest.raises(sd.errors.InvalidParameter):
            count_of(**argument)
    with pytest.raises(sd.errors.InvalidParameter, match="n_records=None"):
        SmoothNoise.calibrate(count_of(), guarantee=ADD, n_records=9, smoothing="0.1")


SECRET = "13.742"


def fails(rows: object, *_: object) -> float:
    raise ValueError(f"the smallest income is {SECRET} of {rows!r}")


@pytest.mark.parametrize(
    "change",
    [
        {"value": fails},
        {"log_smooth_sensitivity": fails},
        {"value": lambda _: math.nan},
        {"value": lambda _: SECRET},
        {"value": lambda _: True},
        {"log_smooth_sensitivity": lambda *_: -math.inf},
        {"value": lambda rows: sys.exit(f"record {rows}")},
    ],
    ids=range(7),
)
def test_no_error_of_a_function_says_anything_of_the_data(
    change: dict[str, Any], tmp_path: Path
) -> None:
    """Neither shown, nor behind what is shown. That they fail tells something: it is charged."""
    ledger = sd.Ledger(tmp_path / "spent.db", budget=ADD)
    with pytest.raises(sd.errors.InvalidData) as caught:
        sd.release([SECRET], count_of(**change), guarantee=ADD, smoothing="0.1", ledger=ledger)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert SECRET not in str(caught.value)
    assert len(ledger.entries()) == 1


def test_values_are_clamped_to_the_bounds() -> None:
    summary = count_of(value=lambda _: 10**9).private_summary("x", smoothing=Fraction(1, 10))
    assert opened(summary.value) == 1000
