"""What an accountant has to know about one mechanism: the law of its privacy loss.

A pair of laws P, Q has the loss L = ln(dP/dQ) under P. All of delta(epsilon) =
E_P[(1 - e^(epsilon - L))_+], for epsilon of any sign, follows from the law of L: its
transform E_P[e^(zL); L finite] and the mass at L = inf. That is all that composes: transforms
multiply.

To take part in `smoothdp.compose` with more than its `.profile()`, an object offers

    def loss_laws(self) -> LossLaws

and fills it with the laws of this folder (`AtomsLaw`, `GaussianLaw`) or its own subclass of
`LossLaw`, as `mechanisms/additive/laplace.py` does.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from smoothdp.claims.neighbours import Neighbours
from smoothdp.exact.balls.special import Ball
from smoothdp.exact.logspace.bounds import LOG_ZERO, LogBounds
from smoothdp.exact.parameters.numbers import Real
from smoothdp.types import ComplexArray, FloatArray

BallTransform: TypeAlias = Callable[[Ball], Ball]
"""From a complex ball z to a ball around E[e^(zL); L finite]."""


class Slack(NamedTuple):
    """How far the law at hand is from the true one.

    The true D satisfies D(e) <= e^mass D_here(e - loss) and D(e) >= e^-mass D_here(e + loss)
    at every epsilon e of any sign. It is so when every atom of P is right within a factor
    e^(+-mass) and every loss within +-loss. Composition adds both: D composed with anything
    is a positive combination of values of D.
    """

    mass: float = 0.0
    loss: float = 0.0


EXACT = Slack()


class Moments(NamedTuple):
    """ln E[e^(cL); L finite], an absolute error bound, and the tilted mean and variance.

    Mean and variance are estimates, used to place nodes only.
    """

    log_mgf: float
    error: float
    mean: float
    variance: float


class Excess(NamedTuple):
    """psi - 1 at nodes, each value within its error: where psi is close to 1, far below u."""

    values: ComplexArray
    error: FloatArray


class TiltedSums(NamedTuple):
    """The normalised transform psi(t) = E[e^((c+it)L)] / E[e^(cL)] e^(-it centre) at nodes.

    Each value is within its error of the truth. ``excess``: psi - 1 as well, where it is known
    better than that.
    """

    values: ComplexArray
    error: FloatArray
    centre: float
    excess: Excess | None = None


class LossLaw(ABC):
    """The law of the privacy loss of one mechanism, in one direction or symmetrised."""

    @property
    @abstractmethod
    def largest(self) -> float:
        """A float not below any finite loss; inf if losses are unbounded."""

    @property
    def log_infinite(self) -> LogBounds:
        """Bounds of ln P(L = inf): none by default."""
        return LOG_ZERO

    @property
    def slack(self) -> Slack:
        """How far this law is from the true one."""
        return EXACT

    @property
    def largest_tilt(self) -> float:
        """The largest tilt at which moments are to be asked for: any limit is safe."""
        return 1e9

    @abstractmethod
    def moments(self, tilt: float) -> Moments:
        """Return the moment generating function at a real tilt > 0."""

    @abstractmethod
    def transform(self, tilt: float, *, step: float, count: int, budget: float) -> TiltedSums:
        """Return psi at t = 0, step, ..., (count - 1) step.

        ``budget`` is an error that may be spent on leaving out negligible parts; what is
        spent is part of the bound that is returned.
        """

    def ball_transform(self) -> BallTransform | None:
        """Return the transform in ball arithmetic, of the true law (slack 0); None without one."""
        return None

    def cost(self, tilt: float, *, last: float, budget: float) -> int:
        """Return the number of atoms that the transform sums at a node, for t up to last."""
        del tilt, last, budget
        return 1

    def split(self, loss: float) -> Split | None:
        """Return the law in two parts, about at a loss; None where that is of no use."""
        del loss
        return None

    def capped(self, loss: float) -> Capped | None:
        """Return the law with all losses beyond a point made infinite; None if there are none,
        or where that is of no use."""
        del loss
        return None

    def two_atoms(self, tilt: float) -> TwoAtoms | None:
        """Return two atoms of the tilted law, if it has two that are known: see `Screen`."""
        del tilt
        return None

    def transform_at(self, tilt: float, t: FloatArray) -> TiltedSums:  # noqa: ARG002
        """Return psi at any t >= 0; every law with `two_atoms` has it.

        Raises:
            TypeError: a law without.
        """
        raise TypeError(type(self).__name__)

    def decay(self, tilt: float, last: float) -> float:
        """Return a bound of |psi(t)| at every t >= last > 0: none by default."""
        del tilt, last
        return 1.0

    @property
    def still(self) -> Still | None:
        """The mass of a loss of exactly 0, where that is what keeps psi from falling: else None."""
        return None

    def moving_decay(self, tilt: float, last: float) -> float:
        """Return a bound of |psi(t)| without the part of `still`, at every t >= last > 0."""
        del tilt, last
        return 1.0


class TwoAtoms(NamedTuple):
    """Half the distance of two atoms, and a float not above h = w v / (w + v), w and v their
    masses."""

    half_distance: float
    weight: float


class Still(NamedTuple):
    """Bounds of ln P(L = 0), and those of ln E[(1 - e^(e - L))_+; L finite] at an e >= 0."""

    log_mass: LogBounds
    log_excess: Callable[[Real], LogBounds]


class Split(NamedTuple):
    """The laws of the losses below and above a point, which share the mass, and of the latter
    a float not below ln of the mass under P."""

    head: LossLaw
    tail: LossLaw
    log_mass: float


class Capped(NamedTuple):
    """A law above another: its large losses are infinite. A float not below ln of the mass
    under Q that this leaves out."""

    law: LossLaw
    log_lost: float


@dataclass(frozen=True)
class GaussianLaw:
    """The loss of N(mu, 1) against N(0, 1): N(mu^2/2, mu^2). Kept exactly; squares add up."""

    variance: Fraction


@dataclass(frozen=True)
class LossBracket:
    """A law whose D is nowhere below the true one, and one whose D is nowhere above.

    ``lower`` is None if nothing is known from below. Both are the same object for a law
    that is known.

    Example:
        >>> law = GaussianLaw(Fraction(1, 4))
        >>> LossBracket(law, law) == known(law)
        True
    """

    upper: LossLaw | GaussianLaw
    lower: LossLaw | GaussianLaw | None


@dataclass(frozen=True)
class LossLaws:
    """Everything that composition asks of an item.

    Attributes:
        neighbours: the neighbour relation.
        symmetrised: the laws of the pointwise larger of both directions' D.
        directions: the laws of the two directions one by one, in an order that all items
            share (first: the database that has the record, or x, against the other), if they
            differ and are known; else empty. Empty, too, for whatever replaces one record and
            works on a random sample of them: it may lose in both directions at once, so the
            two products are no bound: exactly, .2225 for a truth of .3575.

    Example:
        >>> gaussian = known(GaussianLaw(Fraction(1, 4)))
        >>> LossLaws(Neighbours.REPLACE_ONE, gaussian).directions
        ()
    """

    neighbours: Neighbours
    symmetrised: LossBracket
    directions: tuple[LossBracket, LossBracket] | tuple[()] = ()


@runtime_checkable
class HasLossLaws(Protocol):
    """An object that offers the laws of its privacy loss."""

    def loss_laws(self) -> LossLaws | None:
        """Return the laws; None where the profile is to say all."""
        ...


def known(law: LossLaw | GaussianLaw) -> LossBracket:
    """Return the bracket of a law that is known."""
    return LossBracket(law, law)


def chernoff_constant(tilt: float) -> float:
    """Return ln of c^c / (1 + c)^(1 + c): the largest of (1 - e^-y) e^(-cy) over y >= 0."""
    return tilt * math.log(tilt / (1 + tilt)) - math.log1p(tilt)
