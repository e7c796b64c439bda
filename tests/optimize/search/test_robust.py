"""Robust designs: closed form, brute force over all rays, bounds, and the two ends (known prior, no knowledge)."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import leakwise as lw
import strategies as own
from leakwise.errors import InvalidInput
from leakwise.exact import level
from leakwise.optimize.bounds.ball import ball_bound
from leakwise.optimize.finish import optimality_claim
from leakwise.optimize.problem.prior_set_cone import RobustCone, conservative_lift
from leakwise.optimize.problem.utilities import as_utility
from leakwise.optimize.search.closed_forms import binary_kernel
from leakwise.optimize.search.dispatch import search
from leakwise.optimize.search.limits import Limits
from leakwise.priors import AllPriors, Box, Hull, KLBall, LayerCake, Prior, PriorSet

Floats = np.ndarray[Any, Any]
F = as_utility("mutual_information").f


def robust_design(priors: PriorSet, **asked: Any) -> Any:
    """A design for every prior of the set, without the warning of a gap."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)
        return lw.design(priors, tolerance=1e-9, **asked)


# --------------------------------------------------------------------------------------------------- two letters


def theorem_5(p1: float, beta: float, epsilon: float) -> Floats:
    """As printed; p1 ≥ 1/2, β < 2(1-p1), 0 ≤ ε ≤ -log(p1 - β/2)."""
    t, c = math.exp(epsilon), beta / 2
    return np.array(
        [[t * (1 - p1 + c), 1 - t * (1 - p1 - c)], [1 - t * (p1 - c), t * (p1 + c)]]
    ) / (1 + beta * t)  # fmt: skip


@given(st.floats(0.5, 0.95), st.floats(0.0, 0.95), st.floats(0.0, 1.0))
def test_theorem_5_is_the_first_region_of_the_closed_form(p1: float, share: float, where: float) -> None:
    beta = 2 * (1 - p1) * share
    epsilon = where * -math.log(p1 - beta / 2)
    kernel = binary_kernel(Prior([p1, 1 - p1]).ball(beta), Fraction(math.exp(epsilon)))
    if kernel.shape[1] == 2:
        assert kernel.matrix == pytest.approx(theorem_5(p1, beta, epsilon), abs=1e-9)
    else:
        assert epsilon == pytest.approx(0, abs=1e-12)


@given(own.laws(2), own.fractions_between(Fraction(0), Fraction(2), 6), st.sampled_from(["1", "1.1", "3/2", "2", "5"]))
@settings(max_examples=60)
def test_two_letters_against_a_fine_grid(law: list[Fraction], beta: Fraction, lift: str) -> None:
    priors = Prior(law).ball(beta)
    d = robust_design(priors, lift=lift)
    assert d.certificate.holds
    grid = np.linspace(0, 1, 401)
    p11, p21 = np.meshgrid(grid, grid, indexing="ij")
    t = float(Fraction(lift))
    inside = np.ones(p11.shape, dtype=bool)
    for column in ((p11, p21), (1 - p11, 1 - p21)):
        stacked = np.stack([column[0].ravel(), column[1].ravel()])
        least = priors.least_mass(stacked).reshape(p11.shape)
        inside &= np.maximum(*column) <= t * least + 1e-12
    best = float(np.where(inside & (p11 >= p21), informations(p11, p21, priors.nominal.probabilities), 0.0).max())
    assert best <= d.value + 1e-9
    assert d.value - best <= 0.03  # what a grid of 1/400 can miss
    assert d.bound - d.value <= 1e-10


def informations(p11: Floats, p21: Floats, p: Floats) -> Floats:
    total = np.zeros(p11.shape)
    for first, second in ((p11, p21), (1 - p11, 1 - p21)):
        law = np.maximum(p[0] * first + p[1] * second, 1e-300)
        for mass, entry in ((p[0], first), (p[1], second)):
            total += mass * entry * np.log(np.maximum(entry, 1e-300) / law)
    return total


@pytest.mark.parametrize(("p1", "beta", "lift"), [("0.6", "0.2", "1.2"), ("0.7", "0.3", "2"), ("0.9", "0.5", "1.5")])
def test_theorem_5_and_its_continuation_against_the_engine(p1: str, beta: str, lift: str) -> None:
    ball = Prior([Fraction(p1), 1 - Fraction(p1)]).ball(beta)
    closed = robust_design(ball, lift=lift)
    cone = RobustCone(ball, level(lift=lift).below)
    found = search(cone, as_utility("mutual_information"), Limits(1e-9), "columns").found
    p = ball.nominal.probabilities
    assert closed.value == pytest.approx(float(found.weights @ (p @ F(found.lifts))), abs=1e-8)
    assert closed.value <= found.bound


