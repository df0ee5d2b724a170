"""Every counterexample to a printed claim: short, by itself, and it shows what it says."""

from __future__ import annotations

import ast
import sys

import pytest

from smoothdp.cli import main
from smoothdp.errors import InvalidParameter
from smoothdp.papers import counterexamples, verify
from smoothdp.papers.verdicts import verdicts

KNOWN = counterexamples()
# Several claims may fall by one program.
PROGRAMS = {row.counterexample: name for name, row in KNOWN.items()}


def test_every_false_claim_has_one() -> None:
    assert {row.name for row in verdicts(status="false")} <= set(KNOWN)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda text: PROGRAMS[text])
def test_it_is_short_and_imports_nothing_of_ours(program: str) -> None:
    lines = program.splitlines()
    assert len(lines) <= 10
    assert max(map(len, lines)) <= 100
    tree = ast.parse(program)
    starts = [statement.lineno for statement in tree.body]
    assert len(set(starts)) == len(starts), "two statements on a line"
    imported = [
        name.name if isinstance(node, ast.Import) else node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    ]
    for module in imported:
        assert module is not None
        assert module.partition(".")[0] in {*sys.stdlib_module_names, "numpy"}
    assert any(isinstance(node, ast.Assert) for node in ast.walk(tree))


@pytest.mark.parametrize("name", PROGRAMS.values())
def test_it_refutes(name: str) -> None:
    done = verify(name)
    assert done.refuted, done.output
    assert done.output.strip()
    assert done.row is KNOWN[name] or done.row == KNOWN[name]


def test_a_program_that_shows_nothing_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the last comparison turned round the program fails, and the command says so."""
    row = KNOWN["paper-1/inequality-7"]
    turned = row.counterexample.replace("assert log(delta) >", "assert log(delta) <")
    assert turned != row.counterexample
    failing = type(row)(**{**{f: getattr(row, f) for f in row.__slots__}, "counterexample": turned})
    module = sys.modules[verify.__module__]
    monkeypatch.setattr(module, "counterexamples", lambda: {row.name: failing})
    assert not verify(row.name).refuted
    with pytest.raises(SystemExit) as stop:
        main(["papers", "verify", row.name])
    assert stop.value.code == 1
    assert "Not shown: paper-1/inequality-7" in capsys.readouterr().err


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    main(["papers", "verify", "paper-1/lemma-2"])
    printed = capsys.readouterr().out
    assert KNOWN["paper-1/lemma-2"].counterexample in printed
    assert "u = 0.4467, d + d' = 0.0476" in printed
    main(["papers", "verify"])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(KNOWN)
    with pytest.raises(SystemExit) as stop:
        main(["papers", "verify", "paper-1/lema-2"])
    assert stop.value.code != 0
    assert "paper-1/lemma-2" in capsys.readouterr().err


def test_a_claim_without_one() -> None:
    with pytest.raises(InvalidParameter, match="counterexample"):
        verify("paper-1/theorem-1")
