"""Figures that the poll page shows: none that nobody proved."""

from __future__ import annotations

import json
import subprocess
from fractions import Fraction
from typing import Any

import pytest

from smoothdp.services.analyzer.estimates import estimate_of
from smoothdp.shuffle import LowCommunicationHistogram
from tests.services.page.page_program import FOLDER, needs_node
from tests.services.worlds.small_tasks import small_task


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


@needs_node
def test_a_picture_has_ends_where_bounds_are_ratios() -> None:
    """ "The page shows it with error bars" (poll): a task may have bounds such as 1/3."""
    task = {"bounds": ["-1/3", "2.5e-1"], "domain": []}
    result = {"mean": 0.125, "error_of_mean": 0.01}
    (row,) = of_results(f"page.rowsOf({json.dumps(task)}, {json.dumps(result)})")
    assert (row["low"], row["high"]) == (-1 / 3, 0.25)