def test_remark_3_is_warners_randomized_response() -> None:
    d = robust_design(Prior(["1/2", "1/2"]).ball(1), epsilon=1.0)
    t = math.e
    assert d.mechanism.matrix == pytest.approx(np.array([[t, 1], [1, t]]) / (1 + t), abs=1e-12)
    assert lw.ldp(d.mechanism) <= 1.0 + 1e-9


@pytest.mark.parametrize(
    "priors",
    [
        Box(Prior(["0.6", "0.4"]), ["0.5", "0.3"], ["0.7", "0.5"]),
        Hull([["0.6", "0.4"], ["0.8", "0.2"]]),
        KLBall(Prior(["0.6", "0.4"]), "0.01"),
        LayerCake(Prior.from_counts([600, 400]), "0.01"),
        AllPriors(Prior(["0.6", "0.4"])),
    ],
    ids=lambda s: type(s).__name__,
)
def test_two_letters_of_any_set(priors: PriorSet) -> None:
    d = robust_design(priors, lift=2)
    assert d.certificate.holds
    known, nothing = lw.design(priors.nominal, lift=2), lw.design(priors.nominal, ldp=math.log(2))
    assert nothing.value - 1e-9 <= d.value <= known.value + 1e-9


# ---------------------------------------------------------------------------------------------- all rays, few letters


def worst_priors(p: Floats, c: float) -> Floats:
    """The corners of the ball that a column can make the worst: mass taken in one order and given to one letter."""
    corners = set()
    for order in itertools.permutations(range(len(p))):
        q, left = p.copy(), c
        for letter in order:
            taken = min(q[letter], left)
            q[letter] -= taken
            left -= taken
        q[order[-1]] += c
        corners.add(tuple(np.round(q, 14)))
    return np.array(sorted(corners))


def all_rays(p: Floats, c: float, t: float) -> Floats:
    """Every vertex of {λ ≥ 0, π·λ = 1, λ_i ≤ t Q·λ for all corners Q}, by trying all choices of tight rows."""
    n = len(p)
    rows = np.concatenate([-np.eye(n), *(np.eye(n) - t * corner for corner in worst_priors(p, c))])
    rows = np.unique(np.round(rows, 13), axis=0)
    found = []
    for chosen in itertools.combinations(range(len(rows)), n - 1):
        matrix = np.concatenate([p[None, :], rows[list(chosen)]])
        if abs(np.linalg.det(matrix)) < 1e-10:
            continue
        vertex = np.linalg.solve(matrix, np.eye(n)[0])
        if (rows @ vertex <= 1e-9).all():
            found.append(np.maximum(vertex, 0.0))
    return np.unique(np.round(np.array(found), 10), axis=0).T


CASES = [
    ((0.5, 0.3, 0.2), 0.1, 1.3),
    ((0.5, 0.3, 0.2), 0.3, 2.0),  # within 2π_min
    ((0.5, 0.3, 0.2), 0.7, 2.0),  # beyond 2π_min
    ((0.6, 0.35, 0.05), 0.5, 1.5),  # far beyond
    ((0.4, 0.3, 0.3), 1.2, 3.0),
]


@pytest.mark.parametrize(("law", "beta", "t"), CASES)
def test_engine_against_all_rays(law: tuple[float, ...], beta: float, t: float) -> None:
    p = np.array(law)
    rays = all_rays(p, beta / 2, t)
    values = p @ F(rays)
    done = linprog(-values, A_eq=rays, b_eq=np.ones(len(p)), method="highs")
    assert done.status == 0
    prior = Prior([str(x) for x in law])
    d = robust_design(prior.ball(str(beta)), lift=str(t))
    assert d.value == pytest.approx(-done.fun, abs=2e-7)
    assert d.bound >= -done.fun - 1e-8
    assert d.gap < 1e-6
    bound = ball_bound(prior.ball(str(beta)), Fraction(str(t)), F)
    assert float(values.max()) <= bound + 1e-9


def test_four_letters_against_all_rays() -> None:
    p = np.array([0.4, 0.3, 0.2, 0.1])
    rays = all_rays_small_ball(p, 0.04, 1.6)
    done = linprog(-(p @ F(rays)), A_eq=rays, b_eq=np.ones(4), method="highs")
    d = robust_design(Prior(["0.4", "0.3", "0.2", "0.1"]).ball("0.08"), lift="1.6")
    assert d.value == pytest.approx(-done.fun, abs=2e-7)


