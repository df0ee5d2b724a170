"""The page "Add a statistic" followed word by word: the statistic that it prints is released.

Its code is taken from the page, put into one module, and used; then into a copy of the library.
"""

from __future__ import annotations

import importlib
import itertools
import re
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pytest

import smoothdp as sd
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.queries import STATISTICS, Query
from tests.house.copied import copy_of_the_library, join, run_in
from tests.oracles.query_brute_force import float_above, local_sensitivities, window_sums

PAGE = Path(__file__).parents[2] / "docs/how-to/add-a-statistic.md"
TEXT = PAGE.read_text(encoding="utf-8")
DATA = [i % 91 for i in range(1001)]


def statistic_on_the_page() -> str:
    (code,) = (
        block
        for block in re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
        if "(Query)" in block
    )
    return str(code)


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Query]]:
    """The class, from one module that lies nowhere near the library."""
    folder = tmp_path_factory.mktemp("one_file")
    (folder / "a_statistic_of_ones_own.py").write_text(statistic_on_the_page())
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("a_statistic_of_ones_own").InterquartileMean
    finally:
        sys.path.remove(str(folder))
        del sys.modules["a_statistic_of_ones_own"]


@pytest.mark.parametrize("n", [3, 4, 5])
def test_its_sensitivities_are_those_of_all_databases(make: Callable[..., Query], n: int) -> None:
    grid, query = [0, 1, 4, 6], make((0, 6))
    lo, hi = query.drops(n)
    width = n - lo - hi
    sums = window_sums(grid, n, lo, hi)
    levels = local_sensitivities(sums, n)
    for x in itertools.combinations_with_replacement(grid, n):
        at = tuple(map(grid.index, x))
        assert query.value(list(x)) == float(Fraction(int(sums[at]), width))
        for k, level in enumerate(levels):
            truth = float_above(Fraction(int(level[at]), width))
            assert query.local_sensitivity(list(x), distance=k) == truth


@pytest.mark.parametrize(
    "guarantee",
    [
        sd.PureDP(1),
        pytest.param(sd.ApproxDP(1, delta="1e-6"), marks=pytest.mark.slow),
        sd.ZCDP("1/2"),
        pytest.param(sd.TruncatedCDP("1/2", omega=10), marks=pytest.mark.slow),
    ],
    ids=repr,
)
def test_it_is_released_and_planned(make: Callable[..., Query], guarantee: sd.Guarantee) -> None:
    query = make((0, 100))
    for confidence in (None, "0.95"):
        released = sd.release(
            DATA, query, guarantee=guarantee, confidence=confidence, rng=SeededRandom(1)
        )
        assert released.guarantee == guarantee
        assert "mean of the middle half, values clamped to [0, 100]" in released.mechanism
        assert released.value == pytest.approx(45, abs=2)
    plan = sd.plan(query, guarantee=guarantee, n_records=1001)
    assert plan.query == query
    assert "middle half" in plan.text()


def test_its_bounds_are_read(make: Callable[..., Query]) -> None:
    assert make(("0.5", 7)).bounds == (Fraction(1, 2), Fraction(7))
    for wrong in ((100, 0), (0, 0), (0, "x"), (0, float("inf")), 5, None):
        with pytest.raises(sd.errors.InvalidParameter, match="bound"):
            make(wrong)


IN_THE_LIBRARY = """
import smoothdp as sd
from smoothdp.queries import STATISTICS

assert len(STATISTICS) == NUMBER
query = sd.queries.InterquartileMean((0, "90.5"))
plan = sd.plan(query, guarantee=sd.PureDP(1), n_records=1001)
again = sd.planning.plan_from_json(plan.to_json())
assert again == plan and again.query == query
ages = [i % 91 for i in range(1001)]
assert abs(sd.release(ages, again.query, guarantee=sd.PureDP(1)).value - 45) < 20
print("ok")
"""


def test_it_joins_the_library_by_its_name_alone(tmp_path: Path) -> None:
    """One file where the page says, and the name in one other file: plan files have it."""
    source = copy_of_the_library(tmp_path)
    join(source, TEXT, statistic_on_the_page(), room="queries")
    result = run_in(source, IN_THE_LIBRARY.replace("NUMBER", str(len(STATISTICS) + 1)))
    assert result.returncode == 0, result.stderr
    assert result.stdout == "ok\n"
