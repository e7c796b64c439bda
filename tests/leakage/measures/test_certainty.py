"""What can be read from a release, against the definition in fractions."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
from leakwise.leakage.measures.certainty import certainty, has_cover
from leakwise.mechanism import Mechanism

weights = st.lists(
    st.lists(st.sampled_from([0, 0, 1, 2, 5]), min_size=3, max_size=3).filter(any), min_size=2, max_size=4
)


@given(weights, st.data())
def test_certainty_is_a_posterior_of_one_where_the_prior_was_below_it(rows, data):
    mechanism = Mechanism([[Fraction(w, sum(row)) for w in row] for row in rows])
    masses = data.draw(st.lists(st.integers(0, 5), min_size=len(rows), max_size=len(rows)).filter(any))
    prior = lw.Prior(masses)
    joint = [[p * Fraction(w, sum(row)) for w in row] for p, row in zip(prior.fractions, rows, strict=True)]
    law = [sum(column) for column in zip(*joint, strict=True)]
    found = certainty(mechanism, prior)
    expected = {
        i: tuple(j for j, mass in enumerate(law) if mass and row[j] == mass)
        for i, row in enumerate(joint)
        if prior.fractions[i] < 1
    }
    assert found.certain == {i: outcomes for i, outcomes in expected.items() if outcomes}
    assert found.after == sum(max(column) for column in zip(*joint, strict=True))
    assert found.before == max(prior.fractions)
    read = [sum((joint[i][j] for j in outcomes), Fraction(0)) for i, outcomes in found.certain.items()]
    assert found.share == sum(read, Fraction(0))
    assert not (found.certain and has_cover(mechanism))


@pytest.mark.parametrize("size", [2, 7, 300])
def test_structured_mechanisms_are_read_like_their_matrix(size):
    prior = lw.Prior(list(range(1, size + 1)))
    for structured in (lw.identity(size), lw.randomized_response(size, lift=50)):
        dense = Mechanism.from_kernel(
            type(lw.Mechanism([[1]]).kernel)(structured.weights, structured.denominator), structured.input_alphabet
        )
        assert certainty(structured, prior) == certainty(dense, prior)


def test_a_trace_of_another_value_is_no_cover():
    dust = Fraction(1, 10**9)
    found = certainty(Mechanism([[1 - dust, dust], [dust, 1 - dust]]), lw.Prior([0.5, 0.5]))
    assert found.certain == {0: (0,), 1: (1,)}


def test_a_value_that_was_nearly_certain_before_does_not_count_as_read():
    rare = lw.Prior({"no": 10**9 - 1, "yes": 1})
    assert not certainty(lw.randomized_response(["no", "yes"], lift=3), rare).readable
    assert not certainty(lw.constant(["no", "yes"]), rare).readable
    assert not certainty(lw.identity(["only"]), lw.Prior({"only": 1})).readable


def test_the_best_guess_that_is_nearly_always_right_reads_the_column():
    often = lw.randomized_response(["no", "yes"], lift=200)
    found = certainty(often, lw.Prior({"no": 1, "yes": 1}))
    assert not found.certain
    assert float(found.after) == pytest.approx(200 / 201)
    assert found.guessed
    assert not certainty(often, lw.Prior({"no": 24, "yes": 1})).guessed  # right for 96% without the release
    assert not certainty(lw.randomized_response(["no", "yes"], lift=99), lw.Prior({"no": 1, "yes": 1})).guessed


def test_sets_of_priors_and_no_prior_know_what_only_one_value_can_cause():
    tells = Mechanism([[Fraction(1, 2), Fraction(1, 2), 0], [0, Fraction(1, 2), Fraction(1, 2)]])
    sample = lw.Prior.from_counts([10, 0])  # the set holds priors under which the second value occurs
    for priors in (None, lw.AllPriors(2), lw.Prior([0.5, 0.5]).ball(0.1), sample.confidence(0.01)):
        assert certainty(tells, priors).certain == {0: (0,), 1: (2,)}
        assert not certainty(lw.randomized_response(2, lift=2), priors).readable
    assert not certainty(tells, sample).readable


def test_the_prior_is_laid_over_the_mechanism_by_its_labels():
    tells = Mechanism([[1, 0], [Fraction(1, 2), Fraction(1, 2)]], inputs=["a", "b"])
    found = certainty(tells, lw.Prior({"b": 0.25, "a": 0.75}))
    assert found.certain == {1: (1,)}
    assert found.share == Fraction(1, 8)


def test_ten_thousand_values_need_no_matrix():
    assert not certainty(lw.randomized_response(20_000, lift=3), lw.Prior.uniform(20_000)).readable
    assert len(certainty(lw.identity(20_000), lw.Prior.uniform(20_000)).certain) == 20_000


def test_masses_below_floats_are_read_exactly():
    prior = lw.Prior([Fraction(1, 10**400), 1 - Fraction(1, 10**400)])
    half = Fraction(1, 2)
    found = certainty(Mechanism([[1, 0], [half, half]]), prior)
    assert found.certain == {1: (1,)}  # the other outcome leaves a doubt of 2e-400, twice what it was
    assert found.read == (0, half)
    assert certainty(lw.identity(2), prior).certain == {0: (0,), 1: (1,)}


def test_any_prior_of_a_set_may_make_a_value_certain():
    """In the middle the outcome says {b,c}; where c does not occur it says b. A limit for anyone leaves no such one."""
    third = Fraction(1, 3)
    says = Mechanism([[1, 0], [third, 2 * third], [third, 2 * third]], inputs=["a", "b", "c"], outputs=["a?", "not a"])
    counts = lw.Prior.from_counts({"a": 60, "b": 35, "c": 5})
    assert not certainty(says, counts).readable
    unseen = lw.Prior.from_counts({"a": 60, "b": 40, "c": 0})
    for priors in (counts.ball(0.2), counts.confidence(1e-6), unseen.confidence(1e-6, "layer-cake")):
        found = certainty(says, priors)
        assert found.certain == {1: (1,)}, priors
        assert found.of_some
        assert found.read == (0, 2 * third, 0)
    assert not certainty(says, counts.ball(0.05)).readable
    assert not certainty(says, counts.confidence(1e-6, "layer-cake")).readable  # five rows in a hundred are not none
    assert not certainty(says, lw.Box(counts, [0.5, 0.3, 0.04], [0.7, 0.4, 0.06])).readable
    assert certainty(says, lw.AllPriors(counts)).certain == {1: (1,), 2: (1,)}
    cover = lw.randomized_response(["a", "b", "c"], lift=20)
    assert not any(certainty(cover, one).certain for one in (lw.AllPriors(counts), counts.ball(0.2)))


def test_a_prior_that_rules_the_outcome_out_or_was_certain_before_makes_nothing_certain():
    says = Mechanism([[1, 0], [1, 0], [0, 1]])
    apart = lw.Hull([[0.5, 0.5, 0], [0, 0, 1]])
    assert certainty(says, apart).certain == {2: (1,)}
    nearly = lw.Hull([[1, 0, 0], [0.25, 0.5, 0.25]])
    assert certainty(lw.randomized_response(3, lift=5), nearly).certain == {}


@given(st.integers(2, 4), st.data())
def test_what_a_corner_of_a_hull_makes_certain_the_hull_does(size, data):
    """And what the hull makes certain, a prior of it does: some mixture of its corners, found by trying them."""
    counts = st.lists(st.integers(0, 3), min_size=size, max_size=size).filter(any)
    corners = [[Fraction(n, sum(one)) for n in one] for one in data.draw(st.lists(counts, min_size=1, max_size=3))]
    rows = [[Fraction(n, sum(one)) for n in one] for one in data.draw(st.lists(counts, min_size=size, max_size=size))]
    mechanism = Mechanism(rows)
    pairs = {(i, j) for i, several in certainty(mechanism, lw.Hull(corners)).certain.items() for j in several}
    steps = [Fraction(k, 8) for k in range(9)]
    mixtures = [
        [sum(w * corner[i] for w, corner in zip(weights, corners, strict=True)) / sum(weights) for i in range(size)]
        for weights in itertools.product(steps, repeat=len(corners))
        if sum(weights)
    ]
    found = set()
    for prior in mixtures:
        for j in range(size):
            mass = sum(prior[i] * rows[i][j] for i in range(size))
            found |= {(i, j) for i in range(size) if mass and prior[i] < 1 and prior[i] * rows[i][j] == mass}
    assert pairs == found


def test_a_guess_that_is_nearly_always_right_for_some_prior_of_a_set():
    often = lw.randomized_response(["no", "yes"], lift=95)
    even = lw.Prior({"no": 1, "yes": 1})
    assert not certainty(often, even).guessed
    loose = Mechanism(often.matrix, inputs=["no", "yes"], outputs=["no", "yes"])
    assert not certainty(loose, even.ball(0.02)).guessed
    assert not certainty(loose, lw.AllPriors(even)).guessed  # right for all rows without the release
    uneven = Mechanism([[Fraction(999, 1000), Fraction(1, 1000)], [Fraction(1, 50), Fraction(49, 50)]])
    assert not certainty(uneven, even).guessed
    found = certainty(uneven, even.ball(0.8))
    assert found.guessed
    assert found.before < Fraction(19, 20) < Fraction(99, 100) < found.after
