"""The commands that release and collect: output, JSON, and one clear line on bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from smoothdp.cli import main
from smoothdp.papers.polyplace import figures

DELAYS = [(7 * i * i) % 61 - 10 for i in range(2000)]


@pytest.fixture
def flights(tmp_path: Path) -> Path:
    path = tmp_path / "flights.csv"
    rows = [f"{delay},{'ABC'[i % 3]},{i % 2}" for i, delay in enumerate(DELAYS)]
    path.write_text("delay,dest,late\n" + "\n".join(rows) + "\n")
    (tmp_path / "airports.txt").write_text("A\nB\nC\nD\n")
    return path


def release(flights: Path, *more: str) -> list[str]:
    return ["release", str(flights), "--column", "delay", "--bounds", "-60", "240", *more]


def collect(flights: Path, column: str, *more: str) -> list[str]:
    target = ["--epsilon", "1", "--delta", "1e-6"]
    return ["collect", str(flights), "--column", column, *target, *more]


@pytest.mark.parametrize(
    "options",
    [
        ["--statistic", "median", "--epsilon", "1"],
        ["--statistic", "mean", "--guarantee", "zcdp", "--rho", "0.5"],
        ["--statistic", "trimmed-mean", "--trim", "0.05", "--epsilon", "2"],
        ["--statistic", "trimmed-mean", "--trim", "50", "--epsilon", "2"],
        ["--statistic", "quantile", "--q", "0.9", "--epsilon", "1"],
        ["--statistic", "median", "--guarantee", "approx", "--epsilon", "1", "--delta", "1e-6"],
        ["--statistic", "trimmed-mean", "--trim", "0.05", "--rho", "0.5"],
        ["--statistic", "median", "--epsilon", "1", "--delta", "1e-6"],
        ["--statistic", "mean", "--guarantee", "tcdp", "--rho", "0.5", "--omega", "20"],
    ],
    ids=" ".join,
)
def test_release(flights: Path, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    main(release(flights, *options, "--json"))
    found = json.loads(capsys.readouterr().out)
    assert -60 <= found["value"] <= 240
    assert "replacing one row" in found["guarantee"]
    assert found["n_records"] == 2000
    main(release(flights, *options))
    text = capsys.readouterr().out
    assert text.startswith("value ")
    assert "values clamped to [-60, 240]" in text


def test_release_says_what_epsilon_means(flights: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(release(flights, "--statistic", "mean", "--guarantee", "zcdp", "--epsilon", "1"))
    assert "rho = epsilon^2 / 2 = 0.5" in capsys.readouterr().err


def test_release_of_whole_numbers_and_missing_values(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ages.csv"
    path.write_text("age,name\n" + "".join(f"{i % 90 or ''},x\n" for i in range(3000)))
    base = ["release", str(path), "--column", "age", "--bounds", "0", "120", "--epsilon", "1"]
    options = [*base, "--statistic", "median", "--round-to", "1", "--json"]
    with pytest.raises(SystemExit):
        main(options)
    assert "Expected a value in every row" in capsys.readouterr().err
    main([*options, "--missing", "0"])
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found["value"], int)
    assert found["n_records"] == 3000
    assert "public constant" in found["missing"]
    main([*options, "--missing", "public-drop"])
    found = json.loads(capsys.readouterr().out)
    assert found["n_records"] == 2966
    assert "declared public" in found["missing"]


@pytest.mark.parametrize(
    ("column", "options", "words"),
    [
        ("delay", ["--above", "15"], "share above 15"),
        ("late", [], "share with a 1"),
        ("delay", ["--bounds", "-60", "240", "--n-bits", "3"], "mean"),
        ("dest", ["--domain", "airports.txt"], "Counts of 2000 users over 5 values"),
        ("dest", ["--bins", "10"], "bin "),
    ],
)
def test_collect(
    flights: Path,
    column: str,
    options: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(flights.parent)
    main(collect(flights, column, *options))
    text = capsys.readouterr().out
    assert words in text
    assert "at least 1,800 of the 2,000 users follow the protocol" in text
    assert "that the shuffler does not help the analyser" in text
    main(collect(flights, column, *options, "--json", "--plot", "profile.png"))
    output = capsys.readouterr()
    found = json.loads(output.out)
    assert found["is_private"] is True
    assert found["delta"] <= 1e-6
    assert (found["users"], found["honest_users"]) == (2000, 1800)
    assert found["delta"] < found["delta_with_fewer_honest"]["95%"]
    assert found["bytes_per_user"] == 52 * found["slots_per_user"]
    assert found["estimates"]
    assert Path("profile.png").exists()
    assert "Picture: profile.png" in output.err


def test_collected_figures_are_near(flights: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is wrong by more than ten of its 95% errors with a probability below 1e-9."""
    main(collect(flights, "delay", "--above", "15", "--json"))
    found = json.loads(capsys.readouterr().out)
    share = sum(delay > 15 for delay in DELAYS) / len(DELAYS)
    assert abs(found["estimates"]["share above 15"] - share) <= 10 * found["error"]
    main(collect(flights, "delay", "--bounds", "-60", "240", "--n-bits", "8", "--json"))
    found = json.loads(capsys.readouterr().out)
    assert abs(found["estimates"]["mean"] - sum(DELAYS) / len(DELAYS)) <= 10 * found["error"]
    assert found["error"] < 30


