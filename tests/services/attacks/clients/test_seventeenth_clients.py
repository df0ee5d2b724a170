"""A seventeenth round of attacks on clients: words that come between two steps, and figures."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from smoothdp.services.analyzer.estimates import estimate_of
from smoothdp.services.client.outcomes import (
    ANSWERED,
    DESTROYED,
    DRAWN,
    FINAL,
    OutcomeStore,
)
from smoothdp.services.formats.design.budget import windows_paid
from smoothdp.services.formats.slots import SLOT_BYTES
from smoothdp.shuffle import LowCommunicationHistogram
from tests.services.page.page_program import FOLDER, needs_node, run
from tests.services.worlds.issuing_world import HOUR, WINDOW, IssuingWorld
from tests.services.worlds.small_tasks import small_task

ROW = (b"t" * 32, WINDOW, "me")
STORE = """
const { outcomes, placeOf } = smoothdp, of = (...numbers) => new Uint8Array(numbers);
const at = (window, invitation, pass) =>
  placeOf({ task: { proof: "slots" }, taskId: "task", window, invitation, pass });
const draw = async (most, ...where) => {
  const row = { cardDigest: of(1), state: outcomes.DRAWN, slots: of(2), seed: of(3) };
  return outcomes.keep(await at(...where), { row, signed: of(4) }, { most })
    .then(() => "", (error) => error.message);
};
"""
SPENT = "The budget of this poll pays for no more answers"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[IssuingWorld]:
    made = IssuingWorld(tmp_path)
    made.open_window()
    yield made
    made.close()


# ---- what does not hold


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
        await draw(1, 7, "a", "p");
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


def of_results(expression: str) -> Any:
    """Return what an expression is in the file of the page that shows results."""
    source = (FOLDER / "src" / "page" / "results.js").as_uri()
    code = f"import * as page from {json.dumps(source)}; const say = ({expression});"
    done = subprocess.run(
        ["node", "--input-type=module", "-e", f"{code} console.log(JSON.stringify(say));"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout)


@needs_node
@pytest.mark.parametrize(
    ("value", "error"),
    [(93.4, 10.49), (2.46, 1.049), (5e-14, 2e-15), (-7.25, 0.0625), (812.0, 13.0), (0.0, 3.3)],
    ids=["a sum", "a mean", "a mean between 0 and 1e-13", "below 0", "whole", "nothing"],
)
def test_the_error_that_the_page_shows_is_none_that_nobody_proved(
    value: float, error: float
) -> None:
    """ "The collector fetches the result ..., whose page then shows it with error bars" (poll),
    "the true number lies inside the whiskers with 95% confidence" (the page).

    Beside the bars, in "Estimate ± error", both are rounded to the nearest: 93.4 ± 10.49 is shown
    as 93 ± 10, and the mean of a poll with small bounds as 0.000000000000 ± 0.000000000000. All
    other figures are rounded to the safe side. Nor is the error more than a quarter above.
    """
    estimate, beside = map(Fraction, of_results(f"page.withError({value!r}, {error!r})"))
    assert beside <= Fraction(error) * Fraction(5, 4)
    low, high = Fraction(value) - Fraction(error), Fraction(value) + Fraction(error)
    assert estimate - beside <= low
    assert high <= estimate + beside


@needs_node
@pytest.mark.parametrize("protocol", ["paired_histogram", "low_communication_histogram"])
def test_a_choice_that_nobody_made_shows_what_the_page_says(protocol: str) -> None:
    """ "A choice that nobody made shows 0." (the page, once below every result with choices).

    That is so of `histogram` alone, to which it is said now. In a paired histogram each cell has
    noise, of which nothing is cut off: with all 12 people for tea, one sign of somebody's noise
    has coffee shown as 1, and one of the other kind as -1; most results of a few choices have such
    a row. In one of low communication it happens with the task's `false_positive`, 1 in 40 results
    or whatever it says.
    """
    task = small_task(protocol, size=3, domain=("tea", "coffee", "water"))
    # What honest devices may draw: everybody's own message, and noise for coffee.
    if protocol == "paired_histogram":
        tally = {1: 12, 3: 1}
    else:
        made = task.collect(12)
        assert isinstance(made, LowCommunicationHistogram)
        tally = {0: 12, 1: made.threshold + 1}
    result = {"users": 12} | estimate_of(task, users=12, tally=tally)
    document = json.loads(task.encoded)
    given = f"{json.dumps(document)}, {json.dumps(result)}"
    caption = of_results(f"page.captionOf({given})")
    rows = {row["label"]: row["value"] for row in of_results(f"page.rowsOf({given})")}
    assert rows["water"] == 0
    assert rows["coffee"] == 0 or "nobody made shows 0" not in caption


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


@needs_node
def test_neither_an_invitation_nor_a_pass_answers_more_often_than_is_paid() -> None:
    """ "No invitation and no pass is behind more answers than the budget pays for: those of both
    count together" (poll).

    Two windows are paid. What another invitation has answered with another pass is not counted for
    this one, whatever pass both had once.
    """
    found = run(
        STORE
        + """
        const said = [];
        for (const where of [
          [7, "a", "p"], [8, "b", "p"], [9, "b", "q"],
          [10, "b", "r"], [10, "a", "p"], [10, "a", "q"],
          [10, "c", "q"], [11, "a", "s"], [11, "c", "q"],
        ]) {
          said.push(await draw(2, ...where));
        }
        return said.map((one) => one.slice(0, given));
        """,
        len(SPENT),
    )
    assert found == [*[""] * 3, *[SPENT] * 3, *[""] * 2, SPENT]


# ---- what held


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


@needs_node
def test_page_and_program_read_one_budget_however_it_is_written() -> None:
    """ "A client answers in no more windows than the budget pays for" (threats), "numbers that are
    no counts are strings: up to 60 digits, a decimal or a ratio" (protocol-2, 3.1): just below,
    at and above a whole number of windows, in every form.
    """
    rng = random.Random(17)
    tasks = []
    for _ in range(300):
        windows, unit = rng.randrange(1, 400), Fraction(rng.randrange(1, 10**6), 10**6)
        delta = Fraction(1, 10 ** rng.randrange(4, 12))
        nudge = Fraction(rng.choice((-1, 0, 1)), 10 ** rng.randrange(12, 40))
        numbers = (unit, delta, windows * unit + nudge, (windows + rng.randrange(2)) * delta)
        names = ("epsilon", "delta", "budget_epsilon", "budget_delta")
        tasks.append({name: written(rng, x) for name, x in zip(names, numbers, strict=True)})
    wanted = [
        windows_paid(SimpleNamespace(**task, window_seconds=1, grace_seconds=0)) for task in tasks
    ]
    assert run("return given.map(smoothdp.paidWindows);", tasks) == wanted


def written(rng: random.Random, number: Fraction) -> str:
    """Return a positive decimal fraction in one of the forms that a task may have."""
    places = 0
    while (number * 10**places).denominator != 1:
        places += 1
    whole = int(number * 10**places)
    forms = [
        f"{number.numerator}/{number.denominator}",
        f"{whole}e-{places}",
        f"0{whole}E-{places}",
    ]
    if places:
        digits = f"{whole:0{places + 1}}"
        point = f"{digits[:-places]}.{digits[-places:]}"
        forms += [point, f"0{point}E0"]
    return rng.choice(forms)
