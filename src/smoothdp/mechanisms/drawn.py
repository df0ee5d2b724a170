"""What mechanisms share that draw a fixed number of records."""

from __future__ import annotations

from fractions import Fraction

from smoothdp.exact.logspace.bounds import LogBounds
from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.samplers import multinomial, multivariate_hypergeometric
from smoothdp.mechanisms.draws import Draws, Sampling


class DrawnRecords:
    """n_draws of n_records records, without or with replacement: public parameters."""

    n_records: int
    n_draws: int
    sampling: Sampling

    def _set_draws(self, draws: Draws) -> None:
        """Fill the fields of a frozen dataclass."""
        object.__setattr__(self, "n_records", draws.n_records)
        object.__setattr__(self, "n_draws", draws.n_draws)
        object.__setattr__(self, "sampling", draws.sampling)

    @property
    def draws(self) -> Draws:
        """The number of records drawn, and how."""
        return Draws(self.n_records, self.n_draws, self.sampling)

    def log_inclusion(self) -> LogBounds:
        """Bound ln of T/n, or of 1 - (1 - 1/n)^T with replacement."""
        return self.draws.log_inclusion()

    def inclusion(self) -> Fraction:
        """Return T/n exactly; with replacement 1 - (1 - 1/n)^T, or a float just above it."""
        return self.draws.inclusion()

    def _sample(self, counts: tuple[int, ...], rng: Entropy) -> tuple[int, ...]:
        """Draw the sample and return how many records of each category are in it."""
        draw = multinomial if self.draws.replacing else multivariate_hypergeometric
        return draw(self.n_draws, counts, rng)
