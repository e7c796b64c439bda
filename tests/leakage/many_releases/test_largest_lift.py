"""The largest lift of many releases against listing every count vector, and at sizes that cannot be listed."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.exact import log_lower
from leakwise.leakage.many_releases.largest_lift import _Search, largest_lift
from leakwise.leakage.measures.pointwise import pml


def random_mechanism(generator: np.random.Generator, values: int, outcomes: int, zeros: float = 0.0) -> lw.Mechanism:
    matrix = generator.dirichlet(np.full(outcomes, 1.5), values) + 1e-3
    nothing = generator.random(matrix.shape) < zeros
    nothing[np.arange(values), generator.integers(0, outcomes, values)] = False
    matrix = np.where(nothing, 0.0, matrix)
    return lw.Mechanism(matrix / matrix.sum(axis=1, keepdims=True))


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]))
def test_no_listed_outcome_leaks_more_and_one_leaks_as_much(seed: int, zeros: float) -> None:
    generator = np.random.default_rng(seed)
    values = int(generator.integers(2, 5))
    first, second = (random_mechanism(generator, values, int(generator.integers(2, 4)), zeros) for _ in range(2))
    many = lw.compose(first.repeat(int(generator.integers(1, 7))), second.repeat(int(generator.integers(1, 5))))
    law = generator.dirichlet(np.ones(values))
    law[0] *= seed % 5 > 0
    prior = lw.Prior(law / law.sum())
    listed = float(pml(many, prior).max())
    found = largest_lift(many, prior)
    assert found.lower <= listed <= found.upper
    assert found.upper - found.lower < 1e-9
    assert [sum(counts) for counts in found.counts] == list(many.counts)


def test_the_outcome_that_it_names_leaks_what_it_says() -> None:
    generator = np.random.default_rng(5)
    one, prior = random_mechanism(generator, 4, 3), lw.Prior([0.4, 0.3, 0.2, 0.1])
    found = largest_lift(one.repeat(60), prior)
    likelihood = np.exp(np.log(one.matrix) @ np.array(found.counts[0]))
    lift = likelihood[found.value] / (prior.probabilities @ likelihood)
    assert math.log(lift) == pytest.approx(found.upper, abs=1e-9)


@pytest.mark.parametrize(("values", "times"), [(2, 365), (12, 90), (50, 1000)])
def test_randomized_response_has_its_closed_form(values: int, times: int) -> None:
    weights = np.arange(1, values + 1)
    prior = lw.Prior((weights / weights.sum()).tolist())
    many = lw.randomized_response(values, epsilon=0.02).repeat(times)
    t, rarest = math.exp(0.02 * times), float(prior.probabilities.min())
    expected = math.log(t / (rarest * t + 1 - rarest))
    found = largest_lift(many, prior)
    assert found.lower == pytest.approx(expected, abs=1e-9)
    assert found.upper == pytest.approx(expected, abs=1e-9)
    assert lw.epsilon(many, prior) == pytest.approx(found.upper, abs=1e-9)


def test_daily_reports_of_twelve_values_have_an_answer() -> None:
    generator = np.random.default_rng(8)
    report, prior = random_mechanism(generator, 12, 12), lw.Prior(generator.dirichlet(np.full(12, 2.0)))
    # One report tells little, so that ninety are still far from all.
    mixed = lw.Mechanism(0.02 * report.matrix + 0.98 / 12)
    found = largest_lift(mixed.repeat(90), prior)
    assert found.upper - found.lower < 1e-9
    assert 0.1 < found.upper < prior.epsilon_max - 0.1
    # Moving a single draw to another outcome never leaks more.
    logs, counts = np.log(mixed.matrix), np.array(found.counts[0])
    for source, target in itertools.permutations(np.arange(12), 2):
        if counts[source]:
            moved = counts.copy()
            moved[source] -= 1
            moved[target] += 1
            likelihood = np.exp(logs @ moved - (logs @ moved).max())
            assert math.log(likelihood.max() / (prior.probabilities @ likelihood)) <= found.upper


def test_a_search_that_is_stopped_stays_on_the_safe_side() -> None:
    generator = np.random.default_rng(3)
    one, prior = random_mechanism(generator, 4, 4), lw.Prior([0.4, 0.3, 0.2, 0.1])
    many = lw.Mechanism(0.1 * one.matrix + 0.9 / 4).repeat(25)
    listed = float(pml(many, prior).max())
    stopped = largest_lift(many, prior, boxes=0)
    assert stopped.lower <= listed <= stopped.upper


def rare(times: int, mass: Fraction) -> lw.results.Composition:
    """Three values; one outcome is rare, and ten times as likely for the first."""
    return lw.Mechanism([[mass * share, 1 - mass * share] for share in (10, 1, 1)]).repeat(times)


@pytest.mark.parametrize("digits", [12, 300, 323, 400])
def test_an_outcome_less_likely_than_any_float_counts(digits: int) -> None:
    many, prior = rare(3, Fraction(7, 10**digits)), lw.Prior.uniform(3)
    found = largest_lift(many, prior)
    assert found.lower <= float(pml(many, prior).max()) <= found.upper < found.lower + 1e-9
    assert found.counts == ((3, 0),)


def test_a_value_less_likely_than_any_float_counts() -> None:
    tiny = Fraction(1, 10**400)
    some = lw.Mechanism([["1/2", "1/2", 0, 0], [0, "1/4", "1/4", "1/2"], ["1/2", 0, "1/2", 0]]).repeat(4)
    found = largest_lift(some, lw.Prior([tiny, Fraction(1, 2), Fraction(1, 2) - tiny]))
    assert found.upper >= 400 * math.log(10) - 1e-9


def test_a_value_a_little_less_likely_than_the_worst_one_so_far_counts() -> None:
    # The second value is found at once; the first needs two different outcomes, and is less likely by 5e-11.
    second = Fraction(1, 4)
    first = second * (1 - Fraction(5, 10**11))
    some = lw.Mechanism([["1/2", "1/2", 0, 0], [0, "1/4", "1/4", "1/2"], ["1/2", 0, "1/2", 0]]).repeat(4)
    assert largest_lift(some, lw.Prior([first, second, 1 - first - second])).upper >= log_lower(1 / first)


@pytest.mark.parametrize("times", [2**31, 2**63, 10**30])
def test_more_releases_than_a_machine_integer_holds_have_an_answer(times: int) -> None:
    one, prior = lw.Mechanism([[0.6, 0.4], [0.45, 0.55]]), lw.Prior([0.3, 0.7])
    found = largest_lift(one.repeat(times), prior)
    assert found.upper == prior.epsilon_max == lw.epsilon(one.repeat(times), prior)
    assert found.upper - 1e-4 < found.lower <= found.upper
    entropy = -0.3 * math.log(0.3) - 0.7 * math.log(0.7)
    assert lw.mutual_information(one.repeat(times), prior) == pytest.approx(entropy, abs=1e-9)
    says_nothing = lw.Mechanism([[0.6, 0.4], [0.6, 0.4]])
    assert lw.epsilon(says_nothing.repeat(times), prior) == 0


def test_of_other_values_no_more_is_asked_than_that_they_stay_below_the_bound(monkeypatch) -> None:
    prior = lw.Prior(range(4, 16))
    many = lw.design(prior, lift=1.05).mechanism.repeat(10)
    asked, least = list[float](), _Search.least
    monkeypatch.setattr(_Search, "least", lambda self, known, boxes: asked.append(known) or least(self, known, boxes))
    found = largest_lift(many, prior, boxes=1)
    assert asked == sorted(asked)
    assert asked[-1] > found.lower + 0.01, "the first value was not left open, so that nothing is tested"
