"""diffprivlib's quantile and mean as they are: pure DP alone.

diffprivlib 0.6 needs scikit-learn before 1.7: an environment of its own is the surest way,
``pip install . diffprivlib==0.6.6 scikit-learn==1.6.1``.

Source: diffprivlib 0.6.6, tools.quantile and tools.mean.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from smoothdp.claims import PureDP
from smoothdp.types import FloatArray

Release = Callable[[FloatArray], float]


def is_installed() -> bool:
    """Whether diffprivlib can be imported."""
    return find_spec("diffprivlib") is not None


def quantile(q: float, guarantee: PureDP, bounds: tuple[float, float]) -> Release | None:
    """Return the quantile within bounds, None without diffprivlib."""
    if not is_installed():
        return None
    tools, epsilon = _tools(), float(guarantee.epsilon)
    return lambda x: float(tools.quantile(x, q, epsilon=epsilon, bounds=bounds))


def mean(guarantee: PureDP, bounds: tuple[float, float]) -> Release | None:
    """Return the mean of values clamped to bounds, None without diffprivlib."""
    if not is_installed():
        return None
    tools, epsilon = _tools(), float(guarantee.epsilon)
    return lambda x: float(tools.mean(x, epsilon=epsilon, bounds=bounds))


def _tools() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("diffprivlib.tools")
