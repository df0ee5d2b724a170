"""Two finite laws on one support: the raw material of exact accounting."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from smoothdp.claims.curves.atoms import Atoms
from smoothdp.claims.curves.first import UNSAID, First, Unsaid, other_first, read_first
from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.curves.tradeoff import TradeoffFunction
from smoothdp.claims.domains import read_epsilon
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.errors import IncompatibleClaims, InvalidData, InvalidParameter
from smoothdp.exact.balls.balls import real_bounds
from smoothdp.exact.logspace.bounds import LIBM_ERROR, UNIT_ROUNDOFF, LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_fraction, exact_int
from smoothdp.exact.parameters.reading import float_array
from smoothdp.types import FloatArray

# Beyond this order the divergence of order inf is as good, and not below.
_LARGEST_ORDER = 1e12
_NEARLY_ONE = 0.5


@dataclass(frozen=True, init=False, eq=False)
class Pair:
    """Laws p and q on one support, as natural log-probabilities; one direction, p over q.

    Each log-probability is taken as exact; composition carries the rounding of what it
    computes in ``error``, an absolute bound in every log-probability.

    If one of the two neighbouring databases has a record more, say which with ``first``: in
    compositions, removing the record then points the same way in all items. A pair without
    ``first`` is composed in both directions there: never too little.

    Args:
        log_p, log_q: arrays of one length; -inf where there is no mass. Each law sums to 1
            within 1e-9: by how much it is off is the rounding of whoever gives it, and no
            figure is better than that.
        first: "with_record" if p is the law of the output on the database that has the
            record, "without_record" if q is. None (default): not said, or the databases have
            equally many records.

    Raises:
        InvalidData: arrays of different shapes or of no numbers, nan, positive logarithms, wrong
            sums; an error that is negative or not finite.
        InvalidParameter: another ``first``.

    >>> pair = Pair(np.log([0.75, 0.25]), np.log([0.25, 0.75]))
    >>> round(pair.delta(0), 12)
    0.5
    """

    log_p: FloatArray
    log_q: FloatArray
    error: float
    first: First | None

    def __init__(
        self,
        log_p: ArrayLike,
        log_q: ArrayLike,
        *,
        error: float = 0.0,
        first: First | None = None,
    ) -> None:
        p, q = float_array(log_p, name="log_p"), float_array(log_q, name="log_q")
        if p.ndim != 1 or p.shape != q.shape or p.size == 0:
            raise InvalidData(
                expected="log_p and log_q as one-dimensional arrays over one support",
                got=f"shapes {p.shape} and {q.shape}",
                remedy="Give a log-probability for every atom in both, -inf where there is no mass",
            )
        for name, values in (("log_p", p), ("log_q", q)):
            if np.isnan(values).any() or (values > 1e-9).any():
                raise InvalidData(
                    expected=f"{name} <= 0 without nan",
                    got="other values",
                    remedy="Give log-probabilities",
                )
            total = float(np.exp(values).sum())
            if abs(total - 1) > 1e-9:
                raise InvalidData(
                    expected=f"{name} with sum 1",
                    got=f"a sum of {total!r}",
                    remedy="Normalise the law",
                )
        slip = float(float_array(error, name="error")) if np.ndim(error) == 0 else math.nan
        if isinstance(error, bool) or not 0.0 <= slip < math.inf:
            raise InvalidData(
                expected="a finite error >= 0",
                got=f"error={error}",
                remedy="Give a bound of it such as 1e-12",
            )
        p.flags.writeable = q.flags.writeable = False
        object.__setattr__(self, "log_p", p)
        object.__setattr__(self, "log_q", q)
        object.__setattr__(self, "error", slip)
        object.__setattr__(self, "first", read_first(first))

    @property
    def atoms(self) -> Atoms:
        """The log-masses with the bound of their error."""
        return Atoms(self.log_p, self.log_q, self.error)

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln of the sum of (p - e^epsilon q)_+, for an exact epsilon of any sign."""
        return self.atoms.log_excess(epsilon)

    def delta(self, epsilon: Parameter) -> float:
        """Return the hockey-stick divergence of p from q, never below the truth."""
        return self.delta_bounds(epsilon)[1]

    def delta_bounds(self, epsilon: Parameter) -> tuple[float, float]:
        """Return floats (lower, upper) around the divergence."""
        lower, upper = self.log_delta_bounds(read_epsilon(epsilon)).linear()
        return lower, min(1.0, upper)

    def log_delta(self, epsilon: Parameter) -> float:
        """Return the natural logarithm of the divergence, never below the truth."""
        return self.log_delta_bounds(read_epsilon(epsilon)).upper

    def renyi(self, order: Parameter) -> float:
        """Return the Renyi divergence D_order(p || q), rounded up; order in [1, inf].

        inf where p has mass that q has not. Near order 1, where the sum of p^a q^(1-a) is
        near 1, the masses of p are taken to sum to 1 exactly.

        Raises:
            InvalidParameter: an order below 1, or nan.

        >>> round(Pair(np.log([0.75, 0.25]), np.log([0.25, 0.75])).renyi(math.inf), 6)
        1.098612
        """
        a = _read_order(order)
        alive = self.log_p > -math.inf
        p, q = self.log_p[alive], self.log_q[alive]
        if np.isneginf(q).any():
            return math.inf
        loss = p - q
        size = float(np.max(np.abs(p) + np.abs(q)))
        # The rounding of a loss, and the error of the masses.
        slip = 4 * UNIT_ROUNDOFF * size + 2 * self.error
        widest = float(np.abs(loss).max()) + slip
        if a > _LARGEST_ORDER:
            return max(0.0, float(loss.max()) + slip)
        mass = np.exp(p)
        if (a - 1) * widest <= _NEARLY_ONE:
            # ln(1 + E_p[e^((a-1) loss) - 1]) / (a - 1); at a = 1 the mean of the loss.
            excess = np.expm1((a - 1) * loss) / (a - 1) if a > 1 else loss
            terms = mass * excess
            rounding = (8 * LIBM_ERROR + 2 * self.error + slip) * math.fsum(np.abs(terms).tolist())
            mean = math.fsum(terms.tolist()) + rounding + 2 * slip
            value = math.log1p((a - 1) * mean) / (a - 1) if a > 1 else mean
            return max(0.0, value + 4 * LIBM_ERROR * abs(value))
        terms = a * p + (1 - a) * q
        top = float(terms.max())
        spread = math.log(math.fsum(np.exp(terms - top).tolist()))
        # Roundings of a, of both products and of their sum; then exp, ln and the sums.
        rounding = 8 * UNIT_ROUNDOFF * a * size + 2 * a * self.error
        rounding += 4 * LIBM_ERROR * (1 + abs(spread)) + 4 * UNIT_ROUNDOFF * abs(top)
        return max(0.0, (top + spread + rounding) / (a - 1) * (1 + 4 * UNIT_ROUNDOFF))

    def tradeoff(self) -> TradeoffFunction:
        """Return the trade-off function of testing q (the null) against p.

        Safe: its type II error is never above the true one.
        """
        return TradeoffFunction.from_atoms(self.atoms)

    def reverse(self) -> Pair:
        """Return the other direction: q over p, which ``first`` follows."""
        return Pair(self.log_q, self.log_p, error=self.error, first=other_first(self.first))

    def compose(self, other: Pair) -> Pair:
        """Return the pair of the product laws: both outputs are seen.

        Both pairs must point the same way for the same neighbours (see `compose`). The
        product says which database has the record if both do.

        Raises:
            IncompatibleClaims: one pair begins with the database that has the record, the
                other with the one that has not.
            OutOfReach: more than 5e6 atoms.

        >>> pair = Pair(np.log([0.75, 0.25]), np.log([0.5, 0.5]), first="with_record")
        >>> pair.compose(pair).first, pair.reverse().first
        ('with_record', 'without_record')
        """
        if not isinstance(other, Pair):
            raise InvalidParameter(
                expected="another Pair",
                got=f"{other!r}",
                remedy="Build one with Pair(log_p, log_q)",
            )
        if None not in (self.first, other.first) and self.first != other.first:
            raise IncompatibleClaims(
                expected="pairs whose first laws belong to the same of two neighbours",
                got=f"first={self.first!r} and first={other.first!r}",
                remedy="Reverse one of them: other.reverse()",
            )
        both = self.first if self.first == other.first else None
        return Pair._of(self.atoms.times(other.atoms), both)

    @classmethod
    def _of(cls, atoms: Atoms, first: First | None = None) -> Pair:
        return cls(atoms.log_p, atoms.log_q, error=atoms.error, first=first)

    def self_compose(self, k: int) -> Pair:
        """Return the k-fold product, k >= 1, by repeated squaring."""
        count = exact_int(k, name="k", minimum=1)
        result: Pair | None = None
        power = self
        while True:
            if count & 1:
                result = power if result is None else result.compose(power)
            count >>= 1
            if not count:
                return result if result is not None else self
            power = power.compose(power)

    def profile(
        self, *, neighbours: Neighbours | str | Unsaid = UNSAID, first: First | None = None
    ) -> PrivacyProfile:
        """Return the privacy profile: the worse of both directions.

        Args:
            neighbours: "replace_one" or "add_remove". By default "add_remove" if the pair
                says which law has the record, else "replace_one".
            first: as in the constructor, for a pair that does not say it; None (default): as
                the pair says.

        Raises:
            InvalidParameter: other neighbours; a ``first`` that is none, that contradicts the
                pair, or under replace_one, where neither database has a record more.

        >>> pair = Pair(np.log([0.01, 0.99]), np.log([0.1, 0.9]))
        >>> said = pair.profile(neighbours="add_remove", first="with_record")
        >>> said.delta(1) == pair.profile().delta(1)
        True
        """
        said = read_first(first)
        if said is not None and self.first not in (None, said):
            raise InvalidParameter(
                expected=f"first={self.first!r}, as the pair says",
                got=f"first={first!r}",
                remedy="Leave first out, or reverse the pair",
            )
        said = said or self.first
        if isinstance(neighbours, Unsaid):
            about = Neighbours.ADD_REMOVE if said else Neighbours.REPLACE_ONE
        else:
            about = read_neighbours(neighbours)
        if said and about is Neighbours.REPLACE_ONE:
            raise InvalidParameter(
                expected="neighbours of which one has a record more, for a pair that says which",
                got=f"neighbours={about.value!r} and first={said!r}",
                remedy='Name neighbours="add_remove", or leave first out',
            )
        return PairProfile(self, self.reverse(), about, said)


@dataclass(frozen=True, slots=True)
class PairProfile(PrivacyProfile):
    """The worse of both directions of a pair."""

    forward: Pair
    backward: Pair
    about: Neighbours
    first: First | None = None

    @property
    def neighbours(self) -> Neighbours:
        return self.about

    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        first = self.forward.log_delta_bounds(epsilon)
        second = self.backward.log_delta_bounds(epsilon)
        return LogBounds(max(first.lower, second.lower), max(first.upper, second.upper))


def _read_order(order: Parameter) -> float:
    """Return a float not below the order, inf for inf: the divergence grows with it."""
    if isinstance(order, float) and order == math.inf:
        return order
    exact = exact_fraction(order, name="order")
    if exact < 1:
        raise InvalidParameter(
            expected="order >= 1", got=f"order={order}", remedy="Raise the order"
        )
    return real_bounds(exact).upper
