"""Leakage under a wrong prior: the exact value, and every bound of [ED] above it."""

from __future__ import annotations

import itertools
import json
import math
import pickle
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import leakwise as lw
import strategies as own
from leakwise.errors import InvalidInput
from leakwise.leakage.bounds.sample_size import sample_size
from leakwise.leakage.bounds.wrong_prior import (
    capacity_bound,
    estimation_bound,
    estimation_failure,
    kl,
    leakage_sensitivity,
    lipschitz_bound,
    output_divergence,
    sensitivity_bound,
)
from leakwise.mechanism.catalog import k_singular
from leakwise.priors import AllPriors, Prior

# [ED] Example 1: the optimum of [EX] Example 1 at ε = log 9/8.
EXAMPLE = lw.Mechanism(
    [
        ["0.325", "0.225", "0.225", "0.225"],
        ["0.45", "0.1", "0.225", "0.225"],
        ["0.45", "0.225", "0.1", "0.225"],
        ["0.45", "0.225", "0.225", "0.1"],
    ]
)
EXAMPLE_PRIOR = Prior(["2/5", "1/5", "1/5", "1/5"])


@st.composite
def cases(draw: st.DrawFn) -> tuple[lw.Mechanism, Prior, Fraction]:
    size = draw(st.integers(2, 4))
    matrix = draw(own.matrices(rows=size))
    law = draw(own.laws(size, zeros=False))
    return lw.Mechanism(matrix), Prior(law), draw(own.fractions_between(Fraction(0), Fraction(3, 2), 7))


@given(cases(), st.integers(0, 2**32))
def test_capacity_is_above_every_member_and_below_every_bound(
    case: tuple[lw.Mechanism, Prior, Fraction], seed: int
) -> None:
    mechanism, prior, beta = case
    ball = prior.ball(beta)
    capacity, here = lw.epsilon(mechanism, ball), lw.epsilon(mechanism, prior)
    generator = np.random.default_rng(seed)
    for _ in range(20):
        other = generator.dirichlet(np.ones(len(prior)))
        distance = float(np.abs(other - prior.probabilities).sum())
        share = min(1.0, float(beta) / distance) * (1 - 1e-12)
        member = (1 - share) * prior.probabilities + share * other
        assert lw.epsilon(mechanism, Prior(member / member.sum())) <= capacity + 1e-9
    assert capacity >= here
    lift = math.exp(here) * (1 + 1e-12)
    least = prior.least_probability
    assert output_divergence(mechanism, ball) <= sensitivity_bound(lift=lift, beta=beta, least_probability=least) + 1e-9
    assert capacity <= capacity_bound(lift=lift, beta=beta) + 1e-9
    assert leakage_sensitivity(mechanism, ball) <= output_divergence(mechanism, ball) + 1e-12
    assert leakage_sensitivity(mechanism, ball) == pytest.approx(capacity - here, abs=1e-9)
    assume(math.isfinite(capacity))
    assert capacity - here <= lipschitz_bound(capacity, min(float(beta), 2.0)) + 1e-9
    assert lipschitz_bound(capacity, 0.5) <= lipschitz_bound(capacity, 0.5, as_printed=True)


@pytest.mark.parametrize("beta", ["0.01", "0.1", "0.3", "0.399"])
def test_theorem_4_is_tight_for_an_extremal_mechanism_of_the_first_region(beta: str) -> None:
    lift = Fraction(9, 8)
    assert lw.certify(EXAMPLE, EXAMPLE_PRIOR).ratio == lift
    assert EXAMPLE_PRIOR.region(lift=lift) == 1
    exact = leakage_sensitivity(EXAMPLE, EXAMPLE_PRIOR.ball(beta))
    bound = sensitivity_bound(lift=lift, beta=beta, least_probability=Fraction(1, 5))
    assert exact == pytest.approx(bound, rel=1e-12)
    assert exact == pytest.approx(-math.log(1 - float(beta) / 2 * (9 / 8 - 1) / 0.2), rel=1e-12)


