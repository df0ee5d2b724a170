"""Several people, names and accounts of one device."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.services import take_part
from smoothdp.services.wire.calls import ServiceError
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder
from tests.services.worlds.other_issuers import Between
from tests.services.worlds.place import Place
from tests.services.worlds.quick_clients import hasten, hasty_world


def test_whoever_sends_what_another_person_drew_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without --person the second one was told "Accepted", and nothing of theirs was sent."""
    with ExitStack() as stack:
        place = Place(tmp_path, stack)
        shuffler, place.shuffler = place.shuffler, "http://127.0.0.1:9"
        hasten(monkeypatch, time.time, attempts=5)
        with pytest.raises(SystemExit):
            place.submit("1")
        place.shuffler = shuffler
        (tmp_path / "pass of b").write_text(place.passes[1])
        (tmp_path / "invitation of b").write_text(place.invitations[1])
        capsys.readouterr()
        place.submit("0", **{"pass": "pass of b", "invitation": "invitation of b"})
        said = capsys.readouterr()
        assert "was drawn before" in said.err
        assert "--person" in said.err
        assert said.out == f"Accepted for window {place.window}.\n"


def test_an_invitation_that_was_used_under_another_name_is_said_to_be(
    quick_world: IssuingWorld,
) -> None:
    """Who forgets --person is told of another device, of a cleared state, and of somebody else."""
    shuffler = Recorder(quick_world)
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": quick_world.invitation()}
    asked: Callable[..., Any] = partial(
        take_part, shuffler=shuffler.address, issuer=quick_world.address, **own
    )
    asked(quick_world.task, 1, person="ann")
    with pytest.raises(ServiceError, match="This invitation was used in this window") as said:
        asked(quick_world.task, 1)
    assert "name" in str(said.value) or "person" in str(said.value)


@pytest.mark.parametrize("answer", [202, 503])
def test_whoever_is_overtaken_while_waiting_for_the_card_is_told(
    answer: int, quick_world: IssuingWorld
) -> None:
    """Two people of one account at once: "Accepted" was said to one of whom nothing was drawn."""
    shuffler = Recorder(quick_world, [answer])
    people = [
        {"pass_secret": secret, "invitation": quick_world.invitation()}
        for secret in ("0a" * 48, "0b" * 48)
    ]

    def overtakes() -> None:
        try:
            take_part(
                quick_world.task,
                1,
                shuffler=shuffler.address,
                issuer=quick_world.address,
                **people[0],
            )
        except ServiceError:
            assert answer == 503

    slow = Between(quick_world, overtakes)
    part = take_part(
        quick_world.task, 0, shuffler=shuffler.address, issuer=slow.address, **people[1]
    )
    assert len({slot for report in shuffler.reports() for slot in report.slots}) == 1
    assert part.before or part.begun


@pytest.mark.parametrize("name", ["\udcff", None, 5, b"me"])
def test_a_name_that_is_no_text_is_nobody(name: Any, world: IssuingWorld) -> None:
    with pytest.raises(InvalidParameter, match="a person's name as text"):
        world.client(name=name)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_two_accounts_of_one_device_keep_two_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Its state is the device's: who clears it begins anew".

    Nobody clears anything here: the second answer, with the same pass and invitation, comes from
    another account of the device, or a terminal that sets XDG_STATE_HOME for what runs in it. The
    state is that of an account, and a browser has one of its own; the budget is passed.
    """
    world = hasty_world(tmp_path, monkeypatch, windows=1)
    shuffler = Recorder(world)
    asked = partial(take_part, world.task, 1, shuffler=shuffler.address, issuer=world.address)
    asked = partial(asked, pass_secret="0a" * 48, invitation=world.invitation())
    asked()
    world.go_to((WINDOW + 1) * HOUR + 5.0)
    world.open_window(WINDOW + 1)
    with pytest.raises(InvalidData, match="pays for 1"):
        asked()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "other"))
    asked()
    assert len(shuffler.bodies) == 2
    world.close()
