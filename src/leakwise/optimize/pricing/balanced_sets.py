"""Sets of letters in which every two letters meet equally often: where a search for frequencies starts.

Letters are words of the simplex code over a prime q: the values at one point of each line of all linear functions in m
unknowns. Any two words agree at equally many places, so that the blocks "the word has this symbol here", or any
other symbol, treat all pairs of letters alike, and blocks of several symbols nearly so. For q = 2 they are the columns
of a Hadamard matrix. Where a share is too small for codes, sets are turned around a circle of the letters. All sets of
one size treat all pairs alike, too (subset selection): where there are few enough, nothing is better for a uniform
prior.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from leakwise.optimize.problem.cones import Cone, LiftBox
from leakwise.optimize.problem.lift_range import LiftRange
from leakwise.types import Bools, Floats

__all__ = ["balanced_sets", "cyclic_sets", "every_set", "raised_share", "set_columns"]

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23)
_TRIES = 40
_SHARES = 1000
_AS_GOOD = 1e-2  # relative, what steps between shares may make of it
_NOISE = 0.1  # beside 1 for the letters of a set: in which order others are taken in, or some left out
_UNEVEN = 0.03  # several symbols must come so much closer: they are not quite balanced
_PER_SYMBOL = 2e-3  # a larger alphabet must come so much closer to the share


def balanced_sets(size: int, share: float, most: int, generator: np.random.Generator) -> Bools:
    """Return up to ``most`` sets (N × K) that hold about this share of the letters, none where no code is so short."""
    code = _code(size, share, most)
    if code is None:
        return np.empty((size, 0), dtype=bool)
    q, raised, digits, places = code
    points = _points(q, digits)
    found = []
    for _ in range(most // (q * places)):
        words = generator.permutation(q**digits)[:size]
        symbols = (words[:, None] // q ** np.arange(digits)) % q
        values = (symbols @ points) % q
        order = generator.permutation(q)
        for first in range(q):
            chosen = np.zeros(q, dtype=bool)
            chosen[order[(first + np.arange(raised)) % q]] = True
            found.append(chosen[values])
    return np.concatenate(found, axis=1)


def cyclic_sets(size: int, share: float, most: int, generator: np.random.Generator) -> Bools:
    """Return up to ``most`` sets of about this share: some turned by every step, with differences spread evenly."""
    raised = min(max(round(size * share), 1), size - 1)
    met = np.zeros(size)  # how often letters so many steps apart are in a set together
    found = []
    for _ in range(max(1, most // size) if raised not in (1, size - 1) else 1):
        tries = [generator.permutation(size)[:raised] for _ in range(_TRIES)]
        steps = [np.bincount(((chosen[:, None] - chosen) % size).ravel(), minlength=size) for chosen in tries]
        best = min(range(_TRIES), key=lambda number: float(((met + steps[number])[1:] ** 2).sum()))
        met += steps[best]
        chosen = np.zeros(size, dtype=bool)
        chosen[tries[best]] = True
        found.append(chosen[(np.arange(size)[:, None] - np.arange(size)) % size])
    return np.concatenate(found, axis=1)


def every_set(size: int, raised: int, most: int) -> Bools:
    """Return all sets of so many letters, none where there are more than ``most``."""
    raised = min(max(raised, 1), size - 1)
    if math.comb(size, raised) > most:
        return np.empty((size, 0), dtype=bool)
    chosen = np.array(list(itertools.combinations(range(size), raised)))
    sets = np.zeros((size, len(chosen)), dtype=bool)
    np.put_along_axis(sets, chosen.T, True, axis=0)
    return sets


def raised_share(cone: Cone) -> float:
    """Return the share of the mass to raise for which the lifts of an outcome are largest in the mean of squares."""
    where = cone.lift_range()
    if where is None:
        least, most = (float(np.median(end)) for end in cone.entry_box())
        return (1 - least) / max(most - least, 1e-9)
    return _best_levels(where)[0]


def set_columns(cone: Cone, sets: Bools, generator: np.random.Generator) -> Floats:
    """Return the sets made columns, by a knapsack that prefers their letters and takes others in a random order.

    Where no levels serve better than the two ends of a box, all columns have these: a set that is a little too heavy
    for them rather loses some letters than that all its lifts are lower.
    """
    wishes = cone.prior.probabilities[:, None] * (sets + _NOISE * generator.random(sets.shape))
    where = cone.lift_range()
    if where is not None:
        best = _best_levels(where)[1]
        for low, high in where.boxes():
            if float(low + high - low * high) >= best * (1 - _AS_GOOD):
                return LiftBox(cone.prior, low, high).linear_max(wishes)[1]
    return cone.linear_max(wishes)[1]


def _best_levels(where: LiftRange) -> tuple[float, float]:
    """The share of the mass to raise for the largest mean of squares of two levels, and that mean."""
    shares = np.arange(1, _SHARES) / _SHARES
    low, high, real = where.levels(shares, 1 - shares)
    squares = np.where(real, shares * high**2 + (1 - shares) * low**2, 0.0)
    return float(shares[squares.argmax()]), float(squares.max())


def _code(size: int, share: float, most: int) -> tuple[int, int, int, int] | None:
    """The prime, how many of its symbols, the unknowns and the places, for the blocks closest to the share."""
    best: tuple[float, tuple[int, int, int, int]] | None = None
    for q in _PRIMES:
        digits = max(1, math.ceil(math.log(size, q) - 1e-9))
        places = (q**digits - 1) // (q - 1)
        if q * places > most:
            continue
        raised = min(max(round(q * share), 1), q - 1)
        miss = abs(raised / q - share) + _PER_SYMBOL * q + (0.0 if raised in (1, q - 1) else _UNEVEN)
        if best is None or miss < best[0]:
            best = miss, (q, raised, digits, places)
    return None if best is None else best[1]


def _points(q: int, digits: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """One point of each line through the origin, as columns: those whose last coordinate other than zero is one."""
    blocks = []
    for leading in range(digits):
        numbers = np.arange(q**leading)
        block = np.zeros((digits, len(numbers)), dtype=np.int64)
        block[:leading] = (numbers[None, :] // q ** np.arange(leading)[:, None]) % q
        block[leading] = 1
        blocks.append(block)
    return np.concatenate(blocks, axis=1)
