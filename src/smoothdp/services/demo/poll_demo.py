"""A poll on one machine: made-up participants, and one more in a real browser."""

from __future__ import annotations

import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.client.datum import read_datum
from smoothdp.services.demo.demonstration import wait_for_card, wait_for_result
from smoothdp.services.demo.party_process import MovedClocks
from smoothdp.services.formats.card import Card, SignedCard
from smoothdp.services.formats.design.agreeing import agree_on_one_host
from smoothdp.services.formats.report import Report, seal_report
from smoothdp.services.formats.slot_tokens import SlotTokens
from smoothdp.services.formats.slots import seal_slots
from smoothdp.services.formats.task import Task
from smoothdp.services.issuer.issuer import Account
from smoothdp.services.issuer.issuer_party import IssuerParty, issue_invitations
from smoothdp.services.operations.clock_guard import ClockGuard
from smoothdp.services.shuffler.ingest import OpenedReport, Taken
from smoothdp.services.shuffler.poll_routes import poll_link, poll_routes
from smoothdp.services.shuffler.published_results import PUBLISHED, publish
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_passes
from smoothdp.services.tokens.token import SEED_BYTES
from smoothdp.services.wire.running import free_port, on_loopback

POLL_QUESTION = "Have you ever run a program whose results you did not check?"
POLL_MADE_UP = tuple(int(user % 3 == 0) for user in range(200))
_DAY = 86_400
_GRACE_SECONDS = 3_600
_WORK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Poll:
    """A poll that is open: give a link and an invitation to a browser, then `close` it.

    Attributes:
        link: the address of the page with a pass, for one participant.
        invitation: of the same participant; typed into the page.
        task: what is collected.
        close: lets the window end, publishes the result, and returns its document.
        answered: how many people's reports the shuffler has.
        invite: returns link and invitation of one more participant.
    """

    link: str
    invitation: str
    task: Task
    close: Callable[[], dict[str, Any]]
    answered: Callable[[], int]
    invite: Callable[[], tuple[str, str]]


