"""The least ratio of any mechanism on a mask: from both sides, by parametric steps to an exact breakpoint or root.

The usable outputs change only at the breakpoints 1/π(A_j). Between lower and upper bound the breakpoints are bisected;
inside the last interval the basis of the cover is followed to the ratio where it covers everything, and its duals prove
that nothing smaller will do (the mathematics, section 3).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from leakwise.errors import NotConverged
from leakwise.lp import LinearProgram
from leakwise.optimize.worst_case.least_ratio.basis import AtRatio, at_ratio, basis_root
from leakwise.optimize.worst_case.least_ratio.columns import MaskColumns
from leakwise.optimize.worst_case.least_ratio.packing import Covered, Packing
from leakwise.types import Bools, Floats

__all__ = ["LeastRatio", "centred", "least_ratio", "safe_matrix", "safe_ratio"]


_STEPS = 200
_WHOLE = 2e-14  # what a sharpened cover may miss per letter and still be whole
_APART = 1e-8  # how far from a breakpoint a linear program is solved, if not at it
_HAIRS = (1e-13, 1e-12, 1e-11, 1e-10)
_CLOSE = 4e-14  # relative distance of the two sides at which floats have no more to say


@dataclass
class LeastRatio:
    """Both sides of the least ratio, with the probabilities that attain the upper and the duals that prove the lower.

    ``matrix`` is N×M in floats; ``y`` has a positive sum and no lift vector of a smaller ratio has y·λ > 0.
    """

    lower: float
    upper: float
    y: Floats
    matrix: Floats
    how: str
    packing: Packing | None = field(default=None, repr=False)


def safe_matrix(allowed: Bools) -> Floats:
    """Return [WC] Theorem 1: uniform on the allowed outputs of each row."""
    matrix: Floats = allowed / allowed.sum(axis=1, keepdims=True)
    return matrix


def safe_ratio(matrix: Floats, p: Floats) -> float:
    """Return the largest lift of a matrix."""
    law = p @ matrix
    used = law > 1e-14  # less is dust of the linear program, and left out of the mechanism
    return float((matrix[:, used].max(axis=0) / law[used]).max())


def centred(y: Floats) -> Floats:
    """Return the same duals with a sum that is barely positive, which is what proves most."""
    scale = float(np.abs(y).max())
    moved: Floats = y - float(y.mean())
    # Twice is once more than rounding needs: the mean of rounded numbers is off by a unit or so.
    return moved - float(moved.mean()) + 8 * 2.0**-53 * (scale + 1e-300)


def spread_letters(columns: MaskColumns, needed: Floats | None = None) -> Floats:
    """Return duals of the bound that holds for any prior: as many letters as possible of which no output serves two.

    max Σ x  s.t.  x(A_j) ≤ 1: since Σ_j max_i p_ij ≤ c, its value T is a lower bound on the ratio, and
    y = x - Tπ is the proof.
    """
    real = columns.letters < columns.size
    starts = np.concatenate([[0], np.cumsum(real.sum(axis=1))])
    rows = LinearProgram(
        np.ones(columns.size) if needed is None else needed,
        np.zeros((0, columns.size)),
        np.empty(0),
        np.empty(0),
        0.0,
        1.0,
        maximize=True,
    )
    rows.add_rows((np.ones(int(real.sum())), columns.letters[real], starts), -np.inf, 1.0)
    solution = rows.solve()
    return solution.x - float(solution.objective) * columns.p


def least_ratio(
    columns: MaskColumns,
    *,
    known: Floats | None = None,
    packing: Packing | None = None,
    target: float | None = None,
) -> LeastRatio:
    """Return the least ratio; ``known`` are duals of a wider mask, ``packing`` a pool of columns to start from.

    With a ``target`` it is enough to know on which side of it the least ratio is.
    """
    return _Search(columns, known, packing, target).run()


class _Search:
    def __init__(
        self, columns: MaskColumns, known: Floats | None, packing: Packing | None, target: float | None
    ) -> None:
        self.columns, self.target = columns, target
        self.packing = Packing(columns) if packing is None else packing
        self.lower, letter = columns.bottleneck(self.packing.needed)
        # The letter of the bottleneck against all others: outputs below the bottleneck do not serve it.
        self.y = np.full(columns.size, -1.0 / (2 * columns.size))
        self.y[letter] = 1.0
        if known is not None:
            self._prove(known)
        if not (columns.breakpoints == 1.0).any():
            self._prove(spread_letters(columns, self.packing.needed))
        self.matrix = safe_matrix(columns.allowed)
        self.upper = safe_ratio(self.matrix, columns.p)
        self.how = "the utility-safe mechanism, which meets a lower bound"
        self.points = np.unique(columns.breakpoints[np.isfinite(columns.breakpoints)])
        self._cover: tuple[Covered, AtRatio | None] | None = None

    def run(self) -> LeastRatio:
        full = np.flatnonzero(self.columns.breakpoints == 1.0)
        if len(full):
            self.matrix = np.zeros(self.columns.allowed.shape)
            self.matrix[:, full[0]] = 1.0
            self.lower = self.upper = 1.0
            self.how = "a constant answer"
            return self._result()
        with suppress(NotConverged):  # what is known by then has its proofs, and the gap says how good it is
            self._approach()
        return self._result()

    def _approach(self) -> None:
        """Bring both sides together: over the breakpoints, then from root to root."""
        self._bisect()
        tried = set[float]()
        at, strictly = (self.upper, True) if self.upper in self.points else (self.lower, False)
        for _ in range(_STEPS):
            if not strictly:
                apart = self._apart(at)
                at = at if apart in tried else apart
            if self._closed or (not strictly and at in tried):
                break
            if not strictly:
                tried.add(at)
            root = self._look(at, strictly)
            strictly = False
            if root is not None and self.lower < root < self.upper and root not in tried:
                at = root
            elif self.lower not in tried:
                at = self.lower
            else:
                at = float(np.sqrt(self.lower * self.upper))

    def _apart(self, at: float) -> float:
        """A little below, where a breakpoint is so close that lifts would be crumbs."""
        ahead = self.points[(self.points > at) & (self.points < at * (1 + _APART))]
        return max(float(ahead[0]) * (1 - _APART), 1.0) if len(ahead) else at

    @property
    def _closed(self) -> bool:
        if self.target is not None and (self.upper <= self.target or self.lower > self.target * (1 + _CLOSE)):
            return True
        return self.upper <= self.lower * (1 + _CLOSE)

    def _passed(self, at: float, y: Floats) -> bool:
        return self._prove(y) and self.lower > at

    def _bisect(self) -> None:
        """Until no breakpoint is left between the two sides; the first to be tried is the lower bound itself."""
        at = below = self.lower
        while not self._closed:
            covered = self.packing.cover(at, enough=partial(self._passed, at))
            if self._is_whole(covered):
                self._reached(at, covered, None)
            else:
                self._prove(covered.y)
                below = max(self.lower, at)
            inner = self.points[(self.points > below) & (self.points < self.upper)]
            if not len(inner):
                return
            at = float(inner[(len(inner) - 1) // 2])

    def _is_whole(self, covered: Covered) -> bool:
        """Whether a cover is whole: asked of its basis where the linear program cannot tell."""
        if not covered.whole:
            return False
        sharp = at_ratio(self.packing, covered, covered.ratio, duals=False)
        return sharp is None or sharp.least < -1e-12 or sharp.missing <= _WHOLE * self.packing.whole

    def _reached(self, at: float, covered: Covered, found: AtRatio | None) -> None:
        self.upper = at
        self._cover = (covered, found)
        self.how = "columns, at a breakpoint" if at in self.points else "columns, the root of a basis"

    def _look(self, at: float, strictly: bool) -> float | None:
        """Cover at a ratio: one side moves. Returns where the basis would cover everything."""
        covered = self.packing.cover(at, strictly=strictly)
        if self._is_whole(covered):
            if at <= self.upper:
                self._reached(at, covered, None)
            return None
        self._prove(covered.y)
        if strictly:
            return None  # with a bound at the breakpoint itself: the jump there is the answer
        found = basis_root(self.packing, covered, self.upper)
        if found is None:
            return None
        self._prove_below(covered, found)
        if found.least > -1e-12 and found.ratio < self.upper:
            self._reached(found.ratio, covered, found)
        return found.ratio

    def _prove_below(self, covered: Covered, found: AtRatio) -> None:
        """Raise the lower side by the duals of a basis at its root, and a hair below it.

        At the root Σ y = 0, which proves nothing where an output has y·λ = 0; a hair below it is positive.
        """
        self._prove(found.y)
        for hair in _HAIRS:
            if self.upper <= self.lower * (1 + hair / 2):
                return
            near = at_ratio(self.packing, covered, found.ratio * (1 - hair))
            if near is not None:
                self._prove(near.y)

    def _prove(self, y: Floats) -> bool:
        """Raise the lower side by duals, if they do."""
        candidate = centred(y)
        bound = self.columns.proven(candidate) if candidate.sum() > 0 else 0.0
        if bound <= self.lower:
            return False
        self.lower, self.y = bound, candidate
        return True

    def _result(self) -> LeastRatio:
        if self._cover is not None:
            self.matrix = self._sharpest(*self._cover)
        lower = min(self.lower, self.upper)
        return LeastRatio(lower, self.upper, self.y, self.matrix, self.how, self.packing)

    def _sharpest(self, covered: Covered, found: AtRatio | None) -> Floats:
        """The probabilities of the cover that was reached.

        Where its basis is nearly singular the weights are only as good as the tolerance of the linear program, and a
        cover at a ratio that is larger by a hair may come closer to what was reached.
        """
        best, least = self._mechanism(self.upper, covered, found)
        for hair in _HAIRS:
            if least <= self.upper * (1 + hair):
                break
            at = self.upper * (1 + hair)
            try:
                covers = (covered, self.packing.cover(at))
            except NotConverged:
                covers = (covered, covered)
            for again in covers:
                matrix, ratio = self._mechanism(at, again, None)
                if ratio < least:
                    best, least = matrix, ratio
        return best if np.isfinite(least) else self.matrix

    def _mechanism(self, at: float, covered: Covered, found: AtRatio | None) -> tuple[Floats, float]:
        """The mechanism of a cover with rows that add up to one, and its largest lift."""
        chosen, weights = covered.columns, covered.weights[covered.columns]
        sharp = at_ratio(self.packing, covered, at, duals=False) if found is None else found
        if sharp is not None and sharp.least > -1e-12 and abs(sharp.missing) < 1e-9:
            weights = sharp.weights
        matrix = np.zeros(self.columns.allowed.shape)
        usable = self.columns.usable(at * (1 + 1e-13))[self.packing.outputs[chosen]]
        parts = self.packing.dense(chosen, at) * np.where((weights > 1e-14) & usable, weights, 0.0)
        np.add.at(matrix.T, self.packing.outputs[chosen], parts.T)
        rows = matrix.sum(axis=1, keepdims=True)
        if not (rows > 0.5).all():
            return matrix, np.inf
        matrix /= rows
        return matrix, safe_ratio(matrix, self.columns.p)
