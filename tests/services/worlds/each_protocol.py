"""A small task of each protocol."""

from __future__ import annotations

from typing import Any

import pytest

TASKS: dict[str, dict[str, Any]] = {
    "boolean_sum": {},
    "real_sum": {"size": 3},
    "histogram": {"size": 3, "min_batch": 60},
    "low_communication_histogram": {"size": 4, "min_batch": 60},
    "paired_count": {"min_batch": 60},
    "paired_histogram": {"size": 3, "min_batch": 60},
    "split_sum": {"bounds": ("0", "1"), "min_batch": 20},
}
SLOW = ("paired_histogram", "low_communication_histogram")
BY_SPEED = [pytest.param(p, marks=pytest.mark.slow if p in SLOW else ()) for p in TASKS]
