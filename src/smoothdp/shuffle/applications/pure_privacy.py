"""Pure privacy in the shuffle model: Theorem 4.1 and Claims 4.2 to 4.4 of paper 3, executable."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar, Generic, TypeVar

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import Real, exact_int
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.shuffle.applications.finite_randomizer import FiniteRandomizer
from smoothdp.shuffle.protocol import UniformShuffler
from smoothdp.sources import Source

Estimate = TypeVar("Estimate")
Analyzer = Callable[[Sequence[Any]], Estimate]


@dataclass(frozen=True)
class SingleMessageProtocol(Generic[Estimate]):
    """A shuffled protocol (R, A) in which every user sends one message.

    Args:
        n_users: n >= 1. randomizer: R, one message for every datum. analyzer: A, from the
            shuffled messages to the estimate.

    Raises:
        InvalidParameter: a randomiser that may send no message or several.

    >>> response = FiniteRandomizer({0: {(0,): "3/4", (1,): "1/4"}, 1: {(0,): "1/4", (1,): "3/4"}})
    >>> 0 <= SingleMessageProtocol(5, response, sum).run([1, 0, 1, 1, 0]) <= 5
    True
    """

    source: ClassVar[Source] = Source("balcer-cheu", "Definition 2.4")
    n_users: int
    randomizer: FiniteRandomizer
    analyzer: Analyzer[Estimate]

    def __post_init__(self) -> None:
        exact_int(self.n_users, name="n_users", minimum=1)
        if not self.randomizer.is_single_message:
            raise InvalidParameter(
                expected="one message per user",
                got="a randomiser that sends another number",
                remedy="Send one message per user: with several the theorem fails (Claim 4.3)",
            )

    def epsilon(self) -> Real | float:
        """Return the least epsilon of what the shuffler hands on, exactly."""
        return self.randomizer.shuffled_epsilon(self.n_users)

    def run(self, data: Sequence[Hashable], *, rng: Entropy | None = None) -> Estimate:
        """Randomise, shuffle, analyse.

        Raises:
            InvalidData: the data of another number of users, or a datum without a law.
        """
        source = read_rng(rng)
        _check_size(data, self.n_users)
        sent = [self.randomizer.randomize(datum, rng=source)[0] for datum in data]
        return self.analyzer(UniformShuffler().shuffle(sent, rng=source))


@dataclass(frozen=True)
class LocalProtocol(Generic[Estimate]):
    """A local protocol (R, A o S): users trust their own randomiser alone.

    Args:
        n_users: n >= 1. randomizer: R, one message for every datum. analyzer: A o S, from
            the messages in the order of the users to the estimate.

    >>> response = FiniteRandomizer({0: {(0,): "3/4", (1,): "1/4"}, 1: {(0,): "1/4", (1,): "3/4"}})
    >>> LocalProtocol(5, response, sum).epsilon()
    LogRatio(ratio=Fraction(3, 1))
    """

    source: ClassVar[Source] = Source("balcer-cheu", "Theorem 4.1")
    n_users: int
    randomizer: FiniteRandomizer
    analyzer: Analyzer[Estimate]

    def epsilon(self) -> Real | float:
        """Return the least epsilon of the randomiser, exactly: that of the local model."""
        return self.randomizer.pure_epsilon()

    def run(self, data: Sequence[Hashable], *, rng: Entropy | None = None) -> Estimate:
        """Randomise, and analyse the messages in the order of the users.

        Raises:
            InvalidData: the data of another number of users, or a datum without a law.
        """
        source = read_rng(rng)
        _check_size(data, self.n_users)
        sent = [self.randomizer.randomize(datum, rng=source)[0] for datum in data]
        return self.analyzer(sent)


def _check_size(data: Sequence[Hashable], n_users: int) -> None:
    if len(data) != n_users:
        raise InvalidData(
            expected=f"the data of {n_users} users",
            got=f"{len(data)}",
            remedy="Give one datum per user",
        )


def to_local_protocol(
    protocol: SingleMessageProtocol[Estimate], *, rng: Entropy | None = None
) -> LocalProtocol[Estimate]:
    """Return the local protocol with the same output law and the same pure epsilon.

    Theorem 4.1 of paper 3: the randomiser stays, the analyser shuffles first. If the
    shuffled protocol is epsilon-DP then so is the randomiser itself (Claim 4.2): if
    P(R(x) in Y) > e^epsilon P(R(x') in Y), all n messages lie in Y with more than e^(n
    epsilon) times the probability, which no chain of n neighbours allows.

    Args:
        protocol: single-message; for several messages there is no such theorem.
        rng: randomness of the analyser's shuffle.

    Raises:
        InvalidParameter: not a SingleMessageProtocol.

    >>> response = FiniteRandomizer({0: {(0,): "3/4", (1,): "1/4"}, 1: {(0,): "1/4", (1,): "3/4"}})
    >>> local = to_local_protocol(SingleMessageProtocol(5, response, sum))
    >>> local.epsilon() == response.shuffled_epsilon(5)
    True
    """
    if not isinstance(protocol, SingleMessageProtocol):
        raise InvalidParameter(
            expected="a SingleMessageProtocol",
            got=f"{type(protocol).__name__}",
            remedy="Build SingleMessageProtocol(n_users, randomizer, analyzer)",
        )

    def analyze(messages: Sequence[Hashable]) -> Estimate:
        return protocol.analyzer(UniformShuffler().shuffle(messages, rng=rng))

    return LocalProtocol(protocol.n_users, protocol.randomizer, analyze)


def both_bits_randomizer() -> FiniteRandomizer:
    """Return R(x) = (x, 1 - x): shuffled it is 0-DP, itself not private at all (Claim 4.3).

    >>> randomizer = both_bits_randomizer()
    >>> randomizer.pure_epsilon(), randomizer.shuffled_epsilon(3)
    (inf, Fraction(0, 1))
    """
    return FiniteRandomizer({x: {(x, 1 - x): 1} for x in (0, 1)})


def no_two_ones_randomizer() -> FiniteRandomizer:
    """Return the randomiser of Claim 4.4: four bits, for input 1 never with exactly two ones.

    R(0) is uniform on all 16 strings, R(1) on the 10 others. Pre-shuffled it is not private;
    from two users on the shuffled protocol is: ln(5/2), ln(125/64), then ln(8/5).

    >>> no_two_ones_randomizer().shuffled_epsilon(2)
    LogRatio(ratio=Fraction(5, 2))
    """
    strings = list(product((0, 1), repeat=4))
    allowed = [string for string in strings if sum(string) != 2]
    return FiniteRandomizer(
        {
            0: {string: Fraction(1, 16) for string in strings},
            1: {string: Fraction(1, 10) for string in allowed},
        }
    )
