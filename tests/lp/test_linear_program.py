"""Linear programs against SciPy's solver, and the laws of duality."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from highspy import HighsModelStatus
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog

from leakwise.errors import InvalidInput, NotConverged
from leakwise.lp import LinearProgram, Solution, solve_lp

INF = math.inf


def random_program(seed: int) -> dict[str, object]:
    """A feasible, bounded program with equations, ranges, one-sided rows and all kinds of columns."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(1, 8)), int(rng.integers(1, 12))
    matrix = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.7)
    inside = rng.random(columns)
    middle = matrix @ inside
    kind = rng.integers(0, 4, size=rows)
    gap = rng.random(rows)
    row_lower = np.where(kind == 0, middle, np.where(kind == 1, -INF, middle - gap))
    row_upper = np.where(kind == 0, middle, np.where(kind == 2, INF, middle + gap))
    return {
        "costs": rng.normal(size=columns),
        "matrix": matrix,
        "row_lower": row_lower,
        "row_upper": row_upper,
        "column_lower": inside - rng.random(columns),
        "column_upper": inside + rng.random(columns),
        "maximize": bool(rng.integers(2)),
    }


def by_scipy(p: dict[str, object]) -> float:
    a, lower, upper = np.asarray(p["matrix"]), np.asarray(p["row_lower"]), np.asarray(p["row_upper"])
    sign = -1.0 if p["maximize"] else 1.0
    up, low = np.isfinite(upper), np.isfinite(lower)
    result = linprog(
        sign * np.asarray(p["costs"]),
        A_ub=np.vstack((a[up], -a[low])),
        b_ub=np.concatenate((upper[up], -lower[low])),
        bounds=np.column_stack((p["column_lower"], p["column_upper"])),
        method="highs-ds",
    )
    assert result.status == 0
    return sign * float(result.fun)


def dual_value(p: dict[str, object], s: Solution) -> float:
    """b·y plus the bound terms, each dual paired with the bound its sign points to."""
    sign = -1.0 if p["maximize"] else 1.0
    terms = 0.0
    for dual, lower, upper in (
        (s.duals, p["row_lower"], p["row_upper"]),
        (s.reduced_costs, p["column_lower"], p["column_upper"]),
    ):
        bound = np.where(sign * dual > 0, lower, upper)
        used = np.abs(dual) > 1e-9
        terms += float(dual[used] @ bound[used])
    return terms


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_agrees_with_scipy_and_strong_duality_holds(seed: int) -> None:
    p = random_program(seed)
    s = solve_lp(**p)  # type: ignore[arg-type]
    a, c = np.asarray(p["matrix"]), np.asarray(p["costs"])
    assert s.optimal
    assert s.objective == pytest.approx(by_scipy(p), abs=1e-7)
    assert s.objective == pytest.approx(float(c @ s.x), abs=1e-9)
    assert s.reduced_costs == pytest.approx(c - a.T @ s.duals, abs=1e-9)
    # A dual of the wrong sign would be paired with a bound at infinity or with the wrong one.
    assert dual_value(p, s) == pytest.approx(s.objective, abs=1e-7)
    assert (a @ s.x >= np.asarray(p["row_lower"]) - 1e-9).all()
    assert (a @ s.x <= np.asarray(p["row_upper"]) + 1e-9).all()
    assert s.basis is not None
    assert s.basis.columns.size + s.basis.rows.size == a.shape[0]


