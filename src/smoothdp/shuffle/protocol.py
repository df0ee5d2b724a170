"""What the protocols of the shuffle model share: local randomiser, shuffler, analyser.

Users randomise their own datum and send messages; the shuffler forgets who sent which; the
analyser sees the shuffled messages only. The guarantee is about what the analyser sees.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from inspect import signature
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.curves.tradeoff import TradeoffFunction
from smoothdp.claims.domains import read_delta
from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.label import Label
from smoothdp.claims.release import Release, library_version
from smoothdp.errors import InvalidData, InvalidParameter, PrivacyWarning
from smoothdp.exact.parameters.numbers import (
    Parameter,
    exact_int,
    proper_probability,
)
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.exact.random.random_words import uniform_order
from smoothdp.shuffle.envelopes import slot_bytes
from smoothdp.shuffle.messages import ReadMessages
from smoothdp.shuffle.users.answering import Answering
from smoothdp.shuffle.users.honest_share import honest_condition
from smoothdp.sources import Source
from smoothdp.types import IntArray

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class UniformShuffler:
    """Put messages in a uniformly random order, exactly, with the system's randomness.

    >>> sorted(UniformShuffler().shuffle([3, 1, 2]))
    [1, 2, 3]
    """

    source: ClassVar[Source] = Source("chen-long", "Section 1, the shuffled model")

    def shuffle(self, messages: Sequence[Item], *, rng: Entropy | None = None) -> list[Item]:
        """Return the messages in a uniform order, as a list."""
        order = uniform_order(len(messages), read_rng(rng))
        return [messages[position] for position in order.tolist()]

    def shuffle_array(self, messages: IntArray, *, rng: Entropy | None = None) -> IntArray:
        """Return an array of messages in a uniform order."""
        return messages[uniform_order(messages.size, read_rng(rng))]


Datum = TypeVar("Datum")
Estimate = TypeVar("Estimate")

LARGEST_USERS = 1 << 40
"""More users than any protocol here is asked to account for."""


class Shuffler(Protocol):
    """The role between users and analyser: a uniform permutation of all messages."""

    def shuffle(self, messages: Sequence[int], *, rng: Entropy | None = None) -> list[int]:
        """Return the messages in a uniform order."""


class ShuffleProtocol(Answering, ABC, Generic[Datum, Estimate]):
    """A protocol of the shuffle model, local randomiser and analyser in one object.

    A subclass gives the law (`randomize`, `read`, `estimate`), the privacy of what the
    analyser sees (`profile`), and the error. The protocol runs in three ways of one law: message
    by message (`run_messages`), over all users at once (`release` of data), and from true
    counts (`release` of counts; `simulate`). What is promised counts on `honest_assumed` users, and
    on who answers (proofs/honest-users#1, #2).
    """

    source: ClassVar[Source]
    n_users: int

    # ---- what each protocol provides ------------------------------------------------

    @abstractmethod
    def randomize(self, datum: Datum, *, rng: Entropy | None = None) -> tuple[int, ...]:
        """Return the messages of one user, with exact random bits.

        Raises:
            InvalidData: a datum outside the protocol's domain; nothing is sent then.
        """

    @abstractmethod
    def read(self, messages: Iterable[object]) -> ReadMessages:
        """Return the messages that belong to the protocol; the others are counted."""

    @abstractmethod
    def estimate(self, read: ReadMessages) -> Estimate:
        """Return the estimate from messages that were read."""

    @abstractmethod
    def check_data(self, data: Iterable[Datum]) -> Any:
        """Return one datum per user in the form `_run_users` takes, or raise InvalidData."""

    @abstractmethod
    def check_counts(self, counts: Any) -> Any:
        """Return true counts in the form `_run_counts` takes, or raise InvalidData."""

    @abstractmethod
    def _run_users(self, data: Any, rng: Entropy) -> Estimate:
        """Run the protocol on checked data, all users at once."""

    @abstractmethod
    def _run_counts(self, counts: Any, rng: Entropy) -> Estimate:
        """Draw the estimate from checked true counts, without a draw per user."""

    @abstractmethod
    def profile(self, *, n_honest: int | None = None) -> PrivacyProfile:
        """Return the exact privacy profile of what the analyser sees.

        Args:
            n_honest: users who follow the protocol, the protected one included; the others
                may send anything, or nothing, and tell the analyser. None: `honest_assumed`.
        """

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What a release promises, known before any data."""

    @abstractmethod
    def error(self, failure_probability: Parameter, *, simultaneous: bool = False) -> float:
        """Return a bound that the error exceeds with at most this probability, rounded up."""

    @abstractmethod
    def mse(self, values: Any = None) -> float:
        """Return the mean squared error, at given true values or in the worst case."""

    @abstractmethod
    def describe(self) -> str:
        """Return the protocol and its public parameters in words."""

    def condition(self) -> str:
        """Return what the guarantee rests on, in words that every output carries."""
        return honest_condition(self.n_users, self.honest_assumed)

    # ---- copies ---------------------------------------------------------------------

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Pickle the arguments of the constructor, which checks a promise that is read again."""
        return rebuilt, (type(self), constructor_arguments(self, vars(self)))

    def __setstate__(self, state: object) -> None:
        """Read a pickle of fields, as earlier versions wrote them, through the constructor."""
        type(self).__init__(self, **constructor_arguments(self, state))

    # ---- privacy --------------------------------------------------------------------

    def tradeoff(self, *, n_honest: int | None = None) -> TradeoffFunction:
        """Return a trade-off function that never overstates the type II error."""
        return self.profile(n_honest=n_honest).tradeoff()

    def gaussian_mu(self, delta: Parameter = 0) -> float:
        """Return mu of Gaussian DP, rounded up; with delta > 0, where delta(e) exceeds it."""
        return self.tradeoff().gaussian_mu(read_delta(delta))

    def local_profile(self) -> PrivacyProfile:
        """Return what is left if shuffler and analyser collude: the local randomiser's own."""
        return self.profile(n_honest=1)

    # ---- run ------------------------------------------------------------------------

    def analyze(
        self,
        messages: Iterable[object],
        *,
        n_answered: int | None = None,
        tolerated: int = 0,
    ) -> Estimate:
        """Return the estimate from shuffled messages.

        Messages that are malformed, of another protocol, or too many are left out.

        Args:
            messages: what the shuffler hands over.
            n_answered: users who sent something, by the shuffler's count; None: all n_users.
                Who stays away must not depend on anybody's datum or coins.
            tolerated: how many of these may not follow the protocol.

        Raises:
            InvalidParameter: more answered than there are users, or other numbers.
            InvalidData: the promise needs more honest users than have answered, less those
                tolerated, or than the messages leave possible (too few of them; with
                ``n_answered``, also too many). Nothing is estimated then.

        Warns:
            PrivacyWarning: some messages were left out or are missing, or there are more than
                honest users send, or more users than are tolerated sent no noise: how many, and
                what follows.
        """
        used, silent = self.those_who_answered(n_answered, tolerated)
        read = used.read(messages)
        self._check_honest(
            used,
            int(read.values.size),
            silent,
            warned=bool(read.sentence()),
            counted=n_answered is not None,
        )
        if read.sentence():
            warnings.warn(read.sentence(), PrivacyWarning, stacklevel=2)
        return used._estimate_read(read, silent)

    def _estimate_read(self, read: ReadMessages, tolerated: int) -> Estimate:  # noqa: ARG002
        return self.estimate(read)

    def run_messages(
        self, data: Sequence[Datum], *, shuffler: Shuffler | None = None, rng: Entropy | None = None
    ) -> Estimate:
        """Run the protocol message by message: randomise, shuffle, analyse."""
        source = read_rng(rng)
        self.check_data(data)
        sent = [message for datum in data for message in self.randomize(datum, rng=source)]
        used = UniformShuffler() if shuffler is None else shuffler
        return self.analyze(used.shuffle(sent, rng=source))

    def release(
        self,
        data: Iterable[Datum] | None = None,
        *,
        counts: Any = None,
        label: object = None,
        rng: Entropy | None = None,
    ) -> Release[Estimate]:
        """Run the protocol and return the estimate with its guarantee.

        Args:
            data: one datum per user; or
            counts: the true counts (see `simulate`): the same law without a draw per user,
                for a trusted holder of the counts.
            label: a name, or a `smoothdp.claims.label.Label` with purpose and who.
            rng: `SystemRandom()` (default), or `SeededRandom`, whose output is marked not
                private.

        Raises:
            InvalidData: neither or both; data outside the domain; another number of users.
                Nothing is released then.
        """
        if (data is None) == (counts is None):
            raise InvalidData(
                expected="either data or counts",
                got="both or neither",
                remedy="Give exactly one of them",
            )
        named, source = Label.read(label), read_rng(rng)
        if data is not None:
            checked = self.check_data(data)
            value = self._run_users(checked, source)
        else:
            value = self._run_counts(self.check_counts(counts), source)
        return self._release(value, is_private=source.is_private, label=named)

    def simulate(self, true_counts: Any, *, rng: Entropy | None = None) -> Release[Estimate]:
        """Draw an estimate for made-up counts, for studies: always marked not private."""
        checked = self.check_counts(true_counts)
        value = self._run_counts(checked, read_rng(rng))
        return self._release(value, is_private=False)

    def _release(
        self, value: Estimate, *, is_private: bool, label: Label | None = None
    ) -> Release[Estimate]:
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

    # ---- what a user sends ----------------------------------------------------------

    @property
    def messages_per_user(self) -> float:
        """Messages that a user sends on average, dummies left out."""
        return float(self.messages_allowed)

    @property
    def slots_per_user(self) -> int:
        """Slots of an envelope: what is sent must be padded to them, always."""
        return self.messages_allowed

    @property
    def message_bits(self) -> int:
        """Bits that a message, or a dummy, takes."""
        return 1

    @property
    def bytes_per_user(self) -> int:
        """Bytes of all slots of an envelope, each sealed for the analyser alone."""
        return self.slots_per_user * slot_bytes(self.message_bits)

    def sent_words(self) -> str:
        """Return what a user sends, in three figures."""
        slots = "1 slot" if self.slots_per_user == 1 else f"{self.slots_per_user} slots"
        return (
            f"{self.messages_per_user:.6g} messages on average, padded to {slots} of "
            f"{self.bytes_per_user} bytes in all"
        )

    # ---- reading --------------------------------------------------------------------

    def _honest(self, n_honest: int | None) -> int:
        """Return the number of honest users, or raise InvalidParameter."""
        if n_honest is None:
            return self.honest_assumed
        honest = exact_int(n_honest, name="n_honest", minimum=1)
        if honest > self.n_users:
            raise InvalidParameter(
                expected=f"n_honest of at most n_users={self.n_users}",
                got=f"n_honest={honest}",
                remedy="Count honest users, the protected one included",
            )
        return honest


def rebuilt(protocol_class: type[Any], arguments: Mapping[str, Any]) -> Any:
    """Return a protocol from a pickle, through its constructor."""
    return protocol_class(**arguments)


def constructor_arguments(protocol: Any, state: object) -> dict[str, Any]:
    """Return the fields that the constructor of a protocol takes, or raise InvalidData."""
    taken = [field.name for field in fields(protocol) if field.init]
    # An earlier version wrote fewer fields: what is new has a default in the constructor.
    defaults = signature(type(protocol)).parameters
    needed = [name for name in taken if defaults[name].default is defaults[name].empty]
    if not isinstance(state, Mapping) or any(name not in state for name in needed):
        raise InvalidData(
            expected=f"the fields of {type(protocol).__name__}",
            got="others",
            remedy="Pickle the protocol again with this version of the library",
        )
    return {name: state[name] for name in taken if name in state}


def read_users(n_users: object, *, most: int = LARGEST_USERS) -> int:
    """Return the number of users, or raise InvalidParameter."""
    n = exact_int(n_users, name="n_users", minimum=1)
    if n > most:
        raise InvalidParameter(
            expected=f"n_users up to {most}",
            got=f"n_users={n}",
            remedy="Run one protocol for each part of the users",
        )
    return n


def read_failure_probability(value: Parameter) -> Fraction:
    """Return a failure probability in (0, 1), or raise InvalidParameter."""
    remedy = "Give the share of runs in which the error may be larger"
    return proper_probability(value, name="failure_probability", remedy=remedy)
