"""A person whose report is sent in the grace of its window."""

from __future__ import annotations

from typing import Any

import pytest

from smoothdp.services import take_part
from smoothdp.services.client.outcomes import FINAL, OutcomeStore
from smoothdp.services.wire.calls import ServiceError
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder
from tests.services.worlds.quick_clients import hasten


class Late:
    """A person whose report is final when the window ends, and waits for the shuffler."""

    def __init__(self, world: IssuingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
        self.world, self.shuffler = world, Recorder(world, [503])
        monkeypatch.setenv("XDG_STATE_HOME", str(world.folder / "state"))
        hasten(monkeypatch, lambda: world.now)
        self.secrets = {"pass_secret": "0a" * 48, "invitation": world.invitation()}
        with pytest.raises(ServiceError):
            self.take_part()
        assert self.state(WINDOW) == FINAL
        # The next window, and the grace of this one.
        world.go_to(world.now + HOUR - 300)

    def take_part(self, datum: Any = 1) -> Any:
        world = self.world
        return take_part(
            world.task, datum, shuffler=self.shuffler.address, issuer=world.address, **self.secrets
        )

    def state(self, window: int) -> str | None:
        store = OutcomeStore.of_user()
        row = store.get(self.world.task.task_id, window, "me")
        store.close()
        return None if row is None else row.state
