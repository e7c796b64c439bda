"""Both sides of a claim of optimality, found again: what the mechanism is worth, and that nothing is worth more."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from leakwise.errors import CertificateRejected
from leakwise.exact import float_above, float_below
from leakwise.mechanism import CommonLawKernel, Mechanism
from leakwise.priors import AllPriors, Ball, Prior, PriorSet
from leakwise.proof.limits import AskedLimits
from leakwise.proof.optimality.allowed import lift_ends, lift_region, shared_range
from leakwise.proof.optimality.balls import ball_bound
from leakwise.proof.optimality.boxes import largest_in_box, widest_box
from leakwise.proof.optimality.branching import Region
from leakwise.proof.optimality.claim import OptimalityClaim
from leakwise.proof.optimality.functions import FUNCTIONS, Function, Late, chords, fill, highest, never, sum_up
from leakwise.proof.optimality.kept_frequencies import frequencies_kept, kept_bound
from leakwise.proof.optimality.levels import largest_by_levels
from leakwise.proof.optimality.margins import meets
from leakwise.proof.optimality.members import nominal_inside
from leakwise.proof.optimality.ranges import largest_in_range
from leakwise.proof.optimality.statistics import frequencies_bound, margin_bound
from leakwise.proof.optimality.totals import total_bound
from leakwise.proof.optimality.value import proven_value
from leakwise.proof.optimality.value_boxes import ValueBox, value_box
from leakwise.proof.ratio import total_of_maxima, worst_outcome
from leakwise.types import Floats

__all__ = ["check_optimality", "proven_bound"]


_NOT_AMONG = "The mechanism is not one of those the proof of optimality speaks of ({words})."
_NODES = 1500
_FEW = 7  # letters: up to so many cuts of the lifts show more than levels do


# Squares of lifts overflow at masses of 1e-200, and masses of 1e-400 are 0. An infinity bounds nothing, and a number
# that is none proves nothing: the comparisons below are written so that both are rejected.
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def check_optimality(
    claim: OptimalityClaim, mechanism: Mechanism, priors: PriorSet, asked: AskedLimits | None = None
) -> None:
    """Raise CertificateRejected unless both sides of the claim follow from the integers and the duals."""
    _check_request(claim, priors, asked)
    if claim.utility != "margin":  # of margins it is said that mechanisms with a smaller lift do not meet them
        _check_columns(claim, mechanism, priors)
    value = proven_value(claim, mechanism, priors.nominal)
    if not value >= claim.value:
        raise CertificateRejected(
            f"The mechanism is proven to have a utility of {value!r}, less than the {claim.value!r} claimed."
        )
    letters = mechanism.input_alphabet if mechanism.input_alphabet.declared else priors.alphabet
    try:
        shown = proven_bound(claim, priors, box=value_box(asked, priors, letters))
    except (OverflowError, np.linalg.LinAlgError):  # duals of 1e308 have no sum, and prove nothing
        shown = math.inf
    if not shown <= claim.bound:
        raise CertificateRejected(
            f"The duals do not prove that nothing is better than {claim.bound:.12g}. Do not rely on the bound."
        )


def _check_request(claim: OptimalityClaim, priors: PriorSet, asked: AskedLimits | None) -> None:
    """The mechanisms that the claim compares with must be all that the request allows."""
    fits = claim.low <= 1 and (claim.high is None or claim.high >= 1) and (claim.ldp is None or claim.ldp >= 1)
    fits &= claim.high is not None or claim.ldp is not None
    fits &= isinstance(priors, Prior) or (not claim.low and claim.ldp is None)
    fits &= claim.total is None or (isinstance(priors, Prior) and claim.utility != "margin")
    fits &= claim.kept is None or (claim.kept >= 0 and claim.guesses == priors.nominal.labels)
    fits &= bool(np.isfinite(claim.duals).all()) and (claim.root is None or bool(np.isfinite(claim.root).all()))
    if claim.utility == "margin":
        fits &= claim.gains is not None and len(claim.gains) == len(priors.support) and claim.guesses is None
        fits &= claim.gains is not None and bool(np.isfinite(claim.gains).all())
    if not fits:
        raise CertificateRejected("The proof of optimality does not fit the prior it speaks of.")
    if claim.utility == "margin":
        if not meets(claim.value, claim.bound):
            raise CertificateRejected("The proof does not say that the margins are met here, and nowhere below.")
        return
    if asked is None:
        return
    within = True
    if asked.level is not None:
        # With a bound from below the mechanisms are those of local information privacy, 1/low being its other side.
        ends = [asked.level.above] + ([1 / claim.low] if claim.low else [])
        within = claim.high is not None and claim.high >= min(ends)
    if asked.lip is not None:
        within &= claim.low * asked.lip.above <= 1
    if asked.anyone is not None:
        within &= claim.ldp is None or claim.ldp >= asked.anyone.above
    if claim.total is not None:
        within &= asked.maximal_leakage is not None and claim.total >= asked.maximal_leakage.above
    if not within:
        raise CertificateRejected(
            f"The proof of optimality speaks of fewer mechanisms than were asked for ({asked.describe()})."
        )


def _check_columns(claim: OptimalityClaim, mechanism: Mechanism, priors: PriorSet) -> None:
    """The mechanism itself must be among those it is compared with: exact, on its integers."""
    kernel = mechanism.kernel
    if claim.total is not None and total_of_maxima(kernel, priors.support) > claim.total:
        raise CertificateRejected(_NOT_AMONG.format(words=claim.words))
    if claim.kept is not None and not frequencies_kept(claim.kept, mechanism, priors.nominal):
        raise CertificateRejected(_NOT_AMONG.format(words=claim.words))
    if not isinstance(priors, Prior) or (isinstance(kernel, CommonLawKernel) and claim.low == 0 and claim.ldp is None):
        ratio = worst_outcome(kernel, priors).ratio
        if ratio is None or (claim.high is not None and ratio > claim.high):
            raise CertificateRejected(_NOT_AMONG.format(words=claim.words))
        return
    here = priors.support
    law, ends = kernel.output_law(priors.weights), (kernel.column_min(here).tolist(), kernel.column_max(here).tolist())
    for least, most, mass in zip(*ends, law, strict=True):
        if not most:
            continue
        average = Fraction(int(mass), priors.denominator)
        inside = least >= claim.low * average and (claim.high is None or most <= claim.high * average)
        if not inside or (claim.ldp is not None and most > claim.ldp * least):
            raise CertificateRejected(_NOT_AMONG.format(words=claim.words))


# ------------------------------------------------------------------------------------------------------ the bound


def proven_bound(claim: OptimalityClaim, priors: PriorSet, late: Late = never, box: ValueBox | None = None) -> float:
    """Return the bound that the claim's duals prove: the claimed one where they do, else the least that could be shown.

    Once ``late`` says so, it is what has been shown by then. With a ``box`` only mechanisms are compared that keep the
    limits of single values.
    """
    nominal = priors.nominal
    here = priors.support
    p = nominal.probabilities[here]
    if claim.total is not None:
        return total_bound(claim, nominal, late) if box is None and isinstance(priors, Prior) else math.inf
    if claim.utility == "margin":
        return margin_bound(claim, priors, p, box)
    if claim.utility == "frequencies":
        return frequencies_bound(claim, priors, p, box)
    if len(claim.duals) not in (0, len(p)):
        raise CertificateRejected("The proof of optimality does not fit the prior it speaks of.")
    if claim.utility in FUNCTIONS:
        f = FUNCTIONS[claim.utility]
        return _information(claim, f, priors, p, late) if box is None else _within_box(claim, f, priors, p, late, box)
    if not len(claim.duals):
        return math.inf
    gains = np.eye(len(here)) if claim.gains is None else claim.gains
    values = gains[here] * p[:, None] - claim.duals[:, None]
    start = sum_up(claim.duals)
    if claim.kept is not None:
        # Outcome j has the mass π_j, so that each column counts with its own largest reduced cost.
        plain = isinstance(priors, Prior) and claim.ldp is None and box is None
        region = None if plain else lift_region(claim, priors, p, box)
        each = [_largest(claim, p, column, region) for column in values[:, here].T]
        return kept_bound(start, each, p, float_above(claim.kept))
    largest = _linear(claim, priors, p, values, claim.bound - start, box)
    return claim.bound if largest <= claim.bound - start else start + largest + abs(start) * 2.0**-50


def _information(claim: OptimalityClaim, f: Function, priors: PriorSet, p: Floats, late: Late) -> float:
    weights = [int(weight) for weight in priors.nominal.weights[priors.support]]
    low, high = lift_ends(claim)
    if isinstance(priors, Prior) and math.isfinite(high):
        f = _levelled(f, p, low, high)
    if isinstance(priors, Prior) and claim.ldp is None:
        if not len(claim.duals):
            return _chord_value(f, p, low, high)
        return _with_duals(claim, lambda y, room: largest_in_box(f, weights, p, y, low, high, room, late))
    # Letters that the nominal prior never saw add nothing, and the mean of the others' lifts is one without them.
    known = _chord_value(f, p[p > 0], low, high) if nominal_inside(priors) and math.isfinite(high) else math.inf
    if known <= claim.bound:
        return claim.bound
    bounds = [known]
    where, wide = shared_range(claim, priors), isinstance(priors, Ball) and priors.moved > min(priors.nominal.fractions)
    if wide and isinstance(priors, Ball):
        least = float_below(min(priors.nominal.fractions))
        bounds.append(ball_bound(f, float_below(priors.moved), least, high, claim.bound))
    if where is not None and not (wide and bounds[-1] <= claim.bound):
        if len(claim.duals):
            bounds.append(_with_duals(claim, lambda y, room: largest_in_range(f, weights, p, y, where, room)))
        elif not wide:
            bounds.append(largest_in_range(f, weights, p, np.zeros(len(p)), where, claim.bound))
    if len(p) > _FEW and min(bounds) > claim.bound and where is None and not late():
        y = claim.duals if len(claim.duals) else np.zeros(len(p))
        levels = _proven(claim, y, lambda y, room: largest_by_levels(f, p, y, priors, high, room, late))
        if math.isfinite(levels):
            return min(*bounds, levels)
    if min(bounds) > claim.bound and (where is None or wide) and len(claim.duals) and not late():
        region = lift_region(claim, priors, p)
        if region is not None:
            bounds.append(_with_duals(claim, lambda y, room: region.largest(f, y, room, _NODES, late)))
    return min(bounds)


def _levelled(f: Function, p: Floats, low: float, high: float) -> Function:
    """The same less a multiple of x - 1, which adds nothing as lifts average to 1; rounded up.

    Beside a letter with most of the mass, whose lifts are close to 1, and where all lifts are, terms are then no larger
    than what they add up to, but for the roundings of the difference itself.
    """
    tilt = float(chords(f, *widest_box(p, low, high))[0][p.argmax()])

    def levelled(x: Floats) -> Floats:
        own, turn = f(x), tilt * (x - 1)
        higher: Floats = own - turn + (np.abs(own) + np.abs(turn)) * 2.0**-50
        return higher

    return levelled


def _within_box(claim: OptimalityClaim, f: Function, priors: PriorSet, p: Floats, late: Late, box: ValueBox) -> float:
    """The bound of an f-information where single values have limits of their own: chords, then cuts where they lose."""
    known = math.inf
    if nominal_inside(priors) and p.all():
        known = _chords_at_one(f, p, *box.narrowed(*widest_box(p, *lift_ends(claim))))
    region = None if known <= claim.bound or late() or not len(claim.duals) else lift_region(claim, priors, p, box)
    if region is None:
        return known
    return min(known, _with_duals(claim, lambda y, room: region.largest(f, y, room, _NODES, late)))


def _with_duals(claim: OptimalityClaim, largest: Callable[[Floats, float], float]) -> float:
    return _proven(claim, claim.duals, largest)


def _proven(claim: OptimalityClaim, y: Floats, largest: Callable[[Floats, float], float]) -> float:
    """Σy + the largest reduced cost; the claimed bound itself where that is within it."""
    start = sum_up(y)
    room = claim.bound - start
    found = largest(y, room)
    return claim.bound if found <= room else start + max(found, 0.0) + (abs(start) + abs(found)) * 2.0**-50


def _chord_value(f: Function, p: Floats, low: float, high: float) -> float:
    """The global bound Σ_i π_i chord_i(1), which is what the chords' own duals prove."""
    return _chords_at_one(f, p, *widest_box(p, low, high))


