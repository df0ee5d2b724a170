"""The fewest pairs for a guarantee, and the clump size whose envelopes are smallest.

A larger clump needs fewer pairs in all, but every unit of it costs every user two slots; so the
least size with which few enough users send clumps is taken. delta is evaluated at the rational
probability that is returned: in that probability it is not monotone for very few users.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.errors import InvalidParameter, OutOfReach
from smoothdp.exact.balls.balls import log_bounds, real_bounds
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import (
    Parameter,
    Real,
    exact_fraction,
    exact_int,
    exact_text,
    proper_probability,
    sign,
)
from smoothdp.shuffle.envelopes import default_overflow, delta_before_redrawing
from smoothdp.shuffle.histogram.calibration import read_goal
from smoothdp.shuffle.paired.clump_law import ClumpLaw, harmonic, likely_law, mean_pairs
from smoothdp.shuffle.paired.exact_delta import deep_enough, log_delta_of
from smoothdp.shuffle.paired.geometric_shares import mean_of_share
from smoothdp.shuffle.paired.noise_cap import least_slots, noise_tails

LogDelta = Callable[[ClumpLaw, Fraction, Real], LogBounds]
"""From (law of the pairs, rate, epsilon) to bounds of ln delta."""

MOST_CLUMP = 1 << 12
_LADDER = sorted({2**i for i in range(13)} | {3 * 2**i for i in range(11)})
_HALF = Fraction(1, 2)
_DIGITS = 9
_MOST_TRIED = 1100
_LEAST = 1e-18
_NARROW = 2e-9
_RAREST = 1e-24
_MARGINS = (1.0, 1 + 2e-9, 1 + 1e-8, 1 + 1e-6, 1.01)
_LARGEST = 50.0
_LEAST_DELTA = Fraction(1, 10**60)
_NO_PAIRS = Fraction(1, 10**60)
_OTHER_SHARES = tuple(Fraction(tenths, 10) for tenths in (9, 8, 7, 6, 5, 4, 3, 2, 1))


class Design(NamedTuple):
    """What `calibrate` finds: the law of the pairs, K, and the messages of a user on average."""

    probability: Fraction
    largest: int
    slots: int
    messages: float


@dataclass(frozen=True, slots=True)
class Wanted:
    """A guarantee for so many honest users, and what a user may send at most.

    Attributes:
        log_delta: of the free protocol. n_cells: noises of one user: 1, or the number of bins.
        rates: how many times the rate of the noise goes into the epsilon that it uses.
    """

    log_delta: LogDelta
    goal: ApproxDP
    n_design: int
    n_cells: int
    noise_share: Fraction
    most_messages: Fraction
    most_slots: int

    @property
    def rate(self) -> Fraction:
        """rho: half of the noise's share of epsilon, a rational number not above it."""
        epsilon = self.goal.exact_epsilon
        known = epsilon if isinstance(epsilon, Fraction) else Fraction(real_bounds(epsilon).lower)
        return self.noise_share * known / 2

    @property
    def overflow(self) -> Fraction:
        """tau: how often any noise may have to be drawn again."""
        return default_overflow(log_bounds(self.goal.exact_delta), self.goal.exact_epsilon)

    @property
    def slots_of_signs(self) -> int:
        """Slots for the signs of the noise alone: with pairs as well it takes as many, or more."""
        signs = noise_tails(self.n_cells, self.n_design, self.rate, _NO_PAIRS, 1)
        return least_slots(signs, self.n_design, self.overflow)

    def found(self, largest: int | None) -> Design | None:
        """Return the design with the least clump that fits, or with the one asked for."""
        for size in _sizes(self.most_slots) if largest is None else [largest]:
            design = self.with_clumps(size)
            if design is not None:
                return design if design.slots <= self.most_slots else None
        return None

    def with_clumps(self, largest: int) -> Design | None:
        """Return the least probability for clumps up to a size, None if too many messages."""
        signs = mean_of_share(Fraction(1, self.n_design), self.rate)
        spare = float(self.most_messages - 1) / (2 * self.n_cells) - signs
        each = float(mean_pairs(1, Fraction(1), largest))
        most = min(0.5, spare / each)
        if most <= 0:
            return None
        allowed = delta_before_redrawing(
            self.goal.exact_delta, self.goal.exact_epsilon, self.overflow
        )
        probability = self._least_probability(largest, most, allowed.lower)
        if probability is None or probability >= _HALF:
            return None
        tails = noise_tails(self.n_cells, self.n_design, self.rate, probability, largest)
        slots = least_slots(tails, self.n_design, self.overflow)
        messages = 1 + 2 * self.n_cells * (float(probability) * each + signs)
        return Design(probability, largest, slots, messages)

    def _least_probability(self, largest: int, most: float, allowed: float) -> Fraction | None:
        rate, epsilon = self.rate, self.goal.exact_epsilon

        def likely(probability: Fraction) -> float:
            try:
                law = likely_law(self.n_design, probability, largest)
            except OutOfReach:
                return math.inf
            return self.log_delta(law, rate, epsilon).upper - allowed

        def certain(probability: Fraction) -> float:
            try:
                bounds = deep_enough(
                    lambda law: self.log_delta(law, rate, epsilon),
                    self.n_design,
                    probability,
                    largest,
                )
            except OutOfReach:
                return math.inf
            return bounds.upper - allowed

        found = least_probability(likely, most, self._guess(largest, allowed))
        if found is None:
            return None
        for margin in _MARGINS:
            enlarged = rounded_up(float(found) * margin)
            if certain(enlarged) <= 0:
                return enlarged
        return None

    def _guess(self, largest: int, allowed: float) -> float:
        gap = float(real_bounds(self.goal.exact_epsilon).lower) - 2 * float(self.rate)
        pairs = -allowed / gap**2 / (1 + largest * gap / 2) + 1
        return pairs * float(harmonic(largest)) / largest / self.n_design


