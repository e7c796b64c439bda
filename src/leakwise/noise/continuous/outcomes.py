"""Outcomes of noise on a density, cell by cell: how likely they are, from below and from above.

With k = f/f(0) the shape of the noise, M(y) = ∫ π(x) k(y-x) dx is known at the ends of a cell to the last digits, in
ball arithmetic. Inside the cell it is bounded by how fast it can rise and bend, which each noise says.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from leakwise.noise.continuous.density import Density
from leakwise.types import Bools, Floats

if TYPE_CHECKING:
    from leakwise.noise.continuous.on_density import OnDensity

__all__ = ["Bends", "Cells", "Weighing", "crowded"]

# Floats in between are rounded outwards by this much: many times what a few operations can lose.
SLACK = 2.0**-44
# Ends of cells that are this share of the noise's scale, or of the whole, apart count as one.
MERGED = 1e-13
# The probability of noise that reaches farther than what counts as near.
_NEAR = 1e-12
# Half of all ends are within about so many scales of an edge of the density, where the scale is small.
_CROWD = 4.0


def crowded(low: float, high: float, count: int, edges: Floats, scale: float) -> Floats:
    """Return ends of so many cells from low to high, half of them in even steps, half near the edges."""
    near = scale * _CROWD * np.geomspace(2.0**-10, 2.0**10, int(np.clip(4000 // len(edges), 3, 81)))
    even = np.linspace(low, high, 8 * count + 1)
    at = np.unique(np.concatenate([even, (edges[:, None] + near).ravel(), (edges[:, None] - near).ravel(), edges]))
    at = at[(at >= low) & (at <= high)]
    away = (at[:, None] - edges) / scale
    rank = (at - low) / (high - low) + (away / (_CROWD + np.abs(away))).mean(axis=1) / 2
    found: Floats = np.interp(np.linspace(rank[0], rank[-1], count + 1), rank, at)
    return found


class Bends(NamedTuple):
    """How M can change inside cells: bounds on |M'|/M, on |M'| and on M''; infinite where nothing is known."""

    log_slope: Floats
    slope: Floats
    least_bend: Floats
    most_bend: Floats

    @staticmethod
    def grown(ends: Floats, exponent: Floats) -> Floats:
        """Return what M can be at most where its logarithm is at most so much above that of a value; M ≤ 1."""
        with np.errstate(over="ignore", invalid="ignore"):
            grown: Floats = np.fmin(ends * np.exp(exponent), 1.0)
        return grown


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of outcomes side by side.

    Attributes
    ----------
    left, right
        Their ends. A tail in which every outcome says the same has both at its end.
    width
        What to multiply a value at the cell by for its integral: right - left, or more for a cell that stands for all
        outcomes of a tail that say the same.
    least, most
        Bounds of M on the cell.
    inside_least, inside_most
        Bounds of its mean on the cell.
    nearest_least, nearest_most
        Bounds of k at the nearest value that the secret can take: the numerator of the lift.
    """

    left: Floats
    right: Floats
    width: Floats
    least: Floats
    most: Floats
    inside_least: Floats
    inside_most: Floats
    nearest_least: Floats
    nearest_most: Floats

    def __getitem__(self, which: Bools | slice) -> Cells:
        return Cells(*(getattr(self, name)[which] for name in self.__dataclass_fields__))

    def __add__(self, other: Cells) -> Cells:
        return Cells(
            *(np.concatenate([getattr(self, name), getattr(other, name)]) for name in self.__dataclass_fields__)
        )

    def __len__(self) -> int:
        return len(self.left)

    @property
    def lift_most(self) -> Floats:
        """The largest lift that an outcome of the cell can have."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            lift: Floats = np.maximum(self.nearest_most / self.least, 1.0)
        # Of 0/0, far out in a gap, nothing is known.
        return np.where(np.isnan(lift), math.inf, lift)

    @property
    def lift_least(self) -> Floats:
        """The least that the largest lift of every outcome of the cell is."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            lift: Floats = np.maximum(self.nearest_least / self.most, 1.0)
        return np.where(np.isnan(lift), 1.0, lift)


