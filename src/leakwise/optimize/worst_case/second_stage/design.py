"""On the mask of a level: the mechanism of the best second utility within the leakage, as exact numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from leakwise.alphabet import Alphabet, Label
from leakwise.errors import NotConverged
from leakwise.exact import Level, float_below
from leakwise.exact.simplex import best_mixture
from leakwise.mechanism import DenseKernel, Mechanism
from leakwise.mechanism.catalog import BITS
from leakwise.optimize.finish.finished import with_mass
from leakwise.optimize.finish.utility_interval import utility_interval
from leakwise.optimize.problem.masked_cone import MaskedCone
from leakwise.optimize.problem.utilities import Expected, Utility
from leakwise.optimize.search.limits import Limits
from leakwise.optimize.worst_case.least_leakage import LeastLeakage
from leakwise.optimize.worst_case.mask import Mask
from leakwise.optimize.worst_case.rounding import DUST, round_columns
from leakwise.priors import Prior
from leakwise.types import Bools, Indices

if TYPE_CHECKING:
    from leakwise.optimize.worst_case.second_stage.search import Second

__all__ = ["SecondBest", "exact_kernel", "labelled", "second_best"]

# The second stage is solved at a lift smaller by this, so that its rounding to integers keeps the promise.
_INSIDE = 2.0**-36


@dataclass(frozen=True)
class SecondBest:
    """The mechanism, what its outcomes say, its second utility (rounded down) and what none can beat."""

    mechanism: Mechanism
    says: tuple[Label, ...]
    value: float
    bound: float
    how: str


def second_best(
    prior: Prior, asked: Level, mask: Mask, utility: Utility, limits: Limits, least: LeastLeakage
) -> SecondBest:
    """Return the best second utility among the mechanisms on a mask within the leakage; ``least`` leaks least on it."""
    from leakwise.optimize.worst_case.least_ratio.columns import MaskColumns
    from leakwise.optimize.worst_case.second_stage.search import second_stage

    support = prior.support
    supported, goal = with_mass(prior), utility.on_support(prior)
    columns = MaskColumns(mask.allowed[support], supported.probabilities)
    names = mask.names(prior.alphabet)
    if asked.above == 1:
        return _constant(prior, supported, mask, goal, names)
    inner, outer = float_below(asked.below) * (1 - _INSIDE), float(asked.above) * (1 + 2.0**-50)
    allowed = mask.allowed[support]
    found: list[tuple[DenseKernel, Indices]] = []
    bounds, how = list[float](), ""
    inside = second_stage(columns, supported, goal, inner, outer, limits)
    if inside is not None:
        found += _rounded(supported, asked, allowed, inside, goal)
        bounds, how = [inside.bound], inside.how
    if not found or (columns.usable(inner) != columns.usable(outer)).any():
        # Only the leakage asked for reaches the level, or some output: the columns at that one, in fractions.
        border = second_stage(columns, supported, goal, outer, outer, limits)
        if border is not None:
            # What the least mechanism attains is allowed, also where it lies between the rationals beside e^ε.
            attained = least.certificate.guarantee.ratio
            ratio = asked.below if attained is None else max(asked.below, attained)
            found += _in_fractions(supported, ratio, allowed, border, goal)
            bounds, how = [*bounds, border.bound], border.how
    if not bounds:
        raise NotConverged("The second utility found no mechanism at this level.", lower=-math.inf, upper=math.inf)
    if not found:
        # Neither integers nor fractions keep the promise so close to the border: the mechanism of least leakage does.
        rows = least.mechanism.kernel.weights[support]
        places = np.array([names.index[label] for label in least.mechanism.outputs])
        found = [(DenseKernel(rows, least.mechanism.denominator), places)]
    values = [_value(kernel, outputs, supported, goal) for kernel, outputs in found]
    value = max(values)
    mechanism, says = labelled(*found[values.index(value)], prior, mask, names)
    return SecondBest(mechanism, says, value, max(min(bounds), value), how)


def _constant(prior: Prior, supported: Prior, mask: Mask, goal: Utility, names: Alphabet) -> SecondBest:
    """Without any leakage the answer is constant: the best of those that every letter may give."""
    whole = DenseKernel(np.ones((len(supported), 1), dtype=np.int64), 1)
    free = np.flatnonzero(mask.allowed[prior.support].all(axis=0))
    value, best = max((_value(whole, free[[place]], supported, goal), -place) for place in range(len(free)))
    mechanism, says = labelled(whole, free[[-best]], prior, mask, names)
    # The value is rounded down, by less than this; drawing among constants is no better than the best of them.
    room = 2.0**-40 * (1.0 + abs(value))
    return SecondBest(mechanism, says, value, value + room, "a constant answer")


def _rounded(
    prior: Prior,
    asked: Level,
    allowed: Bools,
    found: Second,
    goal: Utility,
) -> list[tuple[DenseKernel, Indices]]:
    """Integers on the mask, if they keep to the leakage; columns that say the same are added up for ``Expected``."""
    used = found.weights > 0
    parts, outputs = found.lifts[:, used] * found.weights[used], found.outputs[used]
    if isinstance(goal, Expected):
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
    prior: Prior, ratio: Fraction, allowed: Bools, found: Second, goal: Utility
) -> list[tuple[DenseKernel, Indices]]:
    """The best mixture of the columns in fractions, if there is one, for a lift that leaves no room for rounding."""
    from leakwise.optimize.worst_case.second_stage.exact_mixtures import exact_lifts, matrix_of

    lifts, places = exact_lifts(prior, found.lifts, allowed[:, found.outputs], ratio)
    outputs = found.outputs[places]
    dense = np.zeros((len(prior), len(lifts)))
    for place, column in enumerate(lifts):
        dense[list(column), place] = [float(lift) for lift in column.values()]
    weights = best_mixture(lifts, len(prior), found.worth(dense, outputs).tolist())
    if weights is None:
        return []
    groups = outputs.tolist() if isinstance(goal, Expected) else list(range(len(outputs)))
    matrix, used = matrix_of(lifts, weights, groups, len(prior))
    return [(exact_kernel(matrix), np.array(used) if isinstance(goal, Expected) else outputs[used])]


def exact_kernel(matrix: list[list[Fraction]]) -> DenseKernel:
    """Return probabilities in fractions as a kernel over their common denominator."""
    common = math.lcm(*(entry.denominator for row in matrix for entry in row))
    return DenseKernel(np.array([[int(entry * common) for entry in row] for row in matrix], dtype=np.object_), common)


def _value(kernel: DenseKernel, outputs: Indices, prior: Prior, goal: Utility) -> float:
    if not isinstance(goal, Expected):
        return utility_interval(kernel, prior, goal)[0]
    terms = prior.probabilities[:, None] * kernel.matrix * goal.gains(prior)[:, outputs]
    size = float(np.abs(terms).sum()) + 1.0
    return math.fsum(terms.ravel().tolist()) - size * 8 * 2.0**-52


def labelled(
    kernel: DenseKernel, outputs: Indices, prior: Prior, mask: Mask, names: Alphabet
) -> tuple[Mechanism, tuple[Label, ...]]:
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
    says = tuple(names.labels[place] for place in outputs)
    counted: dict[Label, int] = {}
    labels: list[Label] = []
    for label in says:
        counted[label] = counted.get(label, 0) + 1
        labels.append(label if says.count(label) == 1 else f"{label} #{counted[label]}")
    chosen = Alphabet(labels, name="outcomes", declared=True)
    return Mechanism.from_kernel(DenseKernel(weights, kernel.denominator), prior.alphabet, chosen), says
