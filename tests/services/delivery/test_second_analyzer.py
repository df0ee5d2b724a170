"""The analyser that was written from the page alone, between the other parties and the client."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from smoothdp.services.client.inclusion import Standing
from tests.services.worlds.second_world import SecondWorld

YEAR = 365 * 86_400
ALL = ("analyzer", "shuffler", "issuer")


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ExitStack]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with ExitStack() as opened:
        yield opened


CASES: list[tuple[tuple[str, ...], str, dict[str, Any]]] = [
    (("analyzer",), "boolean_sum", {}),
    (("analyzer",), "boolean_sum", {"has_issuer": False}),
    (ALL, "real_sum", {"size": 4, "bounds": ("0", "1")}),
]


@pytest.mark.slow
@pytest.mark.parametrize(("second", "protocol", "more"), CASES)
def test_an_analyser_from_the_page_releases_a_window(
    tmp_path: Path,
    stack: ExitStack,
    second: tuple[str, ...],
    protocol: str,
    more: dict[str, Any],
) -> None:
    # The client reads the time itself.
    import time

    world = SecondWorld(
        tmp_path, stack, second=second, protocol=protocol, length=YEAR, now=time.time(), **more
    )
    world.rounds(3)
    window = world.send([1, 0] * 6)
    world.end(window)
    result, state = world.result(window)
    assert result is not None, state
    document = result.document
    print(document)
    assert document["users"] == 12
    assert world.look_up(window, result, 3) == Standing.INCLUDED
