"""What a mechanism leaks whose outcomes are sets of values, without a list of them: size by size.

For a set S of s values, a and b its weights for a value inside and outside, a ≥ b, the output law is proportional to
b + (a-b)·π(S). So the worst set of a size is the one of the least probable values, and sums over all sets of a size are
sums over the distribution of π(S).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeGuard

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact import log_upper
from leakwise.leakage.measures.arguments import ULP
from leakwise.mechanism import Mechanism, SetMechanism
from leakwise.priors import Prior, PriorSet
from leakwise.types import Bools, Floats

__all__ = ["is_of_sets", "sets_epsilon", "sets_information_bounds", "sets_ldp_ratio", "sets_maximal"]

# Cells of the distribution of π(S) times sizes times values.
_WORK = 60_000_000
_MOST_CELLS = 1 << 13
_ENDS = 1e-11


def is_of_sets(mechanism: Mechanism) -> TypeGuard[SetMechanism]:
    """Return whether the outcomes are sets that are not listed."""
    return isinstance(mechanism, SetMechanism)


def sets_ldp_ratio(mechanism: SetMechanism) -> Fraction | None:
    """Return e^ε of local differential privacy, exact; None where there is none."""
    count = mechanism.shape[0]
    both = [one for one in mechanism.levels if 0 < one.size < count and one.scale * one.inside]
    if any(one.outside == 0 for one in both):
        return None
    return max((Fraction(one.inside, one.outside) for one in both), default=Fraction(1))


def sets_epsilon(mechanism: SetMechanism, prior: PriorSet, letters: Bools | None) -> float:
    """Return the leakage of the worst set over the letters, rounded up.

    Among the sets of one size that have a letter that counts, the lift a / (b + (a-b)·π(S)) falls with π(S): the worst
    one has the least probable letters, and at least one that counts. All others have the lift 1.
    """
    if not isinstance(prior, Prior):
        raise InvalidInput(
            "The leakage of a mechanism with too many outcomes to list is worked out for one prior. Got a set of "
            "priors: lw.ldp bounds it for every prior."
        )
    weights = [int(weight) for weight in prior.weights]
    counts = [True] * len(weights) if letters is None else letters.tolist()
    # Letters of mass zero that do not count fill a set without a cost, but one letter must count.
    order = sorted(range(len(weights)), key=lambda place: (weights[place], not counts[place]))
    first = next(place for place in order if counts[place])
    least = np.cumsum(np.array([weights[place] for place in order if place != first], dtype=np.object_)).tolist()
    total, worst = prior.denominator, Fraction(1)
    for one in mechanism.levels:
        if not one.scale * one.inside or one.size == 0:
            continue
        mass = weights[first] + (least[one.size - 2] if one.size > 1 else 0)
        bottom = one.outside * (total - mass) + one.inside * mass
        if bottom == 0:
            return math.inf
        worst = max(worst, Fraction(one.inside * total, bottom))
    return log_upper(worst)


def sets_maximal(mechanism: SetMechanism, support: Bools | None) -> float:
    """Return log Σ_S max_x P(S|x), rounded up: only sets without a letter that counts have their smaller weight."""
    count = mechanism.shape[0]
    without = 0 if support is None else count - int(support.sum())
    total = 0
    for one in mechanism.levels:
        outside = math.comb(without, one.size)
        total += one.scale * (one.inside * (math.comb(count, one.size) - outside) + one.outside * outside)
    return log_upper(Fraction(total, mechanism.denominator))


def sets_information_bounds(mechanism: SetMechanism, prior: Prior) -> tuple[float, float]:
    """Return bounds on the mutual information from below and above: the same for a uniform prior, close for any other.

    Of a set S with the weights a inside and b outside, ρ = b/a and V = ρ + (1-ρ)·π(S), the part of its size is
    C(k,s)·a·E[-V log V] + (1 - s/k)·C(k,s)·b log ρ. The sets of a size are put into cells by the sum of their rounded
    probabilities. -V log V is concave: a cell counts at most as its mean does (Jensen), and at least as its mean does
    on the chord between the least and the largest π(S) it can have. Only non-negative numbers are added.
    """
    count = mechanism.shape[0]
    inner = [one for one in mechanism.levels if 0 < one.size < count and one.scale * one.inside > 0]
    if not inner:
        return 0.0, 0.0
    cells = _Cells(prior.probabilities, max(one.size for one in inner))
    lower, upper, weights, size = [], [], [], 0.0
    for one in inner:
        weight = float(Fraction(one.scale * one.inside * math.comb(count, one.size), mechanism.denominator))
        weights.append(weight)
        low = one.outside / one.inside
        least, most = cells.entropies(one.size, low)
        outer = (1 - one.size / count) * (low * math.log(low) if low else 0.0)
        lower.append(weight * (least + outer))
        upper.append(weight * (most + outer))
        size += weight * (most - outer)
    # V is off by some units of itself, which -V log V passes on where V is near 1; a·V adds up to the law of all sets.
    slack = (size + 1) * (16 * count + 256) * ULP
    # The ends of a cell are off by some units of 2^-52, at which -V log V is as steep as 40.
    below = slack + _ENDS * math.fsum(weights)
    return max(0.0, math.fsum(lower) - below), max(0.0, math.fsum(upper) + slack)


class _Cells:
    """Of the sets of each size: which share is in each cell, and that share times the mean of π(S) there.

    Letter by letter: of the sets of s of the first n+1 letters, s/(n+1) have the last one.
    """

    def __init__(self, p: Floats, most: int) -> None:
        count = len(p)
        cells = max(2, min(_MOST_CELLS, _WORK // (count * (most + 1))))
        steps = np.rint(p * (cells - 1)).astype(np.int64)
        width = int(steps.sum()) + 1
        self._share, self._mean = np.zeros((most + 1, width)), np.zeros((most + 1, width))
        share, mean = self._share, self._mean
        share[0, 0] = 1.0
        for n, (mass, step) in enumerate(zip(p.tolist(), steps.tolist(), strict=True)):
            top = min(most, n + 1)
            having = (np.arange(1, top + 1) / (n + 1))[:, None]
            end = width - step
            before, before_mean = share[:top, :end].copy(), mean[:top, :end].copy()
            share[1 : top + 1] *= 1 - having
            mean[1 : top + 1] *= 1 - having
            share[1 : top + 1, step:] += having * before
            mean[1 : top + 1, step:] += having * (before_mean + mass * before)
        self._centres = np.arange(width) / (cells - 1)
        missed = np.sort(p - steps / (cells - 1))
        self._least = np.concatenate([[0.0], np.cumsum(missed)])
        self._most = np.concatenate([[0.0], np.cumsum(missed[::-1])])

    def entropies(self, size: int, low: float) -> tuple[float, float]:
        """Return E[-V log V] from below and above, V = low + (1-low)·π(S), over the sets of a size."""
        share, mean = self._share[size], self._mean[size]
        there = share > 0
        share, mean, centre = share[there], mean[there] / share[there], self._centres[there]
        ends = [np.clip(centre + missed[size], 0.0, 1.0) for missed in (self._least, self._most)]
        at = [_entropy(low + (1 - low) * np.minimum(z, 1.0)) for z in (mean, *ends)]
        wide = ends[1] > ends[0]
        where = np.divide(mean - ends[0], ends[1] - ends[0], out=np.zeros_like(mean), where=wide)
        where = np.clip(where, 0.0, 1.0)
        chord = np.where(wide, (1 - where) * at[1] + where * at[2], at[0])
        return float(share @ np.minimum(chord, at[0])), float(share @ at[0])


def _entropy(v: Floats) -> Floats:
    inside = np.where(v > 0, v, 1.0)
    return np.asarray(-inside * np.log(inside))
