"""A linear program that can be changed and solved again from where it stood."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import highspy
import numpy as np
from highspy import HighsModelStatus, HighsStatus
from numpy.typing import ArrayLike, NDArray

from leakwise.errors import InvalidInput, NotConverged
from leakwise.lp.arrays import SMALLEST, Compressed, MatrixLike, bounds, compress, indices, vector
from leakwise.lp.reading import matrix_of, read
from leakwise.lp.solution import Solution, Status

__all__ = ["TOLERANCE", "LinearProgram", "solve_lp"]

TOLERANCE = 1e-10
"""Primal and dual feasibility tolerance. At HiGHS's own 1e-7 column generation re-adds a column for ever."""

_DUAL, _PRIMAL, _CHOOSE = 1, 4, 0
_WIDE = 10  # columns per row beyond which a cold start goes without presolve and by primal simplex
_STEPS, _STEPS_EACH = 5_000, 10  # simplex steps before another way is tried, and more for each row and column
_UNLIMITED = 2**31 - 1

_FINAL: dict[HighsModelStatus, Status] = {
    HighsModelStatus.kOptimal: "optimal",
    HighsModelStatus.kInfeasible: "infeasible",
    HighsModelStatus.kUnbounded: "unbounded",
    HighsModelStatus.kTimeLimit: "time_limit",
}


class _Attempt(NamedTuple):
    """One way of asking HiGHS; the next is tried when it answers 'unknown' or without a witness."""

    fresh: bool
    presolve: str
    strategy: int
    scaling: int


_FALLBACKS = (
    _Attempt(True, "off", _DUAL, 2),
    _Attempt(True, "off", _PRIMAL, 2),
    _Attempt(True, "off", _PRIMAL, 0),
    _Attempt(True, "off", _DUAL, 0),
)


