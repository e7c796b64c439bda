"""Values of tiny probability: designs close to 1e-6 of their bound, on both sides of an optimum in exact fractions.

The reference lists the extreme columns in fractions, takes what they are worth to sixty digits, and solves the linear
program over them by the simplex method in fractions: no number is rounded on the way.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.optimize.pricing.lift_box import LiftPricing
from leakwise.optimize.problem.cones import pml_cone
from leakwise.optimize.problem.utilities import FInformation
from leakwise.optimize.search.exact_windows import search_windows
from leakwise.optimize.search.limits import Limits
from optimize.cones import FUNCTIONS, lifts_asked, names

UTILITIES = ("mutual_information", "total_variation", "chi_square", "hellinger", "guessing")
CLOSE, ROUNDINGS = 1e-6, 4e-15  # of the bound; and of probabilities near one, which are floats


def worth_of(name, lift):
    """f of a lift, a fraction: exact, or to sixty digits."""
    with localcontext(prec=60):
        x = Decimal(lift.numerator) / lift.denominator
        return {
            "mutual_information": lambda: Fraction(x * x.ln()) if x else Fraction(0),
            "total_variation": lambda: abs(lift - 1) / 2,
            "chi_square": lambda: (lift - 1) ** 2,
            "hellinger": lambda: 1 + lift - 2 * Fraction(x.sqrt()),
        }[name]()


def solved(rows, right):
    """The solution of a square system of fractions; None where it is singular."""
    size = len(rows)
    rows = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for place in range(size):
        pivot = next((i for i in range(place, size) if rows[i][place]), None)
        if pivot is None:
            return None
        rows[place], rows[pivot] = rows[pivot], rows[place]
        rows[place] = [value / rows[place][place] for value in rows[place]]
        for i in range(size):
            if i != place and (factor := rows[i][place]):
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[place], strict=True)]
    return [row[-1] for row in rows]


def exact_optimum(prior, lift, name):
    """max Σ ρ μ(λ) over weights of the extreme columns with Σ ρ λ = 1, by the simplex method in fractions."""
    columns = [list(column) for column in lw.measures.extreme_columns(prior, lift=lift).T]
    p, size = prior.fractions, len(prior)
    worth = [sum(q * worth_of(name, x) for q, x in zip(p, column, strict=True)) for column in columns]
    # It starts from columns of one letter each, which cost more than anything is worth.
    columns += [[Fraction(int(i == j)) for i in range(size)] for j in range(size)]
    worth += [Fraction(-(10**9))] * size
    basis = list(range(len(columns) - size, len(columns)))
    while True:
        square = [[columns[j][i] for j in basis] for i in range(size)]
        weights = solved(square, [Fraction(1)] * size)
        duals = solved([list(column) for column in zip(*square, strict=True)], [worth[j] for j in basis])
        costs = [u - sum(a * y for a, y in zip(c, duals, strict=True)) for u, c in zip(worth, columns, strict=True)]
        enters = next((j for j, cost in enumerate(costs) if cost > 0), None)  # the first one: Bland's rule ends
        if enters is None:
            assert not any(weight for weight, j in zip(weights, basis, strict=True) if worth[j] == -(10**9))
            return sum(weight * worth[j] for weight, j in zip(weights, basis, strict=True))
        step = solved(square, columns[enters])
        ratios = [(w / s, j, i) for i, (w, s, j) in enumerate(zip(weights, step, basis, strict=True)) if s > 0]
        basis[min(ratios)[2]] = enters


@st.composite
def rare(draw, size=5):
    """Priors of a few values, masses down to 1e-12 of the largest."""
    powers = draw(st.lists(st.floats(0, 12), min_size=1, max_size=size - 1))
    return lw.Prior([10**15, *(int(10 ** (15 - power)) for power in powers)])


@given(rare(), lifts_asked, names)
@settings(max_examples=120)
def test_value_and_bound_enclose_the_exact_optimum(prior, lift, name):
    d = lw.design(prior, lift=lift, utility=name)
    optimum = exact_optimum(prior, lift, name)
    assert Fraction(d.value) <= optimum <= Fraction(d.bound)
    assert d.gap <= CLOSE * d.bound + ROUNDINGS
    d.certificate.verify()


def drawn(seed, number):
    """A case of the random designs of benchmarks/design.py at a seed."""
    generator = np.random.default_rng(seed)
    for _ in range(number + 1):
        size = int(np.exp(generator.uniform(np.log(2), np.log(30))))
        masses = generator.dirichlet(np.full(size, generator.choice([0.3, 1.0, 5.0])))
        epsilon = float(generator.uniform(0.02, 2.5))
    return lw.Prior(masses), epsilon, UTILITIES[number % len(UTILITIES)]


@pytest.mark.parametrize(
    ("seed", "number"),
    [
        (1, 290),  # 26 letters: a gap of 4e-6, more branches than were followed
        (3, 271),  # 29 letters: 2e-6
        (5, 22),  # all but 2e-9 on one letter: 5e-5, the roundings of the bound
        (8, 236),  # all but 3e-7: 5e-7
    ],
)
def test_what_was_open_is_closed(seed, number):
    prior, epsilon, utility = drawn(seed, number)
    d = lw.design(prior, epsilon=epsilon, utility=utility)
    assert 0 <= d.gap <= 1e-7 * d.bound


@pytest.mark.parametrize("number", range(20))
def test_up_to_thirty_letters_with_masses_down_to_1e_12(number):
    generator = np.random.default_rng([2026, number])
    size = int(generator.integers(3, 31))
    masses = generator.dirichlet(np.ones(size))
    few = max(1, size // 3)
    masses[:few] = 10.0 ** generator.uniform(-12, -5, few)
    if number % 2:
        masses[few:-1] *= 1e-7  # the last letter has nearly all of the mass
    prior, utility = lw.Prior(masses / masses.sum()), UTILITIES[number % 4]
    d = lw.design(prior, epsilon=float(generator.uniform(0.02, 2.5)), utility=utility)
    assert 0 <= d.gap <= CLOSE * d.bound + ROUNDINGS
    d.certificate.verify()


def test_progress_is_told_in_units_of_the_utility():
    told = []
    prior = lw.Prior([10**10, 7, 5, 3])
    d = lw.design(prior, lift=2, progress=lambda *what: told.append(what))
    assert told
    assert all(value <= d.value * (1 + 1e-6) and bound >= d.value for _, value, bound in told)
    assert told[-1][2] <= d.bound * (1 + 1e-6)


def test_the_heaviest_letters_decide_where_windows_cannot():
    """Twenty-nine letters, three of which hold a fifth each: few sets of raised letters are left at every depth."""
    prior, epsilon, _ = drawn(3, 271)
    cone = pml_cone(prior, Fraction(np.exp(epsilon)).limit_denominator(10**6))
    f = FUNCTIONS["total_variation"]
    pricing, found = LiftPricing(cone, f), search_windows(cone, f, Limits())
    duals = np.array([found.duals[group[0]] for group in pricing.groups.letters])
    priced = pricing.price(duals, most=10, above=1e-12, largest_window=1000)
    assert priced.complete
    assert priced.largest <= 1e-10


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_an_f_of_ones_own_is_searched_for_in_its_own_units_as_well(name):
    """A Python function has no exact lifts: roundings of 1e-14 stay, in the gap and not below the optimum."""
    prior, lift = lw.Prior([10**8, 3, 2, 1]), Fraction(5, 2)
    d = lw.design(prior, lift=lift, utility=FInformation(lambda x: FUNCTIONS[name](x), name="own"))
    optimum = exact_optimum(prior, lift, name)
    assert Fraction(d.value) <= optimum <= Fraction(d.bound)
    assert d.gap <= 1e-5 * d.bound
