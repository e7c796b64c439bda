"""The curve of utility against leakage: the optimum at each ε, compared with simpler mechanisms."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput, LeakwiseWarning
from leakwise.exact import Level, level
from leakwise.mechanism.catalog import same_pml_randomized_response
from leakwise.optimize.design import design
from leakwise.optimize.pricing.shared_tables import shared_tables
from leakwise.optimize.problem.utilities import as_utility
from leakwise.optimize.problem.utility import Utility, with_mass
from leakwise.optimize.tradeoff_result import Tradeoff
from leakwise.priors import Prior, as_prior
from leakwise.proof import asked_limits

__all__ = ["tradeoff"]

_POINTS = 40
_BORDERS = 20  # more borders than this would crowd the grid: every so many are taken
_LDP_LETTERS = 12  # up to so many letters the optimal ε-LDP mechanism is a matter of milliseconds
_DENSE = 2000  # up to so many letters randomized response may be written out as a matrix


@np.errstate(all="ignore")  # as for a design
def tradeoff(
    prior: Any,
    epsilons: Iterable[object] | None = None,
    utility: Any = "mutual_information",
    *,
    anyone: object = None,
    ldp: object = None,
    lift_of: Mapping[Any, object] | None = None,
    ceiling: Mapping[Any, object] | None = None,
    floor: Mapping[Any, object] | None = None,
    time_limit: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Tradeoff:
    """Find the largest utility at each leakage limit, compared with randomized response and local differential privacy.

    Each point is a design of its own: a mechanism, an upper bound, a certificate. It is compared with randomized
    response of the same PML ([EX] (9)) and, for up to 12 values, the optimal ε-LDP mechanism, which satisfies ε-PML for
    every prior and pays for it.

    Parameters
    ----------
    prior
        A Prior, a list of probabilities, or a mapping from labels.
    epsilons
        The limits in nats. By default 40 points from 0 to ε_max, the borders of the privacy regions among them.
    utility
        As for :func:`leakwise.design`.
    anyone, ldp, lift_of, ceiling, floor
        Further limits that every point keeps, as for :func:`leakwise.design`. What it is compared with does not.
    time_limit
        Seconds for each point. A point that was stopped has a larger gap; a warning says how many were.
    progress
        Called with the number of points done and the number of all.

    Examples
    --------
    >>> curve = tradeoff([0.5, 0.3, 0.2], [0, 0.2, 0.5])
    >>> curve.values.round(4).tolist()
    [0.0, 0.0612, 0.2968]
    >>> curve.randomized_response.round(4).tolist(), curve.ldp.round(4).tolist()
    ([0.0, 0.0072, 0.052], [0.0, 0.005, 0.0303])
    """
    known, goal = as_prior(prior), as_utility(utility, averaged=True)
    asked = [level(epsilon, name="epsilons") for epsilon in (_grid(known) if epsilons is None else _given(epsilons))]
    further = asked_limits(anyone=anyone, ldp=ldp, lift_of=lift_of, ceiling=ceiling, floor=floor)
    supported, matched = with_mass(known), goal.on_support(known)
    designs, responses, local = [], [], []
    with shared_tables(), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", LeakwiseWarning)
        for bound in asked:
            limits = replace(further, level=bound)
            designs.append(design(known, limits, utility=goal, time_limit=time_limit))
            responses.append(_response(supported, bound, matched))
            if len(supported) <= _LDP_LETTERS:
                local.append(design(known, ldp=bound, utility=goal, time_limit=time_limit).value)
            if progress is not None:
                progress(len(designs), len(asked))
    stopped = [warning for warning in told if issubclass(warning.category, LeakwiseWarning)]
    for warning in told:
        if warning not in stopped:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    if stopped:
        warnings.warn(
            f"{len(stopped)} designs behind the curve are the best found, not proven to be within 1% of the optimum: "
            "their values and upper bounds hold all the same. Allow more time (time_limit=).",
            LeakwiseWarning,
            stacklevel=2,
        )
    return Tradeoff(
        np.array([bound.epsilon for bound in asked]),
        tuple(designs),
        np.array(responses),
        np.array(local) if local else None,
        known.regions(),
        goal.name,
        known,
    )


def _given(epsilons: Iterable[object]) -> list[object]:
    if not isinstance(epsilons, Iterable):
        raise InvalidInput(f"epsilons must be a list of limits in nats. Got {epsilons!r} instead.")
    points: list[object] = list(epsilons)
    if not points:
        raise InvalidInput("epsilons must contain at least one limit in nats. Got none; leave it out for a grid.")
    return points


def _grid(prior: Prior) -> list[float]:
    """Points from 0 to ε_max: the borders of the regions, and the widest gaps between them halved until all are used.

    >>> [round(epsilon, 2) for epsilon in _grid(Prior([0.5, 0.25, 0.25]))[:4]]
    [0.0, 0.04, 0.07, 0.11]
    """
    borders = sorted({0.0, *prior.regions().tolist()})
    step = math.ceil(len(borders) / _BORDERS)
    points = sorted({*borders[::step], prior.epsilon_max})
    while 1 < len(points) < _POINTS:
        widest = max(range(len(points) - 1), key=lambda place: points[place + 1] - points[place])
        points.insert(widest + 1, (points[widest] + points[widest + 1]) / 2)
    return points


def _response(prior: Prior, asked: Level, utility: Utility) -> float:
    """What randomized response of the same PML is worth, rounded down; nan where only a huge matrix would tell."""
    kernel = same_pml_randomized_response(prior, asked).kernel
    if not utility.structured and len(prior) > _DENSE:
        return math.nan
    return utility.interval(kernel, prior)[0]