def test_sign_of_the_duals_for_a_maximum_over_equations() -> None:
    rng = np.random.default_rng(1)
    a, c = rng.random((4, 30)), rng.random(30)
    b = a @ rng.random(30)
    s = solve_lp(c, a, b, b, maximize=True)
    assert (c - a.T @ s.duals <= 1e-9).all()
    assert b @ s.duals == pytest.approx(s.objective, rel=1e-12)
    # The dual is the price of the right-hand side.
    step = 1e-6 * np.array([1.0, 0, 0, 0])
    more = solve_lp(c, a, b + step, b + step, maximize=True)
    assert more.objective - s.objective == pytest.approx(1e-6 * s.duals[0], rel=1e-4)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_warm_columns_and_rows_equal_a_fresh_program(seed: int) -> None:
    p = random_program(seed)
    rng = np.random.default_rng(seed)
    warm = LinearProgram(**p)  # type: ignore[arg-type]
    warm.solve()
    rows, new = np.shape(p["matrix"])[0], 5
    columns, costs = rng.normal(size=(rows, new)), rng.normal(size=new)
    warm.add_columns(costs, columns, 0.0, 1.0)
    q = dict(p)
    q["matrix"] = np.hstack((p["matrix"], columns))
    q["costs"] = np.concatenate((p["costs"], costs))
    q["column_lower"] = np.concatenate((p["column_lower"], np.zeros(new)))
    q["column_upper"] = np.concatenate((p["column_upper"], np.ones(new)))
    cold = solve_lp(**q)  # type: ignore[arg-type]
    assert warm.solve().objective == pytest.approx(cold.objective, abs=1e-8)
    cut = rng.normal(size=(1, warm.column_count))
    level = float(cut[0] @ cold.x) - 0.01
    warm.add_rows(cut, -INF, level)
    q["matrix"] = np.vstack((q["matrix"], cut))
    q["row_lower"] = np.append(q["row_lower"], -INF)
    q["row_upper"] = np.append(q["row_upper"], level)
    after, again = warm.solve(), solve_lp(**q)  # type: ignore[arg-type]
    assert after.status == again.status
    if again.optimal:
        assert after.objective == pytest.approx(again.objective, abs=1e-8)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_every_change_equals_a_fresh_program(seed: int) -> None:
    p, other = random_program(seed), np.random.default_rng(seed + 1)
    matrix = np.array(p["matrix"])
    columns = matrix.shape[1]
    size = int(other.integers(1, matrix.size + 1))
    where = other.permutation(matrix.size)[:size]
    values = other.normal(size=size) * (other.random(size) < 0.7)
    matrix.flat[where] = values
    # Row bounds that both matrices can meet, since they stay as they are.
    ends = np.stack([a @ np.asarray(p["column_lower"]) for a in (np.asarray(p["matrix"]), matrix)])
    p["row_lower"], p["row_upper"] = ends.min(axis=0) - 1, ends.max(axis=0) + 1
    program = LinearProgram(**p)  # type: ignore[arg-type]
    assert program.solve().optimal
    program.change_coefficients(where // columns, where % columns, values)
    q = dict(p) | {"matrix": matrix, "costs": other.normal(size=columns)}
    q["column_upper"] = np.asarray(p["column_upper"]) + 1
    program.change_costs(q["costs"])  # type: ignore[arg-type]
    program.change_column_bounds(q["column_lower"], q["column_upper"])  # type: ignore[arg-type]
    warm, cold = program.solve(), solve_lp(**q)  # type: ignore[arg-type]
    assert warm.optimal
    assert warm.objective == pytest.approx(cold.objective, abs=1e-8)


def test_changes_of_some_lines_leave_the_others() -> None:
    program = LinearProgram([1.0, 1.0], np.eye(2), 0.0, [3.0, 4.0], maximize=True)
    program.change_costs(2.0, columns=[0])
    program.change_column_bounds(0.0, 1.0, columns=[0])
    program.change_coefficients([1], [1], [2.0])
    assert program.solve().objective == pytest.approx(2 * 1 + 2.0)


def test_a_warm_start_after_irrelevant_columns_needs_no_iteration() -> None:
    rng = np.random.default_rng(3)
    a, c = rng.random((20, 60)), rng.random(60)
    program = LinearProgram(c, a, 1.0, 1.0, maximize=True, column_lower=-1.0, column_upper=1.0)
    first = program.solve()
    program.add_columns(np.zeros(4), np.outer(first.duals, np.ones(4)), 0.0, 1.0)  # price -|y|² < 0
    second = program.solve()
    assert first.iterations > 0
    assert second.iterations == 0
    assert second.objective == first.objective


def test_column_generation_ends_on_the_full_optimum() -> None:
    rng = np.random.default_rng(7)
    rows, pool = 15, 3000
    a, c = rng.random((rows, pool)), rng.random(pool)
    b = a @ rng.random(pool) / pool
    chosen = list(range(rows))
    big = np.eye(rows)
    program = LinearProgram(np.full(rows, -100.0), big, b, b, maximize=True)
    seen: set[int] = set()
    for _ in range(400):
        s = program.solve()
        price = c - a.T @ s.duals
        best = int(price.argmax())
        if price[best] <= 1e-9:
            break
        assert best not in seen  # a loose dual tolerance would add it again
        seen.add(best)
        program.add_columns(c[best], a[:, best])
    full = solve_lp(np.concatenate((np.full(rows, -100.0), c)), np.hstack((big, a)), b, b, maximize=True)
    assert s.objective == pytest.approx(full.objective, rel=1e-9)
    assert program.column_count == len(chosen) + len(seen)


def test_a_warm_start_that_takes_too_many_steps_is_begun_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(11)
    a, c, more = rng.random((12, 40)), rng.random(40), rng.random((12, 200))
    programs = [LinearProgram(c, a, 1.0, 1.0, maximize=True, column_lower=-1.0, column_upper=1.0) for _ in range(2)]
    answers, limits = [], []
    for program, patient in zip(programs, (True, False), strict=True):
        program.solve()
        program.add_columns(np.full(200, 3.0), more, 0.0, 1.0)
        with monkeypatch.context() as patch:
            if not patient:
                patch.setattr("leakwise.lp.program._STEPS", 1)
                patch.setattr("leakwise.lp.program._STEPS_EACH", 0)
            answers.append(program.solve())
        limits.append(program._highs.getOptionValue("simplex_iteration_limit")[1])
    patient, hurried = answers
    assert patient.iterations > 1
    assert hurried.status == "optimal"
    assert limits == [5_000 + 10 * (12 + 240), 2**31 - 1]  # the first way, and the last one
    assert hurried.objective == pytest.approx(patient.objective, rel=1e-9)


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_farkas_ray_proves_infeasibility(seed: int, maximize: bool) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(2, 7)), int(rng.integers(1, 9))
    a = rng.normal(size=(rows, columns)) * (rng.random((rows, columns)) < 0.8)
    weights = rng.normal(size=rows)
    # weights·(a x) is at most `top` over the box; ask every row for a value that adds up to more.
    upper = rng.random(columns)
    top = float(np.maximum(weights @ a, 0) @ upper)
    target = rng.normal(size=rows)
    target += weights * (top + 0.1 - weights @ target) / (weights @ weights)
    equation = rng.random(rows) < 0.5
    low = np.where(equation | (weights > 0), target, -INF)
    up = np.where(equation | (weights < 0), target, INF)
    s = solve_lp(rng.normal(size=columns), a, low, up, 0.0, upper, maximize=maximize)
    assert s.status == "infeasible"
    assert math.isnan(s.objective)
    y = s.infeasibility_ray
    assert y is not None
    assert np.abs(y).max() == pytest.approx(1.0)
    least = sum(v * (lo if v > 0 else hi) for v, lo, hi in zip(y, low, up, strict=True) if v)
    most = float(np.maximum(y @ a, 0) @ upper)
    assert least > most


