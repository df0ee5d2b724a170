"""A poll on one machine: made-up participants, and one more in a real browser."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.client.client import Client
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.demo.demonstration import wait_for_result
from smoothdp.services.shuffler.poll_routes import PUBLISHED, poll_link, poll_routes, publish
from smoothdp.services.shuffler.sealing import seal_window
from smoothdp.services.shuffler.shuffler import Upload
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_tokens
from smoothdp.services.wire.hybrid import PrivateKey, PublicKey
from smoothdp.services.wire.key_files import Written, write_parties
from smoothdp.services.wire.running import on_loopback
from smoothdp.services.wire.task import Task
from smoothdp.services.wire.task_request import create_task

POLL_QUESTION = "Have you ever run a program whose results you did not check?"
POLL_MADE_UP = tuple(int(user % 3 == 0) for user in range(300))


@dataclass(frozen=True, slots=True)
class Poll:
    """A poll that is open: give ``link`` to a browser, then `close` it.

    ``invite`` returns the link of one more participant.
    """

    link: str
    task: Task
    close: Callable[[], dict[str, Any]]
    answered: Callable[[], int]
    invite: Callable[[], str]


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
    size: int = 1,
    windows: int = 1,
    host_name: str = "localhost",
) -> Iterator[Poll]:
    """Serve a poll with a link for one participant, beside those made up.

    Args:
        made_up: the data of users who have sent already, through real clients.

    Raises:
        InvalidParameter: too few users for the promise.

    >>> with poll_on_loopback(made_up=[1, 0] * 10, epsilon="2", delta="0.01") as poll:
    ...     poll.answered()
    20
    """
    with tempfile.TemporaryDirectory() as made:
        directory = Path(made)
        key = PrivateKey.generate()
        task = create_task(
            protocol,
            epsilon=epsilon,
            delta=delta,
            min_batch=len(made_up),
            analyzer_key=key.public,
            bounds=bounds,
            domain=domain,
            size=size,
            windows=windows,
        )
        written = write_parties(directory, task, key)
        shuffling = ShufflerParty.from_directory(written.shuffler)
        analyzing = AnalyzerParty.from_directory(written.analyzer)
        published = written.shuffler / PUBLISHED
        routes = poll_routes(task, question, published, one_host=True)
        with (
            on_loopback(analyzing.app(work_seconds=0.2)) as analyzer_url,
            on_loopback(shuffling.app(analyzer_url, work_seconds=3600, more=routes)) as url,
        ):
            window = _send_made_up(shuffling, directory, written, made_up)

            def close() -> dict[str, Any]:
                seal_window(shuffling.shuffler, task, window)
                shuffling.work(analyzer_url)
                document = wait_for_result(analyzer_url, written.collector, window=window)
                publish(published, document)
                return document

            # Browsers encrypt on https and on localhost alone.
            address = url.replace("127.0.0.1", host_name)

            def invite() -> str:
                return poll_link(address, task, issue_tokens(written.shuffler, 1)[0])

            def answered() -> int:
                return shuffling.shuffler.totals()["accepted"]

            yield Poll(invite(), task, close, answered, invite)
        shuffling.shuffler.storage.close()
        analyzing.analyzer.storage.close()


def _send_made_up(
    shuffling: ShufflerParty, directory: Path, written: Written, made_up: Sequence[Any]
) -> int:
    outcomes = OutcomeStore(directory / "clients.sqlite")
    window = shuffling.shuffler.window_now(shuffling.task)
    key_id, public = shuffling.shuffler.keys.active()
    tokens = issue_tokens(written.shuffler, len(made_up))
    uploads = []
    for user, (token, datum) in enumerate(zip(tokens, made_up, strict=True)):
        client = Client(shuffling.task, outcomes, name=str(user))
        sealed_to = (key_id, PublicKey.from_bytes(public))
        uploads.append(Upload(token, client.envelope(datum, shuffler_key=sealed_to, window=window)))
    shuffling.shuffler.accept(uploads)
    outcomes.close()
    return window
