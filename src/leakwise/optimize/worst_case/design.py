"""design() for a worst-case utility: the best level within the leakage, then the second utility on its mask."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from leakwise.alphabet import Label
from leakwise.charts.table import number
from leakwise.errors import Infeasible, InvalidInput
from leakwise.exact import Level, float_below
from leakwise.guarantee import at_least, at_most
from leakwise.optimize.design_result import Design
from leakwise.optimize.finish.finished import Allowed, Solution, finished
from leakwise.optimize.problem.utility import with_mass
from leakwise.optimize.search.limits import Limits
from leakwise.optimize.worst_case.least_leakage import LeastLeakage, on_mask, ratio_on
from leakwise.optimize.worst_case.mask import Levels, Mask
from leakwise.optimize.worst_case.second_stage.design import exact_kernel, labelled, second_best
from leakwise.optimize.worst_case.utility import WorstCase
from leakwise.priors import Prior, PriorSet
from leakwise.proof import certify
from leakwise.types import Floats

__all__ = ["WorstCaseDesign", "design_worst_case"]


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
            ["worst-case level", at_least(self.value, 6)],
            ["no mechanism passes", at_most(self.bound, 6)],
            ["least ε of this level", at_most(self.least.epsilon, 6)],
        ]
        if self.costs_nothing:
            rows.append(
                ["cost of the guarantee", f"none: the constant answer {self.least.mechanism.outputs[0]!r} keeps it"]
            )
        if self.next_level is not None:
            rows.append(["next level", f"{self.next_level[0]:g}, needs ε ≥ {number(self.next_level[1], 6)}"])
        if self.second is not None and self.second_bound is not None:
            rows += [["then", at_least(self.second, 6)], ["its bound", at_most(self.second_bound, 6)]]
        return [
            *rows,
            ["asked", self.constraint],
            ["proven ε (nats)", at_most(self.epsilon, 6)],
            ["outcomes", str(self.mechanism.shape[1])],
            ["method", self.method],
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the numbers, the certificates and the mechanism."""
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
    """Return the best level within the leakage, and on its mask the least leakage or the best second utility."""
    levels = goal.levels()
    levels.fits(priors)
    if goal.then is not None and not isinstance(priors, Prior):
        raise InvalidInput("then= needs a single prior. Pass the set's .nominal, or leave then= out for a set.")
    thresholds = levels.thresholds
    if not len(thresholds):
        levels.checked(-math.inf, priors)
    place, least, following, highest = _best_level(priors, asked, levels, thresholds, limits)
    level, bound = float(thresholds[place]), float(thresholds[highest])
    mask = levels.mask(level)
    next_level = None
    if place + 1 < len(thresholds) and following is not None:
        next_level = (float(thresholds[place + 1]), following.lower)
    mechanism, says = least.mechanism, least.mechanism.outputs
    second = second_bound = None
    how = f"search over {len(thresholds)} levels; {least.method}"
    if goal.then is not None:
        assert isinstance(priors, Prior)
        found, says = second_best(priors, asked, mask, goal.then, limits, least)
        mechanism, second, second_bound = found.mechanism or mechanism, found.value, found.bound
        how = f"search over {len(thresholds)} levels; then {goal.then.name}: {found.how}"
    solution = Solution(mechanism.kernel, bound, how, mechanism=mechanism, value=level)
    design = finished(solution, priors, goal, Allowed(asked, f"PML {asked.words}", high=asked.above), limits)
    return WorstCaseDesign(
        **vars(design), least=least, next_level=next_level, second=second, second_bound=second_bound, says=tuple(says)
    )


# ------------------------------------------------------------------------------------------------------ the level


def _best_level(
    priors: PriorSet, asked: Level, levels: Levels, thresholds: Floats, limits: Limits
) -> tuple[int, LeastLeakage, LeastLeakage | None, int]:
    """The highest level within the leakage with its least leakage, that of the next, and the highest not excluded."""
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
    highest = len(thresholds) - 1
    for place in range(high, len(thresholds)):
        try:
            following = on_mask(priors, levels.mask(float(thresholds[place])))
        except Infeasible:  # for a set of priors: no mechanism on this mask has bounded leakage
            highest = place - 1
            break
        above = following if place == high else above
        if not asked.allows(following.certificate.ratio):
            highest = place - 1
            break
    while low >= 0:
        least = on_mask(priors, levels.mask(float(thresholds[low])))
        ratio = least.certificate.guarantee.ratio
        if ratio is not None and asked.allows(ratio):
            return low, least, above, highest
        exact = _exactly(priors, asked, least)
        if exact is not None:
            return low, exact, above, highest
        low, above = low - 1, least  # within by less than the integers can keep: the level below is honest
    lowest = on_mask(priors, levels.mask(float(thresholds[0])))
    raise Infeasible(
        f"{asked.words} is below every level: the lowest, {thresholds[0]:g}, needs ε = {lowest.epsilon:.9g}. Ask for "
        "at least that, or allow more pairs.",
        witness=lowest.epsilon,
    )


def _within(priors: PriorSet, mask: Mask, target: float, work: Any) -> tuple[bool, Any]:
    try:
        found, _ = ratio_on(priors, mask, before=work, target=target)
    except Infeasible:
        return False, None
    return found.upper <= target * (1 + 1e-12), found


def _exactly(priors: PriorSet, asked: Level, least: LeastLeakage) -> LeastLeakage | None:
    """A mechanism that meets a lift which is the least one exactly: the basis in fractions, where it is small."""
    if not isinstance(priors, Prior):
        return None
    from leakwise.optimize.worst_case.second_stage.exact_mixtures import exact_matrix

    found = exact_matrix(with_mass(priors), least.mask.allowed[priors.support], asked.below)
    if found is None:
        return None
    matrix, used = found
    mechanism, _ = labelled(exact_kernel(matrix), np.array(used), priors, least.mask)
    guarantee = certify(mechanism, priors)
    if guarantee.ratio is None or not asked.allows(guarantee.ratio):
        return None
    certificate = replace(least.certificate, guarantee=guarantee).verify_for_the_set()
    return LeastLeakage(mechanism, f"{least.method}, in fractions", certificate, least.mask)
