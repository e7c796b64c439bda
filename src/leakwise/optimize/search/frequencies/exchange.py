"""Many letters: a given number of columns, of which the least useful ones are exchanged for better ones.

The start is a balanced set of columns, whose J is nearly the best already. A round moves each weight in proportion to
what its column is worth, finds new columns by climbing the linearised utility from random starts (a continuous
knapsack), of which those join that are worth most together, in the place of those with the least reduced cost. Fewer
are exchanged from round to round.
"""

from __future__ import annotations

import numpy as np

from leakwise.optimize.pricing.balanced_sets import (
    balanced_sets,
    cyclic_sets,
    every_set,
    raised_share,
    set_columns,
)
from leakwise.optimize.problem.cones import Cone
from leakwise.optimize.search.frequencies.aim import TRACE, Aim
from leakwise.optimize.search.frequencies.growth import climb, together
from leakwise.optimize.search.frequencies.weights import (
    Linearised,
    adding_up,
    interior,
    least_variance,
    linearised,
    regular,
)
from leakwise.optimize.search.limits import Limits
from leakwise.types import Floats

__all__ = ["exchanged", "rounds_of"]

_FIRST, _LAST = 0.03, 0.003  # of the columns are exchanged, in the first round and in the last
_CHORD = 0.8  # of the diagonal, what counts as linear
_TRIED = ((64, 8), (150, 6))  # up to so many letters, so many columns are climbed for one that joins
_TRIED_ELSE = 3
_POWER = 0.5  # of what a column is worth beyond what is asked of it, by which its weight moves
_LIGHT = 0.05  # how much the logarithm of its weight counts for a column, beside its reduced cost
_NEW = 0.5  # of the median, the weight that a new column begins with
_ADDS_UP = 1e-8
_CLOSE_ENOUGH = 1e-4  # a relative gap that nobody's intervals notice
_FINE = 1100  # columns, up to which the weights are found by Newton's method in the end
_SMALL = 450  # columns, up to which that takes no time to speak of
_WORK = 2.5e7  # N² times the rounds
_ROUNDS = 40, 400
_REFINED, _PATIENCE, _NEAR = 30, 5, 2e-3  # rounds, how many without progress, and a relative gap to stop at
_ACCURACIES = 1e-2, 1e-3  # relative, of the weights in the first rounds and in the last
_ASTRAY = 0.01  # so much worse than the best, relatively, a round begins again from there
_USED, _LIGHTER = 0.02, 0.3
_PROGRAM_ROUNDS = 20  # where each new column is a linear program: few rounds, each of twice the columns, half tried


def rounds_of(size: int, quick: bool) -> int:
    """Return how many rounds a search makes that nothing stops: fewer for more letters, and where columns are dear."""
    least, most = _ROUNDS
    return max(least, min(most, 8 * size, int(_WORK / size**2))) if quick else _PROGRAM_ROUNDS


