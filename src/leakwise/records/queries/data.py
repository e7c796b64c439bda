"""p0, the distribution the data really come from: uniform, independent records, or given for each dataset."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.types import Floats

__all__ = ["DataLaw", "data_law"]


@dataclass(frozen=True, eq=False)
class DataLaw:
    """Either independent records (``marginals``) or a table of probabilities (``joint``, C order)."""

    shape: tuple[int, ...]
    marginals: tuple[tuple[float, ...], ...]
    joint: Floats | None
    uniform: bool

    def marginal(self, record: int) -> tuple[float, ...]:
        """Return the law of one record."""
        return self.marginals[record]

    def table(self) -> Floats:
        """Return the probability of every dataset, in C order."""
        if self.joint is not None:
            return self.joint
        result = np.ones(1)
        for marginal in self.marginals:
            result = np.multiply.outer(result, np.array(marginal)).reshape(-1)
        return result


def data_law(data: Any, shape: tuple[int, ...]) -> DataLaw:
    """Read p0: ``"uniform"``; one marginal for all records; a list of marginals; or an array over all datasets."""
    if isinstance(data, DataLaw):
        return data
    if isinstance(data, str):
        if data != "uniform":
            raise InvalidInput(
                f"data is {data!r}; expected 'uniform', marginals of the records, or an array over all datasets."
            )
        return DataLaw(shape, tuple((1.0 / k,) * k for k in shape), None, True)
    given = list(data)
    if given and np.ndim(given[0]) == 0 and len(given) == shape[0] and len(set(shape)) == 1 and len(shape) > 1:
        given = [given] * len(shape)
    if len(given) == len(shape) and all(np.ndim(g) == 1 and np.size(g) == k for g, k in zip(given, shape, strict=True)):
        marginals = tuple(tuple(_law(g, f"data[{i}]").tolist()) for i, g in enumerate(given))
        even = all(len(set(m)) == 1 for m in marginals)
        return DataLaw(shape, marginals, None, even)
    size = math.prod(shape)
    table = np.asarray(data, dtype=np.float64)
    if table.size != size:
        raise InvalidInput(
            f"data has {table.size} numbers; expected 'uniform', a law of {shape[0]} values for each record, a "
            f"list of {len(shape)} "
            f"laws, or {size:,} probabilities, one for each dataset."
        )
    return DataLaw(shape, (), _law(table.reshape(-1), "data"), False)


def _law(values: Any, name: str) -> Floats:
    law = np.asarray(values, dtype=np.float64)
    if not np.isfinite(law).all() or (law < 0).any() or abs(law.sum() - 1) > 1e-9:
        raise InvalidInput(f"{name} must be probabilities that sum to 1. Got {values!r} instead.")
    return np.asarray(law / law.sum())
