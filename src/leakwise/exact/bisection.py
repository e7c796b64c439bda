"""Bisection with a stated side of the truth: the answer is a point at which the condition was seen to hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from leakwise.types import Floats

__all__ = ["last_that_holds"]

Point = TypeVar("Point", float, Floats)


def last_that_holds(
    holds: Callable[[Point], Any], inside: Point, outside: Point, steps: int = 200, *, within: float = 0.0
) -> Point:
    """Return the point nearest to ``outside``, of those tried, at which the condition holds, or else ``inside``.

    One point, or an array of them side by side. ``inside`` may lie below or above ``outside``, and its side is the one
    that the answer errs to: a condition that is only ever wrongly false makes the answer safe, whatever its shape. A
    single point stops early where no float lies between both ends, or where they are within the share ``within`` of it.

    >>> below = last_that_holds(lambda x: x * x <= 2, 0.0, 2.0, 20)
    >>> above = last_that_holds(lambda x: x * x >= 2, 2.0, 0.0, 20)
    >>> f"{below:.6f} < {2**0.5:.6f} < {above:.6f}"
    '1.414213 < 1.414214 < 1.414215'
    """
    good: Any = inside
    bad: Any = outside
    many = isinstance(inside, np.ndarray)
    for _ in range(steps):
        middle = (good + bad) / 2
        if many:
            here = holds(middle)
            good, bad = np.where(here, middle, good), np.where(here, bad, middle)
        elif middle in (good, bad) or abs(good - bad) <= within * max(abs(good), abs(bad)):
            break
        else:
            good, bad = (middle, bad) if holds(middle) else (good, middle)
    answer: Point = good
    return answer
