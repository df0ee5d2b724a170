"""What a service that runs says of itself: ready, or in words what is wrong."""

from __future__ import annotations

import asyncio
import json
import os
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.check import check_party
from smoothdp.services.formats.card import key_config
from smoothdp.services.operations.health import Check, Condition, Health, cards_condition
from smoothdp.services.store.storage import StorageUnreachable
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.key_files import SECRETS_FILE
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.directories import party_directories
from tests.services.worlds.party_world import WINDOW
from tests.services.worlds.three_parties import HOUR, Parties


@ONLY_SQLITE
@pytest.mark.parametrize("windows", [3, 60])
def test_cards_are_red_when_no_window_to_come_has_one(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
    windows: int,
) -> None:
    """The guide, of `/readyz`: "cards: no cards for the windows to come"; the present one counted.

    Where the budget pays for no more that is as it should be.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack, windows=windows)
        parties.round()
        ahead = max(
            window
            for window in range(WINDOW, WINDOW + 48)
            if parties.shuffler.shuffler.cards.stored(window) is not None
        )
        parties.now = ahead * HOUR + 60.0
        to_come = parties.shuffler._cards_to_come()
        said = cards_condition(to_come, least=parties.shuffler._cards_wanted())
        assert (to_come, said.good) == (0, windows == 3)


def _lose_ledger(folder: Path) -> None:
    for path in folder.glob("ledger-*.db*"):
        path.unlink()


@ONLY_SQLITE
def test_an_analyser_whose_ledger_is_lost_is_not_ready(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The guide: `/readyz` answers "200, or 503 and the names of what is wrong, in words".

    The file of the ledger goes while the analyser runs: no card is made any more, and nothing can
    be released. The shuffler and the issuer see that the analyser fails; it says that all is well.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        for _ in range(2):
            parties.round()
        _lose_ledger(tmp_path / "analyzer")
        parties.analyzer.work()
        operations = parties.analyzer._operations(10.0)
        operations.rounds.good()  # As the last round was: it raised nothing.
        wrong = [name for name, check in operations.checks.items() if not check().good]
    assert wrong


@ONLY_SQLITE
def test_an_analyser_whose_ledger_is_lost_says_try_again_later(
    tmp_path: Path,
    storage_kind: str,  # noqa: ARG001
) -> None:
    """The protocol: "Refusals are RFC 9457 documents", and 503 is answered by "all that look into
    a store"; without the file of its ledger the analyser answers 500 and no document.
    """
    with ExitStack() as stack:
        parties = Parties(tmp_path, stack)
        _lose_ledger(tmp_path / "analyzer")
        window = WINDOW + 1
        token = json.loads((tmp_path / "shuffler" / SECRETS_FILE).read_text())["analyzer_token"]
        answer = httpx.put(
            f"{parties.url}/v2/gateway-keys/{parties.task.task_id.hex()}/{window}",
            content=key_config(window, PrivateKey.generate().public.to_bytes()),
            headers={"authorization": f"Bearer {token}"},
        )
    assert answer.status_code == 503, answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_what_cannot_be_written_is_not_fit_to_be_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = party_directories(tmp_path / "t")
    AnalyzerParty.from_directory(written.analyzer).close()
    ledger = next(written.analyzer.glob("ledger-*.db"))
    # As on a disk that is mounted for reading: whoever asks here may write everything else.
    monkeypatch.setattr(os, "access", lambda path, _: Path(path) != ledger)
    found = {one.name: one for one in check_party(written.analyzer)}
    assert not found["rights"].good
    assert f"{ledger.name} cannot be written" in found["rights"].says


def test_what_cannot_be_known_without_the_storage_is_not_named_beside_it() -> None:
    """A database that hangs is no loss of keys: nobody is sent to look for a file that is there."""

    def hangs() -> Condition:
        time.sleep(0.3)
        return Condition("keys", True, "there")

    def breaks() -> Condition:
        raise StorageUnreachable(expected="an answer", got="none", remedy="Wait")

    full = Condition("disk", False, "1 % free")

    def wrong(storage: Check) -> list[str]:
        checks = {"storage": storage, "keys": hangs, "cards": breaks, "disk": lambda: full}
        health = Health(checks, seconds=0.05)
        found = asyncio.run(health.conditions())
        health.close()
        return [condition.name for condition in found if not condition.good]

    assert wrong(hangs) == wrong(breaks) == ["storage", "disk"]
    assert wrong(lambda: Condition("storage", True, "answers")) == ["keys", "cards", "disk"]
