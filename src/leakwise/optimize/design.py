"""design(): from a prior, a leakage limit and a utility to the mechanism to release."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput, LeakwiseWarning, NotConverged, did_you_mean
from leakwise.exact import Level, level
from leakwise.mechanism import Kernel
from leakwise.optimize.beyond_floats import quiet_beyond_floats
from leakwise.optimize.design_result import Design
from leakwise.optimize.finish.integers import assemble
from leakwise.optimize.finish.labels import labelled
from leakwise.optimize.finish.optimality_claim import (
    close_to,
    closed_form_duals,
    column_duals,
    margin,
    optimality_claim,
)
from leakwise.optimize.finish.utility_interval import utility_interval
from leakwise.optimize.problem.cones import Cone, LiftBox
from leakwise.optimize.problem.requested_cone import constraint_cone, describe_constraint
from leakwise.optimize.problem.utilities import Frequencies, LinearUtility, Utility, as_utility
from leakwise.optimize.search.closed_forms import closed_form
from leakwise.optimize.search.limits import Limits, Progress
from leakwise.optimize.search.without_search import without_search
from leakwise.optimize.worst_case.utility import WorstCase
from leakwise.priors import Prior, PriorSet, as_prior, as_prior_set
from leakwise.proof import certify

__all__ = ["design"]

_METHODS = ("auto", "columns", "enumeration")
# Up to so many letters guesses are designed with their labels; beyond, closed forms answer where they can.
_LABELLED = 300


# Squares of lifts overflow at masses of 1e-200: the infinities that come of it bound nothing, as they should, and the
# certificate is computed on integers.
@np.errstate(over="ignore", invalid="ignore")
@quiet_beyond_floats
def design(
    prior: Any,
    epsilon: object = None,
    *,
    lift: object = None,
    utility: Any = "mutual_information",
    ldp: object = None,
    lip: object = None,
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
        then holds.
    epsilon, lift
        The limit on pointwise maximal leakage: ε in nats, or e^ε ("at most ``lift`` times as likely").
    utility
        ``"mutual_information"``, ``"total_variation"``, ``"chi_square"``, ``"hellinger"``, ``"guessing"``,
        ``"frequencies"``, or an object: ``lw.FInformation(f)``, ``lw.Gain(matrix)``, ``lw.Expected(matrix)``,
        ``lw.WorstCase(matrix)``.
    ldp, lip
        Further limits, alone or with ε: local differential privacy (ε of ε-LDP), local information privacy (both
        sides of the information density within ±lip).
    method
        ``"auto"`` takes a closed form where a theorem gives one, else ``"columns"``, which is column
        generation; ``"enumeration"`` lists all vertices as in [EX] Algorithm 1: for a single prior, few values,
        f-informations and ``"frequencies"``.
    tolerance
        The gap to stop at.
    time_limit
        Seconds after which the best mechanism so far is returned with its proven gap and a warning. A gap above 1%
        warns in any case.
    progress
        Called with the stage, the value and the upper bound as they change.

    Examples
    --------
    >>> from leakwise import Prior
    >>> d = design(Prior({"a": 0.5, "b": 0.3, "c": 0.2}), lift=2)
    >>> print(f"{d.value:.6f}", d.mechanism.outputs)
    0.693147 ('{a}', 'not a')
    """
    if method not in _METHODS:
        raise InvalidInput(
            f"method must be one of {', '.join(_METHODS)}. Got {method!r}.{did_you_mean(method, _METHODS)}"
        )
    limits = Limits(tolerance, time_limit, progress)
    asked = None if epsilon is None and lift is None else level(epsilon, lift)
    found = designed(prior, asked, utility, ldp, lip, method, limits)
    _tell_of_gap(found, limits)
    return found


# What is left of the time after a search is for integers, certificate and claim.
_SEARCH = 0.75
# A larger gap, relative to the bound, is never left unsaid.
_GAP = 0.01


def _tell_of_gap(found: Design, limits: Limits) -> None:
    """Warn of a gap above one percent, and of a search that the time limit cut short, whatever path made the design."""
    open_gap = found.gap > max(_GAP * abs(found.bound), 1e-9)
    if not open_gap and not limits.stopped:
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
        stacklevel=4,
    )


