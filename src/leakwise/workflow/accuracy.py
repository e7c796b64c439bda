"""A release of the accuracy that is needed: the least lift with which its estimates are within the margins.

What is released for is planned at frequencies that the mechanism may tell of: those of a public prior, or the rounded
ones of the table, in each combination of the given columns. So the lift tells no more than the mechanism does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np

from leakwise.alphabet import Alphabet, GivenColumns
from leakwise.errors import LeakwiseWarning
from leakwise.guarantee import at_most
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.optimize.least_lift import first_lift, least_lift, proven_least
from leakwise.optimize.least_lift_by_stratum import one_percent_less
from leakwise.optimize.problem.margins import Margins, asked_margins, pooled_half_widths
from leakwise.optimize.search.limits import Limits
from leakwise.optimize.stratified_result import StratifiedDesign
from leakwise.priors import Prior, PriorByStratum, PriorSet
from leakwise.priors.sample import coarse_prior
from leakwise.proof import AskedLimits, Certificate, StratifiedCertificate, lift_of_few_digits
from leakwise.tables.release.sources import Checked
from leakwise.workflow.arguments import Accuracy
from leakwise.workflow.choice import Choice, Request, chosen_mechanism

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["Choose", "as_asked", "chosen_or_least", "planned_for"]

_MOST = 1e6  # a larger lift limits nothing
_DESIGNS = 6  # that share the time
# Of what is allowed so much is used: a lift that leaves more is tried again, so many times, about as much smaller.
_USED, _AGAIN, _ABOUT = 0.97, 3, 1.01
_WARNED = 0.9


class Choose(Protocol):
    """Returns the mechanism within the limits of a request, and what it was chosen for."""

    def __call__(self, request: Request, seen: Checked, by: GivenColumns | None, /) -> tuple[Request, Choice]: ...


def as_asked(
    request: Request, seen: Checked, by: GivenColumns | None, stream: SecureStream | None = None
) -> tuple[Request, Choice]:
    """Return the mechanism of a request as it is."""
    return request, chosen_mechanism(request, seen, by, stream)


def chosen_or_least(
    request: Request,
    accuracy: Accuracy | None,
    limits_at: Callable[..., AskedLimits],
    seen: Checked,
    by: GivenColumns | None,
    choose: Choose = as_asked,
    *,
    few_digits: bool = False,
) -> tuple[Request, Choice]:
    """Return the mechanism of a release; where an accuracy is asked for, with the least lift that meets the margins.

    With ``few_digits`` the lift is one of so few that what rows decide by it can be counted.
    """
    if accuracy is None:
        return choose(request, seen, by)
    planned = planned_for(request.public, seen, request.letters)
    goal = asked_margins(planned, accuracy.margin, int(seen.rows), accuracy.values)
    if request.mechanism is not None:
        request, choice = choose(request, seen, by)
        _warn_of_missed(goal, choice, planned)
        return request, choice
    share = request.time_limit / _DESIGNS

    def attempt(lift: float) -> _Tried:
        asked = replace(request, asked=limits_at(lift=lift), goal=goal, time_limit=share, allow_certainty=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakwiseWarning)
            choice = choose(asked, seen, by)[1]
        return _Tried(_worst(goal, choice, planned))

    lift = least_lift(attempt, first_lift(goal, planned), _MOST, goal.rows)[1]
    exact: float | Fraction = lift_of_few_digits(Fraction(str(lift))) if few_digits else lift
    asked, choice = choose(replace(request, asked=limits_at(lift=exact), goal=goal), seen, by)
    low = 1.0
    for _ in range(_AGAIN):
        # With all of the time a design may be so much better than those which shared it that a smaller lift does.
        used = -_worst(goal, choice, planned)
        smaller = lift_of_few_digits(Fraction(max(1 + (lift - 1) * used * _ABOUT, (low + lift) / 2)))
        if used > _USED or smaller >= lift:
            break
        exact = smaller if few_digits else float(smaller)
        again = choose(replace(request, asked=limits_at(lift=exact), goal=goal), seen, by)
        if _worst(goal, again[1], planned) < -1:
            low = float(smaller)
        else:
            (asked, choice), lift = again, float(smaller)
    if -_worst(goal, choice, planned) < _WARNED:
        warnings.warn(
            f"The search for the least lift of {request.title} ended at {at_most(lift)}, where more is known than the "
            "margin asks for. With a larger time_limit (--time-limit) it may find a smaller one.",
            LeakwiseWarning,
            stacklevel=4,
        )
    # For another set of priors, which turned out to be better, other lifts would have to be shown not to suffice.
    if asked.public is not request.public or request.learned:
        return asked, choice
    if isinstance(asked.public, PriorByStratum) and isinstance(choice.design, StratifiedDesign):
        rows = {key: sum(choice.counts.get(key, ())) for key in asked.public}
        aim, limits = (accuracy.margin, rows, accuracy.values), Limits(seconds=request.time_limit)
        told = one_percent_less(choice.design, asked.public, aim, lambda t: limits_at(lift=t), lift, limits)
        choice = replace(choice, design=told)
    if isinstance(choice.certificate, Certificate) and isinstance(asked.public, PriorSet):
        design = proven_least(choice.design, asked.public, goal, lambda t: limits_at(lift=t), lift, request.time_limit)
        proof = design.certificate
        certificate = replace(choice.certificate, optimality=proof.optimality, remark=proof.remark)
        choice = replace(choice, design=design, certificate=certificate, shown=certificate)
    return asked, choice


@dataclass(frozen=True)
class _Tried:
    value: float


def planned_for(public: PriorSet | PriorByStratum | str, seen: Checked, letters: Alphabet) -> Prior:
    """Return the frequencies of all rows that a design may know of."""
    if isinstance(public, PriorByStratum):
        return public.marginal
    if isinstance(public, PriorSet):
        return public.nominal
    return coarse_prior(seen.counts.tolist(), letters)


def _worst(goal: Margins, choice: Choice, planned: Prior) -> float:
    """Minus the largest variance of an estimate for all rows, in units of what its margin allows."""
    widths = np.array(_half_widths(goal, choice, planned))
    return -float(((widths / [one.half_width for one in goal.margins]) ** 2).max())


def _half_widths(goal: Margins, choice: Choice, planned: Prior) -> list[float]:
    """What each estimate for all rows is known within, by the mechanisms of all strata together."""
    mechanism, shown = choice.certificate.mechanism, choice.shown
    if not isinstance(mechanism, StratifiedMechanism) or not isinstance(shown, StratifiedCertificate):
        assert isinstance(mechanism, Mechanism)
        return goal.half_widths(mechanism, planned)
    listed = shown.priors
    total = sum(map(sum, choice.counts.values()))
    parts = []
    for key, counts in choice.counts.items():
        # Of strata that are not listed nothing is known: they are planned for as the others are.
        known = listed[key].nominal if key in listed else listed.marginal
        parts.append((mechanism[key], known, sum(counts) / total))
    return pooled_half_widths(goal, parts)


def _warn_of_missed(goal: Margins, choice: Choice, planned: Prior) -> None:
    """Warn of a given mechanism that does not meet the margins."""
    for one, width in zip(goal.margins, _half_widths(goal, choice, planned), strict=True):
        if one.stated and width > one.half_width:
            warnings.warn(
                f"The mechanism that was given leaves the {one.name} within {width:.3g} (95%, from {goal.rows:,} "
                f"rows), not within the margin of {one.half_width:g}.",
                LeakwiseWarning,
                stacklevel=4,
            )
            return
