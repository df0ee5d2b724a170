"""Frequent strings of an open domain: one histogram a level, of the prefixes that survive."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.guarantees.standard import ApproxDP
from smoothdp.claims.label import Label
from smoothdp.claims.release import Release, library_version
from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.balls.shown import shown
from smoothdp.exact.logspace.bisection import least_integer
from smoothdp.exact.parameters.numbers import Parameter, exact_int
from smoothdp.exact.probabilities.tails import log_binomial_tail
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.shuffle.accounting.exchange_profile import stated_guarantee
from smoothdp.shuffle.affordable import require_affordable
from smoothdp.shuffle.envelopes import Envelope, default_overflow
from smoothdp.shuffle.histogram import zero_preserving as zp
from smoothdp.shuffle.histogram.calibration import read_goal, read_promise
from smoothdp.shuffle.histogram.noise_envelope import (
    fewest_slots,
    goal_before_redrawing,
    overflow_of_one,
)
from smoothdp.shuffle.protocol import (
    constructor_arguments,
    read_failure_probability,
    rebuilt,
)
from smoothdp.shuffle.strings.found_strings import FoundStrings
from smoothdp.shuffle.strings.levels_profile import least_noise, levels_profile
from smoothdp.shuffle.strings.tree_levels import BYTE, TreeLevels
from smoothdp.shuffle.users.honest_share import (
    DEFAULT_HONEST_SHARE,
    honest_condition,
    least_honest,
    read_honest_share,
)
from smoothdp.sources import Source

DEFAULT_CANDIDATES = 40


@dataclass(frozen=True, init=False)
class PrefixTree(TreeLevels):
    """Find the strings that many users hold: level by level, all users in every level.

    A string is L symbols of 0 .. F - 1; with F = 256 bytes, of which a text's UTF-8 is padded by
    zeros. The bins of level l are the extensions of the prefixes that survived level l - 1, and one
    bin for all other strings; a `LowCommunicationHistogram` counts them, and a prefix survives if
    it is listed. Any user sends L envelopes of K slots each, whatever they hold.

    Privacy is that of L levels together: the L-fold composition of the pair that one level's
    accounting compares, rounded up, under the conditions of `condition` in every level
    (proofs/honest-users#6). A prefix that nobody has is listed at any level with at most the
    probability ``false_positive``; a string of s users is found but with probability
    L P(Bin(n, gamma) <= tau - s), tau the largest threshold, as long as no more than
    ``most_candidates`` prefixes survive, of which `FoundStrings.n_dropped` tells
    (proofs/honest-users#7).

    Args:
        n_users: n, public.
        n_levels: L >= 1. fan_out: F >= 2.
        noise_probability: gamma in (0, 1/2], of each bin and level.
        most_candidates: prefixes that survive a level at most; the most frequent are kept.
        false_positive: in (0, 1), of all levels together.
        n_slots: K; None for one that all noise fits.
        promise: the guarantee that releases state; checked, and kept by `calibrate`.
        honest_share: the share of the users that `profile` counts on, in (0, 1].

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> tree = PrefixTree(
    ...     1000, n_levels=2, fan_out=10, noise_probability="0.02", false_positive="1e-9")
    >>> sorted(tree.simulate({(4, 2): 700, (4, 7): 290, (9, 9): 10}).value.counts)
    [(4, 2), (4, 7)]
    """

    source: ClassVar[Source] = Source("balcer-cheu", "Section 3.2, a variant of ours")
    n_users: int
    n_levels: int
    fan_out: int
    noise_probability: Fraction
    most_candidates: int
    false_positive: Fraction
    n_slots: int
    promise: ApproxDP | None
    honest_share: Fraction

    def __init__(
        self,
        n_users: int,
        *,
        n_levels: int,
        noise_probability: Parameter,
        fan_out: int = BYTE,
        most_candidates: int = DEFAULT_CANDIDATES,
        false_positive: Parameter = "1/20",
        n_slots: int | None = None,
        promise: Guarantee | None = None,
        honest_share: Parameter = 1,
    ) -> None:
        gamma = zp.read_omission(noise_probability, name="noise_probability")
        object.__setattr__(self, "n_users", zp.read_zero_preserving_users(n_users))
        object.__setattr__(self, "n_levels", exact_int(n_levels, name="n_levels", minimum=1))
        object.__setattr__(self, "fan_out", exact_int(fan_out, name="fan_out", minimum=2))
        most = exact_int(most_candidates, name="most_candidates", minimum=1)
        object.__setattr__(self, "most_candidates", most)
        object.__setattr__(self, "noise_probability", gamma)
        object.__setattr__(self, "false_positive", read_failure_probability(false_positive))
        slots = self.most_bins + 1
        if n_slots is not None:
            slots = exact_int(n_slots, name="n_slots", minimum=1)
        object.__setattr__(self, "n_slots", slots)
        object.__setattr__(self, "honest_share", read_honest_share(honest_share))
        if self.redraw_probability >= 1:
            raise InvalidParameter(
                expected="slots that the noise of nearly all users fits",
                got=f"n_slots={slots}",
                remedy=f"Give n_slots up to {self.most_bins + 1}, or let calibrate() choose",
            )
        object.__setattr__(self, "promise", None)
        if promise is not None:
            object.__setattr__(self, "promise", read_promise(promise, self.profile()))

    @classmethod
    def calibrate(
        cls,
        n_users: int,
        *,
        guarantee: Guarantee,
        string_bits: int | None = None,
        n_levels: int | None = None,
        fan_out: int = BYTE,
        honest_share: Parameter = DEFAULT_HONEST_SHARE,
        most_candidates: int = DEFAULT_CANDIDATES,
        false_positive: Parameter = "1/20",
        most_messages: Parameter | None = None,
        most_slots: int | None = None,
    ) -> PrefixTree:
        """Return the tree with the least noise found for (epsilon, delta)-DP of all levels.

        Args:
            n_users: n.
            guarantee: ApproxDP with 0 < delta < 1, of the whole collection.
            string_bits: the bits of a string, for L = ceil(bits / floor(log2 F)); or
            n_levels: L.
            fan_out, most_candidates, false_positive: as in the constructor.
            honest_share: the share of the users whose noise is counted on, in every level.
            most_messages, most_slots: the most messages on average and slots that a user may
                send in all levels; None: any number.

        Raises:
            InvalidParameter: too few users, a guarantee of another kind, neither or both of
                string_bits and n_levels; more messages or slots than allowed.
        """
        goal, share = read_goal(guarantee, "exact"), read_honest_share(honest_share)
        n = zp.read_zero_preserving_users(n_users)
        levels = _read_levels(string_bits, n_levels, exact_int(fan_out, name="fan_out", minimum=2))
        most = exact_int(most_candidates, name="most_candidates", minimum=1)
        overflow = default_overflow(log_bounds(goal.exact_delta), goal.exact_epsilon)
        free = goal_before_redrawing(goal, overflow)
        gamma = least_noise(n, free, n_levels=levels, honest_share=share)
        slots = fewest_slots(least_honest(n, share), most * fan_out + 1, gamma, overflow / levels)
        tree = cls(
            n,
            n_levels=levels,
            noise_probability=gamma,
            fan_out=fan_out,
            most_candidates=most,
            false_positive=false_positive,
            n_slots=slots,
            honest_share=share,
        )
        # The free profile was evaluated at the free goal, and the envelope is within its share.
        object.__setattr__(tree, "promise", goal)
        require_affordable(tree, most_messages=most_messages, most_slots=most_slots)
        return tree

    # ---- copies -----------------------------------------------------------------------

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle the arguments of the constructor, which checks a promise that is read again."""
        return rebuilt, (type(self), constructor_arguments(self, vars(self)))

    def __setstate__(self, state: object) -> None:
        """Read a pickle of fields, as earlier versions wrote them, through the constructor."""
        type(self).__init__(self, **constructor_arguments(self, state))

    # ---- privacy ----------------------------------------------------------------------

    def profile(self, *, n_honest: int | None = None) -> PrivacyProfile:
        """Return the privacy profile of all levels together, rounded up."""
        honest = self._honest(n_honest)
        free = levels_profile(honest, self.noise_probability, self.n_levels)
        return Envelope(self.n_slots, self._overflow(honest)).profile(free)

    @cached_property
    def guarantee(self) -> Guarantee:
        """The promise; else (epsilon, 1e-6)-DP with an epsilon that the profile keeps."""
        return self.promise or stated_guarantee(self.profile(), None)

    @property
    def honest_assumed(self) -> int:
        """m0 = ceil(honest_share n): the honest users that `profile` counts on in every level."""
        return least_honest(self.n_users, self.honest_share)

    def condition(self) -> str:
        """Return what the guarantee rests on, in words that every output carries."""
        condition = honest_condition(self.n_users, self.honest_assumed)
        return f"{condition}, in each of the {self.n_levels} levels"

    @property
    def redraw_probability(self) -> Fraction:
        """tau_n: a bound of the probability that any of n users draws noise again, at any level."""
        return self._overflow(self.n_users)

    def _overflow(self, n_users: int) -> Fraction:
        one = overflow_of_one(self.n_slots, self.most_bins, self.noise_probability)
        return self.n_levels * n_users * one

    def _honest(self, n_honest: int | None) -> int:
        if n_honest is None:
            return self.honest_assumed
        return self._number_of(n_honest, "n_honest", "honest users, the protected one included")

    def _number_of(self, number: int, name: str, who: str) -> int:
        count = exact_int(number, name=name, minimum=1)
        if count > self.n_users:
            raise InvalidParameter(
                expected=f"{name} of at most n_users={self.n_users}",
                got=f"{name}={count}",
                remedy=f"Count {who}",
            )
        return count

    def answered(self, n_answered: int) -> PrefixTree:
        """Return the tree as those who answer every level run it: the same noise each, and m0.

        Without a promise, as many honest users as answer where these are fewer.

        Raises:
            InvalidParameter: not a number from 1 to n_users.
            InvalidData: fewer users than the promise counts on.
        """
        count = self._number_of(n_answered, "n_answered", "each user once")
        if count < self.honest_assumed and self.promise is not None:
            raise InvalidData(
                expected=f"at least {self.honest_assumed} honest users, as the promise needs",
                got=f"{count} users who answered",
                remedy="Wait for more users; next time, calibrate for fewer than you expect",
            )
        share = min(Fraction(1), Fraction(self.honest_assumed, count))
        changed = {"n_users": count, "honest_share": share, "promise": None}
        fewer = PrefixTree(**constructor_arguments(self, vars(self)) | changed)
        # The same profile: noise, envelopes and m0 are the same.
        object.__setattr__(fewer, "promise", self.promise)
        return fewer

    # ---- what a user sends, and may do ------------------------------------------------

    @property
    def messages_per_user(self) -> float:
        """Messages that a user sends on average in all levels at most, dummies left out."""
        return float(self.n_levels * (1 + self.most_bins * self.noise_probability))

    @property
    def slots_per_user(self) -> int:
        """L K: the slots of all envelopes of a user."""
        return self.n_levels * self.n_slots

    @property
    def bytes_per_user(self) -> int:
        """Bytes of all slots of a user, each sealed for the analyser alone."""
        return self.n_levels * self._level(self.most_bins).bytes_per_user

    @property
    def influence_of_one_liar(self) -> float:
        """K: by so much one user who sends anything can move a prefix, at each level."""
        return float(self.n_slots)

    # ---- accuracy ---------------------------------------------------------------------

    def found_count(self, failure_probability: Parameter) -> int:
        """Return the least s so that a string of s users is found but with this probability.

        If never more prefixes are listed than are kept.
        """
        failure = read_failure_probability(failure_probability) * (1 - self.redraw_probability)
        n, gamma = self.n_users, self.noise_probability
        tau = self._level(self.most_bins).threshold
        limit = log_bounds(failure / self.n_levels).lower

        def found(s: int) -> bool:
            # P(V <= tau - s) is the tail of the bits that are 0.
            return s > tau or log_binomial_tail(n - (tau - s), n, 1 - gamma).upper <= limit

        return least_integer(found, 1, tau + 1)

    def error(self, failure_probability: Parameter, *, simultaneous: bool = False) -> float:
        """Return an error of a string's count, that of strings which are not found included.

        With ``simultaneous`` of all candidates of the last level at once: strings that did not
        get there are left out.
        """
        last = self._level(self.most_bins)
        if simultaneous or self.n_levels == 1:
            return last.error(failure_probability, simultaneous=simultaneous)
        # A string may be missed at any level: half of the failures are for that.
        half = read_failure_probability(failure_probability) / 2
        return max(last.error(half), float(self.found_count(half) - 1))

    def mse(self, values: Any = None) -> float:
        """Return the mean squared error of a candidate's count, as a level's histogram has it."""
        return self._level(self.most_bins).mse(values)

    def describe(self) -> str:
        """Return the protocol and its public parameters in words."""
        return (
            f"prefix tree of {self.n_users} users, {self.n_levels} levels of {self.fan_out} "
            f"symbols, up to {self.most_candidates} prefixes kept, noise bits sent with "
            f"probability {shown(self.noise_probability)}, {self.n_levels} envelopes of "
            f"{self.n_slots} slots"
        )

    # ---- run --------------------------------------------------------------------------

    def release(
        self,
        data: Iterable[object] | None = None,
        *,
        counts: Mapping[Any, int] | None = None,
        label: object = None,
        rng: Entropy | None = None,
    ) -> Release[FoundStrings]:
        """Run all levels, without a draw per user, and return what was found.

        Args:
            data: one string per user; or counts: string -> users.
            label: a name, or a `smoothdp.claims.label.Label`.
            rng: `SystemRandom()` by default.

        Raises:
            InvalidData: neither or both, or another number of users.
        """
        if data is not None and counts is None:
            given: Mapping[Any, int] = self._counted(data)
        elif counts is not None and data is None:
            given = counts
        else:
            raise InvalidData(
                expected="either data or counts", got="both or neither", remedy="Give one of them"
            )
        named, source = Label.read(label), read_rng(rng)
        tally = self._tally(given)
        return self._release(self._run(tally, source), source.is_private, named)

    def simulate(
        self, true_counts: Mapping[Any, int], *, rng: Entropy | None = None
    ) -> Release[FoundStrings]:
        """Draw what is found for made-up counts, for studies: always marked not private."""
        return self._release(self._run(self._tally(true_counts), read_rng(rng)), False, None)

    def _release(
        self, value: FoundStrings, is_private: bool, label: Label | None
    ) -> Release[FoundStrings]:
        return Release(
            value=value,
            guarantee=self.guarantee,
            mechanism=self.describe(),
            is_private=is_private,
            library_version=library_version(),
            sources=(self.source,),
            label=label,
            condition=self.condition(),
        )


def _read_levels(string_bits: int | None, n_levels: int | None, fan_out: int) -> int:
    """Return L, or raise InvalidParameter."""
    if (string_bits is None) == (n_levels is None):
        raise InvalidParameter(
            expected="either string_bits or n_levels",
            got="both or neither",
            remedy="Give string_bits, such as 64 for texts of 8 bytes",
        )
    if string_bits is None:
        return exact_int(n_levels, name="n_levels", minimum=1)
    bits = exact_int(string_bits, name="string_bits", minimum=1)
    return math.ceil(bits / math.floor(math.log2(fan_out)))
