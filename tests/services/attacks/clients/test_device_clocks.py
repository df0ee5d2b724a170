"""Devices whose clock is wrong, or goes on while they wait."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from smoothdp.cli.main import main
from smoothdp.errors import SmoothdpError
from smoothdp.services import take_part
from smoothdp.services.client import taking_part
from smoothdp.services.client.outcomes import ANSWERED, DESTROYED
from smoothdp.services.formats.marks import MARK_BYTES
from smoothdp.services.wire.calls import ServiceError
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder, send
from tests.services.worlds.quick_clients import hasten, state_of_me, submitting


def _slow_prepare(world: IssuingWorld, monkeypatch: pytest.MonkeyPatch, now: float) -> None:
    """Let the first half of taking part last until a time."""
    prepare = vars(taking_part)["prepare"]

    def slow(*given: Any, **more: Any) -> None:
        prepare(*given, **more)
        world.go_to(now)

    monkeypatch.setattr(taking_part, "prepare", slow)


def test_a_window_that_ends_while_tokens_are_waited_for_is_not_one_before(
    quick_world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`late` are "windows before", whose report "was not known to have arrived"."""
    shuffler = Recorder(quick_world, [202])
    own = {"pass_secret": "0a" * 48, "invitation": quick_world.invitation()}
    quick_world.go_to((WINDOW + 1) * HOUR - 5.0)
    _slow_prepare(quick_world, monkeypatch, (WINDOW + 1) * HOUR + 5.0)
    part = take_part(
        quick_world.task, 1, shuffler=shuffler.address, issuer=quick_world.address, **own
    )
    assert (part.window, part.before, part.begun) == (WINDOW, False, False)
    assert len(shuffler.bodies) == 1
    assert WINDOW not in part.late


def test_a_report_that_had_arrived_is_not_said_to_be_destroyed(quick_world: IssuingWorld) -> None:
    """The clock of the device was ahead for a while, after "Accepted": then it is asked again."""
    shuffler = Recorder(quick_world)
    own = {"pass_secret": "0a" * 48, "invitation": quick_world.invitation()}
    asked = partial(take_part, quick_world.task, 1, shuffler=shuffler.address, **own)
    asked(issuer=quick_world.address)
    now = quick_world.now
    quick_world.now = now + 5 * HOUR
    with pytest.raises(SmoothdpError):
        asked(issuer=quick_world.address)
    quick_world.now = now
    assert state_of_me(quick_world) == "marks"
    said = ""
    try:
        assert asked(issuer=quick_world.address).before
    except SmoothdpError as error:
        said = str(error)
    assert "destroyed" not in said
    assert "Take part in the next window" not in said


def test_a_report_that_had_arrived_is_not_said_to_have_not(
    quick_world: IssuingWorld, capsys: pytest.CaptureFixture[str]
) -> None:
    """The shuffler stored it, and its answer was lost on the way."""
    shuffler = Recorder(quick_world, [503])  # stands for an answer that was lost: the body was read
    asked = submitting(quick_world, shuffler.address)
    with pytest.raises(SystemExit):
        main(asked)
    assert len(shuffler.bodies) == 1
    quick_world.go_to((WINDOW + 1) * HOUR + 5.0)
    quick_world.open_window(WINDOW + 1)
    capsys.readouterr()
    main(asked)
    assert "which had not arrived" not in capsys.readouterr().err


def test_a_clock_that_is_days_off_is_named_where_there_is_no_card(
    quick_world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "Set this machine's clock right": days away there is no card, and no more was said.

    The device is the one party that sees which time it has.
    """
    hasten(monkeypatch, lambda: quick_world.now - 5 * 24 * HOUR)
    with pytest.raises(ServiceError) as said:
        take_part(
            *(quick_world.task, 1),
            shuffler=Recorder(quick_world).address,
            issuer=quick_world.address,
            pass_secret="0a" * 48,
            invitation=quick_world.invitation(),
        )
    assert "clock" in str(said.value)


def test_a_word_of_the_shuffler_that_comes_late_is_kept(world: IssuingWorld) -> None:
    """Somebody else's run settled the window meanwhile: the look-up denied that it ever came."""
    shuffler, client = Recorder(world), world.client()
    hand_in = client.accepted

    def meanwhile(window: int) -> None:
        world.now += 2 * HOUR
        world.client(name="another person").settle()
        hand_in(window)

    client.accepted = meanwhile  # type: ignore[method-assign]
    send(world, client, shuffler, invitation=world.invitation())
    row = client.kept(WINDOW)
    assert row is not None
    assert row.state == ANSWERED
    assert row.acknowledged
    assert row.report == b""
    assert len(row.marks) == MARK_BYTES
    # What the shuffler said that it destroyed stays so.
    client.destroyed(WINDOW)
    hand_in(WINDOW)
    assert client.spent() == []
    row = client.kept(WINDOW)
    assert row is not None
    assert row.state == DESTROYED