def exchanged(cone: Cone, most: int, bound: float, limits: Limits, aim: Aim = TRACE) -> tuple[Floats, Floats, bool]:
    """Return at most ``most`` columns with weights, and whether the time limit ended the search.

    ``bound`` is the value, minus the variance aimed at, that nothing exceeds.
    """
    size, constant = len(cone.prior), aim.constant(cone.prior.probabilities)
    generator = np.random.default_rng(size)  # not for privacy: the search is the same every time
    columns, weights = _start(cone, most, generator, limits, aim)
    quick = cone.lift_range() is not None
    rounds = rounds_of(size, quick)
    first, tried = (_FIRST, _tried(size)) if quick else (2 * _FIRST, _tried(size) // 2)
    best: tuple[float, Floats, Floats] = (-np.inf, columns, weights)
    stopped = False
    for number in range(rounds + 1):
        try:
            here = linearised(columns, weights, aim)
        except np.linalg.LinAlgError:
            break
        if here.value > best[0]:
            best = here.value, columns, weights
        limits.tell("columns", best[0] + constant, bound + constant)
        if number == rounds or bound - best[0] <= _CLOSE_ENOUGH * abs(best[0]):
            break
        if limits.exhausted:
            stopped = True
            break
        share = _LAST + (first - _LAST) * (1 - number / rounds)
        columns, weights = _round(cone, columns, weights, here, most, share, tried, generator)
        weights, miss = adding_up(columns, weights, here.inverse)
        if not miss < _ADDS_UP:
            columns, weights = best[1], best[2]
    value, columns, weights = best
    if len(weights) <= (_SMALL if stopped else _FINE):
        polished = least_variance(columns, weights, 1e-3 * abs(value), Limits() if stopped else limits, 8, aim)
        weights = max((weights, polished), key=lambda found: linearised(columns, found, aim).value)
        if aim.contrasts is not None and not stopped:
            columns, weights, stopped = _refined(cone, columns, weights, bound, limits, aim, generator)
    return columns, weights, stopped


def _refined(
    cone: Cone,
    columns: Floats,
    weights: Floats,
    bound: float,
    limits: Limits,
    aim: Aim,
    generator: np.random.Generator,
) -> tuple[Floats, Floats, bool]:
    """Rounds of column generation from columns that are good already: what is worst moves from one value to another.

    The weights are found by Newton's method in every round, the best columns of a climb join, and the least useful ones
    leave.
    """
    most, number = columns.shape[1], len(cone.prior)
    best, waited, stopped = (linearised(columns, weights, aim).value, columns, weights), 0, False
    for turn in range(_REFINED):
        if bound - best[0] <= _NEAR * abs(best[0]) or waited >= _PATIENCE:
            break
        if limits.exhausted:
            stopped = True
            break
        accuracy = max(_ACCURACIES[0] / 2 ** (turn / 3), _ACCURACIES[1]) * abs(best[0])
        weights = least_variance(columns, weights, accuracy, limits, aim=aim)
        here = linearised(columns, weights, aim, accuracy)
        waited = 0 if here.value > best[0] + 1e-4 * abs(best[0]) else waited + 1
        if here.value > best[0] and columns.shape[1] <= most + number:
            best = here.value, columns, weights
        elif here.value < best[0] * (1 + _ASTRAY):
            _, columns, weights = best
            here = linearised(columns, weights, aim, accuracy)
        found, _ = climb(cone, here.centre, here.duals, generator, number)
        use = here.worth - here.duals @ columns + _USED * np.log(weights * len(weights))
        keep = np.argsort(-use, kind="stable")[:most]
        kept, light = weights[keep], _LIGHTER * np.median(weights)
        columns = np.concatenate([columns[:, keep], found], axis=1)
        weights = np.concatenate([kept, np.full(found.shape[1], light)])
        weights, miss = adding_up(columns, weights / float(cone.prior.probabilities @ (columns @ weights)))
        if not miss < _ADDS_UP:
            _, columns, weights = best
    return best[1], best[2], stopped


def _start(cone: Cone, most: int, generator: np.random.Generator, limits: Limits, aim: Aim) -> tuple[Floats, Floats]:
    """The best of several families of sets, with weights that add up to one."""
    size, share = len(cone.prior), raised_share(cone)
    families = [balanced_sets(size, share, most, generator)]
    families += [cyclic_sets(size, part, most, generator) for part in (share, 1 / size)]
    families += [every_set(size, raised, most) for raised in (int(share * size), int(share * size) + 1)]
    best: tuple[float, Floats, Floats] | None = None
    for sets in families:
        if not size <= sets.shape[1] <= most:
            continue
        columns = set_columns(cone, sets, generator)
        weights, miss = adding_up(columns, np.full(columns.shape[1], 1 / columns.shape[1]))
        if not miss < _ADDS_UP or not regular(columns, weights):
            continue
        value = linearised(columns, weights, aim).value
        if best is None or value > best[0]:
            best = value, columns, weights
    if best is not None:
        return best[1:]
    # Whatever else there is, with the constant column, of which all the weight may be.
    p = cone.prior.probabilities
    wishes = p[:, None] * generator.standard_normal((size, most - 1))
    columns = np.concatenate([np.ones((size, 1)), cone.linear_max(wishes)[1]], axis=1)
    weights, miss = adding_up(columns, interior(columns, limits))
    if not miss < _ADDS_UP or not regular(columns, weights):
        raise limits.over()
    return columns, weights


def _round(
    cone: Cone,
    columns: Floats,
    weights: Floats,
    here: Linearised,
    most: int,
    share: float,
    tried: int,
    generator: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Move the weights towards what the columns are worth, and exchange a share of the columns."""
    p = cone.prior.probabilities
    asked = here.duals @ columns
    ratio = here.worth / np.maximum(asked, 1e-9 * here.worth)
    weights = weights * np.clip(ratio, 0.2, 5.0) ** _POWER
    number = max(4, int(share * len(weights)))
    room = most - len(weights)
    starts = cone.linear_max(p[:, None] * generator.standard_normal((len(p), tried * number)))[1]
    new = _climbed(cone, here, starts)
    places = np.unique((generator.random(len(p)) @ new).round(10), return_index=True)[1]  # each column once
    new = new[:, places]
    new = new[:, together(here, new, number + room, float(np.median(weights)))]
    use = (here.worth - asked) / here.worth.mean() + _LIGHT * np.log(weights * len(weights))
    keep = np.argsort(-use, kind="stable")[: most - new.shape[1]]
    kept = weights[keep]
    weights = np.concatenate([kept, np.full(new.shape[1], _NEW * np.median(kept))])
    columns = np.concatenate([columns[:, keep], new], axis=1)
    return columns, weights / float(p @ (columns @ weights))


def _tried(size: int) -> int:
    return next((times for most, times in _TRIED if size <= most), _TRIED_ELSE)


def _climbed(cone: Cone, here: Linearised, starts: Floats) -> Floats:
    """The columns to which the linearised utility λᵀMλ - y·λ rises from these.

    Most of M is its diagonal, whose slope at a column holds every letter where it is. But nearly all lifts are at one
    of two ends, l and h, between which λ² is its chord (l + h)λ - lh: so most of the diagonal counts as linear.
    """
    centre = here.centre
    diagonal = _CHORD * np.diag(centre)
    low, high = cone.entry_box()
    ends = np.maximum(low[:, None], starts.min(axis=0)) + np.minimum(high[:, None], starts.max(axis=0))
    slopes = 2 * (centre - np.diag(diagonal)) @ starts + diagonal[:, None] * ends - here.duals[:, None]
    return cone.linear_max(slopes)[1]
