"""Reading an answer out of HiGHS, with a witness where there is no optimum."""

from __future__ import annotations

import math
from typing import Any

import highspy
import numpy as np
from numpy.typing import ArrayLike

from leakwise.lp.arrays import Compressed
from leakwise.lp.solution import Basis, Solution, Status
from leakwise.types import Floats

__all__ = ["matrix_of", "read"]

_RAY_TOLERANCE = 1e-9


def read(highs: Any, status: Status, iterations: int) -> Solution:
    """Return everything the solver knows now; HiGHS forgets it when the program is changed."""
    rows, columns = highs.getNumRow(), highs.getNumCol()
    info, answer = highs.getInfo(), highs.getSolution()
    x, duals, reduced = np.full(columns, np.nan), np.full(rows, np.nan), np.full(columns, np.nan)
    objective = math.nan
    feasible = int(highspy.SolutionStatus.kSolutionStatusFeasible)
    if status == "optimal" or (status == "time_limit" and info.primal_solution_status == feasible):
        x, objective = np.array(answer.col_value, dtype=np.float64), float(info.objective_function_value)
    if status == "optimal" or (status == "time_limit" and info.dual_solution_status == feasible):
        duals = np.array(answer.row_dual, dtype=np.float64)
        reduced = np.array(answer.col_dual, dtype=np.float64)
    farkas = _farkas(highs) if status == "infeasible" else None
    if status == "unbounded":
        objective = math.inf if highs.getLp().sense_ == highspy.ObjSense.kMaximize else -math.inf
    for array in (x, duals, reduced, farkas):
        if array is not None:
            array.flags.writeable = False
    return Solution(
        status=status,
        objective=objective,
        x=x,
        duals=duals,
        reduced_costs=reduced,
        basis=_basis(highs) if status == "optimal" else None,
        infeasibility_ray=farkas,
        iterations=iterations,
    )


def matrix_of(lp: Any) -> Compressed:
    """Return the matrix of a HiGHS program, by columns."""
    a = lp.a_matrix_
    return Compressed(
        np.array(a.value_, dtype=np.float64),
        np.array(a.index_, dtype=np.int32),
        np.array(a.start_, dtype=np.int32),
    )


def _basis(highs: Any) -> Basis | None:
    # Not getBasicVariables: it crashes the process when presolve alone has solved the program.
    basis = highs.getBasis()
    if not basis.valid:
        return None
    basic = int(highspy.HighsBasisStatus.kBasic)
    columns, rows = (
        np.flatnonzero(np.fromiter(map(int, states), dtype=np.int8, count=len(states)) == basic)
        for states in (basis.col_status, basis.row_status)
    )
    columns.flags.writeable = rows.flags.writeable = False
    return Basis(columns, rows)


def _farkas(highs: Any) -> Floats | None:
    """The ray of HiGHS with the sign of :class:`Solution`, if it proves infeasibility in floats."""
    _, found, ray = highs.getDualRay()
    if not found or not np.isfinite(ray).all() or not np.any(ray):
        return None
    y = np.array(ray, dtype=np.float64)
    y /= np.abs(y).max()
    y[np.abs(y) <= 1e-14] = 0.0  # dust that would meet an infinite bound
    highs.ensureColwise()
    lp = highs.getLp()
    a = matrix_of(lp)
    column = np.repeat(np.arange(lp.num_col_), np.diff(a.starts))
    slope = np.asarray(np.bincount(column, weights=a.data * y[a.indices], minlength=lp.num_col_), dtype=np.float64)
    slope[np.abs(slope) <= _RAY_TOLERANCE] = 0.0
    for sign in (1.0, -1.0):
        least_row = -_most(-sign * y, lp.row_lower_, lp.row_upper_)
        if least_row > _most(sign * slope, lp.col_lower_, lp.col_upper_):
            return np.asarray(sign * y)
    return None


def _most(slope: Floats, lower: ArrayLike, upper: ArrayLike) -> float:
    """The largest slope·v over lower ≤ v ≤ upper, where 0·∞ = 0."""
    at = np.where(slope > 0, upper, lower)
    used = slope != 0
    return float(slope[used] @ at[used])
