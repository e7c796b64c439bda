"""Leakage of several releases: nothing simply adds up, and every bound holds for the exact joint release."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.leakage import adaptive, conditional_maximal_leakage
from leakwise.leakage.composition import _that_fits
from strategies import Matrix, laws, matrices


def test_pml_is_not_additive() -> None:
    """The counter-example: [EX] T3, uniform on 3 letters, e^ε = 1.5, twice leaks log 3 > log 2.25."""
    m = lw.Mechanism([[0, "1/2", "1/2"], ["1/2", 0, "1/2"], ["1/2", "1/2", 0]])
    prior = lw.Prior.uniform(3)
    assert lw.epsilon(m, prior) == pytest.approx(math.log(1.5))
    assert lw.epsilon(m.repeat(2), prior) == pytest.approx(math.log(3))
    assert lw.epsilon(m.repeat(2), prior) > 2 * lw.epsilon(m, prior) + 0.2
    assert lw.ldp(m) == math.inf


@settings(max_examples=30)
@given(matrices(rows=3), matrices(rows=3), laws(3, zeros=False), st.sampled_from(["0.01", "0.2", "0.7"]))
def test_bounds_of_the_joint_release(first: Matrix, second: Matrix, law: list[Fraction], delta: str) -> None:
    one, two, prior = lw.Mechanism(first), lw.Mechanism(second), lw.Prior(law)
    joint = lw.compose(one, two)
    exact = lw.envelope(joint, prior, delta)
    together = lw.maximal_leakage(one) + lw.maximal_leakage(two)
    assert lw.maximal_leakage(joint) <= together + 1e-12
    assert exact.attained <= together + math.log(1 / float(delta)) + 1e-12
    assert lw.epsilon(joint, prior) <= min(prior.epsilon_max, lw.ldp(one) + lw.ldp(two)) + 1e-12
    # Ignoring the second release is a post-processing.
    assert lw.envelope(one, prior, delta).attained <= exact.epsilon
    found = lw.measures.composition_bounds(joint, prior, delta)
    assert found.epsilon_lower <= lw.epsilon(joint, prior) <= found.epsilon_upper + 1e-15
    assert found.envelope_lower <= exact.epsilon
    assert exact.attained <= found.envelope_upper
    assert found.to_dict()["count_vectors"] == joint.count_vectors


@settings(max_examples=20)
@given(matrices(columns=2, rows=2), laws(2, zeros=False), st.integers(1, 8))
def test_exact_tail_and_envelope_by_brute_force(matrix: Matrix, law: list[Fraction], times: int) -> None:
    m, prior = lw.Mechanism(matrix), lw.Prior(law)
    joint = m.repeat(times)
    rows = [[Fraction(1)], [Fraction(1)]]
    for _ in range(times):
        rows = [[a * b for a in done for b in row] for done, row in zip(rows, matrix, strict=True)]
    direct = lw.Mechanism(rows)
    assert lw.epsilon(joint, prior) == pytest.approx(lw.epsilon(direct, prior), abs=1e-14)
    assert lw.measures.tail_probability(joint, prior, lift="5/4") == pytest.approx(
        lw.measures.tail_probability(direct, prior, lift="5/4"), abs=1e-14
    )
    assert lw.envelope(joint, prior, "0.2").epsilon == pytest.approx(
        lw.envelope(direct, prior, "0.2").epsilon, abs=1e-12
    )


def test_a_thousand_releases() -> None:
    m, prior = lw.randomized_response(2, epsilon=0.05), lw.Prior(["0.7", "0.3"])
    joint = m.repeat(1000)
    found = lw.envelope(joint, prior, "0.1")
    found.certificate.verify()
    assert found.gap < 1e-12
    assert found.lower <= found.epsilon <= found.upper
    assert lw.pml(joint, prior).shape == (1001,)
    assert lw.epsilon(joint, prior) <= prior.epsilon_max
    assert lw.failure_probability(joint, prior, found.epsilon) == pytest.approx(0.1, abs=1e-9)


def test_bounds_where_enumeration_is_out_of_reach() -> None:
    many = lw.randomized_response(6, epsilon=0.001).repeat(200)
    found = lw.measures.composition_bounds(many, lw.Prior.uniform(6), 0.1)
    assert 0 < found.epsilon_lower <= found.epsilon_upper <= 200 * 0.001 + 1e-9
    assert 0 < found.envelope_lower <= found.envelope_upper
    # All 200 the same: the likeliest way to leak, and here the worst.
    assert found.epsilon_lower > 0.15
    with pytest.raises(lw.InvalidInput, match="composition must be"):
        lw.measures.composition_bounds(lw.identity(2), lw.Prior.uniform(2), 0.1)  # type: ignore[arg-type]


def test_table() -> None:
    m, prior = lw.randomized_response(2, lift=3), lw.Prior(["0.5", "0.5"])
    table = lw.measures.composition_table(m, prior, "0.1", counts=(1, 2, 3, 8))
    assert [row[0] for row in table.rows] == [1, 2, 3, 8]
    for place in (1, 3, 4, 5):
        column = [row[place] for row in table.rows]
        assert column == sorted(column)
    assert table.rows[1][1] == pytest.approx(math.log(9 / 5))
    assert "n·ε (not a bound)" in repr(table)
    assert "<table" in table._repr_html_()
    assert table.to_dict()["rows"][0]["n"] == 1
    assert table.chart()["layer"]
    with_zeros = lw.measures.composition_table(lw.Mechanism([[1, 0], ["1/2", "1/2"]]), prior, "0.1", counts=(1, 2))
    assert with_zeros.rows[0][5] == math.inf
    assert with_zeros.chart()["layer"]


# ----------------------------------------------------------------------------------------------------- adaptive


@settings(max_examples=30)
@given(matrices(rows=3, columns=2), matrices(rows=3), matrices(rows=3), laws(3, zeros=False))
def test_adaptive_bound_holds(first: Matrix, yes: Matrix, no: Matrix, law: list[Fraction]) -> None:
    m, prior = lw.Mechanism(first), lw.Prior(law)
    later = {0: lw.Mechanism(yes), 1: lw.Mechanism(no)}
    joint = adaptive(m, later)
    bound = lw.measures.adaptive_bound(m, later, "0.2", prior)
    assert lw.envelope(joint, prior, "0.2").attained <= bound
    assert lw.maximal_leakage(joint, prior) <= bound - math.log(5) + 1e-12
    conditional = conditional_maximal_leakage(m, later, prior)
    assert conditional <= max(lw.maximal_leakage(step) for step in later.values()) + 1e-15


def test_conditional_leakage_counts_only_letters_that_are_still_possible() -> None:
    first = lw.Mechanism([[1, 0], [0, 1]])
    assert conditional_maximal_leakage(first, {0: lw.identity(2), 1: lw.identity(2)}) == 0.0
    assert lw.measures.adaptive_bound(first, {0: lw.identity(2), 1: lw.identity(2)}, "0.5") == pytest.approx(
        math.log(4)
    )


def test_adaptive_chain_and_missing_outcomes() -> None:
    rr = lw.randomized_response(2, lift=3)
    second = {0: rr, 1: rr}
    third = dict.fromkeys(adaptive(rr, second).outputs, rr)
    chain = lw.measures.adaptive_bound(rr, [second, third], "0.1")
    assert chain == pytest.approx(3 * math.log(1.5) + math.log(10))
    with pytest.raises(lw.InvalidInput, match="It lacks 1"):
        lw.measures.adaptive_bound(rr, {0: rr}, "0.1")
    # Choosing the same mechanism every time is the plain composition.
    assert lw.epsilon(adaptive(rr, second), lw.Prior.uniform(2)) == lw.epsilon(rr.repeat(2), lw.Prior.uniform(2))


def test_bounds_use_as_many_releases_as_can_be_enumerated():
    prior, release = lw.Prior.uniform(12), lw.randomized_response(12, lift=2)
    found = [lw.measures.composition_bounds(release.repeat(n), prior, "0.05").envelope_lower for n in (2, 4, 5, 90)]
    assert found[0] < found[1] == found[2] == found[3]  # four fit, five do not
    more = lw.compose(*[release] * 90, *[lw.randomized_response(12, lift=3)] * 90)
    assert _that_fits(more).counts == (2, 1)
