"""People whose secrets are replaced in a window: they are two accounts in it, as the page says."""

from __future__ import annotations

from math import comb, exp
from pathlib import Path

import pytest

from smoothdp.cli.main import main
from smoothdp.services import issue_passes, make_keys
from smoothdp.services.formats.marks import MarksFile, mark_of
from smoothdp.services.formats.secrets import Secret
from smoothdp.services.formats.task import Task
from smoothdp.services.store.revoked import Revoked, revoke
from tests.services.page.page_person import page
from tests.services.page.page_program import needs_node
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.issuing_world import IssuingWorld, Recorder
from tests.services.worlds.page_of_threats import on_the_page
from tests.services.worlds.party_world import PASS_KEY, WINDOW
from tests.services.worlds.small_tasks import small_task
from tests.services.worlds.whole_world import WholeWorld

pytestmark = ONLY_SQLITE


def replaced(world: WholeWorld, person: str, *, passes: bool = True) -> None:
    """Revoke what a person has lost: under another name the world has new secrets for it."""
    identity = [person.encode().rjust(16)]
    revoke(world.folder / "revoked", identity)
    if passes:
        world.shuffler._revoked = Revoked(world.folder / "passes")
        revoke(world.folder / "passes", identity)


def three_send(tmp_path: Path) -> WholeWorld:
    world = WholeWorld(tmp_path)
    world.open_window()
    assert [world.take_part(person, 1) for person in ("ann", "bob", "cy")] == [202] * 3
    return world


def test_who_gets_both_secrets_anew_in_a_window_is_counted_twice(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Why the page says when to hand them out; the old ones are good for nothing."""
    assert on_the_page("new secrets for it are handed out once that window and its grace are over")
    world = three_send(tmp_path)
    before = world.report_of("ann")
    replaced(world, "ann")
    assert world.take_part("ann", device="found by a thief") == 401
    assert world.take_part("ann again", 1, device="new device") == 202
    document = world.end()
    marks = world.shuffler.marks(WINDOW)
    world.close()
    assert marks is not None
    assert all(mark_of(slot) in MarksFile.decode(marks) for slot in before.slots)
    assert (document["state"], document["users"]) == ("RELEASED", 4)


def test_a_shuffler_counts_somebody_twice_whose_invitation_alone_was_replaced(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """A true one answers 409; another one takes the second report under a pass of its own."""
    assert on_the_page("count somebody twice, who has one invitation in the window")
    assert on_the_page("or by a shuffler that gives the second report a pass of its own")
    world = three_send(tmp_path)
    replaced(world, "ann", passes=False)
    before, own = len(world.sent), world.pass_of
    monkeypatch.setattr(world, "pass_of", lambda who: own("ann" if who == "ann again" else who))
    assert world.take_part("ann again", 1, device="new device") == 409
    other = Secret.issue(PASS_KEY, use="pass", task_id=world.task.task_id).text
    ((window, _, sealed),) = world.sent[before:]
    assert world.post(window, other, sealed) == 202
    document = world.end()
    world.close()
    assert (document["state"], document["users"]) == ("RELEASED", 4)


def test_a_pass_alone_that_is_replaced_makes_nobody_two(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = three_send(tmp_path)
    world.shuffler._revoked = Revoked(world.folder / "passes")
    revoke(world.folder / "passes", [b"ann".rjust(16)])
    own = world.invitation_of
    monkeypatch.setattr(
        world, "invitation_of", lambda who: own("ann" if who == "ann again" else who)
    )
    assert world.take_part("ann again", 1, device="new device") == 409
    document = world.end()
    world.close()
    assert (document["state"], document["users"]) == ("RELEASED", 3)


@needs_node
def test_a_browser_both_of_whose_links_are_replaced_answers_twice(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    assert on_the_page("with a pass anew, from one browser too")
    world = IssuingWorld(tmp_path, windows=1)
    world.open_window()
    recorder = Recorder(world, [202, 202])
    page(
        world,
        recorder,
        """
        const [lost, again] = given.invitations;
        await press(1, lost, { pass: "a".repeat(96), attempts: 1 });
        await press(1, again, { pass: "b".repeat(96), attempts: 1 });
        return 0;
        """,
    )
    reports = {report.encode() for report in recorder.reports()}
    world.close()
    assert len(reports) == 2


def test_who_revokes_is_told_when_to_hand_out_others(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    storage_kind: str,  # noqa: ARG001
) -> None:
    make_keys("shuffler", tmp_path / "shuffler")
    (tmp_path / "shuffler" / "task.json").write_bytes(small_task().encoded)
    (secret,) = issue_passes(tmp_path / "shuffler", 1)
    (tmp_path / "lost").write_text(secret)
    main(["task", "revoke", str(tmp_path / "shuffler"), str(tmp_path / "lost")])
    said = capsys.readouterr().out
    assert said.startswith("1 revoked.\nHand out others")
    assert "when the open window and its grace are over" in said


# ---- what is left to who answers twice


def ones(users: int, of_one: int, flip: float) -> list[float]:
    """Return the law of the ones after flips, of so many who hold a 1."""
    high = [comb(of_one, k) * (1 - flip) ** k * flip ** (of_one - k) for k in range(of_one + 1)]
    low = [
        comb(users - of_one, k) * flip**k * (1 - flip) ** (users - of_one - k)
        for k in range(users - of_one + 1)
    ]
    law = [0.0] * (users + 1)
    for k, p in enumerate(high):
        for m, q in enumerate(low):
            law[k + m] += p * q
    return law


def delta(first: list[float], second: list[float], epsilon: float) -> float:
    factor = exp(epsilon)
    return max(
        sum(max(0.0, p - factor * q) for p, q in zip(first, second, strict=True)),
        sum(max(0.0, q - factor * p) for p, q in zip(first, second, strict=True)),
    )


def left(task: Task, honest: int, answers: int) -> float:
    """Return epsilon at delta 1e-6 of who has so many answers, others' data on a grid of 20."""
    flip, others = int(task.noise) / 2**64, honest - answers
    pairs = [
        (ones(honest, k, flip), ones(honest, k + answers, flip)) for k in range(0, others + 1, 20)
    ]
    low, high = 0.0, 5.0
    while high - low > 1e-3:
        middle = (low + high) / 2
        kept = all(delta(*pair, middle) <= 1e-6 for pair in pairs)
        low, high = (low, middle) if kept else (middle, high)
    return high


def test_two_answers_of_a_window_leave_what_the_page_says(
    storage_kind: str,  # noqa: ARG001
) -> None:
    """By the law of the flips alone, for the first table of the page."""
    task = small_task(min_batch=200, epsilon="1", delta="1e-6", honest_share="0.9")
    assert left(task, 180, 1) == pytest.approx(1, abs=2e-3)
    assert left(task, 180, 2) == pytest.approx(2.187, abs=2e-3)
    assert on_the_page("the promise of two answers is left: epsilon 2.19 at delta 1e-6")
