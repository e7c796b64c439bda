"""The structured kernel answers every question as its matrix would."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakwise.errors import InvalidInput
from leakwise.mechanism import CommonLawKernel, DenseKernel
from strategies import Matrix, common_laws, matrices

Law = tuple[list[int], int]


def kernels(law: Law) -> tuple[CommonLawKernel, DenseKernel, list[list[int]]]:
    common, denominator = law
    diagonal = denominator - sum(common)
    rows = [[weight + diagonal * (i == j) for j, weight in enumerate(common)] for i in range(len(common))]
    sparse = CommonLawKernel(np.array(common, dtype=object), denominator)
    return sparse, DenseKernel(np.array(rows, dtype=object), denominator), rows


@given(common_laws())
def test_rows(law: Law) -> None:
    sparse, dense, rows = kernels(law)
    assert sparse.weights.tolist() == dense.weights.tolist() == rows
    assert all(sum(row) == law[1] for row in rows)
    assert [sparse.row(code).tolist() for code in range(len(rows))] == rows
    assert [dense.row(code).tolist() for code in range(len(rows))] == rows
    assert sparse.shape == dense.shape == (len(rows), len(rows))
    assert sparse.matrix.tolist() == dense.matrix.tolist()


@given(common_laws(), st.data())
def test_column_extremes(law: Law, data: st.DataObject) -> None:
    """Over all rows, over some, over one alone; with diagonals of either sign."""
    sparse, dense, rows = kernels(law)
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)).filter(any)))
    chosen = [row for row, taken in zip(rows, mask, strict=True) if taken]
    for kernel in (sparse, dense):
        assert kernel.column_max().tolist() == [max(column) for column in zip(*rows, strict=True)]
        assert kernel.column_min().tolist() == [min(column) for column in zip(*rows, strict=True)]
        assert kernel.column_max(mask).tolist() == [max(column) for column in zip(*chosen, strict=True)]
        assert kernel.column_min(mask).tolist() == [min(column) for column in zip(*chosen, strict=True)]


@given(common_laws(), st.data(), st.sampled_from([1, 2**40, 2**90]))
def test_output_laws(law: Law, data: st.DataObject, scale: int) -> None:
    sparse, dense, rows = kernels(law)
    weights = [
        scale * w for w in data.draw(st.lists(st.integers(0, 50), min_size=len(rows), max_size=len(rows)).filter(any))
    ]
    total = sum(weights)
    exact = [sum(w * row[j] for w, row in zip(weights, rows, strict=True)) for j in range(len(rows))]
    prior = np.array(weights, dtype=np.int64 if total < 2**61 else object)
    for kernel in (sparse, dense):
        assert kernel.output_law(prior) == exact
        floats = kernel.output_law_floats(prior, total)
        for found, weight in zip(floats.tolist(), exact, strict=True):
            truth = Fraction(weight, total * law[1])
            assert abs(Fraction(found) - truth) <= truth * Fraction(len(rows) + 8, 2**53)


@given(matrices(), st.data())
def test_output_laws_of_any_matrix(matrix: Matrix, data: st.DataObject) -> None:
    denominator = int(np.lcm.reduce([entry.denominator for row in matrix for entry in row], dtype=object))
    rows = [[int(entry * denominator) for entry in row] for row in matrix]
    kernel = DenseKernel(np.array(rows, dtype=object), denominator)
    weights = data.draw(st.lists(st.integers(0, 2**70), min_size=len(rows), max_size=len(rows)).filter(any))
    exact = [sum(w * row[j] for w, row in zip(weights, rows, strict=True)) for j in range(len(rows[0]))]
    assert kernel.output_law(np.array(weights, dtype=object)) == exact


@given(common_laws(), st.data())
def test_rows_in_another_order(law: Law, data: st.DataObject) -> None:
    sparse, dense, rows = kernels(law)
    order = data.draw(st.permutations(range(len(rows))))
    for kernel in (sparse, dense):
        assert kernel.take_rows(np.array(order)).weights.tolist() == [rows[place] for place in order]
    assert sparse.take_rows(np.arange(len(rows))) is sparse


@pytest.mark.parametrize("common", [[-1, 2], [3, 0], [2, 2, 1], [2**70, 0], [2**63 - 1] * 4])
def test_laws_that_are_none(common: list[int]) -> None:
    with pytest.raises(InvalidInput, match="between 0 and the denominator"):
        CommonLawKernel(np.array(common, dtype=object), 2)


def test_sums_of_words_do_not_wrap() -> None:
    with pytest.raises(InvalidInput, match="between 0 and the denominator"):
        CommonLawKernel(np.full(16, 1 << 60, dtype=np.int64), 1 << 60)


def test_words_beyond_the_machine() -> None:
    sparse, dense, rows = kernels(([3**60, 2 * 3**60], 7 * 3**60))
    assert sparse.common.dtype == np.object_
    assert sparse.weights.tolist() == dense.weights.tolist() == rows
    assert sparse.column_max().tolist() == dense.column_max().tolist()


def test_a_million_letters_have_no_matrix() -> None:
    kernel = CommonLawKernel(np.full(10**6, 1, dtype=np.int64), 1 << 60)
    with pytest.raises(InvalidInput, match=r"1,000,000 × 1,000,000 entries is too large.*need no matrix"):
        _ = kernel.weights
    assert kernel.column_max()[0] == 1 + kernel.diagonal
    assert kernel.column_min()[0] == 1
