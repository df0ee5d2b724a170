"""Words and tokens that come while another program of the same person is between two steps."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from smoothdp.services.client.outcomes import (
    ANSWERED,
    DESTROYED,
    DRAWN,
    FINAL,
    OutcomeStore,
)
from smoothdp.services.formats.slots import SLOT_BYTES
from tests.services.page.page_program import needs_node, run
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld
from tests.services.worlds.page_store import STORE

ROW = (b"t" * 32, WINDOW, "me")


def test_a_word_that_comes_while_a_report_is_erased_leaves_no_report(
    world: IssuingWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "After end + grace by its own clock: **replace** the report by its M marks", "two programs
    of one person may run at once: each goes on from what the row is" (protocol-2, 5).

    Marks are put in the place of SENT first, and of FINAL in a second transaction. If the other
    program stores its 202 between the two, the row is neither at its turn: `settle` has said that
    it is done, both programs end, and the report stays on the disk.
    """
    client = world.client()
    client.take_part(1, card=world.make_card(), window=WINDOW)
    tokens = world.issuer.answer(world.account(), client.token_request(WINDOW))
    assert isinstance(tokens, bytes)
    client.finish(WINDOW, tokens)
    before = client.kept(WINDOW)
    assert before is not None
    assert before.state == FINAL
    mine, row = client._outcomes, (world.task.task_id, WINDOW, "me")
    change, turns = mine._change, list[str]()
    other = OutcomeStore(tmp_path / "client" / "windows.sqlite")

    def between(*where: Any, **values: Any) -> None:
        change(*where, **values)
        if not turns:
            other.keep_sent(*row)
        turns.append(str(where[-1]))

    monkeypatch.setattr(mine, "_change", between)
    world.go_to(float((WINDOW + 1) * HOUR + world.task.grace_seconds + 1))
    assert client.settle() == 1
    assert len(turns) > 1
    kept = client.kept(WINDOW)
    other.close()
    mine.close()
    held = b"".join(file.read_bytes() for file in (tmp_path / "client").iterdir())
    assert kept is not None
    assert (kept.state, len(kept.report)) == (ANSWERED, 0)
    assert before.report[35 : 35 + SLOT_BYTES] not in held


@needs_node
def test_a_word_that_comes_while_the_page_erases_a_report_leaves_no_report() -> None:
    """The same of two tabs: a browser keeps "locked messages, before they are sent, and after that
    time marks of them" (the page), and puts marks in their place "also while the page stays open".
    """
    found = run(
        STORE
        + """
        const place = await at(7, "a", "p");
        await draw(7, "a", "p");
        await outcomes.keepReport(place, of(5));
        // After the first transaction of this tab the other one has its 202.
        let steps = 0;
        globalThis.atStep = async () => {
          steps += 1;
          if (steps !== 2) return;
          globalThis.atStep = undefined;
          await outcomes.keepSent(place);
        };
        await outcomes.keepMarks(["task", 7, place.who], of(6));
        const { state, report } = await outcomes.find(place);
        return [steps, state, Boolean(report)];
        """
    )
    assert found == [2, "marks", False]


def test_a_report_whose_tokens_come_while_draws_are_missed_is_not_taken_away(
    world: IssuingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "After end + grace by its own clock: replace the report by its marks. A row that is DRAWN
    still 300 s after the end is missed", and a FINAL one of a window before that is "not over with
    its grace, is sent" (protocol-2, 5).

    In the grace `settle` looks for rows that are DRAWN, then reads each again. One that another
    program (of a machine that slept with the issuer's answer) has made FINAL in between is taken
    for one whose grace is over: the report, which the shuffler would take, is erased, its person
    is told that it "may have arrived", and its window keeps its place in their budget for good.
    """
    client = world.client()
    client.take_part(1, card=world.make_card(), window=WINDOW)
    tokens = world.issuer.answer(world.account(), client.token_request(WINDOW))
    assert isinstance(tokens, bytes)
    mine, other = client._outcomes, world.client()
    find = mine.live_before

    def late(task_id: bytes, window: int, *states: str) -> list[tuple[int, str]]:
        found = find(task_id, window, *states)
        if found and states == (DRAWN,):
            other.finish(WINDOW, tokens)
        return found

    monkeypatch.setattr(mine, "live_before", late)
    world.go_to(float((WINDOW + 1) * HOUR + 400))
    assert world.task.grace_seconds > 400
    client.settle()
    kept = other.kept(WINDOW)
    mine.close()
    other._outcomes.close()
    assert kept is not None
    assert (kept.state, bool(kept.report)) == (FINAL, True)


def interleavings(*lengths: int) -> list[tuple[int, ...]]:
    """Return all orders in which programs of so many steps take their turns."""
    turns = [who for who, length in enumerate(lengths) for _ in range(length)]
    return sorted(set(permutations(turns)))


@pytest.mark.parametrize("asks", [False, True], ids=["", "and the shuffler says 410"])
def test_in_no_order_of_transactions_a_word_of_the_shuffler_is_lost(
    asks: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "No state goes back. A 202 that comes after that end makes marks with S's word of them"
    (protocol-2, 5): one program erases, one gets a 202, a third one perhaps a 410, transaction by
    transaction in each order; once all is over the word is there, and no report.
    """
    store = OutcomeStore(tmp_path / "windows.sqlite")
    store._storage._connection.execute("PRAGMA synchronous=OFF")
    do, noted = store._change, list[tuple[Any, dict[str, Any]]]()

    def note(*where: Any, **values: Any) -> None:
        noted.append((where, values))

    programs = list[list[dict[str, Any]]]()
    begin: list[Callable[[], None]] = [
        lambda: store.keep_marks(*ROW, b"m" * 16),
        lambda: store.keep_sent(*ROW),
        lambda: store.keep_destroyed(*ROW),
    ]
    for each in begin if asks else begin[:2]:
        noted.clear()
        with monkeypatch.context() as only_noted:
            only_noted.setattr(store, "_change", note)
            each()
        programs.append([values | {"before": where[-1]} for where, values in noted])
    ends = set()
    for number, order in enumerate(interleavings(*map(len, programs))):
        row = (ROW[0], number, "me")
        drawn: dict[str, Any] = {"card_digest": b"d", "slots": b"", "seed": b"", "report": b"r"}
        assert store.keep(*row, **drawn, most=1000) is not None
        rest = [list(program) for program in programs]
        for who in order:
            values = dict(rest[who].pop(0))
            do(*row, values.pop("before"), **values)
        store.keep_marks(*row, b"m" * 16)
        kept = store.get(*row)
        assert kept is not None
        assert (kept.report, kept.marks) == (b"", b"m" * 16), order
        ends.add(kept.state)
    store.close()
    assert ends == ({ANSWERED, DESTROYED} if asks else {ANSWERED})