def _chords_at_one(f: Function, p: Floats, floor: Floats, ceiling: Floats) -> float:
    width = ceiling - floor
    # By the shares of the ends in 1: of a slope and an intercept large lifts would leave few digits.
    shares = np.stack([ceiling - 1, 1 - floor])
    shares = np.divide(shares, width, out=np.full_like(shares, 0.5), where=width > 0)
    terms = (p * shares * np.stack([f(floor), f(ceiling)])).ravel()
    found = sum_up(terms) + float(np.abs(terms).sum()) * (math.sqrt(len(p)) + 16) * 2.0**-50
    return math.inf if math.isnan(found) else found


def _linear(
    claim: OptimalityClaim, priors: PriorSet, p: Floats, values: Floats, room: float, box: ValueBox | None
) -> float:
    """A number above values_w·λ for every guess w; within the room where that can be shown."""
    low, high = lift_ends(claim)
    if box is not None:
        region = lift_region(claim, priors, p, box)
        return math.inf if region is None else highest(region.linear(column) for column in values.T)
    if isinstance(priors, Prior) and claim.ldp is None:
        floor, ceiling = np.full(len(p), low), np.full(len(p), high)
        return highest(fill(column, p, floor, ceiling) for column in values.T)
    if isinstance(priors, AllPriors) or (claim.high is None and isinstance(priors, Prior)):
        # (c - room·π)·v ≤ 0 for all v in [1, R]^N.
        ratio = high if claim.ldp is None else float_above(claim.ldp)
        remaining = values - room * p[:, None]
        totals = np.maximum(remaining, ratio * remaining).sum(axis=0)
        error = (np.abs(values).sum(axis=0) + abs(room)) * ratio * (len(p) + 16) * 2.0**-50
        if bool((totals + error <= 0).all()):
            return room
    region = lift_region(claim, priors, p)
    return math.inf if region is None else highest(region.linear(column) for column in values.T)


def _largest(claim: OptimalityClaim, p: Floats, column: Floats, region: Region | None) -> float:
    """A number above column·λ: by filling the box of a known prior, else by a linear program over the region."""
    if region is not None:
        return region.linear(column)
    if claim.ldp is not None:
        return math.inf
    low, high = lift_ends(claim)
    return fill(column, p, np.full(len(p), low), np.full(len(p), high))
