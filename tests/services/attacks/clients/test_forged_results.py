"""Results whose status and signed content disagree."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from smoothdp.services.client.collector import WindowRefused, fetch_result
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.wire.calls import ServiceError
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN, small_task

WINDOW = 7


def _asked(task: Any, status: int, body: bytes) -> SignedResult | None:
    answers = httpx.MockTransport(lambda _: httpx.Response(status, content=body))
    with httpx.Client(base_url="https://x", transport=answers) as http:
        return fetch_result(http, task, WINDOW, token="")[0]


@pytest.mark.parametrize("status", [200, 403])
def test_what_was_signed_decides_and_not_the_status(status: int) -> None:
    """Whoever is between the collector and the analyser cannot turn an end into another one."""
    task = small_task()
    own: dict[str, Any] = {"task_id": task.task_id.hex(), "window": WINDOW}
    refused = SignedResult.sign(own | {"state": "REFUSED", "reason": "few"}, ANALYZER_SIGN)
    with pytest.raises(WindowRefused):
        _asked(task, status, refused.encode())
    released = SignedResult.sign(own, ANALYZER_SIGN).encode()
    found = _asked(task, status, released)
    assert found is not None
    assert found.document == own
    for other in ({"window": WINDOW + 1}, {"task_id": bytes(32).hex()}):
        with pytest.raises(ServiceError, match="something else"):
            _asked(task, status, SignedResult.sign(own | other, ANALYZER_SIGN).encode())
    with pytest.raises(ServiceError, match="something else"):
        _asked(task, status, SignedResult.sign(own, SHUFFLER_SIGN).encode())
