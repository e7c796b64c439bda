"""From columns with weights to a kernel of exact integers inside the cone.

Three ways, the first that holds exactly is taken. Plain rounding, which serves where the optimum is made of round
numbers. The same vertices for a cone that is smaller by 2^-40, rounded: zeros stay zeros. Or every column snapped into
the cone with a little less mass than it should have: what the rows then miss is almost the same for all of them, hence
itself a column of the cone, and added to the largest column it stays there, because a cone is closed under addition.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from leakwise.errors import InvalidInput, NotConverged
from leakwise.exact import round_float_rows
from leakwise.mechanism import DenseKernel
from leakwise.mechanism.catalog import BITS
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.search.limits import Found
from leakwise.optimize.search.master import refined_solve
from leakwise.types import Floats, Indices

__all__ = ["assemble", "rounded"]

Integers = npt.NDArray[np.object_]
_UNIT = 1 << BITS


def assemble(cone: Cone, found: Found) -> tuple[DenseKernel, Indices | None]:
    """Integers over 2^60, exactly row-stochastic and exactly in the cone; columns that say the same are added up.

    Returns the kernel, and what each of its outcomes says.
    """
    order = _likely_first(found.lifts, found.weights)
    lifts, weights = found.lifts[:, order], found.weights[order]
    matrix = rounded(cone, lifts, weights)
    if matrix is None:
        matrix = _from_inside(cone, lifts, weights)
    inner = found.inner() if matrix is None and found.inner is not None else None
    if inner is not None:
        inner_lifts, inner_weights = inner
        matrix = rounded(cone, inner_lifts, inner_weights)
        if matrix is not None:
            # Its columns are the same ones where they have labels; else any, which go from likely to rare as well.
            matrix = matrix[:, order if found.labels is not None else _likely_first(inner_lifts, inner_weights)]
    if matrix is None:
        matrix = _with_rest(cone, lifts, weights)
    says = None
    if found.labels is not None:
        says = np.unique(found.labels)
        matrix = np.stack([matrix[:, found.labels[order] == label].sum(axis=1) for label in says], axis=1)
    possible = np.array(matrix.sum(axis=0) > 0, dtype=bool)
    return DenseKernel(matrix[:, possible], _UNIT), None if says is None else says[possible]


def _likely_first(lifts: Floats, weights: Floats) -> Indices:
    """The order from likely to rare; of equally likely columns, that which raises an earlier letter comes first."""
    digits = 9 - np.floor(np.log10(weights, where=weights > 0, out=np.zeros_like(weights))).astype(np.int64)
    alike = np.array([round(weight, place) for weight, place in zip(weights.tolist(), digits.tolist(), strict=True)])
    return np.lexsort((*(-lifts.round(6))[::-1], -alike))


def _all_inside(cone: Cone, matrix: npt.NDArray[np.int64]) -> bool:
    return all(cone.contains(column) for column in matrix.T.tolist() if any(column))


def rounded(cone: Cone, lifts: Floats, weights: Floats) -> Integers | None:
    """Return columns rounded to integers over 2^60; None where they are not inside the cone then."""
    try:
        matrix = round_float_rows(lifts * weights, BITS)
    except InvalidInput:
        return None  # a probability too small for the denominator
    return matrix.astype(np.object_) if (matrix >= 0).all() and _all_inside(cone, matrix) else None


def _from_inside(cone: Cone, lifts: Floats, weights: Floats) -> Integers | None:
    size, count = lifts.shape
    inside = cone.slightly_inside(lifts) if size == count else None
    if inside is None:
        return None
    try:
        new = refined_solve(inside, np.ones(size))
    except np.linalg.LinAlgError:
        return None
    return rounded(cone, inside, new) if (new > 0).all() and np.abs(new - weights).max() < 1e-6 else None


def _with_rest(cone: Cone, lifts: Floats, weights: Floats) -> Integers:
    residual = float(np.abs(lifts @ weights - 1).max())
    held_back = max(2.0**-50, 64 * residual)
    while held_back < 0.5:
        masses = [int(weight * (1 - held_back) * _UNIT) for weight in weights]
        columns = [cone.snap(column, mass) for column, mass in zip(lifts.T, masses, strict=True)]
        matrix = np.array(columns, dtype=np.object_).T
        missing = _UNIT - matrix.sum(axis=1)
        if min(missing) >= 0 and (max(missing) == 0 or cone.contains([int(value) for value in missing])):
            matrix[:, 0] += missing
            return matrix
        held_back *= 8
    raise NotConverged("The columns do not add up to a mechanism.", lower=0.0, upper=float("inf"))
