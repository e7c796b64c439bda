"""Compositions: count vectors against all M^n outputs."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product as tuples

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from strategies import Matrix, exact_matrix, matrices


def brute_force(matrix: Matrix, times: int) -> dict[tuple[int, ...], list[Fraction]]:
    """For every count vector the probability given each letter, by adding up all M^n outputs."""
    found: dict[tuple[int, ...], list[Fraction]] = {}
    for outcome in tuples(range(len(matrix[0])), repeat=times):
        counts = tuple(outcome.count(j) for j in range(len(matrix[0])))
        here = found.setdefault(counts, [Fraction(0)] * len(matrix))
        for letter, row in enumerate(matrix):
            here[letter] += math.prod((row[j] for j in outcome), start=Fraction(1))
    return found


@settings(max_examples=40)
@given(matrices(columns=2), st.integers(1, 8))
def test_binary_repetition_is_brute_force(matrix: Matrix, times: int) -> None:
    m = lw.Mechanism(matrix)
    joint = m.repeat(times)
    if joint.parts[0].shape[1] < 2 or joint.parts[0].outputs != m.outputs:
        return  # an outcome was impossible or both were proportional
    expected = brute_force(matrix, times)
    rows = exact_matrix(joint)
    for place, label in enumerate(joint.outputs):
        counts = label if times > 1 else tuple(int(outcome == label) for outcome in m.outputs)
        assert [row[place] for row in rows] == expected[counts]  # type: ignore[index]


@settings(max_examples=20)
@given(matrices(columns=3, zeros=False), st.integers(2, 5))
def test_ternary_repetition_is_brute_force(matrix: Matrix, times: int) -> None:
    joint = lw.Mechanism(matrix).repeat(times)
    if joint.parts[0].shape[1] < 3:
        return
    expected = brute_force(matrix, times)
    assert joint.count_vectors == len(expected) == math.comb(times + 2, 2)
    rows = exact_matrix(joint)
    for place, label in enumerate(joint.outputs):
        assert [row[place] for row in rows] == expected[label]  # type: ignore[index]
    assert all(sum(row) == 1 for row in rows)


@settings(max_examples=30)
@given(matrices(rows=3), matrices(rows=3))
def test_two_mechanisms_are_the_product(first: Matrix, second: Matrix) -> None:
    joint = lw.compose(lw.Mechanism(first), lw.Mechanism(second))
    prior = lw.Prior.uniform(3)
    product = [[a * b for a in one for b in two] for one, two in zip(first, second, strict=True)]
    direct = lw.Mechanism(product)
    assert lw.epsilon(joint, prior) == pytest.approx(lw.epsilon(direct, prior), abs=1e-14)
    assert lw.maximal_leakage(joint, prior) == pytest.approx(lw.maximal_leakage(direct, prior), abs=1e-14)
    assert lw.mutual_information(joint, prior) == pytest.approx(lw.mutual_information(direct, prior), abs=1e-12)


def test_equal_mechanisms_are_counted_together() -> None:
    rr, other = lw.randomized_response(2, lift=3), lw.Mechanism([["0.9", "0.1"], ["0.5", "0.5"]])
    joint = lw.compose(rr, other, rr, rr.repeat(2))
    assert joint.counts == (4, 1)
    assert joint.releases == 5
    assert joint.outputs[0] == ((4, 0), 0)
    assert joint.shape == (2, 10)
    assert "5 releases" in repr(joint)
    assert "5 releases" in joint._repr_html_()


def test_letters_are_matched_by_name() -> None:
    first = lw.Mechanism([["0.9", "0.1"], ["0.2", "0.8"]], inputs=["a", "b"])
    second = lw.Mechanism([["0.2", "0.8"], ["0.9", "0.1"]], inputs=["b", "a"])
    joint = lw.compose(first, second)
    assert joint.inputs == ("a", "b")
    assert joint.counts == (2,)
    with pytest.raises(lw.InvalidInput, match="values"):
        lw.compose(first, lw.Mechanism([[1, 0], [0, 1]], inputs=["a", "c"]))


def test_a_composition_is_a_mechanism() -> None:
    joint = lw.randomized_response(2, lift=3).repeat(3)
    assert joint.sample(0, unsafe_seed=1) in joint.outputs if joint.denominator == 1 << 6 else True
    assert joint.then([[1, 0], [1, 0], [0, 1], [0, 1]]).shape == (2, 2)  # the majority
    assert joint.repeat(2).releases == 6
    with pytest.raises(AttributeError):
        joint.counts = (1,)  # type: ignore[misc]


@pytest.mark.parametrize("times", [0, -1, 1.5, True, "2"])
def test_times_is_checked(times: object) -> None:
    with pytest.raises(lw.InvalidInput, match="times"):
        lw.randomized_response(2, lift=3).repeat(times)  # type: ignore[arg-type]


def test_arguments_are_checked() -> None:
    with pytest.raises(lw.InvalidInput, match="at least one"):
        lw.compose()
    with pytest.raises(lw.InvalidInput, match="Argument 2"):
        lw.compose(lw.identity(2), [[1, 0], [0, 1]])  # type: ignore[arg-type]


def test_what_does_not_fit_says_so() -> None:
    many = lw.randomized_response(6, epsilon=1.0).repeat(200)
    assert not many.enumerable
    assert many.count_vectors == math.comb(205, 5)
    with pytest.raises(lw.InvalidInput, match=r"2,872,408,791 count vectors.*composition_bounds"):
        lw.pml(many, lw.Prior.uniform(6))


def test_zeros_stay_zero() -> None:
    m = lw.Mechanism([[1, 0, 0], ["1/2", "1/2", 0], [0, "1/4", "3/4"]])
    joint = m.repeat(4)
    rows = exact_matrix(joint)
    assert rows[0][0] == 1
    assert all(value == 0 for value in rows[0][1:])
    assert all(sum(row) == 1 for row in rows)