def designed(
    prior: Any, asked: Level | None, utility: Any, ldp: object, lip: object, method: str, limits: Limits
) -> Design:
    """The design within limits that others share, without a warning: what :func:`design` and other designs rest on."""
    if isinstance(utility, WorstCase):
        _only_auto(method, "lw.WorstCase")
        return _worst_case(prior, asked, utility, ldp, lip, limits)
    if isinstance(prior, PriorSet) and not isinstance(prior, Prior):
        return _robust(prior, asked, utility, ldp, lip, method, limits)
    known, goal = as_prior(prior), as_utility(utility)
    supported = _on_support(known)
    cone = constraint_cone(supported, asked, ldp=ldp, lip=lip)
    kernel, bound, how = _closed(supported, asked, goal, cone) if method == "auto" else (None, 0.0, "")
    duals, root = closed_form_duals(cone, goal, bound), None
    bound += margin(cone, duals)
    says = None
    if kernel is not None and isinstance(goal, Frequencies):
        duals, root = column_duals(kernel, supported, goal)
    if kernel is None:
        from leakwise.optimize.search.dispatch import search  # the solver loads when it is first needed

        bound = np.inf
        cone.limits = working = limits.until(_SEARCH)
        try:
            found = search(cone, _restricted(goal, known), working, method)
            how, duals, root = found.how, found.found.duals, found.found.root
            bound = found.found.bound + (margin(cone, duals) if found.found.proven is None else 0.0)
            kernel, says = assemble(cone, found.found)
        except NotConverged as error:
            kernel, safe_bound, says = without_search(cone, _restricted(goal, known))
            bound, how = min(bound, safe_bound), f"no search: {error}"
        limits.stopped |= working.stopped
    value, _ = utility_interval(kernel, supported, _restricted(goal, known))
    mechanism = labelled(kernel, known, supported, goal, says)
    bound = max(bound, value)
    certificate = certify(mechanism, known, asked).verify()
    claim, remark = optimality_claim(cone, asked, ldp, lip, goal, known, value, bound, duals, root, limits)
    certificate, bound = replace(certificate, optimality=claim, remark=remark), close_to(claim, known, bound)
    constraint = describe_constraint(asked, ldp, lip)
    return Design(mechanism, value, bound, how, certificate, goal.name, known, constraint)


def _only_auto(method: str, what: str) -> None:
    if method == "enumeration":
        raise InvalidInput(
            f'method="enumeration" lists the vertices of a single prior\'s constraint; it does not go with {what}. '
            'Leave method= out, or use method="columns".'
        )


def _worst_case(
    prior: Any, asked: Level | None, utility: WorstCase, ldp: object, lip: object, limits: Limits
) -> Design:
    if ldp is not None or lip is not None:
        raise InvalidInput(
            "ldp= and lip= do not go with lw.WorstCase: they allow no outcome to be impossible for a value, so that "
            "only a constant outcome would be left."
        )
    from leakwise.optimize.worst_case.design import design_worst_case

    return design_worst_case(as_prior_set(prior), level(asked), utility, limits)


def _robust(
    priors: PriorSet, asked: Level | None, utility: Any, ldp: object, lip: object, method: str, limits: Limits
) -> Design:
    """A design for every prior of a set ([ED])."""
    from leakwise.optimize.search.robust import designed_for_all

    _only_auto(method, "a set of priors")
    if ldp is not None or lip is not None:
        raise InvalidInput(
            "ldp= and lip= go with a single prior. For a set of priors give epsilon= or lift=; LDP is the set of all "
            "priors, lw.AllPriors."
        )
    return designed_for_all(priors, level(asked), as_utility(utility), limits, closed_forms=method == "auto")


def _on_support(prior: Prior) -> Prior:
    if prior.support.all():
        return prior
    return prior.reordered(np.flatnonzero(prior.support))


def _restricted(utility: Utility, prior: Prior) -> Utility:
    """A utility given by a matrix, on the letters of the support only."""
    if isinstance(utility, LinearUtility) and not prior.support.all():
        from leakwise.optimize.problem.utilities import Expected

        return Expected(utility.gains(prior)[prior.support], utility.says(prior))
    return utility


def _closed(prior: Prior, asked: Level | None, utility: Utility, cone: Cone) -> tuple[Kernel | None, float, str]:
    """A closed form with its bound, where a theorem gives one for this constraint and this utility."""
    if asked is None or not isinstance(cone, LiftBox) or cone.low != 0:
        return None, 0.0, ""
    if isinstance(utility, LinearUtility) and (utility.name != "guessing" or len(prior) <= _LABELLED):
        return None, 0.0, ""  # labelled outputs: the engine keeps the labels
    symmetric = not isinstance(utility, Frequencies)
    found = closed_form(prior, asked.below, symmetric=symmetric)
    if found is None:
        return None, 0.0, ""
    above = closed_form(prior, asked.above, symmetric=symmetric)
    if above is None or above.theorem != found.theorem:
        return None, 0.0, ""  # ε within 2^-64 of the border of a region: the engine proves its own bound
    # Its optimum at t₊ ≥ e^ε bounds every mechanism; integers lose N units of 2^-60, which the interval covers many
    # times.
    return found.kernel, utility_interval(above.kernel, prior, utility)[1], found.theorem
