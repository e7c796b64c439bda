"""What can be read from a release, against the definition in fractions."""

from __future__ import annotations

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
