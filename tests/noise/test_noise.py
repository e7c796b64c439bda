"""Additive noise on finitely many reals: closed forms of [ED] section VI, brute force over outcomes, exact rounding."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import laplace, norm

import leakwise as lw
from leakwise.errors import Infeasible, InvalidInput
from leakwise.noise import Gaussian, Laplace
from leakwise.priors import AllPriors, Prior


@st.composite
def settings_of_noise(draw: st.DrawFn) -> tuple[list[float], Prior, float]:
    size = draw(st.integers(2, 4))
    steps = draw(st.lists(st.integers(1, 12), min_size=size, max_size=size))
    values = np.cumsum(steps).tolist()
    order = draw(st.permutations(range(size)))
    weights = draw(st.lists(st.integers(1, 20), min_size=size, max_size=size))
    points = [float(values[i]) for i in order]
    return points, Prior(weights, points), draw(st.sampled_from([0.7, 2.0, 6.0]))


def brute_force(noise: Any, density: Any, prior: Prior, grid: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    columns = np.array([density.pdf(grid, loc=x, scale=noise.scale) for x in noise.values])
    return np.log(columns.max(axis=0) / (prior.probabilities @ columns))


@given(settings_of_noise())
@settings(max_examples=40)
def test_pml_and_epsilon_against_a_grid_of_outcomes(case: tuple[list[float], Prior, float]) -> None:
    values, prior, scale = case
    for kind, density in ((Laplace, laplace), (Gaussian, norm)):
        noise = kind(values, scale)
        reach = 12 * scale if kind is Gaussian else 30.0
        grid = np.concatenate([np.linspace(min(values) - reach, max(values) + reach, 801), values])
        expected = brute_force(noise, density, prior, grid)
        assert noise.pml(grid, prior).tolist() == pytest.approx(expected.tolist(), abs=1e-8)
        found = noise.epsilon(prior)
        assert found >= expected.max() - 1e-9
        if kind is Laplace:
            assert found == pytest.approx(expected.max(), abs=1e-9)
        ball = prior.ball("0.3")
        assert noise.epsilon(ball) >= found - 1e-9
        assert (noise.pml(grid, ball) >= noise.pml(grid, prior) - 1e-9).all()
        assert noise.epsilon(ball) >= noise.pml(grid, ball).max() - 1e-7


def test_proposition_3_and_16_and_remark_4() -> None:
    for b, p, beta in ((1.0, 0.3, 0.1), (2.0, 0.5, 0.0), (0.5, 0.1, 0.15)):
        noise = Laplace([-1, 1], b)
        least = min(p, 1 - p)
        known = 2 / b - math.log(math.exp(2 / b) * least + 1 - least)
        assert noise.epsilon(Prior([p, 1 - p])) == pytest.approx(known, rel=1e-9)
        shrunk = max(least - beta / 2, 0.0)
        around = 2 / b - math.log(shrunk * (math.exp(2 / b) - 1) + 1)
        assert noise.epsilon(Prior([p, 1 - p]).ball(beta)) == pytest.approx(around, rel=1e-9)
    # Remark 4: p = 1/2 and β = 1 is every prior, and the leakage is that of local differential privacy.
    noise = Laplace([-1, 1], 1.7)
    assert noise.epsilon(Prior([0.5, 0.5]).ball(1)) == pytest.approx(2 / 1.7, rel=1e-9)
    assert noise.epsilon(AllPriors(2)) == pytest.approx(noise.ldp(), rel=1e-9)
    # Beyond: p̂_min - β/2 clamped at 0.
    assert noise.epsilon(Prior([0.1, 0.9]).ball("0.4")) == pytest.approx(2 / 1.7, rel=1e-9)


@given(settings_of_noise(), st.floats(0.05, 2.0))
@settings(max_examples=40)
def test_the_scale_for_an_epsilon_is_the_least(case: tuple[list[float], Prior, float], epsilon: float) -> None:
    values, prior, _ = case
    for known in (prior, prior.ball("0.1"), AllPriors(prior)):
        try:
            noise = Laplace.for_epsilon(values, known, epsilon)
        except InvalidInput:
            assert Laplace(values, 1e-9).epsilon(known) <= epsilon
            continue
        assert noise.epsilon(known) <= epsilon
        assert Laplace(values, noise.scale * (1 - 1e-6)).epsilon(known) > epsilon
    assert noise.scale == pytest.approx((max(values) - min(values)) / epsilon, rel=1e-6)


def test_gaussian_noise_alone_cannot_keep_a_small_epsilon() -> None:
    with pytest.raises(Infeasible, match="even at a scale"):
        Gaussian.for_epsilon([-1, 1], Prior([0.5, 0.5]), 0.5)
    # With three values only the ones at the ends are given away far out; here they are likely enough.
    noise = Gaussian.for_epsilon([-1, 0, 1], Prior([0.45, 0.1, 0.45]), 1.0)
    assert noise.epsilon(Prior([0.45, 0.1, 0.45])) <= 1.0
    with pytest.raises(Infeasible):
        Laplace.for_epsilon([0, 1], Prior([0.5, 0.5]), epsilon=0)
    with pytest.raises(InvalidInput, match="needs no noise"):
        Laplace.for_epsilon([0, 1], Prior([0.5, 0.5]), lift=3)


@given(settings_of_noise(), st.floats(0.02, 1.5))
@settings(max_examples=30)
def test_tail_is_the_integral_over_the_outcomes_that_violate(
    case: tuple[list[float], Prior, float], epsilon: float
) -> None:
    values, prior, scale = case
    for kind, density in ((Laplace, laplace), (Gaussian, norm)):
        noise = kind(values, scale)
        intervals = noise.violations(prior, epsilon)
        assert len(intervals) <= len(values)
        reach = 60 * scale
        total = 0.0
        for left, right in intervals:
            assert left <= right
            a, b = max(left, min(values) - reach), min(right, max(values) + reach)
            inside = np.linspace(a, b, 60)[1:-1]
            assert (noise.pml(inside, prior) >= epsilon - 1e-7).all()

            def output(y: float, noise: Any = noise, density: Any = density) -> float:
                return float(prior.probabilities @ density.pdf(y, loc=noise.points, scale=noise.scale))

            total += quad(output, a, b, limit=400, points=[x for x in values if a < x < b])[0]
        assert noise.tail(prior, epsilon) == pytest.approx(total, abs=1e-6)
        grid = np.linspace(min(values) - 5 * scale, max(values) + 5 * scale, 500)
        outside = [y for y in grid if not any(left <= y <= right for left, right in intervals)]
        if outside:
            assert noise.pml(outside, prior).max() <= epsilon + 1e-7


def test_maximal_leakage_is_the_integral_of_the_largest_density() -> None:
    values = [0.0, 1.0, 3.5]
    for kind, density in ((Laplace, laplace), (Gaussian, norm)):
        noise = kind(values, 1.3)
        total = quad(lambda y, d=density: float(d.pdf(y, loc=values, scale=1.3).max()), -60, 60, limit=500,
                     points=[0.0, 0.5, 1.0, 2.25, 3.5])[0]  # fmt: skip
        assert noise.maximal_leakage() == pytest.approx(math.log(total), abs=1e-7)


@given(settings_of_noise(), st.sampled_from([0.001, 0.05, 0.5, 1.0]))
@settings(max_examples=25)
def test_envelope_bounds_hold_each_other(case: tuple[list[float], Prior, float], delta: float) -> None:
    values, prior, scale = case
    for kind in (Laplace, Gaussian):
        noise = kind(values, scale)
        low, high = noise.envelope_bounds(prior, delta)
        assert 0 <= low <= high <= noise.epsilon(prior) + 1e-9
        assert high <= noise.maximal_leakage() - math.log(delta) + 1e-9


def test_envelope_of_the_rounded_noise_is_within_the_bounds() -> None:
    prior = Prior([0.2, 0.5, 0.3], [0, 1, 2])
    noise = Laplace([0, 1, 2], 0.8)
    for delta in (0.05, 0.3):
        assert lw.envelope(noise.discretize(), prior, delta).epsilon <= noise.envelope_bounds(prior, delta)[1] + 1e-9


# ---------------------------------------------------------------------------------------------- around an estimate


@pytest.mark.parametrize(("p", "beta", "sigma"), [(0.5, 0.2, 1.5), (0.3, 0.1, 1.5), (0.5, 0.05, 2.0), (0.2, 0.6, 1.0)])
@pytest.mark.parametrize("epsilon", [0.1, 0.4, 0.8, 1.5])
def test_17_is_closed_in_on_over_the_whole_ball(p: float, beta: float, sigma: float, epsilon: float) -> None:
    noise, ball = Gaussian([-1, 1], sigma), Prior([p, 1 - p]).ball(beta)
    found = noise.guarantee(ball, epsilon)
    grid = np.linspace(max(p - beta / 2, 0.0) + 1e-9, min(p + beta / 2, 1.0) - 1e-9, 81)
    largest = max(noise.tail(Prior([q, 1 - q]), epsilon) for q in grid)
    assert largest <= found.outcome_delta + 1e-12
    assert found.search_delta == pytest.approx(largest, rel=2e-2, abs=1e-9)
    assert found.search_delta <= found.outcome_delta <= found.search_delta * (1 + 2e-6) + 1e-12


def test_the_supremum_17_may_be_inside_the_ball() -> None:
    noise, ball = Gaussian([-1, 1], 1.5), Prior([0.5, 0.5]).ball("0.6")
    inside = noise.guarantee(ball, 0.62).search_delta
    ends = max(noise.tail(Prior([q, 1 - q]), 0.62) for q in (0.2, 0.8))
    assert inside > ends * 1.02


@pytest.mark.parametrize("epsilon", [0.2, 0.5, 1.0])
def test_the_tight_guarantee_is_never_above_the_printed_one(epsilon: float) -> None:
    for samples in (1000, 10_000, 100_000):
        ball = Prior.from_counts([samples // 2, samples // 2]).confidence(1e-6)
        found = Gaussian([-1, 1], 1.5).guarantee(ball, epsilon)
        assert found.printed_epsilon is not None
        assert found.epsilon <= found.printed_epsilon
        delta1, delta2 = found.outcome_delta, found.failure
        assert found.delta == pytest.approx(delta1 + delta2 - delta1 * delta2, rel=1e-9)
        assert found.delta >= delta2
        beta = float(ball.beta)  # type: ignore[attr-defined]
        left = 1 - beta / 2 * math.exp(epsilon)
        assert found.printed_epsilon == pytest.approx(epsilon - math.log(left) if left > 0 else math.inf)


def test_more_than_two_values_are_bounded_from_above() -> None:
    noise = Gaussian([0, 1, 3], 1.2)
    ball = Prior([0.3, 0.4, 0.3]).ball("0.2")
    generator = np.random.default_rng(2)
    for epsilon in (0.3, 0.7):
        found = noise.guarantee(ball, epsilon)
        assert found.search_delta <= found.outcome_delta
        for _ in range(40):
            other = generator.dirichlet(np.ones(3))
            share = min(1.0, 0.2 / float(np.abs(other - ball.nominal.probabilities).sum()))
            member = (1 - share) * ball.nominal.probabilities + share * other
            assert noise.tail(Prior(member / member.sum()), epsilon) <= found.outcome_delta + 1e-9
    alone = noise.guarantee(ball.nominal, 0.3)
    assert alone.outcome_delta == alone.search_delta == noise.tail(ball.nominal, 0.3)
    assert alone.printed_epsilon is None
    everything = noise.guarantee(AllPriors(3), 0.3)
    assert everything.outcome_delta <= 1


def test_probabilistic_ldp_as_printed() -> None:
    noise = Gaussian.for_pldp([-1, 1], 1.0, 0.01)
    from scipy.special import erfcinv

    f = float(erfcinv(0.01))
    assert noise.scale == pytest.approx(math.sqrt(2) * (f + math.sqrt(f * f + 1)) / 1.0, rel=1e-12)
    assert noise.pldp_delta(1.0) == pytest.approx(0.01, rel=1e-9)
    # It holds: the ratio of the two densities exceeds e^ε with at most that probability, for either value.
    threshold = 1.0 * noise.scale**2 / 2
    assert norm.sf((threshold - 1) / noise.scale) + norm.sf((threshold + 1) / noise.scale) < 0.01
    for bad in ((0, 0.1), (1, 0), (1, 1)):
        with pytest.raises(InvalidInput):
            Gaussian.for_pldp([-1, 1], *bad)
    with pytest.raises(InvalidInput):
        noise.pldp_delta(0)


# ------------------------------------------------------------------------------------------------- exact rounding


@given(settings_of_noise())
@settings(max_examples=25)
def test_discrete_noise_is_exact_and_leaks_no_more(case: tuple[list[float], Prior, float]) -> None:
    values, prior, scale = case
    for noise in (Laplace(values, scale), Gaussian(values, scale)):
        for outcomes in (None, 7, [-1.5, 2.0, 9.0]):
            mechanism = noise.discretize(outcomes)
            assert mechanism.denominator == 1 << 60
            assert (mechanism.weights > 0).all()
            assert set(mechanism.inputs) == set(prior.labels)
            certificate = lw.certify(mechanism, prior)
            assert certificate.epsilon_upper <= noise.epsilon(prior) + 1e-6


def test_clipped_geometric_noise_on_a_lattice_leaks_what_laplace_does() -> None:
    prior = Prior([0.2, 0.5, 0.3], [0, 2, 5])
    noise = Laplace([0, 2, 5], 1.5)
    mechanism = noise.discretize()
    assert mechanism.outputs == (0, 1, 2, 3, 4, 5)
    assert lw.epsilon(mechanism, prior) == pytest.approx(noise.epsilon(prior), rel=1e-9)
    assert lw.ldp(mechanism) == pytest.approx(noise.ldp(), rel=1e-9)
    alpha = math.exp(-1 / 1.5)
    assert mechanism.matrix[0] == pytest.approx(
        [1 / (1 + alpha), *((1 - alpha) / (1 + alpha) * alpha**k for k in range(1, 5)), alpha**5 / (1 + alpha)]
    )
    halves = Laplace([0.5, 1.0, -1.0], 1).discretize()
    assert halves.outputs == (-1, -0.5, 0, 0.5, 1)


def test_a_promise_is_kept_by_the_integers() -> None:
    prior = Prior.from_counts({0: 400, 1: 350, 2: 250})
    ball = prior.confidence(1e-6)
    noise = Laplace.for_epsilon([0, 1, 2], ball, 0.7)
    mechanism = noise.discretize(prior=ball, epsilon=0.7)
    certificate = lw.certify(mechanism, ball, epsilon=0.7)
    assert certificate.holds
    assert certificate.epsilon_upper == pytest.approx(0.7, abs=1e-6)
    with pytest.raises(Infeasible, match="Use a larger scale") as caught:
        noise.discretize(prior=ball, epsilon=0.5)
    assert caught.value.witness > 0.6
    with pytest.raises(InvalidInput, match="go together"):
        noise.discretize(epsilon=1)
    with pytest.raises(InvalidInput, match="outcomes must be"):
        noise.discretize(1)
    with pytest.raises(InvalidInput, match="different reals"):
        noise.discretize([1, 1])


def test_outcomes_too_rare_for_the_denominator_are_merged() -> None:
    """Four units of 2^60 beside one: LDP 1.386 where the noise has 1."""
    noise = Laplace([0, 1], 1)
    mechanism = noise.discretize([-79.5, 0.5])
    assert lw.ldp(mechanism) <= noise.ldp()
    assert mechanism.outputs == (0.5,)
    far = noise.discretize([-79.5, -78, -3, 0.5, 4, 90])
    assert far.outputs == (-3, 0.5, 4)
    assert noise.ldp() - 1e-6 <= lw.ldp(far) <= noise.ldp()


GRIDS = st.lists(st.integers(-400, 400).map(lambda k: k / 4), min_size=2, max_size=8, unique=True)


@given(settings_of_noise(), GRIDS, st.lists(st.integers(0, 6), min_size=4, max_size=4), st.sampled_from([1, 9, 1e9]))
@settings(max_examples=60, deadline=None)
def test_a_grid_leaks_no_more_than_the_noise_for_any_prior(
    case: tuple[list[float], Prior, float], grid: list[float], powers: list[int], wider: float
) -> None:
    values, prior, scale = case
    skewed = Prior([10 ** (3 * k) for k in powers[: len(values)]], values)
    for noise in (Laplace(values, scale * wider), Gaussian(values, scale * wider)):
        for outcomes in (grid, [-1e-12, 0.0, 1e-12, *grid[:1]], None):
            mechanism = noise.discretize(dict.fromkeys(outcomes) if outcomes else None)
            assert (mechanism.weights > 0).all()
            for known in (prior, skewed):
                assert lw.epsilon(mechanism, known) <= noise.epsilon(known) + 1e-6
            if isinstance(noise, Laplace):
                assert lw.ldp(mechanism) <= noise.ldp()


def test_a_lattice_too_fine_falls_back_to_the_values() -> None:
    assert Laplace([0, Fraction(1, 3**9), 1], 1).discretize().shape == (3, 3)


def test_noise_is_a_value() -> None:
    noise = Laplace([0, 1], 2)
    assert noise == Laplace([0.0, 1.0], 2.0)
    assert noise != Gaussian([0, 1], 2)
    assert hash(noise) == hash(Laplace([0, 1], 2))
    assert "Laplace" in repr(noise)
    assert "<table" in noise._repr_html_()
    assert noise.to_dict()["scale"] == 2
    guarantee = Gaussian([0, 1], 2).guarantee(Prior([0.5, 0.5]).ball(0.1), 1.0)
    assert "as printed" in repr(guarantee)
    assert "<table" in guarantee._repr_html_()
    assert guarantee.to_dict()["epsilon"] == 1.0
    with pytest.raises(AttributeError, match="cannot be changed"):
        noise.scale = 3  # type: ignore[misc]


@pytest.mark.parametrize(("values", "scale"), [([1], 1), ([1, 1], 1), ([0, 1], 0), ([0, 1], -1), (["x", 1], 1)])
def test_bad_noise_is_refused(values: list[Any], scale: Any) -> None:
    with pytest.raises(InvalidInput):
        Laplace(values, scale)


def test_bad_questions_are_refused() -> None:
    with pytest.raises(InvalidInput, match="finite"):
        Laplace([0, 1], 1).pml([math.inf], Prior([0.5, 0.5]))
    with pytest.raises(InvalidInput, match="finite"):
        Gaussian([0, 1], 1).pml([math.nan], Prior([0.5, 0.5]))
    with pytest.raises(InvalidInput, match="delta"):
        Laplace([0, 1], 1).envelope_bounds(Prior([0.5, 0.5]), 0)
    with pytest.raises(InvalidInput, match="values"):
        Laplace([0, 1], 1).epsilon(Prior([0.2, 0.3, 0.5]))
