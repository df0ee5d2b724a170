"""Batches of a fixed size drawn with replacement: a record may be in a batch several times."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from smoothdp.claims.curves.profile import FunctionProfile, PrivacyProfile
from smoothdp.claims.neighbours import Neighbours
from smoothdp.errors import InvalidParameter
from smoothdp.exact.balls.balls import ball
from smoothdp.exact.balls.compare import at_most
from smoothdp.exact.balls.special import Ball, log_probability, normal_tail
from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.parameters.numbers import Parameter, Real, exact_int, exact_positive
from smoothdp.sources import Source
from smoothdp.training_runs.rates import growth

# Terms beyond which what is left is below 2^-80 of the sum, or all.
_LEFT = 80
_FARTHEST = Fraction(2000)


@dataclass(frozen=True, init=False)
class ReplacementBatch:
    """One Gaussian step on ``batch`` draws of n records, with replacement; replace_one.

    With pi_k the binomial probability that a record is drawn k times and g(mu, E) the Gaussian
    profile, the bound at E >= 1 is the sum over k >= 1 of pi_k g(k mu, 1 + (E - 1) / gamma),
    gamma = 1 - pi_0, mu = 1 / noise_multiplier. It is convex and its own mirror image.

    Source: proofs/subsampled-steps#3; Balle, Barthe, Gaboardi 2018, Theorem 10.

    Args:
        n_records: n >= 1.
        batch: draws, >= 1.
        noise_multiplier: of the sum, over what replacing one copy can move it.

    Raises:
        InvalidParameter: a parameter outside these domains.

    >>> step = ReplacementBatch(60_000, batch=256, noise_multiplier=1)
    >>> round(step.profile().delta("0.5"), 16)
    2.874921371e-07
    """

    source: ClassVar[Source] = Source("balle-barthe-gaboardi", "Theorem 10")
    n_records: int
    batch: int
    exact_noise: Fraction

    def __init__(self, n_records: int, *, batch: int, noise_multiplier: Parameter) -> None:
        object.__setattr__(self, "n_records", exact_int(n_records, name="n_records", minimum=1))
        object.__setattr__(self, "batch", exact_int(batch, name="batch", minimum=1))
        if self.batch > _MOST_DRAWS:
            raise InvalidParameter(
                expected=f"at most {_MOST_DRAWS} draws",
                got=f"batch={batch}",
                remedy="Lower the batch",
            )
        object.__setattr__(
            self, "exact_noise", exact_positive(noise_multiplier, name="noise_multiplier")
        )

    @property
    def neighbours(self) -> Neighbours:
        """replace_one."""
        return Neighbours.REPLACE_ONE

    def profile(self) -> PrivacyProfile:
        """Return the bound as a profile."""
        return FunctionProfile(self._log_delta_bounds, self.neighbours)

    def _log_delta_bounds(self, epsilon: Real) -> LogBounds:
        mu = 1 / self.exact_noise
        if not at_most(epsilon, _FARTHEST):
            # delta falls.
            upper = _log_bound(self.n_records, self.batch, mu, _FARTHEST).upper
            return LogBounds(-math.inf, upper)
        return _log_bound(self.n_records, self.batch, mu, epsilon)

    def loss_laws(self) -> None:
        """Return None: the profile says all."""
        return

    def describe(self) -> str:
        """Return the step in words."""
        return f"{self.batch} draws of {self.n_records} with replacement, noise {self.exact_noise}"


_MOST_DRAWS = 10**7


@lru_cache(maxsize=8192)
def _log_bound(n: int, batch: int, mu: Fraction, epsilon: Real) -> LogBounds:
    def compute() -> Ball:
        never = (batch * _log_rest(n)).exp() if n > 1 else ball(0)
        gamma = 1 - never
        larger = 1 + growth(epsilon) / gamma
        distance = larger.log()
        # P(a record is drawn once), and from k to k + 1 times.
        chance = never * batch / (n - 1) if n > 1 else ball(0)
        total, k = ball(0), 1
        if n == 1:
            chance, k = ball(1), batch
        while True:
            shift = k * ball(mu)
            at = distance / shift
            total += chance * (normal_tail(at - shift / 2) - larger * normal_tail(at + shift / 2))
            if k == batch:
                break
            chance = chance * (batch - k) / (k + 1) / (n - 1)
            k += 1
            # Ratios of the chances fall, and g is at most 1.
            ratio = ball(Fraction(batch - k, (k + 1) * (n - 1)))
            if ratio < 1 and chance / (1 - ratio) < total / 2**_LEFT:
                total += (chance / (1 - ratio)).union(ball(0))
                break
        return total.log()

    return log_probability(compute, bits=192)


def _log_rest(n: int) -> Ball:
    return ball(Fraction(-1, n)).log1p()
