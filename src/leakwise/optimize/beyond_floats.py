"""Searches over probabilities that floats cannot hold: NumPy's warnings about them say nothing to the user.

What is proven of a design rests on integers. What the floats of a search come to there is at worst NaN, of which a
design makes no claim.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numpy as np

from leakwise.priors import PriorSet

__all__ = ["quiet_beyond_floats"]

P = ParamSpec("P")
Result = TypeVar("Result")

# The least float with all its digits.
_LEAST = 2.0**-1022


def quiet_beyond_floats(search: Callable[P, Result]) -> Callable[P, Result]:
    """Return a search that does not warn of overflow where some value of the prior is rarer than any float."""

    @functools.wraps(search)
    def run(*args: P.args, **options: P.kwargs) -> Result:
        given = args[0] if args else options.get("prior")
        # What is no prior is refused by the search, in its own order of checks.
        nominal = given.nominal if isinstance(given, PriorSet) else None
        tiny = nominal is not None and bool((nominal.probabilities[nominal.support] < _LEAST).any())
        with np.errstate(all="ignore") if tiny else contextlib.nullcontext():
            return search(*args, **options)

    return run
