"""Proofs of optimality for every constraint and every utility: true ones pass, false ones do not."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import leakwise as lw
from leakwise.errors import CertificateRejected, InvalidInput
from leakwise.exact import level
from leakwise.optimize.problem.prior_set_cone import RobustCone
from leakwise.priors import AllPriors, Ball, Box, Hull, KLBall, Prior
from leakwise.proof.optimality import check_optimality, proven_bound
from leakwise.proof.optimality.balls import ball_bound
from leakwise.proof.optimality.branching import Region
from leakwise.proof.optimality.frequencies import trace_bound
from leakwise.proof.optimality.functions import FUNCTIONS, fill
from leakwise.proof.optimality.members import worst_member
from leakwise.proof.optimality.ranges import Range, largest_in_range
from leakwise.proof.sets import least_mass_prover
from proof.vertices import box_vertices, range_vertices

UTILITIES = ["mutual_information", "total_variation", "chi_square", "hellinger", "guessing", "frequencies"]
CONSTRAINTS = {
    "pml": {"epsilon": 0.8},
    "ldp": {"ldp": 0.7},
    "lip": {"lip": 0.6},
    "pml and ldp": {"epsilon": 0.4, "ldp": 0.9},
    "lip and ldp": {"lip": 0.5, "ldp": 0.8},
    "all three": {"epsilon": 0.3, "lip": 0.5, "ldp": 0.7},
}
weights = st.lists(st.integers(1, 30), min_size=2, max_size=5)


def asked(design):
    return design.certificate.limits


def check(claim, design):
    check_optimality(claim, design.mechanism, design.prior, asked(design))


@settings(max_examples=60, deadline=None)
@given(weights, st.sampled_from(sorted(CONSTRAINTS)), st.sampled_from(UTILITIES))
def test_every_constraint_and_utility_carries_a_proof(masses, constraint, utility):
    design = lw.design(Prior(masses), utility=utility, **CONSTRAINTS[constraint])
    claim = design.certificate.optimality
    assert claim is not None, design.certificate.remark
    check(claim, design)
    assert claim.bound >= design.bound - 1e-12
    assert claim.bound - claim.value <= 2e-7 * (1 + abs(claim.value))
    shortened = replace(claim, bound=claim.value - 1e-5 * (1 + abs(claim.value)))
    with pytest.raises(CertificateRejected, match="nothing is better"):
        check(shortened, design)


def distances(size):
    return lw.Expected(-np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float))


@pytest.mark.parametrize("constraint", sorted(CONSTRAINTS))
def test_labelled_outputs_are_worth_what_they_say(constraint):
    design = lw.design([0.4, 0.3, 0.2, 0.1], utility=distances(4), **CONSTRAINTS[constraint])
    claim = design.certificate.optimality
    check(claim, design)
    assert claim.guesses == (0, 1, 2, 3)
    with pytest.raises(CertificateRejected, match="less than"):
        check(replace(claim, guesses=(3, 1, 2, 0)), design)
    with pytest.raises(CertificateRejected, match="knows no gain"):
        check(replace(claim, guesses=(7, 8, 9, 10)), design)


def _box(prior):
    return Box(prior, [p * Fraction(4, 5) for p in prior.fractions], [min(Fraction(1), 2 * p) for p in prior.fractions])


SETS = {
    "ball": lambda prior: prior.ball(prior.least_probability),
    "wide ball": lambda prior: prior.ball(Fraction(1, 4)),
    "box": _box,
    "hull": lambda prior: Hull([prior, Prior([w + 3 for w in prior.weights.tolist()])]),
    "KL ball": lambda prior: KLBall(prior, "0.02"),
    "all": AllPriors,
}


@pytest.mark.parametrize("kind", sorted(SETS))
@pytest.mark.parametrize("utility", ["mutual_information", "chi_square", "guessing", "frequencies"])
@pytest.mark.parametrize("masses", [[7, 3], [5, 3, 2]])
@pytest.mark.filterwarnings("ignore:The proven gap")  # of frequencies, whose bound for sets needs no search
def test_designs_for_sets_carry_a_proof(kind, utility, masses):
    design = lw.design(SETS[kind](Prior(masses)), lift=2, utility=utility)
    claim = design.certificate.optimality
    assert claim is not None, design.certificate.remark
    check(claim, design)
    assert design.gap <= 1e-6 or (utility, kind) == ("frequencies", "KL ball")
    # Of boxes and hulls the search lists the vertices; the checker has a bound without them, some per cent away.
    listed = utility == "frequencies" and kind in ("box", "hull") and len(masses) > 2
    assert claim.bound > design.bound if listed else claim.bound == design.bound
    with pytest.raises(CertificateRejected, match="nothing is better"):
        check(replace(claim, bound=claim.value - 1e-4 * (1 + abs(claim.value))), design)


@pytest.mark.parametrize("kind", ["wide ball", "box", "hull", "KL ball"])
def test_larger_alphabets_of_sets_are_checked(kind):
    masses = np.random.default_rng(1).integers(3, 40, 9).tolist()
    with pytest.warns(lw.LeakwiseWarning, match="proven gap"):
        design = lw.design(SETS[kind](Prior(masses)), lift=2, time_limit=0.2)
    check(design.certificate.optimality, design)


# ------------------------------------------------------------------------------------------------- tampered with


CASES = [
    ({"epsilon": 0.8}, "mutual_information"),
    ({"ldp": 0.7}, "mutual_information"),
    ({"lip": 0.6}, "chi_square"),
    ({"epsilon": 0.4, "ldp": 0.9}, "hellinger"),
    ({"epsilon": 0.4, "ldp": 0.9}, "guessing"),
    ({"ldp": 0.7}, "frequencies"),
    ({"epsilon": 0.8}, "frequencies"),
]


@pytest.mark.parametrize(("constraint", "utility"), CASES)
def test_no_number_of_the_proof_can_be_changed_for_the_better(constraint, utility):
    design = lw.design([0.37, 0.31, 0.19, 0.13], utility=utility, **constraint)
    claim = design.certificate.optimality
    step = 1e-3 * (1 + abs(claim.value))
    changed = [replace(claim, value=claim.value + step), replace(claim, bound=claim.value - step)]
    for place in range(len(claim.duals)):
        for shift in (-0.01, 0.01):
            duals = claim.duals.copy()
            duals[place] += shift
            changed.append(replace(claim, duals=duals))
    if claim.root is not None:
        root = claim.root.copy()
        root[0, 1] += 0.1
        changed.append(replace(claim, root=root))
    if claim.high is not None:
        changed.append(replace(claim, high=claim.high * Fraction(99, 100)))
    if claim.ldp is not None:
        changed.append(replace(claim, ldp=claim.ldp * Fraction(99, 100)))
    if claim.low:
        changed.append(replace(claim, low=claim.low * Fraction(101, 100)))
    for other in changed:
        with pytest.raises(CertificateRejected):
            check(other, design)


def test_a_claim_about_fewer_mechanisms_than_asked_for_is_refused():
    design = lw.design([0.5, 0.3, 0.2], epsilon=0.7, method="columns")
    claim = design.certificate.optimality
    with pytest.raises(CertificateRejected, match="fewer mechanisms"):
        check(replace(claim, high=claim.high - Fraction(1, 10**30)), design)
    with pytest.raises(CertificateRejected, match="fewer mechanisms"):
        check(replace(claim, high=None, ldp=Fraction(3)), design)
    with pytest.raises(CertificateRejected, match="does not fit"):
        check(replace(claim, low=Fraction(2)), design)
    # A bound from below that the mechanism does not keep is another problem's claim.
    with pytest.raises(CertificateRejected, match="not one of those"):
        check(replace(claim, low=Fraction(1, 3)), design)


def test_a_set_is_not_proven_by_a_smaller_one():
    prior = Prior([5, 3, 2])
    design = lw.design(prior.ball("0.2"), lift=2)
    claim = design.certificate.optimality
    check(claim, design)
    with pytest.raises(CertificateRejected):
        check_optimality(claim, design.mechanism, prior.ball("0.1"), asked(design))
    with pytest.raises(CertificateRejected, match="does not fit"):
        check(replace(claim, ldp=Fraction(2)), design)


@pytest.mark.parametrize("utility", ["frequencies", "mutual_information"])
def test_the_proof_goes_through_a_file_for_every_kind(tmp_path, utility):
    for number, design in enumerate(
        [
            lw.design([0.5, 0.3, 0.2], epsilon=0.4, ldp=0.6, utility=utility),
            lw.design([0.5, 0.3, 0.2], ldp=0.6, utility=distances(3)),
            lw.design(Prior([5, 3, 2]).ball("0.05"), lift=2, utility=utility),
        ]
    ):
        path = tmp_path / f"{number}.json"
        design.certificate.save(path)
        again = lw.verify(path)
        claim = design.certificate.optimality
        assert again.optimality.bound == claim.bound
        assert again.optimality.ldp == claim.ldp
        assert again.optimality.guesses == claim.guesses
        replace(design.certificate, optimality=replace(claim, utility="unknown", gains=None, guesses=None)).save(path)
        with pytest.raises(InvalidInput, match="speaks of something else"):
            lw.verify(path)


# --------------------------------------------------------------------------------------------------- brute force


@settings(max_examples=30, deadline=None)
@given(weights, st.floats(1.1, 4), st.floats(1.1, 4), st.sampled_from(sorted(FUNCTIONS)), st.randoms())
def test_the_largest_reduced_cost_of_a_range_against_random_columns(masses, high, ratio, name, random):
    p = np.array(masses) / sum(masses)
    y = np.array([random.uniform(-0.5, 0.5) for _ in p])
    where, f = Range(0.0, ((high, 0.0), (0.0, ratio))), FUNCTIONS[name]
    columns = range_vertices(p, where)
    assert (columns.max(axis=0) <= np.minimum(high, ratio * columns.min(axis=0)) * (1 + 1e-9)).all()
    assert p @ columns == pytest.approx(np.ones(columns.shape[1]))
    costs = p @ f(columns) - y @ columns
    bound = float(costs.max()) + 1e-10
    assert largest_in_range(f, masses, p, y, where, bound) == bound
    assert largest_in_range(f, masses, p, y, where, bound - 1e-6) >= costs.max()
    mixed = columns @ np.random.default_rng(1).dirichlet(np.ones(columns.shape[1]), 20).T
    assert (p @ f(mixed) - y @ mixed <= bound).all()


def brute_force_range(p, high, ratio):
    """Every vertex of π·λ = 1, λ ≤ high, λ_i ≤ ratio λ_k, by trying all choices of tight rows."""
    n = len(p)
    eye = np.eye(n)
    pairs = [eye[i] - ratio * eye[k] for i in range(n) for k in range(n) if i != k]
    rows, found = np.array([*(eye - high * p), *pairs]), []
    for chosen in itertools.combinations(range(len(rows)), n - 1):
        matrix = np.concatenate([p[None, :], rows[list(chosen)]])
        if abs(np.linalg.det(matrix)) > 1e-9:
            vertex = np.linalg.solve(matrix, eye[0])
            if (rows @ vertex <= 1e-9).all() and (vertex >= -1e-12).all():
                found.append(vertex)
    return np.array(found).T


@pytest.mark.parametrize(
    ("masses", "high", "ratio"), [([5, 3, 2], 1.5, 2.0), ([5, 4, 2, 1], 1.3, 1.8), ([6, 1, 1], 2.0, 1.4)]
)
def test_intersections_against_all_vertices_of_the_cone(masses, high, ratio):
    prior = Prior(masses)
    p = prior.probabilities
    columns = brute_force_range(p, high, ratio)
    for name, f in FUNCTIONS.items():
        answer = linprog(-(p @ f(columns)), A_eq=columns, b_eq=np.ones(len(p)), bounds=(0, None))
        design = lw.design(prior, lift=high, ldp=math.log(ratio), utility=name)
        assert design.value == pytest.approx(-answer.fun, abs=1e-9)
        assert design.gap <= 1e-9


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 20), min_size=3, max_size=3), st.sampled_from(["wide ball", "box", "hull", "KL ball"]))
def test_regions_hold_every_column_of_the_cone(masses, kind):
    priors = SETS[kind](Prior(masses))
    p, t = priors.nominal.probabilities, 2.0
    region = Region(p, np.zeros(3), np.full(3, t), t, priors)
    prove = least_mass_prover(priors)
    generator = np.random.default_rng(sum(masses))
    columns = []
    for _ in range(400):
        column = generator.integers(0, 1000, 3).tolist()
        if max(column) and Fraction(max(column)) <= 2 * prove(column):
            columns.append(np.array(column) / (p @ column))
    costs = generator.standard_normal(3)
    y = 0.2 * generator.standard_normal(3)
    f = FUNCTIONS["chi_square"]
    linear, largest = region.linear(costs), region.largest(f, y, -math.inf, 30)
    low, high = region.tightened()
    for column in columns:
        assert costs @ column <= linear
        assert p @ f(column) - y @ column <= largest
        assert (column >= low).all()
        assert (column <= high).all()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(1, 20), min_size=2, max_size=6), st.sampled_from(["wide ball", "box", "KL ball"]))
def test_worst_members_are_members_and_nearly_the_worst(masses, kind):
    priors = SETS[kind](Prior(masses))
    column = np.random.default_rng(len(masses)).integers(0, 50, len(masses))
    member = worst_member(priors, column.astype(float), math.inf)
    if member is None:
        assert np.ptp(column) == 0
        return
    least = float(least_mass_prover(priors)(column.tolist()))
    assert member.sum() == pytest.approx(1)
    assert least - 1e-9 <= member @ column <= least + 1e-6 * (1 + least)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_a_filled_knapsack_is_a_linear_program(masses, random):
    p = np.array(masses) / sum(masses)
    gains = np.array([random.randint(-64, 64) / 64 for _ in p])
    low, high = np.full(len(p), 0.2), np.full(len(p), 2.5)
    answer = linprog(-gains, A_eq=p[None, :], b_eq=[1.0], bounds=list(zip(low, high, strict=True)))
    assert -answer.fun - 1e-9 <= fill(gains, p, low, high) <= -answer.fun + 1e-9


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(1, 20), min_size=3, max_size=5), st.floats(1.2, 3.0), st.floats(0.02, 0.6))
def test_the_bound_of_a_wide_ball_holds_for_every_column(masses, t, c):
    prior = Prior(masses)
    p, ball = prior.probabilities, Ball(prior, 2 * c)
    generator = np.random.default_rng(sum(masses))
    columns = generator.exponential(size=(len(p), 3000)) ** generator.uniform(0.2, 3, 3000)
    inside = columns.max(axis=0) <= t * ball.least_mass(columns)
    lifts = columns[:, inside] / (p @ columns[:, inside])
    for f in FUNCTIONS.values():
        bound = ball_bound(f, c, float(p.min()), t, float((p @ f(lifts)).max(initial=0.0)) + 0.02)
        assert float((p @ f(lifts)).max(initial=0.0)) <= bound
        assert bound == ball_bound(f, c, float(p.min()), t, bound)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 20), min_size=2, max_size=4), st.floats(0.1, 0.9), st.randoms(use_true_random=False))
def test_any_multipliers_bound_the_trace(masses, low, random):
    p = np.array(masses) / sum(masses)
    high = 2.0
    vertices = box_vertices(p, low, high)
    assert p @ vertices == pytest.approx(np.ones(vertices.shape[1]))
    floor = np.maximum(low, (1 - high * (1 - p)) / p)
    ceiling = np.minimum(high, (1 - low * (1 - p)) / p)
    d = np.array([random.uniform(0, 0.3) for _ in p])
    v = np.array([random.uniform(-0.1, 0.1) for _ in p])
    bound = trace_bound(d, v, p, (floor, ceiling))
    answer = linprog(-np.random.default_rng(1).random(vertices.shape[1]), A_eq=vertices, b_eq=np.ones(len(p)))
    information = (vertices * answer.x) @ vertices.T
    if np.linalg.cond(information) < 1e10:
        assert bound <= np.trace(np.linalg.inv(information))


def test_what_cannot_be_shown_is_loosened_honestly():
    design = lw.design([0.5, 0.3, 0.2], ldp=0.6)
    claim = design.certificate.optimality
    claim = replace(claim, duals=claim.duals + np.array([0.1, 0.0, 0.0]))
    shown = proven_bound(claim, design.prior)
    assert shown > claim.bound
    check(replace(claim, bound=shown), design)


def test_a_nominal_prior_outside_its_hull_makes_no_bound():
    hull = Hull([[0.25] * 4, [0.4, 0.2, 0.2, 0.2]], nominal=[0.97, 0.01, 0.01, 0.01])
    design = lw.design(hull, lift=1.5)
    check(design.certificate.optimality, design)
    # The nominal prior itself is not protected: its own bound does not hold here.
    assert lw.epsilon(design.mechanism, hull.nominal) > math.log(1.5)


def test_a_million_letters_need_no_duals():
    prior = Prior(np.random.default_rng(1).integers(500, 1500, 20_000))
    design = lw.design(prior, epsilon=0.5 * float(prior.least_probability))
    claim = design.certificate.optimality
    assert len(claim.duals) == 0
    check(claim, design)
    assert claim.bound - claim.value <= 1e-9
    with pytest.raises(CertificateRejected, match="nothing is better"):
        check(replace(claim, bound=claim.value * 0.99), design)
    assert level(epsilon=0.5).allows(Fraction(1))


@pytest.mark.parametrize("kind", ["ball", "box"])
def test_one_prior_of_a_set_is_enough_for_the_bound_of_a_linear_utility(kind):
    """The checker looked for up to eighty priors a guess: most of the time of a design of fifty values."""
    prior = lw.Prior(np.random.default_rng(30).dirichlet(np.ones(30)))
    p, high = prior.probabilities, np.full(30, 2.0)
    priors = prior.ball(0.02) if kind == "ball" else Box(prior, [0.9 * x for x in p], [1.1 * x for x in p])
    cone = RobustCone(priors, Fraction(2))
    for seed in range(5):
        costs = np.random.default_rng(seed).standard_normal(30)
        true = float(cone.linear_max(costs[:, None])[0][0])
        region = Region(p, np.zeros(30), high, 2.0, priors)
        bound = region.linear(costs)
        assert true - 1e-9 <= bound <= true + 1e-8
        assert len(region.members) <= 3
        moved = np.abs(region.members - p).sum(axis=1)
        assert (moved <= (0.02 if kind == "ball" else 0.2) + 1e-12).all()
        assert region.members.sum(axis=1) == pytest.approx(np.ones(len(region.members)))
