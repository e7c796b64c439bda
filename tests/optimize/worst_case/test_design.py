"""Levels, the second utility on the mask of the best level, the curve, and the cone of one output."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import leakwise as lw
from leakwise.optimize.problem.masked_cone import MaskedCone
from leakwise.optimize.worst_case.comparison import (
    local_epsilon,
    pml_exponential,
    pml_randomized_response,
    worst_utility,
)
from leakwise.optimize.worst_case.least_ratio.columns import MaskColumns
from leakwise.optimize.worst_case.mask import Levels
from optimize.worst_case.plain import feasible

COUNTING = lw.distance_utility(range(7), power=2, below=1)
UNIFORM = lw.Prior.uniform(7)


def vertices(letters: list[int], p: np.ndarray, ratio: float) -> list[np.ndarray]:
    """All lift vectors on some letters: zero, the ratio, and at most one letter in between, by trying every set."""
    found = []
    for count in range(len(letters) + 1):
        for chosen in itertools.combinations(letters, count):
            rest = 1 - ratio * sum(p[letter] for letter in chosen)
            for free in letters:
                lift = rest / p[free]
                if free not in chosen and -1e-12 <= lift <= ratio + 1e-12:
                    column = np.zeros(len(p))
                    column[list(chosen)] = ratio
                    column[free] = lift
                    found.append(column)
    return found


def best_by_brute_force(allowed: np.ndarray, p: np.ndarray, ratio: float, worth: Any) -> float:
    """The linear program over every vertex of every output; ``worth`` of a lift vector and its output."""
    columns, costs = [], []
    for output in range(allowed.shape[1]):
        for column in vertices(np.flatnonzero(allowed[:, output]).tolist(), p, ratio):
            columns.append(column)
            costs.append(-worth(column, output))
    answer = linprog(costs, A_eq=np.array(columns).T, b_eq=np.ones(len(p)), method="highs")
    assert answer.status == 0
    return float(-answer.fun)


def information(p: np.ndarray) -> Any:
    def worth(column: np.ndarray, output: int) -> float:
        positive = column > 0
        return float((p * column)[positive] @ np.log(column[positive]))

    return worth


@settings(max_examples=15, deadline=None)
@given(st.integers(3, 5), st.integers(2, 5), st.integers(0, 10**6), st.floats(1.05, 4.0))
def test_second_stage_against_all_vertices(rows: int, columns: int, seed: int, lift: float) -> None:
    rng = np.random.default_rng(seed)
    utility = rng.integers(0, 4, (rows, columns)).astype(float)
    prior = lw.Prior(rng.integers(1, 12, rows).tolist())
    p = prior.probabilities
    for then, worth in (
        ("mutual_information", information(p)),
        (lw.Expected(utility), lambda column, output: float((p * utility[:, output]) @ column)),
        ("guessing", lambda column, output: float((p * column).max())),
    ):
        found = lw.design(prior, lift=lift, utility=lw.WorstCase(utility, then=then))
        mask = Levels(utility, "value").mask(found.level)
        if found.least.epsilon > math.log(lift) - 1e-6:
            continue  # so tight that floats cannot tell
        expected = best_by_brute_force(mask.allowed, p, lift, worth)
        assert found.second == pytest.approx(expected, abs=1e-7)
        assert found.second_bound is not None
        assert found.second_bound >= expected - 1e-9
        assert found.second_gap < 1e-7
        assert found.epsilon <= math.log(lift) + 1e-15
        scores = mask.allowed
        for column, label in enumerate(found.says):
            assert not found.mechanism.weights[~scores[:, mask.names(prior.alphabet).labels.index(label)], column].any()


THEN: dict[str, Any] = {
    "mutual_information": lambda p, u: information(p),
    "guessing": lambda p, u: lambda column, output: float((p * column).max()),
    "expected": lambda p, u: lambda column, output: float((p * u[:, output]) @ column),
}


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 5), st.integers(1, 5), st.integers(0, 10**6), st.sampled_from(["value", "order"]), st.data())
def test_the_least_lift_of_a_level_reaches_it(rows: int, columns: int, seed: int, by: str, data: st.DataObject) -> None:
    """Asked for exactly, where no rounding is allowed: the level, and the best second utility on its mask."""
    rng = np.random.default_rng(seed)
    utility = rng.integers(0, 4, (rows, columns)).astype(float)
    prior = lw.Prior(rng.integers(1, 6, rows).tolist())
    levels = Levels(utility, by)
    level = data.draw(st.sampled_from(levels.thresholds.tolist()))
    allowed = levels.mask(level).allowed
    lift = Fraction(math.exp(lw.least_leakage(prior, allowed).epsilon)).limit_denominator(10_000)
    if not feasible(allowed, prior.fractions, lift):
        return  # an irrational one, or with a large denominator
    then = data.draw(st.sampled_from(sorted(THEN)))
    goal = lw.WorstCase(utility, by, then=lw.Expected(utility) if then == "expected" else then)
    found = lw.design(prior, lift=lift, utility=goal)
    reached = [h for h in levels.thresholds if feasible(levels.mask(h).allowed, prior.fractions, lift)]
    assert found.level == found.bound == max(reached) >= level
    assert found.certificate.verify().ratio <= lift
    p = prior.probabilities
    # Beside the border by what the floats of the brute force need.
    nearby = float(lift) * (1 + 1e-12)
    expected = best_by_brute_force(levels.mask(found.level).allowed, p, nearby, THEN[then](p, utility))
    assert found.second == pytest.approx(expected, abs=1e-7)
    assert found.second <= found.second_bound


def test_the_same_by_epsilon() -> None:
    """ε = log 2 rounded up by an ulp or two: no float between, and the second utility is the best all the same."""
    utility = np.array([[0, -2, 0, -1, -3, 0], [-4, -2, -3, 0, 0, 0], [0, -3, -4, -1, -3, -4], [-3, 0, -2, -4, 0, -4]])
    prior = lw.Prior(["0.3", "0.2", "0.2", "0.3"])
    goal = lw.WorstCase(utility, "order", then="mutual_information")
    least = lw.least_leakage(prior, goal.levels().mask(6).allowed)
    assert least.epsilon == pytest.approx(math.log(2), abs=1e-12)
    found = lw.design(prior, epsilon=least.epsilon, utility=goal)
    assert found.level == found.bound == 6
    assert found.second_gap < 1e-7


def test_an_output_that_only_the_whole_lift_can_use() -> None:
    """Its breakpoint is the lift asked for: inside there is no such column, and the bound must know of it."""
    utility = np.array([[-4, -1, -3, -4, -3], [-2, 0, -3, 0, -4], [-4, -1, -1, -4, 0], [-1, -3, 0, 0, 0]], dtype=float)
    goal = lw.WorstCase(utility, then=lw.Expected(utility))
    found = lw.design(lw.Prior([1, 1, 2, 2]), lift=2, utility=goal)
    assert found.second == pytest.approx(-1 / 3, abs=1e-9)
    assert found.second_gap < 1e-9


def test_letters_without_mass_may_need_an_answer_of_their_own() -> None:
    """It never occurs and leaks nothing: the level of the others is not lost for it."""
    prior = lw.Prior(["3/7", "2/7", "0", "0", "2/7"])
    utility = np.array(
        [
            [-4.0, -np.inf, -np.inf, -1.0, -1.0],
            [-2.0, -1.0, -1.0, -2.0, -1.0],
            [-4.0, -1.0, -2.0, -3.0, -3.0],
            [-1.0, -2.0, -4.0, -np.inf, -3.0],
            [-1.0, 0.0, -np.inf, 0.0, -2.0],
        ]
    )
    for then in (None, "mutual_information", lw.Expected(np.maximum(utility, -9.0))):
        found = lw.design(prior, lift=Fraction(7, 4), utility=lw.WorstCase(utility, "order", then=then))
        assert found.level == found.bound == 5
        assert found.certificate.verify().ratio <= Fraction(7, 4)
        places = [prior.labels.index(label) for label in found.says]
        used = np.asarray(found.mechanism.weights != 0, dtype=bool)
        assert not (used & ~Levels(utility, "order").mask(5).allowed[:, places]).any()


def test_without_any_leakage_the_answer_is_the_best_constant() -> None:
    utility = np.array([[0.0, -1.0, -1.0], [-2.0, -1.0, 0.0]])
    prior = lw.Prior([1, 10**9])
    found = lw.design(prior, epsilon=0, utility=lw.WorstCase(utility, then=lw.Expected(utility)))
    assert (found.level, found.says) == (-1.0, (2,))
    assert found.second == pytest.approx(-1 / (10**9 + 1), abs=1e-12)
    assert found.second_gap < 1e-11
    silent = lw.design(prior, epsilon=0, utility=lw.WorstCase(utility, then="chi_square"))
    assert 0 <= silent.second_gap < 1e-11


@settings(max_examples=25, deadline=None)
@given(
    st.integers(2, 6),
    st.integers(2, 6),
    st.integers(0, 10**6),
    st.floats(1.0, 5.0),
    st.sampled_from(["value", "order"]),
)
def test_the_level_is_the_best_one(rows: int, columns: int, seed: int, lift: float, by: str) -> None:
    """The level is feasible and the next one is proven not to be; the curve's lookup says the same."""
    rng = np.random.default_rng(seed)
    utility = rng.integers(-5, 5, (rows, columns)).astype(float)
    prior = lw.Prior(rng.integers(1, 12, rows).tolist())
    found = lw.design(prior, lift=lift, utility=lw.WorstCase(utility, by=by))
    assert found.value == found.bound == found.level
    assert found.epsilon <= math.log(lift) + 1e-15
    assert found.next_level is None or found.next_level[1] > math.log(lift)
    curve = lw.worst_case_curve(prior, utility, by=by)
    assert curve.best_level(math.log(lift)) == found.level
    assert (np.diff(curve.epsilon) >= -1e-12).all()
    assert (curve.utility_safe >= curve.lower - 1e-12).all()
    assert curve.gap < 1e-9


