"""One person takes part in the present window, from this user's own store on this machine."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from smoothdp.errors import InvalidData, InvalidParameter, SmoothdpError
from smoothdp.services.client.client import Client
from smoothdp.services.client.inclusion import (
    Evidence,
    Standing,
    look_up,
    read_evidence,
    standing_without_marks,
)
from smoothdp.services.client.outcomes import SENT, OutcomeStore
from smoothdp.services.client.submit import (
    BOTH_SHOWN,
    MISTAKEN,
    NotKnownThere,
    SecretRefused,
    hand_in,
    prepare,
)
from smoothdp.services.formats.secrets import SECRET_DIGITS
from smoothdp.services.formats.task import Task
from smoothdp.services.wire.calls import ServiceError, ask, connect, one_place


@dataclass(frozen=True, slots=True)
class TakenPart:
    """What became of taking part.

    Attributes:
        window: the window.
        before: whether the shuffler had said before that it has the report: nothing was sent now.
        begun: whether a report was drawn before, or meanwhile by another call, that was not known
            to have arrived: it was sent now, whatever the datum of now is, and whoever gave it.
        late: windows before, of which a report was not known to have arrived: it was sent now too.
        astray: whether the address given as the shuffler's knew nothing of such a report: if it is
            one of the issuer's, it has seen the pass now.

    >>> TakenPart(7, before=False).window
    7
    """

    window: int
    before: bool
    begun: bool = False
    late: tuple[int, ...] = ()
    astray: bool = False


def take_part(
    task: Task,
    datum: Any,
    *,
    shuffler: str,
    pass_secret: str,
    invitation: str = "",
    issuer: str | None = None,
    caches: Sequence[str] = (),
    person: str = "me",
) -> TakenPart:
    """Take part in the present window, once; calling again goes on where it stopped.

    What is sent was stored before, in ``$XDG_STATE_HOME/smoothdp/clients``: the same from every
    folder. Reports of windows that are over are replaced by their marks.

    Args:
        task: what the user agreed to.
        datum: as the protocol takes it; without a meaning once something is stored.
        shuffler: its address.
        pass_secret: the shuffler's secret of this person, from who runs the shuffler.
        invitation: the issuer's secret of this person, from who runs the analyser. Whoever
            makes or sees both can break the promise alone.
        issuer: its address; the one in the task by default.
        caches: addresses to ask for the card before the issuer.
        person: tells people who use this account of the machine apart; never leaves it.

    Raises:
        InvalidData: a datum outside the task's domain, a card or token that is not good, or a
            window more than the task's budget pays for.
        InvalidParameter: an address, a pass or an invitation that is none, one for both sides, or
            no invitation where the task has an issuer.
        ServiceError: a service refused, or did not answer; calling again is safe.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from smoothdp.services import agree_on_one_host
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     task = agree_on_one_host(Path(folder), "boolean_sum", epsilon="1", delta="1e-6",
    ...         min_batch=300, issuer_url="http://127.0.0.1:8603", origin="127.0.0.1")
    >>> take_part(task, 1, shuffler="http://127.0.0.1:8601", pass_secret="0a" * 48)
    Traceback (most recent call last):
    smoothdp.errors.InvalidParameter: Expected an invitation; got none. Give invitation=, from \
