"""What every privacy claim answers, and how much a claim leaves open.

Strength is given in numbers that a reader can weigh. The number is that of a guess: somebody
knows all the rest, holds two possibilities for the row to be equally likely, sees the output and
guesses. They are right at most (1 + delta(0)) / 2 of the time: e^epsilon / (1 + e^epsilon) under
pure DP, Phi(mu / 2) under mu-Gaussian DP.

A claim is called weak (a convention, no theorem) if

* epsilon is above 3: odds may change by more than 20 to 1, and that guess may be right more than
  95% of the time, which elsewhere in statistics counts as evidence;
* delta is 1/1000 or more: it may be the chance that all is told of a row, and data have
  thousands of rows;
* delta is 1/n or more, where n is known: publishing one row, drawn at random, with all that it
  holds keeps such a claim;
* without an epsilon in the claim, the guess may be right more often than with epsilon = 3.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Self

from smoothdp.claims.curves.profile import FunctionProfile, PrivacyProfile
from smoothdp.claims.domains import read_delta
from smoothdp.claims.excess import mu_of_pure, rho_of_pure
from smoothdp.claims.neighbours import Neighbours, require_same
from smoothdp.claims.terms import RhoTerms, Terms
from smoothdp.errors import IncompatibleClaims
from smoothdp.exact.balls.balls import exp_bounds
from smoothdp.exact.balls.compare import at_most, float_up, normal_cdf_at_least
from smoothdp.exact.balls.shown import Rounding, shown
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, Real, exact_int, exact_text
from smoothdp.sources import Source
from smoothdp.text import html_card, number_up, ratio_up

WEAK_EPSILON = Fraction(3)
"""Above it odds may change by more than 20 to 1."""
WEAK_DELTA = Fraction(1, 1000)
WEAK_GUESS = Fraction(9526, 10000)
"""e^3 / (1 + e^3), rounded up."""
_CERTAIN = Fraction(9999, 10000)
_LARGEST_SHOWN = 700


@dataclass(frozen=True, init=False, repr=False)
class Guarantee(ABC):
    """A privacy claim: a frozen value that knows its neighbours, and answers for itself.

    Parameters are kept exactly; the float properties are never below them.

    A new claim declares `source` and `parameter_names`, keeps each parameter NAME as
    ``exact_NAME``, takes the first by position and the others by keyword, and writes
    `log_delta_bounds`, `words` and `follows_from`. What it can say beyond that (`terms`,
    `pure_epsilon`, `concentrated_rho`, `for_group`) it overrides; where it does not, whoever asks
    refuses plainly or goes by the profile.
    """

    source: ClassVar[Source]
    parameter_names: ClassVar[tuple[str, ...]]
    """The numbers of the claim; the first is the positional argument of its constructor."""
    is_average: ClassVar[bool] = False
    """Whether the promise is one on average over a model of the data."""
    rounded_down: ClassVar[frozenset[str]] = frozenset()
    """Parameters that are shown rounded down, because less of them is the weaker claim."""
    no_group: ClassVar[str] = "Convert it to an approximate claim first"
    """What to do instead where nothing is known about groups."""
    neighbours: Neighbours

    @abstractmethod
    def log_delta_bounds(self, epsilon: Real) -> LogBounds:
        """Bound ln of the largest delta(epsilon) of any mechanism that meets the claim."""

    @abstractmethod
    def words(self) -> str:
        """Return what is promised, as the middle of a sentence."""

    @abstractmethod
    def follows_from(self, other: Guarantee) -> bool:
        """Return True if every mechanism that meets the other claim is proved to meet this one.

        Called by `implies`, which has checked that both are about the same neighbours.
        """

    # ---- what follows from it -------------------------------------------------------

    def terms(self) -> Terms | None:
        """Return the claim in a notion that adds up: neither more nor less; None if it is in none.

        >>> import smoothdp as sd
        >>> sd.ZCDP(2).terms()
        RhoTerms(rho=Fraction(2, 1), omega=None)
        """
        return None

    def pure_epsilon(self) -> Real | None:
        """Return an epsilon of pure DP that follows from the claim; None if none is known.

        >>> import smoothdp as sd
        >>> sd.PureDP("1/3").pure_epsilon(), sd.GaussianDP(0).pure_epsilon()
        (Fraction(1, 3), Fraction(0, 1))
        """
        return None

    def concentrated_rho(self) -> Fraction | None:
        """Return a rho of zCDP that follows from the claim; None if none is known.

        From pure DP: epsilon tanh(epsilon / 2), rounded up, which no smaller rho can replace
        (proofs/pure-to-concentrated#1); paper 2 has epsilon^2 / 2 (Proposition 10).

        >>> import smoothdp as sd
        >>> float(sd.PureDP(1).concentrated_rho()), sd.GaussianDP(1).concentrated_rho()
        (0.46211715726000974, Fraction(1, 2))
        >>> sd.PureDP(2).implies(sd.ZCDP("1.53")), sd.PureDP(2).implies(sd.ZCDP("1.52"))
        (True, False)
        """
        pure = self.pure_epsilon()
        return None if pure is None else rho_of_pure(pure)

    def rho_below(self, omega: Fraction) -> Fraction | None:
        """Return a rho that follows for orders below omega > 1 (truncated CDP), if one is known."""
        terms = self.terms()
        if isinstance(terms, RhoTerms) and (terms.omega is None or terms.omega >= omega):
            return terms.rho
        return self.concentrated_rho()

    def gaussian_mu(self) -> Fraction | None:
        """Return a mu of Gaussian DP that follows, rounded up; None if none is known."""
        pure = self.pure_epsilon()
        return None if pure is None else mu_of_pure(pure)

    def is_gaussian(self, mu: Fraction) -> bool:
        """Return True if mu-Gaussian DP is proved to follow.

        From pure DP: both corners of the curve of randomised response lie on or above that of mu.
        """
        pure = self.pure_epsilon()
        return pure is not None and normal_cdf_at_least(mu / 2, pure)

    def delta_at_most(self, epsilon: Real, delta: Fraction) -> bool:
        """Return whether the profile of the claim passes through (epsilon, delta) or below.

        That is enough for the whole of an approximate claim: (epsilon, delta) at one point
        implies its profile everywhere. For a claim on average it is the profile on average.
        """
        return delta == 1 or self.profile().keeps(epsilon, delta)

    def implies(self, other: Guarantee) -> bool:
        """Return True if every mechanism that meets this claim is proved to meet the other.

        False means: not proved. Claims about different neighbours raise
        IncompatibleClaims; they meet only through an explicit conversion.
        """
        require_same(self.neighbours, other.neighbours)
        return other.follows_from(self)

    def for_group(self, n_records: int) -> Guarantee:
        """Return the claim about any n_records = k >= 1 records changed together.

        Raises:
            IncompatibleClaims: a claim that says nothing about groups.

        >>> import smoothdp as sd
        >>> sd.GaussianDP(1).for_group(3)
        GaussianDP(mu=3, neighbours='replace_one')
        """
        k = exact_int(n_records, name="n_records", minimum=1)
        group_claim = self if k == 1 else self._for_group(k)
        if group_claim is None:
            raise IncompatibleClaims(
                expected="a pure, approximate, zero-concentrated or Gaussian claim for group "
                "privacy",
                got=type(self).__name__,
                remedy=self.no_group,
            )
        return group_claim

    def _for_group(self, k: int) -> Guarantee | None:  # noqa: ARG002
        """Return the claim about k >= 2 records; None if nothing is known."""
        return None

    def as_replace_one(self) -> Guarantee:
        """Return the claim about replacing a record, from one about adding or removing it.

        Replacing is removing one and adding one: group privacy for two. That is 2 epsilon, 4 rho,
        2 mu, or (2 epsilon, (1 + e^epsilon) delta).

        Source: proofs/tables#4.

        Raises:
            IncompatibleClaims: a claim about other neighbours, or one that says nothing about
                groups.

        >>> import smoothdp as sd
        >>> sd.ZCDP(1, neighbours="add_remove").as_replace_one()
        ZCDP(rho=4, neighbours='replace_one')
        """
        if self.neighbours is not Neighbours.ADD_REMOVE:
            raise IncompatibleClaims(
                expected="a claim about add_remove neighbours",
                got=self.neighbours.value,
                remedy="Keep the claim as it is, or state one about add_remove",
            )
        return self.for_group(2).changed(neighbours=Neighbours.REPLACE_ONE)

    def profile(self) -> PrivacyProfile:
        """Return the tightest proved privacy profile that follows from the claim."""
        return FunctionProfile(self.log_delta_bounds, self.neighbours)

    # ---- its parameters -------------------------------------------------------------

    def parameters(self) -> dict[str, Real]:
        """Return the exact parameters by name."""
        return {name: getattr(self, f"exact_{name}") for name in self.parameter_names}

    def arguments(self) -> dict[str, Any]:
        """Return what the constructor was given, by name and exactly."""
        return {**self.parameters(), "neighbours": self.neighbours}

    def changed(self, **arguments: object) -> Self:
        """Return the claim of the same kind with some of its arguments changed.

        >>> import smoothdp as sd
        >>> sd.ApproxDP(1, delta="1e-6").changed(epsilon=2)
        ApproxDP(epsilon=2, delta=1e-6, neighbours='replace_one')
        """
        return self._made({**self.arguments(), **arguments})

    @classmethod
    def _made(cls, arguments: dict[str, Any]) -> Self:
        rest = dict(arguments)
        return cls(rest.pop(cls.parameter_names[0]), **rest)  # type: ignore[call-arg]

    # ---- words and JSON -------------------------------------------------------------

    def sentence(
        self,
        *,
        rows_per_person: int = 1,
        n_records: int | None = None,
        delta_at_zero: Parameter | None = None,
        unit: str = "one row",
    ) -> str:
        """Return the claim in plain English, about one row or about one person's rows.

        It says how strong the claim is, in numbers, and where that is weak (the thresholds:
        `weaknesses`). With rows_per_person = k > 1 the claim is widened by group privacy.

        Args:
            rows_per_person: k >= 1. n_records: n, where it is known: then a delta of 1/n or more
                is called weak.
            delta_at_zero: delta(0) of what was published, or a bound of it, where more is known
                than the claim: how often a guess is right is said from it. Not with
                rows_per_person.
            unit: what the claim is about, where that is not one row: it is not widened for it.
        """
        claim = self if rows_per_person == 1 else self.for_group(rows_per_person)
        if rows_per_person > 1:
            unit = f"one person's {rows_per_person} rows"
        change = self.neighbours.sentence(unit)
        known = None if rows_per_person > 1 else delta_at_zero
        strength = strength_words(claim, unit=unit, n_records=n_records, delta_at_zero=known)
        return f"How much the output tells about {unit}: {change} {claim.words()} {strength}"

    def _repr_html_(self) -> str:
        """Return the claim for a notebook."""
        return html_card(repr(self), [("in words", self.sentence())])

    def to_json(self) -> str:
        """Return the claim as JSON; `guarantee_from_json` reads it back exactly."""
        return json.dumps({"type": type(self).__name__, **self.json_fields()})

    def json_fields(self) -> dict[str, Any]:
        """Return the arguments for JSON; numbers are text, so that nothing is rounded."""
        numbers = {name: exact_text(value) for name, value in self.parameters().items()}
        return {**numbers, "neighbours": self.neighbours.value}

    @classmethod
    def json_names(cls) -> tuple[str, ...]:
        """Return the names of `json_fields`, in order."""
        return (*cls.parameter_names, "neighbours")

    @classmethod
    def from_json_fields(cls, fields: dict[str, Any]) -> Self:
        """Return the claim that has these `json_fields`.

        Raises:
            InvalidParameter: a field outside its domain.
        """
        return cls._made(fields)

    def __repr__(self) -> str:
        parameters = ", ".join(
            f"{name}={shown(value, rounding=self._safe(name))}"
            for name, value in self.parameters().items()
        )
        return f"{type(self).__name__}({parameters}, neighbours={self.neighbours.value!r})"

    def _safe(self, name: str) -> Rounding:
        return "down" if name in self.rounded_down else "up"


def stated_guarantee(mechanism: object) -> Guarantee | None:
    """Return the guarantee that an object is or has, as attribute or method; None without one."""
    if isinstance(mechanism, Guarantee):
        return mechanism
    guarantee = None if isinstance(mechanism, type) else getattr(mechanism, "guarantee", None)
    if callable(guarantee):
        guarantee = guarantee()
    return guarantee if isinstance(guarantee, Guarantee) else None


def times(epsilon: Real, k: int) -> Real:
    """Return k epsilon, exactly."""
    return LogRatio(epsilon.ratio**k) if isinstance(epsilon, LogRatio) else k * epsilon


def guess_upper(claim: Guarantee) -> Fraction:
    """Return how often a guess between two equally likely possibilities is right, at most.

    >>> from smoothdp.claims import PureDP
    >>> 0.7310 < guess_upper(PureDP(1)) < 0.7311
    True
    """
    return min(Fraction(1), (1 + Fraction(claim.profile().delta(0))) / 2)


def strength_words(
    claim: Guarantee,
    *,
    unit: str,
    n_records: int | None = None,
    delta_at_zero: Parameter | None = None,
) -> str:
    """Return what may still be learned about a unit, and a plain warning where that is much.

    ``delta_at_zero`` bounds delta(0) of what is published, where that is known better than by
    the claim: the exact curve of a mechanism often says 54% where (1, 1e-6) says 73%.
    """
    right, reasons = guess_upper(claim), weaknesses(claim, n_records=n_records)
    if delta_at_zero is not None:
        right = min(right, (1 + read_delta(delta_at_zero)) / 2)
    often = f"is right at most {number_up(100 * right)}% of the time"
    if claim.is_average:
        often += " on average"
    if right > _CERTAIN:
        often = "may be right every time"
    said = (
        f"A guess between two equally likely possibilities for {unit}, by somebody who knows all "
        f"the rest, {often}."
    )
    return f"{said} This is weak: {'; '.join(reasons)}." if reasons else said


def weaknesses(claim: Guarantee, *, n_records: int | None = None) -> list[str]:
    """Return why a claim is called weak, in words; none if it is not.

    >>> from smoothdp.claims import ApproxDP
    >>> weaknesses(ApproxDP(3, delta="1e-6"))
    []
    >>> weaknesses(ApproxDP(4, delta="1e-6"))
    ['epsilon is above 3, so odds may change by more than 20 to 1']
    """
    parameters = claim.parameters()
    epsilon, delta = parameters.get("epsilon"), parameters.get("delta")
    reasons = []
    if epsilon is None and guess_upper(claim) > WEAK_GUESS:
        reasons.append("that is more often than the 95.26% of epsilon = 3")
    if epsilon is not None and not at_most(epsilon, WEAK_EPSILON):
        reasons.append("epsilon is above 3, so odds may change by more than 20 to 1")
    if isinstance(delta, Fraction):
        if delta >= WEAK_DELTA:
            reasons.append(
                f"delta is {ratio_up(delta)}, no small chance of an output without any promise"
            )
        elif n_records is not None and delta * n_records >= 1:
            reasons.append(
                "delta is at least 1/n, so publishing one row, drawn at random, could keep it"
            )
    return reasons


def factor_text(epsilon: Real) -> str:
    """Return e^epsilon, with its value rounded up where floats reach it.

    >>> factor_text(Fraction(1)), factor_text(Fraction(100)), factor_text(Fraction(10**6))
    ('e^1 (2.719)', 'e^100 (2.689e+43)', 'e^1000000')
    """

    exponent = float_up(epsilon)
    text = number_up(exponent)
    power = f"e^({text})" if "e" in text else f"e^{text}"
    if exponent > _LARGEST_SHOWN:
        return power
    return f"{power} ({number_up(exp_bounds(epsilon).upper)})"
