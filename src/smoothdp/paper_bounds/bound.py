"""A bound as one value: a float rounded outwards, with its logarithm for where floats end."""

from __future__ import annotations

from smoothdp.exact.logspace.bounds import exp_lower, exp_upper


class Bound(float):
    """A bound that is a float, with its natural logarithm in `log`; both rounded to one side.

    An upper bound is rounded up, a lower one down, in both forms. The float may underflow (then
    it is 5e-324, or 0 for a lower bound) or overflow; `log` does neither. The value is immutable,
    and behaves as the float in every comparison and sum: a sum is a plain float again, and two
    bounds whose floats are the same are equal, whatever their logarithms. Compare ``.log`` there.

    Args:
        value: the bound. log: its natural logarithm, -inf for a bound of 0.

    >>> from smoothdp.paper_bounds import liu_kl_upper
    >>> bound = liu_kl_upper(counts=(6000, 4000), n_draws=2000, epsilon=1)
    >>> bound, round(bound.log, 1), bound < 1e-300
    (5e-324, -1766.5, True)
    """

    __slots__ = ("_log",)
    _log: float

    def __new__(cls, value: float, *, log: float) -> Bound:
        """Return the float with its logarithm."""
        made = super().__new__(cls, value)
        made._log = log
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, float]]:
        """Return what makes the same bound from a pickle."""
        return (float(self),), {"log": self._log}

    @property
    def log(self) -> float:
        """The natural logarithm of the bound, rounded to the same side."""
        return self._log

    @classmethod
    def upper(cls, log_bound: float, *, at_most: float | None = None) -> Bound:
        """Return e^log_bound rounded up, or ``at_most`` where that float is smaller."""
        value = exp_upper(log_bound)
        return cls(value if at_most is None else min(value, at_most), log=log_bound)

    @classmethod
    def lower(cls, log_bound: float) -> Bound:
        """Return e^log_bound rounded down."""
        return cls(exp_lower(log_bound), log=log_bound)
