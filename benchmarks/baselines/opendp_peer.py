"""OpenDP's quantile and mean as they are, at the scale that the guarantee allows.

One record replaced is a symmetric distance of 2.

Source: OpenDP 0.16, make_private_quantile and then_mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

from smoothdp.claims import ZCDP, PureDP
from smoothdp.types import FloatArray

Release = Callable[[FloatArray], float]


def is_installed() -> bool:
    """Whether OpenDP can be imported."""
    return find_spec("opendp") is not None


def quantile(
    q: float, n: int, guarantee: PureDP | ZCDP, candidates: Sequence[float]
) -> Release | None:
    """Return the quantile over candidates, None without OpenDP."""
    if not is_installed():
        return None
    dp, space = _space(n)
    pure = isinstance(guarantee, PureDP)
    measure = dp.max_divergence() if pure else dp.zero_concentrated_divergence()
    return _largest(
        lambda scale: dp.m.make_private_quantile(
            *space, measure, candidates=list(candidates), alpha=q, scale=scale
        ),
        guarantee,
    )


def mean(n: int, guarantee: PureDP | ZCDP, bounds: tuple[float, float]) -> Release | None:
    """Return the mean of clamped values with noise, None without OpenDP."""
    if not is_installed():
        return None
    dp, space = _space(n)
    noise = dp.m.then_laplace if isinstance(guarantee, PureDP) else dp.m.then_gaussian
    limits = float(bounds[0]), float(bounds[1])
    clamped = space >> dp.t.then_clamp(limits) >> dp.t.then_mean()
    return _largest(lambda scale: clamped >> noise(scale=scale), guarantee)


def _space(n: int) -> tuple[Any, Any]:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    column = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=n)
    return dp, (column, dp.symmetric_distance())


def _largest(make: Callable[[float], Any], guarantee: PureDP | ZCDP) -> Release:
    """Return the measurement of the least scale within the budget."""
    import opendp.prelude as dp

    budget = float(guarantee.epsilon if isinstance(guarantee, PureDP) else guarantee.rho)
    found: Any = dp.binary_search(
        lambda scale: make(scale).map(2) <= budget * (1 + 1e-9), bounds=(1e-9, 1e9)
    )
    measurement: Release = make(found)
    return measurement
