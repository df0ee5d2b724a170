"""The discrete Laplace mechanism: a whole number plus noise on the whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import ClassVar

from smoothdp.claims.curves.profile import PrivacyProfile
from smoothdp.claims.guarantees.standard import PureDP
from smoothdp.claims.neighbours import Neighbours, read_neighbours
from smoothdp.claims.release import Release, library_version
from smoothdp.errors import InvalidData
from smoothdp.exact.parameters.numbers import Parameter, exact_int, exact_positive, exact_text
from smoothdp.exact.random.entropy import Entropy, read_rng
from smoothdp.exact.random.geometric import two_sided_geometric
from smoothdp.sources import Source


def read_private_integer(value: object) -> int:
    """Return a whole number; the refusal of anything else does not show it."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    raise InvalidData(
        expected="a whole number", got=f"a {type(value).__name__}", remedy="Convert it to an int"
    )


@dataclass(frozen=True, init=False)
class DiscreteLaplaceMechanism:
    """A whole number of sensitivity D, plus z with weight e^(-|z| / b).

    It is (D / b)-DP. At D = 1 its two outputs ratios are e^(1/b) and e^(-1/b) alone, and its
    profile is that of the claim, attained.

    Source: Canonne, Kamath, Steinke (2020), Algorithm 2.

    Args:
        scale: b > 0.
        sensitivity: D, a whole number of at least 1: how far neighbours can be apart.
        neighbours: "replace_one" (default) or "add_remove".

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> DiscreteLaplaceMechanism(2, neighbours="add_remove").guarantee
    PureDP(epsilon=1/2, neighbours='add_remove')
    """

    source: ClassVar[Source] = Source("canonne-kamath-steinke", "Algorithm 2")
    exact_scale: Fraction
    sensitivity: int
    neighbours: Neighbours

    def __init__(
        self,
        scale: Parameter,
        sensitivity: int = 1,
        *,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    ) -> None:
        object.__setattr__(self, "exact_scale", exact_positive(scale, name="scale"))
        object.__setattr__(
            self, "sensitivity", exact_int(sensitivity, name="sensitivity", minimum=1)
        )
        object.__setattr__(self, "neighbours", read_neighbours(neighbours))

    @property
    def guarantee(self) -> PureDP:
        """The claim that the mechanism meets."""
        return PureDP(self.sensitivity / self.exact_scale, neighbours=self.neighbours)

    def profile(self) -> PrivacyProfile:
        """Return the privacy profile of one release."""
        return self.guarantee.profile()

    def describe(self) -> str:
        """Return the mechanism in words."""
        return f"discrete Laplace noise of scale {exact_text(self.exact_scale)}"

    def release(self, value: int, *, rng: Entropy | None = None) -> Release[int]:
        """Return the number with noise, and the guarantee.

        Args:
            value: a whole number, which neighbours move by the sensitivity at most.
            rng: `SystemRandom()` (default), or `SeededRandom`, marked not private.
        """
        source = read_rng(rng)
        noisy = read_private_integer(value) + two_sided_geometric(1 / self.exact_scale, source)
        common = (self.describe(), source.is_private, library_version(), (self.source,))
        return Release(noisy, self.guarantee, *common)