def least_probability(
    excess: Callable[[Fraction], float], most: float, guess: float
) -> Fraction | None:
    """Return a rational of nine digits at which an excess is <= 0, the least as a rule.

    The excess was evaluated there. None if it is above 0 at ``most``, taken as its least value.

    >>> float(least_probability(lambda p: float(Fraction(1, 3) - p), 0.5, 0.01))
    0.333333334
    """
    high = min(most, guess)
    at_high = excess(rounded_up(high))
    if at_high > 0:
        low, at_low = high, at_high
        while at_high > 0:
            if high >= most or (at_high == math.inf and at_low < math.inf):
                return None
            low, at_low = high, at_high
            high = min(most, 2 * high)
            at_high = excess(rounded_up(high))
    else:
        low, at_low = high, at_high
        while at_low <= 0:
            if low < _LEAST:
                # No pairs are needed.
                return rounded_up(low)
            high, at_high = low, at_low
            low /= 2
            if low < _RAREST:
                # No pairs at all would do.
                return rounded_up(high)
            at_low = excess(rounded_up(low))
    for step in range(80):
        if high - low <= _NARROW * high:
            break
        # The excess is nearly linear in the logarithm; every third step halves.
        middle = math.sqrt(low * high)
        if step % 3 != 2 and math.isfinite(at_low):
            part = at_low / (at_low - at_high)
            middle = low * (high / low) ** min(1 - 1e-3, max(1e-3, part))
        value = excess(rounded_up(middle))
        if value > 0:
            low, at_low = middle, value
        else:
            high, at_high = middle, value
    return rounded_up(high)


def rounded_up(value: float) -> Fraction:
    """Return the decimal of nine digits, or ten, next above a number."""
    unit = Fraction(10) ** (_DIGITS - math.floor(math.log10(value)) - 1)
    return math.ceil(Fraction(value) * unit) / unit


def _sizes(most_slots: int) -> list[int]:
    """1, 2, 3, 4, 6, 8, 12, ...: clumps that fit into so many slots."""
    return [size for size in _LADDER if 2 * size + 1 <= most_slots]


