"""P(secret in a cell, outcome between two cuts) for noise on a density, with a bound on all that is missed.

On a panel of the secret P(outcome in an interval | x) is next to a polynomial of x: how nearly, summed over all
intervals, each noise says. The density is a polynomial, or its bells are next to one by how large they are on an
ellipse around the panel in the complex plane (Bernstein). Gauss-Legendre has no error for the product of the
polynomials, so that what is left is twice what they miss. Panels are halved until that is small.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

import numpy as np

from leakwise.exact import Piece
from leakwise.noise.continuous.density import Density
from leakwise.noise.continuous.outcomes import SLACK
from leakwise.types import Floats

if TYPE_CHECKING:
    from leakwise.noise.continuous.on_density import OnDensity

__all__ = ["joint_probabilities"]

# Of a probability, or of the same share of the length, this may be missed on a panel.
_MISSED = 1e-14
_MOST_PANELS = 50_000
_BELL_DEGREE = 14
_ELLIPSES = (4.0, 6.0, 8.0, 12.0, 24.0)
_NEVER = 1e-20
_DIGIT = 2.0**-50


def joint_probabilities(
    noise: OnDensity, density: Density, left: Floats, right: Floats, cuts: Floats
) -> tuple[Floats, float]:
    """Return the probabilities of cells and intervals, and how far all of them together are from the truth at most.

    Parameters
    ----------
    left, right
        The ends of the cells; no edge of the density may lie inside one.
    cuts
        What divides the outcomes, rising.
    """
    bells = [(piece, unit) for piece, unit in zip(density.pieces, density.weights.log_units, strict=True) if piece.bell]
    degree = max(len(piece.coefficients) for piece in density.pieces) - 1 + (_BELL_DEGREE if bells else 0)
    order = 2 * noise.smoothness
    # No error for the product of a polynomial of this degree with one of a degree below the order.
    nodes, weights = np.polynomial.legendre.leggauss((order + degree + 1) // 2)
    peak, slope = density.steepness
    length = math.fsum((right - left).tolist())
    digit = _DIGIT * max(abs(density.low), abs(density.high))
    kinks, missed = noise.kinks(cuts)
    ends = np.unique(np.concatenate([left, right, cuts, kinks]))
    starts, stops = ends[:-1], ends[1:]
    middle = (starts + stops) / 2
    cell = np.searchsorted(left, middle, side="right") - 1
    inside = (cell >= 0) & (middle < right[cell])
    starts, stops = starts[inside], stops[inside]
    borders = np.array([-math.inf, *cuts, math.inf])
    places, masses, panels = [], [], 0
    while len(starts):
        middle, half = (starts + stops) / 2, (stops - starts) / 2
        x = middle[:, None] + half[:, None] * nodes
        value, error = density.pdf_and_error(x)
        mass = value * weights * half[:, None]
        total = mass.sum(axis=1)
        after = np.searchsorted(cuts, middle)
        away = np.maximum(np.minimum(starts - borders[after], borders[after + 1] - stops), 0.0)
        uneven = noise.remainder(half, away, order)
        bent = 4 * half * sum((_bell_missed(*bell, middle, half, degree) for bell in bells), np.zeros(len(half)))
        lost = uneven * (2 * total + bent) + bent * (1 + uneven)
        # Nodes on panels of a few digits may be rounded out of them.
        narrow = half < 256 * digit
        lost += np.where(narrow, 4 * peak * half, 0.0)
        panels += len(starts)
        fine = narrow | (lost <= _MISSED * (total + half / length))
        if panels + 2 * np.count_nonzero(~fine) > _MOST_PANELS:
            fine[:] = True
        missed += math.fsum((lost + (error * weights).sum(axis=1) * half)[fine].tolist())
        places.append(x[fine].ravel())
        masses.append(mass[fine].ravel())
        starts, middle, stops = starts[~fine], middle[~fine], stops[~fine]
        starts, stops = np.concatenate([starts, middle]), np.concatenate([middle, stops])
    joint = _spread(noise, left, borders, np.concatenate(places), np.concatenate(masses))
    missed += 2.0**-52 * int(np.bincount(np.searchsorted(left, np.concatenate(places), side="right")).max())  # sums
    # Nodes and kinks are off by their last digits: the noise changes by at most twice its peak, the density by its
    # slope.
    missed += digit * (2 * noise.peak + slope * length) + 8 * panels * peak * noise.peak * digit**2
    return joint, (missed + 2 * _NEVER) * (1 + SLACK) + 4 * SLACK


def _bell_missed(piece: Piece, unit: float, middle: Floats, half: Floats, degree: int) -> Floats:
    """By how much the best polynomial of this degree misses a piece with a bell, on each panel."""
    assert piece.bell is not None
    mean, sd = (float(part) for part in piece.bell)
    off = _DIGIT * (np.abs(middle) + abs(mean)) / sd
    centre, wide = np.abs(middle - mean) / sd, half / sd * (1 + SLACK)
    most = sum(
        abs(float(c)) * np.maximum(np.abs(middle - half), np.abs(middle + half)) ** k
        for k, c in enumerate(piece.coefficients)
    )
    best = np.full(len(half), math.inf)
    for rho in _ELLIPSES:
        across, up = wide * (rho + 1 / rho) / 2, wide * (rho - 1 / rho) / 2
        # On the ellipse the size of e^{-z²/2} is at most that.
        nearest = np.maximum(centre - across - off, 0.0)
        exponent = (up**2 - nearest**2) / 2 - unit
        exponent += _DIGIT * (up**2 + nearest**2 + abs(unit))
        rest = degree + 1 - len(piece.coefficients)
        best = np.minimum(best, np.exp(np.minimum(exponent, 700.0)) * 4 * rho**-rest / (rho - 1))
    outside = (middle + half <= piece.low) | (middle - half >= piece.high)
    missed: Floats = np.where(outside, 0.0, best * most)
    return missed


def _spread(noise: OnDensity, left: Floats, borders: Floats, places: Floats, masses: Floats) -> Floats:
    """Masses at places, spread over the intervals between the borders as far as the noise goes."""
    joint: Floats = np.zeros((len(left), len(borders) - 1))
    far = noise.reach(_NEVER)
    cells = np.searchsorted(left, places, side="right") - 1
    first = np.searchsorted(borders[1:-1], places - far)
    last = np.searchsorted(borders[1:-1], places + far) + 1
    for x, mass, cell, a, b in zip(
        places.tolist(), masses.tolist(), cells.tolist(), first.tolist(), last.tolist(), strict=True
    ):
        near = (borders[a : b + 1] - x).tolist()
        joint[cell, a:b] += mass * np.array([noise.between(u, v) for u, v in itertools.pairwise(near)])
    return joint
