"""Mutual information, f-informations and capacity."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakage import brute
from leakage.brute import channels, just_above, laws, matrices, processed
from leakwise.leakage.measures import arguments as outcomes
from leakwise.leakage.measures.divergences import DIVERGENCES
from leakwise.mechanism import DenseKernel

Channel = tuple[lw.Mechanism, lw.Prior]
Case = tuple[lw.Mechanism, lw.Prior, lw.Mechanism]

EXACT: dict[str, Any] = {
    "mutual_information": lambda x: x * x.ln() if x else Decimal(0),
    "total_variation": lambda x: abs(x - 1) / 2,
    "chi_square": lambda x: (x - 1) ** 2,
    "hellinger": lambda x: (1 - x.sqrt()) ** 2,
}


@given(channels())
def test_mutual_information_is_its_definition(channel: Channel) -> None:
    found = lw.mutual_information(*channel)
    assert just_above(found, brute.mutual_information(*channel), 1e-13)
    assert found <= lw.maximal_leakage(*channel) + 1e-14


@given(channels(), st.sampled_from(sorted(EXACT)))
def test_f_informations_are_their_definitions(channel: Channel, name: str) -> None:
    assert just_above(lw.measures.f_information(*channel, name), brute.f_information(*channel, EXACT[name]), 1e-12)


def test_every_named_f_is_tested() -> None:
    assert set(EXACT) == set(DIVERGENCES)


@given(processed(), st.sampled_from(sorted(EXACT)))
def test_data_processing(case: Case, name: str) -> None:
    mechanism, prior, after = case
    assert lw.measures.f_information(after, prior, name) <= lw.measures.f_information(mechanism, prior, name) + 1e-12


@given(channels())
def test_an_own_f_agrees_with_the_named_one(channel: Channel) -> None:
    own = lw.measures.f_information(*channel, lambda x: (x - 1) ** 2)
    assert own == lw.measures.f_information(*channel, "chi_square")


def test_nothing_told_is_nothing() -> None:
    for name in EXACT:
        assert lw.measures.f_information(lw.constant(5, [0.3, 0.7]), lw.Prior.uniform(5), name) == 0.0


@pytest.mark.parametrize("name", sorted(EXACT))
def test_floats_are_on_the_safe_side_of_the_integers(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    matrix = rng.dirichlet(np.full(150, 0.2), 140)
    matrix[matrix < 1e-12] = 0.0
    m = lw.Mechanism(matrix / matrix.sum(axis=1, keepdims=True))
    prior = lw.Prior(rng.integers(0, 30, 140).tolist())
    found = lw.measures.f_information(m, prior, name)
    monkeypatch.setattr(outcomes, "SMALL", 10**9)
    assert 0 <= found - lw.measures.f_information(m, prior, name) < 1e-10


@pytest.mark.parametrize("name", sorted(EXACT))
def test_structured_is_the_dense_one(name: str) -> None:
    m = lw.randomized_response(200, lift=50)
    dense = lw.Mechanism.from_kernel(DenseKernel(m.weights, m.denominator))
    prior = lw.Prior(list(range(200)))
    assert lw.measures.f_information(m, prior, name) == pytest.approx(
        lw.measures.f_information(dense, prior, name), abs=1e-10
    )


def test_a_million_letters_need_no_matrix() -> None:
    assert lw.mutual_information(lw.identity(10**6), lw.Prior.uniform(10**6)) == pytest.approx(math.log(10**6))


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (lambda x: -((x - 1) ** 2), r"must be convex\. At .* between .* above the chord value"),
        (lambda x: np.sqrt(x) - 1, r"must be convex"),
        (lambda x: (x - 1) ** 2 + 1, "0 at 1"),
        (lambda x: -np.log(x), "not finite"),
        (lambda x: 1.0, "as many finite numbers"),
        (lambda x: "no", "array of numbers"),
        (3, "a name or a function"),
        ("chi_squared", "Did you mean 'chi_square'"),
    ],
)
def test_bad_f(f: Any, said: str) -> None:
    with pytest.raises(lw.InvalidInput, match=said):
        lw.measures.f_information(lw.identity(2), lw.Prior.uniform(2), f)


# --------------------------------------------------------------------------------------------------------- capacity


def entropy(p: float) -> float:
    return -p * math.log(p) - (1 - p) * math.log(1 - p)


@pytest.mark.parametrize(
    ("matrix", "truth"),
    [
        ([[0.9, 0.1], [0.1, 0.9]], math.log(2) - entropy(0.1)),
        ([[0.7, 0.3, 0.0], [0.0, 0.3, 0.7]], 0.7 * math.log(2)),
        ([[1.0, 0.0], [0.5, 0.5]], math.log(1.25)),
        ([[1.0], [1.0]], 0.0),
        ([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]], math.log(3)),
    ],
)
def test_capacity_in_closed_form(matrix: list[list[float]], truth: float) -> None:
    found = lw.measures.shannon_capacity(lw.Mechanism(matrix), tolerance=1e-9)
    assert found.lower <= truth + 1e-12
    assert found.upper >= truth - 1e-12
    assert found.closed
    assert found.gap <= 1e-9


@settings(max_examples=50)
@given(matrices(), st.data())
def test_capacity_is_above_every_prior_and_its_prior_reaches_the_lower_bound(matrix: Any, data: st.DataObject) -> None:
    m = lw.Mechanism(matrix)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)  # bounds hold whether or not they meet
        found = lw.measures.shannon_capacity(m, tolerance=1e-7, max_iterations=2000)
    assert 0 <= found.lower <= found.upper
    prior = lw.Prior(data.draw(laws(len(matrix))))
    assert brute.mutual_information(m, prior) <= Decimal(found.upper)
    assert brute.mutual_information(m, found.prior) >= Decimal(found.lower)


@settings(max_examples=30)
@given(processed())
def test_capacity_data_processing(case: Case) -> None:
    mechanism, _, after = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)
        first = lw.measures.shannon_capacity(mechanism, tolerance=1e-5, max_iterations=500)
        second = lw.measures.shannon_capacity(after, tolerance=1e-5, max_iterations=500)
    assert second.lower <= first.upper


def test_capacity_that_does_not_close_returns_both_bounds_and_warns() -> None:
    m = lw.Mechanism(np.random.default_rng(0).dirichlet(np.full(30, 1.0), 30))
    with pytest.warns(lw.LeakwiseWarning, match="not closed in on within 3 iterations"):
        rough = lw.measures.shannon_capacity(m, tolerance=1e-12, max_iterations=3)
    assert not rough.closed
    assert rough.iterations == 3
    fine = lw.measures.shannon_capacity(m, tolerance=1e-4)
    assert rough.lower <= fine.upper
    assert rough.upper >= fine.lower
    assert "Shannon capacity" in repr(rough)
    assert "<table" in rough._repr_html_()
    assert rough.to_dict()["closed"] is False


@pytest.mark.parametrize(
    "arguments",
    [{"tolerance": 0}, {"tolerance": -1.0}, {"tolerance": "x"}, {"max_iterations": 0}, {"max_iterations": 1.5}],
)
def test_capacity_arguments_are_checked(arguments: dict[str, Any]) -> None:
    with pytest.raises(lw.InvalidInput, match=next(iter(arguments))):
        lw.measures.shannon_capacity(lw.identity(2), **arguments)


def test_capacity_keeps_labels() -> None:
    found = lw.measures.shannon_capacity(lw.identity(["a", "b"]))
    assert found.prior.labels == ("a", "b")
    assert found.prior.fractions == (Fraction(1, 2), Fraction(1, 2))


@pytest.mark.parametrize("name", EXACT)
def test_floats_and_integers_agree_on_both_sides_of_the_size_where_one_takes_over(monkeypatch, name):
    from leakwise.leakage.measures import information

    generator = np.random.default_rng(5)
    for size in (20, 21, 60):
        mechanism = lw.Mechanism(generator.dirichlet(np.ones(size), size))
        prior = lw.Prior(generator.dirichlet(np.ones(size)))
        monkeypatch.setattr(information, "_FEW", 0)
        floats = lw.measures.f_information(mechanism, prior, name)
        monkeypatch.setattr(information, "_FEW", 10_000)
        integers = lw.measures.f_information(mechanism, prior, name)
        assert floats == pytest.approx(integers, rel=1e-12)