def all_rays_small_ball(p: Floats, c: float, t: float) -> Floats:
    """For c ≤ π_min: PML rays at t/(1+ct) and two-valued columns (the mathematics, section 4)."""
    n, top = len(p), t / (1 + c * t)
    found = []
    for size in range(n + 1):
        for raised in itertools.combinations(range(n), size):
            s = sum(p[list(raised)])
            if 0 < s < c + 1 / t:
                column = np.full(n, (1 - (s - c) * t) / (1 - s + c * t))
                column[list(raised)] = t * (1 - s + c) / (1 - s + c * t)
                found.append(column)
            for free in set(range(n)) - set(raised):
                rest = (1 - top * s) / p[free]
                if 0 <= rest <= top and (size + 1 < n or rest == 0):
                    column = np.zeros(n)
                    column[list(raised)] = top
                    column[free] = rest
                    found.append(column)
    return np.array([*found, np.ones(n)]).T


def test_the_rays_of_a_small_ball_are_of_the_two_kinds() -> None:
    p, c, t = np.array([0.5, 0.3, 0.2]), 0.1, 1.8
    listed = all_rays(p, c, t)
    for ray in listed.T:
        two_valued = len(np.unique(np.round(ray, 7))) == 2
        top = t / (1 + c * t)
        between = ((ray > 1e-7) & (ray < top - 1e-7)).sum()
        assert two_valued or (ray.min() < 1e-9 and between <= 1)


# ------------------------------------------------------------------------------------------------- between the ends


@st.composite
def sets_of_priors(draw: st.DrawFn) -> PriorSet:
    size = draw(st.integers(2, 4))
    law = draw(own.laws(size, zeros=False, largest=20))
    prior = Prior(law)
    kind = draw(st.sampled_from(["ball", "box", "hull", "kl", "all"]))
    if kind == "ball":
        return prior.ball(draw(own.fractions_between(Fraction(0), Fraction(3, 2), 4)))
    if kind == "box":
        return Box(prior, [p / 2 for p in law], [p + (1 - p) / 3 for p in law])
    if kind == "hull":
        return Hull([law, draw(own.laws(size, zeros=False))], nominal=prior)
    if kind == "kl":
        return KLBall(prior, "0.05")
    return AllPriors(prior)


@given(sets_of_priors(), st.sampled_from(["1.2", "2", "4"]))
@settings(max_examples=25)
def test_never_worse_than_ldp_never_better_than_the_known_prior(priors: PriorSet, lift: str) -> None:
    d = robust_design(priors, lift=lift)
    assert d.certificate.verify().holds
    assert d.prior == priors
    known = lw.design(priors.nominal, lift=lift)
    nothing = lw.design(priors.nominal, ldp=math.log(float(Fraction(lift))) * (1 - 1e-12))
    assert d.value <= known.bound + 1e-8
    assert d.value >= nothing.value - 1e-6
    # Cuts approach a KL ball from outside: (4, 7, 8, 4)/23 with radius 0.05 at lift 2 keeps a gap of 1.1e-4.
    assert d.gap <= (1e-3 if isinstance(priors, KLBall) else 1e-5)


def test_the_checker_is_not_asked_again_for_what_it_cannot_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """Boxes are cut down to 1e-8 of a bound: to ask for 1e-11 and 1e-9 more would cut the same boxes again."""
    asked = []
    whole = optimality_claim.proven_bound

    def counted(claim: Any, *others: Any) -> float:
        asked.append(len(claim.duals))
        return whole(claim, *others)

    monkeypatch.setattr(optimality_claim, "proven_bound", counted)
    law = [Fraction(k, 29) for k in (15, 6, 6, 2)]
    d = robust_design(Box(Prior(law), [p / 2 for p in law], [p + (1 - p) / 3 for p in law]), lift=4)
    assert asked == [4, 0, 4]  # by its duals, by the chords alone, and what it has shown, which is then claimed
    assert d.gap <= 2e-8
    assert d.certificate.verify().optimality is not None