@pytest.mark.parametrize("beta", ["0.02", "0.1", "0.199"])
def test_theorem_4_is_tight_where_every_outcome_excludes_a_letter(beta: str) -> None:
    """[ED] Example 2: the 2-singular mechanism at N = 10."""
    mechanism, uniform = k_singular(10, 2), Prior.uniform(10)
    exact = leakage_sensitivity(mechanism, uniform.ball(beta))
    assert exact == pytest.approx(sensitivity_bound(lift=5, beta=beta), rel=1e-12)
    assert exact == pytest.approx(-math.log(1 - float(beta) / 2 * 5), rel=1e-12)


@pytest.mark.parametrize(
    ("mechanism", "prior", "least"),
    [(EXAMPLE, EXAMPLE_PRIOR, "1/5"), (k_singular(10, 2), Prior.uniform(10), None)],
    ids=["example 1", "example 2"],
)
def test_figure_2_ten_thousand_priors_never_above_the_bound(
    mechanism: lw.Mechanism, prior: Prior, least: str | None
) -> None:
    generator = np.random.default_rng(3)
    p = prior.probabilities
    others = generator.dirichlet(20 * p, 10_000)
    shares = generator.random(10_000)[:, None]
    members = p + shares * (others - p)
    distance = np.abs(members - p).sum(axis=1)
    here = p @ mechanism.matrix
    with np.errstate(divide="ignore"):
        divergence = np.log(here / (members @ mechanism.matrix)).max(axis=1)
    lift = lw.certify(mechanism, prior).ratio
    worst_excess = -math.inf
    for value, beta in zip(divergence[:2000].tolist(), distance[:2000].tolist(), strict=True):
        worst_excess = max(worst_excess, value - sensitivity_bound(lift=lift, beta=beta, least_probability=least))
    assert worst_excess <= 1e-12
    # The exact capacity lies between the largest sample within a radius and the bound.
    for beta in (0.1, 0.2, 0.3):
        within = divergence[distance <= beta].max()
        exact = output_divergence(mechanism, prior.ball(beta))
        assert within <= exact <= sensitivity_bound(lift=lift, beta=beta, least_probability=least) * (1 + 1e-12)


def test_remark_1_every_prior_is_local_differential_privacy() -> None:
    response = lw.randomized_response(4, lift=3)
    assert lw.epsilon(response, AllPriors(4)) == pytest.approx(math.log(3), abs=1e-12)
    assert lw.epsilon(response, Prior.uniform(4).ball(2)) == pytest.approx(math.log(3), abs=1e-12)
    assert leakage_sensitivity(lw.identity(2), AllPriors(2)) == math.inf
    assert output_divergence(lw.identity(2), AllPriors(2)) == math.inf
    assert output_divergence(lw.Mechanism([[1, 0], [1, 0]]), AllPriors(2)) == 0


def test_bounds_end_where_they_must() -> None:
    assert capacity_bound(lift=2, beta=1) == math.inf
    assert sensitivity_bound(lift=2, beta=1) == math.inf
    assert capacity_bound(epsilon=0, beta=0) == 0
    assert lipschitz_bound(1.0, 0.0) == 0
    with pytest.raises(InvalidInput, match="beta must be a radius"):
        capacity_bound(lift=2, beta=-1)
    with pytest.raises(InvalidInput, match="least_probability"):
        sensitivity_bound(lift=2, beta=0.1, least_probability=0)
    with pytest.raises(InvalidInput, match="distance"):
        lipschitz_bound(1.0, 3.0)


# ---------------------------------------------------------------------------------------------- from a sample


@given(st.integers(2, 200), st.integers(10, 10**6), st.floats(0.01, 5.0), st.sampled_from([0.1, 1e-5, 1e-12]))
def test_the_layer_cake_bound_is_never_worse_than_8(n: int, m: int, eps: float, delta: float) -> None:
    cake = estimation_bound(eps, letters=n, samples=m, failure=delta)
    printed = estimation_bound(eps, letters=n, samples=m, failure=delta, method="weissman")
    assert eps <= cake <= printed + 1e-9
    assume(cake < 30)  # beyond, 1 - e^{-ε'} is no longer a float of full precision
    union = math.log(2**n - 2) - math.log(delta)
    assert kl(math.exp(-eps), math.exp(-cake)) == pytest.approx(union / m, rel=1e-3, abs=1e-9)
    left = math.exp(-eps) - math.sqrt(union / (2 * m))
    assert printed == (pytest.approx(-math.log(left), rel=1e-6) if left > 1e-9 else math.inf)


