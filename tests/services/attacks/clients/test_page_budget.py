"""How often a person answers on the poll page: as often as the program counts."""

from __future__ import annotations

import random
from fractions import Fraction
from types import SimpleNamespace

from smoothdp.services.formats.design.budget import windows_paid
from tests.services.page.page_program import needs_node, run
from tests.services.worlds.page_store import STORE

SPENT = "The budget of this poll pays for no more answers"


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
        paid = 2;
        for (const where of [
          [7, "a", "p"], [8, "b", "p"], [9, "b", "q"],
          [10, "b", "r"], [10, "a", "p"], [10, "a", "q"],
          [10, "c", "q"], [11, "a", "s"], [11, "c", "q"],
        ]) {
          said.push(await draw(...where));
        }
        return said.map((one) => one.slice(0, given));
        """,
        len(SPENT),
    )
    assert found == [*[""] * 3, *[SPENT] * 3, *[""] * 2, SPENT]


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
