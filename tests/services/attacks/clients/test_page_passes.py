"""Passes, links and tabs of the poll page: whose an answer is, and in how many windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.services.page.page_person import PERSON, page, without_issuer
from tests.services.page.page_program import needs_node, run
from tests.services.storages import ON_BOTH_STORAGES
from tests.services.worlds.issuing_world import WINDOW, IssuingWorld, Recorder
from tests.services.worlds.page_store import STORE
from tests.services.worlds.small_tasks import small_task


@needs_node
def test_a_pass_that_took_the_place_of_a_wrong_one_counts(world: IssuingWorld) -> None:
    """Drawn beside a pass that the shuffler does not know, sent with another: both count."""
    recorder = Recorder(world)
    found = page(
        world,
        recorder,
        """
        const { outcomes } = smoothdp, [right, wrong] = ["b".repeat(96), "a".repeat(96)];
        const [mine, fresh] = given.invitations;
        const refused = async (url, fields) => url.includes("/reports/")
          ? new Response(null, { status: 401 }) : fetcher(url, fields);
        const said = [await press(1, mine, { pass: wrong, fetcher: refused })];
        said.push(await press(1, mine, { pass: right }));
        const where = { task, taskId, window: given.window + 1, invitation: fresh };
        for (const pass of [right, wrong]) {
          const place = await smoothdp.placeOf({ ...where, pass });
          said.push(await outcomes.answeredIn(place));
        }
        return [said, given.window];
        """,
    )
    said, window = found
    assert said[0].startswith("Ask who runs the shuffler for a pass")
    assert said[1:] == ["", [window], [window]]


SPENT = "The budget of this poll pays for no more answers of one person"
NO_ROOM = "The budget of this poll pays for no more answers with this link"


@needs_node
def test_a_pass_without_room_does_not_send_what_was_drawn_beside_another() -> None:
    """Else a new invitation and a pass that is none, in each window, would be a new budget."""
    found = run(
        STORE
        + """
        const said = [await draw(7, "a", "p"), await draw(8, "b", "p"), await draw(8, "b", "none")];
        for (const [invitation, pass] of [["b", "p"], ["b", "none"], ["b", "q"]]) {
          said.push(await outcomes.keepPass(await at(8, invitation, pass), 1)
            .then(() => "", (error) => error.message));
        }
        said.push(await draw(9, "c", "q"), await draw(9, "c", "r"));
        return said.map((one) => one.slice(0, given.length));
        """,
        SPENT,
    )
    assert found == ["", SPENT, "", NO_ROOM[: len(SPENT)], "", "", SPENT, ""]


@needs_node
def test_rows_of_a_page_that_kept_no_pass_count_for_everybody() -> None:
    """Whose they are is not known: what was seen of somebody is counted rather twice."""
    found = run(
        STORE
        + """
        await draw(7, "a", "p");
        const { who } = await at(7, "a", "p"), key = JSON.stringify(["task", 7, who]);
        const { pass, ...older } = stored.rows.get(key);
        stored.rows.set(key, older);
        const said = [await draw(8, "b", "p"), await draw(7, "b", "p")];
        // As the page before this one kept it; this one keeps the same, if there is one pass.
        stored.rows.set(key, { ...older, pass });
        said.push(typeof pass, await outcomes.answeredIn(await at(8, "c", "p")));
        return [...said, await outcomes.answeredIn(await at(8, "c", "q"))];
        """
    )
    assert found[0].startswith(SPENT)
    assert found[1:] == ["", "string", [7], []]


@needs_node
def test_a_row_that_an_older_page_kept_without_a_pass_stays_everybodys() -> None:
    """ "An answer that an older page kept without a pass counts for everybody".

    Also once it is sent again, with a pass that is mistyped, say: then it counted for that one
    alone, and not "with every row that was made ... with the same pass". A new invitation was a
    new budget.
    """
    found = run(
        """
        const { outcomes, placeOf } = smoothdp, of = (...numbers) => new Uint8Array(numbers);
        const at = (window, invitation, pass) =>
          placeOf({ task: { proof: "slots" }, taskId: "task", window, invitation, pass });
        const draw = async (...where) => {
          const row = { cardDigest: of(1), state: outcomes.DRAWN, slots: of(2), seed: of(3) };
          return outcomes.keep(await at(...where), { row, signed: of(4) }, { most: 1 })
            .then(() => "", (error) => error.message);
        };
        await draw(7, "a", "right");
        const { who } = await at(7, "a", "right"), key = JSON.stringify(["task", 7, who]);
        const { pass, ...older } = stored.rows.get(key);
        stored.rows.set(key, older);
        await outcomes.keepPass(await at(7, "a", "mistyped"), 1);
        return [await draw(8, "b", "right"), await draw(8, "c", "mistyped")];
        """
    )
    assert all(said.startswith("The budget of this poll pays for no more") for said in found), found


@ON_BOTH_STORAGES
@needs_node
def test_who_has_pressed_once_has_said_who_answers(tmp_path: Path) -> None:
    """ "Sent again under the next link, unless another person says that they are one" before.

    Under one link one report leaves, whatever is said later; the page asks it no more.
    """
    sent, waiting, adopted = without_issuer(
        tmp_path,
        """
        told.push(503, 503);
        await by("a", { attempts: 1 });
        await by("b", { attempts: 1 });
        const { window } = given, who = await smoothdp.outcomes.nameOf("b");
        const place = { taskId, window, who };
        const { adopted } = await smoothdp.outcomes.find(place);
        const waiting = await smoothdp.outcomes.isWaiting(place);
        await by("b", { anotherPerson: true, datum: 0 });
        return [sent, waiting, adopted];
        """,
    )
    assert [who[-1] for who, _ in sent] == ["a", "b", "b"]
    assert len({report for _, report in sent}) == 1
    assert (waiting, adopted) == (False, True)


@needs_node
def test_a_task_under_another_spelling_of_its_name_is_no_other_task() -> None:
    """ "The page takes the task by its hash": a name spelt anew is no second budget."""
    task = small_task()
    name = task.task_id.hex()
    other = [name.upper(), f"%{ord(name[0]):x}{name[1:]}", f"{name} ", f"{name}\u200b"]
    found = run(
        """
        const encoded = new TextEncoder().encode(given.task), said = [];
        for (const name of given.names) {
          const read = smoothdp.readTask(encoded, name);
          said.push(await read.then(() => "", ({ message }) => message));
        }
        return said;
        """,
        {"task": task.encoded.decode(), "names": [name, *other]},
    )
    assert found == ["", *["The terms of this poll are not those of its name."] * len(other)]


@needs_node
def test_a_browser_that_goes_on_to_another_poll_keeps_no_report_and_no_seed(
    world: IssuingWorld,
) -> None:
    """They stayed for ever, if the page of the first poll was never loaded again."""
    found = page(
        world,
        Recorder(world),
        """
        const silent = async (url, fields) => {
          if (url.includes("/tokens/")) throw new TypeError("Failed to fetch");
          return fetcher(url, fields);
        };
        await press(1);
        await press(1, given.invitations[1], {
          fetcher: silent, attempts: 1, pass: "q".repeat(96) });
        const end = (given.window + 1) * task.window_seconds + task.grace_seconds;
        const other = { task: { ...task, window_seconds: 7 * 86400 }, taskId: "other" };
        const kept = [];
        for (const now of [end - task.grace_seconds + 299, end - 1, end]) {
          await smoothdp.settle({ ...other, seconds: now });
          kept.push([...stored.rows.values()].map((row) =>
            [row.state, Object.keys(row).filter((name) =>
              ["report", "slots", "seed"].includes(name)).length, row.marks?.length ?? 0]));
        }
        return kept;
        """,
    )
    slots = world.task.slots
    assert found[0] == [["sent", 1, 0], ["drawn", 2, 0]]
    assert found[1] == [["sent", 1, 0], ["missed", 0, 0]]
    assert found[2] == [["marks", 0, 16 * slots], ["missed", 0, 0]]


STORM = """
let state = given.seed;
const below = (n) => { state = (state * 1103515245 + 12345) % 2 ** 31; return (state >> 8) % n; };
const pass_by = (turns, done) => (turns ? setImmediate(pass_by, turns - 1, done) : done());
globalThis.atStep = () => new Promise((done) => pass_by(below(4), done));
const byPass = new Map(), byReport = new Set(), expired = new Set(), seen = {}, false_words = [];
let real = given.now;
const shuffler = async (url, { headers, body } = {}) => {
  const window = Number(url.split("/").at(-1)), fault = below(6);
  const says = (status) => new Response(null, { status });
  if (url.includes("/cards/")) return new Response(smoothdp.fromHex(given.cards[window]));
  if (url.includes("/marks/")) return says(expired.has(window) ? 410 : 404);
  if (fault === 0) throw new TypeError("lost");
  if (fault === 1) return says(503);
  const opened = await smoothdp.openReport(body, smoothdp.fromHex(given.gateway));
  const report = smoothdp.toHex(opened), at = `${headers.authorization} ${window}`;
  (seen[at] ??= new Set()).add(report);
  if (real >= (window + 1) * 3600 + 600) return says(410);
  if (byPass.has(at) ? byPass.get(at) !== report : byReport.has(report)) return says(409);
  byPass.set(at, report);
  byReport.add(report);
  if (fault === 2) throw new TypeError("lost");
  return says(202);
};
for (let step = 0; step < 25; step++) {
  if (!below(4)) real += 900 * below(5);
  for (const window of Object.keys(given.cards).map(Number)) {
    const over = real >= (window + 1) * 3600 + 600;
    if (over && ![...byPass.keys()].some((at) => at.endsWith(window))) expired.add(window);
  }
  await Promise.all(Array.from({ length: 1 + below(3) }, () => {
    const device = real + [0, 0, 0, 0, 0, 0, 4000, -4000][below(8)];
    const window = Math.floor(device / 3600), pass = "abc"[below(3)].repeat(96);
    const more = { task, taskId, fetcher: shuffler, pause: async () => {}, attempts: 2 };
    return smoothdp.submit({
      ...more, pass, datum: below(2), window, anotherPerson: !below(2), seconds: () => device,
    }).then(async () => {
      const { report } = (await smoothdp.outcomes.find({
        taskId, window, who: await smoothdp.outcomes.nameOf(pass) })) ?? {};
      if (report && !byReport.has(smoothdp.toHex(report))) false_words.push(window);
    }, () => {});
  }));
}
const counted = {}, answers = ["drawn", "final", "sent", "marks", smoothdp.outcomes.UNSURE];
for (const [key, row] of stored.rows) {
  const who = JSON.parse(key)[2];
  if (answers.includes(row.state)) counted[who] = (counted[who] ?? 0) + 1;
}
await smoothdp.settle({ task, taskId, seconds: real + 1e6 });
const left = [...stored.rows.values()].filter((row) => row.report || row.slots || row.seed);
const sets = Object.values(seen).map((reports) => reports.size);
return { sets, most: Math.max(...Object.values(counted)), left: left.length, false_words };
"""


@needs_node
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_tabs_of_several_people_at_once_on_clocks_that_jump(seed: int, tmp_path: Path) -> None:
    """Three passes, no issuer, lost answers, expired windows: one report, the budget, nothing left.

    "Has arrived" is said only of a report that the shuffler has.
    """
    made = IssuingWorld(tmp_path, issuer=None, proof="none", windows=3)
    try:
        windows = range(WINDOW - 2, WINDOW + 40)
        given = {
            "seed": seed,
            "task": made.task.encoded.decode(),
            "taskId": made.task.task_id.hex(),
            "now": made.now,
            "cards": {window: made.make_card(window).hex() for window in windows},
            "gateway": made.gateway.to_bytes().hex(),
        }
        found = run(PERSON + STORM, given)
    finally:
        made.close()
    assert set(found["sets"]) == {1}
    assert found["most"] <= 3
    assert found["left"] == 0
    assert found["false_words"] == []
