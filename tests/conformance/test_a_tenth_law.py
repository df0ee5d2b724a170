"""The page "Add a noise law" followed word by word: the law that it prints is a law.

Its code is taken from the page, put into one module, and used; then into a copy of the library.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import mpmath as mp
import pytest

import smoothdp as sd
from smoothdp.claims import Guarantee
from smoothdp.exact.random.entropy import SeededRandom
from smoothdp.mechanisms import SmoothNoise
from smoothdp.noise import LAWS, NoiseDistribution
from smoothdp.noise.calibration import Calibration
from smoothdp.testing import conform
from tests.house.copied import copy_of_the_library, join, run_in
from tests.oracles.literal_noise import DIGITS, Recorded, attempts, exact

PAGE = Path(__file__).parents[2] / "docs/how-to/add-a-noise-law.md"
TEXT = PAGE.read_text(encoding="utf-8")
GUARANTEES: list[Guarantee] = [
    sd.PureDP(1),
    sd.ApproxDP(1, delta="1e-6"),
    sd.ZCDP("1/2"),
    sd.TruncatedCDP("1/2", omega=10),
]


def law_on_the_page() -> str:
    (code,) = (
        block
        for block in re.findall(r"^```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
        if "(NoiseDistribution)" in block
    )
    return str(code)


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The law's one module, which lies nowhere near the library."""
    folder = tmp_path_factory.mktemp("one_file")
    (folder / "a_law_of_ones_own.py").write_text(law_on_the_page())
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("a_law_of_ones_own")
    finally:
        sys.path.remove(str(folder))
        del sys.modules["a_law_of_ones_own"]


@pytest.fixture(scope="module")
def family(module: ModuleType) -> Any:
    return module.TwoSidedPareto


def test_it_conforms(family: type[NoiseDistribution]) -> None:
    found = conform(family)
    assert [type(answer) for _, _, answer in found.calibrations] == [Calibration] * 8
    assert found.text().startswith("TwoSidedPareto conforms")


@pytest.mark.parametrize("alpha", ["5/2", "9", "1/2"])
def test_it_is_the_law_that_it_says(family: Callable[..., NoiseDistribution], alpha: str) -> None:
    law = family(alpha)
    with mp.workdps(40):
        a = exact(Fraction(alpha))
        for x in (0.0, 1e-6, 0.3, 2.0, 1e5):
            density = a / 2 * (1 + mp.mpf(x)) ** (-a - 1)
            assert abs(law.log_density(x) - mp.log(density)) < 1e-13 * (1 + abs(mp.log(density)))
            tail = (1 + mp.mpf(x)) ** -a / 2
            assert abs(law.survival(x) - tail) < 1e-12 * tail
        with mp.workdps(60):
            slope = mp.diff(lambda y: (1 + y) ** -a / 2, mp.mpf(2))
            assert abs(slope + a / 2 * mp.mpf(3) ** (-a - 1)) < mp.mpf(10) ** -20


@pytest.mark.parametrize("t", ["0", "1/20", "1/10"])
def test_its_pure_shift_is_the_closed_one(family: Callable[..., NoiseDistribution], t: str) -> None:
    """(a + 1) ln(1 + s) <= e and (a + 1) ln(1 + s e^-t) + t <= e, found by hand."""
    for alpha in (2, 5, 9):
        found = family(alpha).calibrate(sd.PureDP(1), smoothing=t)
        with mp.workdps(40):
            rate = exact(Fraction(t))
            undilated = mp.expm1(mp.mpf(1) / (alpha + 1))
            forward = mp.exp(rate) * mp.expm1((1 - rate) / (alpha + 1))
            truth = min(undilated, forward)
            assert truth * (1 - mp.mpf(10) ** -8) <= exact(found.exact_shift) <= truth
    with pytest.raises(sd.errors.InvalidParameter, match="smoothing"):
        family(21).calibrate(sd.PureDP(1), smoothing="1/20")


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=repr)
def test_it_is_released_exactly(
    family: Callable[..., NoiseDistribution], guarantee: Guarantee
) -> None:
    """Release by release the nearest point of the grid to f + (S / s) Z, at 400 digits."""
    law, data = family(4), [40.0 + value / 2 for value in range(41)]
    query = sd.queries.Median((0, 100), window=1)
    released = sd.release(
        data, query, guarantee=guarantee, noise=law, smoothing="1/20", rng=SeededRandom(7)
    )
    assert released.guarantee == guarantee
    assert "TwoSidedPareto(alpha=4)" in released.mechanism
    mechanism = SmoothNoise.calibrate(
        query, guarantee=guarantee, n_records=41, noise=law, smoothing="1/20"
    )
    assert mechanism.release(data, rng=SeededRandom(7)).value == released.value
    step = mechanism.grid.step
    with mp.workdps(DIGITS):
        log_scale = mp.mpf(mechanism.windowed.log_smooth_sensitivity(data, smoothing="1/20"))
        spread = mp.exp(log_scale) / exact(mechanism.calibration.exact_shift)
        seen = set()
        for seed in range(25):
            rng = Recorded(seed)
            value = mechanism.release(data, rng=rng).value
            ((positive, (u,)),) = attempts(rng.asked, 1)
            z = (u ** (-1 / mp.mpf(4)) - 1) * (1 if positive else -1)
            y = 50 + spread * z
            # ln S is a float here: a billionth of a step is left for it.
            assert abs(mp.mpf(value) - y) <= exact(step) / 2 + abs(spread * z) * mp.mpf(10) ** -12
            seen.add(value > 50)
        assert seen == {True, False}


IN_THE_LIBRARY = """
import smoothdp as sd
from smoothdp.noise import LAWS

assert [law.__name__ for law in LAWS].count("TwoSidedPareto") == 1, LAWS
law = sd.noise.TwoSidedPareto(4)
plan = sd.plan(sd.queries.Median((0, 100)), guarantee=sd.PureDP(1), n_records=1001)
import dataclasses
own = dataclasses.replace(plan, noise=law)
assert sd.planning.plan_from_json(own.to_json()).noise == law
assert own.mechanism().noise == law
table = sd.report.noise_table(sd.PureDP(1), smoothing="1/10")
assert len(table.rows) == len(LAWS) == NUMBER
assert table.rows[-1].family == "TwoSidedPareto"
assert table.rows[-1].calibration.label == "certified"
print("ok")
"""


def test_it_joins_the_library_by_its_name_alone(tmp_path: Path) -> None:
    """One file where the page says, and the name in one other file: the tables have it."""
    source = copy_of_the_library(tmp_path)
    join(source, TEXT, law_on_the_page(), room="noise")
    result = run_in(source, IN_THE_LIBRARY.replace("NUMBER", str(len(LAWS) + 1)))
    assert result.returncode == 0, result.stderr
    assert result.stdout == "ok\n"
