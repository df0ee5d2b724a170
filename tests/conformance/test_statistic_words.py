"""The words beside a released number name the very values that it is the mean of."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.cli import main
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.statistic_words import stands_for, statistic_words, value_words
from smoothdp.report import html
from tests.checkers.labels import label

BOUNDS = (0, 100)
Q = sd.queries
WALK: list[sd.queries.Query] = [
    Q.Mean(BOUNDS),
    Q.Minimum(BOUNDS),
    Q.Maximum(BOUNDS),
    *(Q.Median(BOUNDS, window=w) for w in (None, 1, 3, 39)),
    *(Q.Quantile(q, bounds=BOUNDS, window=w) for q in ("0.1", "1/3", "0.9") for w in (None, 1, 9)),
    *(Q.TrimmedMean(trim, bounds=BOUNDS) for trim in (0, 7, "0.05", "1/3")),
    Q.WindowMean(0, drop_high=0, bounds=BOUNDS),
    Q.WindowMean("1/10", drop_high=3, bounds=BOUNDS),
    Q.WindowMean(4, drop_high=4, bounds=BOUNDS),
    Q.TrimmedMean(7, bounds=BOUNDS, truncate="output"),
]


def named(words: str, column: list[float]) -> float:
    """Return the statistic that some words name, of a column, by the words alone."""
    x, n = sorted(column), len(column)
    if words == "the smallest value":
        return x[0]
    if words == "the largest value":
        return x[-1]
    if words == "the middle value":
        assert n % 2
        return x[n // 2]
    if found := re.fullmatch(r"the mean of all (\d+) values", words):
        assert int(found[1]) == n
        return float(np.mean(x))
    if found := re.fullmatch(r"the mean of the (\d+) middle values", words):
        width = int(found[1])
        assert (n - width) % 2 == 0, "no middle of that many"
        return float(np.mean(x[(n - width) // 2 :][:width]))
    if found := re.fullmatch(r"the value of rank (\d+) of (\d+)", words):
        assert int(found[2]) == n
        return x[int(found[1]) - 1]
    if found := re.fullmatch(r"the mean of the (\d+) values around rank (\d+) of (\d+)", words):
        width, rank, size = map(int, found.groups())
        assert size == n
        return float(np.mean(x[rank - 1 - width // 2 :][:width]))
    found = re.fullmatch(
        r"the mean of the (?:one value|(\d+) values) left after dropping "
        r"(?:(\d+) a side|the (\d+) smallest and the (\d+) largest)",
        words,
    )
    assert found, words
    low, high = int(found[3] or found[2]), int(found[4] or found[2])
    left = x[low : n - high]
    assert len(left) == int(found[1] or 1)
    return float(np.mean(left))


@pytest.mark.parametrize("n", [90, 91, 1000, 1001])
@pytest.mark.parametrize("query", WALK, ids=label)
def test_words_name_the_statistic_that_is_released(query: sd.queries.Query, n: int) -> None:
    """And so what bars are about: on values of which no two windows have the same mean."""
    column = [float(v) for v in 100 * np.random.default_rng(n).random(n) ** 3]
    words = statistic_words(query, n)
    assert named(words, column) == pytest.approx(query.value(column), rel=1e-12)
    covered = Coverage.read("0.95").words(query, n)
    window = n - sum(query.drops(n))
    stands_in = isinstance(query, Q.Median | Q.Quantile) and bool(stands_for(query, n))
    said = f"the mean of the {window} values around it (not the quantile)"
    assert covered.startswith(
        f"contains {said if stands_in else f'{words} of these records'} with probability at least "
        "0.95, whatever the records are; "
    )
    assert "clamped to [0, 100]" in covered
    clamped = "the mean clamped" if query.truncate == "output" else "each value clamped"
    assert clamped in covered
    beside = value_words(query, n)
    assert beside.startswith(words)
    # What stands in for a quantile says for which; what is one, does not.
    is_quantile = isinstance(query, Q.Median | Q.Quantile)
    is_plain = window <= (2 if isinstance(query, Q.Median) and n % 2 == 0 else 1)
    assert (", in place of the " in beside) == (is_quantile and not is_plain)
    assert ("not the quantile" in covered) == (is_quantile and not is_plain)


def test_without_n_the_words_hold_for_every_n() -> None:
    words = Coverage.read("0.95").words(Q.Median(BOUNDS, window=39))
    assert "mean of the 39 middle values, 40 if n is even" in words


# ---- the data on which the old words were false --------------------------------------------------

HALVES = [0.0] * 15_001 + [100.0] * 14_999
"""The median is 0. The mean of the window that stands in for it is near 50."""
RUNS = 150


@pytest.mark.parametrize(
    ("query", "guarantee"),
    [
        (Q.Median(BOUNDS), sd.PureDP(1)),
        (Q.Median(BOUNDS), sd.ZCDP("0.5")),
        (Q.Quantile("15000/29999", bounds=BOUNDS), sd.PureDP(1)),
    ],
    ids=label,
)
def test_bars_cover_what_their_words_name(query: sd.queries.Query, guarantee: sd.Guarantee) -> None:
    """And nothing else: the plain quantile is covered in no run (wrong words would be seen).

    Covering .95 at least, fewer than 127 of 150 is seen once in 2e6 runs.
    """
    mechanism = sd.mechanisms.SmoothNoise.calibrate(
        query, guarantee=guarantee, n_records=len(HALVES), coverage=Coverage.read("0.95")
    )
    # The query of the mechanism has its window: with None it would be the plain one.
    words = statistic_words(mechanism.query, len(HALVES))
    truth, plain = named(words, HALVES), query.value(HALVES)
    assert min(abs(truth - end) for end in BOUNDS) > 40
    assert plain in BOUNDS
    rng, covered, missed = sd.SeededRandom(5), 0, 0
    for _ in range(RUNS):
        found = mechanism.release(HALVES, rng=rng)
        assert isinstance(found, sd.mechanisms.IntervalRelease)
        low, high = found.interval
        covered += low <= truth <= high
        missed += not low <= plain <= high
    assert covered >= 127
    assert missed == RUNS
    assert isinstance(found, sd.mechanisms.IntervalRelease)
    # What readers see names the window, and never "the statistic".
    assert re.search(r"mean of the \d+ values around it \(not the quantile\)", found.covers)


@pytest.mark.parametrize("guarantee", [sd.PureDP(1), sd.ZCDP("0.5")], ids=label)
def test_bars_of_the_quantile_cover_it(guarantee: sd.Guarantee) -> None:
    """On the same data the plain quantile, by default; fewer than 127 is seen once in 2e6 runs."""
    rng, covered = sd.SeededRandom(6), 0
    for _ in range(RUNS):
        found = sd.release(
            HALVES, Q.Median(BOUNDS), guarantee=guarantee, confidence="0.95", rng=rng
        )
        assert isinstance(found, sd.mechanisms.IntervalRelease)
        covered += found.interval[0] <= 0 <= found.interval[1]
    assert covered >= 127
    assert isinstance(found, sd.mechanisms.IntervalRelease)
    assert found.covers.startswith(
        "contains the median of these records with probability at least 0.95, whatever the "
        "records are"
    )


def test_the_command_and_its_report_name_the_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text("x\n" + "\n".join(str(int(v)) for v in HALVES) + "\n")
    command = ["release", "d.csv", "--column", "x", "--bounds", "0", "100", "--epsilon", "1"]
    median = [*command, "--statistic", "median"]
    beside = "the mean of the 6 middle values, in place of the median; each value clamped to"
    promised = (
        "contains the median of these records with probability at least 0.95, whatever the "
        "records are"
    )
    main([*median, "--confidence", "0.95"])
    shown = capsys.readouterr().out
    assert re.search(rf"^value +[\d.]+: {re.escape(beside)} \[0, 100\]; with noise$", shown, re.M)
    line = next(line for line in shown.splitlines() if line.startswith("interval"))
    assert promised in line
    assert "exactly" not in shown
    main([*median, "--confidence", "0.95", "--json"])
    text = capsys.readouterr().out
    fields = json.loads(text)
    assert fields["statistic"].startswith(beside)
    assert promised in fields["covers"]
    pytest.importorskip("matplotlib")
    page = re.sub(r"<[^>]+>", " ", html.report_release(text).html())
    assert beside in page
    assert promised in page
    main([*median, "--confidence", "0.95", "--covers", "window"])
    shown = capsys.readouterr().out
    assert "contains the mean of the 40 values around it (not the quantile) with" in shown
    with pytest.raises(SystemExit):
        main([*median, "--confidence", "0.95", "--covers", "statistic"])
    assert 'Use --covers "window", which is its new name' in capsys.readouterr().err
    # Without bars the window is another one, and named beside the value all the same.
    main(median)
    assert "the mean of the 14 middle values, in place of the median" in capsys.readouterr().out
    main([*command, "--statistic", "quantile", "--q", "0.9"])
    shown = capsys.readouterr().out
    assert "values around rank 27000 of 30000, in place of the 0.9 quantile" in shown
    main([*command, "--statistic", "trimmed-mean", "--trim", "0.05"])
    assert "the mean of the 27000 values left after dropping 1500 a side" in capsys.readouterr().out


def test_nominal_coverage_is_not_said_to_be_at_least(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    values = np.random.default_rng(2).normal(50, 9, 2000)
    Path("d.csv").write_text("x\n" + "\n".join(map(str, values)) + "\n")
    command = ["release", "d.csv", "--column", "x", "--bounds", "0", "100", "--epsilon", "1"]
    population = [*command, "--confidence", "0.95", "--covers", "population"]
    main([*population, "--statistic", "trimmed-mean", "--trim", "0.1"])
    line = next(line for line in capsys.readouterr().out.splitlines() if line[:8] == "interval")
    assert "with a nominal probability of 0.95, the population's mean" in line
    assert "at least" not in line
    main([*population, "--statistic", "median"])
    line = next(line for line in capsys.readouterr().out.splitlines() if line[:8] == "interval")
    assert "at least 0.95, the median of the population the records were drawn from" in line
    assert "independently, whatever its distribution" in line