@given(st.data())
def test_the_layer_cake_bound_holds_for_every_mechanism(data: st.DataObject) -> None:
    """The stacked level sets of any column are at least what the closed form promises for its ε."""
    size = data.draw(st.integers(2, 4))
    counts = data.draw(st.lists(st.integers(1, 300), min_size=size, max_size=size))
    prior = Prior.from_counts(counts)
    mechanism = lw.Mechanism(data.draw(own.matrices(rows=size)))
    here = lw.epsilon(mechanism, prior)
    found = lw.epsilon(mechanism, prior.confidence("0.001", "layer-cake"))
    assert found <= estimation_bound(here, letters=size, samples=sum(counts), failure="0.001") + 1e-6


def test_corollary_3_and_8_are_each_others_inverse() -> None:
    for method in ("weissman", "layer-cake"):
        reached = estimation_bound(lift=5, letters=20, samples=20_000, failure=1e-5, method=method)
        failure = estimation_failure(lift=5, target=reached, letters=20, samples=20_000, method=method)
        assert failure == pytest.approx(1e-5, rel=1e-5)
    printed = (2**20 - 2) * math.exp(-2 * 20_000 * (1 / 5 - 1 / 6) ** 2)
    found = estimation_failure(lift=5, target_lift=6, letters=20, samples=20_000, method="weissman")
    assert found == pytest.approx(printed, rel=1e-9)
    assert estimation_failure(lift=5, target_lift=6, letters=20, samples=20_000) < found
    assert estimation_failure(lift=5, target_lift=6, letters=20, samples=1) == 1


@given(st.integers(2, 5000), st.floats(0.01, 3.0), st.floats(0.01, 2.0), st.sampled_from([0.1, 1e-6]))
def test_sample_size_is_enough_and_hardly_more(n: int, eps: float, more: float, delta: float) -> None:
    for method in ("weissman", "layer-cake"):
        m = sample_size(n, eps, eps + more, failure=delta, method=method)
        assert estimation_bound(eps, letters=n, samples=m, failure=delta, method=method) <= eps + more
        fewer = int(m * (1 - 1e-6)) - 2
        if fewer >= 1:
            assert estimation_bound(eps, letters=n, samples=fewer, failure=delta, method=method) > eps + more
    assert m <= sample_size(n, eps, eps + more, failure=delta, method="weissman")


def test_sample_size_of_the_papers_figure_3() -> None:
    """[ED] Figure 3: N = 20, ε = log 5, δ = 1e-5."""
    printed = math.ceil((math.log(2**20 - 2) + 5 * math.log(10)) / (2 * (1 / 5 - math.exp(-1.7)) ** 2))
    assert sample_size(20, lift=5, target=1.7, failure="1e-5", method="weissman") == printed
    assert sample_size(1, lift=5, target_lift=6, failure=0.1) == 1


def test_impossible_questions_are_refused() -> None:
    with pytest.raises(InvalidInput, match="target must be above"):
        sample_size(3, epsilon=1.0, target=1.0, failure=0.1)
    with pytest.raises(InvalidInput, match="letters must be a whole number"):
        sample_size(0, epsilon=1.0, target=2.0, failure=0.1)
    with pytest.raises(InvalidInput, match="failure must be"):
        sample_size(3, epsilon=1.0, target=2.0, failure=1)
    with pytest.raises(InvalidInput, match="method must be"):
        sample_size(3, epsilon=1.0, target=2.0, failure=0.1, method="hoeffding")
    assert estimation_bound(0, letters=5, samples=1, failure=0.1) == 0
    assert estimation_failure(1.0, 2.0, letters=1, samples=1) == 0


# ------------------------------------------------------------------------------- letters that the sample never showed


