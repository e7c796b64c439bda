"""Draws by the inverse of the distribution function: exact, and for each row whatever stands around it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakwise.errors import InvalidInput
from leakwise.sampling import InverseSampler


def outcome(row: list[int], bits: int, word: int) -> int:
    """The definition: the first outcome whose share of the words, with all before it, reaches beyond the word."""
    total = Fraction(0)
    for place, weight in enumerate(row):
        total += Fraction(weight, 1 << bits)
        if Fraction(word, 1 << 64) < total:
            return place
    raise AssertionError


@given(st.data())
def test_a_word_stands_for_the_outcome_of_the_definition_in_whatever_matrix_its_row_is(data):
    matrices, rows = [], []
    for _ in range(data.draw(st.integers(1, 3))):
        bits = data.draw(st.integers(1, 64))
        outcomes = data.draw(st.integers(1, 4))
        matrix = []
        for _ in range(data.draw(st.integers(1, 3))):
            cuts = sorted(data.draw(st.integers(0, 1 << bits)) for _ in range(outcomes - 1))
            matrix.append([high - low for low, high in zip([0, *cuts], [*cuts, 1 << bits], strict=True)])
        matrices.append((np.array(matrix, dtype=object), bits, np.arange(outcomes)))
        rows += [(row, bits) for row in matrix]
    sampler = InverseSampler(matrices)
    for place, (row, bits) in enumerate(rows):
        edges = {0, (1 << 64) - 1, data.draw(st.integers(0, 2**64 - 1))}
        for cut in np.cumsum(np.array(row, dtype=object)):
            edges |= {(int(cut) << (64 - bits)) + step for step in (-1, 0)}
        words = [word for word in edges if 0 <= word < 1 << 64]
        drawn = sampler.draw_from_words(np.full(len(words), place), np.array(words, dtype=np.uint64))
        assert drawn.tolist() == [outcome(row, bits, word) for word in words]


def test_outcomes_are_named_by_their_place_among_all():
    sampler = InverseSampler([([[1, 1]], 1, [4, 2]), ([[2, 0]], 1, [0, 1])])
    drawn = sampler.draw_from_words(np.array([0, 0, 1]), np.array([0, 2**64 - 1, 2**64 - 1], dtype=np.uint64))
    assert drawn.tolist() == [4, 2, 0]


def test_rows_that_do_not_add_up_are_refused():
    with pytest.raises(InvalidInput, match="sum to"):
        InverseSampler([([[1, 2]], 1, [0, 1])])
