"""Links of an open poll in any order, budgets in any spelling, hostile words, twins of a task."""

from __future__ import annotations

import hashlib
import random
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from smoothdp.errors import InvalidData, SmoothdpError
from smoothdp.services.client.client import Client
from smoothdp.services.client.inclusion import Standing, look_up
from smoothdp.services.client.outcomes import DESTROYED, Kept, OutcomeStore
from smoothdp.services.client.submit import submit
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.card import Card, SignedCard, sign_card
from smoothdp.services.formats.design.budget import windows_paid
from smoothdp.services.formats.marks import MarksFile, mark_of
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.wire.hybrid import PrivateKey
from tests.services.page.page_program import needs_node, run
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld
from tests.services.worlds.small_tasks import ANALYZER_SIGN, SHUFFLER_SIGN, open_task, small_task

_LINKS = """
const { outcomes, placeOf, toHex } = smoothdp, of = (...numbers) => new Uint8Array(numbers);
let state = given, serial = 0;
const any = (n) => {
  state = (state * 1103515245 + 12345) % 2147483648;
  return Math.floor(state / 65536) % n;
};
const wrong = [], seen = { sent: 0, adopted: 0, refused: 0 };
for (let trial = 0; trial < 150; trial++) {
  const most = 1 + any(2), sent = [], gone = new Set(), taskId = `task ${trial}`;
  for (let at = 0; at < 40; at++) {
    const [window, pass] = [1 + any(3), `p${any(4)}`];
    const place = await placeOf({ task: { proof: "none" }, taskId, window, pass });
    const row = await outcomes.find(place);
    const kind = any(6);
    try {
      if (kind < 2) {
        const adopt = any(4) > 0, before = await outcomes.inWindow(place);
        const fresh = { signed: of(4), row: {
          cardDigest: of(1), state: "final", report: of(++serial >> 8, serial & 255) } };
        const made = await outcomes.keep(place, fresh, { adopt, most });
        const adopted = !row && made.report !== fresh.row.report;
        seen.adopted += adopted;
        const waits = before.some((one) => ["final", outcomes.UNSURE].includes(one.state));
        if (!row && adopt && waits && !adopted) wrong.push("drawn beside one that waits");
      } else if (kind < 4 && row?.state === "final") {
        await outcomes.keepPass(place, most);
        sent.push([window, pass, toHex(row.report)]);
        if (any(2)) await outcomes.keepSent(place);
      } else if (kind === 4 && row && any(3) === 0) {
        await outcomes.keepMarks([taskId, window, place.who], row.report ?? of());
      } else if (kind === 5 && row?.marks && any(3) === 0) {
        await outcomes.keepDestroyed(place);
        gone.add(window);
      }
    } catch {
      seen.refused++;
    }
  }
  seen.sent += sent.length;
  for (const pass of new Set(sent.map((one) => one[1]))) {
    const own = sent.filter((one) => one[1] === pass);
    const windows = new Set(own.map((one) => one[0]).filter((one) => !gone.has(one)));
    if (windows.size > most) wrong.push(["more than is paid", trial]);
    for (const window of new Set(own.map((one) => one[0]))) {
      const reports = new Set(own.filter((one) => one[0] === window).map((one) => one[2]));
      if (reports.size > 1) wrong.push(["two reports", trial]);
    }
  }
}
return [wrong, seen];
"""


@needs_node
def test_in_any_order_no_link_of_an_open_poll_is_behind_two_reports_or_more_than_is_paid() -> None:
    """ "Without an issuer a person is a pass, and an answer that is not known to have arrived is
    sent again under the next link, unless another person says that they are one"; "no pass is
    behind more answers than the budget pays for" (poll).

    Held off: four links, in any order of draws, adoptions, words that are lost, ends and windows
    that are said to be destroyed.
    """
    wrong, seen = run(_LINKS, 26)
    assert wrong == []
    assert seen["sent"] > 300
    assert seen["adopted"] > 50
    assert seen["refused"] > 50


@needs_node
def test_the_page_counts_as_many_windows_as_the_ledger_in_whatever_way_a_budget_is_written() -> (
    None
):
    """ "They pay for floor(min of the two quotients) windows"; "numbers that are no counts are
    strings: up to 60 digits, a decimal or a ratio, exponents up to 3 digits" (protocol, 3.1).
    """
    draws = random.Random(26)

    def written() -> str:
        digits = str(draws.randint(1, 10 ** draws.randint(1, 25)))
        kind = draws.randrange(3)
        if kind == 0:
            return f"{digits}/{draws.randint(1, 10**12)}"
        if kind == 1:
            return digits
        return f"{digits}.{draws.randint(0, 10**9)}e-{draws.randint(0, 30)}"

    tasks: list[dict[str, str]] = []
    while len(tasks) < 300:
        epsilon, delta, times = written(), written(), draws.randint(1, 1000)
        # Exactly so many, or one less by the least that can be written.
        less = draws.choice([Fraction(0), Fraction(1, 10**20)])
        budgets = [times * Fraction(each) - less for each in (epsilon, delta)]
        if all(budget > 0 and len(str(budget)) < 100 for budget in budgets):
            fields = {"epsilon": epsilon, "delta": delta}
            fields |= {"budget_epsilon": str(budgets[0]), "budget_delta": str(budgets[1])}
            if all(len(part) < 60 for each in fields.values() for part in each.split("/")):
                tasks.append(fields)
    counted = run("return given.map((task) => smoothdp.paidWindows(task))", tasks)
    assert counted == [windows_paid(SimpleNamespace(**task)) for task in tasks]


