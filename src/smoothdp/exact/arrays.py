"""Reading arrays of numbers."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from smoothdp.errors import InvalidData


def float_array(values: ArrayLike, *, name: str) -> NDArray[np.float64]:
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
    # Outside of the except: what numpy said quotes the values, which may be private.
    raise InvalidData(
        expected=f"{name} as an array of numbers", got="something else", remedy="Give numbers"
    )
