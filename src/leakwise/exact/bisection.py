"""Bisection with a stated side of the truth: the answer is a point at which the condition was seen to hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from leakwise.types import Floats

__all__ = ["last_that_holds"]

Point = TypeVar("Point", float, Floats)


def last_that_holds(holds: Callable[[Point], Any], inside: Point, outside: Point, steps: int) -> Point:
    """Return the point nearest to ``outside``, of those tried, at which the condition holds, or else ``inside``.

    One point, or an array of them side by side. ``inside`` may lie below or above ``outside``, and its side is the one
    that the answer errs to: a condition that is only ever wrongly false makes the answer safe, whatever its shape.

    >>> last_that_holds(lambda x: x * x <= 2, 0.0, 2.0, 50) ** 2 <= 2
    True
    """
    good: Any = inside
    bad: Any = outside
    for _ in range(steps):
        middle = (good + bad) / 2
        here = holds(middle)
        if isinstance(here, np.ndarray):
            good, bad = np.where(here, middle, good), np.where(here, bad, middle)
        else:
            good, bad = (middle, bad) if here else (good, middle)
    answer: Point = good
    return answer
