"""The array aliases that every room uses."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Bools", "Codes", "Counts", "Floats", "Indices"]

Floats: TypeAlias = npt.NDArray[np.float64]
Counts: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]
Indices: TypeAlias = npt.NDArray[np.intp]
Codes: TypeAlias = npt.NDArray[Any]
"""Places of letters or outcomes in an alphabet, in the smallest type that holds them; -1 is missing."""
