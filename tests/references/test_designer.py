"""The designer against values of code that shares nothing with it, and a prototype's figures."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import smoothdp as sd

CASES = json.loads(Path(__file__).with_name("designer.json").read_text())["cases"]
SAMPLES = [case for case in CASES if case["kind"] == "largest sample"]
STEPS = [case for case in CASES if case["kind"] == "step"]


@pytest.mark.parametrize("case", SAMPLES, ids=lambda case: str(case["inputs"]["counts"]))
def test_largest_sample(case: dict[str, Any]) -> None:
    design = sd.rate_design(
        case["inputs"]["counts"], epsilon=case["inputs"]["epsilon"], delta=case["inputs"]["delta"]
    )
    assert design.n_draws == case["expected"]
    assert design.is_largest


@pytest.mark.parametrize("case", STEPS, ids=lambda case: str(case["inputs"]["n_records"]))
def test_ends_of_a_step(case: dict[str, Any]) -> None:
    given = dict(case["inputs"])
    step = sd.sgd_step_delta(sd.DataModel([given.pop("shares")]), **given)
    upper, lower = map(float, case["expected"])
    slip = 1e-15 * abs(upper) + 1e-16
    assert upper - slip <= step.log_delta <= upper + 1e-9
    assert lower - 1e-9 * max(1.0, abs(lower)) <= step.log_lower <= lower + 1e-12


@pytest.mark.parametrize(
    ("mean", "logs"),
    [
        ("0", (-22.9, -235, -2361, -2.362e5, -2.362e6, -2.362e7, -2.362e9)),
        ("0.2", (-8.06, -9.21, -10.36, -58.7, -587, -5874, -5.874e5)),
    ],
)
def test_table_of_a_prototype(mean: str, logs: tuple[float, ...]) -> None:
    """256 levels, epsilon 2, batches of sqrt n: to the digits printed, at 1e7 to 1e15 records."""
    model = sd.DataModel.quantized_normal([mean], std="0.12", bits=8)
    sizes = [10**k for k in (7, 8, 9, 11, 12, 13, 15)]
    for n, expected in zip(sizes, logs, strict=True):
        step = sd.sgd_step_delta(model, n_records=n, batch=math.isqrt(n), epsilon=2)
        assert step.log_delta == pytest.approx(expected, rel=2.2e-3)
        assert step.log_lower < step.log_delta <= step.log_ordinary


def lognormal_cells() -> list[int]:
    """10,000 cells of 165,029,520 records, the smallest 101 and 119, as the prototype's."""
    weights = np.random.default_rng(1).lognormal(0, 1.6, 10_000)
    cells = np.sort((weights / weights.sum() * 165_000_000).astype(np.int64) + 119)
    cells[0] = 101
    cells[1] = 119
    cells[-1] += 165_029_520 - int(cells.sum())
    return [int(count) for count in cells]


def test_ten_thousand_cells() -> None:
    """Rate .281 by the prototype; merging raises it."""
    design = sd.rate_design(lognormal_cells(), epsilon="0.5", delta="1e-9", merge=(2, 51))
    assert design.n_records == 165_029_520
    assert float(design.rate) == pytest.approx(0.281, abs=5e-4)
    assert [cell.count for cell in design.binding] == [101, 119]
    assert design.is_largest
    assert design.merges[0].rate > design.merges[1].rate > design.rate
