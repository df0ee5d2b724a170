"""A law that is made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from smoothdp.composition.laws.law import Capped, LossLaw, Moments, Slack, Split, TiltedSums
from smoothdp.exact.logspace.bounds import LogBounds


@dataclass(frozen=True, eq=False)
class LaterLaw(LossLaw):
    """A law that takes a while to make and may not be needed: of many atoms, without a transform
    in balls.

    >>> import numpy as np
    >>> from smoothdp.composition.laws.atoms import AtomsLaw
    >>> later = LaterLaw(lambda: AtomsLaw(np.log([0.5, 0.5]), np.array([-1.0, 1.0])))
    >>> later.largest
    1.0
    """

    make: Callable[[], LossLaw]

    @cached_property
    def _law(self) -> LossLaw:
        return self.make()

    @property
    def largest(self) -> float:
        return self._law.largest

    @property
    def log_infinite(self) -> LogBounds:
        return self._law.log_infinite

    @property
    def slack(self) -> Slack:
        return self._law.slack

    @property
    def largest_tilt(self) -> float:
        return self._law.largest_tilt

    def moments(self, tilt: float) -> Moments:
        return self._law.moments(tilt)

    def transform(self, tilt: float, *, step: float, count: int, budget: float) -> TiltedSums:
        return self._law.transform(tilt, step=step, count=count, budget=budget)

    def cost(self, tilt: float, *, last: float, budget: float) -> int:
        return self._law.cost(tilt, last=last, budget=budget)

    def split(self, loss: float) -> Split | None:
        return self._law.split(loss)

    def capped(self, loss: float) -> Capped | None:
        return self._law.capped(loss)

    def decay(self, tilt: float, last: float) -> float:
        return self._law.decay(tilt, last)