def test_a_lift_that_is_exactly_the_least_one() -> None:
    """At lift 2 level 5 is reached with no room at all: the integers must be exact."""
    found = lw.design(UNIFORM, lift=2, utility=lw.WorstCase(COUNTING, by="order"))
    assert found.level == 5
    assert found.certificate.ratio == 2
    thirds = lw.design(UNIFORM, lift=3, utility=lw.WorstCase(COUNTING, then="mutual_information"))
    assert thirds.level == -2
    assert thirds.certificate.ratio == 3
    assert thirds.second_gap < 1e-7
    assert thirds.second is not None
    assert thirds.second > lw.mutual_information(thirds.least.mechanism, UNIFORM)


def test_a_guarantee_that_costs_nothing_says_so() -> None:
    found = lw.design(UNIFORM, epsilon=0, utility=lw.WorstCase(COUNTING, by="order", then="mutual_information"))
    assert (found.level, found.costs_nothing, found.epsilon) == (4, True, 0)
    assert "constant answer" in repr(found)
    more = lw.design(UNIFORM, epsilon=0.5, utility=lw.WorstCase(COUNTING, by="order", then="mutual_information"))
    assert more.costs_nothing
    assert more.second is not None
    assert more.second > 0.3
    assert more.to_dict()["costs_nothing"] is True


