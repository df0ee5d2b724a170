"""What leaves a release that no sampler drew: nothing that depends on the data.

A differential test. Two neighbouring databases; the draws are arranged so that the noisy results
coincide (every result within the limits has positive probability at either database); whatever
else leaves must then coincide too: interval, words, text, JSON, HTML, warnings, errors, the
ledger's entry.
"""

from __future__ import annotations

import dataclasses
import json
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.sealed import Sealed
from smoothdp.cli.main import main
from smoothdp.exact.random.lazy import RoundedDraws
from smoothdp.exact.random.log_rounded import LogRoundedDraws
from smoothdp.mechanisms.release.bars import pair_noise
from smoothdp.mechanisms.release.smooth_noise import SmoothNoise
from smoothdp.queries.query import Query
from smoothdp.queries.statistic import Statistic

BOUNDS = (0, 10)


class Arranged(NamedTuple):
    """The results that the samplers are made to give, as a place within their limits."""

    value: int
    log_sensitivity: int


ARRANGED = [Arranged(1 << 20, -(1 << 22)), Arranged(-3, 5)]


@pytest.fixture(params=ARRANGED, ids=str)
def drawn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Arrange the draws; return the list of what was drawn."""
    arranged: Arranged = request.param
    calls: list[str] = []

    def draw(self: RoundedDraws, rng: object) -> int:
        del rng
        is_log = isinstance(self, LogRoundedDraws)
        calls.append("log S" if is_log else "value")
        lowest, highest = self._limits
        return min(max(arranged.log_sensitivity if is_log else arranged.value, lowest), highest)

    def both(
        pair: object, first: RoundedDraws, second: RoundedDraws, rng: object
    ) -> tuple[int, int]:
        del pair
        return draw(first, rng), draw(second, rng)

    monkeypatch.setattr(RoundedDraws, "draw", draw)
    monkeypatch.setattr(pair_noise, "draw_pair", both)
    return calls


def neighbours() -> Iterator[tuple[list[float], list[float]]]:
    """Yield databases that differ in one record: extremes, ties, bounds, and random ones."""
    middle = [5.0] * 60
    for near, far in ((0.0005, 0.3), (4.0, 9.999), (-50.0, 2.0), (0.0, 10.0), (5.0, 40.0)):
        yield [near, *middle], [far, *middle]
    yield [3.0], [8.5]
    yield [3.0, 4.0], [3.0, 9.0]
    rng = np.random.default_rng(7)
    for size in (1, 2, 3, 61, 61):
        base = rng.choice(np.linspace(-2, 12, 57), size).tolist()
        yield base, [float(rng.uniform(-3, 13)), *base[1:]]


PAIRS = list(neighbours())
LARGE = [
    ([near, *[5.0] * 2000], [far, *[5.0] * 2000]) for near, far in ((0.0005, 0.3), (4.0, 99.0))
]
QUERIES: list[Query] = [
    sd.queries.Mean(BOUNDS),
    sd.queries.TrimmedMean(0, bounds=BOUNDS),
    sd.queries.TrimmedMean("0.1", bounds=BOUNDS),
    sd.queries.TrimmedMean("0.1", bounds=BOUNDS, truncate="output"),
    sd.queries.WindowMean(0, drop_high=0, bounds=BOUNDS),
    sd.queries.WindowMean(0, drop_high=0, bounds=BOUNDS, truncate="output"),
    sd.queries.WindowMean("0.2", drop_high="0.1", bounds=BOUNDS),
    sd.queries.Median(BOUNDS),
    sd.queries.Quantile("0.25", bounds=BOUNDS),
    sd.queries.Minimum(BOUNDS),
    sd.queries.Maximum(BOUNDS),
]
OTHERS = [sd.ApproxDP(1, delta="1e-6"), sd.ZCDP("1/2"), sd.TruncatedCDP("1/2", omega=10)]
OPTIONS: list[dict[str, Any]] = [
    {},
    {"clamp": True, "round_to": 1},
    {"confidence": "0.9"},
    {"confidence": "0.9", "clamp": True},
    {"confidence": "0.9", "covers": "window"},
    {"confidence": "0.9", "covers": "population"},
    {"confidence": "0.9", "covers": "mean"},
]


def everything(act: Callable[[], object]) -> list[str]:
    """Return all that leaves a call: its result in every form, warnings, errors."""
    found: list[str] = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = act()
        except sd.errors.SmoothdpError as error:
            while error is not None:
                found += [type(error).__name__, str(error), repr(error.args), str(vars(error))]
                found += traceback.format_exception_only(error)
                error = error.__cause__ or error.__context__  # type: ignore[assignment]
        else:
            found += [repr(result), str(result)]
            if dataclasses.is_dataclass(result) and not isinstance(result, type):
                for field in dataclasses.fields(result):
                    part = getattr(result, field.name)
                    assert not isinstance(part, Sealed)
                    found.append(f"{field.name}: {part!r} {part}")
            if isinstance(result, sd.claims.Release):
                found += [result.guarantee.sentence(), result.guarantee.to_json()]
    return found + [f"{heard_one.category.__name__}: {heard_one.message}" for heard_one in heard]


def check(
    query: Statistic,
    guarantee: Guarantee,
    pairs: Iterable[tuple[list[float], list[float]]],
    options: dict[str, Any],
    drawn: list[str],
) -> int:
    """Assert that neighbours leave the same; return how many of the pairs were released."""
    released = 0
    for pair in pairs:
        left = []
        for data in pair:
            drawn.clear()
            found = everything(
                lambda data=data: sd.release(data, query, guarantee=guarantee, **options)  # type: ignore[misc]
            )
            left.append([*found, *drawn])
        assert left[0] == left[1]
        released += "value" in left[0]
    return released


@pytest.mark.parametrize("query", QUERIES, ids=repr)
def test_only_the_draws_depend_on_the_data(query: Query, drawn: list[str]) -> None:
    released = sum(check(query, sd.PureDP(1), PAIRS, options, drawn) for options in OPTIONS)
    assert released >= 2 * len(PAIRS) - 3


@pytest.mark.parametrize("query", [QUERIES[i] for i in (0, 1, 2, 6, 7)], ids=repr)
@pytest.mark.parametrize("guarantee", OTHERS, ids=lambda g: type(g).__name__)
def test_nor_under_other_guarantees(query: Query, guarantee: Guarantee, drawn: list[str]) -> None:
    options = {"confidence": "0.9"}
    assert check(query, guarantee, LARGE, options, drawn) == len(LARGE)
    if query.drops(60) == (0, 0):
        assert check(query, guarantee, PAIRS, options, drawn) == len(PAIRS)


@pytest.mark.parametrize("options", OPTIONS[:4], ids=str)
def test_nor_of_a_statistic_of_ones_own(options: dict[str, Any], drawn: list[str]) -> None:
    """Its functions tell value and S at the data; nothing of both leaves."""
    spread = sd.queries.Custom(
        value=lambda x: max(x) - min(x),
        log_smooth_sensitivity=lambda x, smoothing: smoothing * min(sum(x), 40),
        bounds=BOUNDS,
        proof="none: what leaves is looked at, not what is promised",
    )
    options = {"smoothing": "0.1", **options}
    assert check(spread, sd.PureDP(1), PAIRS, options, drawn) == len(PAIRS)


def test_the_guard_hears_a_half_width_made_of_the_data(
    drawn: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wrong mechanism, whose words hold S at the data, does not pass."""
    describe = SmoothNoise.describe
    told: list[float] = []
    summary = Query.private_summary

    def watched(self: Query, data: object, *, smoothing: Fraction) -> object:
        told.append(self.smooth_sensitivity(data, smoothing=smoothing or 1))
        return summary(self, data, smoothing=smoothing)

    monkeypatch.setattr(Query, "private_summary", watched)
    monkeypatch.setattr(SmoothNoise, "describe", lambda self: describe(self) + f" {told[-1]}")
    query, guarantee = sd.queries.Median(BOUNDS, window=1), sd.PureDP(1)
    first, second = (
        everything(lambda data=data: sd.release(data, query, guarantee=guarantee))  # type: ignore[misc]
        for data in ([1.0, 2.0, 3.0], [1.0, 2.5, 3.0])
    )
    assert first != second
    assert drawn == ["value", "value"]