def test_noise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "noise.png"
    main(["noise", "--epsilon", "1", "--smoothing", "0.1", "--json", "--plot", str(out)])
    found = json.loads(capsys.readouterr().out)
    laws = {row["family"]: row for row in found["laws"]}
    assert laws["PolyPlace"]["standard_deviation"] == pytest.approx(1.6457, rel=1e-4)
    assert laws["PolyPlace"]["paper_standard_deviation"] == pytest.approx(1.6875, rel=1e-3)
    assert laws["StudentT"]["label"] == "proved"
    assert laws["Gaussian"]["law"] is None
    assert found["least_standard_deviation"] == pytest.approx(1.559, abs=1e-3)
    assert out.exists()


@pytest.mark.parametrize(
    ("name", "smoothings"),
    [
        ("polyplace/1", ("0.1", "0.4")),
        pytest.param("polyplace/1", figures._SMOOTHINGS, marks=pytest.mark.slow),
        ("polyplace/2", figures._SMOOTHINGS),
    ],
    ids=["few smoothings", "polyplace/1", "polyplace/2"],
)
def test_figures_of_paper_4(
    name: str,
    smoothings: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Against a table of Figure 1 that other code found; smoothing 0.4."""
    monkeypatch.setattr(figures, "_SMOOTHINGS", smoothings)
    out = tmp_path / "figure.png"
    main(["papers", "figure", name, "--json", "--out", str(out)])
    found = json.loads(capsys.readouterr().out)
    assert out.exists()
    if name == "polyplace/1":
        row = next(row for row in found["rows"] if row["smoothing"] == "0.4")
        assert row["PolyPlace, paper"] == pytest.approx(4.2808, abs=1e-4)
        assert row["PolyPlace, exact"] == pytest.approx(3.8669, abs=1e-4)
        assert row["StudentT, exact"] == pytest.approx(6.980, abs=5e-3)
        assert row["Laplace, exact"] is None


def test_figures_of_paper_5(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Against values of Figures 1 and 2 found by independent code."""
    checked = 0
    for name in ("gaussian-shuffling/1", "gaussian-shuffling/2"):
        out = tmp_path / "figure.png"
        main(["papers", "figure", name, "--json", "--out", str(out)])
        found = json.loads(capsys.readouterr().out)
        assert out.exists()
        out.unlink()
        for panel in found["panels"]:
            exact = panel["curves"]["exact"]
            for title, axis, at, value in [
                ("(a) C_H", "type I error", 0.1, 0.840767),
                ("(b) Boolean sum", "epsilon", 0.3, 5.3224e-5),
                ("(d) real sum, 10 bits", "epsilon", 0.4, 1.475e-2),
            ]:
                if panel["title"] == title:
                    assert exact[panel[axis].index(at)] == pytest.approx(value, rel=1e-3)
                    checked += 1
    assert checked == 3


BAD = [
    (["noise", "--smoothing", "0.1"], "--epsilon"),
    (["noise", "--guarantee", "zcdp", "--smoothing", "0.1"], "--epsilon and --rho"),
    (["noise", "--epsilon", "1", "--smoothing", "-1"], "smoothing"),
    (["noise", "--guarantee", "pure", "--epsilon", "1", "--delta", "1e-6", "--smoothing", "0.1"],
     "--delta"),
    (["release", "none.csv", "--column", "a", "--statistic", "mean", "--bounds", "0", "1",
      "--epsilon", "1"], "none.csv"),
    (["collect", "none.csv", "--column", "a", "--epsilon", "1", "--delta", "1e-6"], "none.csv"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), BAD)
def test_bad_options(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    output = capsys.readouterr()
    assert caught.value.code == 2
    assert output.out == ""
    assert words in output.err
    assert output.err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--statistic", "median", "--epsilon", "0"], "epsilon"),
        (["--statistic", "trimmed-mean", "--epsilon", "1"], "--trim"),
        (["--statistic", "trimmed-mean", "--trim", "0.5", "--epsilon", "1"], "trim"),
        (["--statistic", "quantile", "--epsilon", "1"], "--q"),
        (["--statistic", "median", "--q", "0.5", "--epsilon", "1"], "--q"),
        (["--statistic", "median", "--epsilon", "1", "--bounds", "5", "5"], "bounds"),
        (["--statistic", "median", "--epsilon", "1", "--column", "gone"], "one column 'gone'"),
        (["--statistic", "median", "--epsilon", "1", "--column", "dest"], "finite numbers"),
    ],
)
def test_bad_releases(
    flights: Path, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(release(flights, *options))
    output = capsys.readouterr()
    assert caught.value.code == 2
    assert output.out == ""
    assert words in output.err


@pytest.mark.parametrize(
    ("column", "options", "words"),
    [
        ("dest", ["--domain", "gone.txt"], "gone.txt"),
        ("dest", ["--bins", "0"], "--bins"),
        ("delay", [], "values 0 and 1"),
        ("dest", ["--above", "1"], "finite numbers"),
        ("delay", ["--bounds", "5", "1"], "lower bound < upper bound"),
        ("delay", ["--above", "1", "--bins", "3"], "got 2"),
        ("delay", ["--above", "1", "--confidence", "2"], "0 < confidence < 1"),
    ],
)
def test_bad_collections(
    flights: Path,
    column: str,
    options: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(collect(flights, column, *options))
    output = capsys.readouterr()
    assert caught.value.code == 2
    assert output.out == ""
    assert words in output.err


@pytest.mark.parametrize("listed", ["A\nB\n", "other\nA\nB\n"])
def test_a_value_outside_the_domain_is_counted_as_other(
    listed: str, flights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """To refuse it would tell that somebody holds it."""
    (flights.parent / "two.txt").write_text(listed)
    main(collect(flights, "dest", "--domain", str(flights.parent / "two.txt"), "--json"))
    found = json.loads(capsys.readouterr().out)
    assert list(found["estimates"]) == ["A", "B", "other"]
    assert found["estimates"]["other"] > 0
    assert "C" not in found["estimates"]


BY_NAME = ("--protocol", "low-communication-histogram")


def test_a_protocol_by_name_and_what_a_user_may_send(
    flights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = collect(flights, "dest", "--domain", str(flights.with_name("airports.txt")))
    main([*options, "--protocol", "zero-preserving-histogram", "--honest-share", "1", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert "zero-preserving" in found["protocol"]
    assert found["honest_users"] == 2000
    for more, words in (
        (["--most-slots", "2"], r"most-slots 2; LowCommunicationHistogram needs \d+ slots"),
        (["--most-messages", "1"], "needs 1.* messages on average"),
        (["--most-slots", "2", *BY_NAME], "most-slots of at least"),
        (["--most-messages", "1", *BY_NAME], "most-messages of at least"),
        (["--protocol", "real-sum"], "low-communication-histogram or zero-preserving"),
        (["--honest-share", "0"], "honest-share"),
        (["--honest-share", "0.05"], "n_users|users"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main([*options, *more])
        assert stopped.value.code == 2
        assert re.search(words, capsys.readouterr().err)


def test_collect_charges_a_ledger_or_refuses(
    flights: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = str(flights.with_name("ledger.db"))
    main(["account", "create", ledger, "--epsilon", "2", "--delta", "1e-4"])
    target = [*collect(flights, "delay", "--bounds", "-60", "240"), "--ledger", ledger]
    main(target)
    main([*collect(flights, "late"), "--ledger", ledger])
    capsys.readouterr()
    domain = str(flights.with_name("airports.txt"))
    for refused in (target, [*collect(flights, "dest", "--domain", domain), "--ledger", ledger]):
        with pytest.raises(SystemExit) as stopped:
            main(refused)
        assert stopped.value.code == 2
        shown = capsys.readouterr()
        assert shown.out == ""
        assert "epsilon" in shown.err
    main(["account", ledger])
    assert "2 entries, verified" in capsys.readouterr().out


FIXED = [
    (["count"], 2000, 60),
    (["sum", "--bounds", "-60", "240", "--grid", "1"], sum(DELAYS), 9000),
    (["mean", "--bounds", "-60", "240"], sum(DELAYS) / 2000, 10),
    (["skewed-mean", "--bounds", "-60", "240"], sum(DELAYS) / 2000, 30),
    (["variance", "--bounds", "-60", "240"], 370, 1500),
]


@pytest.mark.parametrize(("statistic", "truth", "near"), FIXED, ids=lambda one: str(one)[:8])
def test_sums_of_privately_many_records(
    flights: Path,
    statistic: list[str],
    truth: float,
    near: float,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every statistic of a table is one of a column too; noise beyond 30 deviations fails."""
    asked = ["release", str(flights), "--column", "delay", "--epsilon", "1", "--statistic"]
    main([*asked, *statistic, "--neighbours", "add_remove", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert abs(found["value"] - truth) < near
    assert found["claim"]["neighbours"] == "add_remove"
    assert found["n_records"] is None
    main([*asked, *statistic, "--by", "dest", "--keys", "A,B", "--json"])
    assert list(json.loads(capsys.readouterr().out)["columns"]) == ["dest", statistic[0]]
    if statistic[0] in ("count", "skewed-mean"):
        with pytest.raises(SystemExit) as stopped:
            main([*asked, *statistic, "--ledger", "none.db"])
        said = capsys.readouterr().err
        assert stopped.value.code == 2
        assert said.startswith("Error: Expected a guarantee about adding or removing")
        assert '--neighbours "add_remove"' in said
        return
    main([*asked, *statistic])
    shown = capsys.readouterr().out
    assert "replacing one row" in shown
    assert "values clamped to [-60, 240]" in shown


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["sum"], "bounds for --statistic sum"),
        (["count", "--bounds", "0", "9"], "no option for --statistic count"),
        (["median", "--bounds", "0", "9", "--grid", "1"], "--grid with sum alone"),
        (["max", "--bounds", "0", "9"], "a Median, a Quantile"),
        (["mean", "--bounds", "0", "9", "--n-guess", "9"], "no --n-guess"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_options_of_another_statistic(
    flights: Path, options: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["release", str(flights), "--column", "delay", "--epsilon", "1", "--statistic"]
    with pytest.raises(SystemExit) as stopped:
        main([*asked, *options, "--neighbours", "add-remove"])
    assert stopped.value.code == 2
    assert words in capsys.readouterr().err
