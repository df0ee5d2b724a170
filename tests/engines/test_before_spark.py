"""What is checked before Spark is asked: Java, master, columns and failures in plain words."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from smoothdp.engines import randomized_counts, run_here, summarize_column
from smoothdp.engines.spark_columns import NUMBERS, SINGLE, SLOTS, USERS, check_columns, quoted
from smoothdp.engines.spark_failures import (
    check_master,
    failure,
    is_damaged,
    java_fault,
    version_of,
)
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.queries import Median
from smoothdp.shuffle import BooleanSum

# ---- Java --------------------------------------------------------------------------------


def fake_java(folder: Path, script: str) -> Path:
    """Return a folder with a program bin/java."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return folder


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that sets JAVA_HOME and the first folder of PATH, or unsets them."""

    def use(*, home: Path | str | None, path: Path | str = "/nonexistent") -> None:
        monkeypatch.delenv("JAVA_HOME", raising=False)
        if home is not None:
            monkeypatch.setenv("JAVA_HOME", str(home))
        monkeypatch.setenv("PATH", str(path))

    return use


def test_java_home_comes_before_path(only: Any, tmp_path: Path) -> None:
    good = fake_java(tmp_path / "good", "echo 'openjdk version \"21.0.1\" 2023-10-17' >&2")
    only(home=good)
    assert java_fault() is None
    only(home=None, path=good / "bin")
    assert java_fault() is None
    only(home="/nonexistent", path=good / "bin")
    fault = str(java_fault())
    assert "got no bin/java in JAVA_HOME=/nonexistent" in fault
    assert "unset it" in fault


def test_java_that_is_missing_old_or_fails(only: Any, tmp_path: Path) -> None:
    only(home=None)
    assert str(java_fault()) == (
        "Expected Java 17 or later for Spark; got none. Install a JRE 17, or set JAVA_HOME."
    )
    only(home=fake_java(tmp_path / "fails", "exit 3"))
    assert "that fails" in str(java_fault())
    only(home=fake_java(tmp_path / "old", "echo 'java version \"1.8.0_451\"' >&2"))
    assert "got Java 8 in JAVA_HOME=" in str(java_fault())
    only(home=None, path=fake_java(tmp_path / "eleven", "echo 'openjdk version \"11\"'") / "bin")
    assert "got Java 11 in PATH" in str(java_fault())
    # Words that are not known are for Spark to judge.
    only(home=fake_java(tmp_path / "other", "echo hello"))
    assert java_fault() is None


def test_versions_of_java() -> None:
    told = 'Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "17" 2021-09-14'
    assert version_of(told) == 17
    assert version_of('openjdk version "25-ea" 2025-09-16') == 25
    assert version_of("no word") is None


# ---- the master --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "master",
    [
        *("local", "local[2]", "local[*]", "local[2,4]", "local[*, 3]", "local-cluster[2,1,1024]"),
        *("yarn", "spark://a:7077", "k8s://https://a"),
    ],
)
def test_masters(master: str) -> None:
    check_master(master)


@pytest.mark.parametrize(
    "master", ["nonsense", "", "local[x]", "local[0]", "local[]", "local[2", "spark://", None, 2]
)
def test_masters_that_are_none(master: Any) -> None:
    with pytest.raises(InvalidParameter, match="got master="):
        check_master(master)


# ---- columns -----------------------------------------------------------------------------


class Frame:
    """The schema of a frame: pairs of a name, and a type's name."""

    def __init__(self, *columns: tuple[str, str]) -> None:
        self.columns = [name for name, _ in columns]
        self.schema = {
            name: SimpleNamespace(
                dataType=SimpleNamespace(
                    typeName=lambda kind=kind: kind, simpleString=lambda kind=kind: f"{kind}<>"
                )
            )
            for name, kind in columns
        }


@pytest.mark.parametrize(
    ("kind", "refused", "words"),
    [
        (NUMBERS, "decimal", "numbers in column 'x'; got type decimal<>"),
        (NUMBERS, "string", "numbers in column 'x'; got type string<>"),
        (NUMBERS, "boolean", "numbers in column 'x'"),
        (SINGLE, "array", "single values in column 'x'; got type array<>"),
        (SINGLE, "map", "single values"),
        (SINGLE, "struct", "single values"),
        (USERS, "double", "users named by whole numbers, texts or bytes in column 'x'"),
        (SLOTS, "integer", "sealed slots in binary in column 'x'; got type integer<>"),
    ],
)
def test_columns_of_another_type(kind: Any, refused: str, words: str) -> None:
    with pytest.raises(InvalidData, match=words):
        check_columns(Frame(("a", "long"), ("x", refused)), ["x"], [kind])
    for fine in kind.types:
        check_columns(Frame(("x", fine), ("a", refused)), ["x"], [kind])


def test_columns_that_are_missing_or_there_twice() -> None:
    frame = Frame(("a", "long"), ("b", "long"), ("a", "long"))
    with pytest.raises(InvalidData, match="a column 'c'; got a, b, a"):
        check_columns(frame, ["c"], [SINGLE])
    with pytest.raises(InvalidData, match="one column 'a'; got 2"):
        check_columns(frame, ["b", "a"], [SINGLE, SINGLE])


def test_names_are_quoted() -> None:
    assert quoted("a.b c") == "`a.b c`"
    assert quoted("a`b") == "`a``b`"


# ---- failures ----------------------------------------------------------------------------


def test_failures_in_one_line() -> None:
    stack = "An error occurred while calling o42.parquet.\n: org.E: {}\n\tat a.b(C.scala:3)"
    damaged = RuntimeError(stack.format("[FAILED_READ_FILE.CANNOT_READ_FILE_FOOTER] Encountered"))
    assert failure(damaged) == "a file that is no Parquet, or a damaged one"
    assert is_damaged(damaged)
    assert not is_damaged(RuntimeError("[PATH_NOT_FOUND] no"))
    assert failure(RuntimeError(stack.format("No FileSystem"))) == "org.E: No FileSystem"
    assert failure(RuntimeError("[UNABLE_TO_INFER_SCHEMA] x")) == "a folder without Parquet files"
    assert failure(RuntimeError("")) == "RuntimeError"
    assert failure(RuntimeError("one\ntwo")) == "one"


# ---- private values and windows ----------------------------------------------------------


@pytest.mark.parametrize("value", [np.inf, np.nan, -np.inf, 1.23456e308])
def test_a_refusal_does_not_repeat_a_value(value: float) -> None:
    run = run_here([[np.array([1.0, value])]])
    with pytest.raises(InvalidData, match="one that is missing, infinite or too large") as found:
        summarize_column(run, Median((0, 1)), smoothing=1)
    assert "1.23456" not in str(found.value)


def test_a_refusal_does_not_repeat_a_user() -> None:
    protocol = BooleanSum(2, expected_random_users=1)
    users = np.array([1.5, 77.25])
    with pytest.raises(InvalidData, match="got one of type float") as found:
        randomized_counts(
            run_here([[users, np.array([0, 1])]]), protocol, key=bytes(32), column="x", window=0
        )
    assert "1.5" not in str(found.value)


@pytest.mark.parametrize("window", [-1, 1 << 64, "9", 1.5])
def test_windows_that_are_none(window: Any) -> None:
    protocol = BooleanSum(2, expected_random_users=1)
    run = run_here([[np.arange(2), np.array([0, 1])]])
    with pytest.raises(InvalidParameter, match="window"):
        randomized_counts(run, protocol, key=bytes(32), column="x", window=window)
