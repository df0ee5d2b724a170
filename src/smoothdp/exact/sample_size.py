"""How many records a sample has: a number, or the least one that a rate allows."""

from __future__ import annotations

import math

from smoothdp.errors import InvalidParameter
from smoothdp.exact.parameters import Parameter, exact_fraction, exact_int


def read_sample_size(
    n_records: int, *, n_draws: int | None, sampling_rate: Parameter | None
) -> int:
    """Return n_draws, or ceil(sampling_rate * n_records) in exact arithmetic.

    Raises:
        InvalidParameter: neither or both, n_draws below 1, a rate outside (0, 1].

    >>> read_sample_size(1000, n_draws=None, sampling_rate="0.9985")
    999
    """
    if (n_draws is None) == (sampling_rate is None):
        raise InvalidParameter(
            expected="either n_draws or sampling_rate",
            got="both or neither",
            remedy="Give exactly one of them",
        )
    if n_draws is not None:
        return exact_int(n_draws, name="n_draws", minimum=1)
    assert sampling_rate is not None
    rate = exact_fraction(sampling_rate, name="sampling_rate")
    if not 0 < rate <= 1:
        raise InvalidParameter(
            expected="0 < sampling_rate <= 1",
            got=f"sampling_rate={sampling_rate}",
            remedy="Give the share of records that are drawn",
        )
    return math.ceil(rate * n_records)
