"""How far outcomes are from coming as often as the values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw


@given(st.lists(st.integers(1, 50), min_size=2, max_size=6), st.integers(0, 10**6))
def test_it_is_the_largest_difference_of_the_frequencies(weights, seed):
    prior = lw.Prior(weights)
    matrix = np.random.default_rng(seed).dirichlet(np.ones(len(prior)), len(prior))
    m = lw.Mechanism(matrix, inputs=prior.labels, outputs=prior.labels)
    shift = np.abs(prior.probabilities @ m.matrix - prior.probabilities).max()
    assert lw.measures.frequency_shift(m, prior) == pytest.approx(shift, abs=1e-12)


def test_the_secret_itself_and_an_independent_draw_keep_every_frequency():
    prior = lw.Prior({"a": "1/2", "b": "1/4", "c": "1/4"})
    assert lw.measures.frequency_shift(lw.identity(list("abc")), prior) == 0
    draw = lw.Mechanism([["1/2", "1/4", "1/4"]] * 3, inputs=list("abc"), outputs=list("abc"))
    assert lw.measures.frequency_shift(draw, prior) == 0


def test_outcomes_that_are_no_values_have_no_shift():
    m = lw.Mechanism([[1.0, 0.0], [0.5, 0.5]], inputs=["a", "b"], outputs=["a", "{b}"])
    assert math.isinf(lw.measures.frequency_shift(m, [0.5, 0.5]))
