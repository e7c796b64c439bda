"""Which search serves which cone and utility."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from leakwise.errors import InvalidInput, NotConverged
from leakwise.optimize.bounds.chord import Function
from leakwise.optimize.pricing.vertex_list import list_vertices
from leakwise.optimize.problem.cones import Cone, LiftBox
from leakwise.optimize.problem.utilities import FInformation, Frequencies, LinearUtility, Utility
from leakwise.optimize.search.any_cone import search_generic, search_vertices
from leakwise.optimize.search.exact_windows import search_windows, windows_fit
from leakwise.optimize.search.frequencies import search_frequencies
from leakwise.optimize.search.labelled import search_linear
from leakwise.optimize.search.letter_blocks import search_blocks
from leakwise.optimize.search.lift_ranges import search_ranges
from leakwise.optimize.search.limits import Found, Limits
from leakwise.optimize.search.near_perfect import search_near_perfect
from leakwise.optimize.search.robust_columns import search_gains
from leakwise.types import Floats

__all__ = ["Answer", "search"]

# Above so many letters the master of the whole alphabet takes longer than blocks of it, for less than it brings.
_WHOLE = 220
# Rarer letters make the information matrix too ill-conditioned for doubles.
_RAREST = 1e-9
# A relative gap that columns of nearly perfect mass leave where few letters hold most of the mass.
_OPEN = 1e-4
# Larger lifts have weights that are roundings of zero.
_LARGEST_LIFT = 1e12


@dataclass(frozen=True)
class Answer:
    """What a search found, and how in words."""

    found: Found
    how: str


def search(cone: Cone, utility: Utility, limits: Limits, method: str) -> Answer:
    """Return the optimum, or the best in the time given with its bound."""
    answer = _dispatch(cone, utility, limits, method)
    limits.stopped |= answer.found.stopped
    return answer


def _listed_inside(cone: LiftBox, f: Function, limits: Limits) -> tuple[Floats, Floats] | None:
    """The optimum of a slightly smaller box, by its own list."""
    smaller = cone.slightly_smaller()
    if smaller is None or limits.exhausted:
        return None
    inner = search_vertices(smaller, f, list_vertices(smaller), limits)
    if inner.stopped:
        return None
    return inner.lifts, inner.weights


def _worth(cone: Cone, f: Function, found: Found) -> float:
    """The utility of what a search has found."""
    return float((cone.prior.probabilities @ f(found.lifts)) @ found.weights)


def _dispatch(cone: Cone, utility: Utility, limits: Limits, method: str) -> Answer:
    largest = float(cone.entry_box()[1].max())
    if not largest <= _LARGEST_LIFT:
        raise NotConverged(
            f"lifts up to {largest:.1e} are beyond what linear programs in doubles can weigh.",
            lower=-math.inf,
            upper=math.inf,
        )
    if method == "enumeration" and isinstance(utility, LinearUtility):
        raise InvalidInput(
            'method="enumeration" is for f-informations and frequencies. '
            f"Got utility {utility.name!r}: leave method= out."
        )
    if isinstance(utility, LinearUtility) and cone.bands() is None:
        gains = utility.gains(cone.prior)
        return Answer(search_gains(cone, gains, limits), "columns, one linear program for each guess")
    if isinstance(utility, LinearUtility):
        return Answer(
            search_linear(cone, utility.gains(cone.prior), limits), "one linear program over what the outputs say"
        )
    if isinstance(utility, Frequencies):
        rarest = float(cone.prior.probabilities.min())
        if rarest < _RAREST:
            raise NotConverged(
                f"the rarest letter has probability {rarest:.1e}, and no number of rows would show its frequency.",
                lower=-math.inf,
                upper=0.0,
            )
        every = list_vertices(cone) if method == "enumeration" else None
        what = "columns" if every is None else "all vertices"
        return Answer(search_frequencies(cone, limits, every), f"{what}, least trace of the inverse information")
    if not isinstance(utility, FInformation):
        raise InvalidInput(f"No search knows the utility {utility.name!r}: use FInformation, Gain or Expected.")
    f = utility.f
    if method == "enumeration":
        vertices = list_vertices(cone)
        found = search_vertices(cone, f, vertices, limits)
        if isinstance(cone, LiftBox):
            box = cone
            found = replace(found, inner=lambda: _listed_inside(box, f, limits))
        return Answer(found, f"[EX] Theorem 5, {vertices.shape[1]:,} vertices listed")
    if isinstance(cone, LiftBox):
        if windows_fit(cone):
            return Answer(search_windows(cone, f, limits), "columns, priced by subset masses")
        if len(cone.prior) <= _WHOLE:
            near = search_near_perfect(cone, f, limits)
            if near.bound - _worth(cone, f, near) <= _OPEN * abs(near.bound):
                return Answer(near, "columns of nearly perfect mass, chord bound")
            priced = search_windows(cone, f, limits)
            best = max(near, priced, key=lambda found: _worth(cone, f, found))
            proof = min(near, priced, key=lambda found: found.bound)
            best = replace(best, duals=proof.duals, largest=proof.largest, proof=proof.proof)
            return Answer(best, "columns, priced from the heaviest letter on")
        return Answer(search_blocks(cone, f, limits), "blocks of columns of nearly perfect mass, chord bound")
    where = cone.lift_range()
    if where is not None:
        return Answer(search_ranges(cone, where, f, limits), "columns of two values, priced set by set")
    return Answer(search_generic(cone, f, limits), "columns, priced by branch and bound")
