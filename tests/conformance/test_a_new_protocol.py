"""The page "Add a protocol" followed word by word: the protocol that it prints is one.

Its code is taken from the page, put into one module, and used; then into a copy of the library.
Frequencies: false-alarm rate 1e-8 a test, fixed seeds; a law moved by one is rejected.
"""

from __future__ import annotations

import importlib
import itertools
import math
import pickle
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smoothdp as sd
from smoothdp.errors import PrivacyWarning
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.testing import frequency_test, oracles
from tests.house.copied import copy_of_the_library, join, run_in

PAGE = Path(__file__).parents[2] / "docs/how-to/add-a-protocol.md"
TEXT = PAGE.read_text(encoding="utf-8")
LEVEL, RUNS = 1e-8, 4000


def protocol_on_the_page() -> str:
    (code,) = (
        block
        for block in re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
        if "(ShuffleProtocol" in block
    )
    return str(code)


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Any]]:
    """The class, from one module that lies nowhere near the library."""
    folder = tmp_path_factory.mktemp("one_file")
    (folder / "a_protocol_of_ones_own.py").write_text(protocol_on_the_page())
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("a_protocol_of_ones_own").CoinSum
    finally:
        sys.path.remove(str(folder))
        del sys.modules["a_protocol_of_ones_own"]


def seen_law(bits: tuple[int, ...], n_honest: int) -> dict[tuple[int, ...], Fraction]:
    """What the analyser sees and what colluding users tell, over all coins: sorted messages."""
    law: Counter[tuple[int, ...]] = Counter()
    for coins in itertools.product((0, 1), repeat=n_honest):
        law[tuple(sorted([*bits, *coins]))] += 1
    return {seen: Fraction(count, 2**n_honest) for seen, count in law.items()}


@pytest.mark.parametrize(("n", "honest"), [(1, 1), (2, 2), (5, 5), (5, 3), (6, 1)])
@pytest.mark.parametrize("growth", [Fraction(1), Fraction(3, 2), Fraction(4)])
def test_its_profile_is_the_worst_of_all_data(
    make: Callable[..., Any], n: int, honest: int, growth: Fraction
) -> None:
    """All data of the honest users, either direction; what the others send is known."""
    worst = max(
        oracles.hockey_stick(seen_law((0, *rest), honest), seen_law((1, *rest), honest), growth)
        for rest in itertools.product((0, 1), repeat=honest - 1)
    )
    again = max(
        oracles.hockey_stick(seen_law((1, *rest), honest), seen_law((0, *rest), honest), growth)
        for rest in itertools.product((0, 1), repeat=honest - 1)
    )
    lower, upper = make(n).profile(n_honest=honest).delta_bounds(f"ln({growth})")
    assert Fraction(lower) <= max(worst, again) <= Fraction(upper)
    assert upper - lower <= 1e-12


def test_its_guarantee_is_kept_and_large_ones_are_computed(make: Callable[..., Any]) -> None:
    protocol = make(2000, epsilon="1/2")
    assert Fraction(protocol.profile().delta("1/2")) <= protocol.guarantee.exact_delta
    assert protocol.guarantee.exact_delta < Fraction("9e-31")
    assert protocol.local_profile().delta(9) == pytest.approx(0.5)
    deltas = [protocol.profile(n_honest=m).delta("1/2") for m in (2000, 500, 20, 1)]
    assert deltas == sorted(deltas)


@pytest.mark.parametrize("way", ["messages", "data", "counts"])
def test_it_runs_three_ways_with_one_law(make: Callable[..., Any], way: str) -> None:
    bits, rng = [1, 0, 0, 1, 1, 0, 1], SeededRandom(20261122)
    protocol, n = make(7), 7
    run: Callable[[], float] = {
        "messages": lambda: protocol.run_messages(bits, rng=rng),
        "data": lambda: protocol.release(bits, rng=rng).value,
        "counts": lambda: protocol.release(counts=4, rng=rng).value,
    }[way]
    totals = [round(run() + n / 2) - 4 for _ in range(RUNS)]
    stated = [math.comb(n, k) / 2**n for k in range(n + 1)]
    assert frequency_test(np.bincount(totals, minlength=n + 1), stated) > LEVEL
    assert frequency_test(np.bincount(totals, minlength=n + 1), np.roll(stated, 1)) < LEVEL
    mean_square = float(np.mean((np.array(totals) - n / 2) ** 2))
    assert mean_square == pytest.approx(protocol.mse(), rel=0.15)
    assert max(abs(total - n / 2) for total in totals) <= protocol.error("1e-9")


def test_it_is_a_protocol_as_the_others_are(make: Callable[..., Any]) -> None:
    protocol = make(3)
    assert pickle.loads(pickle.dumps(protocol)) == protocol
    released = protocol.release([1, 1, 0], rng=SeededRandom(1))
    assert released.guarantee == protocol.guarantee
    assert "count of ones among 3 users" in released.mechanism
    with pytest.warns(PrivacyWarning, match="1 malformed"):
        protocol.analyze([0, 1, 1, 0, 1, "x"])
    for wrong in ([1, 2, 0], [1, 0], ["a", 0, 0]):
        with pytest.raises(sd.errors.InvalidData):
            protocol.release(wrong)
    for count in (4, -1, 1.5):
        with pytest.raises(
            (sd.errors.InvalidData, sd.errors.InvalidParameter), match=r"count|users"
        ):
            protocol.release(counts=count)
    with pytest.raises(sd.errors.InvalidData, match="honest users"):
        protocol.analyze([0, 1, 1, 0, 1, 0], tolerated=1)
    for users in (0, -2, 1.5, True):
        with pytest.raises(sd.errors.InvalidParameter, match="n_users"):
            make(users)


IN_THE_LIBRARY = """
import smoothdp as sd
from smoothdp import shuffle

assert "CoinSum" in shuffle.__all__
protocol = sd.shuffle.CoinSum(50)
assert protocol.release([1, 0] * 25).is_private
assert protocol.profile().delta(1) < 1e-2
print("ok")
"""


def test_it_joins_the_library_by_its_name_alone(tmp_path: Path) -> None:
    source = copy_of_the_library(tmp_path)
    join(source, TEXT, protocol_on_the_page(), room="shuffle")
    result = run_in(source, IN_THE_LIBRARY)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "ok\n"
