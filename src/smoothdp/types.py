"""The types of arrays, each written once. It loads numpy: rooms import it, the root does not."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
ComplexArray: TypeAlias = NDArray[np.complex128]
BoolArray: TypeAlias = NDArray[np.bool_]
WordArray: TypeAlias = NDArray[np.uint64]
"""Words of 64 bits."""
ByteArray: TypeAlias = NDArray[np.uint8]
IndexArray: TypeAlias = NDArray[np.int32]
"""Places in an array, in half the memory."""
