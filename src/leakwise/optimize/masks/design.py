"""design() for a worst-case utility: the best level within the leakage, then the second utility on its mask."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from leakwise.alphabet import Alphabet, Label
from leakwise.charts.table import number
from leakwise.errors import Infeasible, InvalidInput, NotConverged
from leakwise.exact import Level, float_below, round_float_rows
from leakwise.mechanism import DenseKernel, Mechanism
from leakwise.mechanism.catalog import BITS
from leakwise.optimize.evaluate import utility_interval
from leakwise.optimize.masks.cone import MaskedCone
from leakwise.optimize.masks.least_leakage import LeastLeakage, on_mask
from leakwise.optimize.masks.mask import Levels, Mask
from leakwise.optimize.masks.worst_case import WorstCase
from leakwise.optimize.result import Design
from leakwise.optimize.search import Limits
from leakwise.optimize.utilities import Expected, LinearUtility, Utility
from leakwise.priors import Prior, PriorSet
from leakwise.proof import certify

__all__ = ["WorstCaseDesign", "design_worst_case"]

Floats = npt.NDArray[np.float64]

# The second stage is solved at a lift smaller by this, so that its rounding to integers keeps the promise.
_INSIDE = 2.0**-36


@dataclass(frozen=True, repr=False)
class WorstCaseDesign(Design):
    """The mechanism whose worst possible answer is as good as the leakage allows.

    ``value`` is the level: no answer that can occur has a smaller utility (or rank). ``bound`` is the level that no
    mechanism within the leakage can pass.

    Attributes
    ----------
    least
        The least leakage at this level, with its proof.
    next_level
        The next level and what no mechanism can undercut there, in nats; None at the highest level.
    second, second_bound
        The value of the second utility and what no mechanism of this level within the leakage can beat; None without
        ``then=``.
    says
        For each outcome, the output it stands for: several outcomes may say the same.
    """

    least: LeastLeakage
    next_level: tuple[float, float] | None
    second: float | None
    second_bound: float | None
    says: tuple[Label, ...]

    @property
    def level(self) -> float:
        """The level that every answer reaches."""
        return self.value

    @property
    def costs_nothing(self) -> bool:
        """Whether a constant answer keeps the level: the guarantee itself then costs no leakage at all."""
        return self.least.costs_nothing

    @property
    def second_gap(self) -> float:
        """How far the second utility may be from its optimum."""
        if self.second is None or self.second_bound is None:
            return 0.0
        return max(0.0, self.second_bound - self.second)

    def _rows(self) -> list[list[str]]:
        rows = [
            ["utility", self.utility],
            ["worst-case level", number(self.value, 6)],
            ["no mechanism passes", number(self.bound, 6)],
            ["least ε of this level", number(self.least.epsilon, 6)],
        ]
        if self.costs_nothing:
            rows.append(
                ["cost of the guarantee", f"none: the constant answer {self.least.mechanism.outputs[0]!r} keeps it"]
            )
        if self.next_level is not None:
            rows.append(["next level", f"{self.next_level[0]:g}, needs ε ≥ {number(self.next_level[1], 6)}"])
        if self.second is not None and self.second_bound is not None:
            rows += [["then", number(self.second, 6)], ["its bound", number(self.second_bound, 6)]]
        return [
            *rows,
            ["asked", self.constraint],
            ["proven ε (nats)", number(self.epsilon, 6)],
            ["outcomes", str(self.mechanism.shape[1])],
            ["method", self.method],
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data: the numbers, the certificates and the mechanism."""
        return {
            **super().to_dict(),
            "level": self.level,
            "costs_nothing": self.costs_nothing,
            "least_epsilon": self.least.epsilon,
            "least_lower": self.least.lower,
            "next_level": None if self.next_level is None else list(self.next_level),
            "second": self.second,
            "second_bound": self.second_bound,
            "says": [str(label) for label in self.says],
        }


