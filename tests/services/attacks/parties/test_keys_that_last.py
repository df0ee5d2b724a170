"""Who has a copy of a party's `secrets.json` is that party, as long as the task lasts."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from smoothdp.services.analyzer.release import work
from smoothdp.services.formats.secrets import Secret, tag
from smoothdp.services.issuer.window_keys import close_windows
from smoothdp.services.operations.logs import PutOff
from smoothdp.services.shuffler.delivery import DeliveryRefused
from smoothdp.services.shuffler.ingest import Taken
from smoothdp.services.store.revoked import Revoked, revoke
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.page_of_threats import on_the_page
from tests.services.worlds.party_world import PASS_KEY, WINDOW, PartyWorld
from tests.services.worlds.shufflers_batches import hand_over
from tests.services.worlds.token_takers import take_tokens
from tests.services.worlds.whole_world import WholeWorld, weak_task

pytestmark = ONLY_SQLITE


def sent_by(world: WholeWorld, person: str) -> int:
    ((value, _),) = world.values_of(world.report_of(person), WINDOW).items()
    return value


def ones(world: WholeWorld, said: dict[str, object]) -> int:
    """Return the ones among the slots, from the published sum alone."""
    users, total = int(str(said["users"])), float(str(said["sum"]))
    flip = int(world.task.noise) / 2**64
    return round(total * (1 - 2 * flip) + users * flip)


def test_a_shuffler_with_the_issuers_invitation_key_is_not_bounded_by_the_number_served(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """An honest issuer serves people who are not there, X counts them, and what the rule asks for
    is there, however many real people were served.
    """
    assert on_the_page("of the issuer's makes invitations without end")
    world = WholeWorld(
        tmp_path, weak_task(honest_share="0.5", min_batch=4, max_batch=40), fast=True
    )
    world.open_window()
    # Six real people were served; their draws come, and five are not taken by the shuffler.
    for number in range(5):
        take_tokens(world, f"person {number}")
    assert world.take_part("target") == 202
    target = sent_by(world, "target")
    known = 0
    for number in range(7):
        # Made from the key, of an id that nobody handed out: any 16 bytes are one.
        name = f"invented {number}"
        assert world.take_part(name, 0) == 202
        known += sent_by(world, name)
    said = world.end()
    assert said["state"] == "RELEASED"
    assert (said["users"], said["accounts_served"]) == (8, 13)
    assert ones(world, said) - known == target
    world.close()


def test_an_analyser_with_the_shufflers_pass_key_needs_no_pass_of_the_shuffler(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """No list of the revoked helps: passes of ids that nobody has are as good."""
    assert on_the_page("of the shuffler's passes without end")
    world = PartyWorld(tmp_path)
    world.open_window()
    smallest = world.task.min_batch
    assert world.send(world.report(1)) is Taken.ACCEPTED
    handed_out = [
        Secret.issue(PASS_KEY, use="pass", task_id=world.task.task_id) for _ in range(smallest)
    ]
    revoke(tmp_path / "revoked", [secret.identity for secret in handed_out])
    world.shuffler._revoked = Revoked(tmp_path / "revoked")
    assert world.send(world.report(0), handed_out[0].text) is Taken.UNAUTHORIZED
    for _ in range(smallest - 1):
        made = Secret.issue(PASS_KEY, use="pass", task_id=world.task.task_id)
        assert world.send(world.report(0), made.text) is Taken.ACCEPTED
    said = world.finish(smallest)
    assert (said["state"], said["users"]) == ("RELEASED", smallest)
    world.close()


@pytest.mark.parametrize("honest", [5, 1])
def test_who_reads_the_shufflers_directory_hands_over_a_batch_in_its_place(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    honest: int,
) -> None:
    """With the signing key, the token for the analyser and the store it hands over the batch first:
    two accounts of its own and one person's slot, without a pass. Of a window with too few people
    the shuffler then says, as it was, that it destroyed the reports.
    """
    assert on_the_page("hands over a batch in its place")
    world = WholeWorld(tmp_path, weak_task(min_batch=3, max_batch=40), fast=True)
    world.open_window()
    own = ["own 0", "own 1"]
    for person in own:
        take_tokens(world, person)
    people = [f"person {number}" for number in range(honest)]
    for person in people:
        assert world.take_part(person) == 202
    target = people[-1]
    sent, known = sent_by(world, target), sum(sent_by(world, person) for person in own)

    # Read in the open window, and not written to.
    ((tag_key,),) = world.shuffler.storage.read(
        "SELECT tag_key FROM collecting WHERE window = ?", (WINDOW,)
    )
    who = bytes.fromhex(world.pass_of(target))[:16]
    ((record,),) = world.shuffler.storage.read(
        "SELECT slots FROM pending WHERE window = ? AND sender_tag = ?",
        (WINDOW, tag(bytes(tag_key), who)),
    )
    mine = [record for person in own for record in world.report_of(person).records]

    # At the end of the grace, in the seconds before the shuffler's next round.
    world.go_to((WINDOW + 1) * world.task.window_seconds + world.task.grace_seconds)
    world.clocks[-1].heard(world.now)
    assert hand_over(world, [*mine, bytes(record)], WINDOW, b"t" * 16) == [201, 201]
    (sealed,) = world.seal()
    if honest == 1:
        assert (sealed.state, world.shuffler.is_expired(WINDOW)) == ("EXPIRED", True)
    else:
        with pytest.raises(DeliveryRefused, match="409"):
            world.deliver()
    close_windows(world.issuer)
    world.tell()
    work(world.analyzer)
    said = world.result()
    assert said["state"] == "RELEASED"
    assert (said["users"], said["accounts_served"]) == (3, 2 + honest)
    assert ones(world, said) - known == sent
    world.close()


@pytest.mark.parametrize("reads", [False, True])
def test_who_reads_the_issuers_directory_says_how_many_were_served(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    reads: bool,
) -> None:
    """The analyser takes one statement of X, and the issuer's own is the second. Eight were served,
    the shuffler has three accounts of these and leaves four people out: the rule refuses that.
    """
    assert on_the_page("and says what X is")
    world = WholeWorld(
        tmp_path, weak_task(honest_share="0.5", min_batch=4, max_batch=40), fast=True
    )
    world.open_window()
    if reads:
        # No clock is looked at.
        assert world.tell_served(4) == 201
    for number in range(4):
        take_tokens(world, f"person {number}")
    own = [f"own {number}" for number in range(3)]
    for person in [*own, "target"]:
        assert world.take_part(person) == 202
    sent, known = sent_by(world, "target"), sum(sent_by(world, person) for person in own)
    world.seal()
    close_windows(world.issuer)
    with pytest.raises(PutOff, match="409") if reads else nullcontext():
        world.tell()
    world.deliver()
    work(world.analyzer)
    said = world.result()
    if reads:
        assert (said["state"], said["users"], said["accounts_served"]) == ("RELEASED", 4, 4)
        assert ones(world, said) - known == sent
    else:
        assert (said["state"], said["accounts_served"]) == ("REFUSED", 8)
    world.close()
