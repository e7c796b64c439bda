"""The closed forms of [EX]: its examples, and the engine's optimum wherever a theorem gives one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
from optimize.promises import F_UTILITIES, check, priors


def test_ex_example_1_high_privacy():
    design = lw.design(["2/5", "1/5", "1/5", "1/5"], lift="9/8")
    expected = [
        [0.325, 0.225, 0.225, 0.225],
        [0.45, 0.1, 0.225, 0.225],
        [0.45, 0.225, 0.1, 0.225],
        [0.45, 0.225, 0.225, 0.1],
    ]
    assert design.mechanism.matrix == pytest.approx(np.array(expected), abs=1e-15)
    assert "Theorem 3" in design.method
    assert design.mechanism.outputs == ("not 0", "not 1", "not 2", "not 3")


def test_ex_example_2_uniform_up_to_column_order():
    design = lw.design(lw.Prior.uniform(4), lift=3)
    assert "Theorem 4" in design.method
    columns = sorted(sorted(column) for column in design.mechanism.matrix.T.tolist())
    assert columns == [[0, 0, 0.25, 0.75]] * 4


@pytest.mark.parametrize(("letters", "epsilon"), [(3, 0.2), (3, 0.6), (5, 0.9), (7, 0.4), (30, 0.8)])
def test_ex_corollary_1_mutual_information_of_the_uniform_prior(letters, epsilon):
    prior = lw.Prior.uniform(letters)
    factor, region = math.exp(epsilon), prior.region(epsilon)
    raised = letters - region
    entries = [factor / letters] * raised + [1 - raised * factor / letters]
    expected = math.log(letters) + sum(entry * math.log(entry) for entry in entries if entry > 0)
    for method in ("auto", "columns"):
        assert lw.design(prior, epsilon=epsilon, method=method).value == pytest.approx(expected, abs=1e-10)


def test_math_uniform_30_at_08():
    assert lw.design(lw.Prior.uniform(30), epsilon=0.8, method="columns").value == pytest.approx(0.773862, abs=5e-7)


@given(st.floats(0.02, 2.0), st.integers(1, 99))
def test_theorem_2_two_letters_equals_the_engine(epsilon, share):
    prior = lw.Prior([share, 100 - share])
    closed = lw.design(prior, epsilon=epsilon)
    check(closed, prior, epsilon)
    if "ε_max" not in closed.method:
        assert "Theorem 2" in closed.method
    engine = lw.design(prior, epsilon=epsilon, method="columns")
    assert engine.value == pytest.approx(closed.value, abs=1e-9)
    assert engine.bound >= closed.value


@given(priors(), st.floats(0.1, 0.999))
def test_theorem_3_high_privacy_equals_the_engine(prior, share):
    epsilon = share * float(prior.regions()[1]) if len(prior) > 1 else 0.1
    closed = lw.design(prior, epsilon=epsilon)
    check(closed, prior, epsilon)
    assert closed.gap < 1e-12
    engine = lw.design(prior, epsilon=epsilon, method="columns")
    assert engine.value == pytest.approx(closed.value, abs=1e-9)


@given(st.integers(2, 9), st.floats(0.05, 2.5), st.sampled_from(F_UTILITIES))
def test_theorem_4_uniform_equals_the_engine(letters, epsilon, utility):
    prior = lw.Prior.uniform(letters)
    closed = lw.design(prior, epsilon=epsilon, utility=utility)
    check(closed, prior, epsilon)
    engine = lw.design(prior, epsilon=epsilon, utility=utility, method="columns")
    assert engine.value == pytest.approx(closed.value, abs=1e-9)