def test_the_curve_of_the_counting_query() -> None:
    curve = lw.worst_case_curve(UNIFORM, COUNTING, by="order")
    assert np.exp(curve.epsilon) == pytest.approx([1, 1, 1, 1, 2, 3.5, 7], abs=1e-9)
    assert np.exp(curve.utility_safe) == pytest.approx([1, 7 / 3, 7 / 3, 3.5, 3.5, 7, 7], abs=1e-9)
    assert curve.free_level == 4
    # [WC] Figure 1: the mechanisms of Proposition 1 can always give the worst answer.
    for epsilon in np.arange(0.5, 1.9, 0.05):
        found = curve.compare(float(epsilon))
        assert found["exponential"] == found["randomized response"] == 1
        assert found["utility-safe"] == (1 if epsilon < math.log(7 / 3) else 3 if epsilon < math.log(3.5) else 5)
    assert curve.chart()["layer"]
    assert curve.to_dict()["free_level"] == 4
    assert "<table" in curve._repr_html_()


@pytest.mark.parametrize("epsilon", [0.1, 0.7, 1.5, 1.9])
def test_proposition_1(epsilon: float) -> None:
    expected = -math.log((math.exp(-epsilon) - 1 / 7) / (1 - 1 / 7))
    assert local_epsilon(UNIFORM, epsilon) == pytest.approx(expected, rel=1e-12)
    peer = pml_exponential(UNIFORM, COUNTING, epsilon)
    assert lw.epsilon(peer, UNIFORM) <= epsilon
    weights = np.exp(COUNTING * expected / 74)
    assert peer.matrix == pytest.approx(weights / weights.sum(axis=1, keepdims=True), abs=1e-9)
    response = pml_randomized_response(UNIFORM, COUNTING, epsilon)
    assert lw.epsilon(response, UNIFORM) == pytest.approx(epsilon, abs=1e-9)
    assert worst_utility(peer, COUNTING) == worst_utility(response, COUNTING) == -37


