"""Frequencies kept: a transportation problem over what every outcome says, with linked margins.

Outcomes are the values and each comes as often as its value: the mass of column j is π_j, and so the limits on lifts
are bounds on the variables λ_ij = p_ij/π_j. Margins Σ_j π_j λ_ij = 1 and Σ_i π_i λ_ij = 1. A limit within a column
(LDP) adds a scale per column, a ceiling for several values a row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakwise.errors import Infeasible, NotConverged
from leakwise.optimize.problem.cone import Lifts
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.problem.kept_frequencies import Masks
from leakwise.optimize.search.labelled import SCALE, Sheet
from leakwise.optimize.search.limits import Limits
from leakwise.types import Floats, Indices

__all__ = ["Transport", "search_transport"]


@dataclass(frozen=True)
class Transport:
    """Lifts (N×N, column j says j), the duals of the rows, and what no such mechanism exceeds."""

    lifts: Floats
    duals: Floats
    bound: float


def search_transport(cone: Cone, gains: Floats, masks: Masks, margin: float, limits: Limits) -> Transport:
    """Return max Σ_ij π_i g_ij p_ij with πP = π, the columns inside the cone by a margin; the bound is for the cone."""
    known = cone.lifts()
    if known is None:
        return _anywhere(cone, gains, margin, limits)
    p = cone.prior.probabilities
    size = len(p)
    sheet, low, high = _program(p, known, masks, margin)
    costs = np.zeros(len(low))
    costs[: size * size] = (SCALE * gains * np.outer(p, p)).ravel()
    solution = sheet.program(costs, low, high).solve(limits.remaining)
    if solution.status == "infeasible":
        raise Infeasible(_NO_ROOM, witness=solution.infeasibility_ray)
    if not solution.optimal:
        raise NotConverged(_ENDED.format(solution.status), lower=-np.inf, upper=np.inf)
    whole, low, high = _program(p, known, masks, 0.0)
    bound = whole.bound(costs, solution.duals, low, high) / SCALE
    lifts = solution.x[: size * size].reshape(size, size)
    limits.tell("linear program", float((gains * np.outer(p, p) * lifts).sum()), bound)
    return Transport(lifts, solution.duals[:size] / SCALE, bound)


_ENDED = "the linear program of the frequencies kept ended as {!r}."
_ROUNDS = 60  # of rows added for sets that are known by their worst members
_CLOSE = 1e-9  # what linear programs over a cone are trusted with
_NO_ROOM = (
    "No mechanism keeps the frequencies within these limits: the forbidden pairs or the shares to be kept leave no "
    "room. Allow a larger lift, fewer pairs, or smaller shares."
)


def _cells(size: int) -> tuple[Indices, Indices, Indices]:
    """The places of the lifts among the variables, value by value, with the value and the outcome of each."""
    return np.arange(size * size), np.repeat(np.arange(size), size), np.tile(np.arange(size), size)


def _margins(p: Floats) -> Sheet:
    """Rows that sum to one, and outcomes that come as often as the values."""
    cells, letter, output = _cells(len(p))
    sheet = Sheet()
    sheet.add([(letter, cells, p[output])], np.ones(len(p)), np.ones(len(p)))
    sheet.add([(output, cells, p[letter])], np.ones(len(p)), np.ones(len(p)))
    return sheet


def _program(p: Floats, known: Lifts, masks: Masks, margin: float) -> tuple[Sheet, Floats, Floats]:
    """The rows, and the least and the largest value of each variable: lifts value by value, then scales."""
    size = len(p)
    count = size * size
    cells, letter, output = _cells(size)
    sheet = _margins(p)
    low = known.low[letter] * (1 + margin)
    high = np.minimum(known.high[letter] * (1 - margin), 1 / p[letter])
    scales: list[float] = []
    for row, most in known.sums:
        here = row[letter] > 0
        triple = (output[here], cells[here], row[letter][here])
        sheet.add([triple], np.full(size, -np.inf), np.full(size, most * (1 - margin)))
    for band in known.bands:
        least, most = band.low * (1 + margin if band.tied else 1.0), band.high * (1 - margin)
        if band.tied:
            low, high = np.maximum(low, least), np.minimum(high, most)
            continue
        scale = count + len(scales) + output
        scales += [float(band.high)] * size
        none, zero = np.full(count, -np.inf), np.zeros(count)
        sheet.add([(cells, cells, 1.0), (cells, scale, -most)], none, zero)
        sheet.add([(cells, cells, -1.0), (cells, scale, least)], none, zero)
    high = np.where(masks.zeros.ravel(), 0.0, high)
    own = np.arange(size) * (size + 1)
    low[own] = np.maximum(low[own], masks.own_lifts * (1 + margin))
    if (low > high).any():
        raise Infeasible(_NO_ROOM, witness=(low.reshape(size, size), high.reshape(size, size)))
    return sheet, np.concatenate([low, np.zeros(len(scales))]), np.concatenate([high, np.array(scales)])


def _anywhere(cone: Cone, gains: Floats, margin: float, limits: Limits) -> Transport:
    """The same for any cone, by its inequalities for each column; the margin is a share of an independent draw.

    The dual y of the rows leaves column j, of mass π_j, the largest reduced cost that the cone itself finds.
    """
    p, rows = cone.prior.probabilities, cone.inequalities()
    size = len(p)
    further = rows.shape[1] - size
    sheet = _margins(p)
    below, entry = np.nonzero(rows)
    none, zero = np.full(len(rows), -np.inf), np.zeros(len(rows))

    def places(column: int) -> Indices:
        """Where the variables of a column are: its lifts, then its own further ones."""
        return np.concatenate([np.arange(size) * size + column, size * size + column * further + np.arange(further)])

    for column in range(size):
        sheet.add([(below, places(column)[entry], rows[below, entry])], none, zero)
    values = p[:, None] * gains
    costs = np.zeros(size * (size + further))
    costs[: size * size] = (SCALE * values * p).ravel()
    program = sheet.program(costs)
    for _ in range(_ROUNDS):
        solution = program.solve(limits.remaining)
        if not solution.optimal:
            raise NotConverged(_ENDED.format(solution.status), lower=-np.inf, upper=np.inf)
        lifts = solution.x[: size * size].reshape(size, size)
        cuts = [(column, cone.cut(lifts[:, column])) for column in range(size)]
        if all(row is None for _, row in cuts):
            break
        for column, row in cuts:
            if row is not None:
                wide = np.zeros((len(row), len(costs)))
                wide[:, places(column)] = row
                program.add_rows(wide, -np.inf, 0.0)
    duals = solution.duals[:size] / SCALE
    largest, _ = cone.linear_max(values - duals[:, None])
    error = (float(np.abs(duals).sum()) + float(np.abs(values).sum())) * _CLOSE
    bound = float(duals.sum()) + float(p @ largest) + error
    limits.tell("linear program", float((values * p * lifts).sum()), bound)
    return Transport((1 - margin) * np.maximum(lifts, 0.0) + margin, duals, bound)
