"""Pricing against brute force: cones, chords, windows of masses, branch and bound, near-perfect columns, blocks."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import leakwise as lw
from leakwise.leakage.measures.divergences import DIVERGENCES
from leakwise.optimize.bounds.chord import chord_duals, chord_maximum
from leakwise.optimize.pricing.branch_and_bound import BranchPricing
from leakwise.optimize.pricing.heaviest_first import Letters, heaviest_first
from leakwise.optimize.pricing.lift_box import LiftPricing
from leakwise.optimize.pricing.subset_sums import HalfTables
from leakwise.optimize.pricing.vertex_list import list_vertices
from leakwise.optimize.problem.cones import Intersection, LDPCone, LiftBox, pml_cone
from leakwise.optimize.problem.utilities import FInformation
from leakwise.optimize.search.letter_blocks import search_blocks
from leakwise.optimize.search.limits import Limits
from leakwise.optimize.search.near_perfect import search_near_perfect

FUNCTIONS = {name: FInformation(f, name).f for name, f in DIVERGENCES.items()}
names = st.sampled_from(sorted(FUNCTIONS))
lifts_asked = st.fractions(Fraction(101, 100), 6, max_denominator=100)
seeds = st.integers(0, 10**6)


def priors(most=8, largest=6):
    """Small whole weights: ties are common."""
    return st.lists(st.integers(1, largest), min_size=2, max_size=most).map(lw.Prior)


def cone_of(kind, prior, lift):
    if kind == "pml":
        return pml_cone(prior, lift)
    if kind == "lip":
        return LiftBox(prior, 1 / lift, lift)
    if kind == "ldp":
        return LDPCone(prior, lift)
    return Intersection([pml_cone(prior, lift), LDPCone(prior, lift**2)])


CONES = ["pml", "lip", "ldp", "both"]


def linear_program(cone, objective):
    """max c·λ over the lift vectors, from the definition of each constraint, by SciPy."""
    p = cone.prior.probabilities
    size = len(p)
    eye = np.eye(size)
    rows = []
    for part in cone.cones if isinstance(cone, Intersection) else (cone,):
        if isinstance(part, LiftBox):
            rows += [row - float(part.high) * p for row in eye] + [float(part.low) * p - row for row in eye]
        else:
            rows += [eye[i] - float(part.ratio) * eye[k] for i, k in itertools.permutations(range(size), 2)]
    answer = linprog(-objective, np.array(rows), np.zeros(len(rows)), p[None, :], [1.0], method="highs")
    assert answer.status == 0
    return -answer.fun


# -- cones -----------------------------------------------------------------------------------------------------------


@given(priors(most=6), lifts_asked, seeds, st.sampled_from(CONES))
@settings(max_examples=80)
def test_linear_max_against_a_linear_program(prior, lift, seed, kind):
    cone = cone_of(kind, prior, lift)
    objectives = np.random.default_rng(seed).normal(size=(len(prior), 3))
    values, vertices = cone.linear_max(objectives)
    assert prior.probabilities @ vertices == pytest.approx(np.ones(3), abs=1e-9)
    assert np.sum(objectives * vertices, axis=0) == pytest.approx(values, abs=1e-8)
    for objective, value in zip(objectives.T, values, strict=True):
        assert value == pytest.approx(linear_program(cone, objective), abs=1e-7)


@given(priors(most=6), lifts_asked, st.sampled_from(CONES))
@settings(max_examples=40)
def test_entry_boxes_hold_every_lift_and_are_reached_by_single_constraints(prior, lift, kind):
    cone = cone_of(kind, prior, lift)
    low, high = cone.entry_box()
    for letter, unit in enumerate(np.eye(len(prior))):
        most, least = linear_program(cone, unit), -linear_program(cone, -unit)
        assert low[letter] <= least + 1e-9
        assert most <= high[letter] + 1e-9
        if kind != "both":
            assert (low[letter], high[letter]) == pytest.approx((least, most), abs=1e-7)


@given(priors(most=6), lifts_asked, seeds, st.sampled_from(CONES), st.integers(20, 60))
@settings(max_examples=80)
def test_snapped_columns_are_in_the_cone_and_close(prior, lift, seed, kind, bits):
    cone = cone_of(kind, prior, lift)
    objectives = np.random.default_rng(seed).normal(size=(len(prior), 2))
    mass = 1 << bits
    for vertex in cone.linear_max(objectives)[1].T:
        column = cone.snap(vertex, mass)
        assert all(isinstance(value, int) and value >= 0 for value in column)
        assert cone.contains(column)
        if bits >= 50:
            # the free letter takes up what rounding did to the others, in proportion to their mass over its own
            room = 1e-9 * max(1.0, 1 / float(prior.least_probability))
            assert np.array(column, dtype=float) / mass == pytest.approx(vertex, abs=room)


@given(priors(most=5), lifts_asked, st.sampled_from(CONES))
@settings(max_examples=40)
def test_membership_is_decided_exactly(prior, lift, kind):
    cone = cone_of(kind, prior, lift)
    assert cone.contains([7] * len(prior))
    if isinstance(cone, LDPCone):
        scale = lift.denominator
        column = [scale] * len(prior)
        column[0] = lift.numerator
        assert cone.contains(column)
        column[0] += 1
        assert not cone.contains(column)
    if kind == "pml":
        # v = (x, 1, …, 1) has lift x / (π_0 x + 1 - π_0): solve for the x that reaches it
        share = prior.fractions[0]
        if lift * share < 1:
            x = lift * (1 - share) / (1 - lift * share)
            column = [x.denominator] * len(prior)
            column[0] = x.numerator
            assert cone.contains(column)
            column[0] += 1
            assert not cone.contains(column)


# -- chords ----------------------------------------------------------------------------------------------------------


@given(priors(), lifts_asked, names, seeds)
@settings(max_examples=80)
def test_the_chord_maximum_is_that_of_its_linear_program_and_above_every_vertex(prior, lift, name, seed):
    f, cone = FUNCTIONS[name], pml_cone(prior, lift)
    p = prior.probabilities
    low, high = cone.entry_box()
    y = np.random.default_rng(seed).normal(size=len(p)) * p
    found = chord_maximum(f, p, low, high, y)
    slope = np.divide(f(high) - f(low), high - low, out=np.zeros_like(p), where=high > low)
    base = float(p @ (f(low) - slope * low))
    answer = linprog(-(p * slope - y), A_eq=p[None, :], b_eq=[1.0], bounds=list(zip(low, high, strict=True)))
    assert found == pytest.approx(base - answer.fun, abs=1e-8)
    vertices = list_vertices(cone)
    assert found >= (p @ f(vertices) - y @ vertices).max() - 1e-12


@given(priors(most=7), lifts_asked, names)
@settings(max_examples=40)
def test_the_global_bound_of_math_section_2(prior, lift, name):
    f, cone = FUNCTIONS[name], pml_cone(prior, lift)
    p = prior.probabilities
    low, high = cone.entry_box()
    duals = chord_duals(f, p, low, high)
    bound = duals.sum() + max(chord_maximum(f, p, low, high, duals), 0.0)
    formula = float(p @ (f(np.zeros_like(p)) + (f(high) - f(np.zeros_like(p))) / high))
    assert bound <= formula + 1e-9  # the box from below, which the formula does not use, can only help
    assert bound >= lw.design(prior, lift=lift, utility=name).value


# -- windows ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 3), min_size=1, max_size=6), seeds, st.floats(0, 1), st.floats(0, 0.5))
@settings(max_examples=60)
def test_windows_of_subset_masses_against_brute_force(sizes, seed, start, width):
    masses = np.random.default_rng(seed).dirichlet(np.ones(len(sizes))) / np.array(sizes)
    tables = HalfTables(masses, np.array(sizes, dtype=np.int64))
    total, counts = tables.in_window(start, start + width, 10**6)
    every = list(itertools.product(*(range(size + 1) for size in sizes)))
    assert tables.count == len(every)
    expected = {choice for choice in every if start <= float(np.dot(choice, masses)) <= start + width}
    edge = {
        choice
        for choice in every
        if min(abs(np.dot(choice, masses) - start), abs(np.dot(choice, masses) - start - width)) < 1e-12
    }
    found = {tuple(choice) for choice in counts.tolist()}
    assert total == len(counts) == len(found)
    assert found ^ expected <= edge
    if total:
        assert tables.in_window(start, start + width, total - 1) == (total, None)


@given(priors(), lifts_asked, names, seeds, st.floats(0, 1))
@settings(max_examples=120)
def test_lift_pricing_against_all_vertices(prior, lift, name, seed, noise):
    f, cone = FUNCTIONS[name], pml_cone(prior, lift)
    pricing = LiftPricing(cone, f)
    p = prior.probabilities
    low, high = cone.entry_box()
    generator = np.random.default_rng(seed)
    # duals that treat letters of one mass alike, as those of the master do
    start = chord_duals(f, p, low, high)
    y = np.array([start[group[0]] for group in pricing.groups.letters])
    y = y + noise * generator.normal(size=len(y)) * pricing.groups.masses
    vertices = list_vertices(cone)
    per_letter = pricing.groups.per_letter(y)
    costs = p @ f(vertices) - per_letter @ vertices
    best = float(costs.max())
    priced = pricing.price(y, most=50, above=1e-9, largest_window=10**6)
    assert priced.complete
    assert priced.largest >= best - 1e-12  # an upper bound on every reduced cost
    if best > 1e-8:
        assert priced.largest == pytest.approx(best, abs=1e-9)
        assert priced.reduced_costs.max() == pytest.approx(best, abs=1e-9)
        assert pricing.costs_of(priced.vertices, y) == pytest.approx(priced.reduced_costs, abs=1e-9)
    elif len(priced.vertices):
        assert priced.reduced_costs.max() <= 1e-8


@st.composite
def skewed(draw):
    """A few heavy letters, many light ones, some of them alike."""
    weights = draw(st.lists(st.integers(0, 30).map(lambda k: 2**k), min_size=2, max_size=8))
    return lw.Prior(weights)


@given(skewed(), lifts_asked, st.booleans(), names, seeds, st.floats(0, 3), st.sampled_from([1, 3, 10**6]))
@settings(max_examples=150)
def test_heaviest_first_against_all_vertices(prior, lift, below, name, seed, noise, branches):
    cone = LiftBox(prior, 1 / (2 * lift) if below else Fraction(0), lift)
    f, pricing = FUNCTIONS[name], LiftPricing(cone, FUNCTIONS[name])
    order = np.argsort(-pricing.groups.masses, kind="stable")
    masses, sizes = pricing.groups.masses[order], pricing.groups.sizes[order]
    y = noise * np.random.default_rng(seed).normal(size=len(masses)) * masses
    box = (pricing.box_low[order], pricing.box_high[order])
    letters = Letters(f, masses, sizes, y, pricing.low, pricing.high, box)
    vertices = list_vertices(cone)
    unsorted = np.empty_like(y)
    unsorted[order] = y
    costs = prior.probabilities @ f(vertices) - pricing.groups.per_letter(unsorted) @ vertices
    best = float(costs.max())
    counts, free, largest, exact = heaviest_first(letters, most=5, above=best - 1, branches=branches)
    assert largest >= best - 1e-11 * (1 + abs(best))  # whether or not all branches were followed
    if branches == 10**6:
        assert exact
        assert largest == pytest.approx(best, abs=1e-9)
        back = np.empty_like(counts)
        back[:, order] = counts
        found = pricing.completed(back, order[free])
        assert pricing.costs_of(found, unsorted).max() == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_skewed_priors_are_solved_to_a_proven_optimum(seed):
    weights = np.random.default_rng(seed).dirichlet(np.full(30, 0.1))
    d = lw.design(lw.Prior(weights), 0.8)
    assert d.gap < 1e-9


def test_a_heavy_letter_among_sixty_does_not_leave_the_constant_answer():
    prior = lw.Prior(np.random.default_rng(0).dirichlet(np.full(60, 0.3)))
    cone = pml_cone(prior, Fraction(739, 100))
    found = search_near_perfect(cone, FUNCTIONS["mutual_information"], Limits())
    value = prior.probabilities @ FUNCTIONS["mutual_information"](found.lifts) @ found.weights
    assert found.bound - value < 0.01 * value


@given(priors(most=6), st.fractions(Fraction(11, 10), 4, max_denominator=20), names, seeds)
@settings(max_examples=25)
def test_branch_and_bound_against_windows(prior, lift, name, seed):
    f, cone = FUNCTIONS[name], LiftBox(prior, 1 / (2 * lift), lift)  # a box from below as well
    pricing = LiftPricing(cone, f)
    p = prior.probabilities
    low, high = cone.entry_box()
    start = chord_duals(f, p, low, high)
    shift = 0.3 * np.random.default_rng(seed).normal(size=len(pricing.groups.masses)) * pricing.groups.masses
    y = np.array([start[group[0]] for group in pricing.groups.letters]) + shift
    priced = pricing.price(y, most=20, above=-1.0, largest_window=10**6)
    found, largest = BranchPricing(cone, f).price(pricing.groups.per_letter(y), Limits(), accuracy=1e-8, nodes=5000)
    best = float((p @ f(found) - pricing.groups.per_letter(y) @ found).max())
    assert best <= priced.largest + 1e-9
    assert best <= largest + 1e-12
    if priced.largest > 1e-6:
        assert best == pytest.approx(priced.largest, abs=1e-6)


@given(priors(most=5), st.fractions(Fraction(11, 10), 4, max_denominator=20), names, seeds)
@settings(max_examples=25)
def test_branch_and_bound_against_the_two_valued_columns_of_ldp(prior, lift, name, seed):
    f, cone = FUNCTIONS[name], LDPCone(prior, lift)
    p = prior.probabilities
    y = 0.3 * np.random.default_rng(seed).normal(size=len(p)) * p
    vertices = list_vertices(cone)
    costs = p @ f(vertices) - y @ vertices
    found, largest = BranchPricing(cone, f).price(y, Limits(), accuracy=1e-8, nodes=5000)
    assert largest >= costs.max() - 1e-9
    assert float((p @ f(found) - y @ found).max()) == pytest.approx(float(costs.max()), abs=1e-6)


# -- large alphabets -------------------------------------------------------------------------------------------------


def is_vertex(cone, lifts):
    span = cone.high_float - cone.low_float
    between = (lifts > cone.low_float + 1e-9 * span) & (lifts < cone.high_float - 1e-9 * span)
    return (between.sum(axis=0) <= 1).all()


@pytest.mark.parametrize("epsilon", [0.3, 1.1])
def test_near_perfect_columns_are_vertices_that_average_to_one(epsilon):
    prior = lw.Prior(np.random.default_rng(7).dirichlet(np.ones(48)))
    cone = pml_cone(prior, Fraction(math.exp(epsilon)).limit_denominator(10**6))
    found = search_near_perfect(cone, FUNCTIONS["mutual_information"], Limits())
    constant = np.all(found.lifts == 1, axis=0)
    assert is_vertex(cone, found.lifts[:, ~constant])
    assert prior.probabilities @ found.lifts == pytest.approx(np.ones(found.lifts.shape[1]), abs=1e-9)
    assert found.lifts @ found.weights == pytest.approx(np.ones(48), abs=1e-9)
    assert (found.weights > 0).all()


def test_blocks_share_one_clock():
    prior = lw.Prior(np.random.default_rng(3).dirichlet(np.ones(170)))
    cone = pml_cone(prior, Fraction(2))
    found = search_blocks(cone, FUNCTIONS["mutual_information"], Limits())
    assert found.lifts @ found.weights == pytest.approx(np.ones(170), abs=1e-9)
    assert prior.probabilities @ found.lifts == pytest.approx(np.ones(found.lifts.shape[1]), abs=1e-9)
    assert found.lifts.min() >= 0
    assert found.lifts.max() <= 2 + 1e-12
    assert found.weights.sum() == pytest.approx(1, abs=1e-12)
    assert found.lifts.shape[1] <= 170
