"""The demonstration: three parties in processes of their own, and a client for each datum."""

from __future__ import annotations

from pathlib import Path

import pytest

from smoothdp.services import ServiceError, compare, demonstrate
from smoothdp.services.demo import demonstration
from tests.services.worlds.party_threads import STARTED, party_thread


@pytest.mark.slow
def test_three_processes_and_300_clients(tmp_path: Path) -> None:
    said: list[str] = []
    data = [1, 0, 0] * 100
    done = demonstrate(data, directory=tmp_path, say=said.append)
    document = done.document
    assert document["users"] == document["accounts_served"] == done.found == 300
    # The stated error fails with .05; three times as wide, practically never.
    assert abs(document["sum"] - 100) <= 3 * document["error_of_sum"]
    assert "A shuffler with 299 accounts, an analyser with 299 passes" in document["sentence"]
    assert "100" in compare(done, data)
    assert any("clients have sent 1 sealed slots each" in line for line in said)
    # No key of the window is left in the files of any party.
    for name in ("shuffler/gateway.sqlite", "analyzer/inner.sqlite"):
        assert len((tmp_path / name).read_bytes()) > 0


def test_a_demonstration_without_an_issuer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(STARTED, party_thread)
    done = demonstrate([1, 0] * 6, epsilon="2", delta="0.01", honest_share="1", has_issuer=False)
    assert done.document["users"] == done.found == 12
    assert done.document["accounts_served"] is None
    assert "The shuffler alone, which can fill a batch" in done.document["sentence"]


def test_a_demonstration_without_a_result_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(STARTED, party_thread)
    monkeypatch.setattr(demonstration, "fetch_result", lambda *_, **__: (None, "open"))
    card, seconds = demonstration.wait_for_card, 300.0

    def then_hurry(*arguments: object) -> None:
        card(*arguments)  # type: ignore[arg-type]
        monkeypatch.setattr(demonstration, "_MOST_SECONDS", 0.2)

    monkeypatch.setattr(demonstration, "wait_for_card", then_hurry)
    assert seconds == demonstration._MOST_SECONDS
    with pytest.raises(ServiceError, match="a result within five minutes; got none"):
        demonstrate([1, 0] * 6, epsilon="2", delta="0.01", honest_share="1", has_issuer=False)
