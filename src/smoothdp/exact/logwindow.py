"""Windows of log-probabilities, each with a bound of its error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class LogWindow(NamedTuple):
    """ln P(k) for an array of k: values (-inf off the support) and absolute errors."""

    log_values: FloatArray
    error: FloatArray
