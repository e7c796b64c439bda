"""Designs by brute force: every vertex of a constraint, from its inequalities, then one program over all of them.

Nothing here is borrowed from the engine: inequalities are written from the definitions, rays found by cutting the
orthant with one inequality after another in whole numbers (the double description method), optima by SciPy.
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
from scipy.optimize import linprog

__all__ = [
    "ball_corners",
    "best_frequencies",
    "best_of",
    "box_corners",
    "kl_corners",
    "normalised",
    "rays",
]


def _whole(row):
    """The inequality in the smallest whole numbers."""
    scale = math.lcm(*(Fraction(value).denominator for value in row))
    numbers = [int(Fraction(value) * scale) for value in row]
    divisor = math.gcd(*numbers) or 1
    return tuple(number // divisor for number in numbers)


def rays(inequalities, size, allowed=None):
    """The extreme rays of {v ≥ 0, zero outside ``allowed``, a·v ≥ 0 for each row a}, as whole numbers, exactly."""
    places = range(size) if allowed is None else [i for i in range(size) if allowed[i]]
    found = {}  # a ray, and as bits the inequalities that hold with equality
    for place in places:
        ray = tuple(int(i == place) for i in range(size))
        found[ray] = sum(1 << i for i in places if i != place)
    dimension = len(found)
    for step, row in enumerate({_whole(row): None for row in inequalities}):
        bit = 1 << (size + step)
        side = {ray: sum(a * v for a, v in zip(row, ray, strict=True)) for ray in found}
        kept = {ray: tight | (bit if side[ray] == 0 else 0) for ray, tight in found.items() if side[ray] >= 0}
        inside = [ray for ray in found if side[ray] > 0]
        outside = [ray for ray in found if side[ray] < 0]
        for one, other in itertools.product(inside, outside):
            common = found[one] & found[other]
            if common.bit_count() < dimension - 2:
                continue
            # Two rays span a face when no third one lies on every inequality that both lie on.
            if any(tight & common == common for ray, tight in found.items() if ray not in (one, other)):
                continue
            between = tuple(side[one] * b - side[other] * a for a, b in zip(one, other, strict=True))
            divisor = math.gcd(*between)
            kept[tuple(value // divisor for value in between)] = common | bit
        found = kept
    return list(found)


def normalised(columns, law):
    """The lift vectors π·λ = 1 of columns, as an N×R matrix."""
    scaled = [[Fraction(v) / sum(p * w for p, w in zip(law, ray, strict=True)) for v in ray] for ray in columns]
    return np.array([[float(v) for v in lift] for lift in scaled]).T


# ------------------------------------------------------------------------------------------------ corners of sets


def ball_corners(law, beta):
    """Priors within β of a law that include every corner: β/2 taken in some order, all of it put onto one letter."""
    size, found = len(law), {}
    for order in itertools.permutations(range(size)):
        left, rest = list(law), Fraction(beta) / 2
        for place in order:
            taken = min(rest, left[place])
            left[place] -= taken
            rest -= taken
        for place in range(size):
            found[tuple(mass + (Fraction(beta) / 2 - rest) * (i == place) for i, mass in enumerate(left))] = None
    return list(found)


def box_corners(lower, upper):
    """Every corner of a box cut by the simplex: all letters at a bound but one."""
    found = {}
    for free in range(len(lower)):
        others = [[low, high] for i, (low, high) in enumerate(zip(lower, upper, strict=True)) if i != free]
        for choice in itertools.product(*others):
            rest = 1 - sum(choice)
            if lower[free] <= rest <= upper[free]:
                found[(*choice[:free], rest, *choice[free:])] = None
    return list(found)


def kl_corners(law, radius, pieces):
    """Priors of the KL ball around a law of three letters: an inner polygon, and the corners of an outer one.

    The function Q ↦ Σ π_i log(π_i/Q_i) is convex: a tangent at each corner of the inner polygon cuts nothing off.
    """
    p = np.array([float(mass) for mass in law])
    inner, tangents = [], []
    for angle in 2 * np.pi * np.arange(pieces) / pieces:
        direction = np.cos(angle) * np.array([1, -1, 0]) / 2**0.5 + np.sin(angle) * np.array([1, 1, -2]) / 6**0.5
        low, high = 0.0, 1 / max(-direction / p)
        for _ in range(200):
            middle = (low + high) / 2
            inside = p @ np.log(p / (p + middle * direction)) <= radius
            low, high = (middle, high) if inside else (low, middle)
        corner = p + low * direction
        inner.append([*map(Fraction, corner[:2]), 1 - sum(map(Fraction, corner[:2]))])
        slope = -p / corner
        tangents.append([*slope, slope @ corner + 1e-13])  # slope·Q ≤ slope·corner, and a little room for floats
    outer = []
    for first, second in zip(tangents, tangents[1:] + tangents[:1], strict=True):
        met = np.linalg.solve([first[:3], second[:3], [1, 1, 1]], [first[3], second[3], 1])
        outer.append([*map(Fraction, met[:2]), 1 - sum(map(Fraction, met[:2]))])
    return inner, outer


# ------------------------------------------------------------------------------------------------------- optima


def best_of(lifts, worth):
    """max Σ ρ μ(λ) over weights with Σ ρ λ = 1, or None where no weights do."""
    answer = linprog(-worth, A_eq=lifts, b_eq=np.ones(len(lifts)), method="highs")
    assert answer.status in (0, 2), answer.message
    return -answer.fun if answer.status == 0 else None


def best_frequencies(lifts, p):
    """Σ π² - min trace J⁻¹ over weights: a value that is attained, and what the gradient there proves to be the most.

    Newton's method with a barrier. The trace is convex in the weights, so that a tangent bounds it everywhere.
    """
    size, count = lifts.shape
    # The weights farthest from zero.
    least = np.hstack([lifts, lifts.sum(axis=1, keepdims=True)])
    start = linprog(-np.eye(count + 1)[-1], A_eq=least, b_eq=np.ones(size), method="highs").x
    weights, barrier = start[:-1] + start[-1], 1.0
    assert weights.min() > 0

    def pieces(w):
        inverse = np.linalg.inv((lifts * w) @ lifts.T)
        return inverse, lifts.T @ inverse @ lifts, lifts.T @ inverse @ inverse @ lifts

    def objective(w):
        return np.trace(np.linalg.inv((lifts * w) @ lifts.T)) - barrier * np.log(w).sum()

    while barrier > 1e-12:
        for _ in range(30):
            # In units of each weight, so that small weights leave the system well conditioned.
            _, once, twice = pieces(weights)
            hessian = weights[:, None] * (2 * once * twice) * weights + barrier * np.eye(count)
            slope = -np.diag(twice) * weights - barrier
            scaled = lifts * weights
            inverse = np.linalg.inv(hessian)
            duals = np.linalg.solve(scaled @ inverse @ scaled.T, lifts @ weights - 1 - scaled @ inverse @ slope)
            step = -inverse @ (slope + scaled.T @ duals)
            length = min(1.0, 0.9 / max(-step.min(), 1e-300))
            while length > 1e-9 and objective(weights * (1 + length * step)) > objective(weights) + 1e-14:
                length /= 2
            weights = weights * (1 + length * step)
            if np.abs(step).max() < 1e-6:
                break
        barrier /= 10
    assert np.abs(lifts @ weights - 1).max() < 1e-11
    inverse, _, twice = pieces(weights)
    value, slope = float(np.trace(inverse)), -np.diag(twice)
    square = float(p @ p)
    return square - value, square - (value - slope @ weights - best_of(lifts, -slope))
