"""Convex functions of the lift: the f of f-informations, by name or the user's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput, did_you_mean
from leakwise.types import Floats

__all__ = ["DIVERGENCES", "Convex", "as_convex", "check_convex", "x_log_x"]

Convex = Callable[[Floats], Any]


def x_log_x(x: Floats) -> Floats:
    """Return x log x, 0 at 0."""
    return np.where(x > 0, x * np.log(np.where(x > 0, x, 1.0)), 0.0)


def _half_distance(x: Floats) -> Floats:
    return 0.5 * np.abs(x - 1)


def _square(x: Floats) -> Floats:
    return (x - 1) ** 2


def _hellinger(x: Floats) -> Floats:
    # (1-√x)² without the cancellation near 1
    distance: Floats = ((x - 1) / (1 + np.sqrt(x))) ** 2
    return distance


DIVERGENCES: dict[str, Convex] = {
    "mutual_information": x_log_x,
    "total_variation": _half_distance,
    "chi_square": _square,
    "hellinger": _hellinger,
}
"""The named f; each is 0 at 1, convex, and computed within a few roundings."""


def as_convex(f: Any) -> Convex:
    """Return the f of a name, or the user's own once it has been found convex."""
    if isinstance(f, str):
        if f not in DIVERGENCES:
            raise InvalidInput(
                f"f must be one of {', '.join(sorted(DIVERGENCES))}, or a function. Got {f!r} instead."
                f"{did_you_mean(f, DIVERGENCES)}"
            )
        return DIVERGENCES[f]
    if not callable(f):
        raise InvalidInput(f"f must be a name or a function of an array. Got {f!r} instead.")
    check_convex(f)
    return f  # type: ignore[no-any-return]


def check_convex(f: Convex) -> None:
    """Refuse an f that is not finite on [0, ∞), not 0 at 1, or not convex; the counter-example is in the error.

    Looked for on a grid that is dense around 1, where lifts are, and reaches from 1e-6 to 1e6.
    """
    grid = np.unique(np.concatenate([np.linspace(0.0, 4.0, 401), np.geomspace(1e-6, 1e6, 241)]))
    with np.errstate(all="ignore"):
        try:
            values = np.asarray(f(grid), dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"f must take an array of numbers and give one back: {error}.") from error
    if values.shape != grid.shape or not np.isfinite(values).all():
        bad = "" if values.shape != grid.shape else f" At {grid[~np.isfinite(values)][0]:g} it is not finite."
        raise InvalidInput(f"f must map an array of numbers from 0 on to as many finite numbers, 0 included.{bad}")
    at_one = float(np.asarray(f(np.ones(1)), dtype=np.float64)[0])
    if abs(at_one) > 1e-12:
        raise InvalidInput(f"f must be 0 at 1: an outcome that tells nothing is worth nothing. Got {at_one!r} instead.")
    left, middle, right = grid[:-2], grid[1:-1], grid[2:]
    share = (right - middle) / (right - left)
    chord = share * values[:-2] + (1 - share) * values[2:]
    excess = values[1:-1] - chord
    tolerance = 1e-9 * np.maximum(1.0, np.abs(values[1:-1]))
    if (excess > tolerance).any():
        worst = int(np.argmax(excess - tolerance))
        raise InvalidInput(
            f"f must be convex. At {middle[worst]:g}, between {left[worst]:g} and {right[worst]:g}, it is "
            f"{values[worst + 1]:g}, above the chord value {chord[worst]:g}."
        )
