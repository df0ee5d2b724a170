"""A thirteenth round of attacks on clients: who is told that an issuer has seen a pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import SmoothdpError
from smoothdp.services import take_part
from smoothdp.services.issuer.issuer_web import issuer_app
from smoothdp.services.wire.calls import ServiceError
from smoothdp.services.wire.running import on_loopback
from tests.services.worlds.issuing_world import HOUR, WINDOW, Recorder
from tests.services.worlds.quick_clients import hasty_world


@pytest.mark.parametrize("why", ["spent", "no card"])
def test_who_shows_the_pass_to_another_address_of_the_issuer_at_a_late_report_is_told(
    why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "What is printed after the issuer's answer, ... 404 at another address of it, says so."

    The shuffler was away in a window that is the last one that the budget pays for, or of which the
    next has no card. In the grace the issuer's other address is given as the shuffler's: the late
    report goes there, with the pass, and the words are of the present window alone.
    """
    world = hasty_world(tmp_path, monkeypatch, windows=1 if why == "spent" else 20)
    try:
        own: dict[str, Any] = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
        with pytest.raises(ServiceError):
            take_part(
                *(world.task, 1),
                shuffler=Recorder(world, [503]).address,
                issuer=world.address,
                **own,
            )
        world.go_to((WINDOW + 1) * HOUR + 5.0)
        if why == "spent":
            world.open_window(WINDOW + 1)
        shown: list[str] = []

        async def watched(scope: Any, receive: Any, send: Any) -> None:
            shown.extend(v.decode() for k, v in scope.get("headers", ()) if k == b"authorization")
            await issuer_app(world.issuer)(scope, receive, send)

        app: Any = watched
        with on_loopback(app) as another, pytest.raises(SmoothdpError) as said:
            take_part(world.task, 1, shuffler=another, issuer=world.address, **own)
        assert f"Bearer {own['pass_secret']}" in shown
        assert "your pass" in str(said.value), str(said.value)
    finally:
        world.close()
