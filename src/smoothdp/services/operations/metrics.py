"""Metrics for Prometheus that say nothing about anybody.

No label comes from a request, and no number follows the reports of a window that was not
released: no count of requests that were taken, no bytes of the disk or of processor time,
which grow with every report.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from prometheus_client import CollectorRegistry, Counter, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from smoothdp.services.operations.health import Condition
from smoothdp.services.operations.logs import Cause

STEP = 100
"""Reports of released windows are shown in whole hundreds."""
Totals: TypeAlias = Callable[[], Mapping[str, float]]
"""Name of a state, of a closed list -> how many windows or batches are in it."""


class Metrics:
    """The metrics of one party, in a registry of their own.

    Args:
        party: "shuffler", "analyzer" or "issuer".
        totals: name of a family -> what to ask for its values; only of what is released.

    >>> metrics = Metrics("shuffler", totals={"batches": lambda: {"SEALED": 2}})
    >>> metrics.put_off(Cause.LOCKED)
    >>> text = metrics.text([Condition("disk", True, "31 % free")])
    >>> 'smoothdp_put_off_total{cause="locked",party="shuffler"} 1.0' in text
    True
    >>> 'smoothdp_condition{condition="disk",party="shuffler"} 1.0' in text
    True
    """

    def __init__(self, party: str, *, totals: Mapping[str, Totals] | None = None) -> None:
        self._party = party
        self._registry = CollectorRegistry()
        self._put_off = Counter(
            "smoothdp_put_off",
            "What was put off, by cause.",
            ("party", "cause"),
            registry=self._registry,
        )
        for cause in Cause:
            self._put_off.labels(party, cause.value)
        self._conditions: list[Condition] = []
        self._registry.register(_Totals(party, dict(totals or {}), self._conditions))

    def put_off(self, cause: Cause) -> None:
        """Count something that was put off."""
        self._put_off.labels(self._party, cause.value).inc()

    def text(self, conditions: Iterable[Condition]) -> str:
        """Return the metrics in Prometheus' text format; a party's conditions are among them."""
        self._conditions[:] = conditions
        return generate_latest(self._registry).decode()


class _Totals(Collector):
    def __init__(self, party: str, totals: dict[str, Totals], conditions: list[Condition]) -> None:
        self._party, self._totals, self._conditions = party, totals, conditions

    def collect(self) -> Iterable[Metric]:
        ready = GaugeMetricFamily(
            "smoothdp_condition",
            "Whether a condition of /readyz holds.",
            labels=("party", "condition"),
        )
        for condition in self._conditions:
            ready.add_metric((self._party, condition.name), float(condition.good))
        yield ready
        for name, ask in self._totals.items():
            family = GaugeMetricFamily(
                f"smoothdp_{name}", "Of windows that were let out.", labels=("party", "state")
            )
            for state, value in ask().items():
                family.add_metric((self._party, state), float(value))
            yield family

    def describe(self) -> Iterable[Metric]:
        # Nothing is asked of the storage when the registry is made.
        return []


def in_hundreds(n: int) -> int:
    """Return a number rounded down to hundreds.

    >>> in_hundreds(299)
    200
    """
    return n // STEP * STEP
