"""The whole path on one machine: real clients, a shuffler, an analyser, and the result."""

from __future__ import annotations

import math
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from smoothdp.exact.parameters.numbers import exact_fraction
from smoothdp.services.analyzer.analyzer_party import AnalyzerParty
from smoothdp.services.client.client import Client
from smoothdp.services.client.collector import fetch_result, read_collector
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.demo.windows_demo import WindowsDemonstration
from smoothdp.services.formats.design.protocols import BINNED
from smoothdp.services.shuffler.sealing import seal_window
from smoothdp.services.shuffler.shuffler_party import ShufflerParty, issue_tokens
from smoothdp.services.wire.calls import ServiceError, connect
from smoothdp.services.wire.hybrid import PrivateKey
from smoothdp.services.wire.key_files import write_parties
from smoothdp.services.wire.running import on_loopback
from smoothdp.services.wire.task import Task
from smoothdp.services.wire.task_request import TaskRequest, make_task
from smoothdp.text import number_up, percent_text, table

ONE_HOST = (
    "Shuffler and analyser run on one host here: whoever controls it sees both, so the promise "
    "above does not hold for this demonstration, only for two parties that keep apart."
)
_AT_ONCE = 8
_ROWS = 10
_MOST_SECONDS = 300.0
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Demonstration:
    """What a demonstration did: the released document, and the counts along the way.

    Attributes:
        task: what the parties agreed on.
        document: the result as the collector got it.
        totals: reports accepted, pending, batched and expired at the shuffler.
        seconds: from the task to the result.

    >>> done = demonstrate([1, 0] * 4, epsilon="2", delta="0.01", dishonest_share="0")
    >>> done.totals["batched"], done.document["users"]
    (8, 8)
    """

    task: Task
    document: dict[str, Any]
    totals: dict[str, int]
    seconds: float


def demonstrate(
    data: Sequence[Any],
    *,
    protocol: str = "boolean_sum",
    epsilon: str = "1",
    delta: str = "1e-6",
    dishonest_share: str = "0.1",
    size: int = 8,
    bounds: Sequence[str] = (),
    domain: Sequence[str] = (),
    directory: Path | None = None,
    say: Say = lambda _: None,
) -> Demonstration:
    """Collect a column through real clients and services on loopback.

    Every datum has a client of its own, with its token and its stored outcome; each sends
    over HTTP. Then the window is closed, the batch handed over, and the result fetched.

    Args:
        data: one datum per user.
        protocol: "boolean_sum", "real_sum" with bounds, or "histogram" with a domain.
        epsilon, delta: what is promised to honest users, as decimals or ratios.
        dishonest_share: share of the users assumed to be absent, colluding or false.
        size: bits per user of a real sum.
        directory: where the parties keep their files; a temporary one by default.
        say: called with a line about each step.

    Raises:
        InvalidParameter: too few users for the promise.
        InvalidData: a datum outside the domain; files of a task in the directory.
        ServiceError: no result within five minutes after the last report.

    >>> done = demonstrate([1, 0] * 4, epsilon="2", delta="0.01", dishonest_share="0")
    >>> abs(done.document["sum"] - 4) <= 7
    True
    """
    key = PrivateKey.generate()
    request = TaskRequest(
        protocol=protocol,
        epsilon=epsilon,
        delta=delta,
        min_batch=len(data),
        analyzer_key=key.public,
        size=size if protocol == "real_sum" else 1,
        dishonest_share=dishonest_share,
        bounds=bounds,
        domain=domain,
    )
    if directory is not None:
        return _demonstrate(data, request, key=key, directory=directory, say=say)
    with tempfile.TemporaryDirectory() as made:
        return _demonstrate(data, request, key=key, directory=Path(made), say=say)


