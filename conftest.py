"""What doctests of ``src`` need of pytest; the last words of every run: what was skipped."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from importlib.util import find_spec

import pytest
from tests.skipped import Skip, report_skipped, skip_of

# Modules whose extra is too large for `make check`.
collect_ignore = [] if find_spec("pyspark") else ["src/smoothdp/engines/spark.py"]


@pytest.fixture(scope="session", autouse=True)
def _state_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No test or doctest touches the state of whoever runs it."""
    kept = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))
    yield
    del os.environ["XDG_STATE_HOME"]
    if kept is not None:
        os.environ["XDG_STATE_HOME"] = kept


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage while tests are collected, nor later among what was: they all stay.

    Each look goes through everything that there is, which took a third of the time.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """Libraries look at the end whether anything of theirs was left."""
    gc.unfreeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let autodp warn as it is read and divides: its warnings are not ours to mend."""
    for item in items:
        if item.nodeid.startswith("src/smoothdp/interop/autodp.py"):
            item.add_marker(pytest.mark.filterwarnings("ignore"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what was skipped, why, and the command that brings it; nothing if nothing was."""
    skips = [skip_of(report) for report in terminalreporter.stats.get("skipped", [])]
    if terminalreporter.config.getoption("doctestmodules"):
        skips += [Skip(path, "could not import 'pyspark'", True) for path in collect_ignore]
    if lines := report_skipped(skips):
        terminalreporter.write_sep("=", "skipped", yellow=True)
        for line in lines:
            terminalreporter.write_line(line)