class LinearProgram:
    r"""A linear program, solved by the simplex method, that keeps its basis when it is changed.

    .. math:: \min \text{ (or } \max) \; c \cdot x \quad\text{s.t.}\quad l \le A x \le u,\; l' \le x \le u'

    Single-threaded, silent and deterministic: the same sequence of calls gives the same numbers. Feasibility tolerances
    are 1e-10. Signs of the duals are explained at :class:`Solution`.

    Parameters
    ----------
    costs
        c, one per column.
    matrix
        A: a dense array (rows × columns) or a tuple ``(data, indices, indptr)`` of compressed columns as in
        ``scipy.sparse.csc_matrix``. Coefficients smaller than 1e-12 count as zeros.
    row_lower, row_upper
        l and u, a number or one per row; equal for an equation, ±inf for no bound.
    column_lower, column_upper
        l' and u', a number or one per column.
    maximize
        Whether c·x is to be maximised.

    Examples
    --------
    >>> program = LinearProgram([1.0, 2.0], [[1.0, 1.0]], row_lower=1.0, row_upper=1.0, maximize=True)
    >>> program.solve().objective
    2.0
    >>> program.add_columns([5.0], [[2.0]])   # the basis is kept: the next solve starts from it
    >>> solution = program.solve()
    >>> solution.objective, solution.x.tolist(), solution.duals.tolist()
    (2.5, [0.0, 0.0, 0.5], [2.5])
    """

    def __init__(
        self,
        costs: ArrayLike,
        matrix: MatrixLike,
        row_lower: ArrayLike,
        row_upper: ArrayLike,
        column_lower: ArrayLike = 0.0,
        column_upper: ArrayLike = math.inf,
        maximize: bool = False,
    ) -> None:
        c = vector("costs", costs)
        rows = _row_count(matrix, row_lower, row_upper)
        a = compress("matrix", matrix, c.size, rows)
        low, up = bounds("row", row_lower, row_upper, rows)
        col_low, col_up = bounds("column", column_lower, column_upper, c.size)
        self._highs: Any = highspy.Highs()  # type: ignore[no-untyped-call]
        for option, value in (
            ("output_flag", False),
            ("solver", "simplex"),
            ("parallel", "off"),
            ("threads", 1),
            ("random_seed", 0),
            ("primal_feasibility_tolerance", TOLERANCE),
            ("dual_feasibility_tolerance", TOLERANCE),
            ("small_matrix_value", SMALLEST),
        ):
            self._option(option, value)
        lp = highspy.HighsLp()
        lp.num_col_, lp.num_row_ = c.size, rows
        lp.sense_ = highspy.ObjSense.kMaximize if maximize else highspy.ObjSense.kMinimize
        lp.col_cost_, lp.col_lower_, lp.col_upper_ = c, col_low, col_up
        lp.row_lower_, lp.row_upper_ = low, up
        self._load(lp, a)

    @property
    def row_count(self) -> int:
        """How many rows the program has now."""
        return int(self._highs.getNumRow())

    @property
    def column_count(self) -> int:
        """How many columns the program has now."""
        return int(self._highs.getNumCol())

    def __repr__(self) -> str:
        sense = "max" if self._highs.getLp().sense_ == highspy.ObjSense.kMaximize else "min"
        return f"LinearProgram({sense}, {self.row_count} rows, {self.column_count} columns)"

    # ------------------------------------------------------------------------------------------- changing it

    def add_columns(
        self, costs: ArrayLike, columns: MatrixLike, lower: ArrayLike = 0.0, upper: ArrayLike = math.inf
    ) -> None:
        """Append columns (rows × k, dense or compressed); they enter at a bound, the basis is kept."""
        c = vector("costs", costs)
        a = compress("columns", columns, c.size, self.row_count)
        low, up = bounds("column", lower, upper, c.size)
        self._done(
            self._highs.addCols(c.size, c, low, up, a.data.size, a.starts[:-1], a.indices, a.data),
            "add_columns",
        )

    def add_rows(self, rows: MatrixLike, lower: ArrayLike, upper: ArrayLike) -> None:
        """Append rows (k × columns, dense or as a tuple of compressed rows); the basis is kept."""
        if isinstance(rows, tuple):
            count = np.size(rows[-1]) - 1
            lines: MatrixLike = rows
        else:
            dense = np.atleast_2d(np.asarray(rows, dtype=np.float64))
            count = dense.shape[0]
            lines = dense.T
        a = compress("rows", lines, count, self.column_count)
        low, up = bounds("row", lower, upper, count)
        self._done(self._highs.addRows(count, low, up, a.data.size, a.starts[:-1], a.indices, a.data), "add_rows")

    def change_costs(self, costs: ArrayLike, columns: ArrayLike | None = None) -> None:
        """Replace the costs of the given columns (all of them by default)."""
        chosen = self._lines("columns", columns, self.column_count)
        c = vector("costs", costs, chosen.size)
        self._done(self._highs.changeColsCost(chosen.size, chosen, c), "change_costs")

    def change_column_bounds(self, lower: ArrayLike, upper: ArrayLike, columns: ArrayLike | None = None) -> None:
        """Replace the bounds of the given columns (all of them by default)."""
        chosen = self._lines("columns", columns, self.column_count)
        low, up = bounds("column", lower, upper, chosen.size)
        self._done(self._highs.changeColsBounds(chosen.size, chosen, low, up), "change_column_bounds")

    def change_coefficients(self, rows: ArrayLike, columns: ArrayLike, values: ArrayLike) -> None:
        """Set A[rows[k], columns[k]] = values[k] for all k at once; the basis is kept.

        One pass over the matrix, whatever the number of changes. The same place may not be named twice.
        """
        r, c = indices("rows", rows, self.row_count), indices("columns", columns, self.column_count)
        if r.size != c.size:
            raise InvalidInput(f"rows has {r.size} entries and columns {c.size}; expected as many of each.")
        v = vector("values", values, r.size)
        lp = self._highs.getLp()
        old = matrix_of(lp)
        depth = max(self.row_count, 1)
        place = np.repeat(np.arange(lp.num_col_, dtype=np.int64), np.diff(old.starts)) * depth + old.indices
        changed = c.astype(np.int64) * depth + r
        if np.unique(changed).size < changed.size:
            raise InvalidInput("rows and columns name the same coefficient twice; name each place once.")
        kept = ~np.isin(place, changed)
        place = np.concatenate((place[kept], changed))
        order = np.argsort(place, kind="stable")
        column, row = np.divmod(place[order], depth)
        starts = np.concatenate(([0], np.cumsum(np.bincount(column, minlength=lp.num_col_))))
        data = np.concatenate((old.data[kept], v))[order]
        new = compress("values", (data, row, starts), lp.num_col_, self.row_count)
        basis = self._highs.getBasis()
        self._load(lp, new)
        if basis.valid:
            self._done(self._highs.setBasis(basis), "change_coefficients")

    # -------------------------------------------------------------------------------------------- solving it

    def solve(self, time_limit: float | None = None) -> Solution:
        """Solve from the last basis if there is one, and read everything before anything can change.

        Parameters
        ----------
        time_limit
            Seconds; the answer is then ``"time_limit"`` with whatever was feasible. None for no limit.

        Raises
        ------
        NotConverged
            HiGHS answered 'unknown' or failed in five ways of asking (warm, without presolve, dual and primal simplex,
            with and without scaling).
        """
        if time_limit is not None and not time_limit > 0:
            raise InvalidInput(f"time_limit is {time_limit}; expected a positive number of seconds or None.")
        # HiGHS counts its time over the life of the object.
        end = math.inf if time_limit is None else self._highs.getRunTime() + time_limit
        self._option("time_limit", end)
        wide = self.column_count > _WIDE * self.row_count
        cold = not self._highs.getBasis().valid
        # Measured: 5 rows and 200,000 columns take 31 s with presolve and dual simplex, 0.2 s this way.
        first = _Attempt(False, "off" if wide else "choose", _PRIMAL if wide and cold else _CHOOSE, 2)
        unproven: Solution | None = None
        iterations, answer = 0, HighsModelStatus.kNotset
        # A warm start may go round in degenerate steps: 30 rows and 2,033 columns that took more than a million steps
        # of either simplex method take 145 without scaling.
        patience = _STEPS + _STEPS_EACH * (self.row_count + self.column_count)
        for attempt in (first, *_FALLBACKS):
            if answer == HighsModelStatus.kIterationLimit and attempt is not _FALLBACKS[-1]:
                continue
            if attempt.fresh:
                self._highs.clearSolver()
            self._option("simplex_iteration_limit", patience if attempt is first and not cold else _UNLIMITED)
            self._option("presolve", attempt.presolve)
            self._option("simplex_strategy", attempt.strategy)
            self._option("simplex_scale_strategy", attempt.scaling)
            self._highs.run()
            answer = self._highs.getModelStatus()
            iterations += max(int(self._highs.getInfo().simplex_iteration_count), 0)
            status: Status | None = _FINAL.get(answer)
            if answer == HighsModelStatus.kModelEmpty:
                status = "optimal"
            if status is None:
                continue
            solution = read(self._highs, status, iterations)
            if status == "infeasible" and solution.infeasibility_ray is None:
                unproven = solution
                continue
            return solution
        if unproven is not None:
            return unproven
        raise NotConverged(
            f"the linear program with {self.row_count} rows and {self.column_count} columns was not solved: "
            f"HiGHS answered {answer.name!r}. Rescale it so that its coefficients are of comparable size.",
            lower=-math.inf,
            upper=math.inf,
        )

    # --------------------------------------------------------------------------------------------- plumbing

    def _lines(self, name: str, chosen: ArrayLike | None, size: int) -> NDArray[np.int32]:
        if chosen is None:
            return np.arange(size, dtype=np.int32)
        lines = indices(name, chosen, size)
        if np.unique(lines).size < lines.size:
            raise InvalidInput(f"{name} names an index twice; name each once.")
        return lines

    def _load(self, lp: Any, a: Compressed) -> None:
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.num_col_, lp.a_matrix_.num_row_ = lp.num_col_, lp.num_row_
        lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = a.starts, a.indices, a.data
        self._done(self._highs.passModel(lp), "LinearProgram")

    def _option(self, name: str, value: bool | int | float | str) -> None:
        self._done(self._highs.setOptionValue(name, value), f"option {name}")

    @staticmethod
    def _done(status: HighsStatus, what: str) -> None:
        if status == HighsStatus.kError:
            raise InvalidInput(f"{what}: HiGHS refused the data although every number is in range.")


