"""The limits of a release: what was asked for, and unless it was switched off a second one for anyone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from leakwise.exact import Level, level
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.priors import AllPriors
from leakwise.proof import AskedLimits, asked_limits

__all__ = ["TEN_TIMES", "release_limits"]

# What anyone= is unless it is given: a limit for anyone at ten times the one for those who knew the prior.
TEN_TIMES = "ten times the lift"
_TIMES = 10


def release_limits(
    epsilon: object = None,
    lift: object = None,
    *,
    anyone: object = TEN_TIMES,
    prior: Any = None,
    mechanism: Mechanism | StratifiedMechanism | None = None,
    lift_of: Mapping[Any, object] | None = None,
    ceiling: Mapping[Any, object] | None = None,
    floor: Mapping[Any, object] | None = None,
) -> AskedLimits:
    """Return the limits of a release; a mechanism that is given may have none.

    The second limit is ten times the lift unless ``anyone`` says otherwise; None switches it off. It costs a few
    percent of the precision, and bounds what those learn who knew more than the prior, from several rows or several
    releases. There is none for a mechanism that is given without a lift, and for all priors it would be idle.

    >>> release_limits(lift=2).describe(), release_limits(lift=2, anyone=None).describe()
    ('PML lift = 2, anyone 20', 'PML lift = 2')
    """
    first = None if mechanism is not None and epsilon is None and lift is None else level(epsilon, lift)
    if isinstance(anyone, str) and anyone == TEN_TIMES:
        anyone = None if first is None or isinstance(prior, AllPriors) else _ten_times(first)
    return asked_limits(first, anyone=anyone, lift_of=lift_of, ceiling=ceiling, floor=floor)


def _ten_times(first: Level) -> Fraction:
    """Ten times the lift, to three digits after the point, rounded down."""
    return Fraction(math.floor(_TIMES * first.below * 1000), 1000)
