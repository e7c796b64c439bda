"""The bound of a claim about mechanisms of limited maximal leakage, Σ_j max v_j ≤ B.

For duals y and a price θ ≥ 0 of the total no mechanism is worth more than Σ y + θ + max [μ(λ) - y·λ - (θ/B) max λ]. The
maximum is at the indicator of a set of letters, all of which are listed, or at a lift vector that reaches the largest
lift t: for those -(θ/B) t is a constant. Without duals, ψ(B) = f(0) + (f(B) - f(0))/B bounds an f-information for which
ψ is concave, as it is for those with names, and (tr √D)²/(B - 1) the variance of the frequencies.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from leakwise.errors import CertificateRejected
from leakwise.exact import float_above, float_below
from leakwise.priors import Prior
from leakwise.proof.optimality.boxes import largest_in_box
from leakwise.proof.optimality.claim import OptimalityClaim
from leakwise.proof.optimality.functions import FUNCTIONS, Function, Late, fill, highest, sum_up
from leakwise.types import Floats

__all__ = ["total_bound"]

_MOST_LETTERS = 18
_MISFIT = "The proof of optimality does not fit the prior it speaks of."


def total_bound(claim: OptimalityClaim, prior: Prior, late: Late) -> float:
    """Return the bound that a claim about a limited total proves; the claimed one where it does."""
    assert claim.total is not None
    if claim.total < 1 or claim.low or claim.ldp is not None or claim.kept is not None or claim.high is None:
        raise CertificateRejected(_MISFIT)
    p = prior.probabilities[prior.support]
    if claim.utility == "frequencies":
        return _frequencies(p, claim.total) if claim.total > 1 else math.inf
    if claim.utility in FUNCTIONS and not len(claim.duals):
        return _concave(FUNCTIONS[claim.utility], claim.total)
    if len(claim.duals) != len(p) + 1:
        raise CertificateRejected(_MISFIT)
    y, price = claim.duals[:-1], float(claim.duals[-1])
    if not price >= 0 or not p.all():
        return math.inf
    start = sum_up(claim.duals)
    room = claim.bound - start - abs(start) * 2.0**-50
    share = price / float_above(claim.total) * (1 - 2.0**-50)
    if claim.utility in FUNCTIONS:
        weights = [int(weight) for weight in prior.weights[prior.support]]
        found = _information(FUNCTIONS[claim.utility], weights, (p, y), share, float_above(claim.high), room, late)
    else:
        gains = np.eye(len(prior.support)) if claim.gains is None else claim.gains
        values = gains[prior.support] * p[:, None] - y[:, None]
        found = highest(_linear(column, p, share, float_above(claim.high)) for column in values.T)
    return claim.bound if found <= room else start + max(found, 0.0) + (abs(start) + abs(found)) * 2.0**-48


def _frequencies(p: Floats, total: Fraction) -> float:
    """Minus (tr √D)²/(B - 1): the eigenvalues but the first, which is that of √π and 0, less what they may be off."""
    root = np.sqrt(p)
    across = np.eye(len(p)) - np.outer(root, root)
    values = np.linalg.eigvalsh((across * p) @ across)[1:] - (len(p) + 8) * 2.0**-48
    spread = float(np.sqrt(np.maximum(values, 0.0)).sum()) * (1 - len(p) * 2.0**-50)
    return -(spread**2) / float_above(total - 1) * (1 - 2.0**-48)


def _concave(f: Function, total: Fraction) -> float:
    ends = f(np.array([0.0, float_below(total), float_above(total)]))
    low, rise = float(ends[0]), float(ends[1:].max()) - float(ends[0])
    return low + rise / float(float_below(total) if rise > 0 else float_above(total)) + 2.0**-45


def _sums(values: Floats) -> Floats:
    """The sums over all sets of letters but the empty one, in the order of binary numbers."""
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums, sums + value])
    return sums[1:]


def _information(
    f: Function,
    weights: list[int],
    known: tuple[Floats, Floats],
    share: float,
    high: float,
    room: float,
    late: Late,
) -> float:
    """A number above the reduced cost of every indicator, and of all lift vectors that reach the largest lift."""
    p, y = known
    if len(p) > _MOST_LETTERS:
        return math.inf
    mass, units = np.minimum(_sums(p), 1.0), (len(p) + 32) * 2.0**-49
    allowed = mass * high * (1 + units) >= 1
    at_zero = float(f(np.zeros(1))[0])
    gain = mass * np.maximum(f(1 / mass * (1 + units)), f(1 / mass * (1 - units))) + (1 - mass) * at_zero
    costs = gain - (_sums(y) + share) / mass
    error = (np.abs(gain) + abs(at_zero) + (_sums(np.abs(y)) + share) / mass + 1) * units
    largest = float((costs + error)[allowed].max())
    if high * float(p.min()) < 1:
        free = share * high * (1 - 2.0**-50)
        goal = (room + free) * (1 - math.copysign(2.0**-51, room + free))
        found = largest_in_box(f, weights, p, y, 0.0, high, goal, late)
        # What is shown to be within the goal is within the room: the difference, rounded, may be a hair above it.
        largest = max(largest, room if found <= goal else found - free + (abs(found) + free) * 2.0**-50)
    return largest


def _linear(gains: Floats, p: Floats, share: float, high: float) -> float:
    """A number above gains·λ - share·max λ: largest where the best letters per mass, and no others, have one lift."""
    order = np.argsort(-gains / p, kind="stable")
    levels = 1 / np.minimum(np.cumsum(p[order]), 1.0)
    levels = np.append(levels[levels < high], min(high, 1 / float(p.min()) * (1 + 2.0**-45)))
    floor = np.zeros(len(p))
    most = [fill(gains, p, floor, np.full(len(p), m * (1 + 2.0**-45))) - share * m * (1 - 2.0**-45) for m in levels]
    return highest(most)
