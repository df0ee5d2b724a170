"""``smoothdp submit`` with a pass and an invitation, and ``smoothdp look-up``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from smoothdp.cli.main import main
from smoothdp.services import take_part
from smoothdp.services.formats.result import SignedResult
from tests.services.worlds.place import LONG, Place
from tests.services.worlds.three_parties import USERS


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with ExitStack() as stack:
        yield Place(tmp_path, stack)


def test_from_submit_to_look_up(
    place: Place,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place.submit()
    assert capsys.readouterr().out == f"Accepted for window {place.window}.\n"
    # From another folder nothing is drawn, and nothing is sent.
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    place.submit("0")
    said = capsys.readouterr()
    assert "no other is sent" in said.err
    # From another device the issuer says no, in words, and no line of it is raw JSON.
    with monkeypatch.context() as other:
        other.setenv("XDG_STATE_HOME", str(tmp_path / "another device"))
        with pytest.raises(SystemExit):
            place.submit("0")
    error = capsys.readouterr().err
    assert "was used in this window: from another device" in error
    assert "urn:" not in error

    for number in range(1, USERS):
        part = take_part(
            place.parties.task,
            number % 2,
            shuffler=place.shuffler,
            pass_secret=place.passes[number],
            invitation=place.invitations[number],
            issuer=place.issuer,
            person=str(number),
        )
        assert (part.window, part.before) == (place.window, False)
    place.parties.now = float((place.window + 1) * LONG)
    place.parties.round()
    place.parties.now += 600
    place.parties.round()
    place.parties.analyzer.work()
    asked = ["results", str(place.window), "--collector", f"{tmp_path}/collector"]
    asked += ["--analyzer", place.parties.url]
    main(asked)
    shown = json.loads(capsys.readouterr().out)
    assert shown["users"] == USERS
    main([*asked, "--signed", f"{tmp_path}/result.json"])
    assert json.loads(capsys.readouterr().out) == shown
    assert SignedResult.decode((tmp_path / "result.json").read_bytes()).document == shown
    look_up = ["look-up", str(place.window), "--task", f"{tmp_path}/shuffler/task.json"]
    look_up += ["--result", f"{tmp_path}/result.json", "--shuffler", place.shuffler]
    main(look_up)
    assert "is in the batch" in capsys.readouterr().out
    with pytest.raises(SystemExit) as left:
        main([*look_up, "--person", "nobody"])
    assert left.value.code == 1
    assert "Nothing of yours" in capsys.readouterr().out


def test_what_the_command_refuses(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    refused = {
        "which differ": {"invitation": "pass"},
        "one pass or invitation in the file": {"invitation": "nowhere"},
    }
    for words, options in refused.items():
        with pytest.raises(SystemExit):
            place.submit(**options)
        assert words in capsys.readouterr().err
    assert place.parties.issuer.issuer.storage.read("SELECT 1 FROM issued") == []
