"""The sampler of codes: every outcome on exactly as many words as its weight says."""

from __future__ import annotations

import numpy as np
import pytest

from leakwise.errors import InvalidInput
from leakwise.sampling import CodeSampler, SecureStream

FUNCTIONS = np.array([[1, 0], [0, 1], [1, 1], [2, 1]])
DIGITS = np.array([[0, 0], [1, 2], [2, 2], [0, 1]])


def weights(raised, low, step, bits):
    symbols = DIGITS @ FUNCTIONS.T % 3
    inside = (symbols[:, :, None] - np.arange(3)) % 3 < raised
    found = (low + step[:, None] * inside).reshape(len(DIGITS), -1)
    rest = (1 << bits) - found.sum(axis=1, keepdims=True)
    return np.concatenate([found, rest], axis=1) if rest.any() else found


@pytest.mark.parametrize("raised", [1, 2])
@pytest.mark.parametrize("places_without", [False, True])
def test_over_all_words_every_outcome_comes_as_often_as_it_weighs(raised, places_without):
    low, step = np.array([[1, 0, 2], [0, 0, 0], [3, 1, 1], [0, 2, 0]]), np.array([2, 0, 1, 3])
    if not places_without:
        step = step + 1
    bits = int(low.sum() + raised * step.sum()).bit_length()
    sampler = CodeSampler(DIGITS, FUNCTIONS, 3, raised, low, step, bits)
    wanted = weights(raised, low, step, bits)
    for letter, row in enumerate(wanted):
        drawn = sampler.draw_from_words(np.full(1 << bits, letter), np.arange(1 << bits))
        assert np.array_equal(np.bincount(drawn, minlength=len(row)), row)


def test_draws_of_a_full_denominator_of_sixty_four_bits():
    step = (1 << 61) + (1 << 60)
    rest = (1 << 64) - (1 << 62) - (1 << 60) - step
    low = np.array([[1 << 61, 1 << 61, 1 << 60], [0, 0, rest]], dtype=object)
    sampler = CodeSampler(DIGITS, FUNCTIONS[:2], 3, 1, low, np.array([step, 0], dtype=object), 64)
    codes = np.repeat(np.arange(4), 5000)
    drawn = sampler.draw(codes, SecureStream(unsafe_seed=1))
    law = np.bincount(drawn[:5000], minlength=6) / 5000
    own = (step + (1 << 61)) / 2**64
    assert law[0] == pytest.approx(own, abs=0.03)
    assert law[5] == pytest.approx(rest / 2**64, abs=0.03)


def test_weights_beyond_the_denominator_are_refused():
    with pytest.raises(InvalidInput, match="low and step"):
        CodeSampler(DIGITS, FUNCTIONS, 3, 1, np.ones((4, 3), dtype=int), np.ones(4, dtype=int), 3)
