"""What a person types: data that are none, and secrets in the wrong place."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from smoothdp.cli.main import main
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.services import take_part
from smoothdp.services.client.datum import read_datum
from smoothdp.services.client.taking_part import TakenPart
from smoothdp.services.wire.calls import ServiceError, ask, connect
from tests.services.page.page_person import page
from tests.services.page.page_program import needs_node
from tests.services.storages import ON_BOTH_STORAGES
from tests.services.worlds.issuing_world import IssuingWorld, Recorder
from tests.services.worlds.other_issuers import Between
from tests.services.worlds.quick_clients import submitting
from tests.services.worlds.small_tasks import small_task


@pytest.mark.parametrize("typed", [" a\n", "a\n"])
def test_what_is_read_is_the_choice_that_was_typed(
    typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two names that differ in a space, the standard input gave the other one."""
    task = small_task("histogram", size=2, min_batch=200, domain=(" a", "a"))
    given: list[str] = []
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))

    def note(_: Any, datum: str, **__: Any) -> TakenPart:
        given.append(datum)
        return TakenPart(1, before=False)

    monkeypatch.setattr("smoothdp.services.take_part", note)
    (tmp_path / "task.json").write_bytes(task.encoded)
    for name, text in (("p", "0a" * 48), ("i", "0b" * 48)):
        (tmp_path / name).write_text(text)
    asked = ["submit", "-", "--task", f"{tmp_path}/task.json", "--pass", f"{tmp_path}/p"]
    main([*asked, "--invitation", f"{tmp_path}/i", "--shuffler", "https://shuffler.example"])
    assert given == [typed.rstrip("\n")]


@pytest.mark.parametrize(
    "protocol",
    [
        {"protocol": "real_sum"},
        {"protocol": "split_sum", "size": 8, "bounds": ("-1", "1e50")},
        {"protocol": "histogram", "size": 3},
    ],
    ids=lambda given: str(given["protocol"]),
)
def test_what_passes_for_a_datum_can_be_drawn(protocol: dict[str, Any]) -> None:
    """A datum that is taken for one before the card, and refused after it, would be seen to be.

    So of all that can be typed nothing may pass the first look and fail in the draw.
    """
    task = small_task(**protocol)
    digits, taken = "9" * 60, 0
    typed = ["0", "-0", "1e-999", "-1e999", "1e999", digits, f"1/{digits}", f"{digits}/7", "1/0"]
    typed += [
        "1_0",
        " 1",
        "1\n",
        "+1",
        "1.",
        ".5",
        "\uff11",
        "\u0663",
        "nan",
        "inf",
        "1e",
        "\0",
        "",
    ]
    for datum in typed:
        try:
            read = read_datum(task, datum)
        except InvalidData:
            continue
        assert len(task.values(read)) == task.slots
        taken += 1
    assert taken


@pytest.mark.parametrize("datum", ["maybe", 2, 10**5000], ids=["a word", "2", "long"])
def test_a_datum_that_is_none_asks_nobody(datum: Any, quick_world: IssuingWorld) -> None:
    """ "Clients must not let their datum decide whether or when they send": the issuer sees it."""
    asked: list[str] = []
    slow = Between(quick_world, lambda: asked.append("card"))
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": quick_world.invitation()}
    with pytest.raises(InvalidData, match="Expected a whole number from 0 to 1"):
        take_part(
            quick_world.task, datum, shuffler="http://127.0.0.1:9", issuer=slow.address, **own
        )
    assert asked == []


@needs_node
def test_a_datum_that_is_none_asks_nobody_from_the_page(tmp_path: Path) -> None:
    """ "1,234" is no number to the page: who types it is seen to have asked for the card twice."""
    made = IssuingWorld(tmp_path, protocol="real_sum", bounds=("0", "5000"))
    made.open_window()
    try:
        found = page(
            made,
            Recorder(made),
            "return [await press('1,234'), asked.map(([url]) => url.split('/').at(-2))];",
        )
    finally:
        made.close()
    assert found[0] != ""
    assert found[1] == []


def test_bytes_that_are_no_text_are_not_repeated(
    quick_world: IssuingWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Python's words had the first of them."""
    typed = io.TextIOWrapper(io.BytesIO(b"\xe9t\xe9\n"), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", typed)
    asked = submitting(quick_world, "http://127.0.0.1:9")
    asked[1:2] = ["-"]
    with pytest.raises(SystemExit) as stopped:
        main(asked)
    said = capsys.readouterr()
    assert stopped.value.code == 2
    assert "as utf-8; got other bytes" in said.err
    assert "xe9" not in said.err


def test_a_part_of_a_datum_is_not_repeated(
    quick_world: IssuingWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """A datum that is none "is not repeated in the words": nor half of one without its quotes."""
    asked = submitting(quick_world, "http://127.0.0.1:9")
    asked[1:2] = ["New", "York"]
    with pytest.raises(SystemExit):
        main(asked)
    said = capsys.readouterr()
    assert "quotes" in said.err
    assert "New" not in said.err + said.out
    assert "York" not in said.err + said.out


def test_secrets_that_are_none_are_refused_before_anything_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line end stored a draw, and was called a service that does not answer."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    good, other = "0a" * 48, "0b" * 48
    for given in ((good + "\n", other), (good, "é" * 96), (good.upper(), other), (good, good)):
        with pytest.raises(InvalidParameter):
            take_part(
                small_task(),
                1,
                shuffler="https://x.example",
                pass_secret=given[0],
                invitation=given[1],
            )
    with pytest.raises(InvalidParameter, match="which differ"):
        take_part(
            small_task(),
            1,
            shuffler="https://x.example/",
            issuer="https://x.example",
            pass_secret=good,
            invitation=other,
        )
    assert not (tmp_path / "state").exists()


def test_a_secret_in_the_place_of_another_option_is_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As with --task: what a person pasted into the wrong place stays out of the words."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    secret, other = "0a" * 48, "0b" * 48
    (tmp_path / "task.json").write_bytes(small_task().encoded)
    for name, text in (("p", secret), ("i", other)):
        (tmp_path / name).write_text(text)
    right = {"--pass": "p", "--invitation": "i", "--task": "task.json"}
    usual = {name: f"{tmp_path}/{file}" for name, file in right.items()}
    usual["--shuffler"] = "https://shuffler.example"
    wrong = [("--pass", secret), ("--invitation", other), ("--shuffler", secret)]
    wrong += [("--shuffler", f"https://poll.example#{secret}"), ("--issuer", other)]
    for option, value in wrong:
        given = usual | {option: value}
        with pytest.raises(SystemExit):
            main(["submit", "1", *(part for one in given.items() for part in one)])
        error = capsys.readouterr().err
        assert secret[:48] not in error, option
        assert other[:48] not in error, option


@ON_BOTH_STORAGES
@pytest.mark.parametrize("path", ["/", "/poll/"])
def test_a_secret_in_the_path_of_an_address_is_not_repeated(path: str) -> None:
    """As in any other part of an address: "secrets in the wrong option" are "not repeated"."""
    secret = "0b" * 48
    url = f"http://127.0.0.1:1{path}{secret}"
    with (
        connect(url) as nobody,
        pytest.raises(ServiceError) as said,
    ):
        ask(nobody, "GET", "/v2")
    assert secret not in str(said.value)