def design_worst_case(priors: PriorSet, asked: Level, goal: WorstCase, limits: Limits) -> WorstCaseDesign:
    """The best level within the leakage, and on its mask the least leakage or the best second utility."""
    levels = goal.levels()
    levels.fits(priors)
    if goal.then is not None and not isinstance(priors, Prior):
        raise InvalidInput("then= needs a single prior. Pass the set's .nominal, or leave then= out for a set.")
    thresholds = levels.thresholds
    if not len(thresholds):
        levels.checked(-math.inf, priors)
    place, least, following = _best_level(priors, asked, levels, thresholds, limits)
    level = float(thresholds[place])
    mask = levels.mask(level)
    bound = level if following is None or not asked.allows(_floor(following)) else float(thresholds[place + 1])
    next_level = None
    if place + 1 < len(thresholds) and following is not None:
        next_level = (float(thresholds[place + 1]), following.lower)
    mechanism, says = least.mechanism, least.mechanism.outputs
    second = second_bound = None
    how = f"search over {len(thresholds)} levels; {least.method}"
    if goal.then is not None:
        assert isinstance(priors, Prior)
        found = _second(priors, asked, mask, goal.then, limits, least)
        mechanism, says, second, second_bound = found.mechanism, found.says, found.value, found.bound
        how = f"search over {len(thresholds)} levels; then {goal.then.name}: {found.how}"
    certificate = certify(mechanism, priors, **_level_arguments(asked)).verify()
    name = f"worst case by {goal.by}" + ("" if goal.then is None else f", then {goal.then.name}")
    return WorstCaseDesign(
        mechanism,
        level,
        bound,
        how,
        certificate,
        name,
        priors,
        f"PML {asked.words}",
        least,
        next_level,
        second,
        second_bound,
        tuple(says),
    )


def _level_arguments(asked: Level) -> dict[str, Any]:
    return {"lift": asked.below} if asked.exponent is None else {"epsilon": asked.exponent}


def _floor(solution: LeastLeakage) -> Fraction:
    return solution.certificate.ratio


# ------------------------------------------------------------------------------------------------------ the level


def _best_level(
    priors: PriorSet, asked: Level, levels: Levels, thresholds: Floats, limits: Limits
) -> tuple[int, LeastLeakage, LeastLeakage | None]:
    """The highest level within the leakage with its least leakage, and the proof for the next one."""
    low, high = -1, len(thresholds)  # low: known to be within; high: known not to be
    target = float_below(asked.below)
    work: Any = None  # what the highest level within hands on to those above it
    while high - low > 1:
        middle = (low + high) // 2
        inside, work_here = _within(priors, levels.mask(float(thresholds[middle])), target, work)
        limits.tell("levels", float(thresholds[max(low, 0)]), float(thresholds[min(high, len(thresholds) - 1)]))
        if inside:
            low, work = middle, work_here
        else:
            high = middle
        if limits.exhausted:
            break
    above: LeastLeakage | None = None
    if high < len(thresholds):
        above = on_mask(priors, levels.mask(float(thresholds[high])))
    while low >= 0:
        least = on_mask(priors, levels.mask(float(thresholds[low])))
        ratio = least.certificate.guarantee.ratio
        if ratio is not None and asked.allows(ratio):
            return low, least, above
        exact = _exactly(priors, asked, least)
        if exact is not None:
            return low, exact, above
        low, above = low - 1, least  # within by less than the integers can keep: the level below is honest
    lowest = on_mask(priors, levels.mask(float(thresholds[0])))
    raise Infeasible(
        f"{asked.words} is below every level: the lowest, {thresholds[0]:g}, needs ε = {lowest.epsilon:.9g}. Ask for "
        "at least that, or allow more pairs.",
        witness=lowest.epsilon,
    )


