"""Which search serves which cone and utility: a table, and the generic search for every pair that is not in it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput, NotConverged
from leakwise.lp.blas_threads import one_blas_thread
from leakwise.optimize.bounds.chord import Function, chord_duals, flattened
from leakwise.optimize.pricing.vertex_list import list_vertices, vertex_count
from leakwise.optimize.problem.cones import Cone, LiftBox
from leakwise.optimize.problem.utilities import FInformation, Frequencies
from leakwise.optimize.problem.utility import Utility
from leakwise.optimize.search.any_cone import search_any, search_vertices
from leakwise.optimize.search.exact_windows import search_windows, windows_fit
from leakwise.optimize.search.frequencies import Aim, search_frequencies
from leakwise.optimize.search.labelled import search_labelled
from leakwise.optimize.search.letter_blocks import search_blocks
from leakwise.optimize.search.lift_ranges import search_ranges
from leakwise.optimize.search.limits import Answer, Found, Limits
from leakwise.optimize.search.near_perfect import search_near_perfect
from leakwise.optimize.search.prior_sets import search_narrowed, search_set
from leakwise.types import Floats

__all__ = ["Answer", "search"]

# Above so many letters the master of the whole alphabet takes longer than blocks of it, for less than it brings.
_WHOLE = 220
# Rarer letters make the information matrix too ill-conditioned for doubles.
_RAREST = 1e-13
# From so many letters on columns of nearly perfect mass are found in a fraction of the time that windows take.
_MANY = 31
# A relative gap that columns of nearly perfect mass leave where few letters hold most of the mass; and one that is left
# open where windows, which take seconds, would close it.
_OPEN, _CLOSED = 1e-4, 1e-5
# Larger lifts have weights that are roundings of zero.
_LARGEST_LIFT = 1e12
# So many vertices make a linear program of less than a second.
_SHORT = 20_000
# Utilities below this are searched for in their own units.
_LITTLE = 1e-3
# Lifts in ranges no wider than this have too few digits for it.
_NARROW = 2.0**-40
# How far a slope beyond a range is taken; and what a lift of about 1 may be off.
_STEP, _UNITS = 2.0**-40, 2.0**-50


_Search = Callable[[Function, Limits], Answer]


@one_blas_thread()
def search(cone: Cone, utility: Utility, limits: Limits, method: str) -> Answer:
    """Return the optimum, or the best in the time given with its bound."""
    largest = float(cone.entry_box()[1].max())
    if not largest <= _LARGEST_LIFT:
        raise NotConverged(
            f"lifts up to {largest:.1e} are beyond what linear programs in doubles can weigh.",
            lower=-math.inf,
            upper=math.inf,
        )
    # Of some utilities nothing is known but that they are convex: a short list of all vertices serves them best.
    short = method == "auto" and utility.kind == "convex" and 0 < vertex_count(cone) <= _SHORT
    if method == "enumeration" or short:
        answer = _listed(cone, utility, limits)
    else:
        kinds = [(cone.kind, utility.kind), (cone.kind, "any"), ("any", utility.kind), ("any", "any")]
        answer = next(_SEARCHES[pair] for pair in kinds if pair in _SEARCHES)(cone, utility, limits)
    limits.stopped |= answer.found.stopped
    return answer


def _in_units(cone: Cone, utility: FInformation, limits: Limits, lookup: _Search) -> Answer:
    """Search for lifts; where no mechanism is worth much, in units of what none exceeds.

    Beside a letter with nearly all of the mass the tolerances of a search, which are absolute, would be more than all
    that there is to find. Where all lifts are 1 but for roundings these are what is left to find, and no unit.
    """
    p, (low, high) = cone.prior.probabilities, cone.entry_box()
    flat = flattened(utility.f, p, low, high)
    unit = float(chord_duals(flat, p, low, high).sum())
    if not (0 < unit < _LITTLE and float((high - low).max()) > _NARROW):
        return lookup(utility.f, limits)

    def f(x: Floats) -> Floats:
        worth: Floats = flat(x) / unit
        return worth

    def tell(stage: str, value: float, bound: float) -> None:
        limits.tell(stage, unit * value, unit * bound)

    within = replace(limits, progress=tell)
    answer = lookup(f, within)
    limits.stopped |= within.stopped
    largest = unit * max(answer.found.largest, 0.0) + _lost_beside_one(flat, p, low, high)
    return replace(answer, found=replace(answer.found, duals=unit * answer.found.duals, largest=largest))


def _lost_beside_one(flat: Function, p: Floats, low: Floats, high: Floats) -> float:
    """What the roundings of the heaviest letter's lift may add to a bound: it is a float of about 1.

    A convex f moves no more within its range than beyond the ends; where it has no kink, that is next to nothing.
    """
    heaviest = [int(p.argmax())]
    first, last = low[heaviest], high[heaviest]
    below = np.maximum(first - _STEP, 0.0)
    steepest = max(float((flat(last + _STEP) - flat(last))[0]), float((flat(below) - flat(first))[0]), 0.0) / _STEP
    return steepest * float(last[0]) * _UNITS


def _lifts(cone: LiftBox, f: Function, limits: Limits) -> Answer:
    """Windows of subset masses for few letters, near-perfect columns for more where they do."""
    fits = windows_fit(cone)
    if fits and len(cone.prior) < _MANY:
        return Answer(search_windows(cone, f, limits), "columns, priced by subset masses")
    if len(cone.prior) > _WHOLE:
        return Answer(search_blocks(cone, f, limits), "blocks of columns of nearly perfect mass, chord bound")

    def worth(found: Found) -> float:
        return float(cone.prior.probabilities @ f(found.lifts) @ found.weights)

    near = search_near_perfect(cone, f, limits)
    if near.bound - worth(near) <= (_CLOSED if fits else _OPEN) * abs(near.bound):
        return Answer(near, "columns of nearly perfect mass, chord bound")
    priced = search_windows(cone, f, limits)
    proof = min(near, priced, key=lambda found: found.bound)
    best = replace(max(near, priced, key=worth), duals=proof.duals, largest=proof.largest, proof=proof.proof)
    return Answer(best, f"columns, priced {'by subset masses' if fits else 'from the heaviest letter on'}")


def _box(cone: LiftBox, utility: FInformation, limits: Limits) -> Answer:
    return _in_units(cone, utility, limits, lambda f, within: _lifts(cone, f, within))


def _range(cone: Cone, utility: FInformation, limits: Limits) -> Answer:
    where = cone.lift_range()
    assert where is not None  # that is what the kind says

    def lookup(f: Function, within: Limits) -> Answer:
        return Answer(search_ranges(cone, where, f, within), "columns of two values, priced set by set")

    return _in_units(cone, utility, limits, lookup)


def _frequencies(cone: Cone, utility: Frequencies, limits: Limits, every: Floats | None = None) -> Answer:
    rarest = float(cone.prior.probabilities.min())
    if not rarest:
        raise InvalidInput(
            "The utility 'frequencies' needs an estimate that has seen every letter: frequencies of letters never "
            "seen cannot be weighed. Use another utility, or merge the letters never seen."
        )
    if rarest < _RAREST:
        raise NotConverged(
            f"the rarest letter has probability {rarest:.1e}, and no number of rows would show its frequency.",
            lower=-math.inf,
            upper=0.0,
        )
    what = "columns" if every is None else "all vertices"
    contrasts = utility.contrasts_at(cone.prior)
    how = "least trace of the inverse information" if contrasts is None else "least largest variance of the contrasts"
    return Answer(search_frequencies(cone, limits, every, Aim(contrasts, utility.shares)), f"{what}, {how}")


def _listed(cone: Cone, utility: Utility, limits: Limits) -> Answer:
    """Every vertex, as in [EX] Theorem 5."""
    if utility.labelled:
        raise InvalidInput(
            'method="enumeration" is for utilities whose outputs have no labels. '
            f"Got utility {utility.name!r}: leave method= out."
        )
    vertices = list_vertices(cone)
    if isinstance(utility, Frequencies):
        return _frequencies(cone, utility, limits, vertices)

    def inner() -> tuple[Floats, Floats] | None:
        """The optimum of a slightly smaller cone, by its own list."""
        smaller = None if limits.exhausted else cone.slightly_smaller()
        found = None if smaller is None else search_vertices(smaller, utility, list_vertices(smaller), limits)
        return None if found is None or found.stopped else (found.lifts, found.weights)

    found = replace(search_vertices(cone, utility, vertices, limits), inner=inner)
    return Answer(found, f"[EX] Theorem 5, {vertices.shape[1]:,} vertices listed")


# By the kind of the cone and that of the utility, each of which may be any; the first that fits is taken.
_SEARCHES: dict[tuple[str, str], Callable[[Any, Any, Limits], Answer]] = {
    ("box", "information"): _box,
    ("range", "information"): _range,
    ("set", "information"): search_set,
    ("bounded", "any"): search_narrowed,
    ("any", "labelled"): search_labelled,
    ("any", "frequencies"): _frequencies,
    ("any", "any"): search_any,
}
