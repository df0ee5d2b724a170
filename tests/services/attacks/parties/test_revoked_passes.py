"""A pass that is revoked in the window that it was used in, a stolen one, marks after a month."""

from __future__ import annotations

import secrets
from pathlib import Path

import httpx
import pytest

from smoothdp.errors import InvalidData
from smoothdp.services.client.inclusion import look_up
from smoothdp.services.client.submit import _SHUFFLER
from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.formats.secrets import Secret
from smoothdp.services.shuffler.shuffler import KEPT_SECONDS
from smoothdp.services.shuffler.shuffler_web import shuffler_app
from smoothdp.services.store.revoked import Revoked, revoke
from smoothdp.services.wire.running import on_loopback
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.page_of_threats import on_the_page
from tests.services.worlds.party_world import DAY, HOUR, PASS_KEY, WINDOW
from tests.services.worlds.whole_world import WholeWorld

PEOPLE = ("ann", "bob", "cy")


def send(world: WholeWorld, url: str, report: Report, secret: str) -> int:
    """Send a report to the shuffler over HTTP; return the status."""
    headers = {
        "authorization": f"Bearer {secret}",
        "content-type": "application/vnd.esa.sealed-report",
    }
    sealed = seal_report(report.encode(), world.card())
    path = f"{url}/v2/reports/{world.task.task_id.hex()}/{WINDOW}"
    return httpx.post(path, content=sealed, headers=headers, trust_env=False).status_code


@ONLY_SQLITE
def test_what_came_with_a_pass_stays_in_a_window_in_which_it_is_revoked(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The issuer's side sends a report of its own with the pass that ann showed it. The pass is
    revoked in the same window, and she sends with another one: the batch has both.
    """
    assert on_the_page("a report that came with it stays, beside its owner's under a new pass")
    world = WholeWorld(tmp_path)
    world.open_window()
    world.shuffler._revoked = Revoked(tmp_path / "passes")
    shown, fresh = (
        world.pass_of("ann"),
        Secret.issue(PASS_KEY, use="pass", task_id=world.task.task_id),
    )
    for person in ("invented", *PEOPLE):
        world.take_part(person, lose=("reports request",))
    with on_loopback(shuffler_app(world.shuffler)) as url:
        assert send(world, url, world.report_of("invented"), shown) == 202
        revoke(tmp_path / "passes", [b"ann".rjust(16)])
        assert send(world, url, world.report_of("invented"), shown) == 401
        assert send(world, url, world.report_of("ann"), fresh.text) == 202
        for person in ("bob", "cy"):
            assert send(world, url, world.report_of(person), world.pass_of(person)) == 202
    document = world.end()
    world.close()
    assert (document["state"], document["users"]) == ("RELEASED", len(PEOPLE) + 1)


@ONLY_SQLITE
def test_a_stolen_pass_alone_keeps_its_owner_out_of_a_window(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """Five reports of random bytes, without invitation, account or token; the owner's good one is
    then refused without a look, and a window hardly above its smallest batch is destroyed.
    """
    assert on_the_page("Where the window is hardly above the smallest batch it is then destroyed")
    world = WholeWorld(tmp_path)
    card = world.open_window()
    for person in PEOPLE:
        world.take_part(person, lose=("reports request",))
    stolen = world.pass_of("ann")
    with on_loopback(shuffler_app(world.shuffler)) as url:
        for _ in range(5):
            slots = tuple(sorted(secrets.token_bytes(52) for _ in range(world.task.slots)))
            junk = Report(card.digest, slots, tuple(secrets.token_bytes(256) for _ in slots))
            assert send(world, url, junk, stolen) == 403
        for person, status in zip(PEOPLE, (429, 202, 202), strict=True):
            assert send(world, url, world.report_of(person), world.pass_of(person)) == status
    world.seal()
    assert world.shuffler.is_expired(WINDOW)
    world.close()


@ONLY_SQLITE
def test_who_uses_somebodys_pass_first_with_an_account_of_its_own_takes_its_owners_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = WholeWorld(tmp_path)
    world.open_window()
    own = world.pass_of
    with monkeypatch.context() as stolen:
        stolen.setattr(world, "pass_of", lambda _: own("owner"))
        assert world.take_part("thief") == 202
    assert world.take_part("owner") == 409
    assert "If they were not yours, somebody else has your pass" in _SHUFFLER[409]
    for person in PEOPLE[:2]:
        assert world.take_part(person) == 202
    result = world.end()
    assert (result["state"], result["users"], result["accounts_served"]) == ("RELEASED", 3, 4)
    world.close()


@ONLY_SQLITE
def test_who_was_left_out_does_not_see_it_after_thirty_days(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """A shuffler that left ann out and is honest in all else shows no marks then, and nothing that
    was signed tells her.
    """
    assert on_the_page("in the marks, for 30 days after the window's grace")
    world = WholeWorld(tmp_path)
    world.open_window()
    for person in (*PEOPLE, "dee"):
        assert world.take_part(person) == 202
    with world.shuffler.storage.transaction() as change:
        tag = change.execute("SELECT sender_tag FROM pending LIMIT 1")[0][0]
        change.change("DELETE FROM pending WHERE sender_tag = ?", (tag,))
    world.end()
    marks = world.shuffler.marks(WINDOW)
    assert marks is not None
    signed = world.analyzer.storage.read("SELECT body FROM release")[0][0]
    said = [
        look_up(
            world.task, WINDOW, world.client(one).kept(WINDOW), result=bytes(signed), marks=marks
        )
        for one in (*PEOPLE, "dee")
    ]
    assert [one.name for one in said].count("LEFT_OUT") == 1
    world.go_to((WINDOW + 1) * HOUR + world.task.grace_seconds + KEPT_SECONDS + DAY)
    world.shuffler.forget_old()
    assert world.shuffler.marks(WINDOW) is None
    with pytest.raises(InvalidData):
        look_up(
            *(world.task, WINDOW, world.client(PEOPLE[0]).kept(WINDOW)),
            result=bytes(signed),
            marks=b"",
        )
    world.close()
