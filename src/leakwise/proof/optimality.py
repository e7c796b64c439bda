"""Proof that no mechanism does better, checked by code of its own.

The claim: every mechanism whose lifts lie in [low, high] for the prior has utility at most ``bound``. For any dual
vector y,

    U* ≤ Σ y + max_λ [μ(λ) - y·λ]   over lift vectors λ, π·λ = 1, low ≤ λ ≤ high,

so the claim is y, and checking it is bounding that maximum. For gains it is a continuous knapsack per guess. For
f-informations it is the same knapsack with chords; where that is not enough, all vertices that could exceed the claim
are listed: a vertex has one free letter, and loses against the chord what f lies below its chord there, so only free
lifts close to an end of
their range matter. Letter by letter, with sorted halves of its own. Everything is rounded against the claim.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import msgspec
import numpy as np
import numpy.typing as npt

from leakwise.documents import read_integer, write_integer
from leakwise.errors import CertificateRejected, InvalidInput
from leakwise.mechanism import Mechanism
from leakwise.priors import Prior

__all__ = ["OptimalityBody", "OptimalityClaim", "check_optimality", "claim_from_body", "claim_to_body"]

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats], Floats]

_MOST_LISTED = 4_000_000
_LONGEST_HALF = 1 << 21


def _entropy(x: Floats) -> Floats:
    positive = np.where(x > 0, x, 1.0)
    return positive * np.log(positive) * (x > 0)


_FUNCTIONS: dict[str, Function] = {
    "mutual_information": _entropy,
    "total_variation": lambda x: np.abs(x - 1) / 2,
    "chi_square": lambda x: x * x - 2 * x + 1,
    "hellinger": lambda x: 1 + x - 2 * np.sqrt(x),
}


class OptimalityBody(msgspec.Struct, forbid_unknown_fields=True):
    """The claim in a file: rationals as pairs of integers, floats as exact hexadecimal text."""

    utility: str
    low: tuple[str, str]
    high: tuple[str, str]
    value: str
    bound: str
    duals: list[str]
    gains: list[list[str]] | None = None


@dataclass(frozen=True, eq=False)
class OptimalityClaim:
    """No mechanism within the lifts [low, high] has a utility above ``bound``; this one has at least ``value``.

    ``utility`` names an f-information or is ``"gain"`` with the matrix ``gains`` (letters × guesses); ``duals``
    holds one number per letter of positive mass.
    """

    utility: str
    low: Fraction
    high: Fraction
    value: float
    bound: float
    duals: Floats
    gains: Floats | None = None

    @staticmethod
    def speaks_of(utility: str) -> bool:
        """Whether the checker knows a utility by name."""
        return utility in _FUNCTIONS


def claim_to_body(claim: OptimalityClaim) -> OptimalityBody:
    """A claim as it is stored."""
    low, high = ((write_integer(end.numerator), write_integer(end.denominator)) for end in (claim.low, claim.high))
    gains = None if claim.gains is None else [[float(gain).hex() for gain in row] for row in claim.gains]
    duals = [float(dual).hex() for dual in claim.duals]
    return OptimalityBody(claim.utility, low, high, claim.value.hex(), claim.bound.hex(), duals, gains)


def claim_from_body(body: OptimalityBody, mechanism: Mechanism, name: str) -> OptimalityClaim:
    """A stored claim, unchecked but well formed."""
    try:
        low, high = (Fraction(read_integer(a, name), read_integer(b, name)) for a, b in (body.low, body.high))
        value, bound = float.fromhex(body.value), float.fromhex(body.bound)
        duals = np.array([float.fromhex(dual) for dual in body.duals])
        gains = None if body.gains is None else np.array([[float.fromhex(gain) for gain in row] for row in body.gains])
    except (ValueError, ZeroDivisionError, OverflowError) as error:
        raise InvalidInput(f"{name!r} is not a valid certificate: its proof of optimality is damaged.") from error
    known = body.utility in _FUNCTIONS if gains is None else gains.ndim == 2 and len(gains) == mechanism.shape[0]
    if not known or not (math.isfinite(value) and math.isfinite(bound)):
        raise InvalidInput(f"{name!r} is not a valid certificate: its proof of optimality speaks of something else.")
    return OptimalityClaim(body.utility, low, high, value, bound, duals, gains)


def check_optimality(claim: OptimalityClaim, mechanism: Mechanism, prior: Prior) -> None:
    """Raise CertificateRejected unless both sides of the claim follow from the integers and the duals."""
    here = prior.support
    p = prior.probabilities[here]
    if len(claim.duals) != len(p) or not np.isfinite(claim.duals).all() or claim.low > 1 or claim.high < 1:
        raise CertificateRejected("The proof of optimality does not fit the prior it speaks of.")
    law = prior.probabilities @ mechanism.matrix
    lifts = mechanism.matrix[here][:, law > 0] / law[law > 0]
    value, slack = _utility(claim, lifts, law[law > 0], p, here)
    if value + slack < claim.value:
        raise CertificateRejected(f"The mechanism has utility {value:.12g}, less than the {claim.value:.12g} claimed.")
    room = claim.bound - _sum_up(claim.duals)
    if not _nothing_above(claim, prior, p, here, room):
        raise CertificateRejected(
            f"The duals do not prove that nothing is better than {claim.bound:.12g}. Do not rely on the bound."
        )


def _sum_up(values: Floats) -> float:
    return math.fsum(values) + float(np.abs(values).sum()) * 2.0**-52


def _utility(
    claim: OptimalityClaim, lifts: Floats, law: Floats, p: Floats, here: npt.NDArray[np.bool_]
) -> tuple[float, float]:
    if claim.gains is not None:
        scores = (claim.gains[here] * p[:, None]).T @ lifts
        value = float(law @ scores.max(axis=0))
        size = float(np.abs(claim.gains).max())
    else:
        f = _FUNCTIONS[claim.utility]
        value, size = float(law @ (p @ f(lifts))), float(lifts.max())
    return value, (abs(value) + size + 1) * (len(p) + 32) * 2.0**-50


def _nothing_above(claim: OptimalityClaim, prior: Prior, p: Floats, here: npt.NDArray[np.bool_], room: float) -> bool:
    """Whether μ(λ) - y·λ ≤ room for every lift vector."""
    low, high = float(claim.low) * (1 - 2.0**-52), float(claim.high) * (1 + 2.0**-52)
    y = claim.duals
    if claim.gains is not None:
        gains = claim.gains[here] * p[:, None] - y[:, None]
        return all(_fill(column, p, np.full(len(p), low), np.full(len(p), high)) <= room for column in gains.T)
    f = _FUNCTIONS[claim.utility]
    floor = np.maximum(low, (1 - high * (1 - p)) / p * (1 - 2.0**-50) - 2.0**-50)
    ceiling = np.minimum(high, (1 - low * (1 - p)) / p * (1 + 2.0**-50))
    width = ceiling - floor
    slope = np.divide(f(ceiling) - f(floor), width, out=np.zeros(len(p)), where=width > 0)
    start = p * (f(floor) - slope * floor)
    chord = _sum_up(start) + _fill(p * slope - y, p, floor, ceiling)
    if chord <= room:
        return True
    weights = [int(weight) for weight in prior.weights[here]]
    return _list_vertices(f, weights, p, y, (low, high), (floor, ceiling), chord, room)


def _fill(gains: Floats, p: Floats, floor: Floats, ceiling: Floats) -> float:
    """max gains·λ over π·λ = 1 in the box, rounded up: raise the letters in order of gain per mass."""
    order = np.argsort(-gains / p)
    left = 1 - math.fsum(p * floor)
    terms = list(gains * floor)
    for letter in order:
        step = min(left, p[letter] * (ceiling[letter] - floor[letter]))
        if step <= 0:
            break
        terms.append(step * gains[letter] / p[letter])
        left -= step
    return math.fsum(terms) + math.fsum(map(abs, terms)) * (len(p) + 16) * 2.0**-51


def _list_vertices(
    f: Function,
    weights: list[int],
    p: Floats,
    y: Floats,
    ends: tuple[float, float],
    box: tuple[Floats, Floats],
    chord: float,
    room: float,
) -> bool:
    """List every vertex that could exceed the room, free letter by free letter, and look at each."""
    low, high = ends
    kinds: dict[tuple[int, float], list[int]] = {}
    for letter, weight in enumerate(weights):
        kinds.setdefault((weight, float(y[letter])), []).append(letter)
    groups = list(kinds.values())
    mass = np.array([p[group[0]] for group in groups])
    dual = np.array([y[group[0]] for group in groups])
    count = np.array([len(group) for group in groups])
    at_low, at_high = (float(f(np.array([end]))[0]) for end in ends)
    gain = mass * (at_high - at_low) - dual * (high - low)
    base = float(count @ (mass * at_low - dual * low))
    listed = 0
    error = (float(np.abs(y).sum()) * high + abs(at_high) + abs(at_low) + 1) * (len(p) + 32) * 2.0**-50
    for free, group in enumerate(groups):
        sizes = count.copy()
        sizes[free] -= 1
        halves = [_choices(mass[part], gain[part], sizes[part]) for part in (slice(0, None, 2), slice(1, None, 2))]
        if any(half is None for half in halves):
            return False
        first, second = halves
        assert first is not None
        assert second is not None
        letter = group[0]
        for start, stop in _close_ends(f, p[letter], box[0][letter], box[1][letter], chord - room + error):
            # The free lift in [start, stop] leaves this much mass to be raised by the others.
            most = (1 - low - p[letter] * (start - low)) / (high - low) + 1e-13
            least = (1 - low - p[letter] * (stop - low)) / (high - low) - 1e-13
            left = np.searchsorted(second[0], least - first[0])
            right = np.searchsorted(second[0], most - first[0], side="right")
            number = np.maximum(right - left, 0)
            total = int(number.sum())
            listed += total
            if listed > _MOST_LISTED:
                return False
            one = np.repeat(np.arange(len(number)), number)
            other = np.arange(total) - np.repeat(np.cumsum(number) - number, number) + np.repeat(left, number)
            raised = first[0][one] + second[0][other]
            lift = np.clip(low + (1 - low - (high - low) * raised) / p[letter], low, high)
            own = p[letter] * (f(lift) - at_low) - y[letter] * (lift - low)
            cost = base + first[1][one] + second[1][other] + own
            if total and float(cost.max()) + error > room:
                return False
    return True


def _choices(mass: Floats, gain: Floats, sizes: npt.NDArray[np.int64]) -> tuple[Floats, Floats] | None:
    """Masses and gains of all choices within a half, sorted by mass; None when there are too many."""
    if float(np.log2(sizes + 1.0).sum()) > math.log2(_LONGEST_HALF):
        return None
    masses, gains = np.zeros(1), np.zeros(1)
    for one_mass, one_gain, size in zip(mass, gain, sizes, strict=True):
        steps = np.arange(size + 1)
        masses = np.add.outer(steps * one_mass, masses).ravel()
        gains = np.add.outer(steps * one_gain, gains).ravel()
    order = np.argsort(masses)
    return masses[order], gains[order]


def _close_ends(f: Function, p: float, start: float, stop: float, limit: float) -> list[tuple[float, float]]:
    """The two ends of [start, stop] within which π(chord - f) is at most ``limit``, rounded outwards."""
    ends = f(np.array([start, stop]))

    def loss(x: float) -> float:
        share = (x - start) / (stop - start) if stop > start else 0.0
        return float(p * (ends[0] + share * (ends[1] - ends[0]) - f(np.array([x]))[0]))

    grid = np.linspace(start, stop, 257)
    peak = float(grid[int(np.argmax([loss(x) for x in grid]))])
    if loss(peak) <= limit:
        return [(start, stop)]
    cuts = []
    for end in (start, stop):
        inside, outside = end, peak
        for _ in range(200):
            middle = (inside + outside) / 2
            if middle in (inside, outside):
                break
            inside, outside = (middle, outside) if loss(middle) <= limit else (inside, middle)
        cuts.append(outside)
    return [(start, cuts[0]), (cuts[1], stop)]