def test_beyond_the_largest_leakage_the_peers_tell_the_truth() -> None:
    assert math.isinf(local_epsilon(UNIFORM, 2.0))
    for make in (pml_exponential, pml_randomized_response):
        assert worst_utility(make(UNIFORM, COUNTING, 2.0), COUNTING) == 0


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10**6), st.floats(1.0, 6.0))
def test_masked_cone_against_its_vertices(size: int, seed: int, lift: float) -> None:
    rng = np.random.default_rng(seed)
    prior = lw.Prior(rng.integers(1, 9, size).tolist())
    allowed = rng.random(size) < 0.7
    allowed[rng.integers(0, size)] = True
    ratio = max(Fraction(lift), 1 / sum(f for f, here in zip(prior.fractions, allowed, strict=True) if here))
    cone = MaskedCone(prior, ratio, allowed)
    corners = vertices(np.flatnonzero(allowed).tolist(), prior.probabilities, float(ratio))
    objectives = rng.standard_normal((size, 5))
    values, found = cone.linear_max(objectives)
    if corners:
        assert values == pytest.approx((objectives.T @ np.array(corners).T).max(axis=1), abs=1e-9)
    assert np.abs(found[~allowed]).max(initial=0.0) <= 1e-9
    low, high = cone.entry_box()
    assert (found >= low[:, None] - 1e-9).all()
    assert (found <= high[:, None] + 1e-9).all()
    outside = [0] * size
    outside[int(np.flatnonzero(allowed)[0])] = 1
    assert cone.contains(outside) == (prior.fractions[int(np.flatnonzero(allowed)[0])] * ratio >= 1)
    assert cone.contains([1] * size) == bool(allowed.all())


def test_greedy_and_proof_of_the_columns_agree_with_vertices() -> None:
    rng = np.random.default_rng(5)
    for _ in range(30):
        size, count = rng.integers(2, 6, 2)
        allowed = rng.random((size, count)) < 0.7
        allowed[:, 0] = rng.random(size) < 0.9
        allowed[rng.integers(0, size), :] = True
        p = rng.dirichlet(np.ones(size))
        columns = MaskColumns(allowed, p)
        y = rng.standard_normal(size)
        proven = columns.proven(y)
        for output in range(count):
            letters = np.flatnonzero(allowed[:, output]).tolist()
            ratio = max(2.0, float(columns.breakpoints[output]))
            best = max(float(y @ column) for column in vertices(letters, p, ratio))
            assert columns.greedy(columns.per_pair(y), ratio).values[output] == pytest.approx(best, abs=1e-9)
            # Below what is proven, no usable output has y·λ > 0.
            if math.isfinite(proven) and columns.breakpoints[output] < proven * (1 - 1e-9):
                below = vertices(letters, p, proven * (1 - 1e-9))
                assert max(float(y @ column) for column in below) <= 1e-7


