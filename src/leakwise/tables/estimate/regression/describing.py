"""What describes the covariates that were not released, in the model of those that were."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from leakwise.types import Floats, Indices

__all__ = ["describing"]

_MOST_CELLS = 40
_ROWS_PER_PARAMETER = 20
_KNOTS = (0.05, 0.275, 0.5, 0.725, 0.95)  # quantiles, as for Harrell's restricted splines


def describing(frame: Any, names: Sequence[str], combinations: int, rows: int) -> Floats:
    """Return what describes w in the model p(s|w) of released covariates: a column for each distinct w if few.

    Otherwise the columns of w themselves, then bent ones (natural cubic splines), then products of two, as far as there
    are rows for them: a model that is too stiff biases the coefficients of s.
    """
    import pandas

    if not names:
        return np.ones((len(frame), 1))
    columns = frame[list(names)]
    cells: Indices = columns.groupby(list(names), observed=True, sort=False).ngroup().to_numpy()
    count = int(cells.max()) + 1
    most = rows // (_ROWS_PER_PARAMETER * combinations)
    if count <= min(_MOST_CELLS, most):
        return np.asarray(np.eye(count)[cells])
    plain, bent = [], []
    for name in names:
        column = columns[name]
        if column.dtype.kind in "iuf":
            values = _standardized(column.to_numpy(dtype=np.float64))
            plain.append(values[:, None])
            bent.append(_bends(values))
        else:
            plain.append(pandas.get_dummies(column, drop_first=True).to_numpy(dtype=np.float64))
    found = [np.ones((len(columns), 1)), *plain]
    products = [
        (one[:, :, None] * other[:, None, :]).reshape(len(columns), -1)
        for one, other in itertools.combinations(plain, 2)
    ]
    for part in (*bent, *products):
        varies = part[:, part.std(axis=0) > 1e-9]
        if sum(of.shape[1] for of in found) + varies.shape[1] <= most:
            found.append(varies)
    return np.concatenate(found, axis=1)


def _standardized(values: Floats) -> Floats:
    return np.asarray((values - values.mean()) / max(float(values.std()), 1e-12))


def _bends(values: Floats) -> Floats:
    """The columns of a natural cubic spline apart from the line."""
    knots = np.unique(np.quantile(values, _KNOTS))
    if knots.size < 3:
        return np.zeros((values.size, 0))
    cubes = np.maximum(values[:, None] - knots, 0.0) ** 3
    slopes = (cubes[:, :-1] - cubes[:, -1:]) / (knots[-1] - knots[:-1])
    bends = slopes[:, :-1] - slopes[:, -1:]
    return np.stack([_standardized(one) for one in bends.T], axis=1)
