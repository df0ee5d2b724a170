"""What an issuer learns by counting, and who has its file, or a copy of an invitation."""

from __future__ import annotations

from pathlib import Path

import pytest

from smoothdp.errors import SmoothdpError
from smoothdp.services.client.submit import prepare
from smoothdp.services.formats.report import seal_report
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.tokens.issuer_key import IssuerKey
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.page_of_threats import on_the_page
from tests.services.worlds.party_world import HOUR, WINDOW
from tests.services.worlds.signed_reports import signed_report
from tests.services.worlds.token_takers import take_tokens
from tests.services.worlds.whole_world import WholeWorld, _asking, weak_task

pytestmark = ONLY_SQLITE

SMALLEST, PEOPLE = 3, 5


@pytest.mark.parametrize("how", ["an account of its own", "tokens that are no good"])
def test_an_issuer_with_one_silent_account_sees_that_every_report_was_sent(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    how: str,
) -> None:
    """Its own one, or one that got bytes in the place of signatures: all others have sent then."""
    assert on_the_page("users = X less these in the result")
    world = WholeWorld(tmp_path, weak_task(min_batch=SMALLEST, max_batch=40), fast=True)
    world.open_window()
    if how == "an account of its own":
        take_tokens(world, "its own")
    else:
        _take_bad_tokens(world, "its own")
    answers = [world.take_part(f"person {number}") for number in range(PEOPLE)]
    said = world.end()
    world.close()
    assert answers == [202] * PEOPLE
    assert said["state"] == "RELEASED"
    assert (said["users"], said["accounts_served"]) == (PEOPLE, PEOPLE + 1)


def _take_bad_tokens(world: WholeWorld, person: str) -> None:
    """The issuer counts an account, and answers it with bytes that are no signatures."""
    sign = world.issuer.sign
    world.issuer.sign = lambda asked: bytes(len(sign(asked)))  # type: ignore[method-assign]
    with pytest.raises(SmoothdpError):
        world.take_part(person)
    world.issuer.sign = sign  # type: ignore[method-assign]


@pytest.mark.parametrize("answers", [True, False])
def test_who_has_a_copy_of_an_invitation_sees_whether_its_owner_takes_part(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    answers: bool,
) -> None:
    """A third person who asks in the last second: no owner is told, who took part or did not come,
    and who did not is served and missing.
    """
    assert on_the_page("A copy of an invitation shows, at the end of a window and unseen,")
    world = WholeWorld(tmp_path, weak_task(min_batch=SMALLEST, max_batch=40), fast=True)
    world.open_window()
    for number in range(SMALLEST):
        assert world.take_part(f"person {number}") == 202
    if answers:
        assert world.take_part("owner") == 202
    world.now = (WINDOW + 1) * HOUR - 1
    for clocks in world.clocks:
        clocks.heard(world.now)
    seen = 200
    with (
        _asking(world._issuer_answers, ()) as issuer,
        _asking(world._shuffler_answers, ()) as shuffler,
    ):
        try:
            prepare(
                *(world.client("owner", "of a stranger"), 0),
                window=WINDOW,
                shuffler=shuffler,
                issuer=issuer,
                invitation=world.invitation_of("owner"),
            )
        except SmoothdpError:
            seen = world.last_status
    again = world.take_part("owner") if answers else None
    said = world.end()
    world.close()
    assert seen == (409 if answers else 200)
    # Nobody is told: the owner has the shuffler's word, and its report is counted.
    assert again == (202 if answers else None)
    assert said["users"] == SMALLEST + answers
    assert said["accounts_served"] == SMALLEST + 1


def test_who_reads_the_issuers_file_sends_reports_that_no_account_stands_for(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """With a pass of its own for each: in the place of who is missing, else users are above X."""
    for missing, state in ((False, "QUARANTINED"), (True, "RELEASED")):
        folder = tmp_path / state
        folder.mkdir()
        world = WholeWorld(folder)
        card = world.open_window()
        for person in ("ann", "bob", "cy"):
            assert world.take_part(person, 1) == 202
        if missing:
            world.take_part("dee", 1, lose=("reports request",))
        ((secret,),) = world.issuer.storage.read("SELECT secret FROM window_key", ())
        stolen = IssuerKey.from_bytes(bytes(secret))
        slots = seal_slots([0] * world.task.slots, card)
        report = signed_report(world.task, card, slots, stolen)
        sealed = seal_report(report.encode(), card)
        assert world.post(WINDOW, world.pass_of("thief"), sealed) == 202
        document = world.end()
        world.close()
        assert (document["state"], document["accounts_served"]) == (state, 3 + missing)