def test_levels_that_cannot_be_met() -> None:
    never = [[0, -np.inf], [-np.inf, 0]]
    with pytest.raises(lw.Infeasible, match=r"below every level.*0\.69314718"):
        lw.design([0.5, 0.5], epsilon=0.1, utility=lw.WorstCase(never))
    with pytest.raises(lw.Infeasible, match="nearest level that works is 2"):
        lw.utility_safe([0.5, 0.5], [[1, 2], [4, 3]], 3)
    with pytest.raises(lw.Infeasible, match="No level works"):
        lw.worst_case_curve([0.5, 0.5], [[-np.inf, -np.inf], [0, 1]])
    with pytest.raises(lw.Infeasible, match="below every level"):
        lw.worst_case_curve([0.5, 0.5], never).best_level(0.1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: lw.WorstCase([[1, float("nan")]]), "NaN|nan"),
        (lambda: lw.WorstCase([[1, float("inf")]]), "inf in row 0"),
        (lambda: lw.WorstCase([1, 2]), "one row per letter"),
        (lambda: lw.WorstCase([["a"]]), "matrix of numbers"),
        (lambda: lw.WorstCase([[1, 2]], by="rank"), "by must be one of"),
        (lambda: lw.WorstCase([[1, 2]], outputs=["a"]), "outputs must be as many"),
        (lambda: lw.utility_safe([0.5, 0.5], [[1, 2]], 1), "1 rows for the 2 letters"),
        (lambda: lw.utility_safe([0.5, 0.5], [[1], [2]], "x"), "threshold must be a number"),
        (lambda: lw.utility_safe([0.5, 0.5], [[1], [2]], float("nan")), "NaN"),
        (lambda: lw.design([0.5, 0.5], utility=lw.WorstCase([[1], [2]])), r"epsilon= .* or lift="),
        (
            lambda: lw.design([0.5, 0.5], epsilon=1, ldp=1, utility=lw.WorstCase([[1], [2]])),
            "do not go with lw.WorstCase",
        ),
        (
            lambda: lw.design(
                [0.5, 0.5], epsilon=0.5, utility=lw.WorstCase([[1, 0], [0, 1]], then=lw.Expected(np.eye(3)[:2]))
            ),
            "one column per output",
        ),
        (
            lambda: lw.design([0.5, 0.5], epsilon=0.5, utility=lw.WorstCase([[1, 0], [0, 1]], then="frequencies")),
            "then= must be",
        ),
        (
            lambda: lw.design(
                lw.Prior.uniform(2).ball(0.1), epsilon=1, utility=lw.WorstCase(np.eye(2), then="guessing")
            ),
            "single prior",
        ),
        (lambda: lw.distance_utility(["a", "b"]), "ordered_utility"),
        (lambda: lw.distance_utility([1, 2], power=0), "power must be"),
        (lambda: lw.ordered_utility(["a", "a"]), "differ"),
        (lambda: lw.ordered_utility(["a", "b"], ["c"]), "among the labels"),
        (lambda: pml_exponential(lw.Prior.uniform(2), [[0, -np.inf], [0, 0]], 0.1), "finite"),
    ],
)
def test_errors_name_the_way_out(call: Any, words: str) -> None:
    with pytest.raises(lw.InvalidInput, match=words):
        call()


def test_a_set_of_priors_has_levels_too() -> None:
    found = lw.design(UNIFORM.ball("0.1"), lift=3, utility=lw.WorstCase(COUNTING, by="order"))
    assert found.level == 5
    assert found.epsilon == pytest.approx(lw.least_leakage(UNIFORM.ball("0.1"), found.least.mask.allowed).epsilon)
    assert found.epsilon > math.log(2)


def test_ties_have_equal_ranks() -> None:
    assert Levels(np.array([[1.0, 1.0, 0.0]]), "order").mask(3).allowed.tolist() == [[True, True, False]]


def test_utilities_from_a_file(tmp_path: Any) -> None:
    path = tmp_path / "utility.csv"
    path.write_text("what,low,high\nb,never,0\na,0,-1.5\n", encoding="utf-8")
    matrix, letters, outputs = lw.read_utility(path)
    assert (letters, outputs) == (("b", "a"), ("low", "high"))
    assert matrix.tolist() == [[-np.inf, 0.0], [0.0, -1.5]]
    aligned, _, _ = lw.read_utility(path, lw.Prior({"a": 0.5, "b": 0.5}))
    assert aligned.tolist() == [[0.0, -1.5], [-np.inf, 0.0]]
    with pytest.raises(lw.InvalidInput, match="lacks 'c'"):
        lw.read_utility(path, lw.Prior({"a": 0.5, "c": 0.5}))
    for text, words in (
        ("what\na\n", "first row"),
        ("w,x,y\na,1\n", "same length"),
        ("w,x\na,1\na,2\n", "differ"),
        ("w,x\na,nan\n", "'nan'"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(lw.InvalidInput, match=words):
            lw.read_utility(path)
    with pytest.raises(lw.InvalidInput, match="Cannot read"):
        lw.read_utility(tmp_path / "none.csv")
