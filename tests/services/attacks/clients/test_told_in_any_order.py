"""What people are told, and what is left of them, where services and devices fail in any order."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import SmoothdpError
from smoothdp.services import TakenPart, take_part
from smoothdp.services.client import submit, taking_part
from smoothdp.services.client.client import Client
from smoothdp.services.client.inclusion import Standing, look_up
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.card import SignedCard
from smoothdp.services.formats.marks import MarksFile
from smoothdp.services.formats.report import Report, open_report
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.wire import calls
from smoothdp.services.wire.calls import Answer, Unreachable
from tests.services.attacks.clients.test_page_figures import of_results
from tests.services.page.page_person import page
from tests.services.page.page_program import FOLDER, needs_node
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld, Recorder
from tests.services.worlds.quick_clients import hasten
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN, small_task

_GRACE = 600
_WINDOWS = range(WINDOW, WINDOW + 3)
_SHUFFLER = "http://127.0.0.1:1"
_NOTHING = ("nothing was sent", "No answer was sent for this window", "Nothing of it was sent")


class _Stopped(BaseException):
    """A program that is killed."""


class _Storm:
    """An honest shuffler and a real issuer behind a network that loses things, and killed programs.

    Attributes:
        stored: reports that the shuffler has, by window and pass.
        seen: all reports that came, by window and pass.
        sent: windows of which a report was sent in this call, and whether the shuffler's word came.
        expired: windows whose reports were destroyed.
    """

    def __init__(self, world: IssuingWorld, seed: int) -> None:
        self.world, self.random = world, random.Random(seed)
        self.cards = {window: world.open_window(window) for window in _WINDOWS}
        self.stored: dict[tuple[int, str], Report] = {}
        self.seen: dict[tuple[int, str], set[bytes]] = {}
        self.sent: list[tuple[int, bool]] = []
        self.expired: set[int] = set()
        self.ahead = 0.0
        self.kills = True

    def ask(self, http: Any, method: str, path: str, **more: Any) -> Answer:
        """Ask a service, unless the request or the answer is lost."""
        fault = self.random.randrange(9)
        here = str(http.base_url).startswith(_SHUFFLER)
        if here and path.startswith("/v2/reports"):
            self.sent.append((int(path.rsplit("/", 1)[1]), False))
        if fault == 0:
            raise Unreachable(expected="an answer", got="none", remedy="Try again")
        if fault == 1:
            return Answer(503, b"")
        if here:
            answer = self._shuffler(method, path, **more)
        else:
            answer = calls.ask(http, method, path, **more)
        if fault == 2:
            raise Unreachable(expected="an answer", got="none", remedy="Try again")
        if here and answer.status == 202:
            self.sent[-1] = (self.sent[-1][0], True)
        return answer

    def _shuffler(self, method: str, path: str, *, token: str = "", **more: Any) -> Answer:
        window = int(path.rsplit("/", 1)[1])
        if method == "HEAD":
            return Answer(410 if window in self.expired else 404, b"")
        card = SignedCard.decode(self.cards[window]).card
        report = open_report(more["body"], card, self.world.gateway)
        at = window, token
        self.seen.setdefault(at, set()).add(report.encode())
        if self.world.now >= (window + 1) * HOUR + _GRACE:
            return Answer(410, b"")
        if self.stored.setdefault(at, report) != report:
            return Answer(409, b"")
        return Answer(202, b"")

    def pass_time(self) -> None:
        """Go on, and seal or destroy what is over; the clock of the device may jump."""
        if not self.random.randrange(3):
            self.world.go_to(self.world.now + 700 * self.random.randrange(4))
        for window in _WINDOWS:
            over = self.world.now >= (window + 1) * HOUR + _GRACE
            if over and window not in self.expired and window % 2:
                self.expired.add(window)
                self.stored = {at: one for at, one in self.stored.items() if at[0] != window}
        self.ahead = self.random.choice([0.0] * 6 + [200.0, -200.0, 5000.0])

    def reach(self, _: str) -> None:
        """Kill the program at a named point."""
        if self.kills and not self.random.randrange(12):
            raise _Stopped

    def evidence(self, window: int) -> tuple[bytes, bytes]:
        """Return what both services sign of a window that was sealed, and its marks."""
        digest = SignedCard.decode(self.cards[window]).card.digest
        slots = [bytes(52)]
        slots += [slot for at, one in self.stored.items() if at[0] == window for slot in one.slots]
        marks = MarksFile.of(digest, slots)
        count = len(slots)
        header = BatchHeader(True, digest, bytes(16), count, count, (bytes(32),), marks.sha256)
        document = {
            "task_id": self.world.task.task_id.hex(),
            "window": window,
            "card_digest": digest.hex(),
            "marks_sha256": marks.sha256.hex(),
            "batch_header": header.sign(SHUFFLER_SIGN).encode().hex(),
        }
        return SignedResult.sign(document, ANALYZER_SIGN).encode(), marks.encode()


@pytest.fixture
def storm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], _Storm]]:
    """Make a storm of a seed, and two windows that are paid."""
    made: list[IssuingWorld] = []

    def start(seed: int) -> _Storm:
        world = IssuingWorld(tmp_path, windows=2)
        made.append(world)
        found = _Storm(world, seed)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        hasten(monkeypatch, lambda: world.now + found.ahead, attempts=2)
        monkeypatch.setattr(
            taking_part,
            "Client",
            partial(Client, clock=lambda: world.now + found.ahead, reach=found.reach),
        )
        monkeypatch.setattr(submit, "ask", found.ask)
        return found

    yield start
    for world in made:
        world.close()


def _made_up_in_words(task: dict[str, Any]) -> Fraction:
    """Return the probability with which the page says that a choice is added to the own one."""
    words = (FOLDER / "src" / "page" / "words.js").as_uri()
    said = of_results(f"(await import({json.dumps(words)})).privacyWords({json.dumps(task)})[0][1]")
    found = re.search(r"added with probability ([0-9.]+)%", said)
    assert found, said
    return Fraction(found[1]) / 100


@needs_node
@pytest.mark.parametrize("protocol", ["histogram", "low_communication_histogram"])
def test_the_page_says_of_no_choice_more_noise_than_there_is(protocol: str) -> None:
    """The page "randomises [...] (the same laws)" (poll); "each of the d bins except with
    probability g", or "with probability g" (protocol, 3.2): g is all the noise that there is.

    In a poll of ten choices, epsilon 1 at delta 1e-6 and smallest batches of 1,000, it says
    "95.1%" of choices that are left out with probability .04865, and "4.87%" of choices that are
    added with probability .04866; of three choices and batches of 5,000 "99%", which is a
    twentieth more noise. What is said of Boolean and real sums is rounded to the safe side.
    """
    for size, min_batch in ((10, 1000), (3, 5000)):
        task = small_task(protocol, epsilon="1", delta="1e-6", min_batch=min_batch, size=size)
        added = _made_up_in_words(json.loads(task.encoded))
        noise = 1 - added if protocol == "histogram" else added
        assert noise >= Fraction(task.noise) * Fraction(8, 10)
        assert noise <= Fraction(task.noise)


@needs_node
def test_an_invitation_in_the_place_of_another_one_blocks_no_report_for_good(
    tmp_path: Path,
) -> None:
    """ "There is one answer with a link: use that invitation" (the page); "a retry repeats the same
    request and the same report" (poll).

    While the issuer is away somebody presses with an invitation, then with the one that came in
    its place. Later the first one gets its tokens, and the shuffler is away for a moment; the other
    one gets tokens too, is refused, and names the first. That one is refused as well from then on,
    by the same words, although nothing was ever sent with the other: no answer of this pass
    arrives in the window, and pass and both invitations have lost a place of the budget for good.
    """
    world = IssuingWorld(tmp_path, windows=1)
    world.open_window()
    try:
        recorder = Recorder(world, [503])
        said = page(
            world,
            recorder,
            """
            const [lost, again] = given.invitations, said = [];
            const silent = async (url, fields) => {
              if (url.includes("/tokens/")) throw new TypeError("Failed to fetch");
              return fetcher(url, fields);
            };
            await press(1, lost, { fetcher: silent, attempts: 1 });
            await press(1, again, { fetcher: silent, attempts: 1 });
            for (const one of [lost, again, lost]) said.push(await press(1, one, { attempts: 1 }));
            return said;
            """,
        )
        assert "does not answer" in said[0]
        assert "use that invitation" in said[1]
        assert len({report.encode() for report in recorder.reports()}) == 1
        assert said[2] == ""
    finally:
        world.close()


def test_whatever_is_lost_or_killed_people_are_told_what_is_so(
    storm: Callable[[int], _Storm],
) -> None:
    """ "All that is sent follows from what is stored" (serve); "a client answers in no more windows
    than the budget pays for" (threats); "what step 7 says" (protocol, 5); "nothing was sent".

    Two people of one device, requests and answers that are lost, programs that are killed, clocks
    that jump, windows that are destroyed: one report of each, in no more windows than are paid;
    what a call says is what the shuffler has; a look-up says it too; no report is left.
    """
    found = storm(2)
    world = found.world
    people = {name: (name * 96, world.invitation()) for name in ("a", "b")}
    spent = 0
    for _ in range(26):
        found.pass_time()
        name = found.random.choice(["a", "b"])
        own_pass, invitation = people[name]
        part, words = _call(found, name, own_pass, invitation)
        spent += "the budget of the task pays for" in words
        now = world.task.window_at(world.now + found.ahead)
        present = [one for one in found.sent if one[0] == now]
        if part is not None:
            assert part.window == now
            assert (now, own_pass) in found.stored or now in found.expired
            assert part.before == (not present)
            assert {late for late, good in found.sent if good} - {now} == set(part.late)
            assert not part.astray
        if any(one in words for one in _NOTHING):
            assert (now, own_pass) not in found.seen
    assert spent
    assert {len(reports) for reports in found.seen.values()} == {1}
    for own_pass, _ in people.values():
        answered = {at[0] for at in found.seen if at[1] == own_pass} - found.expired
        assert len(answered) <= 2
    _require_true_standings(found, {name: own for name, (own, _) in people.items()})


def _call(found: _Storm, name: str, own: str, invitation: str) -> tuple[TakenPart | None, str]:
    """Return what a call returned, and the words of its error."""
    found.sent = []
    try:
        part = take_part(
            found.world.task,
            found.random.randrange(2),
            shuffler=_SHUFFLER,
            pass_secret=own,
            invitation=invitation,
            issuer=found.world.address,
            person=name,
        )
    except _Stopped:
        return None, ""
    except SmoothdpError as error:
        return None, str(error)
    return part, ""


def _require_true_standings(found: _Storm, people: dict[str, str]) -> None:
    """Look all up when all is over: what is said is what the shuffler has, and no slot is left."""
    world, found.kills = found.world, False
    world.go_to((_WINDOWS[-1] + 3) * HOUR)
    store = OutcomeStore.of_user()
    Client(world.task, store, clock=lambda: world.now).settle()
    for window in sorted(set(_WINDOWS) - found.expired):
        result, marks = found.evidence(window)
        for name, own_pass in people.items():
            kept = store.get(world.task.task_id, window, name)
            said = look_up(world.task, window, kept, result=result, marks=marks)
            assert (said is Standing.INCLUDED) == ((window, own_pass) in found.stored)
            assert said is not Standing.NOT_SENT or (window, own_pass) not in found.seen
            assert said in (Standing.INCLUDED, Standing.NOT_THERE, Standing.NOT_SENT)
    store.close()
    files = (world.folder / "state").rglob("windows.sqlite*")
    raw = b"".join(file.read_bytes() for file in files)
    for report in (one for reports in found.seen.values() for one in reports):
        assert all(slot[32:] not in raw for slot in Report.decode(report, signed=True).slots)