def _within(priors: PriorSet, mask: Mask, target: float, work: Any) -> tuple[bool, Any]:
    slack = 1 + 1e-12
    if isinstance(priors, Prior):
        from leakwise.optimize.masks.columns import MaskColumns
        from leakwise.optimize.masks.large import least_ratio_of

        columns = MaskColumns(mask.allowed[priors.support], priors.probabilities[priors.support])
        found = least_ratio_of(columns, before=work, target=target)
        return found.upper <= target * slack, found
    from leakwise.optimize.masks.robust import robust_ratio

    try:
        return robust_ratio(priors, mask.allowed)[0].upper <= target * slack, None
    except Infeasible:
        return False, None


def _exactly(priors: PriorSet, asked: Level, least: LeastLeakage) -> LeastLeakage | None:
    """A mechanism that meets a lift which is the least one exactly: the basis in fractions, where it is small."""
    if not isinstance(priors, Prior):
        return None
    from leakwise.optimize.masks.exact_basis import exact_matrix

    found = exact_matrix(priors, least.mask, asked.below)
    if found is None:
        return None
    matrix, used = found
    names = least.mask.names(priors.alphabet)
    chosen = Alphabet([names.labels[place] for place in used], name="outcomes", declared=True)
    mechanism = Mechanism(matrix, inputs=priors.alphabet, outputs=chosen)
    guarantee = certify(mechanism, priors)
    if guarantee.ratio is None or not asked.allows(guarantee.ratio):
        return None
    from dataclasses import replace

    certificate = replace(least.certificate, guarantee=guarantee).verify()
    return LeastLeakage(mechanism, f"{least.method}, in fractions", certificate, least.mask)


# ----------------------------------------------------------------------------------------------- the second utility


@dataclass(frozen=True)
class _Found:
    mechanism: Mechanism
    says: tuple[Label, ...]
    value: float
    bound: float
    how: str


def _second(prior: Prior, asked: Level, mask: Mask, utility: Utility, limits: Limits, least: LeastLeakage) -> _Found:
    from leakwise.optimize.masks.columns import MaskColumns
    from leakwise.optimize.masks.second import second_stage

    support = prior.support
    supported = prior if support.all() else prior.reordered(np.flatnonzero(support))
    goal = _restricted(utility, prior)
    columns = MaskColumns(mask.allowed[support], supported.probabilities)
    outer = float(asked.above) * (1 + 2.0**-50)
    inner = float_below(asked.below) * (1 - _INSIDE)
    found = second_stage(columns, supported, goal, inner, outer, limits)
    if found is None:  # the level is tight: only the leakage asked for, to the last digit, reaches it
        found = second_stage(columns, supported, goal, float_below(asked.below), outer, limits)
    if found is None:
        raise NotConverged("The second utility found no mechanism at this level.", lower=-math.inf, upper=math.inf)
    names = mask.names(prior.alphabet)
    kernel, outputs = _rounded(supported, asked, mask.allowed[support], found.lifts, found.weights, found.outputs, goal)
    if kernel is None:
        kernel, outputs = _in_fractions(supported, asked, found.lifts, found.outputs, goal)
    if kernel is None:
        # The integers cannot keep the promise so close to the border: the mechanism of least leakage does.
        rows = least.mechanism.kernel.weights[support]
        kernel = DenseKernel(rows, least.mechanism.denominator)
        outputs = np.array([names.index[label] for label in least.mechanism.outputs])
    value = _value(kernel, outputs, supported, goal)
    mechanism, says = _labelled(kernel, outputs, prior, mask, names)
    return _Found(mechanism, says, value, max(found.bound, value), found.how)


def _restricted(utility: Utility, prior: Prior) -> Utility:
    if isinstance(utility, LinearUtility) and not prior.support.all():
        gains = utility.gains(prior)[prior.support]
        if isinstance(utility, Expected):
            return Expected(gains, utility.says(prior))
        from leakwise.optimize.utilities import Gain

        return Gain(gains, utility.says(prior))
    if isinstance(utility, LinearUtility):
        utility.gains(prior)  # refuses a matrix of another size
    return utility


