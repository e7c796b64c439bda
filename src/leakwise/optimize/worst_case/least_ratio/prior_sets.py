"""The least leakage on a mask for a set of priors: linear programs cut with priors of the set.

At a ratio c:  max Σ v_ij  s.t.  Σ_j v_ij ≤ 1, v_ij ≤ m_j, m_j ≤ c Q·v_j for the priors Q found so far; an output that a
prior of the set treats worse is cut with that prior. The duals mix, for each output, a prior of the set: with it the
proof is the one for a single prior.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from leakwise.errors import Infeasible, NotConverged, some_of
from leakwise.lp import LinearProgram
from leakwise.optimize.search.labelled import Sheet
from leakwise.optimize.worst_case.least_ratio.search import LeastRatio, centred, safe_matrix
from leakwise.priors import PriorSet
from leakwise.types import Bools, Floats

__all__ = ["robust_ratio"]


Member = tuple[Fraction, ...]
"""A prior of the set: its masses, or for a hull the shares of its corners."""

_CUTS = 400
_STEPS = 80
_CLOSE = 1e-12
_DUST = 1e-11


def robust_ratio(priors: PriorSet, allowed: Bools) -> tuple[LeastRatio, list[tuple[int, ...]]]:
    """Both sides of the least ratio over the set, and a prior of the set per output as the witness of the lower one."""
    return _Robust(priors, allowed).run()


class _Robust:
    def __init__(self, priors: PriorSet, allowed: Bools) -> None:
        self.priors, self.allowed = priors, allowed
        self.support = np.asarray(priors.support, dtype=np.bool_)
        self.size, self.count = allowed.shape
        self.output, self.letter = np.nonzero((allowed & self.support[:, None]).T)
        self.members: list[list[tuple[Member, Floats]]] = []  # per output
        for output in range(self.count):
            self.members.append([self._worst(allowed[:, output].astype(np.float64))])
        self.rows: list[tuple[int, int]] = []  # (output, member) of each cut
        self._program = self._start()
        self.y = np.zeros(self.size)
        self.mixed = [_member_weights([self.members[j][0][0]], [1.0]) for j in range(self.count)]
        self.lower, self.upper = 1.0, np.inf
        self.matrix = safe_matrix(allowed[self.support])

    def _worst(self, column: Floats) -> tuple[Member, Floats]:
        """A prior of the set that (nearly) attains min_Q Q·v, as exact data and as floats."""
        return self.priors.exact_worst_member(column), self.priors.worst_member(column)

    def _start(self) -> LinearProgram:
        """The program without cuts, its columns the pairs, then the largest entries m_j."""
        self._letters = np.flatnonzero(self.support)
        pairs, place = np.arange(len(self.output)), np.cumsum(self.support) - 1
        self._fixed = len(self._letters) + len(pairs)
        sheet = Sheet()
        sheet.add([(place[self.letter], pairs, 1.0)], np.full(len(self._letters), -np.inf), np.ones(len(self._letters)))
        below = [(pairs, pairs, 1.0), (pairs, len(pairs) + self.output, -1.0)]
        sheet.add(below, np.full(len(pairs), -np.inf), np.zeros(len(pairs)))
        return sheet.program(np.concatenate([np.ones(len(pairs)), np.zeros(self.count)]))

    # ------------------------------------------------------------------------------------------------ one ratio

    def _cut(self, output: int, member: int, ratio: float) -> None:
        row = np.zeros(len(self.output) + self.count)
        own = self.output == output
        row[np.flatnonzero(own)] = -self.members[output][member][1][self.letter[own]]
        row[len(self.output) + output] = 1 / ratio
        self._program.add_rows(row[None, :], -np.inf, 0.0)
        self.rows.append((output, member))

    def _at(self, ratio: float) -> float:
        """The cover at a ratio: both sides move. Returns what is missing."""
        if not self.rows:
            for output in range(self.count):
                self._cut(output, 0, ratio)
        cuts = np.arange(self._fixed, self._fixed + len(self.rows))
        outputs = np.array([output for output, _ in self.rows])
        self._program.change_coefficients(cuts, len(self.output) + outputs, np.full(len(cuts), 1 / ratio))
        for _ in range(_CUTS):
            solution = self._program.solve()
            columns = np.zeros((self.size, self.count))
            columns[self.letter, self.output] = np.maximum(solution.x[: len(self.output)], 0.0)
            largest = columns.max(axis=0)
            new = 0
            for output in np.flatnonzero(largest > _DUST).tolist():
                member = self._worst(columns[:, output])
                if ratio * float(member[1] @ columns[:, output]) < largest[output] * (1 - 1e-12):
                    if any(np.abs(member[1] - known[1]).max() < 1e-14 for known in self.members[output]):
                        continue
                    self.members[output].append(member)
                    self._cut(output, len(self.members[output]) - 1, ratio)
                    new += 1
            if not new:
                break
        missing = len(self._letters) - float(solution.objective)
        if missing > 1e-13 * self.size:
            y = np.zeros(self.size)
            y[self._letters] = centred(1.0 - solution.duals[: len(self._letters)])
            self._prove(y, np.maximum(solution.duals[self._fixed :], 0.0))
        self._attain(columns)
        return missing

    def _attain(self, columns: Floats) -> None:
        # Below the tolerance of the linear program an output obeys no cut: it is dust.
        rows = np.where(columns.max(axis=0) > _DUST, columns, 0.0)[self._letters]
        total = rows.sum(axis=1, keepdims=True)
        if (total <= 0.5).any():
            return
        matrix = rows / total
        full = np.zeros((self.size, self.count))
        full[self._letters] = matrix
        used = full.max(axis=0) > 1e-12
        mass = self.priors.least_mass(full[:, used])
        if (mass <= 0).any():
            return
        ratio = float((full[:, used].max(axis=0) / mass).max())
        if ratio < self.upper:
            self.upper, self.matrix = ratio, matrix

    def _prove(self, y: Floats, cuts: Floats) -> None:
        least = np.inf
        mixed = []
        for output in range(self.count):
            own = [k for k, (j, _) in enumerate(self.rows) if j == output]
            shares = np.zeros(len(self.members[output]))
            for k in own:
                shares[self.rows[k][1]] += cuts[k]
            first = np.zeros(len(shares))
            first[0] = 1.0
            options = [first] if not shares.any() else [first, shares / shares.sum()]
            bounds = [self._bound(output, y, share) for share in options]
            best = int(np.argmax(bounds))
            least = min(least, bounds[best])
            mixed.append(options[best])
        if least > self.lower and y.sum() > 0:
            self.lower, self.y = least, y
            self.mixed = [
                _member_weights([member for member, _ in self.members[j]], mixed[j].tolist()) for j in range(self.count)
            ]

    def _bound(self, output: int, y: Floats, shares: Floats) -> float:
        """The ratio below which max y·λ ≤ 0 on an output, for a mixture of its members."""
        masses = np.einsum("k,ki->i", shares, np.array([floats for _, floats in self.members[output]]))
        letters = np.flatnonzero(self.allowed[:, output] & self.support)
        masses, gains = masses[letters], y[letters]
        total = float(masses.sum())
        if total <= 0:
            return np.inf
        kept = (masses > 0) | (gains > 0)
        masses, gains = masses[kept], gains[kept]
        density = np.where(masses > 0, gains / np.where(masses > 0, masses, 1.0), np.inf)
        order = np.argsort(-density, kind="stable")
        gain = mass = 0.0
        for place in order.tolist():
            step, weight = float(gains[place]), float(masses[place])
            if gain > 0 and gain + step <= 0:
                return max(1 / total, step / (step * mass - gain * weight))
            gain += step
            mass += weight
        return 1 / total if gain > 0 else np.inf

    # ------------------------------------------------------------------------------------------------- all ratios

    def run(self) -> tuple[LeastRatio, list[tuple[int, ...]]]:
        full = np.flatnonzero(self.allowed[self.support].all(axis=0))
        if len(full):
            matrix = np.zeros((len(self._letters), self.count))
            matrix[:, full[0]] = 1.0
            y = np.zeros(self.size)
            y[self._letters] = 1.0
            return LeastRatio(1.0, 1.0, y[self._letters], matrix, "a constant answer"), self.mixed
        first = self._bottleneck()
        at, points = first, list[tuple[float, float]]()
        for _ in range(_STEPS):
            try:
                missing = self._at(at)
            except NotConverged:
                if not np.isfinite(self.upper):
                    raise
                break  # what is known by now is proven, and so is the gap
            if self.upper <= self.lower * (1 + _CLOSE):
                break
            if missing > 1e-12 * self.size:
                points.append((at, missing))
            at = self._next(at, points)
            if not np.isfinite(at):
                self._nowhere()
        how = "linear programs cut with priors of the set"
        return LeastRatio(self.lower, self.upper, self.y[self._letters], self.matrix, how), self.mixed

    def _bottleneck(self) -> float:
        with np.errstate(divide="ignore"):
            least = np.array([known[0][1] @ self.allowed[:, j] for j, known in enumerate(self.members)])
            ratio = np.where(least > 0, 1 / np.maximum(least, 1e-300), np.inf)
        best = np.where(self.allowed[self._letters], ratio, np.inf).min(axis=1)
        worst = int(best.argmax())
        if not np.isfinite(best[worst]):
            self._nowhere([self.priors.labels[self._letters[k]] for k in np.flatnonzero(~np.isfinite(best))])
        y = np.full(self.size, 0.0)
        y[self._letters] = -1 / (2 * self.size)
        y[self._letters[worst]] = 1.0
        self._prove(y, np.zeros(len(self.rows)))
        return float(best[worst])

    def _next(self, at: float, points: list[tuple[float, float]]) -> float:
        """By the secant of what is missing; inside the two sides."""
        guess = self.lower
        if len(points) > 1:
            (a, missing_a), (b, missing_b) = points[-2:]
            if missing_a != missing_b:
                guess = b - missing_b * (b - a) / (missing_b - missing_a)
        if not np.isfinite(self.upper):
            return max(self.lower, 2 * at) if at < 1e12 else np.inf
        if not self.lower < guess < self.upper or guess == at:
            guess = self.lower if self.lower > at * (1 + 1e-15) else float(np.sqrt(self.lower * self.upper))
        return guess

    def _nowhere(self, letters: list[object] | None = None) -> None:
        who = "" if letters is None else f" The letters {some_of(letters)} have no other."
        raise Infeasible(
            "No mechanism on this mask has bounded leakage for the whole set of priors: some of them give the "
            f"allowed outputs no chance.{who} Allow more pairs, or take a smaller set.",
            witness=None if letters is None else letters[0],
        )


def _member_weights(members: Sequence[Member], shares: Sequence[float]) -> tuple[int, ...]:
    """Return a mixture of members as whole numbers: inside the set exactly, since the set is convex."""
    parts = [Fraction(share).limit_denominator(1 << 40) if share > 0 else Fraction(0) for share in shares]
    if not any(parts):
        parts[0] = Fraction(1)
    total = sum(parts, Fraction(0))
    mixed = [Fraction(0)] * len(members[0])
    for part, member in zip(parts, members, strict=True):
        if part:
            mixed = [m + part / total * mass for m, mass in zip(mixed, member, strict=True)]
    common = math.lcm(*(mass.denominator for mass in mixed))
    return tuple(int(mass * common) for mass in mixed)
