"""Large alphabets: columns whose raised letters have almost exactly the right mass, found by number partitioning.

With many different masses nearly every choice of letters can be completed to a mass within 1e-9 of the target by
meeting in the middle on two dozen of them. Such columns lose next to nothing against the chord bound, so the chord
bound is the proof, and the master only has to make them add up to one.
"""

from __future__ import annotations

import numpy as np

from leakwise.optimize.bounds.chord import Function, chord_duals, chord_maximum
from leakwise.optimize.problem.cones import LiftBox
from leakwise.optimize.search.generate import Priced, Proof, generate
from leakwise.optimize.search.limits import Found, Limits
from leakwise.optimize.search.master import Master, MasterSolution
from leakwise.types import Bools, Floats

__all__ = ["search_near_perfect"]


_FREE_LETTERS = 26  # 2^13 sums in each half: a millisecond a column
_AMONG = (400, 100, 25)  # of the 2^13 best completions
_ROUNDS = 12
_RELATIVE_GAP = 1e-8  # further rounds cost more than they bring
_SLOW, _PATIENCE = 0.05, 2  # rounds in a row that close less than this share of the gap are the last
_ONE_SOLVE = 15.0  # seconds for one master problem: among columns of equal worth the simplex method can wander


def search_near_perfect(cone: LiftBox, f: Function, limits: Limits) -> Found:
    """Return near-optimal columns with the better of two chord bounds."""
    p = cone.prior.probabilities
    low, high = cone.entry_box()
    chords = chord_duals(f, p, low, high)
    generator = np.random.default_rng(len(p))  # not for privacy: the search is the same every time
    size = len(p)
    found = _columns(cone, f, np.zeros(size), 1.0, 3 * size, generator, limits)
    # Beside letters as heavy as a column may raise in all, columns of nearly perfect mass alone may not add up to one.
    heavy = 4 * float(p.max()) * (cone.high_float - cone.low_float) > 1 - cone.low_float
    wild = cone.linear_max(p[:, None] * generator.standard_normal((size, 6 * size if heavy else 0)))[1]
    columns = np.concatenate([np.ones((size, 1)), _special(cone), found, wild], axis=1)
    master, waited = Master(p @ f(columns), columns), 0

    def price(solution: MasterSolution) -> Priced:
        largest = chord_maximum(f, p, low, high, solution.duals)
        proof = min(first, Proof(solution.duals, largest), key=lambda proof: proof.bound)
        if proof.bound - solution.value <= enough(proof.bound):  # no column is looked for in vain
            return Priced(np.empty(0), np.empty((size, 0)), largest, "chord")
        density = (chords - solution.duals) / p
        more = _columns(cone, f, density, float(density.std()), size // 2, generator, limits)
        return Priced(p @ f(more), more, largest, "chord", conclusive=False)

    def enough(bound: float) -> float:
        return max(limits.tolerance, _RELATIVE_GAP * abs(bound))

    def slow(before: float, value: float, bound: float, priced: Priced) -> bool:
        # Masses on a lattice (counts) leave every column the same rest: then more columns bring nothing.
        nonlocal waited
        waited = waited + 1 if value - before < _SLOW * (bound - before) else 0
        return waited == _PATIENCE

    first = Proof(chords, chord_maximum(f, p, low, high, chords), "chord")
    done = generate(master, price, limits, rounds=_ROUNDS, proof=first, enough=enough, ended=slow, longest=_ONE_SOLVE)
    used = done.solution.weights > 0
    lifts, proof = master.columns[:, used], done.proof
    return Found(lifts, done.solution.weights[used], proof.duals, proof.largest, "chord", stopped=done.stopped)


def _special(cone: LiftBox) -> Floats:
    """For letters too heavy to be raised fully: alone as far as it goes, and with all the others raised."""
    size = len(cone.prior)
    low, high = cone.entry_box()
    heavy = np.flatnonzero((high < cone.high_float * (1 - 1e-12)) | (low > cone.low_float * (1 + 1e-12) + 1e-12))
    alone = np.eye(size)[:, heavy]
    return cone.linear_max(np.concatenate([alone, -alone], axis=1))[1]


def _columns(
    cone: LiftBox,
    f: Function,
    density: Floats,
    spread: float,
    attempts: int,
    generator: np.random.Generator,
    limits: Limits,
) -> Floats:
    """Near-perfect columns that favour letters of high ``density``, with random perturbations of several strengths."""
    size = len(density)
    columns = []
    for attempt in range(attempts):
        if limits.exhausted:
            break
        strength = (1.0, 0.1, 0.3, 3.0)[attempt % 4] * (spread or 1.0)
        wanted = density + strength * generator.standard_normal(size)
        for raised in _completions(cone, wanted, _AMONG[attempt % len(_AMONG)], generator):
            column = _vertex(cone, f, raised)
            if column is not None:
                columns.append(column)
    return np.stack(columns, axis=1) if columns else np.empty((size, 0))


def _completions(cone: LiftBox, wanted: Floats, among: int, generator: np.random.Generator) -> list[Bools]:
    """Sets of nearly perfect mass with wanted letters: the closest ones, and the best liked ``among`` the closest."""
    p = cone.prior.probabilities
    target = (1 - cone.low_float) / (cone.high_float - cone.low_float)
    size = len(p)
    free = generator.choice(size, min(_FREE_LETTERS, size), replace=False)
    fixed = np.setdiff1d(np.arange(size), free)
    order = fixed[np.argsort(-wanted[fixed], kind="stable")]
    taken = order[: np.searchsorted(np.cumsum(p[order]), target * (1 - float(p[free].sum())))]
    rest = target - float(p[taken].sum())
    half = len(free) // 2
    left, right = free[:half], free[half:]
    left_sums, right_sums = _sums(p[left]), _sums(p[right])
    worth = p * wanted
    left_wants, right_wants = _sums(worth[left]), _sums(worth[right])
    sorted_order = np.argsort(right_sums, kind="stable")
    sorted_sums = right_sums[sorted_order]
    place = np.searchsorted(sorted_sums, rest - left_sums)
    raised = []
    for step in (-1, 0):  # just below and just above the target
        position = np.clip(place + step, 0, len(sorted_sums) - 1)
        miss = np.abs(rest - left_sums - sorted_sums[position])
        # Of the many that are close enough those with the letters that are wanted: else only the fixed ones follow.
        close = np.argpartition(miss, min(among, len(miss) - 1))[:among]
        liked = left_wants[close] + right_wants[sorted_order[position[close]]]
        for code in (int(miss.argmin()), int(close[liked.argmax()])):
            mask = np.zeros(size, dtype=bool)
            mask[taken] = True
            mask[left] = (code >> np.arange(len(left))) & 1
            mask[right] = (sorted_order[position[code]] >> np.arange(len(right))) & 1
            raised.append(mask)
    return raised


def _sums(masses: Floats) -> Floats:
    sums = np.zeros(1)
    for mass in masses:
        sums = np.concatenate([sums, sums + mass])
    return sums


def _vertex(cone: LiftBox, f: Function, raised: Bools) -> Floats | None:
    """The best vertex on a set of raised letters: who is free is chosen to lose least."""
    p, low, high = cone.prior.probabilities, cone.low_float, cone.high_float
    rest = (1 - low) - (high - low) * float(p[raised].sum())
    share = rest / p
    lifts = np.where(raised, high, low)
    candidate = low + share if rest >= 0 else high + share
    fits = (raised == (rest < 0)) & (candidate >= low) & (candidate <= high)
    if not fits.any():
        return None
    chord = (candidate - low) / (high - low) * (f(np.array([high])) - f(np.array([low])))[0]
    loss = p * (f(np.array([low]))[0] + chord - f(np.where(fits, candidate, low)))
    free = int(np.where(fits, loss, np.inf).argmin())
    lifts[free] = candidate[free]
    return lifts
