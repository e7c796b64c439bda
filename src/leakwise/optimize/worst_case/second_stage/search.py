"""The second stage: among the mechanisms on a mask within a leakage, the one of greatest second utility.

Column generation with a cone per output. A labelled utility is priced by one continuous knapsack per output; for any
other convex one all vertices are listed where they are few, else columns are found by climbing and the chord bounds
what was missed.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from leakwise.errors import NotConverged
from leakwise.optimize.pricing.vertex_list import box_vertices
from leakwise.optimize.problem.labelled_utilities import LinearUtility
from leakwise.optimize.problem.utility import Utility
from leakwise.optimize.search.generate import Priced, generate
from leakwise.optimize.search.limits import Answer, Found, Limits
from leakwise.optimize.search.master import Master, MasterSolution
from leakwise.optimize.worst_case.least_ratio.columns import MaskColumns
from leakwise.optimize.worst_case.least_ratio.packing import Packing
from leakwise.priors import Prior
from leakwise.types import Floats, Indices

__all__ = ["second_stage"]


_DUST = 1e-13
_CRUMB = 1e-9
_MOST_VERTICES = 150_000
_LISTED_LETTERS = 14


def second_stage(
    columns: MaskColumns, prior: Prior, utility: Utility, ratio: float, outer: float, limits: Limits
) -> Answer | None:
    """The optimum at ``ratio``, bounded for all mechanisms at ``outer`` ≥ ratio; None when nothing is feasible.

    The columns with weight come first; those without are what else the search has found.
    """
    if not columns.usable(ratio).any():
        return None
    pricing = (_Labelled if utility.labelled else _Convex)(columns, prior, utility, ratio, outer)
    pool = Packing(columns)
    covered = pool.cover(ratio)
    if not covered.whole:
        return None
    chosen = np.flatnonzero(covered.weights > 1e-14)
    shapes, outputs = pool.dense(chosen, ratio), pool.outputs[chosen]
    lifts = shapes / (columns.p @ shapes)
    utilities = utility.worth_said(lifts, outputs, prior)
    size = columns.size
    # Artificial columns keep the master feasible however tight the ratio is; they cost more than any dual should.
    penalty = -1e3 * (1.0 + float(np.abs(utilities).max()))
    master = _Sturdy(np.concatenate([np.full(size, penalty), utilities]), np.concatenate([np.eye(size), lifts], axis=1))
    says = [np.full(size, -1), outputs]

    def price(solution: MasterSolution) -> Priced:
        found, outputs, largest = pricing.price(solution.duals)
        values = utility.worth_said(found, outputs, prior)
        gain = values - solution.duals @ found
        better = np.flatnonzero(gain > max(limits.tolerance, 1e-11))
        better = better[np.argsort(-gain[better])[: 4 * size]]
        says.append(outputs[better])
        return Priced(values[better], found[:, better], largest)

    done = generate(master, price, limits, stage="second utility")
    solution, said = done.solution, np.concatenate(says)
    if (solution.weights[:size] > 1e-9).any():
        return None
    real = np.arange(size, len(solution.weights))
    order = real[np.argsort(solution.weights[real] <= _DUST, kind="stable")]
    weights = np.where(solution.weights[order] > _DUST, solution.weights[order], 0.0)
    bound = done.proof.bound + (1.0 + float(np.abs(solution.duals).sum())) * (size + 16) * 2.0**-50
    found = Found(
        master.columns[:, order], weights, solution.duals, np.inf, "columns", said[order], done.stopped, proven=bound
    )
    return Answer(found, pricing.how)


class _Sturdy(Master):
    """A master that goes on without the smallest numbers where they differ too much in size."""

    def solve(self, seconds: float | None = None) -> MasterSolution:
        try:
            return super().solve(seconds)
        except NotConverged:
            kept = np.where(self.columns > _CRUMB * self.columns.max(), self.columns, 0.0)
            super().__init__(self.utilities, kept)
            return super().solve(seconds)


class _Pricing:
    """Knapsacks for every output at once, at the ratio asked for and at one that is safely above it."""

    how = "columns, priced by a knapsack per output"

    def __init__(self, columns: MaskColumns, prior: Prior, utility: Utility, ratio: float, outer: float) -> None:
        self.columns, self.prior, self.utility, self.ratio, self.outer = columns, prior, utility, ratio, outer
        self._prepare()

    def _prepare(self) -> None:
        """Make what every price rests on."""

    def best(self, gains: Floats) -> Floats:
        """Return for each output the lift vector of the largest gain (N × M)."""
        greedy = self.columns.greedy(self.columns.per_pair(gains), self.ratio)
        lifts = np.zeros((self.columns.size + 1, self.columns.count))
        lifts[greedy.letters, np.arange(self.columns.count)[:, None]] = greedy.lifts
        return lifts[:-1]

    def largest(self, gains: Floats) -> float:
        """Return the largest gain of any lift vector at the outer ratio."""
        values = self.columns.greedy(self.columns.per_pair(gains), self.outer).values
        return float(values[self.columns.usable(self.outer)].max())


class _Labelled(_Pricing):
    """The best of one or several matrices: each column carries the one it was found for."""

    def _prepare(self) -> None:
        self.gains = cast(LinearUtility, self.utility).per_output(self.prior, self.columns.count)

    def price(self, y: Floats) -> tuple[Floats, Indices, float]:
        """Return columns that may pay, what they say, and a bound on the reduced cost of all."""
        costs = [matrix - y[:, None] for matrix in self.gains]
        usable = np.flatnonzero(self.columns.usable(self.ratio))
        found = np.concatenate([self.best(cost)[:, usable] for cost in costs], axis=1)
        return found, np.tile(usable, len(costs)), max(self.largest(cost) for cost in costs)


class _Convex(_Pricing):
    """Any other utility: vertices listed where they are few, else climbing and chords."""

    def _prepare(self) -> None:
        inside = self._listed(self.ratio)
        outside = None if inside is None else self._listed(self.outer)
        self.every = None if inside is None or outside is None else (*inside, *outside)
        self.how = (
            "columns, found by climbing, chord bound"
            if self.every is None
            else f"columns, {self.every[0].shape[1]:,} vertices listed"
        )
        self._generator = np.random.default_rng(self.columns.size)  # not for privacy: the search is the same every time

    def _listed(self, ratio: float) -> tuple[Floats, Indices, Floats] | None:
        parts, says, p = [np.empty((self.columns.size, 0))], [np.empty(0, dtype=np.intp)], self.prior.probabilities
        for output in _maximal(self.columns, ratio).tolist():
            letters = np.flatnonzero(self.columns.allowed[:, output])
            if len(letters) > _LISTED_LETTERS or sum(map(len, says)) > _MOST_VERTICES:
                return None
            vertices = box_vertices(p[letters], 0.0, ratio)
            block = np.zeros((len(p), vertices.shape[1]))
            block[letters] = vertices
            parts.append(block)
            says.append(np.full(vertices.shape[1], output))
        lifts = np.concatenate(parts, axis=1)
        return lifts, np.concatenate(says), self.utility.columns_worth(lifts, self.prior)

    def price(self, y: Floats) -> tuple[Floats, Indices, float]:
        """Return columns that may pay, what they say, and a bound on the reduced cost of all."""
        if self.every is not None:
            lifts, outputs, values, far, _, far_values = self.every
            best = np.argsort(y @ lifts - values)[: 8 * self.columns.size]
            return lifts[:, best], outputs[best], float((far_values - y @ far).max())
        p = self.prior.probabilities
        slopes, constant = self.utility.chord(np.zeros(len(p)), np.minimum(self.outer, 1 / p), self.prior)
        return *self._climb(y), constant + self.largest(slopes - y)

    def _climb(self, y: Floats) -> tuple[Floats, Indices]:
        size, count, p = self.columns.size, self.columns.count, self.prior.probabilities
        usable = _maximal(self.columns, self.ratio)
        found = []
        for start in range(6):
            wild = self._generator.standard_normal((size, count)) if start else np.ones((size, count))
            lifts = self.best(wild * p[:, None] - y[:, None])
            for _ in range(25):
                following = self.best(self.utility.slopes(lifts, self.prior) - y[:, None])
                if np.allclose(following, lifts, atol=1e-9):
                    break
                lifts = following
            found.append(lifts[:, usable])
        lifts, outputs = np.concatenate(found, axis=1), np.tile(usable, len(found))
        _, first = np.unique(np.concatenate([lifts.round(10), outputs[None, :]]), axis=1, return_index=True)
        return lifts[:, np.sort(first)], outputs[np.sort(first)]


def _maximal(columns: MaskColumns, ratio: float) -> Indices:
    """Outputs whose letters are not among those of another: for a utility that does not care what an output says."""
    kept: list[int] = []
    usable = columns.usable(ratio)
    sizes = columns.allowed.sum(axis=0)
    for output in np.argsort(-sizes, kind="stable").tolist():
        letters = columns.allowed[:, output]
        if usable[output] and not any((letters <= columns.allowed[:, other]).all() for other in kept):
            kept.append(output)
    return np.array(sorted(kept), dtype=np.intp)
