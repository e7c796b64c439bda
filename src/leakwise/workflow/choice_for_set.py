"""The mechanism for a set of priors, or the one for every prior where a search for the set finds nothing better."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

from leakwise.alphabet import GivenColumns
from leakwise.errors import LeakwiseWarning
from leakwise.priors import AllPriors, Box
from leakwise.tables.source import Checked
from leakwise.workflow.choice import Choice, Request, chosen_mechanism

__all__ = ["choice_for_set"]


def choice_for_set(request: Request, seen: Checked, by: GivenColumns | None) -> tuple[Request, Choice]:
    """Choose a mechanism for a set of priors, or the one for every prior where that is better, and say for which.

    A search for a large set may find nothing in its time. By strata the two are compared already.
    """
    found, said = _told(request, seen, by)
    asked, known = request.asked, request.public
    if by is None and isinstance(known, Box):
        if asked.level is not None and asked.anyone is not None and asked.anyone.below >= asked.level.below:
            asked = replace(asked, anyone=None)  # the first limit is for anyone already
        every = replace(request, asked=asked, public=AllPriors(known.nominal))
        other, other_said = _told(every, seen, None)
        if _value(other) > _value(found):
            request, found, said = every, other, other_said
    for warning in said:
        warnings.warn(warning, stacklevel=5)
    return request, found


def _told(request: Request, seen: Checked, by: GivenColumns | None) -> tuple[Choice, list[Warning]]:
    """Return the choice, and what it warns of."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", LeakwiseWarning)
        found = chosen_mechanism(request, seen, by, None)
    return found, [one.message for one in said if isinstance(one.message, LeakwiseWarning)]


def _value(choice: Choice) -> float:
    return -math.inf if choice.design is None else choice.design.value
