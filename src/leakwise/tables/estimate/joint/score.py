r"""Score intervals of shares and means: what is hypothesised decides the variance, so that none shrinks to a point.

A row adds :math:`g_h - r g_w` to the estimate of :math:`\sum_x p_x (h_x - r w_x)`, which is zero if r is the ratio. The
interval contains every r at which that sum is within its quantile times its standard deviation, *computed for a table
whose ratio is r*: the estimated one, tilted within the cells that w selects. For shares without noise it is Wilson's
interval, for a denominator that is itself noisy that of Fieller. Survey designs and mechanisms by strata multiply the
variance by a design effect, taken from the rows themselves where these are many.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np

from leakwise.tables.estimate.intervals import score_interval
from leakwise.tables.estimate.joint.axes import along
from leakwise.tables.estimate.joint.evidence import Evidence
from leakwise.tables.estimate.numbers import critical_value
from leakwise.types import Bools, Floats, Indices

__all__ = ["cell_intervals", "ratio"]

_SECTIONS = 4
_STEPS = 257
_NEAREST = 1e-12  # how near to the estimate the search for an end starts, as a share of the way to the last tilt
_REFINED = 4
_TRACE = 1e-6


def _design_effect(evidence: Evidence, empirical: Floats, model: Floats, one_row: Floats, reach: float) -> Floats:
    """Return by how much the variance of the rows exceeds that of independent, equally weighted ones.

    Where few rows say so it leans on the effect of the weights alone, n Σw² / (Σw)², with the force of ``reach`` ²
    rows. ``empirical`` and ``model`` are mean squares per row, ``one_row`` that of the rows in question.
    """
    entries = evidence.entries
    weights = evidence.rows * float(entries.square.sum()) / evidence.total_weight**2
    lean = reach**2 * one_row / evidence.rows
    return np.asarray((empirical + weights * lean) / (model + lean))


def _blocks(evidence: Evidence, frequencies: Floats) -> list[tuple[float, tuple[int, ...], Floats]]:
    """The share of the rows in every block, the block, and the table of its rows: of the values that it can have."""
    # Next to nothing is added everywhere: a hypothesis may put rows where none were seen.
    p = frequencies + _TRACE / (evidence.rows * frequencies.size)
    rows = np.bincount(evidence.entries.block, weights=evidence.entries.weight, minlength=len(evidence.blocks))
    found = []
    for share, block in zip(rows / evidence.total_weight, evidence.blocks, strict=True):
        if share > 0:
            masks = [lenses[at].support for lenses, at in zip(evidence.lenses, block, strict=True)]
            table = p * reduce(np.multiply.outer, [mask.astype(np.float64) for mask in masks])
            found.append((float(share), block, table / table.sum()))
    return found


def cell_intervals(
    evidence: Evidence, linear: Floats, frequencies: Floats, error: Floats, confidence: float, claims: int
) -> tuple[Floats, Floats]:
    """Return low and high of every cell: score intervals, with failure probability shared by ``claims`` of them.

    ``linear`` is the unbiased estimate, ``error`` its standard error, ``frequencies`` a distribution near it.
    """
    if linear.size == 1:
        return np.ones(linear.shape), np.ones(linear.shape)
    own, others = _moments(evidence, frequencies)
    delta, rows = (1 - confidence) / claims, np.full(linear.shape, float(evidence.rows))
    if evidence.design is not None or len(evidence.blocks) > 1:
        reach = critical_value(confidence, evidence.design.degrees if evidence.design else None, claims)
        centre = np.clip(linear, 0.0, 1.0)
        model = np.maximum(centre * own + (1 - centre) * others - centre**2, 0.0)
        effect = _design_effect(evidence, np.nan_to_num(error) ** 2 * evidence.rows, model, own, reach)
        # Student's quantile, as so many fewer rows.
        rows = rows / effect * (critical_value(confidence, None, claims) / reach) ** 2
    return score_interval(linear, own, others, rows, delta)


def _moments(evidence: Evidence, frequencies: Floats) -> tuple[Floats, Floats]:
    """Return for every cell the mean square of what a row of it adds to its estimate, and of what another row adds."""
    shape = frequencies.shape
    own, mass, total = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for share, block, table in _blocks(evidence, frequencies):
        squares = [law @ b**2 for law, b in zip(evidence.laws(block), evidence.undo(block), strict=True)]
        total += share * along(table, squares)
        own += share * table * reduce(np.multiply.outer, [np.diagonal(one) for one in squares])
        mass += share * table
    others = np.maximum(total - own, 0.0) / np.maximum(1.0 - mass, 1e-300)
    return own / np.maximum(mass, 1e-300), others


@dataclass(frozen=True)
class _Block:
    """Rows of one block: their share, the mass of every level, and mean squares by level and outside of them."""

    share: float
    mass: Floats
    squares: Floats  # 3 × levels: of h, of h and w, of w
    outside: Floats  # the same of all cells that are not chosen

    def tilted(self, tilt: Floats, levels: Floats) -> Floats:
        """Return the mass of every level (the last axis) in tables that are tilted towards high or low ones."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.mass) + tilt[:, None] * levels
        bent = np.exp(logs - logs.max(axis=1, keepdims=True))
        return np.asarray(bent * (self.mass.sum() / bent.sum(axis=1, keepdims=True)))