@pytest.mark.parametrize("statistic", ["mean", "median"])
def test_only_the_draws_depend_on_the_data_in_commands_pages_and_ledgers(
    statistic: str, drawn: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    column, result, ledger = (tmp_path / name for name in ("x.csv", "found.json", "spent.db"))

    def run(*words: str) -> str:
        main(list(words))
        out, err = capsys.readouterr()
        return out + err

    def left(data: list[float]) -> list[str]:
        drawn.clear()
        column.write_text("v\n" + "".join(f"{value!r}\n" for value in data))
        ledger.unlink(missing_ok=True)
        sd.Ledger(str(ledger), budget=sd.PureDP(9))
        common = ["release", str(column), "--column", "v", "--statistic", statistic]
        common += ["--bounds", "0", "10", "--epsilon", "1", "--confidence", "0.9"]
        page, as_json = tmp_path / "page.html", run(*common, "--json")
        result.write_text(as_json)
        found = [as_json, run(*common), run(*common, "--ledger", str(ledger))]
        found.append(run("report", "--release", str(result), "--out", str(page)))
        entries = [entry.to_dict() for entry in sd.Ledger(str(ledger)).entries()]
        for entry in entries:
            del entry["time"], entry["digest"]
        return [*found, page.read_text(), json.dumps(entries, default=str), *drawn]

    middle = [float(5 + i % 3) for i in range(2000)]
    first, second = left([0.0005, *middle]), left([0.3, *middle])
    assert first == second
    assert drawn.count("value") == 3
    assert drawn.count("log S") == (0 if statistic == "mean" else 3)


def test_a_planned_release_leaves_the_same(drawn: list[str]) -> None:
    middle = [float(4 + i % 3) for i in range(3000)]
    for query in (sd.queries.Mean(BOUNDS), sd.queries.Median(BOUNDS)):
        made = sd.plan(query, guarantee=sd.PureDP(1), n_records=3001, confidence="0.9")
        first, second = (
            everything(lambda data=data, made=made: made.release(data, clamp=True))  # type: ignore[misc]
            for data in ([0.0005, *middle], [9.3, *middle])
        )
        assert first == second
    assert drawn.count("value") == 4


# ---- mechanisms whose results are whole: the same result from either database, by chance ---------

WHOLE: list[tuple[str, Callable[[Any, sd.SeededRandom], Any], Any, Any]] = [
    (
        "sampling histogram",
        lambda x, rng: sd.SamplingHistogram(6, n_draws=3).release(counts=x, rng=rng),
        [2, 4],
        [3, 3],
    ),
    (
        "kept ballots",
        lambda x, rng: sd.BernoulliHistogram(6, keep_probability="0.5").release(counts=x, rng=rng),
        [2, 4],
        [3, 3],
    ),
    (
        "noisy histogram",
        lambda x, rng: sd.NoisySamplingHistogram(6, n_draws=3, noise_epsilon=1).release(
            counts=x, rng=rng
        ),
        [2, 4],
        [3, 3],
    ),
    (
        "Boolean sum",
        lambda x, rng: sd.shuffle.BooleanSum(6, expected_random_users=3).release(x, rng=rng),
        [0, 1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
    ),
    (
        "zero-preserving count",
        lambda x, rng: sd.shuffle.ZeroPreservingCount(6, omission_probability="0.5").release(
            x, rng=rng
        ),
        [0, 1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
    ),
]


@pytest.mark.parametrize(
    ("act", "x", "y"), [row[1:] for row in WHOLE], ids=[row[0] for row in WHOLE]
)
def test_equal_results_come_with_equal_words(
    act: Callable[[Any, sd.SeededRandom], Any], x: object, y: object
) -> None:
    left: list[dict[str, list[str]]] = []
    for data in (x, y):
        found = (act(data, sd.SeededRandom(seed)) for seed in range(80))
        left.append({repr(one.value): everything(lambda one=one: one) for one in found})  # type: ignore[misc]
    common = set(left[0]) & set(left[1])
    assert len(common) >= 2
    for value in common:
        assert left[0][value] == left[1][value]


# ---- errors: databases that are refused for the same reason leave the same words -----------------

REFUSED: list[tuple[Any, Any]] = [
    ([1.0, float("nan"), 3.5], [float("nan"), 2.0, 9.25]),
    ([1.0, float("inf"), 3.5], [0.125, 2.0, float("inf")]),
    ([1.0, 1e308, 3.5], [1.5e308, 2.0, 9.25]),
    ([1, 1 << 62, 3], [(1 << 62) + 5, 2, 9]),
    ([0.5, (1 << 53) + 1, 3], [(1 << 54) + 1, 0.25, 3]),
    (["13.742", "a", "b"], ["c", "d", "9.5"]),
    ([1.0, None, 3.5], [None, 2.0, 9.25]),
    ([[1.0, 13.742]], [[9.0, 2.5]]),
    (np.ma.masked_array([1.0, 2.0], [True, False]), np.ma.masked_array([5.0, 2.5], [False, True])),
]


@pytest.mark.parametrize(("x", "y"), REFUSED, ids=range(len(REFUSED)))
@pytest.mark.parametrize("query", [QUERIES[0], QUERIES[7]], ids=repr)
def test_refusals_do_not_depend_on_the_values(query: Query, x: object, y: object) -> None:
    first, second = (
        everything(lambda data=data: sd.release(data, query, guarantee=sd.PureDP(1)))  # type: ignore[misc]
        for data in (x, y)
    )
    assert first == second
    assert first[0] == "InvalidData"
