r"""A tree of boxes of posteriors that bounds I(a; Y) for every adversary with H(X) ≥ b, checked in ball arithmetic.

A belief u over the classes has posteriors θ_ya = P(a | y). A node of the tree splits them at θ_ya ≤ cut or ≥ cut, so
that every belief lies in a leaf. On a leaf θ log θ is at most its chord, hence -P(y) H(θ_y) is at most linear in u, and
so are the sides of the box. For any λ ≥ 0 and μ ≥ 0 weak duality gives, whatever the finder did,

.. math:: I(a;Y) \le (1+λ)\,\mathrm{LSE}_a\Bigl(\tfrac{λ}{1+λ}\mathrm{LSE}_{k∈a}(w_k/λ + \log m_k)\Bigr) - λ b

with w the chords and μ times the sides, for each class. Sides are first shrunk by what holds for every belief:
posteriors sum to one, and P(a, y') ≤ max_k (r_ky'/r_ky) P(a, y). That uses + - × ÷ of floats alone, rounded outwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb, arb_mat, ctx, fmpq

from leakwise.errors import CertificateRejected
from leakwise.proof.records.classes import RecordClasses
from leakwise.types import Floats

__all__ = ["PosteriorTree", "ball", "normalised", "tree_bound", "upper"]

PRECISION = 128
_UP, _DOWN = 1 + 2.0**-48, 1 - 2.0**-48  # more than a dozen roundings of floats
_MOST_SIDES, _AT_A_TIME = 1 << 12, 1 << 22  # posteriors of a tree, and numbers that are computed with at a time
_TINY = 1e-280  # what is smaller than this is taken as this, where rounding is relative no more

Split = tuple[int, int, float]


@dataclass(frozen=True, eq=False)
class PosteriorTree:
    """Nodes from the root, the lower half of a split before the upper one; and the multipliers of each leaf.

    Attributes
    ----------
    nodes
        A split is (outcome, value, cut); None is a leaf.
    multipliers
        For each leaf λ, then those of the lower sides and of the upper sides: for each outcome one for each value that
        is split at (the last one of two values, all of more).
    """

    nodes: tuple[Split | None, ...]
    multipliers: Floats

    def generations(self, outcomes: int, letters: int) -> list[list[tuple[int, int, Split | None]]]:
        """Return the nodes by depth: place, place of the parent, split; reject what is not a tree."""
        levels: list[list[tuple[int, int, Split | None]]] = []
        stack = [(0, -1)]  # depth and parent of the nodes that are still to come
        for place, node in enumerate(self.nodes):
            if not stack:
                raise CertificateRejected("The tree of the certificate has nodes beyond its last leaf.")
            depth, parent = stack.pop()
            if depth == len(levels):
                levels.append([])
            levels[depth].append((place, parent, node))
            if node is not None:
                y, a, cut = node
                if not (0 <= y < outcomes and 0 <= a < letters and 0 <= cut <= 1):
                    raise CertificateRejected("A node of the certificate splits what is not a posterior.")
                stack += [(depth + 1, place)] * 2
        if stack:
            raise CertificateRejected("The tree of the certificate ends before its last leaf.")
        return levels


def ball(value: Fraction | float) -> arb:
    """Return an exact number as a ball."""
    exact = Fraction(value)
    return arb(fmpq(exact.numerator, exact.denominator))


def upper(value: arb) -> Fraction:
    """Return the upper end of a ball, exact."""
    if not value.is_finite():
        raise CertificateRejected("A bound of the certificate is not a finite number.")
    mantissa, exponent = value.upper().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def normalised(case: RecordClasses) -> list[list[arb]]:
    """Return the rows as balls that sum to one: floats do so up to rounding only."""
    rows = []
    for row in case.rows:
        total = sum(map(Fraction, row), Fraction(0))
        rows.append([ball(Fraction(p) / total) for p in row])
    return rows


# ------------------------------------------------------------------------------------------------ smaller boxes


def _reach(case: RecordClasses) -> Floats:
    """Γ[y, y', a, a']: the odds of a against a' at y' are at most so many times those at y, rounded up."""
    rows, letter = np.array(case.rows), np.array(case.letter)
    outcomes, letters = rows.shape[1], len(case.values)
    most = np.empty((letters, outcomes, outcomes))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for a in range(letters):
            mine = rows[letter == a]
            ratio = mine[0][None, :] / mine[0][:, None]
            for row in mine[1:]:  # one by one: all at once would be large
                ratio = np.maximum(ratio, row[None, :] / row[:, None])
            ratio *= _UP
            positive = (mine > 0).all(axis=0)
            most[a] = np.where(positive[:, None] & positive[None, :], np.maximum(ratio, _TINY), np.inf)
        reach = most.transpose(1, 2, 0)[:, :, :, None] * most.transpose(2, 1, 0)[:, :, None, :]
    return np.where(np.isfinite(reach), np.maximum(reach * _UP, _TINY), np.inf)


def _shrunk(low: Floats, high: Floats, reach: Floats) -> tuple[Floats, Floats]:
    """Return smaller boxes that no posterior leaves; one that holds none may end with a lower side above its upper."""
    low, high = _summing_to_one(low, high)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        odds = high[:, :, :, None] / low[:, :, None, :] * _UP  # L, y, a, a'
        odds = np.where(low[:, :, None, :] > _TINY, np.maximum(odds, _TINY), np.inf)
        moved = np.full_like(odds, np.inf)
        for y in range(low.shape[1]):
            moved = np.minimum(moved, odds[:, y, None] * reach[y][None])
        odds = np.minimum(odds, np.where(np.isnan(moved), np.inf, np.maximum(moved * _UP, _TINY)))
        odds[:, :, np.eye(low.shape[2], dtype=bool)] = 1.0
        high = np.minimum(high, _UP / (1 / odds).sum(axis=3))
        low = np.maximum(low, _DOWN / odds.sum(axis=2))
    return _summing_to_one(low, high)


def _summing_to_one(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    slack = 2.0**-50 * low.shape[2] ** 2
    for _ in range(2):
        low = np.maximum(low, 1 - (high.sum(axis=2, keepdims=True) - high) - slack)
        high = np.minimum(high, 1 - (low.sum(axis=2, keepdims=True) - low) + slack)
    return low, high


def _leaves(tree: PosteriorTree, case: RecordClasses) -> tuple[Floats, Floats]:
    """Return the boxes of the leaves in their order, L×M×A, each shrunk after every split that leads to it."""
    outcomes, letters = len(case.rows[0]), len(case.values)
    if outcomes * letters > _MOST_SIDES:
        raise CertificateRejected(f"A tree may be about {_MOST_SIDES:,} posteriors at most.")
    reach, batch = _reach(case), max(1, _AT_A_TIME // (outcomes * letters**2))
    leaves: dict[int, tuple[Floats, Floats]] = {}
    boxes = {0: (np.zeros((outcomes, letters)), np.ones((outcomes, letters)))}
    for level in tree.generations(outcomes, letters):
        met: set[int] = set()
        places, lows, highs = [], [], []
        for place, parent, _ in level if level[0][1] >= 0 else []:
            low, high = (side.copy() for side in boxes[parent])
            split = tree.nodes[parent]
            assert split is not None
            y, a, cut = split
            if parent in met:  # the lower half comes first
                low[y, a] = max(low[y, a], cut)
            else:
                high[y, a] = min(high[y, a], cut)
            met.add(parent)
            places.append(place)
            lows.append(low)
            highs.append(high)
        if places:
            boxes = {}
            for k in range(0, len(places), batch):
                shrunk = _shrunk(np.array(lows[k : k + batch]), np.array(highs[k : k + batch]), reach)
                boxes |= dict(zip(places[k : k + batch], zip(*shrunk, strict=True), strict=True))
        leaves |= {place: boxes[place] for place, _, split in level if split is None}
    order = sorted(leaves)
    return np.array([leaves[k][0] for k in order]), np.array([leaves[k][1] for k in order])


# ------------------------------------------------------------------------------------------------ the bound of a leaf


@dataclass(frozen=True, eq=False)
class _Leaf:
    """One record's classes, ready to bound leaves with."""

    case: RecordClasses
    b: Fraction

    @cached_property
    def blocks(self) -> list[list[int]]:
        letter = self.case.letter
        return [[k for k, a in enumerate(letter) if a == b] for b in range(len(self.case.values))]

    @cached_property
    def rows(self) -> list[arb_mat]:
        every = normalised(self.case)
        return [arb_mat([every[k] for k in block]) for block in self.blocks]

    @cached_property
    def sizes(self) -> list[list[arb]]:
        return [[arb(self.case.datasets[k]) for k in block] for block in self.blocks]

    @cached_property
    def split(self) -> list[int]:
        """The values that have sides of their own."""
        return [1] if len(self.case.values) == 2 else list(range(len(self.case.values)))

    def bound(self, low: Floats, high: Floats, multipliers: Sequence[float]) -> Fraction:
        """Return the dual value for one box."""
        outcomes, letters = low.shape
        lam, sides = multipliers[0], np.array(multipliers[1:]).reshape(2, outcomes, len(self.split))
        common, each = [], [[arb(0)] * outcomes for _ in range(letters)]
        for y in range(outcomes):
            here = arb(0)
            for a in range(letters):
                at_low, at_high = _x_log_x(low[y, a]), _x_log_x(high[y, a])
                below, above = ball(low[y, a]), ball(high[y, a])
                slope = (at_high - at_low) / (above - below) if high[y, a] > low[y, a] else arb(0)
                here += at_low - slope * below
                if a in self.split:
                    under, over = (ball(float(side)) for side in sides[:, y, self.split.index(a)])
                    here += over * above - under * below
                    slope += under - over
                each[a][y] = slope
            common.append(here)
        w = []
        for a in range(letters):
            column = arb_mat([[common[y] + each[a][y]] for y in range(outcomes)])
            product = self.rows[a] * column
            w.append([product[k, 0] for k in range(len(self.blocks[a]))])
        tops = [max(upper(v) for v in part) for part in w]
        found = upper(sum((ball(top).exp() for top in tops), arb(0)).log())
        if lam > 0:
            scale = ball(lam)
            z = [
                scale * sum((m * (v / scale).exp() for m, v in zip(sizes, part, strict=True)), arb(0)).log()
                for sizes, part in zip(self.sizes, w, strict=True)
            ]
            whole = sum(((one / (1 + scale)).exp() for one in z), arb(0)).log()
            found = min(found, upper((1 + scale) * whole - scale * ball(self.b)))
        return found


def _x_log_x(x: float) -> arb:
    return ball(x) * ball(x).log() if x > 0 else arb(0)


def tree_bound(case: RecordClasses, b: Fraction, tree: PosteriorTree) -> Fraction:
    """Return the information that the tree proves nobody exceeds who has H(X) ≥ b."""
    outcomes, letters = len(case.rows[0]), len(case.values)
    low, high = _leaves(tree, case)
    split = 1 if letters == 2 else letters
    shape = (len(low), 1 + 2 * outcomes * split)
    if tree.multipliers.shape != shape or not (tree.multipliers >= 0).all() or not np.isfinite(tree.multipliers).all():
        raise CertificateRejected(f"The certificate must have {shape[1]} multipliers of at least 0 for each leaf.")
    empty = (low > high).any(axis=(1, 2))
    most = Fraction(0)
    with ctx.workprec(PRECISION):
        leaf = _Leaf(case, b)
        for k in np.flatnonzero(~empty):
            most = max(most, leaf.bound(low[k], high[k], tree.multipliers[k].tolist()))
    return most
