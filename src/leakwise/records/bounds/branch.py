"""The certified global value of one record's problem: branch and bound over boxes of posteriors."""

from __future__ import annotations

import heapq
import math
import time
from dataclasses import dataclass, replace

import numpy as np

from leakwise.proof import PosteriorTree, TangentProof
from leakwise.records.adversaries.local import climb, feasible, starting_beliefs, vertex_bound
from leakwise.records.bounds.centre import centre_bound
from leakwise.records.bounds.coarse import View, views
from leakwise.records.bounds.dual import Boxes, Relaxed, branched_letters, relax
from leakwise.records.bounds.separable import separable_bound, separable_of
from leakwise.records.bounds.tangent import near_uniform, tangent_bound, worth_of
from leakwise.records.bounds.trees import GrowingTree
from leakwise.records.queries.problem import Problem, entropy_of, information, joint_law
from leakwise.types import Floats

__all__ = ["Answer", "solve"]

_BATCH = 48
_ASIDE = 1e-12
_MOST_BOXES = 2_000_000
_COARSE = 0.3  # how closely boxes are bounded, as a part of what the largest bound is above the target
_PARTS = (0.3, 0.6)  # how much of the entropy's multiplier pays for a tangent
_TRIAL, _HOPELESS = 6, 2.0  # rounds of boxes that each view is tried for at first, and the gaps left out after them
_MOST_CENTRED = 48
_MANY_OUTPUTS = 7  # beyond this, boxes of posteriors are too many and the separable bound is better


@dataclass(frozen=True, eq=False)
class Answer:
    """value ≤ max I ≤ bound, the belief that reaches the value, and how it was found."""

    value: float
    bound: float
    belief: Floats
    boxes: int
    closed: bool
    proof: PosteriorTree | TangentProof | None = None  # None also where the bound holds without the entropy
    tangent: bool = False


def solve(
    problem: Problem,
    b: float,
    *,
    tolerance: float,
    deadline: float = math.inf,
    floor: float = 0.0,
    starts: Floats | None = None,
    seed: int = 0,
    keep: bool = False,
) -> Answer:
    """Enclose max I(a; Y) for one record.

    Parameters
    ----------
    b
        The entropy asked for, less log max m (:meth:`Problem.shifted`).
    tolerance
        Stop when bound - value is at most this.
    deadline
        Moment of :func:`time.monotonic` at which to stop with what is known.
    floor
        A value some other record is known to reach: boxes below it need no work.
    starts
        Beliefs to climb from, beside the usual ones.
    keep
        Whether to keep the tree of boxes, as a proof that can be stored.
    """
    asked = b
    if keep:
        b = min(b, problem.room - _ASIDE)  # a proof for all near the uniform belief, which boxes can give
    if b >= problem.room * (1 - 1e-15) - 1e-15:
        # Only beliefs that all datasets are alike, or nearly so, have this entropy.
        value, bound = near_uniform(problem, b)
        return Answer(max(0.0, value - 1e-15), bound, problem.uniform, 0, bound <= max(value, floor) + tolerance)
    ceiling, vertices = vertex_bound(problem)
    # Many classes hide more local optima; climbing from them is cheap beside bounding boxes.
    starting = 12 if not 12 < len(problem.letter) <= 80 else 48
    search = _Search(View.whole(problem), b, tolerance, floor, GrowingTree() if keep else None)
    search.start(starting_beliefs(problem, vertices, starting, seed), starts)
    search.corners = ceiling
    search.near, search.tangent = tangent_bound(problem, b, search.belief)
    search.begin()
    laws = 0
    # The separable bound, that of a centre and merged outcomes have no proof that is kept.
    separable = separable_of(problem) if problem.rows.shape[1] >= _MANY_OUTPUTS and not keep else None
    if separable is not None and search.open(deadline):
        reached, now = max(search.value, floor), time.monotonic()
        share = now + 0.6 * (deadline - now)
        search.ceiling = min(search.ceiling, separable_bound(separable, b, reached, tolerance, share))
    if problem.letters > 2 and problem.rows.shape[1] <= _MOST_CENTRED and not keep and search.open(deadline):
        reached = max(search.value, floor)
        search.ceiling, laws = centre_bound(problem, b, search.belief, reached, tolerance, deadline, search.bound)
    if search.open(deadline) and not keep:
        search = _fittest(search, deadline)
    while search.open(deadline):
        search.round()
    found = search.answer()
    found = replace(found, boxes=found.boxes + laws)
    if b == asked:
        return found
    # What is reached is reached with the entropy that was asked for.
    belief = feasible(problem, found.belief[None], asked)
    value = max(0.0, float(information(problem, belief)[0]) - 1e-15)
    return replace(found, value=value, belief=belief[0], closed=found.bound <= max(value, floor) + tolerance)


