"""What a mechanism is worth: the number of its design, whatever the utility, the order of its values and its size."""

from __future__ import annotations

import math

import numpy as np
import pytest

import leakwise as lw
from leakwise.mechanism import CodeKernel
from leakwise.optimize import Utility
from leakwise.optimize.search.frequencies.codes import unbiased_value

PRIOR = lw.Prior({"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1})
WITH_ZERO = lw.Prior({"a": 0.4, "b": 0.35, "c": 0.25, "d": 0})
DISTANCE = -np.abs(np.subtract.outer(range(4), range(4))).astype(float)
UTILITIES = {
    **{
        name: name
        for name in (
            "mutual_information",
            "total_variation",
            "chi_square",
            "hellinger",
            "guessing",
            "frequencies",
        )
    },
    "f": lw.FInformation(lambda x: (x - 1) ** 4),
    "gain": lw.Gain(np.eye(4) + 0.2),
    "expected": lw.Expected(DISTANCE),
    "worst": lw.WorstCase(DISTANCE),
    "worst by order": lw.WorstCase(DISTANCE, by="order"),
}


@pytest.mark.parametrize("prior", [PRIOR, WITH_ZERO, PRIOR.ball(0.05)], ids=["known", "with a zero", "ball"])
@pytest.mark.parametrize("name", UTILITIES)
def test_the_utility_of_a_design_is_its_value(name, prior):
    goal = UTILITIES[name]
    found = lw.design(prior, lift=1.7, utility=goal)
    assert lw.utility(found.mechanism, prior, goal) == pytest.approx(found.value, rel=1e-12, abs=0)


@pytest.mark.parametrize("name", UTILITIES)
def test_values_are_known_by_their_names_not_their_places(name):
    goal = UTILITIES[name]
    random = np.random.default_rng(3).dirichlet(np.ones(4), size=4)
    there = lw.Mechanism(random, inputs=list("abcd"), outputs=list("abcd"))
    back = lw.Mechanism(random[::-1], inputs=list("dcba"), outputs=list("abcd"))
    assert lw.utility(back, PRIOR, goal) == pytest.approx(lw.utility(there, PRIOR, goal), rel=1e-9)


def test_what_is_said_counts_for_expected_and_worst_case():
    wrong = lw.Mechanism(np.eye(4)[::-1], inputs=list("abcd"), outputs=list("abcd"))  # a is called d
    other = lw.Mechanism(np.eye(4)[::-1], inputs=list("abcd"), outputs=["w", "x", "y", "z"])
    for goal, least in ((UTILITIES["expected"], -(0.5 * 3 + 0.5)), (UTILITIES["worst"], -3.0)):
        assert lw.utility(wrong, PRIOR, goal) == pytest.approx(least)
        assert lw.utility(other, PRIOR, goal) == pytest.approx(0, abs=1e-9)  # the receiver says what is best


def test_frequencies_are_minus_the_variances_of_the_estimate():
    response = lw.randomized_response(list("abcd"), lift=3)
    law, inverse = PRIOR.probabilities @ response.matrix, np.linalg.inv(response.matrix)
    variance = np.trace(inverse.T @ (np.diag(law) - np.outer(law, law)) @ inverse)
    assert lw.utility(response, PRIOR, "frequencies") == pytest.approx(-variance)
    assert lw.utility(lw.constant(list("abcd")), PRIOR, "frequencies") == -math.inf
    assert lw.utility(response.then([[1, 0], [1, 0], [0, 1], [0, 1]]), PRIOR, "frequencies") == -math.inf


def test_no_matrix_is_needed_where_there_are_many_values():
    prior = lw.Prior(np.random.default_rng(1).dirichlet(np.ones(300)))
    response = lw.randomized_response(300, epsilon=3)
    dense = lw.utility(response, prior, "frequencies")
    assert unbiased_value(response.kernel, prior) == pytest.approx(dense, rel=1e-6)
    large = lw.randomized_response(100_000, epsilon=9)
    uniform = lw.Prior.uniform(100_000)
    for goal in ("frequencies", "mutual_information", "guessing"):
        assert math.isfinite(lw.utility(large, uniform, goal))
    with pytest.raises(lw.InvalidInput, match="too large"):
        lw.utility(large, uniform, _Largest())


class _Largest(Utility):
    """A utility of a user's own, which needs the matrix."""

    name = "largest"

    def columns_worth(self, lifts, prior):
        return lifts.max(axis=0)


def test_a_second_utility_does_not_count():
    goal = lw.WorstCase(DISTANCE, then="mutual_information")
    found = lw.design(PRIOR, lift=1.7, utility=goal)
    assert lw.utility(found.mechanism, PRIOR, goal) == found.value


def test_codes_have_the_value_of_their_design():
    prior = lw.Prior.uniform(49)
    found = lw.design(prior, lift=3.5, utility="frequencies")
    assert isinstance(found.mechanism.kernel, CodeKernel)
    assert lw.utility(found.mechanism, prior, "frequencies") == pytest.approx(found.value, rel=1e-9)


def test_strata_have_the_mean_of_theirs():
    strata = lw.PriorByStratum({"f": ["0.5", "0.3", "0.2"], "m": ["0.1", "0.4", "0.5"]}, given="sex")
    found = lw.design(strata, lift=2)
    assert lw.utility(found.mechanism, strata) == pytest.approx(found.value, rel=1e-12)
    with pytest.raises(lw.InvalidInput, match="PriorByStratum"):
        lw.utility(found.mechanism, [0.5, 0.3, 0.2])


@pytest.mark.parametrize(
    ("mechanism", "prior", "goal", "words"),
    [
        (lw.randomized_response(4, lift=2), [0.4, 0.3, 0.2, 0.1], "frequency", "Did you mean 'frequencies'"),
        (lw.randomized_response(3, lift=2), [0.4, 0.3, 0.2, 0.1], "guessing", "3 values and the prior has 4"),
        (lw.randomized_response(list("wxyz"), lift=2), PRIOR, "guessing", "'a'"),
        (lw.randomized_response(list("wxyz"), lift=2), PRIOR, lw.Expected(DISTANCE), "'a'"),
        (lw.randomized_response(12, lift=2).repeat(90), lw.Prior.uniform(12), "guessing", "composition_bounds"),
        ("randomized_response", PRIOR, "guessing", "mechanism must be"),
    ],
)
def test_what_cannot_be_valued_is_named(mechanism, prior, goal, words):
    with pytest.raises(lw.InvalidInput, match=words):
        lw.utility(mechanism, prior, goal)
