"""Laws of pointwise maximal leakage, against Fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
from leakwise.exact import log_at_most
from strategies import laws, matrices


def brute_lifts(matrix, prior):
    """The largest lift of each outcome, None for an outcome that cannot occur."""
    ratios = []
    for column in zip(*matrix, strict=True):
        mass = sum(p * v for p, v in zip(prior, column, strict=True))
        ratios.append(max(v / mass for p, v in zip(prior, column, strict=True) if p) if mass else None)
    return ratios


@given(st.data())
def test_pml_is_the_log_of_the_largest_lift_never_below_it(data):
    matrix = data.draw(matrices())
    prior = data.draw(laws(len(matrix)))
    leakage = lw.pml(lw.Mechanism(matrix), lw.Prior(prior))
    for value, ratio in zip(leakage, brute_lifts(matrix, prior), strict=True):
        if ratio is None:
            assert value == 0
        else:
            assert log_at_most(ratio, Fraction(float(value)))
            assert value <= math.log(ratio) + 1e-15


@given(st.data())
def test_pml_is_between_zero_and_epsilon_max(data):
    matrix = data.draw(matrices())
    prior = lw.Prior(data.draw(laws(len(matrix))))
    leakage = lw.pml(lw.Mechanism(matrix), prior)
    assert (leakage >= 0).all()
    assert (leakage <= prior.epsilon_max).all()


@given(st.data())
def test_post_processing_never_leaks_more(data):
    matrix = data.draw(matrices())
    later = data.draw(matrices(rows=len(matrix[0])))
    prior = lw.Prior(data.draw(laws(len(matrix))))
    mechanism = lw.Mechanism(matrix)
    assert lw.epsilon(mechanism.then(later), prior) <= lw.epsilon(mechanism, prior)


@given(st.data())
def test_relabelling_changes_nothing(data):
    matrix = data.draw(matrices())
    size = len(matrix)
    prior = data.draw(laws(size))
    order = data.draw(st.permutations(range(size)))
    names = [f"letter {place}" for place in range(size)]
    mechanism = lw.Mechanism(matrix, inputs=names)
    shuffled = lw.Prior({names[place]: prior[place] for place in order})
    assert lw.pml(mechanism, shuffled).tolist() == lw.pml(mechanism, dict(zip(names, prior, strict=True))).tolist()


@given(st.integers(0, 2**32 - 1))
def test_the_float_path_is_safe_and_sharp(seed):
    generator = np.random.default_rng(seed)
    matrix = generator.dirichlet(np.full(150, 3.0), size=150)
    mechanism = lw.Mechanism(matrix)
    prior = lw.Prior(generator.dirichlet(np.ones(150)))
    leakage = lw.pml(mechanism, prior)
    worst = int(leakage.argmax())
    exact = lw.certify(mechanism, prior)
    assert exact.epsilon_upper <= leakage[worst] <= exact.epsilon_upper + 1e-12


def test_masses_from_1e_300_are_done_in_integers():
    size = 200
    weights = np.full(size, 1e-300)
    weights[0] = 1.0
    prior = lw.Prior(weights.tolist())
    identity = lw.Mechanism(np.eye(size))
    assert lw.epsilon(identity, prior) == prior.epsilon_max
    assert prior.epsilon_max == pytest.approx(300 * math.log(10))


def test_ex_7_and_8_randomized_response():
    prior = lw.Prior([0.5, 0.3, 0.2])
    factor = math.exp(0.7)
    expected = 0.7 - np.log((factor - 1) * prior.probabilities + 1)
    assert lw.pml(lw.randomized_response(3, epsilon=0.7), prior) == pytest.approx(expected, abs=1e-12)


@given(st.floats(0.01, 1.5))
def test_ex_9_randomized_response_of_the_same_pml(epsilon):
    prior = lw.Prior([0.5, 0.3, 0.2])
    mechanism = lw.randomized_response(3, pml=epsilon, prior=prior)
    assert lw.certify(mechanism, prior, epsilon=epsilon).holds
    assert lw.epsilon(mechanism, prior) == pytest.approx(epsilon, abs=1e-12)


def test_constant_release_leaks_exactly_nothing():
    assert lw.epsilon(lw.constant(5, law=[0.3, 0.7]), lw.Prior.uniform(5)) == 0


def test_a_million_letters_need_no_matrix():
    size = 1_000_000
    mechanism = lw.randomized_response(size, lift=1000)
    prior = lw.Prior.uniform(size)
    expected = math.log(1000 / (999 / size + 1))
    assert lw.epsilon(mechanism, prior) == pytest.approx(expected, abs=1e-9)
    with pytest.raises(lw.InvalidInput, match="need no matrix"):
        mechanism.matrix  # noqa: B018


def test_other_kinds_of_arguments_are_refused():
    with pytest.raises(lw.InvalidInput, match=r"lw\.Mechanism"):
        lw.pml([[1.0]], [1.0])
    with pytest.raises(lw.InvalidInput, match="2 values"):
        lw.pml(lw.identity(2), [0.5, 0.3, 0.2])
    by_sex = lw.StratifiedMechanism({"f": lw.identity(2), "m": lw.identity(2)}, given={"sex": ["f", "m"]})
    for measure in (lw.pml, lw.epsilon):
        with pytest.raises(lw.InvalidInput, match=r"m\[stratum\], and lw\.audit and lw\.certify"):
            measure(by_sex, lw.Prior.uniform(2))
