"""What the poll page keeps of a window when clocks or other pages were ahead of it."""

from __future__ import annotations

from tests.services.page.page_program import needs_node, run

pytestmark = needs_node

BEGIN = """
const { outcomes, toHex } = smoothdp, of = (...numbers) => new Uint8Array(numbers);
const place = (who) => ({ taskId: "task", window: 7, who });
const draw = (digest = of(1)) => ({
  row: { cardDigest: digest, state: outcomes.DRAWN, slots: of(2), seed: of(3) }, signed: of(4),
});
const keep = (who, fresh) => outcomes.keep(place(who), fresh, { most: 1 });
const row = async (who) => {
  const { state, report, marks } = await outcomes.find(place(who));
  return [state, report ? toHex(report) : "", marks ? toHex(marks) : ""];
};
"""


def test_a_page_that_found_a_draw_leaves_what_another_has_sent() -> None:
    """It has no marks to put there: the report waits for its own."""
    found = run(
        BEGIN
        + """
        await keep("me", draw());
        await outcomes.keepReport(place("me"), of(5));
        const rows = [];
        for (const step of [() => {}, () => outcomes.keepSent(place("me"))]) {
          await step();
          await outcomes.keepMarks(["task", 7, "me"], of());
          rows.push(await row("me"));
        }
        await outcomes.keepMarks(["task", 7, "me"], of(6));
        return [...rows, await row("me")];
        """
    )
    assert [report for _, report, _ in found] == ["05", "05", ""]
    assert [marks for _, _, marks in found] == ["", "", "06"]
    assert len({state for state, _, _ in found}) == 3


def test_a_draw_that_was_never_sent_is_missed() -> None:
    found = run(
        BEGIN
        + """
        await keep("me", draw());
        await outcomes.keepMarks(["task", 7, "me"], of());
        return [(await row("me"))[0], outcomes.MISSED];
        """
    )
    assert found[0] == found[1]


def test_a_card_that_a_clock_had_forgotten_comes_back_and_no_other() -> None:
    """Without it others on this device drew, and were told that the window is over."""
    found = run(
        BEGIN
        + """
        await keep("one", draw());
        await outcomes.forgetCards("task", 8);
        const without = await outcomes.cardOf(place("two"));
        await keep("two", draw());
        const again = await outcomes.cardOf(place("two"));
        await outcomes.forgetCards("task", 8);
        const said = await keep("three", draw(of(9))).then(() => "", (error) => error.message);
        return [without ? toHex(without) : "", toHex(again), said];
        """
    )
    assert found[:2] == ["", "04"]
    assert "card" in found[2]