@dataclass(frozen=True)
class _Hypotheses:
    """Tables with a given ratio, and the variance of what their rows add. Levels go from 0 to 1."""

    blocks: list[_Block]
    levels: Floats

    @property
    def steepest(self) -> float:
        """How far tables are tilted: until one level has all rows."""
        return 700.0 / float(np.diff(self.levels).min())

    def tilt(self, r: float) -> float:
        """Return by how much the table is tilted where its ratio is r."""
        low, high = -self.steepest, self.steepest
        for _ in range(_SECTIONS):
            tried = np.linspace(low, high, _STEPS)
            place = int(np.searchsorted(self.at(tried)[0], r))
            low, high = tried[max(place - 1, 0)], tried[min(place, _STEPS - 1)]
        return float(low + high) / 2

    def at(self, tilt: Floats) -> tuple[Floats, Floats]:
        """Return the ratio of tilted tables, and the mean square of what a row of them adds."""
        bent = [one.tilted(tilt, self.levels) for one in self.blocks]
        whole = sum(one.share * float(one.mass.sum()) for one in self.blocks)
        r = sum(one.share * (of @ self.levels) for one, of in zip(self.blocks, bent, strict=True)) / whole
        return np.asarray(r), self._squares(np.asarray(r), bent)

    def _squares(self, r: Floats, bent: list[Floats]) -> Floats:
        powers = np.stack((np.ones(r.size), -2 * r, r * r), axis=1)
        found = np.zeros(r.size)
        for one, of in zip(self.blocks, bent, strict=True):
            inside = (of * np.maximum(powers @ one.squares, 0.0)).sum(axis=1)
            found += one.share * (inside + np.maximum(powers @ one.outside, 0.0))
        return found

    def one_row(self, r: float) -> float:
        """Return the largest mean square of what a row of one level adds."""
        powers = np.array([1.0, -2 * r, r * r])
        return max(float((powers @ one.squares)[one.mass > 0].max(initial=0.0)) for one in self.blocks)


def _hypotheses(evidence: Evidence, frequencies: Floats, values: Floats, inside: Bools) -> _Hypotheses:
    chosen = inside.astype(np.float64)
    levels, found = np.unique(values[inside], return_inverse=True)
    place: Indices = found.reshape(-1)

    def by_level(table: Floats) -> Floats:
        return np.bincount(place, weights=table[inside], minlength=levels.size).astype(np.float64)

    blocks = []
    for share, block, table in _blocks(evidence, frequencies):
        h, w = along(np.stack((values * chosen, chosen)), [b.T for b in evidence.undo(block)])
        squares = table * along(np.stack((h * h, h * w, w * w)), [law.T for law in evidence.laws(block)])
        mass = by_level(table)
        mean = np.stack([by_level(one) for one in squares]) / np.where(mass > 0, mass, 1.0)
        # One row more among the chosen ones: few rows seldom show the values that are far from the mean.
        total, spread = mass.sum(), by_level((table > 0).astype(np.float64))
        if total > 0:
            rows = evidence.rows * share * total
            mass = total * (rows * mass / total + spread / spread.sum()) / (rows + 1)
        blocks.append(_Block(share, mass, mean, squares[:, ~inside].sum(axis=1)))
    return _Hypotheses(blocks, levels)