def test_a_letter_the_sample_never_showed_is_counted_or_refused() -> None:
    """Counts a 600, b 400, c 0: the bound was 0.537, the true leakage 0.796 when c has probability 0.001."""
    estimate = Prior.from_counts({"a": 600, "b": 400, "c": 0})
    response = lw.randomized_response(["a", "b", "c"], pml="0.4", prior=Prior({"a": "0.6", "b": "0.4", "c": 0}))
    here = lw.epsilon(response, estimate)
    assert here == pytest.approx(0.4, abs=1e-6)
    truth = lw.epsilon(response, {"a": "0.6", "b": "0.399", "c": "0.001"})
    assert truth == pytest.approx(0.796, abs=1e-3)
    counted = lw.epsilon(response, estimate, every_letter=True)
    ways = [
        here,
        lw.design(estimate, epsilon="0.4").epsilon,
        lw.audit(response, estimate).epsilon,
        lw.certify(response, estimate).epsilon_upper,
    ]
    for epsilon in ways:
        for call in (
            lambda eps: lw.measures.estimation_bound(eps, letters=3, samples=1000, failure="0.01"),
            lambda eps: lw.measures.estimation_failure(eps, 3.0, letters=3, samples=1000),
            lambda eps: lw.sample_size(3, eps, 3.0, failure="0.01"),
            lambda eps: lw.measures.capacity_bound(eps, "0.002"),
            lambda eps: lw.measures.sensitivity_bound(eps, "0.002"),
            lambda eps: lw.measures.lipschitz_bound(eps, 0.002),
        ):
            with pytest.raises(InvalidInput, match=r"without 'c'.*every_letter=True"):
                call(epsilon)
            call(counted)
    for method in ("layer-cake", "weissman"):
        assert lw.measures.estimation_bound(counted, letters=3, samples=1000, failure="0.01", method=method) >= truth
    assert lw.measures.capacity_bound(counted, "0.002") >= truth
    assert counted + lw.measures.sensitivity_bound(counted, "0.002") >= truth
    # A number that remembers is a number all the same, also after a journey, and plain in plain data.
    looked = lw.audit(response, estimate)
    for result in (looked, lw.certify(response, estimate), lw.design(estimate, lift=2)):
        assert msgspec.json.encode(result.to_dict())
    assert msgspec.json.encode(looked.chart())
    assert pickle.loads(pickle.dumps(here)).left_out == ("c",)
    assert json.dumps(here) == repr(float(here))
    assert type(lw.epsilon(response, Prior.uniform(["a", "b", "c"]))) is float


@given(st.data())
def test_bounds_hold_for_true_priors_with_mass_on_letters_the_estimate_gives_none(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 5))
    law = data.draw(own.laws(size))
    mechanism = lw.Mechanism(data.draw(own.matrices(rows=size)))
    other = data.draw(own.laws(size))
    share = data.draw(own.fractions_between(Fraction(0), Fraction(1), 9))
    true = [(1 - share) * mine + share * theirs for mine, theirs in zip(law, other, strict=True)]
    beta = sum(abs(a - b) for a, b in zip(true, law, strict=True))
    truth, counted = lw.epsilon(mechanism, Prior(true)), lw.epsilon(mechanism, Prior(law), every_letter=True)
    assert counted >= lw.epsilon(mechanism, Prior(law))
    assume(math.isfinite(counted))
    assert truth <= capacity_bound(counted, beta)
    assert truth <= counted + sensitivity_bound(counted, beta) + 1e-12
    if min(law) > 0:
        assert truth <= counted + sensitivity_bound(counted, beta, least_probability=min(law)) + 1e-12
    # The sample says `law`; the failure at which its layer cake just holds `true` is that of the worst set of letters.
    samples = 1000
    sets = [s for s in itertools.product([False, True], repeat=size) if 0 < sum(s) < size]
    masses = [(sum(itertools.compress(law, s)), sum(itertools.compress(true, s))) for s in sets]
    assume(all(0 < b < 1 or a == b for a, b in masses))
    radius = max(kl(float(a), float(b)) if 0 < b < 1 else 0.0 for a, b in masses)
    failure = (2**size - 2) * math.exp(-samples * radius)
    assume(1e-300 < failure < 1)
    assert truth <= estimation_bound(counted, letters=size, samples=samples, failure=failure * (1 - 1e-9)) + 1e-9
    reached = max(counted + 1e-6, truth)
    needed = estimation_failure(counted, reached, letters=size, samples=samples)
    if truth > counted + 1e-6:
        assert needed >= min(1.0, failure) * (1 - 1e-6)
