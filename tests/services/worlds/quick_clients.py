"""People of `take_part` who do not wait between two attempts, at the time of a world."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from smoothdp.services.client import taking_part
from smoothdp.services.client.client import Client
from smoothdp.services.client.submit import hand_in, prepare


def hasten(monkeypatch: pytest.MonkeyPatch, now: Callable[[], float], **how: Any) -> None:
    """Give `take_part` a clock, and no pauses; nobody is asked twice unless ``how`` says so."""
    how = {"attempts": 1} | how
    monkeypatch.setattr(taking_part, "Client", partial(Client, clock=now))
    for step in (prepare, hand_in):
        quick = partial(step, pause=lambda _: None, **how)
        monkeypatch.setattr(taking_part, step.__name__, quick)