def test_unbounded_programs_say_so() -> None:
    a, c = np.array([[1.0, -1.0], [-1.0, 0.5]]), np.array([1.0, 0.0])
    s = solve_lp(c, a, -INF, [1.0, 2.0], maximize=True)
    assert s.status == "unbounded"
    assert s.objective == INF


@pytest.mark.parametrize(("maximize", "expected"), [(True, INF), (False, -INF)])
def test_a_program_without_rows(maximize: bool, expected: float) -> None:
    s = solve_lp([1.0, 2.0], np.zeros((0, 2)), [], [], [-INF, 0.0], [3.0, INF], maximize=maximize)
    assert s.status == "unbounded"
    assert s.objective == expected
    assert solve_lp([1.0, -2.0], np.zeros((0, 2)), [], [], 0.0, 3.0).objective == -6.0


def test_dense_and_compressed_agree_and_wide_programs_are_solved() -> None:
    rng = np.random.default_rng(5)
    a = sparse.random(6, 400, density=0.4, random_state=5, format="csc")
    b = a @ rng.random(400)
    c = rng.random(400)
    dense = solve_lp(c, a.toarray(), b, b)
    compressed = solve_lp(c, (a.data, a.indices, a.indptr), b, b)
    assert dense.objective == compressed.objective
    assert (dense.x == compressed.x).all()
    assert dense.objective == pytest.approx(linprog(c, A_eq=a, b_eq=b).fun, rel=1e-7)
    rows = a.T.tocsr()[:3]
    program = LinearProgram(np.ones(6), np.zeros((0, 6)), [], [])
    program.add_rows((rows.data, rows.indices, rows.indptr), 1.0, INF)
    assert program.solve().objective == pytest.approx(
        solve_lp(np.ones(6), rows.toarray(), 1.0, INF).objective, rel=1e-12
    )
    assert repr(program) == "LinearProgram(min, 3 rows, 6 columns)"


def test_the_same_calls_give_the_same_bits() -> None:
    p = random_program(11)
    first, second = solve_lp(**p), solve_lp(**p)  # type: ignore[arg-type]
    assert (first.x == second.x).all()
    assert (first.duals == second.duals).all()
    with pytest.raises(ValueError, match="read-only"):
        first.x[0] = 1.0


def test_time_limit_counts_from_this_call() -> None:
    rng = np.random.default_rng(0)
    a = rng.random((120, 400))
    b = a @ rng.random(400)
    program = LinearProgram(rng.normal(size=400), a, b, b)
    short = program.solve(time_limit=1e-9)
    assert short.status == "time_limit"
    assert math.isnan(short.objective) or np.isfinite(short.x).all()
    # HiGHS's own clock has run past this limit only if it were counted from the birth of the object.
    assert program.solve(time_limit=60.0).optimal


