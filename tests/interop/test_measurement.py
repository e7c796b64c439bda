"""Measurements of OpenDP from mechanisms and back, with the real package."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest

import leakwise as lw
from leakwise.errors import InvalidInput

dp: Any = pytest.importorskip("opendp.prelude", reason="opendp is not installed (pip install leakwise[interop])")
RESPONSE = lw.randomized_response(["no", "yes", "perhaps"], lift=3)
DRAWS = 3000


@pytest.fixture(autouse=True)
def trusted() -> None:
    dp.enable_features("contrib", "honest-but-curious")


def test_a_measurement_draws_from_the_mechanism_and_knows_its_epsilon() -> None:
    measurement = RESPONSE.to_opendp()
    assert measurement.map(1) == lw.ldp(RESPONSE) >= math.log(3)
    assert measurement.map(0) == 0.0
    assert measurement.check(1, 1.0987)
    assert not measurement.check(1, 1.0985)
    assert measurement.input_metric == dp.discrete_distance()
    assert measurement.output_measure == dp.max_divergence()
    drawn = Counter(measurement("yes") for _ in range(DRAWS))
    for value, times in drawn.items():
        chance = float(RESPONSE.probability("yes", value))
        assert abs(times - DRAWS * chance) < 6 * math.sqrt(DRAWS * chance * (1 - chance))
    with pytest.raises(dp.OpenDPException, match="maybe"):
        measurement("maybe")
    assert measurement.input_domain.member("yes")
    assert not measurement.input_domain.member("maybe")


def test_measurements_compose_in_opendp_and_the_sum_is_a_bound() -> None:
    both = dp.c.make_composition([RESPONSE.to_opendp(), lw.randomized_response(RESPONSE.inputs, lift=2).to_opendp()])
    assert len(both("yes")) == 2
    together = lw.compose(RESPONSE, lw.randomized_response(RESPONSE.inputs, lift=2))
    assert lw.ldp(together) <= both.map(1) + 1e-12 == pytest.approx(math.log(6))


def test_labels_of_any_kind_go_through() -> None:
    m = lw.Mechanism([["1/2", "1/2"], ["1/4", "3/4"]], inputs=[(1, "a"), None], outputs=["x", 2.5])
    assert m.to_opendp()((1, "a")) in m.outputs
    assert m.to_opendp()(None) in m.outputs


def test_a_mechanism_without_epsilon_has_an_infinite_one() -> None:
    assert lw.identity(["no", "yes"]).to_opendp().map(1) == math.inf


@pytest.mark.parametrize("m", [RESPONSE, lw.identity(2), lw.Mechanism([[0.3, 0.7], [0.1, 0.9]])])
def test_there_and_back_is_the_same_mechanism(m: lw.Mechanism) -> None:
    assert lw.Mechanism.from_opendp(m.to_opendp()) == m


@pytest.mark.parametrize(
    ("categories", "prob"), [(["a", "b"], 0.75), (["a", "b", "c"], 0.6), ([1, 2, 3, 4], 0.9), ([True, False], 0.8)]
)
def test_randomized_response_of_opendp_is_read_exactly(categories: list[Any], prob: float) -> None:
    measurement = dp.m.make_randomized_response(categories, prob=prob)
    m = lw.Mechanism.from_opendp(measurement)
    assert list(m.inputs) == list(m.outputs) == categories
    assert m.probability(categories[0], categories[0]) == Fraction(prob)
    assert m.probability(categories[0], categories[1]) == (1 - Fraction(prob)) / (len(categories) - 1)
    assert measurement.map(1) == pytest.approx(lw.ldp(m), abs=1e-12)
    assert lw.ldp(m) <= math.nextafter(measurement.map(1), math.inf)
    drawn = Counter(measurement(categories[1]) for _ in range(DRAWS))
    for value, times in drawn.items():
        chance = float(m.probability(categories[1], value))
        assert abs(times - DRAWS * chance) < 6 * math.sqrt(DRAWS * chance * (1 - chance))


def test_the_binary_response_of_opendp_is_read_exactly() -> None:
    m = lw.Mechanism.from_opendp(dp.m.make_randomized_response_bool(prob=0.75))
    assert m == lw.Mechanism([["3/4", "1/4"], ["1/4", "3/4"]], inputs=[False, True], outputs=[False, True])
    twice = lw.Mechanism.from_opendp(dp.m.make_randomized_response(["a", "a", "b"], prob=0.6))
    assert twice.inputs == ("a", "b")


def test_what_cannot_be_read_is_refused_with_what_to_do() -> None:
    laplace = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=1.0)
    with pytest.raises(InvalidInput, match=r"make_randomized_response.*audit_program"):
        lw.Mechanism.from_opendp(laplace)
    with pytest.raises(InvalidInput, match="Measurement of OpenDP"):
        lw.Mechanism.from_opendp(RESPONSE)
    other = dp.m.make_user_measurement(
        dp.atom_domain(T=bool), dp.discrete_distance(), dp.max_divergence(), lambda value: value, lambda _: 1.0
    )
    with pytest.raises(InvalidInput, match="make_user_measurement"):
        lw.Mechanism.from_opendp(other)


def test_arguments_that_were_changed_afterwards_are_refused() -> None:
    categories = ["a", "b"]
    measurement = dp.m.make_randomized_response(categories, prob=0.6)
    categories.append("c")
    with pytest.raises(InvalidInput, match="not the same"):
        lw.Mechanism.from_opendp(measurement)


def test_opendp_is_not_told_for_the_user_that_others_are_trusted() -> None:
    dp.disable_features("honest-but-curious")
    with pytest.raises(InvalidInput, match="enable_features"):
        RESPONSE.to_opendp()
