"""One rate for all strata: the largest at which every one of them meets the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from smoothdp.design.cells import Cell, Stratum
from smoothdp.design.largest_draws import LargestDraws, largest_draws
from smoothdp.exact.parameters.numbers import Real


@dataclass(frozen=True, slots=True)
class SharedRate:
    """The largest rate that all strata allow; T = ceil(rate n) in each (proofs/designer#4).

    Attributes:
        strata, largest: the strata, and of each how many records it could lend by itself.
        rate: the least of T/n over them, exact.
    """

    strata: tuple[Stratum, ...]
    largest: tuple[LargestDraws, ...]
    rate: Fraction

    @property
    def draws(self) -> tuple[int, ...]:
        """How many records are drawn of each stratum: at most what it could lend."""
        up, down = self.rate.numerator, self.rate.denominator
        return tuple(-(-up * one.n_records // down) for one in self.strata)

    @property
    def deciding(self) -> tuple[tuple[Stratum, LargestDraws], ...]:
        """The strata that do not allow a larger rate."""
        return tuple(
            (one, best)
            for one, best in zip(self.strata, self.largest, strict=True)
            if Fraction(best.n_draws, one.n_records) == self.rate
        )

    @property
    def binding(self) -> tuple[Cell, ...]:
        """The cells that decide, of those strata."""
        return tuple(cell for one, _ in self.deciding for cell in one.binding)


def shared_rate(
    strata: Sequence[Stratum],
    *,
    epsilon: Real,
    target: Fraction,
    finer: SharedRate | None = None,
) -> SharedRate:
    """Return the largest rate at which all strata meet a target.

    Args:
        strata, epsilon, target: the question.
        finer: the answer for the same strata before cells were merged: what a stratum could lend
            then it can lend now (proofs/designer#3).
    """
    known = [one.n_draws for one in finer.largest] if finer else [0] * len(strata)
    found = [
        largest_draws(one, epsilon=epsilon, target=target, known=least)
        for one, least in zip(strata, known, strict=True)
    ]
    rate = min(Fraction(b.n_draws, s.n_records) for s, b in zip(strata, found, strict=True))
    return SharedRate(tuple(strata), tuple(found), rate)
