"""δ_c(ε), the closed failure probability: the inverse of the envelope."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
from strategies import Matrix, laws, matrices

EXAMPLE_1 = [[0, 0, "0.5", "0.5"], [0, 0, "0.5", "0.5"], [0, "0.2", "0.4", "0.4"], ["0.2", 0, "0.4", "0.4"]]


@pytest.mark.parametrize(("lift", "delta"), [("22/9", 0.2), ("68/45", 0.5), ("100/81", 0.9), (4, 0.0), ("39/10", None)])
def test_example_1(lift: object, delta: float | None) -> None:
    found = lw.failure_probability(lw.Mechanism(EXAMPLE_1), lw.Prior.uniform(4), lift=lift)
    expected = float(14 / (45 * (Fraction(39, 10) - Fraction(8, 9)))) if delta is None else delta
    assert found == pytest.approx(expected, abs=1e-13)


@given(matrices(), st.data())
def test_inverse_of_the_envelope(matrix: Matrix, data: st.DataObject) -> None:
    m, prior = lw.Mechanism(matrix), lw.Prior(data.draw(laws(len(matrix))))
    delta = data.draw(st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100))
    found = lw.envelope(m, prior, delta)
    # Beyond ε_c(δ) at most δ fails; below it, at least δ.
    assert lw.failure_probability(m, prior, found.epsilon) <= float(delta) + 1e-10
    if found.attained > 1e-6:
        assert lw.failure_probability(m, prior, found.attained * (1 - 1e-9)) >= float(delta) - 1e-9


@given(matrices(), st.data())
def test_at_least_the_tail_and_the_tail_of_every_post_processing(matrix: Matrix, data: st.DataObject) -> None:
    m, prior = lw.Mechanism(matrix), lw.Prior(data.draw(laws(len(matrix))))
    lift = data.draw(st.fractions(1, 5, max_denominator=20))
    if lift * prior.least_probability >= 1:
        return
    found = lw.failure_probability(m, prior, lift=lift)
    assert found >= lw.measures.tail_probability(m, prior, lift=lift) - 1e-15
    after = m.then(data.draw(matrices(rows=len(matrix[0]))))
    assert found >= lw.measures.tail_probability(after, prior, lift=lift) - 1e-15


def test_zero_from_epsilon_on() -> None:
    m, prior = lw.Mechanism(EXAMPLE_1), lw.Prior(["0.4", "0.3", "0.2", "0.1"])
    assert lw.failure_probability(m, prior, lw.epsilon(m, prior)) == 0.0


def test_beyond_what_any_mechanism_leaks_is_zero_and_said_so() -> None:
    with pytest.warns(lw.LeakwiseWarning, match="No mechanism leaks more than 1.386"):
        assert lw.failure_probability(lw.Mechanism(EXAMPLE_1), lw.Prior.uniform(4), 2.0) == 0.0


def test_rare_failures_keep_their_digits() -> None:
    rare = Fraction(1, 10**12)
    m = lw.Mechanism([[1 - rare, rare], [Fraction(1, 2), Fraction(1, 2)]])
    prior = lw.Prior([1 - rare, rare])
    # The outcome 1 of probability 1.5e-12 has the lift 1/3e12; with a lift asked of 1e10 it can hide among others.
    q = (1 - rare) * rare + rare / 2
    found = lw.failure_probability(m, prior, lift=10**10)
    expected = q + (Fraction(1, 2) - q * 10**10) / (10**10 - Fraction(1, 2) / (1 - q))
    assert found == pytest.approx(float(expected), rel=1e-9)


def test_levels_are_checked() -> None:
    m, prior = lw.Mechanism(EXAMPLE_1), lw.Prior.uniform(4)
    with pytest.raises(lw.InvalidInput, match="epsilon"):
        lw.failure_probability(m, prior)
    with pytest.raises(lw.InvalidInput, match="at least"):
        lw.failure_probability(m, prior, -1.0)
    assert lw.failure_probability(m, prior, lift=1) == 1.0
    assert lw.failure_probability(m, prior, math.log(1.01)) == 1.0
