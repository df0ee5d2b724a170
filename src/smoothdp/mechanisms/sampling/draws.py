"""How many records are drawn, and how: the parameters that sampling mechanisms share."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Literal, NamedTuple

from smoothdp.errors import InvalidParameter, PrivacyWarning
from smoothdp.exact.balls.balls import log_bounds
from smoothdp.exact.logspace.bounds import LIBM_ERROR, LogBounds, exp_upper
from smoothdp.exact.parameters.numbers import Parameter
from smoothdp.exact.parameters.reading import read_sample_size
from smoothdp.exact.random.entropy import Entropy
from smoothdp.exact.random.samplers import multinomial, multivariate_hypergeometric
from smoothdp.mechanisms.sampling.counts import read_n_records

Sampling = Literal["without_replacement", "with_replacement"]
_EXACT_BITS = 512


class Draws(NamedTuple):
    """n_draws of n_records records, without or with replacement."""

    n_records: int
    n_draws: int
    sampling: Sampling

    @property
    def replacing(self) -> bool:
        """Whether a record can be drawn more than once."""
        return self.sampling == "with_replacement"

    def describe(self) -> str:
        """Return the sample in words."""
        how = self.sampling.replace("_", " ")
        return f"{self.n_draws} of {self.n_records} records drawn {how}"

    def log_inclusion(self) -> LogBounds:
        """Bound ln of T/n, or of 1 - (1 - 1/n)^T with replacement."""
        if not self.replacing:
            return log_bounds(Fraction(self.n_draws, self.n_records))
        missed = log_bounds(Fraction(self.n_records - 1, self.n_records))
        low, high = (-math.expm1(self.n_draws * x) for x in (missed.upper, missed.lower))
        slack = 4 * LIBM_ERROR
        return LogBounds(math.log(low) - slack * 2, min(0.0, math.log(high) + slack * 2))

    def inclusion(self) -> Fraction:
        """Return T/n exactly; with replacement 1 - (1 - 1/n)^T, or a float just above it."""
        if not self.replacing:
            return Fraction(self.n_draws, self.n_records)
        if self.n_draws * self.n_records.bit_length() <= _EXACT_BITS:
            return 1 - Fraction(self.n_records - 1, self.n_records) ** self.n_draws
        return min(Fraction(1), Fraction(exp_upper(self.log_inclusion().upper)))


def read_draws(
    n_records: int,
    *,
    n_draws: int | None,
    sampling_rate: Parameter | None,
    sampling: Sampling,
    exact_histogram: bool = True,
) -> Draws:
    """Return validated draws; T = ceil(sampling_rate * n_records) in exact arithmetic.

    With ``exact_histogram`` (the sample's histogram itself is published) a sample of all
    records warns that nothing is private.

    Raises:
        InvalidParameter: fewer than 2 or 2^50 and more records, neither or both of n_draws
            and sampling_rate, no draw, more draws than records without replacement.
    """
    n = read_n_records(n_records)
    if sampling not in ("without_replacement", "with_replacement"):
        raise InvalidParameter(
            expected='sampling "without_replacement" or "with_replacement"',
            got=f"sampling={sampling!r}",
            remedy='Use "without_replacement" unless a record may be drawn several times',
        )
    size = read_sample_size(n, n_draws=n_draws, sampling_rate=sampling_rate)
    draws = Draws(n, size, sampling)
    if not draws.replacing:
        if draws.n_draws > n:
            raise InvalidParameter(
                expected=f"n_draws <= n_records={n}",
                got=f"n_draws={draws.n_draws}",
                remedy=f'Draw at most {n} records, or use sampling="with_replacement"',
            )
        if draws.n_draws == n and exact_histogram:
            warnings.warn(
                f"n_draws = n_records = {n}: nothing is lost, the exact histogram is "
                "published and delta = 1. Lower the sampling rate.",
                PrivacyWarning,
                stacklevel=3,
            )
    return draws


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