def _fittest(search: _Search, deadline: float) -> _Search:
    """Return the search to go on with: several views are tried for some rounds, then the better ones for more.

    The first rounds only tell what is hopeless, by its gap; then half is left out. What one of them has reached or
    proven holds for the others.
    """
    problem = search.view.problem
    trying = [search]
    for view in views(problem, worth_of(problem, search.belief))[1:]:
        other = _Search(view, search.b, search.tolerance, search.floor)
        other.corners, other.near, other.tangent = search.corners, search.near, search.tangent
        other.learn(search)
        other.begin()
        trying.append(other)
    rounds, boxes = _TRIAL, 0
    while len(trying) > 1:
        best = trying[-1]
        for one in reversed(trying):  # the fewest outcomes are the quickest
            one.learn(best)
            for _ in range(rounds):
                if one.open(deadline):
                    one.round()
            best = one
        for one in trying:
            best.learn(one)
        trying.sort(key=lambda one: one.boxed)
        left = (len(trying) + 1) // 2
        if rounds == _TRIAL:
            most = _HOPELESS * (trying[0].boxed - best.value)
            left = sum(one.boxed - best.value <= most for one in trying)
        if not best.open(deadline):
            left = 1
        boxes += sum(one.count for one in trying[left:])
        for one in trying[:left]:
            one.learn(best)
        trying, rounds = trying[:left], 2 * rounds
    trying[0].count += boxes
    return trying[0]


def _root(problem: Problem, b: float) -> Boxes:
    outputs, letters = problem.rows.shape[1], problem.letters
    shape = (1, outputs, letters)
    # The multiplier of the entropy is unknown by orders of magnitude: try many on the one box, keep the best.
    scales = 10.0 ** np.arange(-8.0, 7.5, 0.5)
    low, high = np.zeros((len(scales), *shape[1:])), np.ones((len(scales), *shape[1:]))
    push = np.zeros((len(scales), 2, outputs, len(branched_letters(problem))))
    boxes = Boxes(low, high, scales, push)
    values = relax(problem, boxes, b, math.inf, math.inf).bound
    return boxes.take(np.array([int(np.argmin(values))]))


