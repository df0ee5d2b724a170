"""The whole path on one machine: an analyser, an issuer, a shuffler, and a client per datum."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smoothdp.services.client.client import Client
from smoothdp.services.client.collector import fetch_result, read_collector
from smoothdp.services.client.inclusion import Standing, look_up
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.demo.party_process import PartyProcess, party_process
from smoothdp.services.formats.design.agreeing import agree_on_one_host
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.formats.task import Task
from smoothdp.services.issuer.issuer_party import issue_invitations
from smoothdp.services.shuffler.shuffler_party import issue_passes
from smoothdp.services.wire.calls import ServiceError, ask, connect

ONE_HOST = (
    "Shuffler, analyser and issuer run on one host here, and one program made the passes and the "
    "invitations: whoever controls it sees both, so the promise above does not hold for this "
    "demonstration, only for parties that keep apart."
)
_AT_ONCE = 8
_BITS = 8
_WINDOW_SECONDS = 86_400
_GRACE_SECONDS = 3_600
_MOST_SECONDS = 300.0
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Demonstration:
    """What a demonstration did.

    Attributes:
        task: what the parties agreed on.
        document: the result, its signature checked.
        found: how many clients found their report in the marks of the batch.
        seconds: from the task to the result.

    >>> list(Demonstration.__dataclass_fields__)
    ['task', 'document', 'found', 'seconds']
    """

    task: Task
    document: dict[str, Any]
    found: int
    seconds: float


def demonstrate(
    data: Sequence[Any],
    *,
    protocol: str = "boolean_sum",
    epsilon: str = "1",
    delta: str = "1e-6",
    honest_share: str = "0.9",
    size: int | None = None,
    bounds: Sequence[str] = (),
    domain: Sequence[str] = (),
    has_issuer: bool = True,
    directory: Path | None = None,
    say: Say = lambda _: None,
) -> Demonstration:
    """Collect a column through real clients and parties, each party a process on loopback.

    Every datum has a client of its own, with its pass, its invitation and its stored outcome.
    When all have sent, the clocks of all parties are moved past the end of the window: they
    seal, count and release as they would then.

    Args:
        data: one datum per user.
        protocol: boolean_sum, real_sum or split_sum with bounds, or one of the histograms with
            a domain.
        epsilon, delta: what is promised to honest users, as decimals or ratios.
        honest_share: share of those served who follow the protocol.
        size: bits per user of a real sum.
        has_issuer: without one the shuffler alone could invent people, and the result says so.
        directory: where the parties keep their files; a temporary one by default.
        say: called with a line about each step.

    Raises:
        InvalidParameter: too few users for the promise, or envelopes too large for an issuer.
        InvalidData: a datum outside the domain; files of a task in the directory.
        ServiceError: no result within five minutes after the last report.

    >>> done = demonstrate([1, 0, 0] * 100)  # doctest: +SKIP
    >>> abs(done.document["sum"] - 100) <= done.document["error_of_sum"]  # doctest: +SKIP
    True
    """
    folder = directory
    with ExitStack() as stack:
        if folder is None:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        began = time.perf_counter()
        task = agree_on_one_host(
            folder,
            protocol,
            has_issuer=has_issuer,
            epsilon=epsilon,
            delta=delta,
            min_batch=len(data),
            issuer_url="https://issuer.example",
            origin="analyzer.example",
            size=_BITS if size is None and protocol == "real_sum" else size,
            honest_share=honest_share,
            window_seconds=_WINDOW_SECONDS,
            grace_seconds=_GRACE_SECONDS,
            bounds=bounds,
            domain=domain,
        )
        say(f"Task {task.task_id.hex()[:16]}: {task.collect(len(data)).describe()}")
        for advice in task.advice:
            say(advice)
        return _run(task, data, folder, stack, say, began)


def _run(
    task: Task, data: Sequence[Any], folder: Path, stack: ExitStack, say: Say, began: float
) -> Demonstration:
    # At the start of a window, so that none ends while clients send.
    now = time.time()
    window = task.window_at(now) + 1
    ahead = window * task.window_seconds + 60 - now

    def start(role: str, url: str = "") -> PartyProcess:
        party = party_process(role, folder / role, ahead=ahead, analyzer_url=url)
        return stack.enter_context(party)

    analyzer = start("analyzer")
    shuffler = start("shuffler", analyzer.address)
    issuer = start("issuer", analyzer.address) if task.issuer is not None else None
    running = [party for party in (analyzer, shuffler, issuer) if party is not None]
    where = f"Analyser at {analyzer.address}, shuffler at {shuffler.address}"
    say(where + (f", issuer at {issuer.address}" if issuer else ", no issuer"))
    outcomes = OutcomeStore(folder / "clients.sqlite")
    stack.callback(outcomes.close)
    cards = shuffler.address if issuer is None else issuer.address
    wait_for_card(cards, task, window)
    passes = issue_passes(folder / "shuffler", len(data))
    invitations = [""] * len(data)
    if issuer is not None:
        invitations = issue_invitations(folder / "issuer", len(data))

    def send(users: range) -> None:
        with ExitStack() as open_connections:
            to_shuffler = open_connections.enter_context(connect(shuffler.address))
            to_issuer = None
            if issuer is not None:
                to_issuer = open_connections.enter_context(connect(issuer.address))
            for user in users:
                client = Client(task, outcomes, name=str(user), clock=lambda: time.time() + ahead)
                submit(
                    client,
                    data[user],
                    shuffler=to_shuffler,
                    pass_secret=passes[user],
                    issuer=to_issuer,
                    invitation=invitations[user],
                    window=window,
                )

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(send, [range(at, len(data), _AT_ONCE) for at in range(_AT_ONCE)]))
    say(f"{len(data)} clients have sent {task.slots} sealed slots each")
    for party in running:
        party.move(ahead + task.window_seconds + task.grace_seconds)
    say("The clocks of all parties are moved past the end of the window")
    signed = wait_for_result(analyzer.address, folder / "collector", window)
    with connect(shuffler.address) as http:
        marks = ask(http, "GET", f"/v2/tasks/{task.task_id.hex()}/marks/{window}").body
    found = 0
    for user in range(len(data)):
        kept = Client(task, outcomes, name=str(user)).kept(window)
        standing = look_up(task, window, kept, result=signed.encode(), marks=marks)
        found += standing is Standing.INCLUDED
    say(f"{found} of {len(data)} clients find their report in the marks of the batch")
    return Demonstration(task, signed.document, found, time.perf_counter() - began)


def wait_for_card(url: str, task: Task, window: int) -> None:
    """Return once the card of a window is handed out.

    Raises:
        ServiceError: not within five minutes.
    """
    limit = time.monotonic() + _MOST_SECONDS
    path = f"/v2/tasks/{task.task_id.hex()}/cards/{window}"
    with connect(url) as http:
        while ask(http, "GET", path).status != 200:
            if time.monotonic() > limit:
                raise ServiceError(
                    expected="a card of the window",
                    got="none",
                    remedy="See what the parties said above",
                )
            time.sleep(0.05)


def wait_for_result(url: str, collector: Path, window: int) -> SignedResult:
    """Return the result of a window, signed by the task's analyser, once there is one.

    Raises:
        ServiceError: it was refused, or there is none within five minutes.
    """
    task, token = read_collector(collector)
    limit = time.monotonic() + _MOST_SECONDS
    with connect(url) as http:
        while True:
            result, _ = fetch_result(http, task, window, token=token)
            if result is not None:
                return result
            if time.monotonic() > limit:
                raise ServiceError(
                    expected="a result within five minutes",
                    got="none",
                    remedy="Try fewer users, or a larger epsilon",
                )
            time.sleep(0.05)
