"""Every pair of constraint and utility against brute force over all vertices, for few letters.

To add a constraint: one line in ``CONSTRAINTS``, with the inequalities of its columns from the definition and what
``lw.design`` is asked for. To add a utility: one line in ``UTILITIES``.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from optimize.brute_force import ball_corners, best_frequencies, best_of, box_corners, kl_corners, normalised, rays

SEEDS = (1, 2)


def random_law(size, seed):
    weights = np.random.default_rng([size, seed]).integers(2, 40, size)
    return [Fraction(int(weight), int(weights.sum())) for weight in weights]


# ------------------------------------------------------------------------------ constraints, from their definitions
# Each returns rows a of inequalities a·v ≥ 0 on a column v of the mechanism.


def unit(size, place):
    return [Fraction(int(i == place)) for i in range(size)]


def pml(law, t):
    """v_i ≤ t π·v."""
    return [[t * p - e for p, e in zip(law, unit(len(law), i), strict=True)] for i in range(len(law))]


def for_all(corners, t):
    """v_i ≤ t Q·v for each Q."""
    return [row for corner in corners for row in pml(corner, t)]


def floor(law, b):
    """v_i ≥ b π·v."""
    return [[e - b * p for p, e in zip(law, unit(len(law), i), strict=True)] for i in range(len(law))]


def ldp(size, t):
    """v_i ≤ t v_k."""
    pairs = itertools.permutations(range(size), 2)
    return [[t * b - a for a, b in zip(unit(size, i), unit(size, k), strict=True)] for i, k in pairs]


# ------------------------------------------------------------------------------------------- what design() is asked


@dataclass(frozen=True)
class Constraint:
    """A constraint: its inequalities for a law, the prior or set given to design(), and the limits beside it."""

    size: int
    rows: Callable[[list[Fraction]], list[list[Fraction]]]
    prior: Callable[[list[Fraction]], object] = lw.Prior
    limits: dict[str, object] | Callable[[list[Fraction]], dict[str, object]] = field(default_factory=dict)
    # A stricter set of inequalities where the constraint is no polytope: its optimum is not above, ``rows`` not below.
    stricter: Callable[[list[Fraction]], list[list[Fraction]]] | None = None


def own(law):
    """Random limits of single values and of a set of them: largest and least lifts, ceilings between prior and 1."""
    draw = np.random.default_rng([p.numerator for p in law]).integers
    among = {int(i): 1 + Fraction(int(draw(1, 20)), 20) for i in draw(0, len(law), 2)}
    ceilings = {(one,): law[one] + (1 - law[one]) * Fraction(int(draw(1, 9)), 10) for one in (0, 1)}
    ceilings[0, 2] = law[0] + law[2] + (1 - law[0] - law[2]) * Fraction(int(draw(1, 9)), 10)
    return among, ceilings, {int(draw(0, len(law))): Fraction(int(draw(1, 9)), 10)}


def owned(law, members):
    """v_i ≤ t_i Q·v, Σ_{i∈A} Q_i v_i ≤ c Q·v and v_i ≥ b_i Q·v for each Q."""
    among, ceilings, floors = own(law)
    rows = []
    for member in members:
        rows += [pml(member, t)[i] for i, t in among.items()]
        rows += [[p * (c - (i in inside)) for i, p in enumerate(member)] for inside, c in ceilings.items()]
        rows += [floor(member, b)[i] for i, b in floors.items()]
    return rows


def asked_of_values(law):
    among, ceilings, floors = own(law)
    return {"lift_of": among, "ceiling": ceilings, "floor": floors}


def near_hull(law):
    """Priors so close to the law that its ceilings, which leave a tenth of the room, stay above them all."""
    return [law, [p + Fraction(1 - 2 * (i % 2), 100) for i, p in enumerate(law)]] if len(law) % 2 == 0 else [law]


T = Fraction(9, 5)
WIDE = Fraction(4)
E = Fraction(math.exp(0.6))
SHORT = {"lift": T}
BETA = Fraction(1, 8)
RADIUS = 0.05


def corners_of_hull(law):
    return [law, law[::-1], law[1:] + law[:1]]


def bounds_of_box(law):
    return [p * Fraction(2, 3) for p in law], [min(p * Fraction(3, 2), Fraction(1)) for p in law]


CONSTRAINTS = {
    "PML": Constraint(5, lambda law: pml(law, T), limits=SHORT),
    "PML, many zeros": Constraint(5, lambda law: pml(law, WIDE), limits={"lift": WIDE}),
    "LDP": Constraint(5, lambda law: ldp(len(law), E), limits={"ldp": 0.6}),
    "LIP": Constraint(5, lambda law: pml(law, E) + floor(law, 1 / E), limits={"lip": 0.6}),
    "PML and LDP": Constraint(
        5, lambda law: pml(law, Fraction(3, 2)) + ldp(len(law), E), limits={"lift": "3/2", "ldp": 0.6}
    ),
    "PML and LIP": Constraint(
        5, lambda law: pml(law, Fraction(3, 2)) + floor(law, 1 / E), limits={"lift": "3/2", "lip": 0.6}
    ),
    "anyone": Constraint(5, lambda law: ldp(len(law), WIDE), limits={"anyone": 4}),
    "PML and anyone": Constraint(5, lambda law: pml(law, T) + ldp(len(law), WIDE), limits={"lift": T, "anyone": WIDE}),
    "values": Constraint(4, lambda law: owned(law, [law]), limits=asked_of_values),
    "PML and values": Constraint(
        5, lambda law: pml(law, T) + owned(law, [law]), limits=lambda law: {"lift": T, **asked_of_values(law)}
    ),
    "PML, anyone and values": Constraint(
        4,
        lambda law: pml(law, T) + ldp(len(law), WIDE) + owned(law, [law]),
        limits=lambda law: {"lift": T, "anyone": 4, **asked_of_values(law)},
    ),
    "hull and anyone": Constraint(
        4,
        lambda law: for_all(corners_of_hull(law), T) + ldp(len(law), WIDE),
        lambda law: lw.Hull(corners_of_hull(law), nominal=law),
        {"lift": T, "anyone": 4},
    ),
    "hull and values": Constraint(
        4,
        lambda law: for_all(near_hull(law), T) + owned(law, near_hull(law)),
        lambda law: lw.Hull(near_hull(law), nominal=law),
        lambda law: {"lift": T, **asked_of_values(law)},
    ),
    "l1 ball": Constraint(
        4, lambda law: for_all(ball_corners(law, BETA), T), lambda law: lw.Ball(lw.Prior(law), BETA), SHORT
    ),
    "large l1 ball": Constraint(
        4,
        lambda law: for_all(ball_corners(law, Fraction(1, 2)), WIDE),
        lambda law: lw.Ball(lw.Prior(law), "1/2"),
        {"lift": WIDE},
    ),
    "box": Constraint(
        4,
        lambda law: for_all(box_corners(*bounds_of_box(law)), T),
        lambda law: lw.Box(lw.Prior(law), *bounds_of_box(law)),
        SHORT,
    ),
    "hull": Constraint(
        4, lambda law: for_all(corners_of_hull(law), T), lambda law: lw.Hull(corners_of_hull(law), nominal=law), SHORT
    ),
    "all priors": Constraint(4, lambda law: ldp(len(law), T), lambda law: lw.AllPriors(lw.Prior(law)), SHORT),
    "KL ball": Constraint(
        3,
        lambda law: for_all(kl_corners(law, RADIUS, 40)[0], T),
        lambda law: lw.KLBall(lw.Prior(law), RADIUS),
        SHORT,
        stricter=lambda law: for_all(kl_corners(law, RADIUS, 40)[1], T),
    ),
}


def gains(size, guesses):
    return np.random.default_rng([size, guesses]).integers(0, 6, (size, guesses)).astype(float)


def expected(size):
    return gains(size, 4) - 2


def information(f):
    return lambda lifts, p: p @ f(lifts)


def linear(matrix):
    return lambda lifts, p: ((matrix(len(p)) * p[:, None]).T @ lifts).max(axis=0)


def mutual_information(x):
    return np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0)), 0.0)


# What is given to design() for so many letters, and the worth of lift vectors from the definition (None: frequencies).
UTILITIES = {
    "mutual_information": (lambda size: "mutual_information", information(mutual_information)),
    "total_variation": (lambda size: "total_variation", information(lambda x: np.abs(x - 1) / 2)),
    "chi_square": (lambda size: "chi_square", information(lambda x: (x - 1) ** 2)),
    "hellinger": (lambda size: "hellinger", information(lambda x: (np.sqrt(x) - 1) ** 2)),
    "own f": (lambda size: lw.FInformation(lambda x: np.abs(x - 1) ** 3), information(lambda x: np.abs(x - 1) ** 3)),
    "guessing": (lambda size: "guessing", linear(np.eye)),
    "gain": (lambda size: lw.Gain(gains(size, 3)), linear(lambda size: gains(size, 3))),
    "expected": (lambda size: lw.Expected(expected(size)), linear(expected)),
    "frequencies": (lambda size: "frequencies", None),
}


# How far below the optimum a design may be, relatively: 1e-7, but for these. The square root has an infinite slope at
# 0, where a column's 1e-14 counts as 1e-7. A KL ball has no corners, so that its vertices cannot be listed: frequencies
# are then near their optimum only, with a bound that holds and is far from it.
NEAR = {(name, "hellinger"): 5e-7 for name in ("l1 ball", "box", "hull", "hull and values", "values", "PML and values")}
NEAR |= {("KL ball", "hellinger"): 2e-6, ("KL ball", "frequencies"): 1e-3}
WIDE_BOUND = ("KL ball", "frequencies")


# Designs for these sets take seconds each, so that one prior must do.
SLOW = ("large l1 ball", "KL ball")
CASES = [(name, seed) for name in CONSTRAINTS for seed in (SEEDS[:1] if name in SLOW else SEEDS)]


@functools.cache
def lifts_of(constraint, seed, *, stricter=False):
    """All vertices of a constraint, as lift vectors."""
    asked = CONSTRAINTS[constraint]
    law = random_law(asked.size, seed)
    rows = asked.stricter if stricter else asked.rows
    return normalised(rays(rows(law), len(law)), law)


def optimum(lifts, p, worth):
    """The optimum over all columns, as an interval."""
    if worth is None:
        return best_frequencies(lifts, p)
    best = best_of(lifts, worth(lifts, p))
    return best, best


@pytest.mark.filterwarnings("ignore:The proven gap")
@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize(("constraint", "seed"), CASES)
def test_design_finds_the_best_over_all_vertices(constraint, utility, seed):
    asked = CONSTRAINTS[constraint]
    law = random_law(asked.size, seed)
    p = np.array([float(mass) for mass in law])
    given, worth = UTILITIES[utility]
    limits = asked.limits(law) if callable(asked.limits) else asked.limits
    found = lw.design(asked.prior(law), utility=given(len(law)), **limits)
    least, most = optimum(lifts_of(constraint, seed), p, worth)
    assert most - least <= 1e-10 * max(1.0, abs(most))
    if asked.stricter is not None:
        least = optimum(lifts_of(constraint, seed, stricter=True), p, worth)[0]
        assert most - least <= 0.02 * max(1.0, abs(most))
    assert found.value >= least - NEAR.get((constraint, utility), 1e-7) * max(1.0, abs(least))
    assert found.value <= most + 1e-9 * max(1.0, abs(most))
    assert found.bound >= least - 1e-9 * max(1.0, abs(least))
    if (constraint, utility) != WIDE_BOUND:
        assert found.gap <= max(NEAR.get((constraint, utility), 0), 2e-6 if asked.stricter else 1e-7) * max(
            1, abs(most)
        )


# ------------------------------------------------------------------------------- masks: a cone of its own per output


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("utility", [name for name in UTILITIES if name != "frequencies"])
@pytest.mark.parametrize("size", [3, 4, 5])
def test_a_second_utility_on_the_best_level_is_the_best_over_all_vertices_of_the_masks(size, utility, seed):
    law, t = random_law(size, seed), Fraction(5, 2)
    p = np.array([float(mass) for mass in law])
    scores = np.random.default_rng([size, seed]).integers(0, 5, (size, 4)).astype(float)
    given, worth = UTILITIES[utility]
    best = None
    for level in sorted(set(scores.flat), reverse=True):
        columns, values = [], []
        for output in range(scores.shape[1]):
            allowed = scores[:, output] >= level
            inside = rays(pml(law, t), size, allowed)
            if inside:
                lifts = normalised(inside, law)
                columns.append(lifts)
                # An expected utility belongs to the output that is said; every other one to what is read from it.
                said = p * expected(size)[:, output] @ lifts
                values.append(said if utility == "expected" else worth(lifts, p))
        best = best_of(np.hstack(columns), np.hstack(values)) if columns else None
        if best is not None:
            break
    found = lw.design(lw.Prior(law), lift=t, utility=lw.WorstCase(scores, then=given(size)))
    assert found.level == level
    assert found.second == pytest.approx(best, rel=1e-7, abs=1e-7)
    assert found.second <= best + 1e-9
    assert found.second_bound >= best - 1e-9
