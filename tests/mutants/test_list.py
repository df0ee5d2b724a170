"""The list of mutants is up to date, and the runner tells a killed mutant from a survivor."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.mutants import run as runner
from tests.mutants.lists import ALL
from tests.mutants.mutant import ROOT, Mutant, Stale
from tests.mutants.sandbox import Outcome, Sandbox

ROOMS = (
    "exact",
    "composition",
    "noise/calibration",
    "ledger",
    "mechanisms/release",
    "shuffle",
    "keys",
    "queries/fixed",
    "queries/private_size",
    "tables",
)
WHOLE_LAWS = (
    *("keys", "tables", "engines", "queries/fixed", "queries/private_size"),
    *("mechanisms/additive", "mechanisms/fixed", "mechanisms/private_size"),
)
"""Rooms of whole numbers and rationals: what a mutant breaks there is no slack of a float."""


def test_nothing_is_out_of_date() -> None:
    """Every snippet is in its file once, every mutant is Python, every test exists."""
    assert runner.stale(ALL) == []


def test_there_are_enough_in_every_room() -> None:
    assert len(ALL) >= 100
    counts = Counter(mutant.room for mutant in ALL)
    for room in ROOMS:
        assert sum(n for name, n in counts.items() if name.startswith(room)) >= 10, room
    assert sum(bool(mutant.equivalent) for mutant in ALL) <= len(ALL) // 20


def test_no_mutant_is_there_twice() -> None:
    changes = Counter((mutant.file, mutant.code, mutant.becomes) for mutant in ALL)
    assert [change for change, times in changes.items() if times > 1] == []


def test_every_room_runs_tests_that_need_the_slack() -> None:
    """The quickest first: all but a few mutants begin with the folder that is made for them."""
    first = [mutant.tests[0] for mutant in ALL if not mutant.room.startswith(WHOLE_LAWS)]
    assert sum("rounding" in test for test in first) >= 0.8 * len(first)
    assert all(mutant.tests for mutant in ALL)


# ---- the runner, on a library of one function ---------------------------------------------

LIBRARY = (
    "def half(x: int) -> int:\n    return x // 2\n\n\ndef other(x: int) -> int:\n    return x\n"
)
TESTS = (
    "from smoothdp.halves import half\n\n\n"
    "def test_half() -> None:\n    assert half(9) == 4\n\n\n"
    "def test_loop() -> None:\n    n = 8\n    while n > 1:\n        n = half(n)\n"
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    # Half of the time that pytest takes to start is that of plugins, which nothing here needs.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (tmp_path / "src/smoothdp").mkdir(parents=True)
    (tmp_path / "src/smoothdp/__init__.py").write_text("")
    (tmp_path / "src/smoothdp/halves.py").write_text(LIBRARY)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_halves.py").write_text(TESTS)
    return tmp_path


def mutant(code: str, becomes: str, test: str = "", equivalent: str = "") -> Mutant:
    return Mutant("halves.py", code, becomes, "why", (f"tests/test_halves.py{test}",), equivalent)


def tried(project: Path, mutants: list[Mutant], limit: float = 60.0) -> list[str]:
    verdicts = []
    with Sandbox(project, copied=("src", "tests")) as box:
        for each in mutants:
            outcome = box.with_mutant(
                each,
                lambda each=each: box.run(each.tests, limit=limit),  # type: ignore[misc]
            )
            verdicts.append(outcome.verdict)
        assert each.path(box.root).read_text() == LIBRARY
    assert (project / "src/smoothdp/halves.py").read_text() == LIBRARY
    return verdicts


def test_killed_survived_and_broken(project: Path) -> None:
    """Two changes of one length within a second: what was compiled before is not run again."""
    mutants = [
        mutant("x // 2", "x // 3"),
        mutant("    return x\n", "    return -x\n"),
        mutant("x // 2", "x // 4"),
        mutant("x // 2", "x // 3", "::test_gone"),
    ]
    assert tried(project, mutants) == ["failed", "passed", "failed", "broken"]


def test_tests_that_do_not_end_are_killed_by_time(project: Path) -> None:
    assert tried(project, [mutant("x // 2", "x", "::test_loop")], limit=1.5) == ["time"]


def test_a_stale_snippet_is_a_loud_error(project: Path) -> None:
    for code, becomes, words in (
        ("x // 7", "x", "found 0 times"),
        ("return x", "return 1", "found 2 times"),
        ("x // 2", "x //", "no Python"),
        ("x // 2", "(x // 2)", "says the same"),
    ):
        with pytest.raises(Stale, match=words):
            mutant(code, becomes).applied(project)
    with pytest.raises(Stale, match="perhaps now: return x // 2"):
        mutant("return x // 3", "return x").applied(project)
    gone = Mutant("exact/gone.py", "a", "b", "why", ("tests/mutants/test_list.py::test_gone",))
    assert len(runner.stale([gone])) == 2
    assert ROOT.joinpath("Makefile").is_file()


def results(*verdicts: str, equivalent: str = "") -> list[runner.Result]:
    first = ALL[0]
    reasoned = Mutant(first.file, first.code, first.becomes, first.why, first.tests, equivalent)
    return [runner.Result(reasoned, Outcome(verdict, 1.0, "a failure")) for verdict in verdicts]


def test_the_verdict_of_a_run() -> None:
    """All killed is well; a survivor needs its reason, and one in twenty at most may have one."""
    assert runner.report(results("failed", "time"))[1]
    assert not runner.report(results(*["failed"] * 30, "passed"))[1]
    with_reason = results("passed", equivalent="never decides")
    assert runner.report([*results(*["failed"] * 19), *with_reason])[1]
    assert not runner.report([*results(*["failed"] * 18), *with_reason])[1]
    assert not runner.report([*results(*["failed"] * 30), *results("broken", equivalent="x")])[1]
    text = runner.report([*results("failed"), *with_reason])[0]
    assert "1 of 2 killed (50.0%)" in text
    assert "never decides" in text
