"""Files of earlier versions are read, mean what they meant, and are written as they were.

Each folder `written_by_...` is what that version wrote (`write.py`), byte for byte. A change of a
writer that fails here needs a decision: CONTRIBUTING says which formats may change, and how.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

import smoothdp as sd
from smoothdp.errors import InvalidData
from smoothdp.report import html
from smoothdp.services import Task
from tests.formats.write import claims, make_task, plans, smoothed

FOLDERS = sorted(Path(__file__).parent.glob("written_by_*"))
# The name of a task, which every ciphertext is bound to.
TASK = "eeb7a58d5aebda947cd4565b7eae8a188e215f99c507cf527b4f1dd8c84caed7"
LEDGERS = {
    "pure": (sd.PureDP(5), sd.PureDP("53/12"), ["1/3", "1/4"]),
    "zcdp": (sd.ZCDP(2), None, ["1/3", "1/4"]),
    "mu": (sd.GaussianDP(4), None, None),
    "concentrated": (sd.ApproxDP(6, delta="1e-6"), None, None),
}

each_version = pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)


def test_there_are_some() -> None:
    assert {folder.name for folder in FOLDERS} == {"written_by_0.1.0"}


@each_version
def test_claims_and_models(folder: Path) -> None:
    lines = (folder / "claims.jsonl").read_text().splitlines()
    found = [sd.guarantee_from_json(line) for line in lines]
    assert found == [*claims(), smoothed()]
    assert [claim.to_json() for claim in found] == lines
    text = (folder / "model.json").read_text()
    assert sd.DataModel.from_json(text).vertices == smoothed().model.vertices
    assert sd.DataModel.from_json(text).to_json() == text


@each_version
@pytest.mark.parametrize("number", [1, 2])
def test_plans(folder: Path, number: int) -> None:
    text = (folder / f"plan{number}.json").read_text()
    found, today = sd.planning.plan_from_json(text), plans()[number - 1]
    fields = json.loads(text)
    assert (found.guarantee, found.n_records) == (today.guarantee, today.n_records)
    assert found.confidence == today.confidence
    assert type(found.query) is type(today.query)
    assert found.query.bounds == today.query.bounds
    assert type(found.noise).__name__ == fields["noise"]["type"]
    assert found.smoothing == Fraction(fields["smoothing"])
    assert found.rmse == fields["rmse"]
    assert len(found.runners_up) == len(fields["runners_up"])
    assert sd.planning.plan_from_json(found.to_json()) == found
    again = json.loads(found.to_json())
    for words in ("statistic", "caution"):  # sentences may be said better
        fields.pop(words)
        again.pop(words)
    # Bars were those of the window.
    fields.setdefault("covers", None if fields["confidence"] is None else "window")
    if fields["version"] == 1:
        # Other methods had a name and an error alone; each choice was a window.
        fields.pop("rivals")
        fields |= {"version": 2, "method": "window", "gaps": None, "asked": None}
        # Bars were those of the window.
        fields["covers"] = None if fields["confidence"] is None else "window"
        fields["may_change_trim"] = False
        for other in fields["runners_up"]:
            other |= {"method": "window", "gaps": None}
    assert again == fields


@each_version
@pytest.mark.parametrize("name", sorted(LEDGERS))
def test_ledgers_are_read_verified_and_charged_further(
    folder: Path, name: str, tmp_path: Path
) -> None:
    budget, left, amounts = LEDGERS[name]
    path = Path(shutil.copy(folder / f"{name}.db", tmp_path))
    ledger = sd.Ledger(path)
    assert ledger.budget == budget
    assert ledger.verify() == 2
    before = ledger.entries()
    assert {entry.library_version for entry in before} == {folder.name.removeprefix("written_by_")}
    if amounts is not None:
        assert [entry.guarantee for entry in before] == [sd.PureDP(amount) for amount in amounts]
    if left is not None:
        assert ledger.left() == left
    claim = sd.GaussianDP("0.1") if name == "mu" else sd.PureDP("0.01")
    ledger.charge(claim)
    assert ledger.verify() == 3
    assert ledger.entries()[:2] == before
    with pytest.raises(sd.errors.BudgetExceeded):
        ledger.charge(sd.GaussianDP(40) if name == "mu" else sd.PureDP(40))


@each_version
def test_ledgers_are_made_with_the_same_head(folder: Path, tmp_path: Path) -> None:
    """Budget, filter and limits stand in the head: an older program could read a new ledger."""

    def head(path: Path) -> tuple[object, ...]:
        connection = sqlite3.connect(path)
        kept = connection.execute("SELECT kept FROM ledger").fetchone()[0]
        marks = [
            connection.execute(f"PRAGMA {p}").fetchone() for p in ("application_id", "user_version")
        ]
        connection.close()
        return json.loads(kept), marks

    for name, (budget, _, _) in LEDGERS.items():
        kept = "concentrated" if name == "concentrated" else "basic"
        sd.Ledger(tmp_path / f"{name}.db", budget=budget, kept=kept)
        copy = shutil.copy(folder / f"{name}.db", tmp_path / "copy.db")
        assert head(tmp_path / f"{name}.db") == head(Path(copy))


def test_tasks_keep_their_name() -> None:
    data = (Path(__file__).parent / "task_of_format_2.json").read_bytes()
    task = Task.decode(data)
    assert task.encoded == data
    assert task.task_id.hex() == TASK
    assert (task.protocol, task.size) == ("low_communication_histogram", 3)
    assert task.domain == ("tea", "coffee", "neither")
    assert task.guarantee == sd.ApproxDP(1, delta="1e-6")
    assert make_task() == task


@each_version
def test_tasks_of_the_first_protocol_are_refused_in_words(folder: Path) -> None:
    with pytest.raises(InvalidData, match="one of format 1, an earlier protocol"):
        Task.decode((folder / "task.json").read_bytes())


@each_version
def test_what_release_printed_makes_a_report(folder: Path) -> None:
    pytest.importorskip("matplotlib")
    text = (folder / "release.json").read_text()
    page = html.report_release(text)
    assert str(json.loads(text)["n_records"]) in str(page)
