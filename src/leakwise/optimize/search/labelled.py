"""Labelled utilities: one sparse linear program over what every output says, exact at any size.

When the value of an outcome is linear in its column, columns that say the same may be added up: one column v_w per
output w is enough, and the cones are bands a·s ≤ v ≤ b·s around a scale s. The dual of Σ_w v_w = 1 is priced by the
cone itself, so that the bound does not rest on the solver's tolerances.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from leakwise.errors import NotConverged
from leakwise.lp import LinearProgram
from leakwise.optimize.problem.cones import Band, Cone
from leakwise.optimize.problem.labelled_utilities import LinearUtility
from leakwise.optimize.search.generate import Priced, generate
from leakwise.optimize.search.limits import Answer, Found, Limits
from leakwise.optimize.search.master import Master, MasterSolution
from leakwise.types import Floats, Indices

__all__ = ["SCALE", "Sheet", "search_labelled"]


# The solver's tolerances are absolute: utilities multiplied by this come out that much sharper.
SCALE = 1e4


def search_labelled(cone: Cone, utility: LinearUtility, limits: Limits) -> Answer:
    """Return max Σ_w Σ_i π_i g_iw v_iw over columns v_w of the cone with Σ_w v_w = 1."""
    values = utility.weighted(cone.prior)
    bands = cone.bands()
    if bands is None:
        return Answer(_columns(cone, values, limits), "columns, one linear program for each guess")
    return Answer(_banded(cone, bands, values, limits), "one linear program over what the outputs say")


def _columns(cone: Cone, values: Floats, limits: Limits) -> Found:
    """Column generation: each guess is priced by one linear program over the cone, so the optimum is exact."""
    size = len(values)
    labels = [np.array([int(values.sum(axis=0).argmax())]), np.arange(values.shape[1])]
    columns = np.concatenate([np.ones((size, 1)), cone.linear_max(values)[1]], axis=1)
    master = Master(np.sum(values[:, np.concatenate(labels)] * columns, axis=0), columns)
    close = max(limits.tolerance, 1e-10)

    def price(solution: MasterSolution) -> Priced:
        costs, vertices = cone.linear_max(values - solution.duals[:, None])
        chosen = np.flatnonzero(costs > close)
        labels.append(chosen)
        worth = np.sum(values[:, chosen] * vertices[:, chosen], axis=0)
        return Priced(worth, vertices[:, chosen], float(costs.max()))

    done = generate(master, price, limits, enough=lambda bound: close)
    used, proof = done.solution.weights > 0, done.proof
    said = np.concatenate(labels)[: len(used)][used]
    # The solver's own tolerances come on top of its optimum.
    slack = 1e-9 * (1 + float(np.abs(values).sum(axis=0).max() + np.abs(proof.duals).sum()))
    lifts, weights = master.columns[:, used], done.solution.weights[used]
    return Found(lifts, weights, proof.duals, proof.largest + slack, "linear", said, done.stopped)


def _banded(cone: Cone, bands: list[Band], values: Floats, limits: Limits) -> Found:
    found = _solve(cone, bands, values, limits)
    if found is None:
        return _constant(cone, values)
    costs, _ = cone.linear_max(values - found.duals[:, None])
    size = float(np.abs(values).sum(axis=0).max() + np.abs(found.duals).sum())
    largest = float(costs.max()) + size * (len(values) + 16) * 2.0**-51
    assert found.labels is not None  # every column of a labelled search says something
    said = found.labels
    worth = np.einsum("ij,ij,j->", values[:, said], found.lifts, found.weights)
    limits.tell("linear program", float(worth), float(found.duals.sum()) + largest)

    def inner() -> tuple[Floats, Floats] | None:
        """Return the answer for a slightly smaller cone, if it uses the same outputs."""
        smaller = None if limits.exhausted else cone.slightly_smaller()
        narrower = None if smaller is None else smaller.bands()
        again = None if smaller is None or narrower is None else _solve(smaller, narrower, values, limits)
        if again is None or again.labels is None or not np.array_equal(again.labels, said):
            return None
        return again.lifts, again.weights

    return replace(found, largest=largest, inner=inner)


def _solve(cone: Cone, bands: list[Band], values: Floats, limits: Limits) -> Found | None:
    """The program and its answer as columns; None when the time is up."""
    letters, labels = values.shape
    program = _program(values, cone.prior.probabilities, bands)
    solution = program.solve(limits.remaining)
    if solution.status == "time_limit":
        return None
    if not solution.optimal:
        raise NotConverged("The linear program of a labelled design was not solved.", lower=-np.inf, upper=np.inf)
    count = letters * labels
    edge = max(band.low for band in bands) * solution.x[count : count + labels]
    columns = solution.x[:count].reshape(letters, labels) + edge
    # Rows are ones within the solver's tolerance, which rounding to integers would take from all columns.
    columns = np.maximum(columns, 0.0)
    columns /= columns.sum(axis=1, keepdims=True)
    mass = cone.prior.probabilities @ columns
    used = np.flatnonzero(mass > 1e-13)
    # An output too rare to be kept still matters to letters that are as rare: it goes to the likeliest one, which stays
    # in the cone by adding up.
    rare = mass <= 1e-13
    columns[:, int(mass.argmax())] += columns[:, rare].sum(axis=1)
    mass = cone.prior.probabilities @ columns
    return Found(columns[:, used] / mass[used], mass[used], solution.duals[:letters] / SCALE, np.inf, "linear", used)


def _constant(cone: Cone, values: Floats) -> Found:
    """When there is no time at all: the best constant answer, with the bound of its own duals."""
    best = int(values.sum(axis=0).argmax())
    duals = values[:, best]
    costs, _ = cone.linear_max(values - duals[:, None])
    ones = np.ones((len(values), 1))
    return Found(ones, np.ones(1), duals, float(costs.max()) + 1e-12, "linear", np.array([best]), stopped=True)


def _program(values: Floats, p: Floats, bands: list[Band]) -> LinearProgram:
    """Variables: what v_iw has above low·s_w of the first band, letter by letter, then a scale per band and output.

    Counting from the lower edge of the first band makes that edge a bound of a variable: a row less per variable.
    """
    letters, labels = values.shape
    count = letters * labels
    cells, output = np.arange(count), np.tile(np.arange(labels), letters)
    each = np.arange(labels)
    bands = sorted(bands, key=lambda band: -band.low)
    base = bands[0].low
    sheet = Sheet()
    first = count + output
    sheet.add(
        [(np.repeat(np.arange(letters), labels), cells, 1.0), (np.repeat(np.arange(letters), labels), first, base)],
        np.ones(letters),
        np.ones(letters),
    )
    none, zero = np.full(count, -np.inf), np.zeros(count)
    for number, band in enumerate(bands):
        scale = count + number * labels
        if number == 0:
            sheet.add([(cells, cells, 1.0), (cells, first, base - band.high)], none, zero)
        else:
            above = [(cells, cells, 1.0), (cells, first, base), (cells, scale + output, -band.high)]
            sheet.add(above, none, zero)
            if band.low:
                below = [(cells, cells, -1.0), (cells, first, -base), (cells, scale + output, band.low)]
                sheet.add(below, none, zero)
        if band.tied:
            ties: list[Any] = [
                (output, cells, np.repeat(p, labels)),
                (each, scale + each, -1.0),
                (each, first[:labels], base),
            ]
            sheet.add(ties, np.zeros(labels), np.zeros(labels))
    costs = np.zeros(count + len(bands) * labels)
    costs[:count] = SCALE * values.ravel()
    costs[count : count + labels] = SCALE * base * values.sum(axis=0)
    return sheet.program(costs)


class Sheet:
    """Rows of a sparse program, added block by block."""

    def __init__(self) -> None:
        self._rows: list[Indices] = []
        self._columns: list[Indices] = []
        self._entries: list[Floats] = []
        self._lower: list[Floats] = []
        self._upper: list[Floats] = []
        self._height = 0

    def add(self, parts: list[Any], lower: Floats, upper: Floats) -> None:
        """A block of rows, from triples of row within the block, column and entry."""
        for row, column, entry in parts:
            self._rows.append(self._height + row)
            self._columns.append(column)
            self._entries.append(np.broadcast_to(np.asarray(entry, dtype=np.float64), row.shape))
        self._lower.append(lower)
        self._upper.append(upper)
        self._height += len(lower)

    def program(self, costs: Floats, least: Any = 0.0, most: Any = np.inf) -> LinearProgram:
        """Return the program that maximises the costs, its variables within bounds."""
        data, row, starts = self._compressed(len(costs))
        lower, upper = np.concatenate(self._lower), np.concatenate(self._upper)
        return LinearProgram(costs, (data, row, starts), lower, upper, least, most, maximize=True)

    def bound(self, costs: Floats, duals: Floats, least: Floats, most: Floats) -> float:
        """Return what no point of the program exceeds by weak duality, whatever the duals, rounded up.

        c·x = (c - Aᵀy)·x + y·Ax, each term at the bound where it is largest.
        """
        data, row, starts = self._compressed(len(costs))
        lower, upper = np.concatenate(self._lower), np.concatenate(self._upper)
        y = np.where(np.isfinite(upper), np.where(np.isfinite(lower), duals, np.maximum(duals, 0.0)), 0.0)
        parts = data * y[row]
        which = np.repeat(np.arange(len(costs)), np.diff(starts))
        rest = costs - np.bincount(which, weights=parts, minlength=len(costs))
        sizes = np.abs(costs) + np.bincount(which, weights=np.abs(parts), minlength=len(costs))
        ends = y * np.where(np.isfinite(upper), upper, 0.0)
        total = float(ends.sum()) + float(np.maximum(rest * least, rest * most).sum())
        size = float(np.abs(ends).sum()) + float((sizes * np.maximum(np.abs(least), np.abs(most))).sum())
        return total + size * (math.sqrt(len(costs)) + len(y) + 16) * 2.0**-52

    def _compressed(self, width: int) -> tuple[Floats, Indices, Indices]:
        row, column, entry = (np.concatenate(parts) for parts in (self._rows, self._columns, self._entries))
        place = column * self._height + row
        distinct, inverse = np.unique(place, return_inverse=True)  # a scale may meet a row twice: add them up
        data: Floats = np.bincount(inverse, weights=entry).astype(np.float64)
        column, row = np.divmod(distinct, self._height)
        return data, row, np.concatenate([[0], np.cumsum(np.bincount(column, minlength=width))])
