"""The second stage: among the mechanisms on a mask within a leakage, the one of greatest second utility.

Column generation with a cone per output. A linear utility is priced by one continuous knapsack per output; for an
f-information all vertices are listed where they are few, else columns are found by climbing and the chord bounds what
was missed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leakwise.errors import InvalidInput, NotConverged
from leakwise.optimize.problem.utilities import Expected, FInformation, LinearUtility, Utility
from leakwise.optimize.search.generate import Priced, generate
from leakwise.optimize.search.limits import Limits
from leakwise.optimize.search.master import Master, MasterSolution
from leakwise.optimize.worst_case.least_ratio.columns import MaskColumns
from leakwise.optimize.worst_case.least_ratio.packing import Packing
from leakwise.priors import Prior
from leakwise.types import Floats, Indices

__all__ = ["Second", "second_stage"]


_DUST = 1e-13
_CRUMB = 1e-9
_MOST_VERTICES = 150_000
_LISTED_LETTERS = 14


@dataclass(frozen=True)
class Second:
    """Columns with what each says and its weight, and what no mechanism can beat.

    The columns with weight come first; those without are what else the search has found.
    """

    lifts: Floats  # N × R
    weights: Floats
    outputs: Indices
    worth: Callable[[Floats, Indices], Floats]  # the utilities of lift vectors (N × n) with what they say
    bound: float
    how: str
    stopped: bool = False


@dataclass(frozen=True)
class _Priced:
    lifts: Floats  # N × n
    outputs: Indices
    values: Floats  # utilities
    largest: float  # of any reduced cost at the outer ratio


def second_stage(
    columns: MaskColumns, prior: Prior, utility: Utility, ratio: float, outer: float, limits: Limits
) -> Second | None:
    """The optimum at ``ratio``, bounded for all mechanisms at ``outer`` ≥ ratio; None when nothing is feasible."""
    if not columns.usable(ratio).any():
        return None
    pricing = _pricing(columns, prior, utility, ratio, outer)
    pool = Packing(columns)
    covered = pool.cover(ratio)
    if not covered.whole:
        return None
    chosen = np.flatnonzero(covered.weights > 1e-14)
    shapes, outputs = pool.dense(chosen, ratio), pool.outputs[chosen]
    lifts = shapes / (columns.p @ shapes)
    utilities = pricing.utilities(lifts, outputs)
    size = columns.size
    # Artificial columns keep the master feasible however tight the ratio is; they cost more than any dual should.
    penalty = -1e3 * (1.0 + float(np.abs(utilities).max()))
    master = _Sturdy(np.concatenate([np.full(size, penalty), utilities]), np.concatenate([np.eye(size), lifts], axis=1))
    says = [np.full(size, -1), outputs]

    def price(solution: MasterSolution) -> Priced:
        priced = pricing.price(solution.duals)
        gain = priced.values - solution.duals @ priced.lifts
        better = np.flatnonzero(gain > max(limits.tolerance, 1e-11))
        better = better[np.argsort(-gain[better])[: 4 * size]]
        says.append(priced.outputs[better])
        return Priced(priced.values[better], priced.lifts[:, better], priced.largest)

    done = generate(master, price, limits, stage="second utility")
    solution, said = done.solution, np.concatenate(says)
    if (solution.weights[:size] > 1e-9).any():
        return None
    real = np.arange(size, len(solution.weights))
    found = real[np.argsort(solution.weights[real] <= _DUST, kind="stable")]
    scale = 1.0 + float(np.abs(solution.duals).sum())
    return Second(
        master.columns[:, found],
        np.where(solution.weights[found] > _DUST, solution.weights[found], 0.0),
        said[found],
        pricing.utilities,
        done.proof.bound + scale * (size + 16) * 2.0**-50,
        pricing.how,
        done.stopped,
    )


class _Sturdy(Master):
    """A master that goes on without the smallest numbers where they differ too much in size."""

    def solve(self, seconds: float | None = None) -> MasterSolution:
        try:
            return super().solve(seconds)
        except NotConverged:
            kept = np.where(self.columns > _CRUMB * self.columns.max(), self.columns, 0.0)
            super().__init__(self.utilities, kept)
            return super().solve(seconds)


class _Linear:
    """The best of one or several matrices: each column carries the one it was found for."""

    def __init__(self, columns: MaskColumns, prior: Prior, gains: list[Floats], ratio: float, outer: float) -> None:
        self.columns, self.ratio, self.outer = columns, ratio, outer
        self.gains = [prior.probabilities[:, None] * matrix for matrix in gains]
        self.usable, self.usable_outer = columns.usable(ratio), columns.usable(outer)
        self.how = "columns, priced by a knapsack per output"

    def utilities(self, lifts: Floats, outputs: Indices) -> Floats:
        values = [np.einsum("ij,ij->j", matrix[:, outputs], lifts) for matrix in self.gains]
        best: Floats = np.max(values, axis=0)
        return best

    def price(self, y: Floats) -> _Priced:
        found, outputs, largest = [], [], -np.inf
        for matrix in self.gains:
            pairs = self.columns.per_pair(matrix - y[:, None])
            largest = max(largest, float(self.columns.greedy(pairs, self.outer).values[self.usable_outer].max()))
            greedy = self.columns.greedy(pairs, self.ratio)
            lifts = np.zeros((self.columns.size + 1, self.columns.count))
            lifts[greedy.letters, np.arange(self.columns.count)[:, None]] = greedy.lifts
            found.append(lifts[:-1][:, self.usable])
            outputs.append(np.flatnonzero(self.usable))
        lifts, says = np.concatenate(found, axis=1), np.concatenate(outputs)
        return _Priced(lifts, says, self.utilities(lifts, says), largest)


class _Information:
    """An f-information: vertices listed where they are few, else climbing and chords."""

    def __init__(self, columns: MaskColumns, prior: Prior, utility: FInformation, ratio: float, outer: float) -> None:
        self.columns, self.ratio, self.outer = columns, ratio, outer
        self.p, self.f = prior.probabilities, utility.f
        self.outputs = _maximal(columns, ratio)
        self._every = self._listed(ratio)
        self._every_outer = None if self._every is None else self._listed(outer)
        if self._every is not None and self._every_outer is not None:
            self.how = f"columns, {self._every[0].shape[1]:,} vertices listed"
        else:
            self.how = "columns, found by climbing, chord bound"
        self._generator = np.random.default_rng(columns.size)  # not for privacy: the search is the same every time

    def utilities(self, lifts: Floats, outputs: Indices) -> Floats:
        values: Floats = self.p @ self.f(lifts)
        return values

    def _listed(self, ratio: float) -> tuple[Floats, Indices, Floats] | None:
        usable = self.columns.usable(ratio)
        outputs = [j for j in _maximal(self.columns, ratio).tolist() if usable[j]]
        if any(int(self.columns.allowed[:, j].sum()) > _LISTED_LETTERS for j in outputs):
            return None
        parts, says, total = [], [], 0
        for output in outputs:
            vertices = _vertices(np.flatnonzero(self.columns.allowed[:, output]), self.p, ratio)
            total += vertices.shape[1]
            if total > _MOST_VERTICES:
                return None
            parts.append(vertices)
            says.append(np.full(vertices.shape[1], output))
        lifts = np.concatenate(parts, axis=1)
        return lifts, np.concatenate(says), self.p @ self.f(lifts)

    def price(self, y: Floats) -> _Priced:
        if self._every is not None and self._every_outer is not None:
            lifts, outputs, values = self._every
            far, _, far_values = self._every_outer
            largest = float((far_values - y @ far).max())
            cost = values - y @ lifts
            best = np.argsort(-cost)[: 8 * self.columns.size]
            return _Priced(lifts[:, best], outputs[best], values[best], largest)
        lifts, outputs = self._climb(y)
        return _Priced(lifts, outputs, self.utilities(lifts, outputs), self._chord(y))

    def _chord(self, y: Floats) -> float:
        most = np.minimum(self.outer, 1 / self.p)
        zero = float(self.f(np.zeros(1))[0])
        slope = (self.f(most) - zero) / most
        usable = self.columns.usable(self.outer)
        values = self.columns.greedy(self.columns.per_pair(self.p * slope - y), self.outer).values
        return zero + float(values[usable].max())

    def _climb(self, y: Floats) -> tuple[Floats, Indices]:
        columns, count = self.columns, self.columns.count
        usable = np.isin(np.arange(count), self.outputs)
        found, says = [], []
        for start in range(6):
            gains = self._generator.standard_normal((columns.size, count)) * self.p[:, None] - y[:, None]
            if start == 0:
                gains = np.tile((self.p - y)[:, None], (1, count))
            lifts = self._best(gains)
            for _ in range(25):
                step = 1e-6
                low = np.maximum(lifts - step, 0.0)
                slope = (self.f(lifts + step) - self.f(low)) / (lifts + step - low)
                following = self._best(self.p[:, None] * slope - y[:, None])
                if np.allclose(following, lifts, atol=1e-9):
                    break
                lifts = following
            found.append(lifts[:, usable])
            says.append(np.flatnonzero(usable))
        lifts, outputs = np.concatenate(found, axis=1), np.concatenate(says)
        _, first = np.unique(np.concatenate([lifts.round(10), outputs[None, :]]), axis=1, return_index=True)
        return lifts[:, np.sort(first)], outputs[np.sort(first)]

    def _best(self, gains: Floats) -> Floats:
        greedy = self.columns.greedy(self.columns.per_pair(gains), self.ratio)
        lifts = np.zeros((self.columns.size + 1, self.columns.count))
        lifts[greedy.letters, np.arange(self.columns.count)[:, None]] = greedy.lifts
        return lifts[:-1]


def _pricing(
    columns: MaskColumns, prior: Prior, utility: Utility, ratio: float, outer: float
) -> _Linear | _Information:
    if isinstance(utility, FInformation):
        return _Information(columns, prior, utility, ratio, outer)
    if isinstance(utility, LinearUtility):
        gains = utility.gains(prior)
        if isinstance(utility, Expected):
            if gains.shape[1] != columns.count:
                raise InvalidInput(
                    f"then= must have one column per output of the utility. Got {gains.shape[1]} for {columns.count}."
                )
            return _Linear(columns, prior, [gains], ratio, outer)
        every = [np.tile(gains[:, [guess]], (1, columns.count)) for guess in range(gains.shape[1])]
        return _Linear(columns, prior, every, ratio, outer)
    raise InvalidInput(
        f"then= must be an f-information, lw.Gain, lw.Expected or 'guessing'. Got {utility.name!r} instead."
    )


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


def _vertices(letters: Indices, p: Floats, ratio: float) -> Floats:
    """All lift vectors on the letters with entries 0 or ratio but for one in between (N × V)."""
    count = len(letters)
    mass = np.zeros(1)
    for letter in letters:
        mass = np.concatenate([mass, mass + p[letter]])
    sets = np.arange(1 << count)
    rest = 1.0 - ratio * mass
    columns = []
    for place, letter in enumerate(letters):
        fraction = rest / p[letter]
        fits = (sets >> place & 1 == 0) & (fraction >= -1e-13 * ratio) & (fraction <= ratio * (1 + 1e-13))
        chosen = np.flatnonzero(fits)
        block = np.zeros((len(p), len(chosen)))
        block[letters] = np.where((sets[chosen] >> np.arange(count)[:, None]) & 1, ratio, 0.0)
        block[letter] = np.clip(fraction[chosen], 0.0, ratio)
        columns.append(block)
    return np.concatenate(columns, axis=1)