def solve_lp(
    costs: ArrayLike,
    matrix: MatrixLike,
    row_lower: ArrayLike,
    row_upper: ArrayLike,
    column_lower: ArrayLike = 0.0,
    column_upper: ArrayLike = math.inf,
    *,
    maximize: bool = False,
    time_limit: float | None = None,
) -> Solution:
    """Solve one linear program in one call; the parameters are those of :class:`LinearProgram`.

    >>> solve_lp([1.0, 1.0], [[1.0, 2.0]], row_lower=2.0, row_upper=float("inf")).objective
    1.0
    """
    program = LinearProgram(costs, matrix, row_lower, row_upper, column_lower, column_upper, maximize)
    return program.solve(time_limit)


def _row_count(matrix: MatrixLike, row_lower: ArrayLike, row_upper: ArrayLike) -> int:
    for bound in (row_lower, row_upper):
        if np.ndim(bound) == 1:
            return np.size(bound)
    if isinstance(matrix, tuple):
        raise InvalidInput(
            "row_lower and row_upper are both numbers and matrix is compressed: the number of rows is not "
            "known. Give one of the bounds as a vector."
        )
    shape = np.shape(matrix)
    if len(shape) != 2:
        raise InvalidInput(f"matrix has shape {shape}; expected two dimensions (rows, columns).")
    return int(shape[0])
