"""Other processes of a party, on the state of one that runs."""

from __future__ import annotations

from smoothdp.services.analyzer.analyzer import Analyzer
from smoothdp.services.analyzer.analyzer_tables import ANALYZER_SCHEMA
from smoothdp.services.shuffler.shuffler import Shuffler
from smoothdp.services.shuffler.shuffler_tables import SHUFFLER_SCHEMA
from smoothdp.services.store.erasable_keys import ErasableKeys
from tests.services.storages import open_state
from tests.services.worlds.party_world import PASS_KEY, PartyWorld
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN


def second_shuffler(world: PartyWorld) -> Shuffler:
    """Return another process of the shuffler, on the same state."""
    return Shuffler(
        open_state(world.folder, "shuffler", SHUFFLER_SCHEMA),
        task=world.task,
        keys=ErasableKeys(world.folder / "gateway.sqlite"),
        sign_key=SHUFFLER_SIGN,
        pass_key=PASS_KEY,
        clocks=world.clocks[0],
    )


def second_analyzer(world: PartyWorld) -> Analyzer:
    """Return another process of the analyser, on the same state."""
    return Analyzer(
        open_state(world.folder, "analyzer", ANALYZER_SCHEMA),
        task=world.task,
        keys=ErasableKeys(world.folder / "inner.sqlite"),
        sign_key=ANALYZER_SIGN,
        ledgers=world.folder,
        clocks=world.clocks[1],
    )
