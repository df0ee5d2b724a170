"""A report on its way: card, tokens, sealed report; every step again until it is done."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import httpx

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.client.client import Client, checked_card
from smoothdp.services.client.outcomes import ANSWERED, DRAWN, ENDED, FINAL, SENT, UNSURE
from smoothdp.services.formats.task import Task
from smoothdp.services.wire.calls import Answer, ServiceError, Unreachable, ask

TOKEN_REQUESTS = "application/vnd.esa.token-requests"
SEALED_REPORT = "application/vnd.esa.sealed-report"
USED = (
    "This invitation was used in this window: from another device, under another name, from here "
    "before the state of this machine was cleared, or by somebody else. Finish there, or take part "
    "in the next window"
)
_MOST_WAIT = 310.0
_NO_SECRET, _NOT_KNOWN, _GONE = 401, 404, 410
_NEXT = "Take part in the next window"
_CLOCK = "Set this machine's clock right, or wait for the window to begin"
_CARDS = {
    404: "There is no card of this window yet, or it is over, or this machine's clock is wrong"
}
_ISSUER = {
    401: "Ask who runs the analyser for an invitation of this task",
    404: "This window has no card, or another issuer serves the task; check the address",
    409: USED,
    410: f"The window is over. {_NEXT}",
    425: _CLOCK,
    429: f"The issuer has answered this request six times. {_NEXT}",
}
_EXCHANGED = (
    ". If this was your pass, the issuer has seen it now: ask who runs the shuffler for another one"
)
_EXCHANGED_LATE = (
    ". If this was your invitation, the shuffler has seen it now: ask who runs the analyser for "
    "another one"
)
"""Files are exchanged more easily than the links of a page: at a retry the shuffler is first."""
MISTAKEN = (
    ". If the address is one of the issuer's, it has seen your pass now: ask who runs the shuffler "
    "for another one"
)
_ASTRAY = (
    ". If it is one of the shuffler's, it has seen your invitation now: ask who runs the analyser "
    "for another one"
)
_STOLEN = "If they were not yours, somebody else has your pass: ask for another one. "
_SHUFFLER = {
    401: "Ask who runs the shuffler for a pass of this task",
    403: "The shuffler does not take the tokens: tell who runs the analyser and the shuffler",
    404: "This shuffler has another card for the window, or serves another task",
    409: (
        "Another report came with this pass in this window, or this report with another pass. "
        f"{_STOLEN}Give the pass of before, or: {_NEXT}"
    ),
    410: f"The window is over. {_NEXT}",
    425: _CLOCK,
    429: f"Too many reports of this pass were not good. {_STOLEN}{_NEXT}",
}
_NOTHING_MORE = "Nothing more is sent for this window"
_OVER_HERE = {
    ENDED: "one whose tokens were refused",
    ANSWERED: "one whose report had arrived, and was over by this clock before",
    UNSURE: "one whose report may have arrived, and which was over by this clock before",
}
Pause = Callable[[float], None]

BOTH_SHOWN = (
    ". The issuer was asked before and did not answer it: if the two files were exchanged, it has "
    "seen your pass: ask for both anew"
)


class SecretRefused(ServiceError):
    """A pass or an invitation is none of the service that it was shown to."""


class NotKnownThere(ServiceError):
    """A service knows nothing of the window, or of what it is asked: it may be another one."""


_KINDS = {_NO_SECRET: SecretRefused, _NOT_KNOWN: NotKnownThere}


def submit(
    client: Client,
    datum: Any,
    *,
    shuffler: httpx.Client,
    pass_secret: str,
    issuer: httpx.Client | None = None,
    invitation: str = "",
    caches: Sequence[httpx.Client] = (),
    window: int | None = None,
    attempts: int = 5,
    pause: Pause = time.sleep,
) -> int:
    """Take part in a window: draw, ask for tokens, hand in; return the window.

    Calling again goes on where it stopped: with the same slots, the same request, the same
    report under a fresh seal. Nothing goes to the shuffler before all tokens are good.

    Args:
        client: who takes part.
        datum: as the protocol takes it; without a meaning once something is stored.
        shuffler: a connection to the shuffler.
        pass_secret: the shuffler's secret of this person.
        issuer: a connection to the issuer, if the task has one.
        invitation: the issuer's secret of this person.
        caches: where else to ask for the card, before the issuer.
        window: the present one by default.
        attempts: how often each request is made.
        pause: waits so many seconds.

    Raises:
        InvalidData: a datum outside the task's domain, a card or token that is not good, or a
            window more than the task's budget pays for.
        ServiceError: a service refused, or did not answer; calling again is safe.
    """
    at = client.window_now() if window is None else window
    prepare(
        *(client, datum),
        window=at,
        shuffler=shuffler,
        issuer=issuer,
        invitation=invitation,
        caches=caches,
        attempts=attempts,
        pause=pause,
    )
    hand_in(client, at, shuffler=shuffler, pass_secret=pass_secret, attempts=attempts, pause=pause)
    return at


def prepare(
    client: Client,
    datum: Any,
    *,
    window: int,
    shuffler: httpx.Client,
    issuer: httpx.Client | None = None,
    invitation: str = "",
    caches: Sequence[httpx.Client] = (),
    attempts: int = 5,
    pause: Pause = time.sleep,
) -> None:
    """Draw, and ask for tokens, as far as it is not done: the first half of `submit`.

    No report goes to the shuffler, and no pass.

    Args and Raises: as for `submit`.
    """
    task, at = client.task, window
    if task.issuer is not None and issuer is None:
        raise InvalidData(
            expected="a connection to the issuer of the task",
            got="none",
            remedy=f"Connect to {task.issuer.url}",
        )
    kept = client.kept(at)
    if kept is None:
        # Before anybody is asked: a request for the card alone would tell of a slip.
        client.check(datum)
        _ask_what_was_destroyed(client, shuffler)
        sources = [*caches, shuffler if issuer is None else issuer]
        card = fetch_card(sources, task=task, window=at, attempts=attempts, pause=pause)
        kept = client.take_part(datum, card=card, window=at)
    if kept.state == DRAWN:
        assert issuer is not None
        try:
            _get_tokens(client, at, issuer, invitation, attempts=attempts, pause=pause)
        except SmoothdpError:
            # Another program of this person may have gone on with the row meanwhile.
            if not _is_in(client, at, FINAL, SENT):
                raise


def hand_in(
    client: Client,
    window: int,
    *,
    shuffler: httpx.Client,
    pass_secret: str,
    attempts: int = 5,
    pause: Pause = time.sleep,
) -> None:
    """Send a report whose tokens are there, unless it was taken: the second half of `submit`.

    Args and Raises: as for `submit`.
    """
    kept = client.kept(window)
    if kept is not None and kept.state == FINAL:
        try:
            _hand_in(client, window, shuffler, pass_secret, attempts=attempts, pause=pause)
        except SmoothdpError:
            if not _is_in(client, window, SENT):
                raise
    elif kept is None or kept.state != SENT:
        state = "" if kept is None else kept.state
        raise InvalidData(
            expected="a window that is not over for this person",
            got=_OVER_HERE.get(state, "one that was destroyed here"),
            remedy=_NOTHING_MORE + ("" if state == ANSWERED else f". {_NEXT}"),
        )


def _is_in(client: Client, window: int, *states: str) -> bool:
    kept = client.kept(window)
    return kept is not None and kept.state in states


def _get_tokens(
    client: Client,
    window: int,
    issuer: httpx.Client,
    invitation: str,
    *,
    attempts: int,
    pause: Pause,
) -> None:
    request = client.token_request(window)
    tokens = _until_answered(
        lambda: ask(
            *(issuer, "POST", f"/v2/tokens/{client.task.task_id.hex()}/{window}"),
            token=invitation,
            body=request,
            media_type=TOKEN_REQUESTS,
            # Kept open until the shuffler has answered, it would tell the issuer when that was.
            last=True,
        ),
        wanted=200,
        expected="the issuer to answer",
        remedies=_ISSUER | {401: _ISSUER[401] + _EXCHANGED, 404: _ISSUER[404] + _ASTRAY},
        attempts=attempts,
        pause=pause,
    )
    client.finish(window, tokens.body)


def _hand_in(
    client: Client,
    window: int,
    shuffler: httpx.Client,
    pass_secret: str,
    *,
    attempts: int,
    pause: Pause,
) -> None:
    _until_answered(
        lambda: ask(
            *(shuffler, "POST", f"/v2/reports/{client.task.task_id.hex()}/{window}"),
            token=pass_secret,
            body=client.sealed_report(window),
            media_type=SEALED_REPORT,
        ),
        wanted=202,
        expected="the shuffler to take the report",
        remedies=_SHUFFLER
        | {401: _SHUFFLER[401] + _EXCHANGED_LATE, 404: _SHUFFLER[404] + MISTAKEN},
        attempts=attempts,
        pause=pause,
    )
    client.accepted(window)


def _ask_what_was_destroyed(client: Client, shuffler: httpx.Client) -> None:
    """Where the budget pays for no more, ask the shuffler which windows had too few people.

    No more is asked for than whether there are marks: the same question for everybody.
    """
    for window in client.spent():
        path = f"/v2/tasks/{client.task.task_id.hex()}/marks/{window}"
        try:
            if ask(shuffler, "HEAD", path).status == _GONE:
                client.destroyed(window)
        except Unreachable:
            # Not once more for each window of a long budget.
            return
        except ServiceError:
            continue


def fetch_card(
    sources: Sequence[httpx.Client],
    *,
    task: Task,
    window: int,
    attempts: int = 5,
    pause: Pause = time.sleep,
) -> bytes:
    """Return the signed card of a window from the first source that has a good one.

    Raises:
        ServiceError: the last source has none.
        InvalidData: the last source has one that is not good.
    """
    problem: SmoothdpError = InvalidData(
        expected="somewhere to ask for the card", got="nowhere", remedy="Give a connection"
    )
    for source in sources:
        path = f"/v2/tasks/{task.task_id.hex()}/cards/{window}"
        # Kept open, it would tell an issuer, or a cache, how the shuffler answers.
        request = partial(ask, source, "GET", path, last=True)
        try:
            card = _until_answered(
                request,
                wanted=200,
                expected=f"the card of window {window}",
                remedies=_CARDS,
                attempts=attempts,
                pause=pause,
            ).body
            checked_card(card, task, window)
        except (ServiceError, InvalidData) as error:
            problem = error
            continue
        return card
    raise problem


def _until_answered(
    request: Callable[[], Answer],
    *,
    wanted: int,
    expected: str,
    remedies: dict[int, str],
    attempts: int,
    pause: Pause,
) -> Answer:
    """Make a request until it has the wanted answer, or one that another attempt cannot mend."""
    problem = ServiceError(
        expected="an attempt to send",
        got=f"attempts={attempts}",
        remedy="Give attempts of at least 1",
    )
    waited = False
    for attempt in range(attempts):
        if attempt:
            pause(min(30.0, 0.2 * 2**attempt))
        try:
            answer = request()
            seconds = _MOST_WAIT if answer.seconds is None else answer.seconds
            if answer.status == 425 and not waited and seconds < _MOST_WAIT:
                # It names a time: for a clock a little ahead of its own.
                waited = True
                pause(seconds)
                answer = request()
        except Unreachable as error:
            problem = error
            continue
        if answer.status == wanted:
            return answer
        remedy = remedies.get(answer.status, "Try again in this window: the same is sent")
        problem = _KINDS.get(answer.status, ServiceError)(
            expected=expected, got=answer.words(), remedy=remedy
        )
        if answer.status < 500 and answer.status != 408:
            break
    raise problem
