"""Public names: each in one room, documented, with its source; the root has those of daily use."""

from __future__ import annotations

import inspect
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import smoothdp as sd
from smoothdp.sources import Source, bibtex

pytestmark = pytest.mark.smoke

ROOT = Path(sd.__file__).parent

# Rooms that the required dependencies load.
ROOMS = (
    "claims",
    "composition",
    "data",
    "errors",
    "interop",
    "keys",
    "ledger",
    "mechanisms",
    "noise",
    "paper_bounds",
    "planning",
    "queries",
    "report",
    "selection",
    "shuffle",
    "smoothed",
    "tables",
    "training_runs",
)

# Values and results: nothing in them is somebody's theorem.
NEED_NO_SOURCE = {
    "Account",
    "CentralLimitEstimate",
    "ChordProfile",
    "Collection",
    "ComposedProfile",
    "CsvFormat",
    "DataModel",
    "DeltaInterval",
    "ErrorPoint",
    "HasLossLaws",
    "HtmlReport",
    "ImportedLosses",
    "LossBracket",
    "LossLaw",
    "LossLaws",
    "Measurement",
    "Neighbours",
    "NoiseTable",
    "Pair",
    "PrivacyProfile",
    "Release",
    "ReleasedTable",
    "SampleDesign",
    "SeededRandom",
    "SmoothedDelta",
    "StrataDelta",
    "SystemRandom",
    "TableCheck",
    "TableSpec",
    "TradeoffFunction",
}
# Of other rooms: parts of values, and what a family shares.
PARTS = {
    "Alternative",
    "Amount",
    "Bound",
    "Calibration",
    "Entry",
    "Explanation",
    "Filter",
    "Guarantee",
    "HistogramEstimate",
    "Message",
    "NoiseDistribution",
    "ParameterSpec",
    "Query",
    "Replaced",
    "RunCount",
    "ShuffleProtocol",
    "Spending",
    "Statistic",
}


def root_names() -> dict[str, Any]:
    """Return the names of daily use: what is in the root and is no room."""
    names = [name for name, home in sd._HOMES.items() if home != "smoothdp"]
    return {name: getattr(sd, name) for name in names}


def rooms() -> list[str]:
    """Return the rooms that the root has; of some the extra may be missing."""
    return [name for name, home in sd._HOMES.items() if home == "smoothdp"]


def room_names() -> dict[str, Any]:
    """Return the names of the rooms, as room.name."""
    faces = [(room, import_module(f"smoothdp.{room}")) for room in ROOMS]
    return {f"{room}.{name}": getattr(m, name) for room, m in faces for name in m.__all__}


def test_all_is_sorted_and_complete() -> None:
    assert sd.__all__ == sorted(set(sd.__all__)) == dir(sd)
    assert all(hasattr(sd, name) for name in root_names())
    assert all((ROOT / name).is_dir() or (ROOT / f"{name}.py").is_file() for name in rooms())


def test_a_name_is_written_once() -> None:
    text = (ROOT / "__init__.py").read_text(encoding="utf-8")
    for name in sd.__all__:
        assert text.count(f"        {name} as {name},\n") == 1, name


def test_the_root_has_the_names_of_daily_use_alone() -> None:
    """About 45 names and the rooms: what else is public is in its room."""
    assert len(root_names()) <= 50
    for name in ("InvalidData", "largest_sample", "noise_table", "SmoothNoise"):
        assert not hasattr(sd, name)


def test_a_public_name_has_one_home() -> None:
    """No two rooms export one object."""
    named = [(n, v) for n, v in room_names().items() if hasattr(v, "__qualname__")]
    homes = Counter(value for value, _ in {(value, name.split(".")[0]) for name, value in named})
    assert [name for name, value in named if homes[value] > 1] == []


@pytest.mark.parametrize("name", sorted({**root_names(), **room_names()}))
def test_name_is_documented(name: str) -> None:
    value = {**root_names(), **room_names()}[name]
    if inspect.isclass(value) or inspect.isfunction(value):
        assert inspect.getdoc(value), f"{name} has no docstring"


@pytest.mark.parametrize("name", sorted({**root_names(), **room_names()}))
def test_claims_and_mechanisms_name_their_source(name: str) -> None:
    value = {**root_names(), **room_names()}[name]
    if not inspect.isclass(value) or issubclass(value, Exception):
        return
    if name.rpartition(".")[2] in NEED_NO_SOURCE | PARTS:
        return
    source = vars(value)["source"]
    assert isinstance(source, Source)
    assert bibtex(source.key).startswith("@")


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = sd.nothing
