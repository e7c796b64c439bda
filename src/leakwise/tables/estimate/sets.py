"""Frequencies of values that were released as sets, too many sets to list: from how often each value is in them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Mapping
from functools import partial
from typing import Any

import numpy as np

from leakwise.alphabet import edges_of
from leakwise.errors import InvalidInput, LeakwiseWarning
from leakwise.mechanism import SetMechanism
from leakwise.tables.databases.sql_table import SqlTable
from leakwise.tables.estimate.codes import linear_inversion, onto_simplex
from leakwise.tables.estimate.fit import fits
from leakwise.tables.estimate.intervals import score_interval
from leakwise.tables.estimate.inversion import Inversion
from leakwise.tables.estimate.result import Estimate, GroupedEstimate
from leakwise.tables.formats import is_path
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.joint_columns import plain_alphabet
from leakwise.tables.release.secret_columns import check_data, refuse_names, unnamed
from leakwise.types import Bools, Counts, Floats, Indices

__all__ = ["estimate_sets", "invert_sets"]


def estimate_sets(
    released: Any, mechanism: SetMechanism, column: Hashable, by: Hashable, confidence: float, simultaneous: bool
) -> Estimate | GroupedEstimate:
    """Return the estimate from a released column or table in memory, or from counts of outcomes."""
    if is_path(released) or isinstance(released, SqlTable):
        raise InvalidInput(
            "The outcomes of this mechanism are too many to list: it estimates from a column or a table in memory. "
            f"Got {type(released).__name__} instead; read it first."
        )
    if isinstance(released, Mapping) and column is None and not any(map(frames.is_column, released.values())):
        names, numbers = list(released), np.array([int(count) for count in released.values()], dtype=np.int64)
        if (numbers < 0).any():
            raise InvalidInput("The counts of the outcomes must not be negative.")
        return _estimate(mechanism, mechanism.members(names), numbers, confidence, simultaneous)
    check_data(released, "released")
    if frames.is_column(released):
        refuse_names(column, by)
        outcomes, places = frames.groups_of(released, name="released")
    else:
        if column is None:
            raise unnamed("the table", frames.column_names(released))
        if by == column:
            raise InvalidInput(f"by={by!r} is the released column itself: group by one that was not randomized.")
        outcomes, places = frames.groups_of(frames.column_of(released, column), name=f"column {column!r}")
    sets = mechanism.members(outcomes)
    if by is None:
        return _estimate(mechanism, sets, np.bincount(places, minlength=len(sets)), confidence, simultaneous)
    values, groups = frames.groups_of(frames.column_of(released, by), name=f"column {by!r}")
    share = 1 - (1 - confidence) / len(values) if simultaneous else confidence
    found = {
        value: _estimate(
            mechanism, sets, np.bincount(places[groups == group], minlength=len(sets)), share, simultaneous
        )
        for group, value in enumerate(values)
    }
    return GroupedEstimate(by, found, confidence, simultaneous)


def _estimate(mechanism: SetMechanism, sets: Bools, counts: Counts, confidence: float, simultaneous: bool) -> Estimate:
    if not counts.any():
        raise InvalidInput("released must hold at least one row. Got none, and nothing can be estimated from it.")
    count = mechanism.shape[0]
    # How many values a set has does not depend on the true one: the sizes say whether it is this mechanism.
    sizes = np.bincount(sets.sum(axis=1), counts, count + 1).astype(np.int64)
    law = np.zeros(count + 1)
    for one in mechanism.levels:
        having = math.comb(count - 1, one.size - 1) if one.size else 0
        weight = one.inside * having + one.outside * math.comb(count - 1, one.size)
        law[one.size] = one.scale * weight / mechanism.denominator
    if not fits(sizes, law, len(mechanism.levels)):
        warnings.warn(
            "The outcomes do not fit this mechanism: whatever the true frequencies are, it gives sets of such sizes "
            "less than once in 10⁹ times. They were released by another mechanism, or changed since. Do not use the "
            "estimate.",
            LeakwiseWarning,
            stacklevel=4,
        )
    found = invert_sets(sets, counts, mechanism, confidence=confidence, simultaneous=simultaneous)
    return Estimate(plain_alphabet(mechanism.input_alphabet), found, edges_of(mechanism.input_alphabet))


def invert_sets(
    sets: Bools, counts: Counts, mechanism: SetMechanism, *, confidence: float, simultaneous: bool
) -> Inversion:
    """Recover the frequencies by the mean of an unbiased number of each set, brought onto the simplex.

    Standard errors are those of these unbiased estimates, intervals are score intervals about them. They are not the
    most likely frequencies: ``gap`` says what is missing to those.
    """
    n, size = int(counts.sum()), len(mechanism.inputs)
    weight, own, other = _scores(mechanism)
    if not weight.any():
        raise InvalidInput("The outcomes of this mechanism do not depend on the value: there is nothing to estimate.")
    sizes, even = sets.sum(axis=1), np.arange(size + 1) / size
    # Whole numbers, the same in whatever order the sets come: how many of each size there are, and have each value.
    many = np.bincount(sizes, counts, size + 1) / n
    having = np.zeros((size + 1, size))
    for s in np.flatnonzero(many):
        having[s] = (counts[sizes == s] @ sets[sizes == s]) / n
    above = weight @ having - (weight * even) @ many
    estimate = 1 / size + above
    # The mean of the squares, of w²·(b - s/k)² with a bit b.
    spread = (weight**2 * (1 - 2 * even)) @ having + (weight * even) ** 2 @ many - above**2
    claims = size if simultaneous else 1
    all_ones = np.ones(size)
    low, high = score_interval(estimate, own * all_ones, other * all_ones, n, (1 - confidence) / claims)
    found = onto_simplex(estimate)
    likelihood = _likelihood(sets, counts, mechanism, found)
    covariance = partial(_covariance, sets, counts / n, weight[sizes], even[sizes], n)
    return linear_inversion(found, spread, (low, high), likelihood, n, confidence, simultaneous, covariance)


def _scores(mechanism: SetMechanism) -> tuple[Floats, float, float]:
    """What a bit counts in a set of each size, and the second moments of a value's number.

    The number of value j in a set of s of the k values is 1/k + w(s)·(b_j - s/k) with its bit b_j. By symmetry any w is
    unbiased once it is scaled so that the mean is 1 for the value itself; for the others it is then 0, as all numbers
    of a set add up to 1. This w has the least variance where all values are equally frequent: that of the slope of the
    likelihood there.
    """
    k = len(mechanism.inputs)
    weight, bits = np.zeros(k + 1), np.zeros((k + 1, 2, 2))
    for one in mechanism.levels:
        s = one.size
        weight[s] = (one.inside - one.outside) / (s * one.inside + (k - s) * one.outside)
        # How likely it is that j is in the set, and that it is not: where j is the true value, and where another is.
        ways = (
            (one.inside * _ways(k - 1, s - 1), one.outside * _ways(k - 1, s)),
            (
                one.inside * _ways(k - 2, s - 2) + one.outside * _ways(k - 2, s - 1),
                one.inside * _ways(k - 2, s - 1) + one.outside * _ways(k - 2, s),
            ),
        )
        bits[s] = [[one.scale * way / mechanism.denominator for way in side] for side in ways]
    even = np.arange(k + 1) / k
    mean = float(weight @ (bits[:, 0, 0] * (1 - even) - bits[:, 0, 1] * even))
    if mean <= 0:
        return np.zeros(k + 1), 0.0, 0.0
    weight *= (1 - 1 / k) / mean
    inside, outside = 1 / k + weight * (1 - even), 1 / k - weight * even
    own, other = (float(inside**2 @ bits[:, x, 0] + outside**2 @ bits[:, x, 1]) for x in (0, 1))
    return weight, own, other


def _ways(n: int, k: int) -> int:
    return math.comb(n, k) if 0 <= k <= n else 0


def _likelihood(sets: Bools, counts: Counts, mechanism: SetMechanism, p: Floats) -> tuple[float, float]:
    """Σ c log q(S) at these frequencies, and by how much per row other frequencies can be more likely.

    The latter is the largest Σ_S w(S) P(S|x) / q(S) over the values, less one.
    """
    levels = {one.size: one for one in mechanism.levels}
    sizes = sets.sum(axis=1)
    mass = sets @ p
    total, slope = 0.0, np.zeros(len(p))
    for size in np.unique(sizes[counts > 0]).tolist():
        here = (sizes == size) & (counts > 0)
        one = levels[size]
        top = max(one.inside, one.outside)
        inside, outside = one.inside / top, one.outside / top
        law = outside + (inside - outside) * mass[here]
        if not (law > 0).all():
            return -math.inf, math.inf
        total += float(counts[here] @ np.log(law))
        total += int(counts[here].sum()) * (math.log(one.scale * top) - math.log(mechanism.denominator))
        ratios = counts[here] / counts.sum() / law
        slope += outside * ratios.sum() + (inside - outside) * (ratios @ sets[here])
    return total, max(float(slope.max()) - 1.0, 0.0)


# A function of the module, so that an estimate can be pickled.
def _covariance(sets: Bools, observed: Floats, weight: Floats, even: Floats, n: int, letters: Indices) -> Floats:
    numbers = weight[:, None] * (sets[:, letters] - even[:, None])
    means = observed @ numbers
    return np.asarray(((numbers * observed[:, None]).T @ numbers - np.outer(means, means)) / n)