who runs the analyser.
    """
    if (task.issuer is not None) != bool(invitation):
        asked = task.issuer is not None
        raise InvalidParameter(
            expected="an invitation" if asked else "no invitation: the task has no issuer",
            got="none" if asked else "one",
            remedy="Give invitation=, from who runs the analyser" if asked else "Leave it out",
        )
    _require_secrets(pass_secret, invitation)
    # The task's own issuer too: where another address is given, both lead to the issuer.
    known = [] if task.issuer is None else [task.issuer.url, *([issuer] if issuer else [])]
    if any(one_place(address, shuffler) for address in known):
        raise InvalidParameter(
            expected="addresses of the shuffler and the issuer, which differ",
            got="one for both",
            remedy="Check both: who has both secrets of people breaks the promise",
        )
    with ExitStack() as stack:
        to_shuffler = stack.enter_context(connect(shuffler))
        to_caches = [stack.enter_context(connect(url)) for url in caches]
        to_issuer = None
        if task.issuer is not None:
            to_issuer = stack.enter_context(connect(issuer or task.issuer.url))
        store = OutcomeStore.of_user()
        stack.callback(store.close)
        client = Client(task, store, name=person)
        client.settle()
        window = client.window_now()
        kept = client.kept(window)
        before = kept is not None and kept.state == SENT
        problem: SmoothdpError | None = None
        try:
            # First: a shuffler that refuses a late report would else send people away before the
            # issuer hears of them, and few would be served.
            prepare(
                *(client, datum),
                window=window,
                shuffler=to_shuffler,
                issuer=to_issuer,
                invitation=invitation,
                caches=to_caches,
            )
        except SecretRefused:
            # It may be the pass: the invitation would go to the shuffler next.
            raise
        except SmoothdpError as error:
            problem = error
        send = partial(hand_in, client, shuffler=to_shuffler, pass_secret=pass_secret)
        try:
            sent_late, not_known = _send_late(client, send, before=window)
        except SecretRefused as refused:
            if problem is None or client.kept(window) is None:
                # Without a draw nobody was asked for tokens.
                raise
            raise _with_more(refused, BOTH_SHOWN) from None
        if problem is None:
            try:
                send(window)
            except SmoothdpError as error:
                problem = error
        if problem is not None and sent_late:
            which = ", ".join(map(str, sent_late))
            problem = _with_more(problem, f". The report of window {which} was sent now")
        if problem is not None and not_known and MISTAKEN not in problem.explanation.remedy:
            problem = _with_more(problem, MISTAKEN)
        if problem is not None:
            raise problem
    begun = not before and not client.drew(window)
    return TakenPart(window, before, begun=begun, late=tuple(sent_late), astray=not_known)


def _with_more(problem: SmoothdpError, words: str) -> SmoothdpError:
    """Return the same error with more words at its end."""
    said = problem.explanation
    more = said._replace(remedy=said.remedy.rstrip(".") + words)
    return type(problem)(**more._asdict())


def _send_late(client: Client, send: Callable[..., None], *, before: int) -> tuple[list[int], bool]:
    """Send the reports of windows before that are not known to have arrived; return which.

    And whether somebody knew nothing of one, who may be no shuffler.

    Their rows decide what is sent. Too late is no reason to miss the present window, nor is that
    another program has just put marks in their place.

    Raises:
        SecretRefused: a pass that is none.
    """
    sent, not_known = list[int](), False
    # The present one may be over by now: it is not one of these.
    for window in [late for late in client.waiting() if late < before]:
        try:
            send(window, attempts=1)
            sent.append(window)
        except SecretRefused:
            raise
        except (ServiceError, InvalidData) as error:
            not_known |= isinstance(error, NotKnownThere)
    return sent, not_known


def _require_secrets(pass_secret: str, invitation: str) -> None:
    """Refuse, before anything is stored or sent, what is no secret of a person."""
    for name, secret in (("pass", pass_secret), ("invitation", invitation or pass_secret)):
        if not (isinstance(secret, str) and re.fullmatch(f"[0-9a-f]{{{SECRET_DIGITS}}}", secret)):
            raise InvalidParameter(
                expected=f"{name} of {SECRET_DIGITS} digits, 0 to 9 and a to f",
                got="something else",
                remedy="Give it as it was handed out, without a space or an end of line",
            )
    if pass_secret == invitation:
        raise InvalidParameter(
            expected="a pass and an invitation, which differ",
            got="one for both",
            remedy="Ask who runs the other side for its own",
        )


def look_up_report(
    task: Task,
    window: int,
    *,
    result: bytes,
    shuffler: str | None = None,
    marks: bytes | None = None,
    person: str = "me",
) -> Standing:
    """Return what the marks of a window say of the report that was sent from this machine.

    Args:
        task: what the user agreed to.
        window: the window.
        result: the result of the window as the analyser hands it out, with its signature.
        shuffler: where the marks file is fetched from: the same file for everybody.
        marks: the marks file, in place of that address.
        person: as it was given when taking part.

    Raises:
        InvalidData: a signature that is not good, or a marks file whose hash nobody signed.
        InvalidParameter: neither an address nor a file, or both.
        ServiceError: no marks file at that address, and nothing that was signed says it without.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from smoothdp.services import agree_on_one_host
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     task = agree_on_one_host(Path(folder), "boolean_sum", epsilon="1", delta="1e-6",
    ...         min_batch=300, issuer_url="http://127.0.0.1:8603", origin="127.0.0.1")
    >>> look_up_report(task, 20778, result=b"{}", marks=b"")
    Traceback (most recent call last):
    smoothdp.errors.InvalidData: Expected a result with the analyser's signature; got another \
document. Fetch it again; if that does not help, ask who runs the services.
    """
    if (shuffler is None) == (marks is None):
        raise InvalidParameter(
            expected="either the shuffler's address or the marks file",
            got="neither" if marks is None else "both",
            remedy="Give shuffler= or marks=",
        )
    store = OutcomeStore.of_user()
    try:
        client = Client(task, store, name=person)
        # First: whatever the result says, what is over is erased.
        client.settle()
        kept = client.kept(window)
    finally:
        store.close()
    said = read_evidence(task, window, result)
    if marks is None:
        assert shuffler is not None
        try:
            # Asked for by everybody, also by those of whom it says nothing.
            marks = _fetch_marks(shuffler, task, window, said)
        except ServiceError:
            known = standing_without_marks(task, kept, said)
            if known is None:
                raise
            return known
    return look_up(task, window, kept, result=result, marks=marks)


def _fetch_marks(shuffler: str, task: Task, window: int, said: Evidence) -> bytes:
    with connect(shuffler) as http:
        path = f"/v2/tasks/{task.task_id.hex()}/marks/{window}"
        answer = ask(http, "GET", path, most=said.marks_bytes)
    if answer.status != 200:
        raise ServiceError(
            expected=f"the marks of window {window}",
            got=answer.words(),
            remedy="Ask who runs the shuffler, or give a copy of the file",
        )
    return answer.body