@contextmanager
def poll_on_loopback(
    *,
    question: str = POLL_QUESTION,
    made_up: Sequence[Any] = POLL_MADE_UP,
    protocol: str = "boolean_sum",
    epsilon: str = "1",
    delta: str = "1e-6",
    bounds: Sequence[str] = (),
    domain: Sequence[str] = (),
    size: int | None = None,
    windows: int = 1,
    host_name: str = "localhost",
    has_issuer: bool = True,
) -> Iterator[Poll]:
    """Serve a poll with a link for one participant, beside those made up.

    Args:
        made_up: the data of users who have sent already, each a report of its own.
        host_name: of this machine, as browsers are given it.
        has_issuer: without one the page asks for no invitation, and says what that breaks.

    Raises:
        InvalidParameter: too few users for the promise.

    >>> with poll_on_loopback(made_up=[1, 0] * 10, epsilon="2", delta="0.01") as poll:
    ...     poll.answered()
    20
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        # The task names the issuer's address, and the issuer answers this page alone.
        shuffler_port, issuer_port = (stack.enter_context(free_port()) for _ in range(2))
        # Browsers encrypt on https and on localhost alone.
        page, issuing = (
            f"http://{host_name}:{port.getsockname()[1]}" for port in (shuffler_port, issuer_port)
        )
        task = agree_on_one_host(
            folder,
            protocol,
            has_issuer=has_issuer,
            epsilon=epsilon,
            delta=delta,
            min_batch=len(made_up),
            issuer_url=issuing,
            origin="analyzer.example",
            bounds=bounds,
            domain=domain,
            size=size,
            windows=windows,
            window_seconds=_window_seconds(time.time()),
            grace_seconds=_GRACE_SECONDS,
        )
        clocks = MovedClocks(0.0)

        def guard() -> ClockGuard:
            return ClockGuard(wall=clocks.wall, boot=clocks.boot)

        analyzing = AnalyzerParty.from_directory(folder / "analyzer", clocks=guard())
        stack.callback(analyzing.close)
        analyzer = stack.enter_context(on_loopback(analyzing.app(work_seconds=_WORK_SECONDS)))
        issued = None
        if has_issuer:
            issued = IssuerParty.from_directory(folder / "issuer", clocks=guard())
            stack.callback(issued.close)
            face = issued.app(analyzer, page_origin=page, work_seconds=_WORK_SECONDS)
            stack.enter_context(on_loopback(face, listener=issuer_port))
        shuffling = ShufflerParty.from_directory(folder / "shuffler", clocks=guard())
        stack.callback(shuffling.close)
        published = folder / "shuffler" / PUBLISHED
        routes = poll_routes(task, question, published, one_host=True)
        served = shuffling.app(analyzer, work_seconds=_WORK_SECONDS, more=routes)
        shuffler = stack.enter_context(on_loopback(served, listener=shuffler_port))
        window = task.window_at(clocks.wall())
        wait_for_card(shuffler if issued is None else _local(issuing, host_name), task, window)
        _send_made_up(folder, shuffling, issued, made_up, window)

        def close() -> dict[str, Any]:
            clocks.ahead = (window + 1) * task.window_seconds + _GRACE_SECONDS + 1 - time.time()
            result = wait_for_result(analyzer, folder / "collector", window)
            publish(published, result)
            return result.document

        def invite() -> tuple[str, str]:
            link = poll_link(page, task, issue_passes(folder / "shuffler", 1)[0])
            return link, issue_invitations(folder / "issuer", 1)[0] if has_issuer else ""

        def answered() -> int:
            rows = shuffling.shuffler.storage.read("SELECT count(*) FROM pending")
            return int(rows[0][0])

        yield Poll(*invite(), task, close, answered, invite)


def _local(address: str, host_name: str) -> str:
    """Return an address of this machine by number: programs need no name for it."""
    return address.replace(host_name, "127.0.0.1")


def _window_seconds(now: float) -> int:
    """Return about a day, so that a window has begun and none ends while a poll is tried.

    Windows are counted from 1970: window k = now // day begins at k times this number, at most
    k seconds, which is six hours, before now.
    """
    begun = int(now) - 60
    return begun // (begun // _DAY)


def _send_made_up(
    folder: Path,
    shuffling: ShufflerParty,
    issued: IssuerParty | None,
    made_up: Sequence[Any],
    window: int,
) -> None:
    """Let made-up people take part: what they send is real, but none of them keeps anything."""
    task = shuffling.task
    passes = issue_passes(folder / "shuffler", len(made_up))
    stored = (
        shuffling.shuffler.cards.stored(window) if issued is None else issued.issuer.card(window)
    )
    assert stored is not None
    card = SignedCard.decode(stored).card
    opened: list[OpenedReport] = []
    for own_pass, datum in zip(passes, made_up, strict=True):
        slots = tuple(seal_slots(task.values(read_datum(task, datum)), card))
        signatures: list[bytes] = []
        if issued is not None:
            signatures = _signed(issued, folder / "issuer", card, slots)
        report = Report(card.digest, slots, tuple(signatures)).encode()
        sender = shuffling.shuffler.sender(own_pass)
        assert sender is not None
        judged = shuffling.shuffler.judge(window, sender, seal_report(report, card))
        assert not isinstance(judged, Taken), judged
        opened.append(judged)
    assert set(shuffling.shuffler.accept(opened)) == {Taken.ACCEPTED}


def _signed(
    issued: IssuerParty, directory: Path, card: Card, slots: tuple[bytes, ...]
) -> list[bytes]:
    """Return the issuer's tokens on a made-up person's slots."""
    issuer, (invitation,) = issued.issuer, issue_invitations(directory, 1)
    assert issued.task.issuer is not None
    tokens = SlotTokens(card, issuer_name=issued.task.issuer.name, origin=issued.task.origin)
    account = issuer.admit(invitation, card.window, issuer.request_bytes)
    assert isinstance(account, Account)
    seed = secrets.token_bytes(SEED_BYTES)
    answer = issuer.answer(account, tokens.request(slots, seed=seed))
    assert isinstance(answer, bytes)
    return tokens.finalize(slots, seed=seed, answer=answer)