def _interval(
    evidence: Evidence, frequencies: Floats, values: Floats, chosen: Floats, centre: float, reach: float
) -> tuple[float, float]:
    """Return the interval of the mean of ``values`` over the cells where ``chosen`` is 1 (it is 0 elsewhere).

    Parameters
    ----------
    values, chosen
        One number for every cell.
    centre
        The unbiased estimate. It is brought within the values first, which can only widen the interval.
    reach
        The quantile of the normal distribution, or of Student's.
    """
    inside = chosen > 0
    least, most = float(values[inside].min()), float(values[inside].max())
    below = float(evidence.estimates(chosen[None])[0])
    if least == most or not below > 0:
        return least, most
    scaled = np.where(inside, (values - least) / (most - least), 0.0)
    middle = min(max((centre - least) / (most - least), 0.0), 1.0)
    hypotheses = _hypotheses(evidence, frequencies, scaled, inside)
    start, effect = hypotheses.tilt(middle), 1.0
    if evidence.design is not None or len(evidence.blocks) > 1:
        seen = float(evidence.covariance((scaled - middle * chosen)[None])[0, 0]) * evidence.rows
        model, own = float(hypotheses.at(np.array([start]))[1][0]), hypotheses.one_row(middle)
        effect = float(_design_effect(evidence, np.array(seen), np.array(model), np.array(own), reach))

    def accepted(tilt: Floats) -> Bools:
        r, squares = hypotheses.at(tilt)
        return np.asarray((below * (r - middle)) ** 2 <= reach**2 * effect / evidence.rows * squares)

    ends = []
    for edge in (-hypotheses.steepest, hypotheses.steepest):
        way = np.concatenate(([0.0], np.geomspace(_NEAREST, 1.0, _STEPS)))  # shares of the way to the edge
        far = 1.0
        for _ in range(_REFINED):
            last = int(np.flatnonzero(np.append(True, accepted(start + way[1:] * (edge - start))))[-1])
            far = way[min(last + 1, way.size - 1)]
            way = np.linspace(way[last], far, _STEPS)
        if last == way.size - 1 and far == 1.0:
            ends.append(least if edge < 0 else most)
        else:
            r = float(hypotheses.at(np.array([start + far * (edge - start)]))[0][0])
            ends.append(least + (most - least) * r)
    return ends[0], ends[1]


def ratio(
    evidence: Evidence, frequencies: Floats, part: Floats, whole: Floats, reach: float
) -> tuple[float, float, tuple[float, float]]:
    """Return the ratio of two sums over the table, its standard error (linearized), and its interval.

    ``whole`` is 1 for some cells and 0 for others, where ``part`` is 0 too. The error is NaN and the interval contains
    every value where the outcomes do not determine the ratio.
    """
    below = float((whole * frequencies).sum())
    value = float((part * frequencies).sum()) / below if below > 0 else float("nan")
    bottom, top = evidence.estimates(np.stack((whole, part)))
    widest = float(part[whole > 0].min()), float(part[whole > 0].max())
    if not bottom > 0:
        return value, float("nan"), widest
    centre = top / bottom
    error = float(np.sqrt(evidence.covariance((part - centre * whole)[None] / bottom)[0, 0]))
    if not np.isfinite(error):
        return value, error, widest
    low, high = _interval(evidence, frequencies, part, whole, centre, reach)
    return value, error, (min(low, value), max(high, value))
