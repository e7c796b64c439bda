"""Every named mechanism keeps its promise in exact integers, and comes close to it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import leakwise as lw
from leakwise.errors import InvalidInput
from leakwise.exact import exp_lower, exp_upper
from leakwise.mechanism import CommonLawKernel, Mechanism
from strategies import exact_matrix, exp_bracket, laws, ldp_ratio, pml_ratio

UNIT = 1 << 60

epsilons = st.one_of(st.floats(0, 12), st.sampled_from([0.0, 1e-300, 1e-18, 1e-12, 20.0, 41.0, 60.0, 5000.0]))
sizes = st.integers(2, 7)


def stays_below(ratio: Fraction | None, epsilon: float) -> bool:
    """ratio ≤ e^ε, decided by the series."""
    return ratio is not None and ratio <= exp_bracket(Fraction(epsilon))[0] if epsilon else ratio == 1


# -- randomized response ---------------------------------------------------------------------------------------


@given(sizes, epsilons)
def test_randomized_response_keeps_its_ldp(size: int, epsilon: float) -> None:
    m = lw.randomized_response(size, epsilon)
    ratio = ldp_ratio(exact_matrix(m))
    assert m.denominator == UNIT
    assert stays_below(ratio, epsilon)
    if 1e-12 <= epsilon <= 12:  # beyond, the least integer is the limit
        assert ratio is not None
        assert ratio >= exp_lower(Fraction(epsilon)) * (1 - Fraction(1, 10**12))


@given(sizes, st.fractions(min_value=1, max_value=1000, max_denominator=1000))
def test_randomized_response_by_lift(size: int, lift: Fraction) -> None:
    ratio = ldp_ratio(exact_matrix(lw.randomized_response(size, lift=lift)))
    assert ratio is not None
    assert lift * (1 - Fraction(1, 10**12)) <= ratio <= lift


@given(st.integers(2, 40))
def test_randomized_response_that_may_leak_nothing_leaks_nothing(size: int) -> None:
    m = lw.randomized_response(size, epsilon=0)
    rows = exact_matrix(m)
    assert all(row == rows[0] for row in rows)
    assert max(rows[0]) - min(rows[0]) <= Fraction(1, UNIT)


@given(sizes.flatmap(laws), st.floats(0, 6), st.data())
def test_randomized_response_by_pml(law: list[Fraction], epsilon: float, data: st.DataObject) -> None:
    """[EX] (9): PML at most ε, and ε itself wherever ε < ε_max."""
    m = lw.randomized_response(len(law), pml=epsilon, prior=law)
    ratio = pml_ratio(exact_matrix(m), law)
    most = 1 / min(mass for mass in law if mass)
    assert ratio <= exp_upper(Fraction(epsilon)) or ratio == most <= exp_upper(Fraction(epsilon))
    assert stays_below(ratio, epsilon) or ratio <= exp_bracket(Fraction(epsilon))[1]
    assert ratio >= min(exp_lower(Fraction(epsilon)), most) * (1 - Fraction(1, 10**12))


def test_randomized_response_by_pml_matches_the_formula() -> None:
    prior = lw.Prior({"a": "0.5", "b": "0.3", "c": "0.2"})
    t = math.exp(0.7)
    m = lw.randomized_response(["c", "a", "b"], pml=0.7, prior=prior)
    expected = t * 0.8 / (1 - 0.2 * t)
    assert m.inputs == ("c", "a", "b")
    assert m.matrix[0, 0] / m.matrix[0, 1] == pytest.approx(expected, rel=1e-14)
    assert lw.randomized_response(prior.labels, pml=1.61, prior=prior) == lw.identity(prior.labels)
    assert lw.randomized_response(prior.labels, pml=1.6, prior=prior) != lw.identity(prior.labels)


@given(sizes, st.fractions(min_value=0, max_value=1, max_denominator=1000))
def test_symmetric_channel(size: int, flip: Fraction) -> None:
    m = lw.symmetric_channel(size, flip)
    assert m == lw.randomized_response(size, flip=flip)
    rows = exact_matrix(m)
    assert len({rows[i][j] for i in range(size) for j in range(size) if i != j}) == 1
    assert len({rows[i][i] for i in range(size)}) == 1
    assert abs(1 - rows[0][0] - flip) <= Fraction(size, UNIT)
    assert flip or m == lw.identity(size)


@pytest.mark.parametrize("letters", [1, ["only"]])
def test_a_single_letter(letters: Any) -> None:
    one = [[Fraction(1)]]
    for m in (
        lw.identity(letters),
        lw.constant(letters),
        lw.randomized_response(letters, 1.0),
        lw.randomized_response(letters, flip=0),
        lw.randomized_response(letters, pml=0.5, prior=[1]),
        lw.k_singular(letters, 1),
        lw.truncated_geometric(letters, 1.0),
        lw.exponential([[3.0]], 1.0),
    ):
        assert exact_matrix(m) == one
    with pytest.raises(InvalidInput, match="flip must be 0 with a single letter"):
        lw.symmetric_channel(letters, 0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "exactly one of .* Got none"),
        ({"epsilon": 1, "flip": 0.1}, "Got epsilon, flip"),
        ({"epsilon": 1, "lift": 2}, "Got epsilon, lift"),
        ({"epsilon": -1}, "epsilon must be at least 0"),
        ({"epsilon": math.nan}, "epsilon must be finite"),
        ({"epsilon": math.inf}, "epsilon must be finite"),
        ({"lift": 0.5}, "lift must be at least 1"),
        ({"flip": -0.1}, "between 0 and 1"),
        ({"flip": 1.1}, "between 0 and 1"),
        ({"flip": math.nan}, "flip must be finite"),
        ({"flip": 1e-300}, "too small for the denominator"),
        ({"flip": 1 - Fraction(1, 2**80)}, "too close to 1"),
        ({"pml": 1}, "pml= and prior= go together"),
        ({"epsilon": 1, "prior": [0.5, 0.5]}, "pml= and prior= go together"),
        ({"pml": -1, "prior": [0.5, 0.5]}, "pml must be at least 0"),
        ({"pml": 1, "prior": [0.5, 0.25, 0.25]}, "2 values and the prior has 3"),
        ({"pml": 1, "prior": {"a": 0.5, "c": 0.5}}, "does not have: 'b'"),
        ({"pml": 1, "prior": 5}, "prior must be"),
    ],
)
def test_bad_randomized_response(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        lw.randomized_response(["a", "b"], **arguments)


@pytest.mark.parametrize("letters", [0, -1, [], ["a", "a"], "ab", 2.5, None, {"a": 1}])
@pytest.mark.parametrize(
    "make",
    [
        lw.identity,
        lw.constant,
        lambda letters: lw.randomized_response(letters, 1.0),
        lambda letters: lw.k_singular(letters, 1),
        lambda letters: lw.truncated_geometric(letters, 1.0),
        lambda letters: lw.symmetric_channel(letters, 0.1),
    ],
)
def test_bad_letters(make: Any, letters: Any) -> None:
    with pytest.raises(InvalidInput, match="letters must"):
        make(letters)


# -- identity, constant, k-singular ----------------------------------------------------------------------------


@given(st.lists(st.text(max_size=3), min_size=1, max_size=6, unique=True))
def test_identity_and_constant(labels: list[str]) -> None:
    m = lw.identity(labels)
    assert m.inputs == m.outputs == tuple(labels)
    assert exact_matrix(m) == [[Fraction(int(i == j)) for j in range(len(labels))] for i in range(len(labels))]
    assert [m.sample(label) for label in labels] == labels
    assert exact_matrix(lw.constant(labels)) == [[Fraction(1)]] * len(labels)
    assert lw.constant(labels).outputs == ("*",)
    assert m.then(lw.constant(labels)) == lw.constant(labels)


@given(sizes.flatmap(laws), st.integers(1, 4))
def test_constant_with_a_law(law: list[Fraction], letters: int) -> None:
    rows = exact_matrix(lw.constant(letters, law=law))
    assert len(rows) == letters
    assert all(row == rows[0] for row in rows)
    assert all(abs(a - b) < Fraction(1, UNIT) for a, b in zip(rows[0], law, strict=True))


def test_constant_keeps_the_labels_of_its_law() -> None:
    m = lw.constant(2, law={"x": 0.25, "y": 0.75})
    assert m.outputs == ("x", "y")
    assert m.matrix.tolist() == [[0.25, 0.75]] * 2
    with pytest.raises(InvalidInput, match="too small for the denominator"):
        lw.constant(2, law=[1e-300, 1.0])
    with pytest.raises(InvalidInput, match=r"law must be|sum to 1"):
        lw.constant(2, law=[0.5, 0.6])


@given(st.data())
def test_k_singular_is_doubly_stochastic(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 9))
    k = data.draw(st.integers(1, size))
    rows = exact_matrix(lw.k_singular(size, k))
    assert {entry for row in rows for entry in row} <= {Fraction(0), Fraction(1, k)}
    assert all(sum(row) == 1 for row in rows)
    assert all(sum(column) == 1 for column in zip(*rows, strict=True))
    # The optimum of the uniform prior at ε = log(N/k) leaks exactly that ([EX] T4).
    assert pml_ratio(rows, [Fraction(1, size)] * size) == Fraction(size, k)


@pytest.mark.parametrize("k", [0, 4, -1, True, 1.5, "2", None])
def test_bad_k(k: Any) -> None:
    with pytest.raises(InvalidInput, match="k must be a whole number from 1 to the number of letters"):
        lw.k_singular(3, k)


# -- truncated geometric ---------------------------------------------------------------------------------------


def neighbour_ratio(rows: list[list[Fraction]]) -> Fraction | None:
    ratios = [ldp_ratio([rows[i], rows[i + 1]]) for i in range(len(rows) - 1)]
    return None if None in ratios else max(ratio for ratio in ratios if ratio is not None)


@given(st.integers(2, 12), epsilons)
def test_truncated_geometric_keeps_its_promise_for_neighbours(size: int, epsilon: float) -> None:
    m = lw.truncated_geometric(size, epsilon)
    ratio = neighbour_ratio(exact_matrix(m))
    assert m.denominator == UNIT
    assert stays_below(ratio, epsilon)
    if 1e-3 <= epsilon <= 12:
        assert ratio is not None
        assert ratio >= exp_lower(Fraction(epsilon)) * (1 - Fraction(1, 10**11))


@given(st.integers(2, 8), st.fractions(min_value=Fraction(101, 100), max_value=20, max_denominator=100))
def test_truncated_geometric_is_geometric_noise(size: int, lift: Fraction) -> None:
    """P(j|i) = (1-a)/(1+a) a^|i-j| inside, and the tails a^|i-j|/(1+a) on the ends."""
    a = 1 / lift
    rows = exact_matrix(lw.truncated_geometric(size, lift=lift))
    for i in range(size):
        for j in range(size):
            inside = 0 < j < size - 1
            expected = a ** abs(i - j) / (1 + a) * ((1 - a) if inside else 1)
            assert abs(rows[i][j] - expected) <= Fraction(1, 10**9)


def test_truncated_geometric_over_many_letters() -> None:
    for size, lift in ((300, 2), (200, 1.01), (150, 10**30)):
        rows = exact_matrix(lw.truncated_geometric(size, lift=lift))
        ratio = neighbour_ratio(rows)
        assert ratio is not None
        assert ratio <= Fraction(lift)
        assert min(min(row) for row in rows) > 0


def test_truncated_geometric_looks_and_errors() -> None:
    assert lw.truncated_geometric(["low", "mid", "high"], lift=2).outputs == ("low", "mid", "high")
    assert lw.truncated_geometric(4, 0).matrix.tolist() == [[0.5, 0, 0, 0.5]] * 4
    with pytest.raises(InvalidInput, match="Got neither"):
        lw.truncated_geometric(3)
    with pytest.raises(InvalidInput, match="at least 0"):
        lw.truncated_geometric(3, -1)
    with pytest.raises(InvalidInput, match="too large to write out"):
        lw.truncated_geometric(10**6, 1.0)
    with pytest.raises(InvalidInput, match="too large to write out"):
        lw.k_singular(10**6, 2)


# -- exponential -----------------------------------------------------------------------------------------------


@st.composite
def utilities(draw: st.DrawFn) -> list[list[float]]:
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    entry = st.integers(-40, 40).map(lambda step: step / 4)
    return [[draw(entry) for _ in range(columns)] for _ in range(rows)]


@given(utilities(), epsilons)
def test_exponential_keeps_its_ldp(utility: list[list[float]], epsilon: float) -> None:
    plain, tight = lw.exponential(utility, epsilon), lw.exponential(utility, epsilon, tight=True)
    ratio, tight_ratio = ldp_ratio(exact_matrix(plain)), ldp_ratio(exact_matrix(tight))
    assert stays_below(ratio, epsilon)
    assert stays_below(tight_ratio, epsilon)
    assert plain.denominator == tight.denominator == UNIT
    assert ratio is not None
    assert tight_ratio is not None
    if tight.weights.min() > 1:  # beneath, the least integer caps the ratio
        assert tight_ratio >= ratio * (1 - Fraction(1, 10**12))
    # Never less useful, for any letter.
    for scores, row, tight_row in zip(utility, exact_matrix(plain), exact_matrix(tight), strict=True):
        plain_value = sum(Fraction(score) * mass for score, mass in zip(scores, row, strict=True))
        tight_value = sum(Fraction(score) * mass for score, mass in zip(scores, tight_row, strict=True))
        assert tight_value >= plain_value - Fraction(1, 10**12)


@given(utilities(), st.floats(0.01, 6))
def test_exponential_is_exponential(utility: list[list[float]], epsilon: float) -> None:
    scores = np.array(utility)
    spread = np.ptp(scores, axis=0).max()
    assume(spread > 0)
    expected = np.exp(epsilon * (scores - scores.max(axis=1, keepdims=True)) / (2 * spread))
    expected /= expected.sum(axis=1, keepdims=True)
    assert lw.exponential(utility, epsilon).matrix == pytest.approx(expected, rel=1e-9, abs=1e-15)


@given(utilities(), st.floats(0.1, 6))
def test_tight_exponential_uses_what_it_may(utility: list[list[float]], epsilon: float) -> None:
    """Where the ratio reaches ε at all, the tight version comes to it."""
    scores = np.array(utility)
    assume(np.ptp(scores, axis=0).max() > 0)
    m = lw.exponential(utility, epsilon, tight=True)
    ratio = ldp_ratio(exact_matrix(m))
    centred = scores - scores.max(axis=1, keepdims=True)
    if np.ptp(centred, axis=0).max() > 0.2:
        # A weight of w units is the right one to half a unit, so that ratios come in steps of about 1/w.
        step = Fraction(2, int(m.weights.min()))
        assert ratio is not None
        assert ratio >= exp_lower(Fraction(epsilon)) * (1 - Fraction(1, 10**9) - step)


def test_tight_exponential_does_not_climb_into_the_rounding() -> None:
    """All rows like the last outcome best: at a large enough scale every integer row would be the same one."""
    ratio = ldp_ratio(exact_matrix(lw.exponential([[0, 0, 0.25], [0, 0, 0.5]], 20.0, tight=True)))
    assert ratio is not None
    assert ratio >= exp_lower(Fraction(20)) * Fraction(4, 5)  # the rarest outcome is five integers wide


def test_exponential_with_a_flat_utility_says_nothing() -> None:
    rows = exact_matrix(lw.exponential([[1, 2], [1, 2]], 1.0, tight=True))
    assert rows[0] == rows[1]


def test_exponential_with_labels_and_sensitivity() -> None:
    m = lw.exponential([[1, 0], [0, 1]], 1.0, inputs=["a", "b"], outputs=["x", "y"])
    assert (m.inputs, m.outputs) == (("a", "b"), ("x", "y"))
    wide = lw.exponential([[1, 0], [0, 1]], 2.0, sensitivity=2)
    assert wide.matrix == pytest.approx(lw.exponential([[1, 0], [0, 1]], 1.0).matrix, rel=1e-12)


def test_exponential_of_extreme_utilities() -> None:
    for utility in ([[1e300, 0], [0, 1e300]], [[1e-300, 0], [0, 1e-300]], [[0, 1e10], [1e-290, 1e10]]):
        for tight in (False, True):
            assert stays_below(ldp_ratio(exact_matrix(lw.exponential(utility, 2.0, tight=tight))), 2.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"utility": [[1, math.nan]], "epsilon": 1}, "matrix of finite numbers"),
        ({"utility": [[1, math.inf]], "epsilon": 1}, "matrix of finite numbers"),
        ({"utility": [], "epsilon": 1}, "matrix of finite numbers"),
        ({"utility": [1, 2], "epsilon": 1}, "matrix of finite numbers"),
        ({"utility": [["a", "b"]], "epsilon": 1}, "matrix of numbers"),
        ({"utility": [[1, 2], [1]], "epsilon": 1}, "matrix of numbers"),
        ({"utility": [[1e308], [-1e308]], "epsilon": 1}, "more than a float can hold"),
        ({"utility": [[1e308, -1e308]], "epsilon": 1}, "more than a float can hold"),
        ({"utility": [[5e-324], [0]], "epsilon": 1}, "too little for a float"),
        ({"utility": [[1, 2]], "epsilon": -1}, "at least 0"),
        ({"utility": [[1, 2]]}, "Got neither"),
        ({"utility": [[1, 0], [0, 1]], "epsilon": 1, "sensitivity": 0.5}, "sensitivity must be at least 1"),
        ({"utility": [[1, 0], [0, 1]], "epsilon": 1, "sensitivity": math.nan}, "sensitivity must be"),
        ({"utility": [[1, 0], [0, 1]], "epsilon": 1, "sensitivity": -1}, "sensitivity must be at least 1"),
        ({"utility": [[1, 0], [0, 1]], "epsilon": 1, "sensitivity": "big"}, "sensitivity must be a number"),
        ({"utility": [[1, 0], [0, 1]], "epsilon": 1, "inputs": ["a"]}, "inputs must be as many"),
    ],
)
def test_bad_exponential(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        lw.exponential(**arguments)


# -- size ------------------------------------------------------------------------------------------------------


def test_a_million_letters_in_linear_memory() -> None:
    """No question below makes a matrix, which would be refused (and would take 8 TB)."""
    size = 10**6
    m = lw.randomized_response(size, 3.0)
    assert isinstance(m.kernel, CommonLawKernel)
    again = m.then(lw.randomized_response(size, lift=5))
    assert isinstance(again.kernel, CommonLawKernel)
    assert m == lw.randomized_response(size, 3.0)
    assert m != again
    largest, smallest = m.kernel.column_max(), m.kernel.column_min()
    assert Fraction(int(largest[0]), int(smallest[0])) <= exp_bracket(Fraction(3))[1]
    assert m.kernel.output_law(np.ones(size, dtype=np.int64)) == [m.denominator] * size
    assert 0 <= m.sample(size - 1) < size
    assert "too large to show" in repr(m)
    with pytest.raises(InvalidInput, match="too large to write out"):
        _ = m.matrix


def test_mechanisms_of_many_letters_go_to_files(tmp_path: Any) -> None:
    m = lw.randomized_response(10**5, 1.0)
    m.save(tmp_path / "m.json")
    assert Mechanism.load(tmp_path / "m.json") == m
