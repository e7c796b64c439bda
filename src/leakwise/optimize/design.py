"""design(): from a prior, a leakage limit and a utility to the mechanism to release."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput, LeakwiseWarning, NotConverged, did_you_mean
from leakwise.exact import Level, level
from leakwise.mechanism import constant
from leakwise.optimize.by_stratum import by_stratum
from leakwise.optimize.design_result import Design, is_open
from leakwise.optimize.finish.finished import Allowed, Solution, finished, integers_of
from leakwise.optimize.finish.optimality_claim import bound_of, margin
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.problem.kept_frequencies import KeptFrequencies, kept_frequencies
from leakwise.optimize.problem.requested_cone import constraint_cone, provable_ratio
from leakwise.optimize.problem.utilities import as_utility
from leakwise.optimize.problem.utility import Utility, with_mass
from leakwise.optimize.search.closed_forms import LARGEST, binary_kernel, closed_form, wider
from leakwise.optimize.search.frequencies.code_solution import code_solution
from leakwise.optimize.search.limits import Limits, Progress
from leakwise.optimize.worst_case.utility import WorstCase
from leakwise.priors import PriorSet, as_prior_set
from leakwise.proof import AskedLimits, asked_limits

__all__ = ["design"]

_METHODS = ("auto", "columns", "enumeration")
_UNCHECKED = "no checker for limits on all outcomes together"
_NOT_LISTED = {"worst_case": "lw.WorstCase", "kept": "keep_frequencies"}


@by_stratum
# Squares of lifts overflow at masses of 1e-200, and rarer values have no float at all: the infinities that come of it
# bound nothing, as they should, and the certificate is computed on integers.
@np.errstate(all="ignore")
def design(
    prior: Any,
    epsilon: object = None,
    *,
    lift: object = None,
    utility: Any = "mutual_information",
    anyone: object = None,
    ldp: object = None,
    lip: object = None,
    lift_of: Mapping[Any, object] | None = None,
    ceiling: Mapping[Any, object] | None = None,
    floor: Mapping[Any, object] | None = None,
    maximal_leakage: object = None,
    delta: object = None,
    within: Cone | None = None,
    keep_frequencies: bool = False,
    forbidden: Any = None,
    keep_at_least: Any = None,
    outcomes: int | None = None,
    margin: Any = None,
    rows: int | None = None,
    values: Any = None,
    of: str | None = None,
    method: str = "auto",
    tolerance: float = 1e-11,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Design:
    """Find the mechanism of greatest utility among those that leak at most ε for the prior, with a proof of both.

    Maximize U(P) over the mechanisms with max_i p_ij ≤ e^ε (πP)_j for every outcome j ([EX] problem (4)). Beyond the
    paper: the exact optimum for any prior with up to about forty different probabilities, and for larger domains a
    near-optimum with a certified gap.

    Parameters
    ----------
    prior
        A Prior, a list of probabilities, or a mapping from labels; or a set of priors, for all of which the limit
        then holds; or a :class:`PriorByStratum`: then every stratum gets the mechanism that is best for its prior, and
        the limit holds for anyone who sees the given columns beside the outcome.
    epsilon, lift
        The limit on pointwise maximal leakage: ε in nats, or e^ε ("at most ``lift`` times as likely").
    utility
        ``"mutual_information"``, ``"total_variation"``, ``"chi_square"``, ``"hellinger"``, ``"guessing"``,
        ``"frequencies"``, or an object: ``lw.FInformation(f)``, ``lw.Gain(matrix)``, ``lw.Expected(matrix)``,
        ``lw.WorstCase(matrix)``, or of a subclass of ``leakwise.optimize.Utility`` of your own.
    anyone, ldp
        A second limit, alone or with ε, for anyone, whatever they knew: the largest lift for any prior whatever; or the
        same in nats, the ε of local differential privacy.
    lip
        Local information privacy: both sides of the information density within ±lip.
    lift_of, ceiling, floor
        Limits of single values: the largest lift (``{"HIV": 1.2}``), the largest posterior, also of a tuple or a
        frozenset of values (``{"HIV": 0.05}``), the least lift (``{"HIV": 0.5}``).
    maximal_leakage
        A limit on all outcomes together, alone or with the others: log Σ_j max_i p_ij ≤ ``maximal_leakage`` (nats).
        Averaged over outcomes, no guess at anything about the secret becomes more than e to it times as likely.
    delta
        With ``epsilon`` or ``lift`` and no other limit: the leakage may exceed it with this probability, whatever is
        done to the outcome afterwards (the envelope of :func:`lw.envelope`). For two and three values the optimum, to
        a gap of about 1e-5 of it; for more the best found, with its proven gap.
    keep_frequencies
        For ``"guessing"``, ``lw.Expected`` and ``lw.Gain``: outcomes are values, and each comes as often as its value
        does under the prior (πP = π; of a set of priors, the nominal one). A released column then has the right
        frequencies as it stands.
    forbidden, keep_at_least
        With ``keep_frequencies``: pairs (value, outcome) that must never occur, and the least probability that a value
        is released as it is, as a mapping from values or a number for all.
    outcomes
        For ``"frequencies"``: at most so many outcomes, eight for each value if not given. More of them come closer to
        the upper bound.
    within
        A cone of columns of your own that every outcome must be in, with the other limits or alone: see "Extend the
        engine" in the documentation.
    margin, rows
        Instead of a limit: the accuracy that is needed. The least lift is found with which every frequency is known
        within ``margin`` (the half-width of a 95% interval for the population) from so many released rows, with the
        proof that less does not suffice. A mapping states margins for single values: ``{"HIV": 0.01}``.
    values
        With ``margin``: numbers that the values stand for (a mapping, or a list in their order). Their mean is then
        what is to be known.
    of
        With ``margin`` and a :class:`PriorByStratum`: what is to be known of the ``"table"``, all rows together (the
        default), in each of the ``"groups"`` that the strata are, or of the ``"differences"`` between any two of them.
        ``rows`` may then map strata to their rows.
    method
        ``"auto"`` takes a closed form where a theorem gives one, else ``"columns"``, which is column
        generation; ``"enumeration"`` lists all vertices as in [EX] Algorithm 1: for a single prior, few values and
        utilities whose outputs have no labels.
    tolerance
        The gap to stop at; for f-informations under limits on lifts that no mechanism takes above 1e-3, a share of
        the most that they can be.
    time_limit
        Seconds after which the best mechanism so far is returned with its proven gap and a warning. A gap above 1%
        (5% for ``"frequencies"``, whose outcomes are limited in number) warns in any case.
    progress
        Called with the stage, the value and the upper bound as they change.

    Examples
    --------
    >>> from leakwise import Prior
    >>> d = design(Prior({"a": 0.5, "b": 0.3, "c": 0.2}), lift=2)
    >>> print(f"{d.value:.6f}", d.mechanism.outputs)
    0.693147 ('{a}', 'not a')
    >>> d = design({"a": 0.5, "b": 0.3, "c": 0.2}, margin=0.02, rows=15000)
    >>> print(f"{d.lift:.3f} is enough, {d.bound:.3f} is not")
    1.422 is enough, 1.418 is not
    """
    if method not in _METHODS:
        raise InvalidInput(
            f"method must be one of {', '.join(_METHODS)}. Got {method!r}.{did_you_mean(method, _METHODS)}"
        )
    if outcomes is not None:
        _check_outcomes(outcomes, "frequencies" if margin is not None else utility)
    limits = Limits(tolerance, time_limit, progress, outcomes=outcomes)
    asked = asked_limits(
        epsilon,
        lift,
        anyone=anyone,
        ldp=ldp,
        lip=lip,
        lift_of=lift_of,
        ceiling=ceiling,
        floor=floor,
        maximal_leakage=maximal_leakage,
        delta=delta,
    )
    if margin is None and (rows is not None or values is not None or of is not None):
        raise InvalidInput("rows, values and of go with margin (--margin): how accurately what is to be known.")
    if margin is not None and of is not None:
        raise InvalidInput(f"of={of!r} goes with priors by stratum (lw.PriorByStratum): one prior has no groups.")
    if margin is not None:
        from leakwise.optimize.least_lift import at_lift, margin_design, refuse_beside_margin

        refuse_beside_margin(asked, utility, keep_frequencies)
        return margin_design(prior, (margin, rows, values), at_lift(asked), method, limits, within)
    if not isinstance(keep_frequencies, bool):
        raise InvalidInput(f"keep_frequencies must be True or False. Got {keep_frequencies!r} instead.")
    if keep_frequencies:
        utility = kept_frequencies(utility, forbidden, keep_at_least)
    elif forbidden is not None or keep_at_least is not None:
        raise InvalidInput("forbidden and keep_at_least go with keep_frequencies=True (--keep-frequencies).")
    found = designed(prior, asked, utility, method, limits, within)
    _tell_of_gap(found, limits)
    return found


# What is left of the time after a search is for integers, certificate and claim.
_SEARCH = 0.75


def _check_outcomes(outcomes: object, utility: object) -> None:
    if isinstance(outcomes, bool) or not isinstance(outcomes, int) or outcomes < 1:
        raise InvalidInput(f"outcomes must be a positive integer, the most outcomes to use. Got {outcomes!r}.")
    if as_utility(utility).kind != "frequencies":
        raise InvalidInput(
            f'outcomes={outcomes} goes with utility="frequencies"; other utilities need no more outcomes than there '
            "are values. Leave it out."
        )


def _tell_of_gap(found: Design, limits: Limits) -> None:
    """Warn of a large gap, and of a search that the time limit cut short, whatever path made the design."""
    if not is_open(found) and not limits.stopped:
        return
    known = found.bound and math.isfinite(found.gap)
    share = f"{round(100 * found.gap / abs(found.bound), 1):g}% of it" if known else f"{found.gap:g}"
    reached = limits.stopped and limits.seconds is not None
    told = f"The time limit of {limits.seconds:g} s was reached: this is the best found so far. " if reached else ""
    advice = " Allow more time (time_limit=)." if reached else ""
    warnings.warn(
        f"{told}The proven gap between the design's utility and its upper bound is {share}: a better mechanism may "
        f"exist. What it leaks is proven all the same.{advice}",
        LeakwiseWarning,
        stacklevel=5,
    )


def designed(
    prior: Any,
    limit: AskedLimits | Level,
    utility: Any,
    method: str,
    limits: Limits,
    within: Cone | None = None,
) -> Design:
    """The design within limits that others share, without a warning: what :func:`design` and other designs rest on."""
    goal, priors = as_utility(utility), as_prior_set(prior)
    asked = asked_limits(limit).for_priors(priors)
    known = priors is priors.nominal
    if method == "enumeration" and (goal.kind in _NOT_LISTED or not known):
        what = _NOT_LISTED.get(goal.kind, "a set of priors")
        raise InvalidInput(
            f'method="enumeration" lists the vertices of a single prior\'s constraint; it does not go with {what}. '
            'Leave method= out, or use method="columns" (--method columns).'
        )
    _refuse_beside_total(asked, goal, method, known, within)
    if isinstance(goal, WorstCase):
        from leakwise.optimize.worst_case.design import design_worst_case

        if asked.further or within is not None:
            raise InvalidInput(
                "anyone=, ldp=, lip=, lift_of=, ceiling=, floor= and within= do not go with lw.WorstCase, which makes "
                "outcomes impossible for values: for anyone who knew more there is no limit then. Give epsilon= or "
                "lift=, and anyone=None (--anyone none)."
            )
        return design_worst_case(priors, level(asked.level), goal, limits)
    # Values without mass are left out for a single prior; a set of priors gives them some, or may.
    letters = with_mass(priors.nominal) if known else priors
    if isinstance(goal, KeptFrequencies):
        from leakwise.optimize.kept_design import kept_design, kept_for_all

        if not known:
            return kept_for_all(priors, asked, goal, limits, within)
        cone = constraint_cone(letters, asked, within)
        return kept_design(priors, cone, goal, _allowed(priors, cone, asked, within), limits)
    found = _two_values(priors, asked, goal) if method == "auto" and within is None else None
    if found is not None:
        return finished(found, priors, goal, _allowed(priors, None, asked, within), limits)
    if not priors.convex and within is None and (asked.further or goal.kind != "information"):
        from leakwise.optimize.narrowed import narrowed

        return narrowed(priors, asked, goal, _allowed(priors, None, asked, within), limits)
    cone = constraint_cone(letters, asked, within)
    restricted = goal.restricted(priors.nominal) if known else goal
    if not known and goal.kind == "convex":
        goal.checked(priors.nominal)
    # Where there are labels the search keeps them by their places among all letters, a closed form has no use for them.
    shape = goal if goal.labelled else restricted
    allowed = _allowed(priors, cone, asked, within)
    if asked.in_total is not None:
        from leakwise.optimize.totals.design import total_solution  # the solver loads when it is first needed

        if (in_total := total_solution(cone, asked, restricted, limits.until(_SEARCH))) is not None:
            return finished(in_total, priors, goal, _in_total(allowed, asked), limits)
    found = _closed(letters, asked, shape, cone) if method == "auto" else None
    if found is None and method == "auto" and known and goal.name == "frequencies" and within is None:
        found = code_solution(priors.nominal, asked, cone, limits)
    if found is None:
        found = _searched(cone, restricted, method, limits)
    if within is not None and not all(map(within.contains, found.kernel.weights.T.tolist())):
        raise InvalidInput(
            f"within must be a convex cone, but columns that the {type(within).__name__} contains add up to one that "
            "it does not contain. Correct its contains."
        )
    if asked.envelope is not None:  # no lift is above the limit
        found = replace(found, dual=(Fraction(0),) * len(letters.alphabet))
    return finished(found, priors, goal, allowed, limits)


def _refuse_beside_total(asked: AskedLimits, goal: Utility, method: str, known: bool, within: Cone | None) -> None:
    """Refuse what a limit on all outcomes together does not go with."""
    if not known:
        asked.refuse_in_total("a set of priors. Give a single one, or epsilon= or lift=")
    if goal.kind in _NOT_LISTED:
        asked.refuse_in_total(f"{_NOT_LISTED[goal.kind]}. Give epsilon= or lift=, the limit on each outcome")
    if method == "enumeration":
        asked.refuse_in_total('method="enumeration". Leave method= (--method) out')
    if asked.envelope is not None:
        if goal.kind == "frequencies":
            asked.refuse_in_total("the utility 'frequencies'. Take an f-information or a labelled utility")
        if replace(asked, envelope=None) or within is not None:
            asked.refuse_in_total("further limits. Give epsilon= or lift= and delta= alone")


def _searched(cone: Cone, goal: Utility, method: str, limits: Limits) -> Solution:
    from leakwise.optimize.search.dispatch import search  # the solver loads when it is first needed

    bound = math.inf
    cone.limits = working = limits.until(_SEARCH)
    try:
        answer = search(cone, goal, working, method)
        bound = bound_of(cone, answer.found)
        return integers_of(cone, answer.found, answer.how)
    except NotConverged as error:
        # A well-known mechanism in the cone, or the best constant; nothing beats the release of the secret itself.
        says = goal.best_constant(cone.prior)
        plain = cone.plain() if says is None else None
        bound = min(bound, goal.most(cone.prior))
        return Solution(plain or constant(cone.prior.alphabet).kernel, bound, f"no search: {error}", says=says)
    finally:
        limits.stopped |= working.stopped


def _allowed(priors: PriorSet, cone: Cone | None, asked: AskedLimits, within: Cone | None) -> Allowed:
    """What the claim of optimality compares with: every mechanism within the limits, on the safe side of e^ε."""
    words, first, both, known = asked.describe(), asked.level, asked.lip, priors is priors.nominal
    words += "" if known else " for every prior of the set"
    words = ". ".join([words, *(one.removesuffix(".") for one in asked.idle(priors))])
    if within is not None:
        words = f"{words}, in a {type(within).__name__}" if words else f"in a {type(within).__name__}"
        return Allowed(asked, words, unchecked=f"no checker for a {type(within).__name__}")
    if not known:
        unchecked = "no checker for a set of priors without a limit on its lifts" if first is None else None
        return Allowed(asked, words, high=None if first is None else first.above, unchecked=unchecked)
    if first is not None and cone is not None and cone.kind == "box" and cone.entry_box()[1].max() <= 1:
        return Allowed(asked, words, Fraction(0), first.above)  # only constant columns are left
    low = Fraction(0) if both is None else 1 / both.above
    high = min((end.above for end in (first, both) if end is not None), default=None)
    if high is None and asked.anyone is None:
        high = 1 / min(
            mass for mass in priors.nominal.fractions if mass
        )  # only limits of values: no lift exceeds 1/π_i
    return Allowed(asked, words, low, high, None if asked.anyone is None else asked.anyone.above)


def _in_total(allowed: Allowed, asked: AskedLimits) -> Allowed:
    """The same with a limit on all outcomes together, which is checked where it is alone or with one on lifts."""
    most = asked.maximal_leakage
    if most is None or allowed.unchecked is not None or AskedLimits(asked.level, maximal_leakage=most) != asked:
        return replace(allowed, unchecked=allowed.unchecked or _UNCHECKED)
    return replace(allowed, total=most.above)


def _two_values(priors: PriorSet, asked: AskedLimits, goal: Utility) -> Solution | None:
    """The optimum for two values of a set of priors, with or without a limit for anyone; None for anything else."""
    prior, first, anyone = priors.nominal, asked.level, asked.anyone
    only = AskedLimits(first, anyone) == asked and priors is not prior
    if not only or first is None or len(prior) != 2 or not goal.closed_forms(prior) or first.above >= LARGEST:
        return None
    kernel, best = (
        binary_kernel(priors, provable_ratio(priors, t), a)
        for t, a in (
            (first.below, None if anyone is None else anyone.below),
            (wider(first.above), None if anyone is None else anyone.above),
        )
    )
    bound = goal.interval(best, prior)[1]
    duals, root = goal.column_duals(best, prior) if prior.support.all() else (np.empty(0), None)
    theorem = "closed form for two values (beyond [ED] Theorem 5)"
    return Solution(kernel, bound + 1e-12 * (1 + abs(bound)), theorem, duals, root)


def _closed(priors: PriorSet, limits: AskedLimits, utility: Utility, cone: Cone) -> Solution | None:
    """A closed form with its bound, where a theorem gives one for this constraint and this utility."""
    prior, asked = priors.nominal, limits.level
    if asked is None or not utility.closed_forms(prior):
        return None
    if cone.kind != "box" or limits.lip is not None or limits.anyone is not None:
        return None
    found = closed_form(prior, asked.below, symmetric=utility.symmetric)
    top = asked.above
    if len(prior) == 2:
        top = wider(top) if top < LARGEST else max(top, 1 / prior.least_probability)
    above = None if found is None else closed_form(prior, top, symmetric=utility.symmetric)
    if found is None or above is None or above.theorem != found.theorem:
        return None  # or ε within 2^-64 of the border of a region: the engine proves its own bound
    # Its optimum at t₊ ≥ e^ε bounds every mechanism; integers lose N units of 2^-60, which the margin covers many
    # times.
    bound = utility.interval(above.kernel, prior)[1]
    duals, root = utility.closed_form_proof(found.kernel, prior, cone.entry_box(), bound)
    bound += margin(cone, duals if root is None else np.empty(0), bound)
    return Solution(found.kernel, bound, found.theorem, duals, root)
