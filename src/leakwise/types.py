"""The array aliases that every room uses."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Bools", "Codes", "Counts", "Floats", "Indices", "Words"]

Array: TypeAlias = npt.NDArray[Any]
"""An array of any kind: labels, exact integers of any size, or values as they came."""
Floats: TypeAlias = npt.NDArray[np.float64]
Counts: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Indices: TypeAlias = npt.NDArray[np.intp]
Words: TypeAlias = npt.NDArray[np.uint64]
Codes: TypeAlias = npt.NDArray[Any]
"""Places of letters or outcomes in an alphabet, in the smallest type that holds them; -1 is missing."""
