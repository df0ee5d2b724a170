"""What is asked of a release, read once: all of it public, and fixed before the data are read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from smoothdp.claims.guarantees.guarantee import Guarantee
from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters.numbers import (
    Parameter,
    exact_fraction,
    exact_positive,
    proper_probability,
)
from smoothdp.mechanisms.release.arguments import check_kinds
from smoothdp.mechanisms.release.bars.coverage import Coverage
from smoothdp.mechanisms.release.grid import read_step
from smoothdp.noise.law import NoiseDistribution
from smoothdp.queries import ClampedMean, FixedStatistic, Mean, Quantiles, Query
from smoothdp.queries.private_size.padded_window import PaddedWindow
from smoothdp.queries.statistic import Statistic

MOST_RECORDS = 10**12
"""The largest guess of n: positions of windows are kept in 64 bits."""


@dataclass(frozen=True, slots=True)
class ReleaseRequest:
    """A statistic and the guarantee to release it with; None stands for what a rule chooses.

    Attributes:
        query: the statistic. guarantee: what the release is to promise.
        noise: a law, or a family whose shape is to be chosen. smoothing: t.
        step: of the output, if the caller gave one. clamp: whether to clamp the output.
        coverage: of the error bars beside the value; None: no bars.
        n_guess: a public guess of n where n is private.
        n_share: of the guarantee, for a count that stands in for n_guess; None: by the rule.
        simultaneous: whether intervals of several quantiles cover all together.
        is_guess_released: whether n_guess is a released count: then nothing is refused by it.
    """

    query: Statistic | FixedStatistic | Quantiles
    guarantee: Guarantee
    noise: NoiseDistribution | type[NoiseDistribution] | None = None
    smoothing: Fraction | None = None
    step: Fraction | None = None
    clamp: bool = False
    coverage: Coverage | None = None
    n_guess: Fraction | None = None
    n_share: Fraction | None = None
    simultaneous: bool = False
    is_guess_released: bool = False

    @classmethod
    def read(
        cls,
        query: Statistic | FixedStatistic | Quantiles,
        *,
        guarantee: Guarantee,
        noise: NoiseDistribution | type[NoiseDistribution] | None = None,
        smoothing: Parameter | None = None,
        round_to: Parameter | None = None,
        clamp: bool = False,
        coverage: Coverage | None = None,
        n_guess: Parameter | None = None,
        n_share: Parameter | None = None,
        simultaneous: bool = False,
        is_guess_released: bool = False,
    ) -> ReleaseRequest:
        """Return the request, its numbers exact, or raise what `SmoothNoise.calibrate` raises.

        >>> from smoothdp.claims import PureDP
        >>> from smoothdp.queries import Median
        >>> ReleaseRequest.read(Median((0, 9)), guarantee=PureDP(1), round_to="0.5").step
        Fraction(1, 2)
        """
        check_kinds(query, guarantee, noise, clamp)
        _check_several(query, smoothing, coverage, simultaneous)
        step = None if round_to is None else read_step(round_to)
        rate = None if smoothing is None else exact_fraction(smoothing, name="smoothing")
        guess = None if n_guess is None else exact_positive(n_guess, name="n_guess")
        if guess is not None and guess > MOST_RECORDS:
            raise InvalidParameter(
                expected="n_guess of at most 1e12",
                got=f"n_guess={n_guess}",
                remedy="Give about how many records there are; too few is safer than too many",
            )
        if guess is not None and guarantee.neighbours is not Neighbours.ADD_REMOVE:
            raise InvalidParameter(
                expected="n_guess only where the number of records is private",
                got=f"n_guess={n_guess} with {guarantee!r}",
                remedy='Leave n_guess out, or give a guarantee with neighbours="add_remove"',
            )
        is_private = guarantee.neighbours is Neighbours.ADD_REMOVE
        is_bought = is_private and guess is None and not isinstance(query, FixedStatistic | Mean)
        if n_share is not None and not is_bought:
            raise InvalidParameter(
                expected="n_share only where a count chooses the window and the noise",
                got=f"n_share={n_share} with {query.describe()}, {guarantee!r}"
                + ("" if guess is None else f", n_guess={n_guess}"),
                remedy="Leave n_share out",
            )
        share = (
            None
            if n_share is None
            else proper_probability(n_share, name="n_share", remedy="Give a share such as 0.1")
        )
        if isinstance(query, Mean) and is_private:
            query = ClampedMean(query.bounds)
        return cls(
            query,
            guarantee,
            noise,
            rate,
            step,
            clamp,
            coverage,
            guess,
            share,
            simultaneous,
            is_guess_released,
        )

    @property
    def has_private_size(self) -> bool:
        """Whether n is to stay private, and a rule chooses something by a guess of it."""
        if self.guarantee.neighbours is not Neighbours.ADD_REMOVE:
            return False
        chooses = isinstance(self.query, PaddedWindow) and self.smoothing is None
        return chooses or isinstance(self.query, Query)


def _check_several(
    query: object, smoothing: object, coverage: Coverage | None, simultaneous: object
) -> None:
    """Refuse smoothing with several quantiles, and `simultaneous` without their intervals."""
    if not isinstance(simultaneous, bool):
        raise InvalidParameter(
            expected="simultaneous as True or False",
            got=f"simultaneous={simultaneous!r}",
            remedy="Give simultaneous=True for one statement about all intervals",
        )
    if simultaneous and (coverage is None or not isinstance(query, Quantiles)):
        raise InvalidParameter(
            expected="simultaneous=True with Quantiles and confidence=",
            got="neither" if coverage is None else "one statistic",
            remedy="Leave it out",
        )
    if smoothing is not None and isinstance(query, Quantiles):
        raise InvalidParameter(
            expected="no smoothing= with Quantiles, each of which has its own",
            got=f"smoothing={smoothing}",
            remedy="Leave it out, or release the quantiles one by one",
        )
