"""Shuffler and issuer written from the page alone, between the other parties and the client."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest

from smoothdp.services import issue_invitations, issue_passes, take_part
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.client.collector import fetch_result, read_collector
from smoothdp.services.client.inclusion import Standing
from smoothdp.services.client.taking_part import look_up_report
from smoothdp.services.issuer.issuer_party import IssuerParty
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.shuffler.shuffler_party import ShufflerParty
from smoothdp.services.wire.calls import ServiceError
from smoothdp.services.wire.running import on_loopback
from tests.services.worlds.directories import party_directories
from tests.services.worlds.second_issuer import SecondIssuer
from tests.services.worlds.second_shuffler import SecondShuffler

pytestmark = pytest.mark.slow

YEAR = 365 * 86_400


@pytest.mark.parametrize(
    ("parties", "protocol", "more"),
    [
        ({"shuffler"}, "boolean_sum", {}),
        ({"shuffler", "issuer"}, "real_sum", {"size": 4, "bounds": ("0", "1")}),
        ({"shuffler"}, "boolean_sum", {"has_issuer": False}),
        ({"issuer"}, "boolean_sum", {}),
    ],
)
def test_parties_from_the_page_serve_a_window(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    parties: set[str],
    protocol: str,
    more: dict[str, Any],
) -> None:
    """Cards, reports, a second report, a batch that is released, and one that is too small."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = party_directories(tmp_path, protocol, window_seconds=YEAR, windows=3, **more)
    task, now = made.task, [time.time()]
    clocks = ClockGuard(wall=lambda: now[0], boot=lambda: now[0] - 1000)
    with ExitStack() as stack:
        analyzer = AnalyzerParty.from_directory(made.analyzer, clocks=clocks)
        stack.callback(analyzer.close)
        url = stack.enter_context(on_loopback(analyzer.app(work_seconds=3600)))
        who: dict[str, Any] = {}
        works: list[Callable[[], object]] = [analyzer.work]
        for name, second, first in (
            ("issuer", SecondIssuer, IssuerParty),
            ("shuffler", SecondShuffler, ShufflerParty),
        ):
            folder = tmp_path / name
            if not folder.is_dir():
                continue
            if name in parties:
                own = json.loads((folder / "secrets.json").read_text())
                other = second(task.encoded, own, url, now=lambda: now[0])
                works.insert(0, other.round)
                who[name] = stack.enter_context(other.listening())
            else:
                party = first.from_directory(folder, clocks=clocks)
                stack.callback(party.close)
                works.insert(0, partial(party.work, url))
                who[name] = stack.enter_context(on_loopback(party.app(url, work_seconds=3600)))
        address = who["shuffler"]
        invitations = issue_invitations(made.issuer, 13) if task.signed else [""] * 13
        for work in [*works, *works, *works]:
            work()
        passes = issue_passes(made.shuffler, 13)
        for number, (ticket, invitation) in enumerate(zip(passes, invitations, strict=True)):
            secrets = {"pass_secret": ticket, "invitation": invitation} | who
            if number == 12:
                # The same pass again: another report, which is refused.
                secrets["pass_secret"] = passes[0]
                with pytest.raises(ServiceError, match="Another report came with this pass"):
                    take_part(task, 1, person=f"person {number}", **secrets)
                break
            part = take_part(task, number % 2, person=f"person {number}", **secrets)
        now[0] = (part.window + 1) * YEAR + 601.0
        for work in [*works, *works]:
            work()
        read, token = read_collector(made.collector)
        with httpx.Client(base_url=url) as http:
            result, state = fetch_result(http, read, part.window, token=token)
        assert result is not None, state
        document = result.document
        assert (document["users"], document["invalid_slots"]) == (12, 0)
        assert document["accounts_served"] == (13 if task.signed else None)
        said = [
            look_up_report(
                task, part.window, result=result.encode(), shuffler=address, person=f"person {at}"
            )
            for at in (0, 11, 12)
        ]
        assert said == [Standing.INCLUDED] * 2 + [Standing.NOT_THERE]
        # Nobody came in the next one: it is destroyed, and that is what its marks say.
        now[0] += YEAR
        for work in works:
            work()
        marks = f"{address}/v2/tasks/{task.task_id.hex()}/marks/{part.window + 1}"
        assert httpx.head(marks).status_code == 410
