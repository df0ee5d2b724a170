"""`smoothdp table` and `smoothdp release --by`: what they print and write, and what they refuse."""

from __future__ import annotations

import csv
import inspect
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.cli import main
from smoothdp.tables import NAMED, TableSpec

SPEC = """
data = "wages.csv"
by = ["region", "year"]
keys = { region = ["N", "S<b>"], year = [2025, 2026] }
counts = true
n_guess = 150
where = { wage = { at_least = 0.5 } }

[label]
name = "Wages <2026>"
purpose = "yearly table"
who = "A. Noether"

[guarantee]
epsilon = 2

[shares]
n = 0.2

[statistics."median wage"]
column = "wage"
statistic = "median"
bounds = [0, 100]

[statistics.p90]
column = "wage"
statistic = "quantile"
q = 0.9
bounds = [0, 100.5]
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [(["N", "S<b>", "W"][i % 3], 2024 + i % 2 + i % 5 % 2, i % 71) for i in range(1800)]
    lines = "".join(f"{region},{year},{wage}\n" for region, year, wage in rows)
    Path("wages.csv").write_text(f"region,year,wage\n{lines}")
    Path("spec.toml").write_text(SPEC)


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    shown = capsys.readouterr()
    assert (stopped.value.code, shown.out, shown.err.count("\n")) == (2, "", 1), shown.err
    assert shown.err.startswith("Error: Expected ")
    return shown.err


def test_check_reads_no_data(capsys: pytest.CaptureFixture[str]) -> None:
    Path("wages.csv").unlink()
    main(["table", "--spec", "spec.toml", "--check"])
    text = capsys.readouterr().out
    for words in (
        "Wages <2026> (yearly table; A. Noether)",
        "4 public ones",
        "epsilon=2/5",
        "adding or removing one row",
        "wage at least 0.5",
        "standard deviation",
    ):
        assert words in text
    main(["table", "--spec", "spec.toml", "--check", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["type"] == "TableCheck"
    assert set(found["spent"]) == set(found["expected"]) == {"n", "median wage", "p90"}
    assert found["claim"]["epsilon"] == "2"


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    main(["table", "--spec", "spec.toml", "--html", "t.html", "--csv", "t.csv"])
    shown = capsys.readouterr()
    assert "median wage" in shown.out
    assert "adding or removing one row" in shown.out
    assert [line.split(":")[0] for line in shown.err.splitlines()] == ["Table", "Page"]
    with Path("t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["region"] for row in rows] == ["N", "N", "S<b>", "S<b>"]
    assert all(0 <= float(row["median wage"]) <= 100 for row in rows)
    page = Path("t.html").read_text()
    assert "S&lt;b&gt;" in page
    assert "S<b>" not in page
    assert "<2026>" not in page
    assert "http" not in page.replace("http://www.w3.org", "").partition("Citation")[0]
    main(["table", "wages.csv", "--spec", "spec.toml", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["label"]["who"] == "A. Noether"
    assert found["rows"] == "rows with wage at least 0.5"
    assert list(found["columns"]) == ["region", "year", "n", "median wage", "p90"]


def test_paths_are_beside_the_spec(capsys: pytest.CaptureFixture[str]) -> None:
    folder = Path("signed")
    folder.mkdir()
    for name in ("spec.toml", "wages.csv"):
        Path(name).rename(folder / name)
    main(["table", "--spec", "signed/spec.toml", "--json"])
    assert json.loads(capsys.readouterr().out)["type"] == "ReleasedTable"


def test_one_charge_with_its_label() -> None:
    promise = sd.PureDP(3, neighbours="add_remove")
    ledger = sd.Ledger("ledger.db", budget=promise)
    Path("spec.toml").write_text('ledger = "ledger.db"\n' + SPEC)
    main(["table", "--spec", "spec.toml"])
    (entry,) = ledger.entries()
    assert entry.claim == sd.PureDP(2, neighbours="add_remove")
    assert entry.parameters["label"] == "Wages <2026>"
    assert entry.parameters["purpose"] == "yearly table"
    assert entry.parameters["columns"] == "region, year, wage"


def test_a_ledger_without_room(capsys: pytest.CaptureFixture[str]) -> None:
    ledger = sd.Ledger("ledger.db", budget=sd.PureDP(1, neighbours="add_remove"))
    Path("spec.toml").write_text('ledger = "ledger.db"\n' + SPEC)
    for more in ([], ["--check"]):
        refused(["table", "--spec", "spec.toml", *more], capsys)
    assert ledger.entries() == []


def test_keys_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("keys.csv").write_text("year,region\n2025,N\n2026,S<b>\n")
    keys = 'keys = { region = ["N", "S<b>"], year = [2025, 2026] }'
    Path("spec.toml").write_text(SPEC.replace(keys, 'keys = "keys.csv"'))
    main(["table", "--spec", "spec.toml", "--json"])
    found = json.loads(capsys.readouterr().out)["columns"]
    assert (found["region"], found["year"]) == (["N", "S<b>"], [2025, 2026])


MISTAKES: list[tuple[str, str, str]] = [
    ("counts = true", "count = true", "'count'. Did you mean 'counts'?"),
    ("counts = true", "counts = true\nrng = 3", "'rng'"),
    ('by = ["region", "year"]', "", "by in spec.toml"),
    ('by = ["region", "year"]', 'by = ["region", "region"]', "each column of by= once"),
    ('by = ["region", "year"]', "by = 3", "by as the name"),
    ('["N", "S<b>"]', '["N", "N"]', "each public key once"),
    ('["N", "S<b>"]', '["N", 3]', "one type"),
    ('["N", "S<b>"]', "[]", "public keys"),
    ("year = [2025, 2026] }", "yaer = [2025] }", "keys as a list"),
    ("epsilon = 2", "epsilon = 0", "some loss"),
    ("epsilon = 2", "epsilon = -1", "epsilon"),
    ("epsilon = 2", 'epsilon = "two"', "epsilon"),
    ("epsilon = 2", "rho = 2\nepsilon = 2", "guarantee with epsilon"),
    ("epsilon = 2", "epsilonn = 2", "guarantee with epsilon"),
    ("epsilon = 2", "delta = 0.1", "guarantee with epsilon"),
    ("[guarantee]\nepsilon = 2", "[guarantees]\nepsilon = 2", "Did you mean 'guarantee'"),
    ("n = 0.2", "n = 1.2", "add up to 1"),
    ("n = 0.2", "n = 0.5\np90 = 0.6", "add up to 1"),
    ("n = 0.2", "p90 = 0.95", "with 1/10 for counts ('n')"),
    ('statistic = "median"', 'statistic = "clamped-mean"', "Did you mean 'mean'?\n"),
    ('statistic = "median"', 'statistic = "trimmed_mean"', "Did you mean 'trimmed-mean'?\n"),
    ("n = 0.2", "m = 0.2", "one for 'm'"),
    ("n = 0.2", "n = -0.2", "above 0"),
    ('statistic = "median"', 'statistic = "medain"', "Did you mean 'median'?"),
    ('statistic = "median"', 'statistic = "median"\nq = 0.5', "'q'"),
    ('statistic = "median"', "", "one of median"),
    ("q = 0.9", "", "q for the statistic 'p90'"),
    ("q = 0.9", "q = 1.9", "q between 0 and 1"),
    ("bounds = [0, 100]", "bounds = [100, 0]", "lower bound < upper bound"),
    ("bounds = [0, 100]", "bounds = [0]", "bounds as a pair"),
    ("bounds = [0, 100]", "", "bounds for the statistic"),
    ('column = "wage"\nstatistic = "median"', 'statistic = "median"', "column = ..."),
    ('statistics."median wage"', "statistics.n", "taken"),
    ("n_guess = 150", "n_guess = 0", "n_guess"),
    ("where = {", "where = 3 #{", "where as columns"),
    ("at_least = 0.5", "least = 0.5", "where as columns"),
    ('purpose = "yearly table"', 'porpose = "x"', "label as a text"),
    ('name = "Wages <2026>"', 'name = ""', "a label with a name"),
    ("counts = true", "counts = true\nconfidence = 1.5", "confidence"),
    ("n_guess = 150", 'csv = { delimeter = ";" }', "csv with delimiter"),
    ("counts = true", "counts = ", "TOML in spec.toml"),
    ("counts = true", "data = 3", "TOML in spec.toml"),
    ("counts = true", 'counts = "yes"', "counts as true or false"),
    ('data = "wages.csv"', "data = 3", "data as the path"),
]


@pytest.mark.parametrize(("before", "after", "words"), MISTAKES, ids=lambda one: one[:28])
def test_a_mistake_in_a_spec_is_one_line(
    before: str, after: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With and without data: nothing is charged, and no data are read."""
    assert before in SPEC
    ledger = sd.Ledger("ledger.db", budget=sd.PureDP(9, neighbours="add_remove"))
    Path("spec.toml").write_text('ledger = "ledger.db"\n' + SPEC.replace(before, after, 1))
    Path("wages.csv").unlink()
    for more in (["--check"], []):
        assert words in refused(["table", "--spec", "spec.toml", *more], capsys)
    assert ledger.entries() == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["table", "--spec", "nowhere.toml"], "a file of TOML, in UTF-8; got no such file. Check"),
        (["table", "--spec", "latin.toml"], "bytes that are no text. Save the file as UTF-8."),
        (["table", "--spec", "spec.toml", "--check", "--delimiter", ";;"], "--delimiter"),
        (["table", "--spec", "spec.toml", "--html", "none/page.html"], "--html with a file in"),
        (["table", "--spec", "spec.toml", "--csv", "none/t.csv"], "--csv with a file in"),
        (["table", "--spec", "spec.toml", "--csv", "."], "got the folder ."),
        (["table", "--spec", "spec.toml", "--check", "--csv", "a.csv"], "--check"),
        (["table", "nowhere.csv", "--spec", "spec.toml"], "nowhere.csv"),
        (["table", "--spec", "spec.toml", "--html", "page.pdf"], "--html"),
        (["table", "--spec", "spec.toml", "--delimiter", ";"], "--delimiter"),
    ],
)
def test_what_the_command_refuses(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is charged; no folder is made."""
    ledger = sd.Ledger("ledger.db", budget=sd.PureDP(9, neighbours="add_remove"))
    Path("spec.toml").write_text('ledger = "ledger.db"\n' + SPEC)
    Path("latin.toml").write_bytes(b"# Z\xfcrich\n" + SPEC.encode())
    assert words in refused(arguments, capsys)
    assert ledger.entries() == []
    assert not Path("none").exists()


def test_check_with_the_format_of_the_data(capsys: pytest.CaptureFixture[str]) -> None:
    main(["table", "--spec", "spec.toml", "--check", "--delimiter", ";", "--na", "NA"])
    assert "standard deviation" in capsys.readouterr().out


def test_missing_values_name_both_ways_out(capsys: pytest.CaptureFixture[str]) -> None:
    Path("few.csv").write_text("wage,x\n3,1\n,2\n4,3\n")
    said = refused([MEDIAN[0], "few.csv", *MEDIAN[2:]], capsys)
    assert "--missing VALUE" in said
    assert "--neighbours add-remove" in said


SHORT = ["release", "wages.csv", "--column", "wage", "--bounds", "0", "100", "--epsilon", "2"]
MEDIAN = [*SHORT, "--statistic", "median"]


def test_the_short_form(capsys: pytest.CaptureFixture[str]) -> None:
    main([*MEDIAN, "--by", "region", "--keys", "N, W", "--counts", "--label", "pay", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["columns"]["region"] == ["N", "W"]
    assert found["label"] == {"name": "pay"}
    assert found["claim"]["neighbours"] == "add_remove"
    Path("keys.csv").write_text("region,year\nN,2024\nS<b>,2026\n")
    quantile = [*SHORT, "--statistic", "quantile", "--q", "0.75", "--confidence", "0.9"]
    main([*quantile, "--by", "region,year", "--keys-file", "keys.csv", "--n-guess", "200"])
    shown = capsys.readouterr().out
    assert "quantile low" in shown
    assert "2026" in shown


def test_a_private_number_of_records(capsys: pytest.CaptureFixture[str]) -> None:
    Path("few.csv").write_text("wage\n3\nNA\n\nx\n")
    for file in ("wages.csv", "few.csv"):
        command = [MEDIAN[0], file, *MEDIAN[2:]]
        main(
            [
                *command,
                "--neighbours",
                "add-remove",
                "--n-guess",
                "1800",
                "--json",
                "--label",
                "pay",
            ]
        )
        shown = capsys.readouterr()
        found: dict[str, Any] = json.loads(shown.out)
        assert shown.err == ""
        assert found["n_records"] is None
        assert found["label"] == {"name": "pay"}
        assert "adding or removing" in found["guarantee"]
        Path("r.json").write_text(shown.out)
        assert "private" in sd.report.report_release(shown.out).html()


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--by", "region"], "one of --keys and --keys-file"),
        (["--by", "region", "--keys", "N", "--keys-file", "wages.csv"], "got both"),
        (["--by", "region,year", "--keys", "N"], "--keys-file"),
        (["--by", "region", "--keys", "N,N"], "each public key once"),
        (["--by", "region", "--keys", "N", "--missing", "3"], "--missing"),
        (["--by", "region", "--keys", "N", "--covers", "mean"], "--covers"),
        (["--by", "region", "--keys", "N", "--plan", "plan.json"], "--plan"),
        (["--by", "region", "--keys", "N", "--neighbours", "replace-one"], "adding or removing"),
        (["--by", "planet", "--keys", "N"], "'planet'"),
        (["--keys", "N"], "no --by"),
        (["--counts"], "no --by"),
        (["--n-guess", "3"], "--n-guess"),
        (["--neighbours", "add-remove", "--missing", "3"], "--missing"),
    ],
    ids=lambda one: " ".join(one) if isinstance(one, list) else one,
)
def test_options_that_do_not_belong(
    more: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in refused([*MEDIAN, *more], capsys)


def test_a_label_is_charged_and_shown(capsys: pytest.CaptureFixture[str]) -> None:
    ledger = sd.Ledger("ledger.db", budget=sd.PureDP(9))
    main([*MEDIAN, "--label", "pay 2026", "--ledger", "ledger.db"])
    assert capsys.readouterr().out.startswith("pay 2026\nvalue")
    assert ledger.entries()[0].parameters["label"] == "pay 2026"
    label = {"name": "pay", "purpose": "test", "who": "me"}
    column = [float(i % 71) for i in range(500)]
    promise = sd.PureDP(1)
    rel = sd.release(
        column, sd.queries.Median((0, 100)), guarantee=promise, label=label, ledger=ledger
    )
    assert rel.label is not None
    assert rel.label.who == "me"
    assert ledger.entries()[1].parameters["purpose"] == "test"


def test_the_spec_in_python() -> None:
    spec = TableSpec.read("spec.toml")
    released = spec.release(rng=sd.SeededRandom(1))
    assert not released.is_private
    data = {"region": ["N"] * 90, "year": [2025] * 90, "wage": list(range(90))}
    assert list(spec.release(data, rng=sd.SeededRandom(1)).groups) == list(released.groups)
    assert "<pre>" in spec.check()._repr_html_()
    Path("spec.toml").write_text(SPEC.replace('data = "wages.csv"', ""))
    with pytest.raises(sd.errors.InvalidParameter, match=r"data, in spec\.toml"):
        TableSpec.read("spec.toml").release()


def test_the_spec_in_python_charges_the_ledger_that_it_names() -> None:
    """As the command does: once, before the data are used; without room nothing is released."""
    Path("spec.toml").write_text('ledger = "ledger.db"\n' + SPEC)
    spec = TableSpec.read("spec.toml")
    for ask in (spec.check, spec.release):
        with pytest.raises(sd.errors.LedgerError, match="Expected a ledger"):
            ask()
    ledger = sd.Ledger("ledger.db", budget=sd.PureDP(3, neighbours="add_remove"))
    spec.check()
    assert ledger.entries() == []
    spec.release()
    (entry,) = ledger.entries()
    assert entry.claim == sd.PureDP(2, neighbours="add_remove")
    assert entry.parameters["label"] == "Wages <2026>"
    for ask in (spec.check, spec.release):
        with pytest.raises(sd.errors.BudgetExceeded):
            ask()
    assert len(ledger.entries()) == 1
    other = sd.Ledger("other.db", budget=sd.PureDP(3, neighbours="add_remove"))
    spec.release(ledger=other)
    assert len(other.entries()) == 1
    assert len(ledger.entries()) == 1


HINTS = [
    (["table", "--spec", "spec.toml"], "--epsilon 2 --neighbours add_remove"),
    (["table", "--spec", "spec.toml", "--check"], "--epsilon 2 --neighbours add_remove"),
    ([*SHORT, "--statistic", "median"], "--epsilon 2 ("),
    ([*SHORT, "--statistic", "median", "--delta", "1e-6"], "--epsilon 2 --delta 1/1000000 ("),
    ([*SHORT[:-2], "--statistic", "median", "--rho", "0.5"], "--rho 1/2 ("),
    (
        [*SHORT[:-2], "--statistic", "median", "--rho", "0.5", "--omega", "10"],
        "--rho 1/2 --omega 10 (",
    ),
    ([*SHORT, "--statistic", "median", "--neighbours", "add-remove"], "--neighbours add_remove"),
    ([*SHORT, "--statistic", "median", "--neighbours", "add_remove"], "--neighbours add_remove"),
    ([*SHORT, "--statistic", "median", "--by", "region", "--keys", "N"], "add_remove"),
]


@pytest.mark.parametrize(("command", "words"), HINTS, ids=lambda one: "".join(one)[-40:])
def test_the_ledger_of_the_hint_takes_the_release(
    command: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command that is printed makes a ledger that the same command line then charges."""
    Path("spec.toml").write_text('ledger = "a ledger.db"\n' + SPEC)
    more = [] if "--spec" in command else ["--ledger", "a ledger.db"]
    said = refused([*command, *more], capsys)
    assert words in said
    hint = said.partition("Make one with: ")[2].partition(" (the budget may be larger).")[0]
    main(shlex.split(hint)[1:])
    main([*command, *more])
    assert len(sd.Ledger("a ledger.db").entries()) == ("--check" not in command)


def test_a_ledger_about_other_neighbours(capsys: pytest.CaptureFixture[str]) -> None:
    """The refusal names the ledger that would do, on the command line."""
    for neighbours in ("add-remove", "add_remove"):
        create = ["account", "create", f"{neighbours}.db", "--epsilon", "9"]
        main([*create, "--neighbours", neighbours])
        assert sd.Ledger(f"{neighbours}.db").budget == sd.PureDP(9, neighbours="add_remove")
    main(["account", "create", "replacing.db", "--epsilon", "9"])
    capsys.readouterr()
    Path("spec.toml").write_text('ledger = "replacing.db"\n' + SPEC)
    said = refused(["table", "--spec", "spec.toml", "--check"], capsys)
    assert "a ledger made with --neighbours add_remove" in said
    said = refused([*MEDIAN, "--ledger", "add_remove.db"], capsys)
    assert "a ledger made without --neighbours add_remove" in said
    refused(["account", "create", "x.db", "--epsilon", "1", "--omega", "3"], capsys)


PAGE = Path(__file__).parents[2] / "docs" / "reference" / "table-spec.md"


def test_the_specs_of_the_reference(capsys: pytest.CaptureFixture[str]) -> None:
    """They are checked and released, and name every statistic and every key that there is."""
    page = PAGE.read_text(encoding="utf-8")
    specs = re.findall(r"```toml\n(.*?)```", page, flags=re.DOTALL)
    assert len(specs) == 2
    main(["account", "create", "ledger.db", "--epsilon", "9", "--neighbours", "add_remove"])
    rows = [f"{i % 2 * 'south' or 'north'};{2025 + i % 3 % 2};30;employed;{i},5" for i in range(99)]
    Path("wages.csv").write_text("region;year;age;status;wage\n" + "\n".join(rows))
    visits = [f"{i // 3},{'AB'[i % 2]},{i % 400 or ''}" for i in range(3000)] + ["x,rare,7"]
    Path("visits.csv").write_text("patient,clinic,price\n" + "\n".join(visits))
    capsys.readouterr()
    found = []
    for spec in specs:
        Path("spec.toml").write_text(spec)
        main(["table", "--spec", "spec.toml", "--check"])
        capsys.readouterr()
        main(["table", "--spec", "spec.toml", "--json"])
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["columns"]["region"] == ["north", "north", "south", "south"]
    columns = found[1]["columns"]
    assert columns["clinic"] == ["A", "B"]
    # 1000 patients with three visits, kept in both clinics: n is persons, visits are rows.
    for n, rows_of_group in zip(columns["n"], columns["visits"], strict=True):
        assert abs(n - 1000) < 150
        assert abs(rows_of_group - 1500) < 300
    listed = page.partition("## Statistics")[2].partition("## Persons")[0]
    for name, named in NAMED.items():
        (row,) = (line for line in listed.splitlines() if line.startswith(f"| `{name}` |"))
        assert all(f"`{option}`" in row for option in (*named.needed, *named.optional))
    for key in inspect.signature(sd.tables.release_table).parameters:
        if key not in ("derive", "rng", "progress", "statistics", "person"):
            assert f"| `{key}` |" in page


ROWS_ALONE = """
by = "region"
keys = ["N", "S<b>"]
ledger = "budget.db"

[statistics.people]
statistic = "count"

[guarantee]
epsilon = 1
"""
OF_PERSONS = ROWS_ALONE + '\n[person]\ncolumn = "wage"\nrows = 2\n'


def test_a_ledger_of_persons_takes_their_next_table(capsys: pytest.CaptureFixture[str]) -> None:
    Path("persons.toml").write_text(OF_PERSONS)
    ledger = sd.Ledger("budget.db", budget=sd.PureDP(2, neighbours="add_remove"))
    for _ in range(2):
        main(["table", "--spec", "persons.toml", "--check"])
        main(["table", "wages.csv", "--spec", "persons.toml"])
    assert [entry.parameters["unit"] for entry in ledger.entries()] == ["person", "person"]
    capsys.readouterr()
    for more in (["--check"], ["wages.csv"]):
        assert "what is left" in refused(["table", "--spec", "persons.toml", *more], capsys)


@pytest.mark.parametrize("first", [ROWS_ALONE, OF_PERSONS])
def test_check_and_release_refuse_the_ledger_of_another_unit(
    first: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("first.toml").write_text(first)
    Path("other.toml").write_text(OF_PERSONS if first == ROWS_ALONE else ROWS_ALONE)
    ledger = sd.Ledger("budget.db", budget=sd.PureDP(2, neighbours="add_remove"))
    main(["table", "wages.csv", "--spec", "first.toml"])
    capsys.readouterr()
    # Of a file that is not there: the ledger is asked before the data.
    for more in (["--check"], ["nowhere.csv"]):
        said = refused(["table", "--spec", "other.toml", *more], capsys)
        assert said.endswith("Keep a ledger for each unit.\n")
    with pytest.raises(sd.errors.IncompatibleClaims):
        TableSpec.read("other.toml").check()
    assert len(ledger.entries()) == 1
