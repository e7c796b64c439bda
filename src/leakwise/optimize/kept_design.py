"""Designs with the frequencies kept (invariant PRAM): outcomes are values, and come as often as the values do."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from leakwise.errors import Infeasible, InvalidInput, NotConverged
from leakwise.exact import float_above, float_below, level
from leakwise.guarantee import at_least
from leakwise.mechanism import DenseKernel
from leakwise.mechanism.catalog import BITS
from leakwise.optimize.design_result import Design
from leakwise.optimize.finish.finished import Allowed, Solution, finished
from leakwise.optimize.finish.integers import Integers
from leakwise.optimize.finish.kept_frequencies import kept_integers, miss
from leakwise.optimize.finish.optimality_claim import margin
from leakwise.optimize.problem.cones import Cone, LDPCone
from leakwise.optimize.problem.kept_frequencies import KeptFrequencies, Masks
from leakwise.optimize.problem.requested_cone import constraint_cone
from leakwise.optimize.problem.utility import with_mass
from leakwise.optimize.search.limits import Limits
from leakwise.priors import Prior, PriorSet
from leakwise.proof import AskedLimits, Certificate, certify
from leakwise.types import Floats

__all__ = ["kept_design", "kept_for_all"]

_UNIT = 1 << BITS
# How far inside the limits a linear program looks, so that integers fit. The last is for values so rare that the others
# leave no room at all.
_MARGINS = (2.0**-40, 2.0**-30, 2.0**-20)
_PART = 2.0**-10
_CLOSE = Fraction(1, 1 << 50)  # the most that πP may miss π by
_LOSS = 2.0**-39  # the share of the utility that πP = π may cost, compared with πP within 2^-50 of π
_HOW = "one linear program, a transportation problem over what the outcomes say"
_INDEPENDENT = "an independent draw from the prior: nothing else fits"
_NARROWED = "the design of the nominal prior at the largest lift that the set allows"
_NARROWEST = 2.0**-12
_NONE_FOR_THE_SET = (
    "The forbidden pairs and the shares to be kept leave no mechanism that keeps {} for every prior of the set, or "
    "none that was found. Allow a larger lift, fewer pairs or smaller shares, or know the prior better."
)
_ATTEMPT = 0.2  # of the time that is left, for one design of the nominal prior


def kept_design(priors: PriorSet, cone: Cone, goal: KeptFrequencies, allowed: Allowed, limits: Limits) -> Design:
    """Return the mechanism of greatest utility with πP = π, its columns in the cone, with the bound and the proof.

    The cone is over the values of positive probability; π is the nominal prior.
    """
    known, supported = priors.nominal, cone.prior
    here = known.support
    gains = goal.gains(known)[np.ix_(here, here)]
    masks = goal.masks(known)
    _refuse_too_much(masks, cone)
    found = _searched(cone, gains, masks, limits)
    matrix = found.kernel.weights
    missed = miss(matrix, supported)
    possible = np.array(matrix.sum(axis=0) > 0, dtype=bool)  # values rarer than the integers tell never come out
    solution = replace(
        found,
        kernel=DenseKernel(matrix[:, possible], _UNIT),
        says=np.flatnonzero(here)[possible],
        value=float_below(_worth(matrix, supported, gains)),
    )
    words = f"{allowed.words}, frequencies kept" + (f" within {float_above(missed):.1e}" if missed else "")
    return finished(solution, priors, goal.within(missed), replace(allowed, words=words), limits)


def kept_for_all(
    priors: PriorSet, asked: AskedLimits, goal: KeptFrequencies, limits: Limits, within: Cone | None = None
) -> Design:
    """Return a design for every prior of a set; it keeps the frequencies of the nominal one.

    The optimum for convex sets. Else (a layer cake; masks) the optimum of the nominal prior at the largest lift found
    whose integers keep the limits for the whole set, with the bound of the nominal prior.
    """
    nominal, words = priors.nominal, f"{asked.describe()} for every prior of the set"
    first = level(asked.level)
    allowed = Allowed(asked, words, high=first.above)
    if priors.is_everything and not asked.further and within is None:
        return kept_design(priors, LDPCone(with_mass(nominal), first.below), goal, allowed, limits)
    if priors.convex and nominal.support.all() and goal.masks(nominal).empty:
        return kept_design(priors, constraint_cone(priors, asked, within), goal, allowed, limits)

    def attempt(share: Fraction) -> tuple[Design, Certificate]:
        tried = asked.narrowed(share, nominal)
        cone, high = constraint_cone(with_mass(nominal), tried, within), level(tried.level).above
        found = kept_design(nominal, cone, goal, Allowed(tried, words, high=high), limits.part(_ATTEMPT))
        return found, certify(found.mechanism, priors, asked)

    known, proof = attempt(Fraction(1))
    best, low, high = (known, proof) if proof.holds else None, Fraction(int(proof.holds)), Fraction(1)
    if best is None and goal.masks(nominal).empty:
        best = attempt(low)
    while high - low > _NARROWEST:
        if limits.exhausted:
            limits.stopped = True
            break
        middle = (low + high) / 2
        try:
            tried, proof = attempt(middle)
        except Infeasible:  # too narrow for the pairs and shares
            low = middle
            continue
        low, high = (middle, high) if proof.holds else (low, middle)
        best = (tried, proof) if proof.holds else best
    if best is None:
        raise Infeasible(_NONE_FOR_THE_SET.format(asked.describe()), witness=known)
    found, proof = best
    # A set without its nominal prior may allow more than that prior does: then only the secret itself is a bound.
    bound = known.bound if priors.holds_nominal else goal.most(nominal)
    proof = replace(proof, remark="the set is served by the design of its nominal prior at a smaller lift")
    proof.verify_for_the_set()
    return replace(found, bound=max(bound, found.value), method=_NARROWED, certificate=proof, prior=priors)


def _refuse_too_much(masks: Masks, cone: Cone) -> None:
    """Say what no mechanism within the limits can do: zeros where none are allowed, shares beyond the largest lift."""
    known = cone.lifts()
    if not masks.empty and known is None:
        raise InvalidInput(
            "forbidden and keep_at_least (--forbidden, --keep-at-least) do not go with within=: a cone of your own is "
            "not known to keep zeros and shares. Leave one of them out."
        )
    if known is not None and masks.zeros.any() and any(band.low for band in known.bands):
        raise InvalidInput(
            "forbidden (--forbidden) does not go with anyone=, ldp=, lip= or any other limit that allows no outcome to "
            "be impossible for a value. Give anyone=None (--anyone none), and leave such limits out."
        )
    floors = np.zeros(len(masks.shares)) if known is None else known.low
    for place in np.flatnonzero(masks.zeros.any(axis=1) & (floors > 0)).tolist():
        value, outcome = cone.prior.labels[place], cone.prior.labels[int(masks.zeros[place].argmax())]
        raise Infeasible(
            f"forbidden ({value!r}, {outcome!r}) and floor={{{value!r}: {floors[place]:g}}} exclude each other: the "
            f"floor lets no outcome make {value!r} impossible. Leave one of them out.",
            witness=(value, outcome),
        )
    most = cone.entry_box()[1] * cone.prior.probabilities
    for label, share, largest in zip(cone.prior.labels, masks.shares, most.tolist(), strict=True):
        if share > Fraction(largest):
            raise Infeasible(
                f"keep_at_least asks to keep {label!r} with probability {float(share):g}. With its frequency kept, the "
                f"limits allow at most {at_least(largest, 4)}: its lift times its own probability. Ask for less, or "
                "allow a larger lift.",
                witness=(label, largest),
            )


def _searched(cone: Cone, gains: Floats, masks: Masks, limits: Limits) -> Solution:
    """Integers with the frequencies kept, the bound with its duals, and how they were found."""

    def inside(matrix: Integers) -> bool:
        if any(int(matrix[place, place]) < share * _UNIT for place, share in enumerate(masks.shares)):
            return False
        columns = [column for column in matrix.T.tolist() if any(column)]
        return not matrix[masks.zeros].any() and all(map(cone.contains, columns))

    from leakwise.optimize.search.kept_frequencies import search_transport  # the solver loads when it is first needed

    prior = cone.prior
    cone.limits = limits
    fits: list[_Fit] = []

    def tried() -> Iterator[Floats]:
        yield found.lifts
        for step in _MARGINS:
            if step == _MARGINS[-1] and fits and _chosen(fits).worth >= _less(_aim(found.lifts, prior, gains), step):
                return
            try:
                further = search_transport(cone, gains, masks, step, limits).lifts
            except Infeasible:
                return  # no room inside these limits, which themselves can be kept
            except NotConverged:
                if not fits:
                    raise
                return  # out of time, with integers at hand
            # A solver may overlook a step that is smaller than its tolerances; a part of a larger one it does not.
            yield found.lifts + _PART * (further - found.lifts)
            yield further

    try:
        found = search_transport(cone, gains, masks, 0.0, limits)
        bound = found.bound + margin(cone, found.duals, found.bound)
        for lifts in tried():
            for matrix in kept_integers(lifts, prior, inside):
                fit = _Fit(matrix, _worth(matrix, prior, gains), miss(matrix, prior))
                fits += [fit] if fit.missed <= _CLOSE else []
            if fits and not _chosen(fits).missed and _chosen(fits).worth >= _less(_aim(lifts, prior, gains), _LOSS):
                break
    except NotConverged as error:
        if not masks.empty:
            raise
        values = prior.probabilities[:, None] * gains
        bound = float(values.max(axis=1).sum()) + float(np.abs(values).sum()) * 2.0**-40
        return Solution(_independent(prior), bound, f"no search: {error}")
    if fits:
        return Solution(DenseKernel(_chosen(fits).matrix, _UNIT), bound, _HOW, found.duals)
    if masks.empty:
        return Solution(_independent(prior), bound, _INDEPENDENT, found.duals)
    raise NotConverged(
        "No integers over 2^60 keep the frequencies, the forbidden pairs and the shares within these limits: they "
        "leave too little room. Allow a slightly larger lift or smaller shares.",
        lower=-math.inf,
        upper=bound,
    )


@dataclass(frozen=True)
class _Fit:
    """Integers inside the limits, what they are worth, and how far πP is from π."""

    matrix: Integers
    worth: Fraction
    missed: Fraction


def _chosen(fits: list[_Fit]) -> _Fit:
    """One with πP = π that is worth hardly less than the best, or else the best.

    Two values with weights of fifty bits have πP = π only in steps of 2^-9: that may cost a percent.
    """
    best = max(fits, key=lambda fit: fit.worth)
    enough = _less(best.worth, _LOSS)
    return next((fit for fit in fits if not fit.missed and fit.worth >= enough), best)


def _less(worth: Fraction, share: float) -> Fraction:
    return worth - abs(worth) * Fraction(share)


def _aim(lifts: Floats, prior: Prior, gains: Floats) -> Fraction:
    """What the lifts of a linear program are worth, about."""
    p = prior.probabilities
    return Fraction(float(p @ (gains * lifts) @ p))


def _independent(prior: Prior) -> DenseKernel:
    """Every row the prior itself: what is released tells nothing."""
    row = np.array([int(weight) * _UNIT // prior.denominator for weight in prior.weights.tolist()], dtype=np.object_)
    row[int(prior.weights.argmax())] += _UNIT - int(row.sum())
    return DenseKernel(np.tile(row, (len(prior), 1)), _UNIT)


def _worth(matrix: Integers, prior: Prior, gains: Floats) -> Fraction:
    """Σ_ij π_i p_ij u_ij, exact: an outcome is worth what it says."""
    total = Fraction(0)
    for weight, row, values in zip(prior.weights.tolist(), matrix.tolist(), gains.tolist(), strict=True):
        worth = (Fraction(value) * int(entry) for entry, value in zip(row, values, strict=True) if value)
        total += int(weight) * sum(worth, Fraction(0))
    return total / (prior.denominator * _UNIT)
