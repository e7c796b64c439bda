"""On the mask of a level: the mechanism of the best second utility within the leakage, as exact numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from leakwise.alphabet import Label
from leakwise.errors import NotConverged
from leakwise.exact import Level, float_below
from leakwise.exact.simplex import best_mixture
from leakwise.mechanism import DenseKernel, Mechanism
from leakwise.mechanism.catalog import BITS
from leakwise.optimize.finish.finished import Solution
from leakwise.optimize.problem.masked_cone import MaskedCone
from leakwise.optimize.problem.utility import Utility, with_mass
from leakwise.optimize.search.limits import Found, Limits
from leakwise.optimize.worst_case.least_leakage import LeastLeakage
from leakwise.optimize.worst_case.mask import Mask
from leakwise.optimize.worst_case.rounding import DUST, round_columns
from leakwise.priors import Prior
from leakwise.types import Bools, Indices

__all__ = ["exact_kernel", "labelled", "second_best"]

# The second stage is solved at a lift smaller by this, so that its rounding to integers keeps the promise.
_INSIDE = 2.0**-36


def second_best(
    prior: Prior, asked: Level, mask: Mask, utility: Utility, limits: Limits, least: LeastLeakage
) -> tuple[Solution, tuple[Label, ...]]:
    """Return the best second utility among the mechanisms on a mask within the leakage; ``least`` leaks least on it.

    Its value is that of the second utility, and so is its bound. Beside it, what its outcomes say.
    """
    from leakwise.optimize.worst_case.least_ratio.columns import MaskColumns
    from leakwise.optimize.worst_case.second_stage.search import second_stage

    support = prior.support
    supported, goal = with_mass(prior), utility.restricted(prior)
    allowed, names = mask.allowed[support], mask.names(prior.alphabet)
    found: list[tuple[DenseKernel, Indices]] = []
    bounds, how = list[float](), "a constant answer"
    if asked.above == 1:
        # Without any leakage the answer is constant: the best of those that every letter may give.
        whole = DenseKernel(np.ones((len(supported), 1), dtype=np.int64), 1)
        found = [(whole, np.array([place])) for place in np.flatnonzero(allowed.all(axis=0)).tolist()]
    else:
        columns = MaskColumns(allowed, supported.probabilities)
        inner, outer = float_below(asked.below) * (1 - _INSIDE), float(asked.above) * (1 + 2.0**-50)
        inside = second_stage(columns, supported, goal, inner, outer, limits)
        if inside is not None:
            found += _rounded(supported, asked, allowed, inside.found, goal)
            bounds, how = [inside.found.bound], inside.how
        if not found or (columns.usable(inner) != columns.usable(outer)).any():
            # Only the leakage asked for reaches the level, or some output: the columns at that one, in fractions.
            border = second_stage(columns, supported, goal, outer, outer, limits)
            if border is not None:
                # What the least mechanism attains is allowed, also where it lies between the rationals beside e^ε.
                attained = least.certificate.guarantee.ratio
                ratio = asked.below if attained is None else max(asked.below, attained)
                found += _in_fractions(supported, ratio, allowed, border.found, goal)
                bounds, how = [*bounds, border.found.bound], border.how
        if not bounds:
            raise NotConverged("The second utility found no mechanism at this level.", lower=-math.inf, upper=math.inf)
    if not found:
        # Neither integers nor fractions keep the promise so close to the border: the mechanism of least leakage does.
        rows = least.mechanism.kernel.weights[support]
        places = np.array([names.index[label] for label in least.mechanism.outputs])
        found = [(DenseKernel(rows, least.mechanism.denominator), places)]
    values = [goal.interval(kernel, supported, outputs)[0] for kernel, outputs in found]
    value = max(values)
    mechanism, says = labelled(*found[values.index(value)], prior, mask)
    # A constant's value is rounded down, by less than this; drawing among constants is no better than the best of them.
    bound = max(min(bounds), value) if bounds else value + 2.0**-40 * (1.0 + abs(value))
    return Solution(mechanism.kernel, bound, how, mechanism=mechanism, value=value), says


def _rounded(
    prior: Prior, asked: Level, allowed: Bools, found: Found, goal: Utility
) -> list[tuple[DenseKernel, Indices]]:
    """Integers on the mask, if they keep to the leakage; columns are added up where only what they say counts."""
    assert found.labels is not None  # every column of a mask says something
    used = found.weights > 0
    parts, outputs = found.lifts[:, used] * found.weights[used], found.labels[used]
    if goal.said:
        different = np.unique(outputs)
        parts = np.stack([parts[:, outputs == output].sum(axis=1) for output in different], axis=1)
        outputs = different
    parts = np.where((parts > 2.0**-54) & (parts.max(axis=0) > DUST), parts, 0.0)
    matrix = round_columns(parts, BITS)
    some = np.flatnonzero(matrix.any(axis=0))
    matrix, outputs = matrix[:, some], outputs[some]
    for column, output in zip(matrix.T.tolist(), outputs.tolist(), strict=True):
        if not MaskedCone(prior, asked.below, allowed[:, output]).contains(column):
            return []
    return [(DenseKernel(matrix, 1 << BITS), outputs)]


def _in_fractions(
    prior: Prior, ratio: Fraction, allowed: Bools, found: Found, goal: Utility
) -> list[tuple[DenseKernel, Indices]]:
    """The best mixture of the columns in fractions, if there is one, for a lift that leaves no room for rounding."""
    from leakwise.optimize.worst_case.second_stage.exact_mixtures import exact_lifts, matrix_of

    assert found.labels is not None  # every column of a mask says something
    lifts, places = exact_lifts(prior, found.lifts, allowed[:, found.labels], ratio)
    outputs = found.labels[places]
    dense = np.zeros((len(prior), len(lifts)))
    for place, column in enumerate(lifts):
        dense[list(column), place] = [float(lift) for lift in column.values()]
    weights = best_mixture(lifts, len(prior), goal.worth_said(dense, outputs, prior).tolist())
    if weights is None:
        return []
    matrix, used = matrix_of(lifts, weights, outputs.tolist() if goal.said else range(len(outputs)), len(prior))
    return [(exact_kernel(matrix), np.array(used) if goal.said else outputs[used])]


def exact_kernel(matrix: list[list[Fraction]]) -> DenseKernel:
    """Return probabilities in fractions as a kernel over their common denominator."""
    common = math.lcm(*(entry.denominator for row in matrix for entry in row))
    return DenseKernel(np.array([[int(entry * common) for entry in row] for row in matrix], dtype=np.object_), common)


def labelled(kernel: DenseKernel, outputs: Indices, prior: Prior, mask: Mask) -> tuple[Mechanism, tuple[Label, ...]]:
    """Return the mechanism over all declared letters, its outcomes named after what they say."""
    weights = kernel.weights
    support = prior.support
    if not support.all():
        full = np.zeros((len(prior), weights.shape[1]), dtype=weights.dtype)
        full[support] = weights
        for letter in np.flatnonzero(~support):
            may = np.flatnonzero(mask.allowed[letter][outputs])
            if not len(may):
                # It has no mass, so that an outcome of its own never occurs and leaks nothing.
                outputs = np.append(outputs, np.flatnonzero(mask.allowed[letter])[0])
                full = np.concatenate([full, np.zeros((len(prior), 1), dtype=full.dtype)], axis=1)
                may = np.array([full.shape[1] - 1])
            full[letter, may[0]] = kernel.denominator
        weights = full
    says = tuple(mask.names(prior.alphabet).labels[place] for place in outputs)
    return mask.mechanism(DenseKernel(weights, kernel.denominator), outputs, prior.alphabet), says