def test_labelled_utilities_and_frequencies() -> None:
    ball = Prior.from_counts({"a": 50, "b": 30, "c": 20}).ball("0.1")
    guess = robust_design(ball, lift=2, utility="guessing")
    assert set(guess.mechanism.outputs) <= {"a", "b", "c"}
    assert guess.gap < 1e-6
    assert guess.value >= 0.5
    assert guess.value <= lw.design(ball.nominal, lift=2, utility="guessing").value + 1e-9
    counted = robust_design(ball, lift=2, utility="frequencies")
    assert counted.certificate.holds
    with pytest.raises(InvalidInput, match="never seen"):
        robust_design(Prior.from_counts([5, 5, 0]).ball("0.1"), lift=2, utility="frequencies")


def test_letters_never_seen_get_rows_of_their_own() -> None:
    ball = Prior.from_counts({"a": 60, "b": 40, "c": 0}).ball("0.2")
    d = robust_design(ball, lift=2)
    assert d.mechanism.shape[0] == 3
    assert d.certificate.holds
    assert d.value <= lw.design(Prior({"a": 0.6, "b": 0.4}), lift=2).value


def test_a_layer_cake_of_more_letters_narrows_the_design_of_the_estimate() -> None:
    cake = LayerCake(Prior.from_counts([500, 300, 200]), "0.01")
    d = robust_design(cake, lift=2)
    assert d.certificate.verify().holds
    assert 0 < d.value < d.bound
    assert d.epsilon == pytest.approx(math.log(2), abs=0.01)
    assert robust_design(cake, lift=2, utility="guessing").certificate.holds
    with pytest.warns(lw.LeakwiseWarning, match="proven gap"):
        both = lw.design(cake, lift=2, ldp=1.0)
    assert both.certificate.verify().holds
    assert lw.ldp(both.mechanism) <= 1 + 1e-12


# ------------------------------------------------------------------------------------------------------------- large


@pytest.mark.parametrize(
    ("lift", "samples", "gap"),
    # At the smallest ε a heavy letter is more than what an outcome may lower: there the bound is not reached quite.
    [("1.05", 2_000, 0.02), ("1.3", 100_000, 1e-3), ("2", 100_000, 1e-3)],
)
def test_large_balls_reach_their_bound(lift: str, samples: int, gap: float) -> None:
    generator = np.random.default_rng(4)
    prior = Prior.from_counts(generator.multinomial(samples, generator.dirichlet(np.full(24, 3.0))))
    ball = prior.confidence(1e-6)
    d = robust_design(ball, lift=lift)
    assert d.certificate.holds
    assert d.gap <= gap * d.value


@given(st.sampled_from([0.02, 0.1, 0.4, 0.9]), st.sampled_from([1.1, 1.5, 3.0, 12.0]), st.integers(0, 2**32))
@settings(max_examples=40)
def test_the_ball_bound_is_above_random_columns(c: float, t: float, seed: int) -> None:
    generator = np.random.default_rng(seed)
    p = Prior(generator.integers(1, 50, 5).tolist())
    ball = p.ball(2 * c)
    bounds = {name: ball_bound(ball, Fraction(t), as_utility(name).f) for name in ("mutual_information", "chi_square")}
    for _ in range(30):
        column = generator.random(5) ** generator.choice([0.2, 1, 5, 40])
        lifts = column / (p.probabilities @ column)
        # Mix with the constant column until it is inside the cone.
        for share in np.linspace(0, 1, 40):
            mixed = (1 - share) * lifts + share
            if mixed.max() <= t * float(ball.least_mass(mixed)):
                break
        else:
            continue
        for name, bound in bounds.items():
            assert float(p.probabilities @ as_utility(name).f(mixed)) <= bound + 1e-9


def test_conservative_level_serves_the_whole_ball() -> None:
    prior = Prior.from_counts([50, 30, 20])
    for beta, lift in (("0.1", "1.2"), ("0.1", "2"), ("0.4", "3"), ("0.3", "1.05")):
        ball, t = prior.ball(beta), Fraction(lift)
        narrower = conservative_lift(ball, t)
        c = Fraction(beta) / 2
        assert narrower >= max(Fraction(1), t / (1 + c * t))
        mechanism = lw.design(prior, lift=narrower).mechanism
        assert lw.certify(mechanism, ball, lift=t).holds


def test_a_time_limit_is_kept_with_an_honest_gap() -> None:
    generator = np.random.default_rng(6)
    prior = Prior.from_counts(generator.multinomial(50_000, generator.dirichlet(np.full(9, 2.0))))
    with pytest.warns(lw.LeakwiseWarning, match="time limit"):
        d = lw.design(prior.confidence(1e-6, "clopper-pearson"), lift=2, time_limit=0.05)
    assert d.certificate.holds
    assert d.value <= lw.design(prior, lift=2).value
    assert d.gap > 1e-6
