"""Replaced invitations and passes, budgets over many windows, odd documents that were signed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest

from smoothdp.errors import InvalidData
from smoothdp.services import take_part
from smoothdp.services.client.inclusion import read_evidence
from smoothdp.services.formats.result import SignedResult
from smoothdp.services.wire.calls import ServiceError
from tests.services.page.page_person import page
from tests.services.page.page_program import needs_node, run
from tests.services.worlds.issuing_world import WINDOW, IssuingWorld, Recorder
from tests.services.worlds.small_tasks import ANALYZER_SIGN, small_task


@needs_node
@pytest.mark.parametrize("answer", [503, 202], ids=["refused", "accepted"])
def test_a_second_invitation_in_one_window_is_no_second_answer_behind_a_pass(
    answer: int, tmp_path: Path
) -> None:
    """ "No invitation and no pass is behind more answers than the budget pays for: those of both
    count together, an answer with each pass that it was made or sent with" (poll), of a task that
    pays for one; a person "counts against the budget with every row that was made or sent with the
    same pass" (threats).

    A person's invitation is lost, or was revoked by mistake ("gets a new pass or invitation", run
    a party), after the report was made with it. With the new one the page draws anew in the same
    window, for the same pass: other rows of the pass count in other windows alone. The shuffler
    has two independent draws of one person, each with good tokens, and may hand on both.
    """
    world = IssuingWorld(tmp_path, windows=1)
    world.open_window()
    try:
        recorder = Recorder(world, [answer])
        said, counted = page(
            world,
            recorder,
            """
            const [lost, again] = given.invitations, said = [];
            said.push(await press(1, lost, { attempts: 1 }));
            said.push(await press(1, again, { attempts: 1 }));
            const place = await smoothdp.placeOf({
              task, taskId, window: given.window + 1, invitation: again, pass: "p".repeat(96) });
            return [said, await smoothdp.outcomes.answeredIn(place)];
            """,
        )
        assert said[0].startswith("The service does not answer" if answer == 503 else "")
        assert counted == [WINDOW]
        assert len(recorder.passes) == 1
        assert len({report.encode() for report in recorder.reports()}) == 1
    finally:
        world.close()


@needs_node
def test_a_second_pass_in_one_window_sends_what_the_page_drew(tmp_path: Path) -> None:
    """ "One person is one invitation" (poll): a shuffler that gives out passes as it likes, and
    refuses the report under each, has one set of slots."""
    world = IssuingWorld(tmp_path, windows=1)
    world.open_window()
    try:
        recorder = Recorder(world, [503, 409])
        page(
            world,
            recorder,
            """
            for (const digit of "abc") {
              await press(Number(digit === "b"), given.invitations[0], {
                pass: digit.repeat(96), attempts: 1 });
            }
            return 0;
            """,
        )
        assert len(recorder.passes) == 3
        assert len({report.encode() for report in recorder.reports()}) == 1
    finally:
        world.close()


def test_new_secrets_in_one_window_send_what_the_program_drew(quick_world: IssuingWorld) -> None:
    """ "No retry draws again": all that is sent follows from the row of (task, window, name)
    (protocol-2, 5), also with a new invitation, a new pass, and another datum each time."""
    recorder = Recorder(quick_world, [503, 409])
    for number in range(3):
        secrets = {"pass_secret": f"0{number}" * 48, "invitation": quick_world.invitation()}
        given: dict[str, Any] = secrets | {"issuer": quick_world.address}
        try:
            part = take_part(quick_world.task, number % 2, shuffler=recorder.address, **given)
            assert part.begun
        except ServiceError:
            assert number < 2
    assert len(recorder.passes) == 3
    assert len({report.encode() for report in recorder.reports()}) == 1
    assert quick_world.storage.read("SELECT count(*) FROM issued")[0][0] == 1


STORM = """
let state = given;
const below = (n) => { state = (state * 1103515245 + 12345) % 2 ** 31; return (state >> 8) % n; };
const { outcomes, placeOf } = smoothdp, of = (...numbers) => new Uint8Array(numbers);
const task = { proof: "slots" };
const turns = (left, done) => (left ? setImmediate(turns, left - 1, done) : done());
globalThis.atStep = () => new Promise((done) => turns(below(3), done));
const most = 2, sent = new Map(), behind = new Map(), expired = new Set([8, 11]);
let [now, made] = [7, 0];
const quiet = (work) => work.catch(() => {});
const step = async () => {
  const [invitation, pass] = ["abcd"[below(4)], "pqr"[below(3)]];
  const window = now - (below(4) ? 0 : 1);
  const place = await placeOf({ task, taskId: "task", window, invitation, pass });
  const row = { cardDigest: of(1), state: outcomes.DRAWN, slots: of(2), seed: of(3) };
  if (window === now) {
    await quiet(outcomes.keep(place, { row: { ...row, ends: 0 }, signed: of(4) }, { most }));
  }
  if (below(3)) await quiet(outcomes.keepReport(place, of(made++)));
  const refused = await outcomes.keepPass(place, most).then(() => false, () => true);
  const { state: is, report } = (await outcomes.find(place)) ?? {};
  if (refused || is !== outcomes.FINAL || !report) return;
  for (const one of [invitation, pass]) {
    if (!sent.has(one)) sent.set(one, new Set());
    sent.get(one).add(window);
  }
  const at = pass + window;
  behind.set(at, new Set([...(behind.get(at) ?? []), String(report)]));
  if (below(2)) await outcomes.keepSent(place);
};
for (; now < 15; now++) {
  for (let round = 0; round < 4; round++) await Promise.all([step(), step(), step()]);
  // The window before is over, with its grace.
  for (const [key, row] of await outcomes.liveBefore("task", { window: now, begun: now }, 0)) {
    await outcomes.keepMarks(key, row.report ? of(5) : of());
  }
  if (expired.has(now - 1)) {
    for (const invitation of "abcd") for (const pass of "pqr") {
      await outcomes.keepDestroyed(
        await placeOf({ task, taskId: "task", window: now - 1, invitation, pass }));
    }
  }
}
const counted = (windows) => [...windows].filter((w) => !expired.has(w)).length;
return [[...sent.values()].map(counted), [...behind.values()].map((reports) => reports.size)];
"""


@needs_node
def test_in_any_order_no_secret_is_behind_answers_of_more_windows_than_are_paid() -> None:
    """ "No invitation and no pass is behind more answers than the budget pays for" (poll), over
    windows: four invitations and three passes in every pairing, three tabs at once, late reports,
    rows that are missed and windows that are destroyed. Two windows are paid. And no pass is behind
    two reports of a window."""
    most = []
    for seed in range(12):
        windows, reports = run(STORM, seed)
        most.append(max(windows))
        assert max(reports) == 1, (seed, reports)
    assert max(most) == 2
    assert len(most) - most.count(2) < 4


ODD = {
    "a number": '"card_digest": 5',
    "nothing": '"card_digest": null, "marks_sha256": null, "batch_header": null',
    "a state that is nothing": '"state": null',
    "a reason that is a list": '"state": "REFUSED", "reason": [["\\u001b[2J"]]',
    "no header": '"state": "REFUSED", "batch_header": ""',
    "a header of zeros": f'"card_digest": "", "marks_sha256": "", "batch_header": "{"00" * 162}"',
    "deep": '"x": ' + "[" * 100_000,
    "long": '"x": ' + "9" * 5000,
    "a number that is none": '"x": NaN',
}


@pytest.mark.parametrize("field", ODD.values(), ids=ODD.keys())
def test_no_document_that_the_analyser_signed_is_evidence_without_the_shufflers_word(
    field: str,
) -> None:
    """ "Two signed hashes that differ" (threats), "check A's signature, task and window; S's
    signature in `batch_header`" (protocol-2, 5): of an analyser that signs whatever it likes
    nothing is taken, and it is said in words that steer no terminal."""
    task = small_task()
    text = f'{{"task_id": "{task.task_id.hex()}", "window": 7, {field}}}'.encode()
    signature = ANALYZER_SIGN.sign("result", hashlib.sha256(text).digest())
    with pytest.raises(InvalidData) as said:
        read_evidence(task, 7, SignedResult(text, signature).encode())
    assert str(said.value).isprintable()
