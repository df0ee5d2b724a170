"""Lies that no look-up tells, seeds that another poll's page leaves, and what held beside them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import httpx
import pytest

from smoothdp.errors import InvalidData
from smoothdp.services import look_up_report
from smoothdp.services.analyzer.release import read_result, work
from smoothdp.services.client import taking_part
from smoothdp.services.client.outcomes import OutcomeStore
from smoothdp.services.formats.batch import BatchHeader
from smoothdp.services.formats.design.budget import KEY_SECONDS, windows_paid
from smoothdp.services.formats.result import SignedResult
from tests.services.page.page_person import page
from tests.services.page.page_program import needs_node, run
from tests.services.storages import ONLY_SQLITE
from tests.services.worlds.issuing_world import IssuingWorld, Recorder
from tests.services.worlds.page_of_threats import on_the_page
from tests.services.worlds.party_world import HOUR, WINDOW
from tests.services.worlds.small_tasks import SHUFFLER_SIGN
from tests.services.worlds.whole_world import WholeWorld, weak_task

PART_RECORDS = 1 << 14


class FalseWords(WholeWorld):
    """A shuffler that says of each window that it destroyed it."""

    def _shuffler_answers(self, request: httpx.Request) -> tuple[str, httpx.Response]:
        if request.method == "HEAD":
            return "marks", httpx.Response(410)
        return super()._shuffler_answers(request)


def _hand_over_all_but_the_last_part(world: WholeWorld, records: list[bytes]) -> None:
    """Deliver true records, filled up so that they make one part; keep the other part back."""
    width = world.shuffler.record_bytes
    first = b"".join(records) + os.urandom(width * (PART_RECORDS - len(records)))
    digest, batch_id = world.card(WINDOW).digest, b"1" * 16
    header = BatchHeader(
        signed=True,
        card_digest=digest,
        batch_id=batch_id,
        users=PART_RECORDS + 1,
        slots=PART_RECORDS + 1,
        part_hashes=(hashlib.sha256(first).digest(), bytes(32)),
        marks_sha256=bytes(32),
    ).sign(SHUFFLER_SIGN)
    assert world.analyzer.put_batch(batch_id, header.encode()) == 201
    assert world.analyzer.put_part(batch_id, 0, first) == 201


@ONLY_SQLITE
def test_a_refusal_without_what_both_signed_shows_no_lie_of_the_shuffler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shuffler that says falsely that it destroyed a window: "who looks that window up in a
    result, or in a refusal with what both signed about its batch, sees the lie" (threats).

    It hands over the reports in the first part of a batch, and keeps the last part back for ever.
    The analyser has the person's slots of two windows, where the budget pays for one, and signs
    that the first is REFUSED, as not all of its batch came, with the reason alone: nothing can be
    looked up in it.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    task = weak_task(windows=1, max_batch=PART_RECORDS + 1)
    assert windows_paid(task) == 1
    world = FalseWords(tmp_path, task, fast=True)
    world.stores["clients"] = OutcomeStore.of_user()
    world.open_window()
    assert [world.take_part(person) for person in ("victim", "b", "c")] == [202] * 3
    records = [record for who in ("victim", "b", "c") for record in world.report_of(who).records]
    slot = world.report_of("victim").slots[0]
    world.go_to((WINDOW + 1) * HOUR + task.grace_seconds + 1)
    world.clocks[-1].heard(world.now)
    _hand_over_all_but_the_last_part(world, records)
    assert slot in b"".join(
        bytes(row[0]) for row in world.analyzer.storage.read("SELECT bytes FROM part")
    )
    world.client("victim").settle()
    world.go_to((WINDOW + 1) * HOUR + task.grace_seconds + KEY_SECONDS + 1)
    work(world.analyzer)
    status, refusal = read_result(world.analyzer, WINDOW, now=world.now)
    assert status == 403
    assert SignedResult.decode(refusal).document["state"] == "REFUSED"
    # One window more than is paid for is answered, on the word of the shuffler.
    later = int(world.now // HOUR) + 1
    world.go_to(later * HOUR + 700)
    world.clocks[-1].heard(world.now)
    world.open_window(later)
    assert world.take_part("victim", window=later) == 202
    world.close()
    gone = httpx.MockTransport(lambda _: httpx.Response(410))
    monkeypatch.setattr(
        taking_part, "connect", lambda _: httpx.Client(base_url="https://x", transport=gone)
    )
    with pytest.raises(InvalidData, match="Nothing can be looked up in it"):
        look_up_report(task, WINDOW, result=refusal, shuffler="https://x", person="victim")
    assert on_the_page("in a refusal with what both signed about its batch, sees the lie")


@needs_node
def test_another_polls_page_leaves_no_seed_for_which_no_tokens_come(tmp_path: Path) -> None:
    """ "A row that is DRAWN still 300 s after the end [...] is missed: no tokens are given in the
    grace"; "Step 6 is for all tasks of the state, whichever runs" (protocol, 5). On a device is
    "the seed while tokens are waited for" (threats).

    The issuer of one poll is away until its window ends; the person opens another poll of the same
    browser from then on. Its page leaves slots and seed of the first until the grace is over too:
    with an hour of grace for an hour, with a day of grace for a day.
    """
    world = IssuingWorld(tmp_path, grace_seconds=HOUR)
    world.open_window()
    found = page(
        world,
        Recorder(world),
        """
        const lost = (url, fields) =>
          url.includes("/tokens/") ? Promise.reject(new TypeError("away")) : fetcher(url, fields);
        await press(1, undefined, { fetcher: lost, attempts: 1 });
        const place = await smoothdp.placeOf({ task, taskId, window: given.window,
          pass: "p".repeat(96), invitation: given.invitations[0] });
        const said = [];
        for (const [after, id] of [[0, "0".repeat(64)], [310, "0".repeat(64)], [310, taskId]]) {
          const seconds = (given.window + 1) * task.window_seconds + after;
          await smoothdp.settle({ task, taskId: id, seconds });
          const { state, seed } = await smoothdp.outcomes.find(place);
          said.push([state, Boolean(seed)]);
        }
        return said;
        """,
    )
    world.close()
    assert found[0] == ["drawn", True]
    # The poll's own page does it.
    assert found[2] == ["missed", False]
    assert found[1] == ["missed", False]


_WALK = """
const { outcomes, placeOf, toHex } = smoothdp, of = (...numbers) => new Uint8Array(numbers);
let state = given, serial = 0;
const any = (n) => {
  state = (state * 1103515245 + 12345) % 2147483648;
  return Math.floor(state / 65536) % n;
};
const wrong = [], step = {
  draw: (place, _, most) => outcomes.keep(place, { signed: of(4), row: {
    cardDigest: of(1), state: "drawn", slots: of(++serial >> 8, serial & 255), seed: of(3),
  } }, { most }),
  finish: (place, row) => row?.state === "drawn" && outcomes.keepReport(place, row.slots),
  over: (place, row) => row && any(3) === 0 &&
    outcomes.keepMarks([place.taskId, place.window, place.who], row.report ?? of()),
  destroyed: (place, row, _, gone) => row?.marks && any(4) === 0 &&
    outcomes.keepDestroyed(place).then(() => gone.add(place.window)),
  async send(place, row, most, gone, sent) {
    if (row?.state !== "final") return;
    await outcomes.keepPass(place, most);
    sent.push([place.window, place.who, place.pass, toHex(row.report)]);
    if (any(2)) await outcomes.keepSent(place);
  },
};
const names = ["draw", "draw", "finish", "finish", "send", "send", "send", "over", "destroyed"];
let all = 0, refused = 0;
for (let trial = 0; trial < 150; trial++) {
  const most = 1 + any(2), drawn = [], sent = [], gone = new Set();
  for (let at = 0; at < 30; at++) {
    const name = names[any(names.length)];
    let [window, invitation, pass] = [1 + any(4), `i${any(4)}`, `p${any(4)}`];
    if (name !== "draw" && drawn.length) {
      const [first, second, third] = drawn[any(drawn.length)];
      [window, invitation, pass] = [first, second, any(3) ? third : pass];
    }
    const taskId = `task ${trial}`;
    const place = await placeOf({ task: { proof: "slots" }, taskId, window, invitation, pass });
    try {
      await step[name](place, await outcomes.find(place), most, gone, sent);
      if (name === "draw") drawn.push([window, invitation, pass]);
    } catch {
      refused++;
    }
  }
  all += sent.length;
  const counts = (key, value, rows = sent) => {
    const found = {};
    for (const one of rows) (found[key(one)] ??= new Set()).add(value(one));
    return Object.values(found).map((one) => one.size);
  };
  const left = sent.filter((one) => !gone.has(one[0]));
  for (const who of [1, 2]) {
    wrong.push(...counts((one) => one[who], (one) => one[0], left).filter((n) => n > most));
  }
  wrong.push(...counts((one) => [one[0], one[2]], (one) => one[3]).filter((n) => n > 1));
}
return [all > 150, refused > 150, wrong];
"""


@needs_node
def test_in_any_order_of_draws_tokens_passes_and_ends_no_pass_is_behind_more_than_is_paid() -> None:
    """ "No invitation and no pass is behind more answers than the budget pays for [...] and with
    one pass no second report leaves in a window, whatever invitation it is made with" (poll).

    Held off: four invitations and four passes in any mixture, rows that change their pass between
    two steps, windows that are over or said to be destroyed, of which none counts.
    """
    assert run(_WALK, 25) == [True, True, []]
