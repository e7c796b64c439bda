"""Sets of priors: the least mass of a column against linear programs, search, and the definition."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import strategies as own
from leakwise.errors import Infeasible, InvalidInput
from leakwise.priors import AllPriors, Ball, Box, Hull, KLBall, LayerCake, Prior, PriorSet


def lp_minimum(
    v: np.ndarray[Any, Any], p: np.ndarray[Any, Any], beta: float, low: Any = None, high: Any = None
) -> float:
    """min Q·v over ‖Q - p‖₁ ≤ beta, low ≤ Q ≤ high, as a linear program in (Q, |Q - p|)."""
    n = len(v)
    eye = np.eye(n)
    rows = np.block([[eye, -eye], [-eye, -eye], [np.zeros(n), np.ones(n)]])
    right = np.concatenate([p, -p, [beta]])
    bounds = [(0.0 if low is None else low[i], 1.0 if high is None else high[i]) for i in range(n)] + [(0, None)] * n
    equal = np.concatenate([np.ones(n), np.zeros(n)])[None, :]
    done = linprog(np.concatenate([v, np.zeros(n)]), rows, right, equal, [1.0], bounds=bounds, method="highs")
    assert done.status == 0
    return float(done.fun)


@st.composite
def columns(draw: st.DrawFn, size: int) -> list[int]:
    return draw(st.lists(st.integers(0, 30), min_size=size, max_size=size))


@st.composite
def balls(draw: st.DrawFn) -> tuple[Prior, Fraction, list[int]]:
    size = draw(st.integers(1, 6))
    law = draw(own.laws(size))
    return Prior(law), draw(own.fractions_between(Fraction(0), Fraction(5, 2), 8)), draw(columns(size))


@given(balls())
def test_ball_moves_mass_from_the_top_to_the_bottom(case: tuple[Prior, Fraction, list[int]]) -> None:
    prior, beta, column = case
    ball = prior.ball(beta)
    exact = ball.exact_least_mass(column)
    v = np.array(column, dtype=float)
    assert float(exact) == pytest.approx(lp_minimum(v, prior.probabilities, float(beta)), abs=1e-7)
    least = float(ball.least_mass(v))
    assert Fraction(least) <= exact
    assert least == pytest.approx(float(exact), rel=1e-12, abs=1e-11)


@given(balls())
def test_ball_is_the_cone_formula_with_the_top_sum(case: tuple[Prior, Fraction, list[int]]) -> None:
    """π·v - T_c(v) + c·min v with T_c(v) = min_τ cτ + Σ π_i (v_i - τ)₊ (the mathematics, section 4)."""
    prior, beta, column = case
    c = min(beta / 2, Fraction(1))
    masses = prior.fractions
    top = min(c * tau + sum(p * max(v - tau, 0) for p, v in zip(masses, column, strict=True)) for tau in column)
    expected = prior.exact_least_mass(column) - top + c * min(column)
    assert prior.ball(beta).exact_least_mass(column) == expected


@st.composite
def boxes(draw: st.DrawFn) -> tuple[Box, list[int]]:
    size = draw(st.integers(1, 5))
    law = draw(own.laws(size))
    lower = [p * draw(own.fractions_between(Fraction(0), Fraction(1), 6)) for p in law]
    upper = [p + (1 - p) * draw(own.fractions_between(Fraction(0), Fraction(1), 6)) for p in law]
    beta = draw(st.one_of(st.none(), own.fractions_between(Fraction(0), Fraction(2), 6)))
    return Box(Prior(law), lower, upper, beta), draw(columns(size))


@given(boxes())
def test_box_with_and_without_radius_is_the_linear_program(case: tuple[Box, list[int]]) -> None:
    box, column = case
    v = np.array(column, dtype=float)
    low, high = [float(x) for x in box.lower], [float(x) for x in box.upper]
    beta = 2.0 if box.beta is None else float(box.beta)
    exact = box.exact_least_mass(column)
    assert float(exact) == pytest.approx(lp_minimum(v, box.nominal.probabilities, beta, low, high), abs=1e-7)
    least = float(box.least_mass(v))
    assert Fraction(least) <= exact
    assert least == pytest.approx(float(exact), rel=1e-12, abs=1e-10)


@st.composite
def kl_balls(draw: st.DrawFn) -> tuple[KLBall, list[int]]:
    size = draw(st.integers(1, 5))
    radius = draw(st.sampled_from([Fraction(0), Fraction(1, 10**6), Fraction(1, 100), Fraction(1, 3), Fraction(4)]))
    return KLBall(Prior(draw(own.laws(size))), radius), draw(columns(size))


@given(kl_balls(), st.integers(0, 2**32))
def test_kl_ball_is_below_every_member_and_attained(case: tuple[KLBall, list[int]], seed: int) -> None:
    ball, column = case
    v = np.array(column, dtype=float)
    p = ball.nominal.probabilities
    exact, least = ball.exact_least_mass(column), float(ball.least_mass(v))
    generator = np.random.default_rng(seed)
    members = generator.dirichlet(1 + 20 * p, 400)
    with np.errstate(divide="ignore"):
        divergence = np.where(p > 0, p * np.log(np.where(p > 0, p, 1) / members), 0.0).sum(axis=1)
    inside = divergence <= float(ball.radius)
    floor = float((members[inside] @ v).min(initial=np.inf))
    assert float(exact) <= floor + 1e-12
    assert least <= floor + 1e-12
    assert least == pytest.approx(float(exact), rel=1e-6, abs=1e-9 * max(column))
    attained = kl_minimum(v, p, float(ball.radius))
    assert float(exact) == pytest.approx(attained, rel=1e-6, abs=1e-6 * (max(column) + 1e-9))


def kl_minimum(v: np.ndarray[Any, Any], p: np.ndarray[Any, Any], radius: float) -> float:
    """The least mass from the optimality conditions: Q_i ∝ p_i / (v_i - τ) where p_i > 0, the rest lowest."""
    if radius == 0 or np.ptp(v) == 0:
        return float(p @ v) if radius == 0 else float(v[0])
    seen = p > 0

    def member(below: float, rest: float) -> np.ndarray[Any, Any]:
        # τ is so much below the least entry; taken apart, since τ itself may round to the entry.
        q = np.where(seen, p / np.where(seen, (v - least) + below, 1.0), 0.0)
        q = q / q.sum() * (1 - rest)
        q[int(v.argmin())] += rest
        return q

    def divergence(q: np.ndarray[Any, Any]) -> float:
        return float(np.sum(p[seen] * np.log(p[seen] / q[seen])))

    least, span = float(v.min()), float(np.ptp(v))
    # The further τ is below the column, the nearer the member is to p.
    low, high = math.log(1e-26 * span), math.log(1e8 * span)
    for _ in range(200):
        middle = (low + high) / 2
        near = divergence(member(math.exp(middle), 0.0)) <= radius
        low, high = (low, middle) if near else (middle, high)
    best = float(member(math.exp(high), 0.0) @ v)
    if not seen[v == least].any():
        # Every smallest entry belongs to letters never seen: τ may reach it, and what is left over goes there.
        q = member(0.0, 0.0)
        spare = radius - divergence(q)
        if spare >= 0:
            best = min(best, float(member(0.0, 1 - math.exp(-spare)) @ v))
    return best


@given(st.data())
def test_hull_takes_the_worst_corner(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 4))
    corners = [data.draw(own.laws(size)) for _ in range(data.draw(st.integers(1, 4)))]
    column = data.draw(columns(size))
    hull = Hull(corners)
    expected = min(sum((p * v for p, v in zip(law, column, strict=True)), Fraction(0)) for law in corners)
    assert hull.exact_least_mass(column) == expected
    assert Fraction(float(hull.least_mass(column))) <= expected
    mixture = [sum(law[i] for law in corners) / len(corners) for i in range(size)]
    assert list(hull.nominal.fractions) == mixture


def test_all_priors_is_the_smallest_entry() -> None:
    everything = AllPriors(3)
    assert everything.exact_least_mass([3, 1, 2]) == 1
    assert everything.least_mass([[3.0], [1.0], [2.0]]).tolist() == [1.0]
    assert everything.is_everything


@given(st.data())
@settings(max_examples=40)
def test_layer_cake_is_the_stack_of_level_sets(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 5))
    counts = data.draw(st.lists(st.integers(0, 400), min_size=size, max_size=size).filter(any))
    column = data.draw(columns(size))
    cake = LayerCake(Prior.from_counts(counts), failure=Fraction(1, 100))
    total, level = sum(counts), math.log(0.01 / (2**size - 2))
    stack = 0.0
    heights = sorted(set(column))
    for below, height in zip([0, *heights[:-1]], heights, strict=True):
        members = [v >= height for v in column]
        here = sum(n for n, inside in zip(counts, members, strict=True) if inside)
        stack += (height - below) * (1.0 if all(members) else clopper_pearson(here, total, level))
    assert float(cake.exact_least_mass(column)) <= stack * (1 + 1e-12)
    assert float(cake.exact_least_mass(column)) == pytest.approx(stack, rel=2e-2)
    assert float(cake.least_mass(column)) == pytest.approx(float(cake.exact_least_mass(column)), rel=1e-12)
    assert Fraction(float(cake.least_mass(column))) <= cake.exact_least_mass(column)


def clopper_pearson(successes: int, trials: int, log_level: float) -> float:
    from scipy.special import betaincinv

    return 0.0 if successes == 0 else float(betaincinv(successes, trials - successes + 1, math.exp(log_level)))


@given(balls())
def test_layer_cake_is_never_worse_than_the_plain_ball(case: tuple[Prior, Fraction, list[int]]) -> None:
    law, _, column = case
    counts = [int(weight) * 7 for weight in law.weights]
    prior = Prior.from_counts(counts)
    cake, ball = prior.confidence("0.01", "layer-cake"), prior.confidence("0.01", "weissman")
    # Clopper-Pearson is above Hoeffding; the tail bound behind it wastes at most a few percent of the level.
    slack = 0.002 * (max(column) - min(column))
    assert float(cake.exact_least_mass(column)) >= float(ball.exact_least_mass(column)) - slack


ABC = ["a", "b", "c"]

SETS: list[PriorSet] = [
    Prior([0.5, 0.3, 0.2], ABC).ball("0.3"),
    Prior([0.5, 0.3, 0.2], ABC).ball(3),
    Box(Prior([0.5, 0.3, 0.2], ABC), [0.25, 0.25, 0.125], [0.75, 0.5, 0.5]),
    Box(Prior([0.5, 0.3, 0.2], ABC), [0.25, 0.25, 0.125], [0.75, 0.5, 0.5], beta="0.1"),
    KLBall(Prior([0.5, 0.3, 0.2], ABC), "0.05"),
    Hull([Prior([0.5, 0.3, 0.2], ABC), Prior([0.25, 0.25, 0.5], ["b", "c", "a"])]),
    AllPriors(Prior([0.5, 0.3, 0.2], ABC)),
    LayerCake(Prior.from_counts({"a": 50, "b": 30, "c": 0}), "0.1"),
]


@pytest.mark.parametrize("priors", SETS, ids=lambda s: type(s).__name__)
def test_every_set_keeps_the_contract(priors: PriorSet) -> None:
    generator = np.random.default_rng(1)
    matrix = generator.random((3, 50))
    least = priors.least_mass(matrix)
    assert least.shape == (50,)
    one_by_one = [float(priors.least_mass(column)) for column in matrix.T]
    assert least.tolist() == pytest.approx(one_by_one, rel=1e-12)
    assert (least <= priors.nominal.probabilities @ matrix + 1e-15).all()
    assert (least >= matrix.min(axis=0) * (1 - 1e-9)).all()
    # the same set in another order
    turned = priors.reordered(np.array([2, 0, 1]))
    assert turned.labels == ("c", "a", "b")
    assert turned.exact_least_mass([5, 7, 11]) == priors.exact_least_mass([7, 11, 5])
    assert priors.exact_least_mass([4, 4, 4]) == 4
    assert priors.exact_least_mass([0, 0, 0]) == 0
    assert priors == priors.reordered(np.array([0, 1, 2]))
    assert hash(priors) == hash(priors.reordered(np.array([0, 1, 2])))
    assert priors != turned
    assert "Set of priors" in repr(priors)
    assert "<table" in priors._repr_html_()  # type: ignore[attr-defined]
    assert priors.to_dict()["failure"] == priors.failure  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="cannot be changed"):
        priors.extra = 1  # type: ignore[attr-defined]
    with pytest.raises(InvalidInput, match="one row per letter"):
        priors.least_mass(np.ones((4, 2)))


def test_large_integers_stay_exact() -> None:
    ball = Prior([1, 2, 3]).ball("1/7")
    # A fourteenth of the mass goes from the first letter, which has the largest entry, to the second.
    moved = Fraction(1, 14)
    masses = [Fraction(1, 6) - moved, Fraction(2, 6) + moved, Fraction(3, 6)]
    column = [2**200, 3, 2**199]
    assert ball.exact_least_mass(column) == sum(p * v for p, v in zip(masses, column, strict=True))


def test_radius_two_is_every_prior_and_says_so() -> None:
    ball = Prior([0.9, 0.1]).ball(2.5)
    assert ball.is_everything
    assert ball.exact_least_mass([5, 3]) == 3
    assert "every prior is inside" in repr(ball)
    assert not Prior([0.9, 0.1]).ball("1.79").is_everything
    assert Prior(["0.9", "0.1"]).ball("1.8").is_everything


def test_letters_never_seen_stay_in_and_are_named() -> None:
    ball = Prior.from_counts({"a": 5, "b": 5, "c": 0}).ball("0.1")
    assert ball.support.tolist() == [True, True, True]
    assert "'c'" in repr(ball)
    assert Prior.from_counts([1, 0]).ball(0).support.tolist() == [True, False]
    assert KLBall(Prior([1, 0]), 0).support.tolist() == [True, False]
    assert Box(Prior([1, 0]), [0, 0], [1, 0]).support.tolist() == [True, False]
    assert Box(Prior([1, 0]), [0, 0], [1, 1], beta=0).support.tolist() == [True, False]
    assert Hull([[1, 0, 0], [0, 1, 0]]).support.tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Prior([1, 1]).ball(-1), "beta must be a radius"),
        (lambda: Ball([0.5, 0.5], 0.1), "nominal must be a lw.Prior"),  # type: ignore[arg-type]
        (lambda: Ball(Prior([1, 1]), 0.1, failure=1), "failure must be a probability"),
        (lambda: Box(Prior([1, 1]), [0], [1, 1]), "one bound per letter"),
        (lambda: Box(Prior([1, 1]), [0.6, 0], [0.5, 1]), "0 ≤ lower ≤ upper ≤ 1"),
        (lambda: Box(Prior([1, 1]), [0, 0], [1, 1], beta=-1), "beta must be a radius"),
        (lambda: KLBall(Prior([1, 1]), -1), "radius must be at least 0"),
        (lambda: Hull([]), "at least one prior"),
        (lambda: Hull([[0.5, 0.5], [1, 0, 0]]), "same values"),
        (lambda: AllPriors(Prior([1, 1]).ball(0.1)), "Got a set of priors"),
        (lambda: LayerCake(Prior.from_counts([1, 1]), 0), "failure must be above 0"),
        (lambda: LayerCake(Prior([1, 1]), 0.1), "how many samples"),
    ],
)
def test_bad_sets_are_refused_with_words(make: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        make()


def test_an_estimate_outside_its_box_is_infeasible() -> None:
    with pytest.raises(Infeasible, match="not between its bounds") as caught:
        Box(Prior([0.9, 0.1], ["a", "b"]), [0, 0], [0.5, 1])
    assert caught.value.witness == "a"


def test_a_hull_knows_whether_it_holds_its_nominal_prior() -> None:
    corners = [[0.5, 0.3, 0.2], [0.25, 0.5, 0.25]]
    assert Hull(corners).holds_nominal
    assert Hull(corners, nominal=corners[1]).holds_nominal
    assert not Hull(corners, nominal=[0.1, 0.1, 0.8]).holds_nominal