@pytest.mark.parametrize("signed", [True, False], ids=["issuer", "open"])
def test_nothing_but_the_one_word_frees_a_place_of_the_budget(
    tmp_path: Path, *, signed: bool
) -> None:
    """ "At 410 marks become 'destroyed', which counts no more" (protocol, 5): at nothing else, and
    of no window whose report is not over by the clock of the device, nor of a draw that waits for
    its tokens.
    """
    task = small_task(windows=1) if signed else open_task(windows=1)
    gateway, inner = PrivateKey.generate(), PrivateKey.generate()
    world = IssuingWorld(tmp_path, windows=1) if signed else None
    now = [float(WINDOW * HOUR + 600)]
    statuses = [200, 202, 204, 206, 301, 308, 400, 401, 403, 404, 405, 409, 411, 425, 429, 500, 503]
    word = [410]
    asked: list[str] = []

    def card_of(window: int) -> bytes:
        if world is not None:
            return world.make_card(window)
        card = Card(task.task_id, window, gateway.public.to_bytes(), inner.public.to_bytes(), None)
        both = sign_card(card, ANALYZER_SIGN), sign_card(card, SHUFFLER_SIGN)
        return SignedCard(card, *both).encode()

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.method} {request.url.path}")
        if request.method == "HEAD":
            away = {"location": f"https://x/v2/tasks/{task.task_id.hex()}/gone"}
            return httpx.Response(word[0], headers=away)
        if "/cards/" in request.url.path:
            return httpx.Response(200, content=card_of(int(request.url.path.rsplit("/", 1)[1])))
        if "/tokens/" in request.url.path:
            return httpx.Response(503)
        return httpx.Response(410 if request.url.path.endswith("gone") else 503)

    store = OutcomeStore(tmp_path / "windows.sqlite")
    client = Client(task, store, clock=lambda: now[0])
    with httpx.Client(base_url="https://x", transport=httpx.MockTransport(answer)) as http:

        def press() -> str:
            how: dict[str, Any] = {"issuer": http, "invitation": "b" * 96} if signed else {}
            with pytest.raises(SmoothdpError) as refused:
                submit(
                    *(client, 1),
                    shuffler=http,
                    pass_secret="a" * 96,
                    attempts=1,
                    pause=lambda _: None,
                    **how,
                )
            return str(refused.value)

        press()
        # In its window and in its grace the report is none that was destroyed, whatever is said.
        now[0] += HOUR - 500
        assert "the budget of the task pays for" in press()
        if world is not None:
            store.close()
            world.close()
            return
        now[0] += HOUR
        client.settle()
        for status in statuses:
            word[0] = status
            assert "the budget of the task pays for" in press()
        assert client.spent() == [WINDOW]
        word[0] = 410
        assert "the budget of the task pays for" not in press()
        kept = client.kept(WINDOW)
        assert kept is not None
        assert kept.state == DESTROYED
        assert client.spent() == [WINDOW + 2]
        assert not any(path.endswith("gone") for path in asked)
    store.close()


def test_what_was_signed_for_a_twin_of_a_task_is_nothing_of_this_one(tmp_path: Path) -> None:
    """ "Task id and window are right" (protocol, 4); "check A's signature, task and window" (5).

    Two tasks with the same keys, of which the other one asks for fewer people.
    """
    task, twin = small_task(min_batch=13), small_task(min_batch=12)
    assert (task.analyzer_key, task.shuffler_key) == (twin.analyzer_key, twin.shuffler_key)
    world = IssuingWorld(tmp_path, min_batch=12)
    card = world.make_card()
    store = OutcomeStore(tmp_path / "windows.sqlite")
    client = Client(task, store, clock=lambda: world.now)
    with pytest.raises(InvalidData):
        client.take_part(1, card=card, window=WINDOW)
    assert client.kept(WINDOW) is None
    digest = SignedCard.decode(card).card.digest
    slot = bytes(52)
    marks = MarksFile(digest, mark_of(slot))
    header = BatchHeader(
        signed=True,
        card_digest=digest,
        batch_id=bytes(16),
        users=1,
        slots=1,
        part_hashes=(bytes(32),),
        marks_sha256=hashlib.sha256(marks.encode()).digest(),
    ).sign(SHUFFLER_SIGN)
    said = {"task_id": twin.task_id.hex(), "window": WINDOW, "card_digest": digest.hex()}
    said |= {"marks_sha256": header.marks_sha256.hex(), "batch_header": header.encode().hex()}
    result = SignedResult.sign(said, ANALYZER_SIGN).encode()
    kept = Kept(digest, b"", b"", b"", mark_of(slot), DESTROYED)
    with pytest.raises(InvalidData, match="another one"):
        look_up(task, WINDOW, kept, result=result, marks=marks.encode())
    # In the twin itself it counts, and names the lie.
    assert look_up(twin, WINDOW, kept, result=result, marks=marks.encode()) is Standing.DESTROYED
    store.close()
    world.close()
