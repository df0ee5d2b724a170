"""Reports that are sent in the grace of their window, and what a person is told of them."""

from __future__ import annotations

import contextlib
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from smoothdp.cli.main import main
from smoothdp.errors import InvalidData
from smoothdp.services import take_part
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import FINAL, SENT, UNSURE, Kept
from smoothdp.services.wire.calls import ServiceError
from tests.services.page.page_person import page
from tests.services.page.page_program import needs_node
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder
from tests.services.worlds.late_person import Late
from tests.services.worlds.place import Place
from tests.services.worlds.quick_clients import hasty_world, state_of_me, submitting


def test_a_person_whose_late_report_was_sent_is_not_told_that_nothing_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The budget is spent by the very report that this command has just handed in."""
    world = IssuingWorld(tmp_path, windows=1)
    world.open_window()
    late = Late(world, monkeypatch)
    world.open_window(WINDOW + 1)
    with pytest.raises(InvalidData) as said:
        late.take_part()
    assert late.state(WINDOW) == SENT
    assert len(late.shuffler.bodies) == 2
    assert "Nothing was sent" not in str(said.value)
    world.close()


def test_a_datum_that_is_none_beside_a_late_report_is_not_said_to_be_all(
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report of the window before was sent, and then "Nothing was sent" of what was typed."""
    late = Late(world, monkeypatch)
    world.open_window(WINDOW + 1)
    with pytest.raises(InvalidData) as said:
        late.take_part("maybe")
    assert late.state(WINDOW) == SENT
    assert "Nothing was sent" not in str(said.value)


def test_a_late_report_that_is_sent_beside_an_accepted_one_is_no_nothing(
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run that sent the report of the window before said "nothing was sent now"."""
    late = Late(world, monkeypatch)
    world.open_window(WINDOW + 1)
    late.shuffler.answers.append(503)
    late.take_part()
    assert [late.state(WINDOW), late.state(WINDOW + 1)] == [FINAL, SENT]
    for name, text in (("task.json", world.task.encoded.decode()), ("p", "0a" * 48)):
        (world.folder / name).write_text(text)
    (world.folder / "i").write_text(late.secrets["invitation"])
    sent = len(late.shuffler.bodies)
    asked = ["submit", "1", "--task", f"{world.folder}/task.json", "--issuer", world.address]
    asked += ["--pass", f"{world.folder}/p", "--invitation", f"{world.folder}/i"]
    main([*asked, "--shuffler", late.shuffler.address])
    assert late.state(WINDOW) == SENT
    assert len(late.shuffler.bodies) == sent + 1
    assert "nothing was sent now" not in capsys.readouterr().err


def test_a_late_report_that_was_sent_is_told_beside_a_present_one_that_was_not(
    quick_world: IssuingWorld,
) -> None:
    """ "A report of a window before ... is sent after step 4": a person is told that it was."""
    own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": quick_world.invitation()}
    own["issuer"] = quick_world.address
    with pytest.raises(ServiceError):
        take_part(quick_world.task, 1, shuffler=Recorder(quick_world, [503]).address, **own)
    quick_world.go_to((WINDOW + 1) * HOUR + 5.0)
    quick_world.open_window(WINDOW + 1)
    with pytest.raises(ServiceError) as said:
        take_part(quick_world.task, 1, shuffler=Recorder(quick_world, [202, 503]).address, **own)
    assert f"The report of window {WINDOW} was sent now" in str(said.value)


def test_a_late_report_that_arrived_is_told_of_beside_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A budget of one window: who asks again in the grace is told of the next window's card alone.

    "The report of window 1000, not known to have arrived, was sent now" is what had happened.
    """
    world = hasty_world(tmp_path, monkeypatch, windows=1)
    try:
        shuffler = Recorder(world, [503, 202])
        asked = submitting(world, shuffler.address)
        with pytest.raises(SystemExit):
            main(asked)
        world.go_to((WINDOW + 1) * HOUR + 5.0)
        capsys.readouterr()
        with contextlib.suppress(SystemExit):
            main(asked)
        assert state_of_me(world) == SENT
        assert f"The report of window {WINDOW}" in capsys.readouterr().err
    finally:
        world.close()


def test_a_late_report_that_another_program_settles_costs_no_present_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between looking what waits and sending it the grace was over: the present one was missed."""
    with ExitStack() as stack:
        place = Place(tmp_path, stack)
        monkeypatch.setattr(Client, "waiting", lambda client: [client.window_now() - 1])
        settled = iter([UNSURE])
        kept = Client.kept

        def moved(client: Client, window: int) -> Kept | None:
            if window == client.window_now():
                return kept(client, window)
            return Kept(b"d", b"", b"", b"", b"m" * 16, next(settled))

        monkeypatch.setattr(Client, "kept", moved)
        place.submit()


@needs_node
def test_a_page_that_has_sent_a_late_report_does_not_say_that_nothing_was_sent(
    tmp_path: Path,
) -> None:
    """As with the command: the late report spends the budget, and is what was sent."""
    world = IssuingWorld(tmp_path, windows=1)
    world.open_window()
    world.open_window(WINDOW + 1)
    shuffler = Recorder(world, [503] * 5)
    said = page(
        world,
        shuffler,
        """
        const words = [await press(1)];
        now += 3000;
        words.push(await press(1, given.invitations[0], { window: given.window + 1 }));
        const rows = [...stored.rows.values()].map(({ state }) => state);
        return [words, rows];
        """,
    )
    assert said[1] == ["sent"]
    assert len(shuffler.bodies) == 6
    assert "nothing was sent" not in said[0][1]
    world.close()
