"""Reading arrays of numbers, and the size of a sample."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from smoothdp.errors import InvalidData, InvalidParameter
from smoothdp.exact.parameters.numbers import Parameter, exact_int, positive_probability
from smoothdp.types import FloatArray


def float_array(values: ArrayLike, *, name: str) -> FloatArray:
    """Return a new array of floats.

    Raises:
        InvalidData: something else than numbers.

    >>> float_array([1, 2], name="counts")
    array([1., 2.])
    """
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    # Outside of the except: the message of numpy quotes the values, which may be private.
    raise InvalidData(
        expected=f"{name} as an array of numbers", got="something else", remedy="Give numbers"
    )


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
            remedy="Give n_draws, a count, or sampling_rate, a share, not both",
        )
    if n_draws is not None:
        return exact_int(n_draws, name="n_draws", minimum=1)
    assert sampling_rate is not None
    remedy = "Give the share of records that are drawn"
    rate = positive_probability(sampling_rate, name="sampling_rate", remedy=remedy)
    return math.ceil(rate * n_records)
