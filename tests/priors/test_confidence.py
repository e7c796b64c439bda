"""Confidence sets: radii by formula, safe iteration of φ, coverage by enumeration and by simulation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakwise.errors import InvalidInput
from leakwise.priors import Ball, Box, KLBall, LayerCake, Prior
from leakwise.priors.confidence import kl_radius, phi, weissman_phi_radius, weissman_radius
from leakwise.priors.sample import counts_of, half_of_counts, log_subsets_upper

METHODS = ["weissman", "weissman-phi", "clopper-pearson", "kl", "layer-cake", "best"]


def test_weissman_radius_is_the_formula_7_rounded_up() -> None:
    for n, m, delta in ((2, 100, 0.05), (20, 10_000, 1e-5), (60, 10**6, 1e-9)):
        expected = math.sqrt(2 / m * (math.log(2**n - 2) - math.log(delta)))
        found = weissman_radius(n, m, delta)
        assert Fraction(expected) * (1 - Fraction(1, 10**14)) <= found
        assert float(found) == pytest.approx(expected, rel=1e-12)


def test_alphabets_whose_number_of_sets_overflows_just_work() -> None:
    assert log_subsets_upper(10**7) == pytest.approx(10**7 * math.log(2), rel=1e-12)
    assert log_subsets_upper(513) >= 513 * math.log(2) + math.log1p(-(2.0**-512))
    n = 5000
    prior = Prior.from_counts([3] * n)
    ball = prior.confidence(1e-6)
    assert isinstance(ball, Ball)
    assert float(ball.beta) == pytest.approx(math.sqrt(2 * (n * math.log(2) + 6 * math.log(10)) / (3 * n)), rel=1e-9)
    assert float(kl_radius(n, 3 * n, 1e-6)) > 0


def test_phi_is_two_at_one_half_and_falls() -> None:
    assert phi(0.5) == 2
    values = [phi(p) for p in np.linspace(1e-9, 0.5, 200)]
    assert all(a >= b for a, b in itertools.pairwise(values))
    assert phi(0.25) == pytest.approx(2 * math.log(3), rel=1e-9)
    assert phi(0.25) <= 2 * math.log(3)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=9).filter(any))
def test_kappa_is_the_best_halving(counts: list[int]) -> None:
    total = sum(counts)
    sums = {sum(chosen) for size in range(len(counts) + 1) for chosen in itertools.combinations(counts, size)}
    assert half_of_counts(tuple(counts)) == max(Fraction(min(s, total - s), total) for s in sums)


def test_kappa_of_a_huge_sample_is_bounded_by_one_half() -> None:
    assert half_of_counts((10**10, 3)) == Fraction(1, 2)


def test_safe_phi_radius_is_between_the_unsafe_and_the_plain_one() -> None:
    counts = (9_900, 60, 40)
    plain = float(weissman_radius(3, 10_000, 1e-6))
    safe = float(weissman_phi_radius(counts, 1e-6))
    union = math.log(6) + 6 * math.log(10)
    unsafe = 2 * math.sqrt(union / (10_000 * phi(0.01)))
    assert unsafe < safe < plain
    # It is a fixed point: the radius that its own κ gives.
    assert safe == pytest.approx(2 * math.sqrt(union / (10_000 * phi(0.01 + safe / 2))), rel=1e-9)
    balanced = weissman_phi_radius((500, 500), 0.01)
    assert float(balanced) == pytest.approx(float(weissman_radius(2, 1000, 0.01)), rel=1e-9)


def types(letters: int, samples: int) -> Iterator[tuple[int, ...]]:
    for bars in itertools.combinations(range(samples + letters - 1), letters - 1):
        edges = (-1, *bars, samples + letters - 1)
        yield tuple(b - a - 1 for a, b in itertools.pairwise(edges))


def chance(counts: tuple[int, ...], p: tuple[float, ...]) -> float:
    log = math.lgamma(sum(counts) + 1)
    for n, mass in zip(counts, p, strict=True):
        log += n * math.log(mass) - math.lgamma(n + 1)
    return math.exp(log)


@pytest.mark.parametrize(
    ("truth", "samples"),
    [((0.5, 0.5), 40), ((0.98, 0.02), 40), ((0.98, 0.02), 7), ((0.6, 0.3, 0.1), 10), ((0.9, 0.05, 0.05), 10)],
)
def test_every_set_covers_the_truth_by_enumeration(truth: tuple[float, ...], samples: int) -> None:
    """The exact probability, over all samples, that the set misses the truth is within the failure."""
    failure = 0.1
    missed = dict.fromkeys(["weissman", "weissman-phi", "clopper-pearson", "kl", "best"], 0.0)
    missed_cake = 0.0
    n = len(truth)
    subsets = [s for size in range(1, n) for s in itertools.combinations(range(n), size)]
    for counts in types(n, samples):
        weight = chance(counts, truth)
        prior = Prior.from_counts(counts)
        for method in missed:
            missed[method] += 0.0 if holds(prior, truth, failure, method) else weight
        cake = prior.confidence(failure, "layer-cake")
        inside = all(
            float(cake.least_mass([1.0 if i in s else 0.0 for i in range(n)])) <= sum(truth[i] for i in s)
            for s in subsets
        )
        missed_cake += 0.0 if inside else weight
    assert {method: value for method, value in missed.items() if value > failure} == {}
    assert missed_cake <= failure
    assert max(*missed.values(), missed_cake) > 0  # a set that never misses would test nothing


def holds(prior: Prior, truth: tuple[float, ...], failure: float, method: str) -> bool:
    found = prior.confidence(failure, method)
    p = prior.probabilities
    distance = sum(abs(a - b) for a, b in zip(p, truth, strict=True))
    if isinstance(found, Ball):
        return distance <= found.beta
    if isinstance(found, KLBall):
        return sum(a * math.log(a / b) for a, b in zip(p, truth, strict=True) if a) <= found.radius
    assert isinstance(found, Box)
    within = all(low <= b <= high for low, b, high in zip(found.lower, truth, found.upper, strict=True))
    return within and (found.beta is None or distance <= found.beta)


def test_kl_radius_covers_by_enumeration_of_more_letters() -> None:
    truth = (0.4, 0.3, 0.2, 0.1)
    for failure in (0.3, 0.01):
        radius = float(kl_radius(4, 20, failure))
        missed = 0.0
        for counts in types(4, 20):
            divergence = sum(n / 20 * math.log(n / 20 / p) for n, p in zip(counts, truth, strict=True) if n)
            missed += chance(counts, truth) if divergence > radius else 0.0
        assert missed <= failure


def test_plugging_the_estimate_into_phi_fails_and_the_safe_radius_holds() -> None:
    """[ED] section II-B with κ of the estimate: at a nominal 5 % it misses far more often."""
    failure, samples, truth = 0.05, 60, np.array([0.985, 0.015])
    generator = np.random.default_rng(7)
    union = math.log(2) - math.log(failure)
    draws = generator.multinomial(samples, truth, 2000)
    naive = safe = 0
    radii: dict[int, float] = {}
    for counts in draws.tolist():
        distance = 2 * abs(counts[1] / samples - truth[1])
        kappa = min(counts) / samples
        sharp = 0.0 if kappa == 0 else 2 * math.sqrt(union / (samples * phi(kappa)))
        naive += distance > sharp
        radius = radii.setdefault(counts[1], float(weissman_phi_radius(tuple(counts), failure)))
        safe += distance > radius
    assert naive / len(draws) > 0.2
    assert safe / len(draws) <= failure


def test_best_holds_ball_and_box_at_half_the_failure() -> None:
    prior = Prior.from_counts([600, 300, 100])
    best = prior.confidence(0.02, "best")
    half = [prior.confidence(0.01, "weissman-phi"), prior.confidence(0.01, "clopper-pearson")]
    for column in ([1, 0, 0], [0, 0, 1], [3, 2, 1], [0, 1, 1]):
        assert best.exact_least_mass(column) >= max(part.exact_least_mass(column) for part in half)
    assert best.failure == 0.02


@pytest.mark.parametrize("method", METHODS)
def test_failure_and_method_are_kept_and_one_letter_is_no_case(method: str) -> None:
    found = Prior.from_counts({"a": 30, "b": 70}).confidence("0.001", method)
    assert found.exact_failure == Fraction(1, 1000)
    assert found.failure >= 0.001
    assert found.method == method
    assert "0.001" in repr(found)
    alone = Prior.from_counts({"a": 30}).confidence(0.01, method)
    assert alone.exact_least_mass([7]) == 7


def test_more_samples_and_more_failure_make_smaller_sets() -> None:
    for method in METHODS:
        small = Prior.from_counts([60, 40]).confidence(0.01, method).exact_least_mass([1, 0])
        large = Prior.from_counts([6000, 4000]).confidence(0.01, method).exact_least_mass([1, 0])
        loose = Prior.from_counts([60, 40]).confidence(0.2, method).exact_least_mass([1, 0])
        assert small < large
        assert small < loose


@pytest.mark.parametrize("failure", [0, 1, -0.5, 2])
def test_failure_outside_its_range_is_refused(failure: float) -> None:
    with pytest.raises(InvalidInput, match="failure must be a probability above 0 and below 1"):
        Prior.from_counts([1, 1]).confidence(failure)


def test_unknown_methods_and_priors_without_a_sample_are_refused() -> None:
    with pytest.raises(InvalidInput, match="Did you mean 'weissman'"):
        Prior.from_counts([1, 1]).confidence(0.1, "weisman")
    with pytest.raises(InvalidInput, match=r"Prior\.from_counts"):
        Prior([0.5, 0.5]).confidence(0.1)


def test_counts_come_back_from_a_reduced_prior() -> None:
    assert counts_of(Prior.from_counts([500, 300, 200])) == (500, 300, 200)
    assert isinstance(Prior.from_counts([1, 2]).confidence(0.5, "layer-cake"), LayerCake)
