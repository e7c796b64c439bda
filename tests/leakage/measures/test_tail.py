"""Tails, quantiles, ψ1 and ψ2 against their definitions, the paper's numbers, and their laws."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given

import leakwise as lw
from leakage import brute
from leakage.brute import EXAMPLE, MERGED, UNIFORM, channels, deltas, factors, just_above, processed
from leakwise.leakage.measures import arguments as outcomes
from leakwise.mechanism import DenseKernel

F = Fraction
Channel = tuple[lw.Mechanism, lw.Prior]


# --------------------------------------------------------------------------------------------- the paper's numbers


def test_theorem_1_psi1_grows_under_post_processing() -> None:
    before, after = (lw.measures.psi1(m, UNIFORM, lift=F(10, 9)) for m in (EXAMPLE, MERGED))
    assert just_above(before, F(13, 180), 1e-16)
    assert just_above(after, F(2, 27), 1e-16)
    assert before < after


def test_psi2_and_the_tail_do_not_bound_each_other() -> None:
    assert lw.measures.psi2(EXAMPLE, UNIFORM, lift=3) == 0.05
    assert just_above(lw.measures.psi2(EXAMPLE, UNIFORM, lift=F(10, 9)), F(13, 90), 1e-16)
    assert lw.measures.tail_probability(EXAMPLE, UNIFORM, lift=3) == 0.1
    assert lw.measures.tail_probability(EXAMPLE, UNIFORM, lift=F(10, 9)) == 0.1


def test_example_1_the_tail_grows_under_post_processing() -> None:
    assert lw.pml(MERGED, UNIFORM) == pytest.approx([math.log(1.2)] * 2, abs=1e-15)
    assert lw.measures.tail_probability(MERGED, UNIFORM, lift=F(10, 9)) == 1.0
    assert lw.measures.tail_probability(EXAMPLE, UNIFORM, lift=F(10, 9)) == 0.1


def test_example_2_quantiles() -> None:
    found = lw.measures.pml_quantiles(EXAMPLE, UNIFORM, "1/10")
    assert found.lower == pytest.approx(math.log(10 / 9), abs=1e-15)
    assert found.upper == pytest.approx(math.log(4), abs=1e-15)


def test_lower_quantile_grows_under_post_processing() -> None:
    before, after = (lw.measures.pml_quantiles(m, UNIFORM, "1/10") for m in (EXAMPLE, MERGED))
    assert after.lower > before.lower


# ------------------------------------------------------------------------------------------------------ brute force


@given(channels(), factors)
def test_tail_is_its_definition(channel: Channel, t: F) -> None:
    assert just_above(lw.measures.tail_probability(*channel, lift=t), brute.tail(*channel, t), 1e-15)


@given(channels(), factors)
def test_psi1_is_its_definition_and_at_most_the_tail(channel: Channel, t: F) -> None:
    found = lw.measures.psi1(*channel, lift=t)
    assert just_above(found, brute.psi1(*channel, t), 1e-15)
    assert found <= lw.measures.tail_probability(*channel, lift=t)


@given(channels(), factors)
def test_psi2_is_its_definition(channel: Channel, t: F) -> None:
    assert just_above(lw.measures.psi2(*channel, lift=t), brute.psi2(*channel, t), 1e-15)


@given(channels(), deltas)
def test_quantiles_are_their_set_forms(channel: Channel, delta: F) -> None:
    found = lw.measures.pml_quantiles(*channel, delta)
    if delta == 0:
        assert found == (lw.epsilon(*channel),) * 2
        return
    lower, upper = brute.quantile_ratios(*channel, delta)
    assert just_above(found.lower, brute.log(lower), 1e-14)
    assert just_above(found.upper, brute.log(upper), 1e-14)
    assert found.lower <= found.upper


@given(channels(), deltas)
def test_probabilistic_pml_is_the_quantile_read_the_other_way(channel: Channel, delta: F) -> None:
    """(ε, δ)-probabilistic PML holds iff the lower quantile is at most ε."""
    lower, _ = brute.quantile_ratios(*channel, delta)
    assert brute.tail(*channel, lower) <= delta


@given(processed(), factors)
def test_theorem_1_psi2_never_grows(case: tuple[lw.Mechanism, lw.Prior, lw.Mechanism], t: F) -> None:
    mechanism, prior, after = case
    assert lw.measures.psi2(after, prior, lift=t) <= lw.measures.psi2(mechanism, prior, lift=t)


@given(channels())
def test_nothing_is_beyond_the_worst_outcome(channel: Channel) -> None:
    ratio = max(max(column) for _, column in brute.lifts(*channel))
    for measure in (lw.measures.tail_probability, lw.measures.psi1, lw.measures.psi2):
        assert measure(*channel, lift=ratio) == 0.0


def test_an_exponent_is_decided_without_rounding() -> None:
    m, prior = lw.randomized_response(2, lift=3), lw.Prior.uniform(2)
    assert lw.measures.tail_probability(m, prior, epsilon=math.log(1.5) + 1e-15) == 0.0
    assert lw.measures.tail_probability(m, prior, epsilon=math.log(1.5) - 1e-15) == 1.0


# ------------------------------------------------------------------------------------------- large, and structured


def _large(seed: int = 3) -> Channel:
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(160, 0.3), 140)
    matrix[:, 5] = 0.0
    matrix[3] = np.eye(160)[7]
    matrix = np.where(matrix < 1e-12, 0.0, matrix)
    mass = rng.integers(0, 50, 140)
    return lw.Mechanism(matrix / matrix.sum(axis=1, keepdims=True)), lw.Prior(mass.tolist())


def test_floats_are_on_the_safe_side_of_the_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    channel = _large()
    m, prior = channel

    def ask() -> list[float]:
        return [
            *(lw.measures.tail_probability(m, prior, lift=t) for t in (1, 1.5, 3, 20)),
            lw.measures.tail_probability(m, prior, epsilon=1.25),
            *(lw.measures.psi1(m, prior, lift=t) for t in (1, 1.5, 3, 20)),
            *(lw.measures.psi2(m, prior, lift=t) for t in (1, 1.5, 3, 20)),
            *(value for d in (0, 0.01, 0.3, 1) for value in lw.measures.pml_quantiles(m, prior, d)),
        ]

    assert not outcomes.is_small(m)
    floats = ask()
    monkeypatch.setattr(outcomes, "SMALL", 10**9)
    exact = ask()
    for found, truth in zip(floats, exact, strict=True):
        assert 0 <= found - truth < 1e-10


@pytest.mark.parametrize("t", [1, 1.2, 2, 3.5])
@pytest.mark.parametrize("m", [lw.randomized_response(6, lift=4), lw.identity(6)])
def test_structured_psi2_is_the_dense_one(m: lw.Mechanism, t: float) -> None:
    dense = lw.Mechanism.from_kernel(DenseKernel(m.weights, m.denominator))
    prior = lw.Prior([1, 2, 3, 0, 5, 6])
    assert lw.measures.psi2(m, prior, lift=t) == lw.measures.psi2(dense, prior, lift=t)


def test_a_million_letters_need_no_matrix() -> None:
    m = lw.randomized_response(1_000_000, lift=1000)
    prior = lw.Prior.uniform(1_000_000)
    assert lw.measures.tail_probability(m, prior, lift=999.01) == 0.0
    assert lw.measures.tail_probability(m, prior, lift=990) == pytest.approx(1.0)
    assert 0 < lw.measures.psi2(m, prior, lift=500) < 1e-2


# -------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("delta", [-0.1, 1.1, float("nan"), "many", None])
def test_delta_must_be_a_probability(delta: object) -> None:
    with pytest.raises(lw.InvalidInput, match="delta"):
        lw.measures.pml_quantiles(EXAMPLE, UNIFORM, delta)


@pytest.mark.parametrize("measure", [lw.measures.tail_probability, lw.measures.psi1, lw.measures.psi2])
def test_levels_and_priors_are_checked(measure: object) -> None:
    with pytest.raises(lw.InvalidInput, match="epsilon"):
        measure(EXAMPLE, UNIFORM)  # type: ignore[operator]
    with pytest.raises(lw.InvalidInput, match="lift"):
        measure(EXAMPLE, UNIFORM, lift=0.5)  # type: ignore[operator]
    with pytest.raises(lw.InvalidInput, match="values"):
        measure(EXAMPLE, lw.Prior.uniform(3), lift=2)  # type: ignore[operator]
    with pytest.raises(lw.InvalidInput, match=r"lw\.Mechanism"):
        measure([[1.0]], UNIFORM, lift=2)  # type: ignore[operator]