def _rounded(
    prior: Prior,
    asked: Level,
    allowed: npt.NDArray[np.bool_],
    lifts: Floats,
    weights: Floats,
    outputs: npt.NDArray[np.intp],
    goal: Utility,
) -> tuple[DenseKernel | None, npt.NDArray[np.intp]]:
    """Integers on the mask within the leakage; columns that say the same are added up where that loses nothing."""
    parts = lifts * weights
    if isinstance(goal, Expected):
        different = np.unique(outputs)
        parts = np.stack([parts[:, outputs == output].sum(axis=1) for output in different], axis=1)
        outputs = different
    parts = np.where(parts > 2.0**-54, parts, 0.0)
    parts = parts / parts.sum(axis=1, keepdims=True)
    matrix = round_float_rows(parts, BITS)
    used = np.flatnonzero(matrix.any(axis=0))
    matrix, outputs = matrix[:, used], outputs[used]
    for column, output in zip(matrix.T.tolist(), outputs.tolist(), strict=True):
        if not MaskedCone(prior, asked.below, allowed[:, output]).contains(column):
            return None, outputs
    return DenseKernel(matrix, 1 << BITS), outputs


def _in_fractions(
    prior: Prior, asked: Level, lifts: Floats, outputs: npt.NDArray[np.intp], goal: Utility
) -> tuple[DenseKernel | None, npt.NDArray[np.intp]]:
    """The same columns solved in fractions, for a lift that leaves no room for rounding."""
    from leakwise.optimize.masks.exact_basis import exact_lifts, mixture

    exact = exact_lifts(prior, lifts, asked.below)
    weights = None if exact is None else mixture(exact, len(prior))
    if exact is None or weights is None:
        return None, outputs
    groups = list(range(len(outputs)))
    if isinstance(goal, Expected):
        groups = np.unique(outputs, return_inverse=True)[1].tolist()
        outputs = np.unique(outputs)
    matrix = [[Fraction(0)] * len(outputs) for _ in range(len(prior))]
    for group, weight, column in zip(groups, weights, exact, strict=True):
        for letter, entry in column.items():
            matrix[letter][group] += weight * entry
    used = [place for place in range(len(outputs)) if any(row[place] for row in matrix)]
    common = math.lcm(*(entry.denominator for row in matrix for entry in row))
    whole = np.array([[int(row[place] * common) for place in used] for row in matrix], dtype=np.object_)
    return DenseKernel(whole, common), outputs[used]


def _value(kernel: DenseKernel, outputs: npt.NDArray[np.intp], prior: Prior, goal: Utility) -> float:
    if not isinstance(goal, Expected):
        return utility_interval(kernel, prior, goal)[0]
    terms = prior.probabilities[:, None] * kernel.matrix * goal.gains(prior)[:, outputs]
    size = float(np.abs(terms).sum()) + 1.0
    return math.fsum(terms.ravel().tolist()) - size * 8 * 2.0**-52


def _labelled(
    kernel: DenseKernel, outputs: npt.NDArray[np.intp], prior: Prior, mask: Mask, names: Alphabet
) -> tuple[Mechanism, tuple[Label, ...]]:
    """The mechanism over all declared letters, its outcomes named after what they say."""
    weights = kernel.weights
    support = prior.support
    if not support.all():
        full = np.zeros((len(prior), weights.shape[1]), dtype=weights.dtype)
        full[support] = weights
        for letter in np.flatnonzero(~support):
            may = np.flatnonzero(mask.allowed[letter][outputs])
            if not len(may):
                raise Infeasible(
                    f"The letter {prior.labels[letter]!r} has mass zero; the best mechanism uses none of its outputs. "
                    "Leave it out of the prior, or allow it more outputs.",
                    witness=prior.labels[letter],
                )
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