def read_wanted(
    log_delta: LogDelta,
    guarantee: Guarantee,
    *,
    n_design: int,
    n_cells: int,
    noise_share: Parameter,
    most_messages: Parameter,
    most_slots: int,
) -> Wanted:
    """Return what is wanted, checked.

    Raises:
        InvalidParameter: another kind of guarantee, epsilon = 0, shares outside (0, 1).
        IncompatibleClaims: neighbours other than replace_one.
    """
    goal = read_goal(guarantee, "exact")
    is_usable = sign(goal.exact_epsilon) > 0 and real_bounds(goal.exact_epsilon).upper <= _LARGEST
    if not is_usable or goal.exact_delta < _LEAST_DELTA:
        raise InvalidParameter(
            expected="epsilon > 0, up to 50, and delta of at least 1e-60 for cancelling pairs",
            got=f"{goal!r}",
            remedy="Raise epsilon or delta; above 50, lower epsilon",
        )
    share = proper_probability(
        noise_share, name="noise_share", remedy="Give a share such as 9/10: the pairs use the rest"
    )
    messages = exact_fraction(most_messages, name="most_messages")
    if messages <= 1:
        raise InvalidParameter(
            expected="most_messages above 1",
            got=f"most_messages={most_messages}",
            remedy="Every user sends one message, and noise besides",
        )
    slots = exact_int(most_slots, name="most_slots", minimum=1)
    return Wanted(log_delta, goal, n_design, n_cells, share, messages, slots)


def slots_of_signs(
    guarantee: Guarantee, *, n_honest: int, n_cells: int, noise_share: Parameter
) -> int:
    """Return slots below which no design fits, found without one.

    Raises:
        InvalidParameter, IncompatibleClaims: as `read_wanted`.

    >>> promise = ApproxDP("1/10", delta="1e-6")
    >>> slots_of_signs(promise, n_honest=900_000, n_cells=1, noise_share="9/10")
    411
    """
    # Of which delta is not asked here.
    wanted = read_wanted(
        log_delta_of,
        guarantee,
        n_design=n_honest,
        n_cells=n_cells,
        noise_share=noise_share,
        most_messages=2,
        most_slots=1,
    )
    return wanted.slots_of_signs


def read_clump(largest_clump: object) -> int:
    """Return k in 1..4096, or raise InvalidParameter."""
    size = exact_int(largest_clump, name="largest_clump", minimum=1)
    if size > MOST_CLUMP:
        raise InvalidParameter(
            expected=f"largest_clump up to {MOST_CLUMP}",
            got=f"largest_clump={size}",
            remedy="Lower it: every unit costs each user two slots",
        )
    return size


def refusal(wanted: Wanted, largest: int | None) -> InvalidParameter:
    """Return the error that says what would fit."""
    asked = (
        f"most_slots={wanted.most_slots}, most_messages={exact_text(wanted.most_messages)}, "
        f"noise_share={exact_text(wanted.noise_share)}"
    )
    return InvalidParameter(
        expected="a design that fits into the slots and messages of a user",
        got=asked,
        remedy=_what_fits(wanted, largest),
    )


def _what_fits(wanted: Wanted, largest: int | None) -> str:
    beyond = replace(wanted, most_slots=_MOST_TRIED).found(largest)
    if beyond is not None:
        return f"Set most_slots={beyond.slots} or more, or raise epsilon"
    anyhow = replace(wanted, most_slots=_MOST_TRIED, most_messages=Fraction(10**6))
    beyond = anyhow.found(largest)
    if beyond is not None:
        messages = math.ceil(100 * beyond.messages) / 100
        slots = "" if beyond.slots <= wanted.most_slots else f" and most_slots={beyond.slots}"
        return f"Set most_messages={messages}{slots} or more, add users, or raise epsilon"
    for share in _OTHER_SHARES:
        if share < wanted.noise_share:
            beyond = replace(anyhow, noise_share=share).found(None)
            if beyond is not None:
                return (
                    f"With noise_share={exact_text(share)}, most_slots={beyond.slots} and "
                    f"most_messages={math.ceil(100 * beyond.messages) / 100} are enough; or add "
                    "users, or raise epsilon or delta"
                )
    return "Add users, or raise epsilon or delta: nothing that can be computed here is enough"