def test_tiny_coefficients_count_as_zeros_and_bad_ones_are_refused() -> None:
    assert solve_lp([1.0], [[1e-13]], 1.0, 1.0).status == "infeasible"
    assert solve_lp([1.0], [[1e-11]], 1e-9, 1e-9).x[0] == pytest.approx(100.0)
    for bad in (math.nan, INF, 1e16):
        with pytest.raises(InvalidInput, match="coefficient"):
            solve_lp([1.0], [[bad]], 1.0, 1.0)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"costs": [1.0, math.nan]}, r"costs\[1\] is nan"),
        ({"costs": [1.0, "x"]}, "costs must be made of numbers"),
        ({"matrix": [[1.0]]}, "matrix has shape"),
        ({"matrix": [1.0, 2.0]}, "matrix has shape"),
        ({"row_lower": [math.nan]}, r"row_lower\[0\] is nan"),
        ({"row_lower": [2.0], "row_upper": [1.0]}, "exceeds"),
        ({"column_upper": -INF}, r"column_upper\[0\] is -inf"),
        ({"column_lower": [0.0, 0.0, 0.0]}, "length 2"),
        ({"matrix": ([1.0], [0], [0, 1])}, "both numbers"),
        ({"matrix": ([1.0], [0], [0, 1]), "row_lower": [1.0]}, "rising indptr"),
        ({"matrix": ([1.0], [3], [0, 1, 1]), "row_lower": [1.0]}, "outside"),
        ({"matrix": ([1.0, 1.0], [0, 0], [0, 2, 2]), "row_lower": [1.0]}, "twice"),
        ({"matrix": ([1.0], [0]), "row_lower": [1.0]}, "tuple of 2"),
    ],
)
def test_bad_programs_are_refused_by_name(change: dict[str, object], word: str) -> None:
    good: dict[str, object] = {
        "costs": [1.0, 1.0],
        "matrix": [[1.0, 1.0]],
        "row_lower": 1.0,
        "row_upper": 1.0,
    }
    with pytest.raises(InvalidInput, match=word):
        LinearProgram(**(good | change))  # type: ignore[arg-type]


def test_bad_changes_are_refused() -> None:
    program = LinearProgram([1.0, 1.0], [[1.0, 1.0]], 1.0, 1.0)
    with pytest.raises(InvalidInput, match=r"outside 0\.\.1"):
        program.change_costs(1.0, columns=[2])
    with pytest.raises(InvalidInput, match="integers"):
        program.change_costs(1.0, columns=[0.5])
    with pytest.raises(InvalidInput, match="twice"):
        program.change_costs(1.0, columns=[0, 0])
    with pytest.raises(InvalidInput, match="twice"):
        program.change_coefficients([0, 0], [1, 1], [1.0, 2.0])
    with pytest.raises(InvalidInput, match="as many of each"):
        program.change_coefficients([0], [0, 1], 1.0)
    with pytest.raises(InvalidInput, match="shape"):
        program.add_columns([1.0], [[1.0], [1.0]])
    with pytest.raises(InvalidInput, match="time_limit"):
        program.solve(time_limit=0.0)
    with pytest.raises(InvalidInput, match="finite number below 1e"):
        program.change_costs(1e30)
    with pytest.raises(InvalidInput, match=r"row_upper\[0\] is 1e\+20; expected inf"):
        program.add_rows(np.ones((1, program.column_count)), 0.0, 1e20)
    assert program.solve().objective == pytest.approx(1.0)


class Unsure:
    """HiGHS, but it never makes up its mind (or only after the first few runs)."""

    def __init__(self, highs: Any, runs: int) -> None:
        self.highs, self.runs = highs, runs

    def __getattr__(self, name: str) -> Any:
        return getattr(self.highs, name)

    def run(self) -> None:
        self.runs -= 1
        self.highs.run()

    def getModelStatus(self) -> HighsModelStatus:
        return HighsModelStatus.kUnknown if self.runs >= 0 else self.highs.getModelStatus()


@pytest.mark.parametrize("runs", [1, 2, 3, 4])
def test_an_unknown_answer_is_asked_again_another_way(runs: int) -> None:
    p = random_program(2)
    program = LinearProgram(**p)  # type: ignore[arg-type]
    program._highs = Unsure(program._highs, runs)
    assert program.solve().objective == pytest.approx(by_scipy(p), abs=1e-7)


def test_a_solver_that_stays_unsure_is_reported() -> None:
    program = LinearProgram([1.0], [[1.0]], 1.0, 2.0)
    program._highs = Unsure(program._highs, 100)
    with pytest.raises(NotConverged, match="kUnknown") as caught:
        program.solve()
    assert (caught.value.lower, caught.value.upper) == (-INF, INF)
