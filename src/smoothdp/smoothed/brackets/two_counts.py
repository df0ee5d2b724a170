"""delta as a function of the two smallest counts, from both sides, asked lazily.

g(v, w) is the larger of D(v, w) and D(w, v), or the cap where a count is below 2. Of a histogram
with the two smallest counts v and w, g(v, w) <= delta <= g(v - 1, w - 1)
(proofs/smoothed-brackets#1, proofs/two-smallest#5).
"""

from __future__ import annotations

import math

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Real
from smoothdp.mechanisms.histogram.histogram_mechanism import HistogramMechanism

_CLOSE = 1e-9


class TwoCounts:
    """g of a mechanism at one epsilon; symmetric, and falling in both counts.

    Only one of the two directions is computed where a bound of the other, at smaller counts, is
    below it. ``n_evaluations`` counts the divergences computed.
    """

    def __init__(self, mechanism: HistogramMechanism, epsilon: Real) -> None:
        self.mechanism, self.epsilon = mechanism, epsilon
        self.cap = mechanism.cap.logs
        self.n_evaluations = 0
        self._known: dict[tuple[int, int], LogBounds] = {}
        self._reverse: list[tuple[int, int, float]] = []

    def at(self, x: int, y: int) -> LogBounds:
        """Bound ln g(x, y), for counts >= -1 whose sum is at most the number of records."""
        small, large = min(x, y), max(x, y)
        if small <= 1:
            return self.cap
        key = small, large
        if key not in self._known:
            self._known[key] = self._evaluate(small, large)
        return self._known[key]

    def all_known(self) -> list[tuple[tuple[int, int], LogBounds]]:
        """Return what was computed so far."""
        return list(self._known.items())

    def known(self, x: int, y: int) -> LogBounds | None:
        """Return the bounds at (x, y) if they cost nothing."""
        small, large = min(x, y), max(x, y)
        return self.cap if small <= 1 else self._known.get((small, large))

    def _evaluate(self, small: int, large: int) -> LogBounds:
        first = self._divergence(small, large)
        lower, upper = first
        at_cap = lower >= self.cap.upper - _CLOSE
        if at_cap:
            upper = self.cap.upper
        elif large > small and not self._covered(small, large, upper):
            second = self._divergence(large, small)
            lower, upper = max(lower, second.lower), max(upper, second.upper)
        return LogBounds(lower, min(upper, self.cap.upper))

    def _covered(self, small: int, large: int, log_value: float) -> bool:
        """Whether D(large, small) is known to be at most e^log_value, as D falls in its counts."""
        for a, b, value in self._reverse:
            if a <= large and b <= small and value <= log_value:
                return True
        near = (large - 2 * math.isqrt(large), small - 2 * math.isqrt(small))
        if near[0] < 2 or near[1] < 1 or near[0] <= near[1]:
            return False
        value = self._divergence(*near).upper
        self._reverse.append((*near, value))
        return value <= log_value

    def _divergence(self, count_a: int, count_b: int) -> LogBounds:
        self.n_evaluations += 1
        return self.mechanism.pair_divergence(count_a, count_b, self.epsilon)