class Weighing:
    """M of one noise and one density, remembered where it was computed."""

    def __init__(self, noise: OnDensity, density: Density) -> None:
        self.noise, self.density = noise, density
        self.known: dict[float, tuple[float, float]] = {}

    def at(self, y: float) -> tuple[float, float]:
        """Return floats below and above M at one outcome."""
        found = self.known.get(y)
        if found is None:
            low, high = Fraction(self.density.low), Fraction(self.density.high)
            found = self.density.weights.against(self.noise.likelihood(Fraction(y), low, high))
            self.known[y] = found
        return found

    def values(self, y: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return the same for many outcomes."""
        pairs = np.array([self.at(float(one)) for one in np.atleast_1d(y)]).reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1]

    @cached_property
    def fixed(self) -> Floats:
        """The places besides the edges that must be ends of cells: the middles of gaps, and where the noise breaks."""
        middles = [(a[1] + b[0]) / 2 for a, b in itertools.pairwise(self.density.support)]
        found: Floats = np.concatenate([middles, self.noise.breaks(self.density)])
        return found

    def nodes(self, low: float, high: float, count: int) -> Floats:
        """Return ends of about so many cells from low to high, the edges and the fixed places among them."""
        edges = np.array(self.density.edges)
        found: Floats = np.unique([low, *edges[(edges > low) & (edges < high)], high])
        apart = MERGED * min(self.noise.scale, high - low)
        for more in (self.fixed, crowded(low, high, count, edges, self.noise.scale)):
            # Of ends that are the same but for their last digits one is kept: an edge before any other.
            inner = np.unique(more[(more > low) & (more < high)])
            inner = inner[np.diff(inner, prepend=-math.inf) > apart]
            after = np.searchsorted(found, inner)
            inner = inner[
                np.minimum(inner - found[after - 1], found[np.minimum(after, len(found) - 1)] - inner) > apart
            ]
            found = np.sort(np.concatenate([found, inner]))
        return found

    def cells(self, nodes: Floats) -> Cells:
        """Return the cells between neighbouring nodes."""
        return self.between(nodes[:-1], nodes[1:])

    def split(self, cells: Cells, parts: int) -> Cells:
        """Return the same outcomes in smaller cells."""
        cuts = np.linspace(cells.left, cells.right, parts + 1)
        left, right = cuts[:-1].ravel(), cuts[1:].ravel()
        real = left < right
        return self.between(left[real], right[real])

    def between(self, left: Floats, right: Floats) -> Cells:
        """Return cells by their ends; no fixed place may lie inside one."""
        (a_low, a_high), (b_low, b_high) = self.values(left), self.values(right)
        wide = (right - left) * (1 + SLACK)
        bends = self.bends(left, right, np.maximum(a_high, b_high))
        with np.errstate(over="ignore", invalid="ignore"):
            swing = np.exp(bends.log_slope * wide / 2)
            sway = bends.slope * wide / 2
            most = np.fmin(np.sqrt(a_high) * np.sqrt(b_high) * swing, (a_high + b_high) / 2 + sway)
            most = np.minimum(most, np.maximum(a_high, b_high) + wide**2 / 8 * np.maximum(-bends.least_bend, 0))
            most = np.minimum(np.maximum(most, np.maximum(a_high, b_high)) * (1 + SLACK), 1.0)
            least = np.maximum(np.sqrt(a_low) * np.sqrt(b_low) / swing, (a_low + b_low) / 2 - sway)
            least = np.maximum(least, np.minimum(a_low, b_low) - wide**2 / 8 * np.maximum(bends.most_bend, 0))
            least = np.maximum(np.minimum(least, np.minimum(a_low, b_low)) * (1 - SLACK), 0.0)
            curve = wide**2 / 12
            inside_least = np.maximum((a_low + b_low) / 2 - curve * bends.most_bend, least) * (1 - SLACK)
            inside_most = np.minimum((a_high + b_high) / 2 - curve * bends.least_bend, most) * (1 + SLACK)
        near, far = self._nearest(left, right)
        beyond = self.beyond(left, right)
        # There M falls with the distance.
        least = np.where(beyond, np.minimum(a_low, b_low), least)
        most = np.where(beyond, np.maximum(a_high, b_high), most)
        inside_least, inside_most = np.clip(inside_least, least, most), np.clip(inside_most, least, most)
        width = (right - left) * np.where(beyond, self.noise.repeated, 1.0)
        return Cells(left, right, width, least, most, inside_least, inside_most, near, far)

    def bends(self, left: Floats, right: Floats, ends: Floats) -> Bends:
        """Return what the noise says of them, or what the density says where it is the smoother of the two.

        By parts, M' = ∫ π'k and M'' = ∫ π''k next to the jumps of π and π' at the edges, which count with k and k' at
        their distances. Far from an outcome π'' counts with what is left of the noise there.
        """
        found, noise = self.noise.bends(self.density, left, right, ends), self.noise
        if not noise.smooth:
            return found
        edges = np.array(self.density.edges)
        away = np.maximum(np.maximum(edges - right[:, None], left[:, None] - edges), 0.0) * (1 - SLACK)
        (jump, bend), (_, slopes, curves) = self.density.jumps, self.far
        window = noise.reach(_NEAR)
        whole, rest = 1 / noise.peak, _NEAR / noise.peak
        _, slope, curve = self.density.largest(left - window, right + window)
        k = noise.shape(away)
        most_slope = (k @ jump + slope * whole + slopes * rest) * (1 + SLACK)
        most_bend = (noise.steepest(away) @ jump + k @ bend + curve * whole + curves * rest) * (1 + SLACK)
        return Bends(
            found.log_slope,
            np.minimum(found.slope, most_slope),
            np.maximum(found.least_bend, -most_bend),
            np.minimum(found.most_bend, most_bend),
        )

    @cached_property
    def far(self) -> tuple[float, float, float]:
        """Upper bounds on the density, its slope and its bend, inside the pieces."""
        ends = np.array(self.density.edges)
        peak, slope, bend = self.density.largest(ends[:-1], ends[1:])
        return float(peak.max()), float(slope.max()), float(bend.max())

    def beyond(self, left: Floats, right: Floats) -> Bools:
        """Return which cells lie beyond the ends of the density."""
        outside: Bools = (right <= self.density.low) | (left >= self.density.high)
        return outside

    def _nearest(self, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        # No edge and no middle of a gap is inside a cell: the distance is monotone on it.
        ends = np.stack([self.density.distance(left), self.density.distance(right)])
        closest, farthest = ends.min(axis=0), ends.max(axis=0)
        return self.noise.shape_between(closest, farthest)

    def tails(self) -> Cells:
        """Return the two cells beyond the ends, for noise under which all outcomes there say the same."""
        ends: Floats = np.array([self.density.low, self.density.high])
        low, high = self.values(ends)
        one, width = np.ones(2), np.full(2, self.noise.scale)
        return Cells(ends, ends, width, low, high, low, high, one, one)

    def everything(self, count: int, chance: float) -> tuple[Cells, float]:
        """Return cells for all outcomes but the most improbable ones, and how far beyond the ends they reach."""
        a, b = self.density.low, self.density.high
        if self.noise.memoryless:
            return self.cells(self.nodes(a, b, count)) + self.tails(), math.inf
        if self.noise.repeated > 1:
            # One width beyond each end stands for all of them.
            return self.cells(self.nodes(a - self.noise.scale, b + self.noise.scale, count)), math.inf
        reach = self.noise.reach(chance)
        return self.cells(self.nodes(a - reach, b + reach, count)), reach
