"""A release of the accuracy that is needed: the least lift with which its estimates are within the margins.

What is released for is planned at frequencies that the mechanism may tell of: those of a public prior, or the rounded
ones of the table, in each combination of the given columns. So the lift tells no more than the mechanism does.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.alphabet import GivenColumns
from leakwise.errors import InvalidInput, LeakwiseWarning
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.optimize.least_lift import first_lift, least_lift, proven_least
from leakwise.optimize.problem.margins import Margins, asked_margins, pooled_half_widths
from leakwise.priors import Prior, PriorByStratum, PriorSet
from leakwise.priors.sample import coarse_prior
from leakwise.proof import AskedLimits, Certificate, StratifiedCertificate
from leakwise.tables.release.sources import Checked
from leakwise.workflow.choice import Choice, Request, chosen_mechanism

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["Accuracy", "asked_accuracy", "chosen_or_least"]

_MOST = 1e6  # a larger lift limits nothing
_DESIGNS = 6  # that share the time


@dataclass(frozen=True)
class Accuracy:
    """What is to be known of the table, and how accurately: margins as for :func:`leakwise.design`."""

    margin: Any
    values: Any = None


def asked_accuracy(margin: Any, values: Any, lift: Any, use: str, prior_cost: Any) -> Accuracy | None:
    """Return what is to be known, None where a lift is given; refuse what a margin does not go with."""
    if margin is None:
        if values is not None:
            raise InvalidInput("values (--values) go with margin (--margin): the mean of numbers is to be known.")
        return None
    if lift is not None:
        raise InvalidInput(
            "margin (--margin) does not go with lift or epsilon: it finds the least lift. Leave one of them out."
        )
    if use != "statistics":
        raise InvalidInput(
            f"margin (--margin) goes with use='statistics' (--for statistics): it is that of estimates. Got {use!r}."
        )
    if prior_cost is not None:
        raise InvalidInput(
            "margin (--margin) does not go with prior_cost (--prior-cost): each lift that is tried would count the "
            "rows again. Find the lift without it (dry_run=True), and give that lift."
        )
    return Accuracy(margin, values)


def chosen_or_least(
    request: Request,
    accuracy: Accuracy | None,
    limits_at: Callable[..., AskedLimits],
    seen: Checked,
    by: GivenColumns | None,
    stream: SecureStream | None,
) -> tuple[Request, Choice]:
    """Return the mechanism of a release; where an accuracy is asked for, with the least lift that meets the margins."""
    if accuracy is None:
        return request, chosen_mechanism(request, seen, by, stream)
    planned = _planned(request, seen)
    goal = asked_margins(planned, accuracy.margin, int(seen.rows), accuracy.values)
    if request.mechanism is not None:
        choice = chosen_mechanism(request, seen, by, None)
        _warn_of_missed(goal, choice, planned)
        return request, choice
    share = request.time_limit / _DESIGNS

    def attempt(lift: float) -> _Tried:
        asked = replace(request, asked=limits_at(lift=lift), goal=goal, time_limit=share, allow_certainty=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakwiseWarning)
            choice = chosen_mechanism(asked, seen, by, None)
        return _Tried(_worst(goal, choice, planned))

    lift = least_lift(attempt, first_lift(goal, planned), _MOST, goal.rows)[1]
    asked = replace(request, asked=limits_at(lift=lift), goal=goal)
    choice = chosen_mechanism(asked, seen, by, None)
    if isinstance(choice.certificate, Certificate) and isinstance(asked.public, PriorSet):
        design = proven_least(choice.design, asked.public, goal, lambda t: limits_at(lift=t), lift, request.time_limit)
        told = design.certificate
        certificate = replace(choice.certificate, optimality=told.optimality, remark=told.remark)
        choice = replace(choice, design=design, certificate=certificate, shown=certificate)
    return asked, choice


@dataclass(frozen=True)
class _Tried:
    value: float


def _planned(request: Request, seen: Checked) -> Prior:
    """The frequencies of all rows that the design may know of."""
    if isinstance(request.public, PriorByStratum):
        return request.public.marginal
    if isinstance(request.public, PriorSet):
        return request.public.nominal
    return coarse_prior(seen.counts.tolist(), request.letters)


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
