"""Smoothed delta of a stratified table: each stratum's records follow their own model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from smoothdp.claims.domains import read_epsilon
from smoothdp.claims.model.model import DataModel
from smoothdp.errors import InvalidParameter
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.logspace.log_sums import log_total_upper
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.mechanisms.histogram.stratified import StratifiedHistogram
from smoothdp.smoothed.largest_expectation import SmoothedDelta, smoothed_delta


@dataclass(frozen=True, slots=True)
class StrataDelta:
    """Smoothed delta of all tables together, and of each stratum.

    Attributes:
        log_delta: ln of a proved upper bound; log_lower: ln of a lower bound.
        strata: the smoothed delta of each stratum, by name, at one epsilon.

    Raises:
        InvalidParameter: ends that do not follow from the strata.

    >>> from smoothdp.mechanisms import SamplingHistogram
    >>> table = StratifiedHistogram([SamplingHistogram(40, n_draws=20)])
    >>> result = smoothed_strata(table, DataModel([("0.4", "0.6")]), epsilon=1)
    >>> result.delta == result.strata["stratum 1"].delta
    True
    """

    log_delta: float
    log_lower: float
    strata: dict[str, SmoothedDelta]

    def __post_init__(self) -> None:
        epsilons = {result.guarantee.exact_epsilon for result in self.strata.values()}
        least, most = _ends(self.strata) if self.strata else (math.inf, -math.inf)
        if len(epsilons) != 1 or not (self.log_delta >= most and self.log_lower <= least):
            raise InvalidParameter(
                expected=f"strata at one epsilon, and log_delta={most!r} and log_lower={least!r}, "
                "which follow from them",
                got=f"{len(epsilons)} epsilons, log_delta={self.log_delta!r} and "
                f"log_lower={self.log_lower!r}",
                remedy="Take what smoothed_strata() returns",
            )

    def __reduce__(self) -> tuple[type[StrataDelta], tuple[object, ...]]:
        # The constructor reads a pickle, and compares the ends with the strata.
        return type(self), (self.log_delta, self.log_lower, self.strata)

    @property
    def delta(self) -> float:
        """The upper bound as a float."""
        return LogBounds(self.log_delta, self.log_delta).linear()[1]

    @property
    def lower(self) -> float:
        """The lower bound as a float."""
        return LogBounds(self.log_lower, self.log_lower).linear()[0]


def smoothed_strata(
    mechanism: StratifiedHistogram,
    models: DataModel | Mapping[str, DataModel] | Sequence[DataModel],
    *,
    epsilon: Parameter,
) -> StrataDelta:
    """Return the smoothed delta of a stratified table.

    delta(x) is the largest delta over the strata. Its expectation is at least that of any
    one stratum and at most the sum of all, so the bracket is within a factor of the number
    of strata, and tight where one stratum dominates (proofs/smoothed-delta#9).

    Args:
        mechanism: the stratified table.
        models: one model for all strata, or one for each, by name or in order.
        epsilon: >= 0.

    Raises:
        InvalidParameter: arguments outside these domains, or a stratum without a model.

    >>> from smoothdp.mechanisms import SamplingHistogram
    >>> table = StratifiedHistogram([SamplingHistogram(400, n_draws=k) for k in (200, 300)])
    >>> result = smoothed_strata(table, DataModel([("0.4", "0.6")]), epsilon=1)
    >>> f"{result.lower:.5e} {result.delta:.5e}"
    '2.90577e-08 2.90577e-08'
    """
    exact = read_epsilon(epsilon)
    results = {
        name: smoothed_delta(stratum, model, epsilon=exact)
        for name, stratum, model in zip(
            mechanism.names, mechanism.strata, _models(mechanism, models), strict=True
        )
    }
    log_lower, log_delta = _ends(results)
    return StrataDelta(log_delta, log_lower, results)


def _ends(results: Mapping[str, SmoothedDelta]) -> tuple[float, float]:
    """Return the ends of the largest delta of all, from those of each stratum."""
    # It is a probability of being sampled at most.
    cap = max(result.mechanism.cap.logs.upper for result in results.values())
    total = log_total_upper([result.log_delta for result in results.values()])
    return max(result.log_lower for result in results.values()), min(cap, total)


def _models(
    mechanism: StratifiedHistogram,
    models: DataModel | Mapping[str, DataModel] | Sequence[DataModel],
) -> list[DataModel]:
    if isinstance(models, DataModel):
        return [models] * len(mechanism.strata)
    if isinstance(models, Mapping):
        listed = [models[name] for name in mechanism.names if name in models]
        supplied = ", ".join(map(str, models)) or "none"
    else:
        listed, supplied = list(models), f"{len(models)} models"
    if len(listed) != len(mechanism.strata) or len(models) != len(listed):
        raise InvalidParameter(
            expected=f"a model for each of the strata {', '.join(mechanism.names)}",
            got=supplied,
            remedy="Give one model for all strata, or one model for each stratum",
        )
    return listed
