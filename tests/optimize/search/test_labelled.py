"""Utilities of labelled outputs against the linear program."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from optimize.promises import check, priors


@given(priors(most=5), st.floats(0.05, 1.5))
@settings(max_examples=30)
def test_guessing_against_the_linear_program(prior, epsilon):
    design = lw.design(prior, epsilon=epsilon, utility="guessing", method="columns")
    check(design, prior, epsilon)
    assert design.value == pytest.approx(_labelled_optimum(prior, np.eye(len(prior)), epsilon), abs=1e-8)
    assert set(design.mechanism.outputs) <= set(prior.labels)


@given(priors(most=5), st.floats(0.05, 1.5), st.integers(0, 1000))
@settings(max_examples=30)
def test_expected_utility_against_the_linear_program(prior, epsilon, seed):
    matrix = np.random.default_rng(seed).normal(size=(len(prior), 3))
    design = lw.design(prior, epsilon=epsilon, utility=lw.Expected(matrix, outputs=["x", "y", "z"]))
    check(design, prior, epsilon)
    assert design.value == pytest.approx(_labelled_optimum(prior, matrix, epsilon), abs=1e-8)
    assert set(design.mechanism.outputs) <= {"x", "y", "z"}
    places = ["xyz".index(label) for label in design.mechanism.outputs]
    value = float((prior.probabilities[:, None] * design.mechanism.matrix * matrix[:, places]).sum())
    assert value == pytest.approx(design.value, abs=1e-9)


def _labelled_optimum(prior, utilities, epsilon):
    """The same as one plain linear program, by SciPy."""
    from scipy.optimize import linprog

    size, labels = utilities.shape
    p, factor = prior.probabilities, math.exp(epsilon)
    rows = []
    for label in range(labels):
        for letter in range(size):
            row = np.zeros((size, labels))
            row[:, label] -= factor * p
            row[letter, label] += 1
            rows.append(row.ravel())
    sums = [np.repeat(np.eye(size)[letter], labels).reshape(size, labels).ravel() for letter in range(size)]
    answer = linprog(-(p[:, None] * utilities).ravel(), rows, np.zeros(len(rows)), sums, np.ones(size), method="highs")
    return -answer.fun
