"""Any mechanism on a random sample of the records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from smoothdp.claims.curves.atoms import Atoms
from smoothdp.claims.curves.first import First
from smoothdp.claims.curves.group_profile import group_profile
from smoothdp.claims.curves.pair import Pair, PairProfile
from smoothdp.claims.curves.profile import FunctionProfile, PrivacyProfile
from smoothdp.claims.neighbours import Neighbours, read_neighbours, require_same
from smoothdp.composition.items import Item, read_items
from smoothdp.composition.laws.around import atoms_around
from smoothdp.composition.laws.atoms import AtomsLaw
from smoothdp.composition.laws.law import GaussianLaw, LossBracket, LossLaw, LossLaws, Slack
from smoothdp.composition.laws.symmetrise import symmetrised
from smoothdp.errors import IncompatibleClaims, InvalidParameter
from smoothdp.exact.balls.balls import ball, enclose, precision
from smoothdp.exact.logspace.bounds import (
    UNIT_ROUNDOFF,
    LogBounds,
    log_sum_lower,
    log_sum_upper,
)
from smoothdp.exact.parameters.numbers import (
    LogRatio,
    Parameter,
    Real,
    exact_text,
    positive_probability,
)
from smoothdp.sources import Source
from smoothdp.training_runs.directed import Way, read_way
from smoothdp.training_runs.rates import (
    asked_bounds,
    growth,
    inner_epsilons,
    log_added,
    log_removed,
)
from smoothdp.training_runs.sampled_atoms import both_laws, mixed
from smoothdp.training_runs.subsampled_gaussian import SubsampledGaussian, Subsampling


@dataclass(frozen=True, init=False, eq=False)
class Subsampled:
    """A mechanism on a random sample of the records, and on nothing else.

    With D the profile of the mechanism on all records of its batch, E = e^epsilon >= 1, q the
    rate and E' = 1 + (E - 1) / q:

    "poisson" (each record by its own coin), one of two neighbours has the record: q D(E') for
    removing it, (1 - E (1 - q))_+ D(E q / (1 - E (1 - q))) for adding it. An atom of masses p_i
    with the record and q_i without becomes (1 - q) q_i + q p_i and q_i. A pair that does not say
    which of its laws has the record is symmetrised first.

    "poisson" under replace_one: q ((1 - b) A(E') + b D(E')), b = E / E', A the profile under
    add_remove. This is a bound and may be no profile; composed, its largest convex curve below
    that falls is used. A cannot be read off a claim about replacing, so `add_remove` is wanted.

    "without_replacement" (exactly q n of n records) under replace_one: q D(E').

    The mechanism must keep its profile on batches of every size that occurs. Nobody may learn who
    is in the sample, nor how many are where that is random, and nothing may be divided by how many
    there turned out to be.

    Source: proofs/subsampled-steps#1, #2, #3.

    Args:
        item: a guarantee, mechanism, pair or profile: what runs on the sample.
        rate: q in (0, 1].
        sampling: "poisson" (default) or "without_replacement".
        neighbours: None (default): those of the item.
        add_remove: for "poisson" under replace_one: the item under add_remove, or its profile.
            An item about add_remove under neighbours="replace_one" needs none.

    Raises:
        InvalidParameter: a rate outside (0, 1], another sampling, an item without a profile.
        IncompatibleClaims: neighbours that do not fit, or a claim on average.

    >>> import smoothdp as sd
    >>> step = Subsampled(sd.LaplaceMechanism(1, neighbours="add_remove"), "0.01")
    >>> round(step.directed("remove").delta("0.001"), 9)
    0.003638508
    >>> sd.compose([(step, 10)]).neighbours.value
    'add_remove'
    """

    source: ClassVar[Source] = Source("balle-barthe-gaboardi", "Theorems 8 to 10")
    item: Any
    exact_rate: Fraction
    sampling: Subsampling
    neighbours: Neighbours
    add_remove: Any

    def __init__(
        self,
        item: Any,
        rate: Parameter,
        *,
        sampling: Subsampling = "poisson",
        neighbours: Neighbours | str | None = None,
        add_remove: Any = None,
    ) -> None:
        share = positive_probability(
            rate, name="rate", remedy="Give the share of the records that is sampled, such as 0.01"
        )
        if sampling not in ("poisson", "without_replacement"):
            raise InvalidParameter(
                expected='sampling "poisson" or "without_replacement"',
                got=f"sampling={sampling!r}",
                remedy='Use "poisson" if each record has its own coin, else "without_replacement"',
            )
        base = _read(item)
        about = base.neighbours if neighbours is None else read_neighbours(neighbours)
        by_group = about is Neighbours.REPLACE_ONE and base.neighbours is Neighbours.ADD_REMOVE
        if not by_group:
            require_same(base.neighbours, about)
        poisson_replace = sampling == "poisson" and about is Neighbours.REPLACE_ONE
        if sampling == "without_replacement" and (
            about is not Neighbours.REPLACE_ONE or base.neighbours is not about
        ):
            raise IncompatibleClaims(
                expected="an item about replace_one neighbours for samples of a fixed size",
                got=base.neighbours.value,
                remedy="Give the item's claim about replacing a record, or sample by Poisson coins",
            )
        if add_remove is not None and (not poisson_replace or by_group):
            raise InvalidParameter(
                expected="add_remove= for Poisson samples of an item about replace_one alone",
                got=f"add_remove= with sampling={sampling!r} and an item about "
                f"{base.neighbours.value}",
                remedy="Leave add_remove out",
            )
        if poisson_replace and not by_group and add_remove is None:
            raise IncompatibleClaims(
                expected="add_remove=, the item's profile under add_remove neighbours: a claim "
                "about replacing says nothing about a record that a Poisson sample leaves out",
                got="none",
                remedy="Give it, such as add_remove=sd.GaussianDP(1, neighbours='add_remove')",
            )
        if add_remove is not None:
            require_same(_read(add_remove).neighbours, Neighbours.ADD_REMOVE)
        for name, value in (
            ("item", item),
            ("exact_rate", share),
            ("sampling", sampling),
            ("neighbours", about),
            ("add_remove", add_remove),
        ):
            object.__setattr__(self, name, value)

    @cached_property
    def _base(self) -> Item:
        return _read(self.item)

    @cached_property
    def _gaussian(self) -> SubsampledGaussian | None:
        """The step itself, if the item is a Gaussian shift by a rational."""
        mu = _gaussian_mu(self._base)
        if mu is None or self._replaces_by_coins:
            return None
        return SubsampledGaussian(
            self.exact_rate,
            noise_multiplier=1 / mu,
            sampling=self.sampling,
            neighbours=self.neighbours,
        )

    @property
    def _replaces_by_coins(self) -> bool:
        return self.sampling == "poisson" and self.neighbours is Neighbours.REPLACE_ONE

    @cached_property
    def _pair(self) -> Pair | None:
        """The pair of one step, record first, if that of the item says who has the record."""
        if self.sampling != "poisson" or self.neighbours is Neighbours.REPLACE_ONE:
            return None
        found = _said_pair(self._base)
        if found is None:
            return None
        return Pair._of(mixed(found, self.exact_rate), "with_record")

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one step: the worse of both directions."""
        if self._pair is not None:
            return self._pair.profile(neighbours=self.neighbours)
        return FunctionProfile(self._log_delta_bounds, self.neighbours)

    def directed(self, way: Way) -> PrivacyProfile:
        """Return the profile of one direction of one step.

        Args:
            way: "remove": the database with the record first; "add": the other one first.

        Raises:
            InvalidParameter: another way.
            IncompatibleClaims: replace_one neighbours, of which neither has a record more.
        """
        named = read_way(way, self.neighbours)
        if self._pair is not None:
            pair = self._pair if named == "remove" else self._pair.reverse()
            return FunctionProfile(pair.log_delta_bounds, self.neighbours)
        part = log_removed if named == "remove" else log_added
        profile, rate = self._base.profile, self.exact_rate
        return FunctionProfile(lambda epsilon: part(profile, epsilon, rate), self.neighbours)

    def describe(self) -> str:
        """Return the step in words."""
        how = "a Poisson sample" if self.sampling == "poisson" else "a sample without replacement"
        return f"{type(self.item).__name__} on {how} of rate {exact_text(self.exact_rate)}"

    def _log_delta_bounds(self, epsilon: Real) -> LogBounds:
        profile, rate = self._base.profile, self.exact_rate
        if self.sampling == "without_replacement":
            return log_removed(profile, epsilon, rate)
        if self._replaces_by_coins:
            return self._log_replaced(epsilon)
        first, second = log_removed(profile, epsilon, rate), log_added(profile, epsilon, rate)
        return LogBounds(max(first.lower, second.lower), max(first.upper, second.upper))

    @cached_property
    def _profiles(self) -> tuple[PrivacyProfile, PrivacyProfile]:
        """The item's profiles under add_remove and replace_one."""
        if self._base.neighbours is Neighbours.ADD_REMOVE:
            return self._base.profile, group_profile(self._base.profile, n_records=2)
        return _read(self.add_remove).profile, self._base.profile

    @cached_property
    def _is_convex(self) -> bool:
        """Whether the bound is known to be a profile itself: of Gaussian shifts m to 2 m."""
        if self.add_remove is None:
            return False
        one, two = _gaussian_mu(_read(self.add_remove)), _gaussian_mu(self._base)
        return one is not None and two is not None and one <= two <= 2 * one

    def _log_replaced(self, epsilon: Real) -> LogBounds:
        """Bound ln of q ((1 - b) A(E') + b D(E')), b = E / E'."""
        rate = self.exact_rate
        inner = inner_epsilons(epsilon, rate)
        one, two = (asked_bounds(profile, *inner) for profile in self._profiles)
        with precision(256):
            # q (1 - b) = (1 - q) (E - 1) / E', and E / E' = q / (1 - (1 - q) / E).
            back = (
                ball(1 - 1 / epsilon.ratio) if isinstance(epsilon, LogRatio) else -growth(-epsilon)
            )
            larger = ball(rate) + ball(1 - rate) * back
            first = ball(rate) * ball(1 - rate) * back / larger
            second = ball(rate) * ball(rate) / larger
            empty = epsilon == 0 or rate == 1
            weights = (
                LogBounds(-math.inf, -math.inf) if empty else enclose(first.log()),
                enclose(second.log()),
            )
        parts = [bounds.shifted(weight) for bounds, weight in zip((one, two), weights, strict=True)]
        upper = min(0.0, log_sum_upper(parts[0].upper, parts[1].upper))
        if not self._is_convex:
            return LogBounds(-math.inf, upper)
        return LogBounds(min(upper, log_sum_lower(parts[0].lower, parts[1].lower)), upper)

    # ---- the laws -------------------------------------------------------------------

    def loss_laws(self) -> LossLaws | None:
        """Return the laws of the privacy loss of one step; None under replace_one, where the
        profile says all, unless the item is a Gaussian shift."""
        return self._laws

    @cached_property
    def _laws(self) -> LossLaws | None:
        if self._gaussian is not None:
            return self._gaussian.loss_laws()
        if self.neighbours is Neighbours.REPLACE_ONE:
            return None
        if self._pair is not None:
            forward, backward = both_laws(self._pair.atoms, Slack())
            whole = symmetrised(forward, backward)
            ways = LossBracket(forward, forward), LossBracket(backward, backward)
            return LossLaws(self.neighbours, whole, ways)
        base = atoms_around(self._base)
        above = self._sampled(base.upper)
        below = None if base.lower is None else self._sampled(base.lower)
        if base.lower is base.upper:
            below = above
        first, second = (
            LossBracket(above[way], None if below is None else below[way]) for way in (0, 1)
        )
        whole = symmetrised(*above)
        lower = None if below is None else symmetrised(*below).lower
        if below is above:
            lower = whole.lower
        return LossLaws(self.neighbours, LossBracket(whole.upper, lower), (first, second))

    def _sampled(self, law: LossLaw | GaussianLaw) -> tuple[AtomsLaw, AtomsLaw]:
        """Return the laws of both directions on a sample, of a law that is its own mirror image.

        What the first law lacks, the second has where the first has nothing: as much as is at
        infinity. The slack of the item carries over: at E' e^-w the sampled E is at least
        E e^-w, as E >= q E'; and so for adding (proofs/subsampled-steps#1).
        """
        assert isinstance(law, AtomsLaw)
        infinite = law.infinite.upper
        atoms = Atoms(
            np.concatenate([law.log_masses, [infinite, -math.inf]]),
            np.concatenate([law.log_masses - law.losses, [-math.inf, infinite]]),
            UNIT_ROUNDOFF * 2 * float(np.abs(law.losses).max(initial=0.0))
            + UNIT_ROUNDOFF * 2 * float(np.abs(law.log_masses).max(initial=0.0)),
        )
        width = 0.0
        if law.infinite.lower < infinite:
            width = min(1e300, math.nextafter(infinite - law.infinite.lower, math.inf))
        # Below 1 - q the two totals stand in for 1: relatively, as both have weights >= 0.
        totals = (float(np.exp(masses[masses > -math.inf]).sum()) for masses in atoms[:2])
        off = max(abs(total - 1) for total in totals) + 1e-14
        slack = Slack(law.slack.mass + width + 1.01 * off, law.slack.loss)
        return both_laws(mixed(atoms.alive(), self.exact_rate), slack)


def _read(item: object) -> Item:
    """Return an item, read; refuse claims on average."""
    read = read_items([item])[0]
    if read[1] != 1 or read[0].average is not None:
        raise IncompatibleClaims(
            expected="one mechanism, guarantee, pair or profile of ordinary DP",
            got=f"{item!r}",
            remedy="Compose several first; claims on average are not about samples",
        )
    return read[0]


def _gaussian_mu(item: Item) -> Fraction | None:
    """Return the rational mu of an item that is a Gaussian shift, None for others."""
    laws = item.laws
    law = None if laws is None else laws.symmetrised.upper
    if not isinstance(law, GaussianLaw) or law.variance == 0:
        return None
    top, bottom = math.isqrt(law.variance.numerator), math.isqrt(law.variance.denominator)
    mu = Fraction(top, bottom)
    return mu if mu * mu == law.variance else None


def _said_pair(item: Item) -> Atoms | None:
    """Return the atoms of a pair, record first, if it says who has the record."""
    original, first = item.original, None
    atoms: Atoms | None = None
    if isinstance(original, Pair):
        atoms, first = original.atoms, original.first
    elif isinstance(original, PairProfile):
        atoms, first = original.forward.atoms, original.first
    said: First | None = first
    if atoms is None or said is None:
        return None
    return atoms if said == "with_record" else Atoms(atoms.log_q, atoms.log_p, atoms.error)
