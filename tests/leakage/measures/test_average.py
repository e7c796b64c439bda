"""Maximal, min-entropy and g-leakage: definitions, laws, bounds, bad input."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
from leakage import brute
from leakage.brute import channels, just_above, processed
from leakwise.leakage.measures import arguments as outcomes
from leakwise.mechanism import DenseKernel

Channel = tuple[lw.Mechanism, lw.Prior]
Case = tuple[lw.Mechanism, lw.Prior, lw.Mechanism]


def gains(letters: int) -> st.SearchStrategy[list[list[int]]]:
    rows = st.lists(st.integers(0, 5), min_size=3, max_size=3)
    return st.lists(rows, min_size=letters, max_size=letters)


def brute_g(mechanism: lw.Mechanism, prior: lw.Prior, gain: list[list[int]]) -> tuple[Fraction, Fraction]:
    matrix, pi = brute.entries(mechanism), prior.fractions
    guesses = range(len(gain[0]))
    before = max(sum(p * row[w] for p, row in zip(pi, gain, strict=True)) for w in guesses)
    after = sum(
        max(sum(p * row[w] * line[j] for p, row, line in zip(pi, gain, matrix, strict=True)) for w in guesses)
        for j in range(len(matrix[0]))
    )
    return before, after


@given(channels())
def test_maximal_leakage_is_its_definition(channel: Channel) -> None:
    mechanism, prior = channel
    matrix, _ = brute.supported(*channel)
    ratio = sum(max(row[j] for row in matrix) for j in range(len(matrix[0])))
    assert just_above(lw.maximal_leakage(mechanism, prior), brute.log(ratio), 1e-15)
    # ... and log E[e^ℓ] ([EN] (11)).
    assert ratio == sum(q * max(column) for q, column in brute.lifts(*channel))


@given(channels())
def test_min_entropy_leakage_is_its_definition(channel: Channel) -> None:
    mechanism, prior = channel
    identity = [[int(i == w) for w in range(len(prior))] for i in range(len(prior))]
    before, after = brute_g(mechanism, prior, identity)
    found = lw.measures.min_entropy_leakage(mechanism, prior)
    assert just_above(found, brute.log(after / before), 1e-15)
    assert found == lw.measures.g_leakage(mechanism, prior, identity)
    assert found <= lw.maximal_leakage(mechanism, prior) <= lw.epsilon(mechanism, prior)


@given(channels(), st.data())
def test_g_leakage_is_its_definition_and_below_maximal_leakage(channel: Channel, data: st.DataObject) -> None:
    mechanism, prior = channel
    gain = data.draw(gains(len(prior)).filter(lambda g: brute_g(mechanism, prior, g)[0] > 0))
    before, after = brute_g(mechanism, prior, gain)
    found = lw.measures.g_leakage(mechanism, prior, gain)
    assert just_above(found, brute.log(after / before), 1e-15)
    assert found <= lw.maximal_leakage(mechanism, prior)
    assert lw.measures.g_vulnerability(mechanism, prior, gain) == pytest.approx((float(before), float(after)))
    assert (lw.measures.pointwise_g_leakage(mechanism, prior, gain) <= lw.pml(mechanism, prior) + 1e-15).all()


@given(channels())
def test_the_attaining_gain_attains_pml_at_every_outcome(channel: Channel) -> None:
    mechanism, prior = channel
    gain = lw.measures.attaining_gain(prior)
    possible = [j for j, mass in enumerate(mechanism.kernel.output_law(prior.weights)) if mass]
    found = lw.measures.pointwise_g_leakage(mechanism, prior, gain)[possible]
    assert found == pytest.approx(lw.pml(mechanism, prior)[possible], abs=1e-14)
    assert lw.measures.g_leakage(mechanism, prior, gain) == pytest.approx(
        lw.maximal_leakage(mechanism, prior), abs=1e-14
    )


@given(processed(), st.data())
def test_data_processing(case: Case, data: st.DataObject) -> None:
    mechanism, prior, after = case
    gain = data.draw(gains(len(prior)).filter(lambda g: brute_g(mechanism, prior, g)[0] > 0))
    assert lw.maximal_leakage(after) <= lw.maximal_leakage(mechanism)
    assert lw.measures.min_entropy_leakage(after, prior) <= lw.measures.min_entropy_leakage(mechanism, prior)
    assert lw.measures.g_leakage(after, prior, gain) <= lw.measures.g_leakage(mechanism, prior, gain)
    assert lw.epsilon(after, prior) <= lw.epsilon(mechanism, prior)


@given(channels())
def test_uniform_prior_reaches_bayes_capacity(channel: Channel) -> None:
    mechanism = channel[0]
    uniform = lw.Prior.uniform(mechanism.shape[0])
    assert lw.measures.min_entropy_leakage(mechanism, uniform) == lw.maximal_leakage(mechanism)


def test_floats_are_on_the_safe_side_of_the_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    m = lw.Mechanism(rng.dirichlet(np.full(150, 0.4), 150))
    prior = lw.Prior(rng.integers(0, 30, 150).tolist())
    gain = rng.random((150, 4))

    def ask() -> list[float]:
        pointwise = lw.measures.pointwise_g_leakage(m, prior, gain).tolist()
        return [lw.measures.min_entropy_leakage(m, prior), lw.measures.g_leakage(m, prior, gain), *pointwise]

    floats = ask()
    monkeypatch.setattr(outcomes, "SMALL", 10**9)
    for found, truth in zip(floats, ask(), strict=True):
        assert 0 <= found - truth < 1e-11


@pytest.mark.parametrize("m", [lw.randomized_response(5, lift=4), lw.identity(5), lw.randomized_response(5, lift=1)])
@pytest.mark.parametrize("weights", [[1, 2, 3, 4, 5], [9, 9, 1, 0, 0], [1, 0, 0, 0, 0]])
def test_structured_min_entropy_leakage_is_the_dense_one(m: lw.Mechanism, weights: list[int]) -> None:
    dense = lw.Mechanism.from_kernel(DenseKernel(m.weights, m.denominator))
    prior = lw.Prior(weights)
    assert lw.measures.min_entropy_leakage(m, prior) == lw.measures.min_entropy_leakage(dense, prior)


def test_letters_without_mass_do_not_count() -> None:
    m = lw.Mechanism([[1, 0], [1, 0], [0, 1]])
    assert lw.maximal_leakage(m) == pytest.approx(math.log(2))
    assert lw.maximal_leakage(m, [0.5, 0.5, 0.0]) == 0.0


@pytest.mark.parametrize(
    ("gain", "said"),
    [
        ([[1, -1], [0, 1]], "none negative"),
        ([[1, float("nan")], [0, 1]], "finite"),
        ([[1, float("inf")], [0, 1]], "finite"),
        ([[1, 0]], "one row for each of the 2 letters"),
        ([1, 0], "one row for each"),
        ([["a"], ["b"]], "matrix of numbers"),
        ([[0, 0], [0, 0]], "positive somewhere"),
        ([[1e308, 0], [1e308, 1]], "Divide it by a constant"),
    ],
)
def test_bad_gains(gain: Any, said: str) -> None:
    m, prior = lw.identity(2), lw.Prior.uniform(2)
    with pytest.raises(lw.InvalidInput, match=said):
        lw.measures.g_leakage(m, prior, gain)


def test_a_negative_gain_is_named() -> None:
    m = lw.Mechanism([[1, 0], [0, 1]], inputs=["no", "yes"])
    with pytest.raises(lw.InvalidInput, match=r"letter 'yes', guess 0: -2\.0"):
        lw.measures.g_leakage(m, {"no": 0.5, "yes": 0.5}, [[1, 0], [-2, 1]])


# --------------------------------------------------------- what the package qif of the registry accepts in silence


@pytest.mark.parametrize(
    "matrix",
    [
        [[float("nan"), 1.0], [0.5, 0.5]],
        [[0.9, 0.2], [0.5, 0.5]],
        [[0.5, 0.4], [0.5, 0.5]],
        [[1.5, -0.5], [0.5, 0.5]],
    ],
)
def test_a_channel_that_is_none_is_refused(matrix: list[list[float]]) -> None:
    with pytest.raises(lw.InvalidInput):
        lw.Mechanism(matrix)


@pytest.mark.parametrize("prior", [[1.5, -0.5], [float("nan"), 1.0], [0.5, 0.6], [0.0, 0.0]])
def test_a_prior_that_is_none_is_refused(prior: list[float]) -> None:
    m = lw.identity(2)
    for measure in (lw.measures.min_entropy_leakage, lw.mutual_information, lw.epsilon):
        with pytest.raises(lw.InvalidInput):
            measure(m, prior)
