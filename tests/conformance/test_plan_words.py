"""What a plan says: of which statistic each error is, against what, and what it replaced."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import smoothdp as sd
from smoothdp.cli import main
from smoothdp.noise import variance_lower_bound
from smoothdp.planning import Alternative
from smoothdp.planning.views.plan_words import error_rows, target_words
from tests.checkers.known import known
from tests.checkers.windows import best_window

BOUNDS = (-60, 1440)
LOGNORMAL = stats.lognorm(s=1, scale=20)
ASKED = sd.queries.TrimmedMean("0.05", bounds=BOUNDS)
COMMAND = [
    *("plan", "--statistic", "trimmed-mean", "--trim", "0.05", "--bounds", "-60", "1440"),
    *("--epsilon", "1", "--n", "10000", "--assume", "lognorm(s=1, scale=20)"),
]


@pytest.fixture(scope="module")
def replaced() -> sd.planning.Plan:
    return sd.plan(
        ASKED,
        guarantee=sd.PureDP(1),
        n_records=10_000,
        assuming=LOGNORMAL,
        may_change_trim=True,
    )


@pytest.fixture(scope="module")
def kept() -> sd.planning.Plan:
    return sd.plan(ASKED, guarantee=sd.PureDP(1), n_records=10_000, assuming=LOGNORMAL)


def test_errors_name_their_target(kept: sd.planning.Plan) -> None:
    rows = {name: (value, words) for name, value, words in error_rows(kept)}
    assert set(rows) == {"release", "sampling", "privacy", "least", "plain"}
    for name in ("release", "sampling", "least", "plain"):
        assert "against the population's mean" in rows[name][1]
    assert "against the same statistic" in rows["privacy"][1]
    for name, (value, words) in rows.items():
        assert re.search(rf"^  {name} +{re.escape(f'{value:.4g}: {words}')}$", kept.text(), re.M)


@pytest.mark.parametrize(
    ("query", "target"),
    [
        (sd.queries.Median(BOUNDS), "the population's median"),
        (sd.queries.Quantile("0.9", bounds=BOUNDS), "the population's 0.9 quantile"),
        (sd.queries.Mean(BOUNDS), "the population's mean"),
        (
            sd.queries.WindowMean(10, drop_high=20, bounds=BOUNDS),
            "the population's mean between its quantiles 0.1 and 0.8",
        ),
    ],
)
def test_targets(query: sd.queries.Query, target: str) -> None:
    assert target_words(query, 100) == target


def test_sampling_is_the_planned_statistic_against_the_target(kept: sd.planning.Plan) -> None:
    """By whole samples: the trimmed mean without noise, and the plain mean, against the mean."""
    rows = np.sort(LOGNORMAL.rvs(size=(400, 10_000), random_state=5), axis=1)
    trimmed = math.sqrt(np.mean((rows[:, 500:-500].mean(axis=1) - LOGNORMAL.mean()) ** 2))
    plain = math.sqrt(np.mean((rows.mean(axis=1) - LOGNORMAL.mean()) ** 2))
    assert kept.rmse_without_noise == pytest.approx(trimmed, rel=0.01)
    # The root of a mean of 400 squares, each with the spread of a squared normal number.
    assert kept.rmse_without_privacy == pytest.approx(plain, rel=4 * math.sqrt(2 / 400) / 2)
    without = known(kept.rmse_without_noise)
    assert without > 10 * known(kept.rmse_without_privacy)
    noise = math.sqrt(known(kept.rmse) ** 2 - without**2)
    assert kept.privacy_rmse == pytest.approx(noise, rel=1e-2)


def test_a_replaced_trimming_is_said_and_can_be_kept(
    replaced: sd.planning.Plan, kept: sd.planning.Plan
) -> None:
    assert replaced.query.drops(10_000) != ASKED.drops(10_000)
    assert replaced.replaced is not None
    assert replaced.replaced.query == ASKED
    assert replaced.replaced.rmse == pytest.approx(kept.rmse, rel=0.01)
    note = replaced.note()
    assert note.startswith("You asked for --trim 0.05; this plan trims 0 values a side, which has")
    assert "Keep --trim 0.05 without --may-change-trim" in note
    assert note in replaced.text()
    assert kept.replaced is None
    assert kept.note() == ""
    assert kept.query == ASKED
    assert "Replaced" not in kept.text()
    for plan in (replaced, kept):
        assert sd.planning.plan_from_json(plan.to_json()) == plan


def changed(query: sd.queries.Query, law: Any) -> sd.planning.Plan:
    return sd.plan(
        query, guarantee=sd.PureDP(1), n_records=5000, assuming=law, may_change_trim=True
    )


def test_a_trimming_that_is_the_best_is_not_replaced() -> None:
    """It is tried itself, and not only its neighbours on the grid."""
    law = stats.t(3, scale=5)
    first = changed(ASKED, law)
    best = first.query.drops(5000)[0]
    near = sd.queries.TrimmedMean(best + 1, bounds=BOUNDS)
    found = changed(near, law)
    if found.replaced is None:
        assert found.query.drops(5000) == (best + 1, best + 1)
    else:
        assert found.replaced.rmse is not None
        assert found.replaced.rmse >= known(found.rmse) * 0.99
    same = sd.queries.TrimmedMean(best, bounds=BOUNDS)
    again = changed(same, law)
    assert again.replaced is None


def test_a_trimming_beyond_the_records_is_refused() -> None:
    far = sd.queries.TrimmedMean(60, bounds=BOUNDS)
    with pytest.raises(sd.errors.InvalidData, match="mean trimmed by 60 a side"):
        sd.plan(far, guarantee=sd.PureDP(1), n_records=100, assuming=LOGNORMAL)


@pytest.mark.parametrize("guarantee", [sd.PureDP(1), sd.ZCDP("0.5"), sd.ApproxDP(1, delta="1e-6")])
@pytest.mark.parametrize(
    "query", [sd.queries.Median(BOUNDS), ASKED, sd.queries.Mean(BOUNDS)], ids=lambda q: q.describe()
)
def test_nothing_is_below_its_lower_bound(guarantee: sd.Guarantee, query: sd.queries.Query) -> None:
    found = sd.plan(query, guarantee=guarantee, n_records=1000, assuming=stats.norm(20, 5))
    choices: list[sd.planning.Plan | Alternative] = [found, *found.runners_up]
    for choice in choices:
        least = known(choice.rmse_lower_bound)
        assert known(choice.rmse) >= least >= known(choice.rmse_without_noise)
    # None is known for approximate DP, and none is shown.
    words = best_window(found).text()
    assert ("no noise goes below" in words) == (not isinstance(guarantee, sd.ApproxDP))


def test_the_bound_of_a_public_sensitivity_needs_no_smoothing(replaced: sd.planning.Plan) -> None:
    """A mean moves by (b - a) / n at most: noise that keeps the promise unsmoothed competes."""
    assert replaced.query.drops(10_000) == (0, 0)
    step = 1500 / 10_000
    unsmoothed = variance_lower_bound(sd.PureDP(1), shift=1, smoothing=0)
    assert replaced.smoothing == 0
    least = math.hypot(known(replaced.rmse_without_noise), step * math.sqrt(unsmoothed))
    assert 0.99 * least < known(replaced.rmse_lower_bound) <= least


# ---- on the command line -------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    values = np.random.default_rng(7).lognormal(3, 1, 500).round(3)
    lines = [*map(str, values), *[""] * 20]
    (tmp_path / "data.csv").write_text("x,y\n" + "\n".join(f"{v},k" for v in lines) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_says_what_it_replaced(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del folder
    main([*COMMAND, "--may-change-trim"])
    shown = capsys.readouterr().out
    assert "You asked for --trim 0.05; this plan trims 0 values a side" in shown
    main([*COMMAND, "--may-change-trim", "--json"])
    captured = capsys.readouterr()
    assert "You asked for --trim 0.05" in captured.err
    assert json.loads(captured.out)["replaced"]["query"]["trim"] == "1/20"
    main(COMMAND)
    shown = capsys.readouterr().out
    assert "Replaced" not in shown
    assert "the mean of the 9000 values left after dropping 500 a side" in shown
    with pytest.raises(SystemExit):
        main(["plan", "--statistic", "median", *COMMAND[5:], "--may-change-trim"])
    assert "--may-change-trim with trimmed-mean" in capsys.readouterr().err


MEDIAN = ["plan", "--statistic", "median", "--bounds", "-60", "1440", "--epsilon", "1"]


@pytest.mark.parametrize(("missing", "size"), [("0", 520), ("public-drop", 500)])
def test_a_public_sample_may_have_missing_values(
    missing: str, size: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del folder
    sample = [*MEDIAN, "--n", "500", "--public-sample", "data.csv", "--column", "x"]
    with pytest.raises(SystemExit):
        main(sample)
    assert "--missing VALUE" in capsys.readouterr().err
    main([*sample, "--missing", missing])
    assert f"a public sample of {size} values" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*MEDIAN, "--n", "500", "--missing", missing])
    assert "--public-sample" in capsys.readouterr().err


def test_another_number_of_records_names_what_to_do(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del folder
    main([*MEDIAN, "--n", "400"])
    capsys.readouterr()
    release = ["release", "data.csv", "--column", "x", "--plan", "plan.json", "--missing", "0"]
    with pytest.raises(SystemExit):
        main(release)
    error = capsys.readouterr().err
    assert "400 records" in error
    assert "smoothdp plan --n 520" in error
    found = sd.planning.plan_from_json(Path("plan.json").read_text())
    with pytest.raises(sd.errors.InvalidData, match=r"smoothdp\.plan\(\.\.\., n_records=3\)"):
        found.release([1.0, 2.0, 3.0])