class _Search:
    """The open boxes (largest bound first), the best belief, and what has been proven."""

    def __init__(self, view: View, b: float, tolerance: float, floor: float, grown: GrowingTree | None = None) -> None:
        self.grown = grown
        self.view, self.problem = view, view.problem
        self.b, self.tolerance, self.floor = b, tolerance, floor
        self.heap: list[tuple[float, int, Boxes, Floats]] = []
        self.count = 0
        self.ceiling = self.corners = self.near = math.inf
        self.tangent: TangentProof | None = None
        self.dropped = -math.inf
        self.value, self.belief = -math.inf, self.problem.uniform
        self.odds = _odds_reach(view.coarse)
        sides = 1 + 2 * view.coarse.rows.shape[1] * len(branched_letters(self.problem))
        # A Newton system for each box: few at a time when they are large, so that the time limit is kept.
        self.batch = max(1, min(_BATCH, 400_000 // sides**2))

    # ------------------------------------------------------------------------------------------- the lower side

    def start(self, usual: Floats, given: Floats | None) -> None:
        beliefs = usual if given is None else np.concatenate([given, usual])
        u, value = climb(self.problem, beliefs, self.b, steps=40, accuracy=1e-3 * self.tolerance)
        best = np.argsort(-value)[:3]
        u, value = climb(self.problem, u[best], self.b, steps=400, accuracy=1e-4 * self.tolerance)
        self.offer(u, value)

    def offer(self, u: Floats, value: Floats) -> bool:
        best = int(np.argmax(value))
        if value[best] <= self.value:
            return False
        self.value, self.belief = float(value[best]), u[best].copy()
        return True

    @property
    def target(self) -> float:
        """Boxes whose bound is not above this are done."""
        return max(self.value, self.floor) + self.tolerance

    # ------------------------------------------------------------------------------------------- the upper side

    def push(self, boxes: Boxes, bound: Floats, belief: Floats) -> None:
        self.count += len(boxes)
        for k in range(len(boxes)):
            if bound[k] <= self.target:
                self.dropped = max(self.dropped, float(bound[k]))
            else:
                one = boxes.take(np.array([k]))
                heapq.heappush(self.heap, (-float(bound[k]), self.count * 1000 + k, one, belief[k]))

    @property
    def boxed(self) -> float:
        """What the boxes alone prove."""
        largest = -self.heap[0][0] if self.heap else -math.inf
        return max(largest, self.dropped, self.value)

    @property
    def bound(self) -> float:
        """What is proven."""
        return min(self.ceiling, self.boxed)

    def open(self, deadline: float) -> bool:
        if not self.heap or self.bound <= self.target:
            return False
        return self.count < _MOST_BOXES and time.monotonic() < deadline

    def round(self) -> None:
        """Split the boxes of the largest bounds, bound the halves, and look for better beliefs among them."""
        chosen: list[Boxes] = []
        parents: list[float] = []
        beliefs: list[Floats] = []
        while self.heap and len(chosen) < self.batch and -self.heap[0][0] > self.target:
            negative, _, box, belief = heapq.heappop(self.heap)
            chosen.append(box)
            parents.append(-negative)
            beliefs.append(belief)
        boxes = Boxes.joined(chosen)
        parent, u = np.array(parents), np.array(beliefs)
        halves = self.split(boxes, u)
        parent = np.concatenate([parent, parent])
        alive = self.tighten(halves)
        if self.grown is not None:
            self.grown.keep(halves)
        halves, parent = halves.take(alive), parent[alive]
        relaxed = self.relaxed(halves, parent, np.concatenate([u, u])[alive])
        found = feasible(self.problem, relaxed.belief, self.b)
        value = information(self.problem, found)
        if self.offer(found, value) or self.count < 4 * self.batch:
            best = np.argsort(-value)[:2]
            self.offer(*climb(self.problem, found[best], self.b, steps=30, accuracy=1e-3 * self.tolerance))
        if self.grown is not None:
            self.grown.keep(relaxed.boxes, relaxed.bound)
        self.push(relaxed.boxes, np.minimum(relaxed.bound, parent), relaxed.belief)

    def begin(self) -> None:
        """Bound the box of all posteriors."""
        relaxed = self.relaxed(_root(self.view.coarse, self.b), np.full(1, math.inf), self.belief[None])
        if self.grown is not None:
            self.grown.keep(relaxed.boxes, relaxed.bound)
        self.push(relaxed.boxes, relaxed.bound, relaxed.belief)
        self.ceiling = min(self.ceiling, self.corners, self.near, float(relaxed.bound[0]))

    def learn(self, other: _Search) -> None:
        """Take over what another search has reached and proven."""
        self.offer(other.belief[None], np.array([other.value]))
        self.ceiling = min(self.ceiling, other.bound)

    def relaxed(self, boxes: Boxes, parent: Floats, belief: Floats) -> Relaxed:
        """Bound boxes, no more closely than the search can use now; tangents are at the given beliefs, then better."""
        view = self.view
        fine = 1e-2 * self.tolerance
        rough = max(fine, _COARSE * (self.bound - self.target)) if self.heap else fine
        at = view.mixture(belief, boxes.scale, 0.0) if view.within else None
        relaxed = relax(view.coarse, boxes, self.b, self.target, rough, at)
        stuck = np.flatnonzero((relaxed.bound >= parent) & (rough > fine))  # stopped too early to gain anything
        if stuck.size:
            some = relaxed.boxes.take(stuck)
            again = relax(view.coarse, some, self.b, self.target, fine, None if at is None else at.take(stuck))
            relaxed.bound[stuck], relaxed.belief[stuck] = again.bound, again.belief
            relaxed.boxes.scale[stuck], relaxed.boxes.push[stuck] = again.boxes.scale, again.boxes.push
        above = np.flatnonzero(relaxed.bound > self.target)
        if self.grown is None and above.size:  # a tree that is kept has the chords alone
            some = relaxed.boxes.take(above)
            for part in (0.0, *_PARTS) if view.within else _PARTS:
                mixed = view.mixture(relaxed.belief[above], some.scale, part)
                # At the multipliers found: minimising once more costs as much as splitting, which gains more.
                again = relax(view.coarse, some, self.b, math.inf, math.inf, mixed)
                relaxed.bound[above] = np.minimum(relaxed.bound[above], again.bound)
        return relaxed

    def split(self, boxes: Boxes, u: Floats) -> Boxes:
        """Cut each box where its chord is furthest above the truth, weighted by how likely the outcome is."""
        problem, letters = self.view.coarse, branched_letters(self.problem)
        joint = joint_law(problem, u)
        outputs = joint.sum(axis=1)
        theta = np.clip(joint.transpose(0, 2, 1) / np.maximum(outputs, 1e-300)[:, :, None], boxes.low, boxes.high)
        width = boxes.high - boxes.low

        def xlogx(t: Floats) -> Floats:
            return np.asarray(t * np.log(np.where(t > 0, t, 1.0)))

        share = (theta - boxes.low) / np.where(width > 0, width, 1.0)
        excess = (1 - share) * xlogx(boxes.low) + share * xlogx(boxes.high) - xlogx(theta)
        if problem.letters == 2:
            excess = excess.sum(axis=2, keepdims=True)
        gain = excess * outputs[:, :, None] + 1e-14 * width[:, :, letters] * outputs[:, :, None]
        flat = gain.reshape(len(boxes), -1).argmax(axis=1)
        y, j = np.divmod(flat, len(letters))
        a = np.array(letters)[j]
        each = np.arange(len(boxes))
        low, high = boxes.low[each, y, a], boxes.high[each, y, a]
        cut = np.clip(theta[each, y, a], low + 0.2 * (high - low), high - 0.2 * (high - low))
        lower = boxes.take(each)
        upper = boxes.take(each)
        lower.high[each, y, a] = cut
        upper.low[each, y, a] = cut
        if self.grown is not None:
            lower.node, upper.node = self.grown.split(boxes, y, a, cut)
        return Boxes.joined([lower, upper])

    def tighten(self, boxes: Boxes) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Shrink boxes by what holds for every posterior; say which are not empty."""
        low, high = boxes.low, boxes.high
        _sum_to_one(low, high)
        _propagate(low, high, self.odds)
        _sum_to_one(low, high)
        return np.asarray((low <= high + 1e-13).all(axis=(1, 2)))

    def answer(self) -> Answer:
        bound = max(self.bound, self.value)
        enough = float(entropy_of(self.belief[None], self.problem.log_sizes)[0])
        assert enough >= self.b, "a belief below the entropy asked for was kept"
        tangent = self.near <= bound < self.corners
        proof: PosteriorTree | TangentProof | None = self.tangent if tangent else None
        if self.grown is not None and bound < min(self.near, self.corners):  # else one of these says as much
            proof = self.grown.grown(bound)
        value, done = max(0.0, self.value - 1e-15), bound <= self.target
        return Answer(value, bound, self.belief, self.count, done, proof, tangent)


def _sum_to_one(low: Floats, high: Floats) -> None:
    """Posteriors sum to one: each is at least one less the most of the others."""
    if low.shape[2] == 2:
        # Only value 1 is branched on; value 0 mirrors it.
        low[:, :, 0], high[:, :, 0] = 1 - high[:, :, 1], 1 - low[:, :, 1]
        return
    for _ in range(2):
        np.maximum(low, 1 - (high.sum(axis=2, keepdims=True) - high) - 1e-15, out=low)
        np.minimum(high, 1 - (low.sum(axis=2, keepdims=True) - low) + 1e-15, out=high)


def _odds_reach(problem: Problem) -> Floats:
    """Γ[a, a', y, y'] with log-odds o = log θ(a)/θ(a'): o_y' ≤ o_y + Γ for every belief, rounded up.

    P(a, y') / P(a, y) lies between the least and the largest ratio of the rows of value a. Where a row has a zero
    nothing is claimed.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.log(problem.rows[block]) for block in problem.blocks]
        most = np.array([(x[:, None, :] - x[:, :, None]).max(axis=0) for x in logs])  # a, y, y'
        reach = most[:, None] + most.transpose(0, 2, 1)[None]
    finite = np.isfinite(reach)
    return np.where(finite, reach + 1e-12 * (1 + np.abs(np.where(finite, reach, 0.0))), np.inf)


def _propagate(low: Floats, high: Floats, reach: Floats) -> None:
    """Shrink boxes (B×M×A) by the odds that other outputs allow, outwards by a hair."""
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = np.log(high)[:, :, :, None] - np.log(low)[:, :, None, :]  # B, y, a, a': largest log-odds of the box
        odds = np.where(np.isnan(odds), np.inf, odds)
        moved = (odds[:, :, None] + reach.transpose(2, 3, 0, 1)[None]).min(axis=1)  # B, y', a, a'
        odds = np.minimum(odds, np.where(np.isnan(moved), np.inf, moved))
        letters = low.shape[2]
        odds[:, :, np.arange(letters), np.arange(letters)] = 0.0
        np.minimum(high, (1 + 1e-14) / np.exp(-odds).sum(axis=3), out=high)
        np.maximum(low, (1 - 1e-14) / np.exp(odds).sum(axis=2), out=low)