def _demonstrate(
    data: Sequence[Any], request: TaskRequest, *, key: PrivateKey, directory: Path, say: Say
) -> Demonstration:
    began = time.perf_counter()
    task = make_task(request)
    written = write_parties(directory, task, key)
    say(f"Task {task.task_id.hex()[:16]}: {task.collect(len(data)).describe()}")
    tokens = issue_tokens(written.shuffler, len(data))
    shuffling = ShufflerParty.from_directory(written.shuffler)
    analyzing = AnalyzerParty.from_directory(written.analyzer)
    outcomes = OutcomeStore(directory / "clients.sqlite")
    window = shuffling.shuffler.window_now(task)
    with (
        on_loopback(analyzing.app(work_seconds=0.2)) as analyzer_url,
        on_loopback(shuffling.app(analyzer_url, work_seconds=3600)) as shuffler_url,
    ):
        say(f"Shuffler at {shuffler_url}, analyser at {analyzer_url}")

        def send(users: range) -> None:
            with connect(shuffler_url) as http:
                for user in users:
                    client = Client(task, outcomes, name=str(user))
                    submit(client, data[user], http=http, token=tokens[user], window=window)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            shares = [range(start, len(data), _AT_ONCE) for start in range(_AT_ONCE)]
            list(pool.map(send, shares))
        say(f"{len(data)} clients have sent {task.slots} sealed messages each")
        seal_window(shuffling.shuffler, task, window)
        shuffling.work(analyzer_url)
        document = wait_for_result(
            analyzer_url, written.collector, window=window, most_seconds=_MOST_SECONDS
        )
    totals = shuffling.shuffler.totals()
    for storage in (outcomes, shuffling.shuffler.storage, analyzing.analyzer.storage):
        storage.close()
    return Demonstration(task, document, totals, time.perf_counter() - began)


def wait_for_result(
    url: str, collector: Path, *, window: int, most_seconds: float = math.inf
) -> dict[str, Any]:
    """Return the result of a window once the analyser at an address has it.

    Raises:
        ServiceError: it was refused, or there is none after so many seconds.
    """
    task, token = read_collector(collector)
    limit = time.monotonic() + most_seconds
    with connect(url) as http:
        while True:
            document = fetch_result(http, task_id=task.task_id, window=window, token=token)
            if document is not None:
                return document
            if time.monotonic() > limit:
                raise ServiceError(
                    expected=f"a result within {most_seconds:g} seconds",
                    got="none",
                    remedy="Try fewer users, or a larger epsilon",
                )
            time.sleep(0.05)


def compare(demonstration: Demonstration | WindowsDemonstration, data: Sequence[Any]) -> str:
    """Return the estimates beside the truth, which only a demonstration knows.

    Args:
        demonstration: what `demonstrate` or `demonstrate_windows` returned.
        data: what it was given.

    Raises:
        InvalidParameter: data that are no numbers where numbers were collected.

    >>> demonstration = demonstrate([1, 0, 0] * 30, epsilon="2", delta="0.001")
    >>> print(compare(demonstration, [1, 0, 0] * 30))  # doctest: +ELLIPSIS
         estimate  95% error  truth
    ---  --------  ---------  -----
    sum  ... 30
    The error covers the sum, of these users: the noise alone. The truth is shown because ...
    """
    document, task = demonstration.document, demonstration.task
    sure = 1 - Fraction(document["error_fails_with_probability"])
    if task.protocol in BINNED:
        counts, true = document["counts"], Counter(str(datum) for datum in data)
        error = document["error_of_all_counts"]
        names = sorted({*counts, *true}, key=lambda name: (-true[name], name))[:_ROWS]
        rows = [(name, counts.get(name, 0.0), float(true[name])) for name in names]
        covers = "all counts at once, those not listed too"
    elif task.bounds:
        low, high = (Fraction(bound) for bound in task.bounds)
        clipped = [min(max(exact_fraction(x, name="a datum"), low), high) for x in data]
        rows = [("mean", document["mean"], float(sum(clipped) / len(clipped)))]
        error, covers = document["error_of_mean"], "the mean of the clipped values"
    else:
        rows = [("sum", document["sum"], float(sum(int(datum) for datum in data)))]
        error, covers = document["error_of_sum"], "the sum"
    lines = [
        (name, f"{value:.6g}", f"+- {number_up(error)}", f"{truth:.6g}")
        for name, value, truth in rows
    ]
    return (
        f"{table(lines, header=('', 'estimate', f'{percent_text(float(sure))} error', 'truth'))}\n"
        f"The error covers {covers}, of these users: the noise alone. The truth is shown because "
        "the data are on this machine; in earnest nobody knows it."
    )
