"""Closed forms against the linear program: constant envelopes (C1, T4) and randomized response for every prior (T5)."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
from leakwise.leakage.envelopes.closed_forms import as_response, published_bound
from strategies import laws

DELTAS = st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000)


@st.composite
def responses(draw: st.DrawFn) -> tuple[lw.Mechanism, lw.Prior]:
    prior = draw(st.integers(2, 7).flatmap(lambda size: laws(size, zeros=False, largest=60)))
    lift = draw(st.fractions(Fraction(11, 10), Fraction(60), max_denominator=10))
    return lw.randomized_response(len(prior), lift=lift), lw.Prior(prior)


@given(responses(), DELTAS)
def test_randomized_response_equals_the_linear_program(case: tuple[lw.Mechanism, lw.Prior], delta: Fraction) -> None:
    m, prior = case
    closed, primal = lw.envelope(m, prior, delta), lw.envelope(m, prior, delta, method="primal")
    assert closed.method.startswith("randomized response")
    assert closed.epsilon == pytest.approx(primal.epsilon, abs=1e-11)
    assert closed.binary == pytest.approx(primal.binary, abs=1e-12)
    assert closed.lower == pytest.approx(primal.lower, abs=1e-12)
    assert closed.upper == pytest.approx(primal.upper, abs=1e-12)
    closed.certificate.verify()
    found = lw.measures.pml_quantiles(m.then(closed.post_processing), prior, delta).upper
    assert found == pytest.approx(closed.epsilon, abs=1e-9)


@given(responses(), DELTAS)
def test_theorem_5_is_a_lower_bound_and_exact_under_its_condition(
    case: tuple[lw.Mechanism, lw.Prior], delta: Fraction
) -> None:
    """The conjecture after Theorem 5."""
    m, prior = case
    response = as_response(m, prior)
    assert response is not None
    h, condition = published_bound(response, delta)
    found = lw.envelope(m, prior, delta)
    assert found.published == h <= found.epsilon
    if condition:
        assert h == pytest.approx(found.epsilon, abs=1e-12)


def test_theorem_5_can_be_far_below_without_its_condition() -> None:
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(300):
        weights = rng.pareto(0.5, 8) + 0.001
        m, prior = lw.randomized_response(8, epsilon=4.0), lw.Prior((weights / weights.sum()).tolist())
        found = lw.envelope(m, prior, float(rng.uniform(0.1, 0.95)))
        assert found.published is not None
        worst = max(worst, found.epsilon - found.published)
    assert worst > math.log(1.5)


def test_a_dense_matrix_of_that_shape_is_recognised() -> None:
    dense = lw.Mechanism([["0.6", "0.2", "0.2"], ["0.2", "0.6", "0.2"], ["0.2", "0.2", "0.6"]])
    found = lw.envelope(dense, lw.Prior(["0.2", "0.3", "0.5"]), "0.4")
    assert found.method.startswith("randomized response")


def test_not_with_letters_of_no_mass_and_not_with_a_negative_diagonal() -> None:
    rr = lw.randomized_response(3, lift=3)
    assert as_response(rr, lw.Prior([0.5, 0.5, 0.0])) is None
    against = lw.Mechanism([[0, "1/2", "1/2"], ["1/2", 0, "1/2"], ["1/2", "1/2", 0]])
    assert as_response(against, lw.Prior.uniform(3)) is None
    assert lw.envelope(against, lw.Prior(["0.2", "0.3", "0.5"]), "0.4").gap < 1e-12


@given(st.integers(2, 6).flatmap(lambda size: laws(size, zeros=False)), st.fractions(0, 1, max_denominator=50), DELTAS)
def test_theorem_4_extremal_mechanisms_have_a_constant_envelope(
    law: list[Fraction], step: Fraction, delta: Fraction
) -> None:
    size, least = len(law), min(law)
    top = 1 / (1 - least)
    lift = 1 + (top - 1) * max(step, Fraction(1, 50))  # high privacy: 1 < e^ε ≤ 1/(1-π_min)
    matrix = [[1 - lift * (1 - law[i]) if i == j else lift * law[j] for j in range(size)] for i in range(size)]
    m, prior = lw.Mechanism(matrix), lw.Prior(law)
    found = lw.envelope(m, prior, delta)
    assert found.epsilon == pytest.approx(math.log(lift), abs=1e-14)
    assert found.gap < 1e-14
    assert lw.envelope(m, prior, delta, method="primal").epsilon == pytest.approx(math.log(lift), abs=1e-12)
    found.certificate.verify()


def test_uniform_randomized_response_is_constant() -> None:
    m = lw.randomized_response(6, lift=5)
    for delta in (0.01, 0.5, 0.99):
        assert lw.envelope(m, lw.Prior.uniform(6), delta).epsilon == pytest.approx(math.log(6 * 0.5), abs=1e-14)


def test_two_hundred_thousand_letters() -> None:
    m = lw.randomized_response(200_000, epsilon=3.0)
    prior = lw.Prior(np.arange(1, 200_001).tolist())
    found = lw.envelope(m, prior, 0.3)
    found.certificate.verify()
    assert found.gap < 1e-14
    assert found.lower <= found.epsilon <= found.upper
    with pytest.raises(lw.InvalidInput, match="post_processing is written out"):
        _ = found.post_processing
