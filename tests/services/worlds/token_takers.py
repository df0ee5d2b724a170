"""People who are served, and send nothing."""

from __future__ import annotations

from smoothdp.services.client.submit import prepare
from tests.services.worlds.party_world import WINDOW
from tests.services.worlds.whole_world import WholeWorld, _asking


def take_tokens(world: WholeWorld, person: str) -> None:
    """Let a person be served, and send nothing."""
    client = world.client(person)
    with (
        _asking(world._issuer_answers, ()) as issuer,
        _asking(world._shuffler_answers, ()) as shuffler,
    ):
        prepare(
            *(client, 1),
            window=WINDOW,
            shuffler=shuffler,
            issuer=issuer,
            invitation=world.invitation_of(person),
        )
