"""Local randomisers with few outputs, exactly: the material of section 4 of paper 3."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any, ClassVar

from smoothdp.errors import InvalidData, OutOfReach
from smoothdp.exact.parameters.numbers import LogRatio, Parameter, Real, exact_fraction, exact_int
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.sources import Source

Messages = tuple[Hashable, ...]
Law = dict[Hashable, Fraction]
_MOST_WORK = 20_000_000


@dataclass(frozen=True, init=False)
class FiniteRandomizer:
    """A local randomiser given by its law: for every datum, message vectors and probabilities.

    Args:
        laws: datum -> {tuple of messages: probability}; probabilities are exact (int, float
            as its shortest decimal, Fraction or text) and sum to 1.

    Raises:
        InvalidData: fewer than two data, negative probabilities, or sums other than 1.

    >>> response = FiniteRandomizer({0: {(0,): "3/4", (1,): "1/4"}, 1: {(0,): "1/4", (1,): "3/4"}})
    >>> response.pure_epsilon(), response.shuffled_epsilon(3)
    (LogRatio(ratio=Fraction(3, 1)), LogRatio(ratio=Fraction(3, 1)))
    """

    source: ClassVar[Source] = Source("balcer-cheu", "Section 4")
    laws: Mapping[Hashable, Mapping[Messages, Fraction]]

    def __init__(self, laws: Mapping[Any, Mapping[Any, Parameter]]) -> None:
        exact: dict[Hashable, dict[Messages, Fraction]] = {}
        for datum, law in laws.items():
            values = {
                _messages(vector): exact_fraction(p, name="a probability")
                for vector, p in law.items()
            }
            if min(values.values(), default=Fraction(-1)) < 0 or sum(values.values()) != 1:
                raise InvalidData(
                    expected="probabilities >= 0 that sum to 1",
                    got=f"a sum of {sum(values.values())} for {datum!r}",
                    remedy='Give the probabilities exactly, as "1/3"',
                )
            exact[datum] = {vector: p for vector, p in values.items() if p}
        if len(exact) < 2:
            raise InvalidData(
                expected="the laws of two data or more",
                got=f"{len(exact)}",
                remedy="Give a law for every datum that a user may hold",
            )
        object.__setattr__(self, "laws", exact)

    @property
    def is_single_message(self) -> bool:
        """Whether every user sends exactly one message, whatever the datum."""
        return all(len(vector) == 1 for law in self.laws.values() for vector in law)

    def pure_epsilon(self) -> Real | float:
        """Return the least epsilon of the randomiser itself, exactly; inf if there is none."""
        return _largest_loss(list(self.laws.values()))

    def pre_shuffled(self) -> FiniteRandomizer:
        """Return the randomiser that puts its messages in a uniform order before it sends them.

        Only the multiset of messages matters then; the sorted vector stands for the multiset.
        """
        return FiniteRandomizer(
            {
                datum: {tuple(_sorted(key)): p for key, p in _unordered(law).items()}
                for datum, law in self.laws.items()
            }
        )

    def shuffled_epsilon(self, n_users: int) -> Real | float:
        """Return the least epsilon of n users' shuffled messages, exactly; inf if none.

        Over all data of the others and all pairs of data of one user; what is seen is the
        multiset of all messages.

        Raises:
            OutOfReach: more than about 2e7 steps.
        """
        n = exact_int(n_users, name="n_users", minimum=1)
        single = {datum: _unordered(law) for datum, law in self.laws.items()}
        powers = {datum: _powers(law, n) for datum, law in single.items()}
        worst: Real | float = Fraction(0)
        for others in combinations_with_replacement(single, n - 1):
            law_of_others: Law = {frozenset(): Fraction(1)}
            for datum, times in Counter(others).items():
                law_of_others = _convolve(law_of_others, powers[datum][times])
            laws_seen = [_convolve(law_of_others, law) for law in single.values()]
            worst = max(worst, _largest_loss(laws_seen), key=float)
        return worst

    def randomize(self, datum: Hashable, *, rng: Entropy | None = None) -> Messages:
        """Draw the message vector of one user, exactly.

        Raises:
            InvalidData: a datum without a law.
        """
        if datum not in self.laws:
            raise InvalidData(
                expected=f"a datum among {list(self.laws)}",
                got="another",
                remedy="Give a law for every datum that a user may hold",
            )
        source = read_rng(rng)
        law = self.laws[datum]
        denominator = math.lcm(*(p.denominator for p in law.values()))
        rank = source.below(denominator)
        for vector, p in law.items():
            rank -= int(p * denominator)
            if rank < 0:
                return vector
        raise ArithmeticError("probabilities that sum to 1 leave no rank over")


def _messages(vector: object) -> Messages:
    if not isinstance(vector, tuple):
        raise InvalidData(
            expected="a tuple of messages",
            got=f"{vector!r}",
            remedy="Write a single message as (message,)",
        )
    return vector


def _unordered(law: Mapping[Messages, Fraction]) -> Law:
    """Return the law of the multiset of messages, as a frozenset of (message, times)."""
    multisets: Law = {}
    for vector, p in law.items():
        key = frozenset(Counter(vector).items())
        multisets[key] = multisets.get(key, Fraction(0)) + p
    return multisets


def _powers(law: Law, n: int) -> list[Law]:
    powers: list[Law] = [{frozenset(): Fraction(1)}]
    for _ in range(n):
        powers.append(_convolve(powers[-1], law))
    return powers


def _convolve(first: Law, second: Law) -> Law:
    if len(first) * len(second) > _MOST_WORK:
        raise OutOfReach(
            expected="fewer multisets",
            got=f"{len(first) * len(second)}",
            remedy="Take fewer users, or a randomizer with fewer outputs",
        )
    sums: Law = {}
    for a, p in first.items():
        for b, q in second.items():
            key = frozenset((_counter(a) + _counter(b)).items())
            sums[key] = sums.get(key, Fraction(0)) + p * q
    return sums


def _largest_loss(laws: Sequence[Mapping[Any, Fraction]]) -> Real | float:
    """Return the largest ln of a ratio of probabilities of one output; inf if one is 0."""
    worst = Fraction(1)
    for output in {key for law in laws for key in law}:
        values = [law.get(output, Fraction(0)) for law in laws]
        if min(values) == 0:
            return math.inf
        worst = max(worst, max(values) / min(values))
    return LogRatio(worst) if worst != 1 else Fraction(0)


def _counter(multiset: Hashable) -> Counter[Hashable]:
    assert isinstance(multiset, frozenset)
    return Counter(dict(multiset))


def _sorted(multiset: Hashable) -> list[Hashable]:
    return sorted(_counter(multiset).elements(), key=repr)
