"""worst_case_curve(): the least leakage of every level of a utility at once, beside what others do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import lines
from leakwise.errors import Infeasible, InvalidInput
from leakwise.guarantee import at_most
from leakwise.mechanism import Mechanism
from leakwise.optimize.problem.utility_matrix import utility_matrix
from leakwise.optimize.worst_case.comparison import pml_exponential, pml_randomized_response, worst_utility
from leakwise.optimize.worst_case.least_leakage import LeastLeakage, on_mask, ratio_on
from leakwise.optimize.worst_case.mask import Levels
from leakwise.optimize.worst_case.utility_safe import safe_on
from leakwise.priors import Prior, PriorSet, as_prior_set
from leakwise.types import Floats

__all__ = ["WorstCaseCurve", "worst_case_curve"]


_MOST_LEVELS = 5000


@dataclass(frozen=True, repr=False)
class WorstCaseCurve(Drawn):
    """The least leakage of every level.

    Attributes
    ----------
    levels
        The thresholds, ascending.
    epsilon
        The least ε at each, proven on integers, rounded up.
    lower
        What no mechanism can beat at each, rounded down.
    utility_safe
        The ε of the utility-safe mechanism at each.
    solutions
        The mechanism of least leakage at each, with its certificate.
    by
        ``"value"`` or ``"order"``.
    """

    levels: Floats
    solutions: tuple[LeastLeakage, ...]
    utility_safe: Floats
    by: str
    prior: PriorSet
    utility: Floats

    @property
    def epsilon(self) -> Floats:
        """The least ε at each level, rounded up."""
        return np.array([solution.epsilon for solution in self.solutions])

    @property
    def lower(self) -> Floats:
        """What no mechanism can beat at each level, rounded down."""
        return np.array([solution.lower for solution in self.solutions])

    @property
    def gap(self) -> float:
        """The largest gap of any level."""
        return max((solution.gap for solution in self.solutions), default=0.0)

    @property
    def free_level(self) -> float | None:
        """The highest level that costs no leakage at all (a constant answer keeps it); None when there is none."""
        free = self.levels[self.epsilon == 0.0]
        return float(free[-1]) if len(free) else None

    def best_level(self, epsilon: float) -> float:
        """h*(ε): the highest level that some mechanism with leakage at most ε keeps ([WC] Lemma 1), by lookup."""
        if not epsilon >= 0:
            raise InvalidInput(f"epsilon must be at least 0. Got {epsilon!r} instead.")
        within = np.flatnonzero(self.epsilon <= epsilon + 1e-12)
        if not len(within):
            least = float(self.epsilon.min())
            raise Infeasible(
                f"epsilon = {epsilon:g} is below every level: the lowest one, {self.levels[0]:g}, needs {least:.6g}.",
                witness=least,
            )
        return float(self.levels[within[-1]])

    def compare(self, epsilon: float) -> dict[str, float]:
        """The worst utility at a leakage of ε: of the best mechanism, the utility-safe one, and the two of Prop. 1.

        The exponential mechanism and randomized response are made ε-PML by local differential privacy ([WC] (10)–(11)).
        """
        scores = np.asarray(Levels(self.utility, self.by)._scores, dtype=float)
        safe = self.levels[self.utility_safe <= epsilon + 1e-12]
        found = {
            "least leakage": self.best_level(epsilon),
            "utility-safe": float(safe[-1]) if len(safe) else float("nan"),
        }
        if isinstance(self.prior, Prior):
            for name, make in _PEERS.items():
                found[name] = worst_utility(make(self.prior, self.utility, epsilon), scores)
        return found

    def _shown(self) -> Parts:
        headers = ["level", "least ε", "utility-safe ε", "outputs used"]
        rows = [
            [f"{level:g}", at_most(s.epsilon, 6), at_most(safe, 6), str(s.mechanism.shape[1])]
            for level, s, safe in zip(self.levels.tolist(), self.solutions, self.utility_safe.tolist(), strict=True)
        ]
        return [Table(headers, rows, self._title())]

    def _title(self) -> str:
        free = self.free_level
        words = (
            "" if free is None else f" Up to level {free:g} a constant answer keeps the guarantee: it costs nothing."
        )
        return f"Worst-case utility by {self.by}: the least leakage of {len(self.levels)} levels.{words}"

    def chart(self) -> dict[str, Any]:
        """The best level over ε as a step plot, the utility-safe mechanism and the two of Prop. 1 beside it."""
        series: dict[str, tuple[list[float], list[float]]] = {}
        top = max(float(self.epsilon.max()), float(self.utility_safe[np.isfinite(self.utility_safe)].max(initial=0.0)))
        top = top * 1.1 + 0.1
        for name, epsilons in (("least leakage", self.epsilon), ("utility-safe", self.utility_safe)):
            x, y = _steps(epsilons, self.levels, top)
            if x:
                series[name] = (x, y)
        if isinstance(self.prior, Prior):
            scores = np.asarray(Levels(self.utility, self.by)._scores, dtype=float)
            below = min(top, 0.999 * self.prior.epsilon_max)
            for name, make in _PEERS.items():
                at = [worst_utility(make(self.prior, self.utility, e), scores) for e in (0.05 * below, below)]
                if np.isfinite(at).all():
                    series[name] = ([0.05 * below, below], at)
        return lines(
            series,
            title="The worst utility that a leakage allows",
            x_title="leakage ε (nats)",
            y_title="worst-case utility" if self.by == "value" else "worst-case order",
            step=True,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: one entry per level."""
        return {
            "by": self.by,
            "levels": self.levels.tolist(),
            "epsilon": self.epsilon.tolist(),
            "lower": self.lower.tolist(),
            "utility_safe": self.utility_safe.tolist(),
            "gap": self.gap,
            "free_level": self.free_level,
        }


_PEERS: dict[str, Callable[[Prior, Any, object], Mechanism]] = {
    "exponential": pml_exponential,
    "randomized response": pml_randomized_response,
}


def _steps(epsilons: Floats, levels: Floats, top: float) -> tuple[list[float], list[float]]:
    """The corners of ε ↦ highest level within ε."""
    order = [k for k in range(len(levels)) if np.isfinite(epsilons[k])]
    x: list[float] = []
    y: list[float] = []
    for k in order:
        if x and epsilons[k] <= x[-1]:
            y[-1] = max(y[-1], float(levels[k]))
        else:
            x.append(float(epsilons[k]))
            y.append(float(levels[k]))
    if x:
        x.append(top)
        y.append(y[-1])
    return x, y


def worst_case_curve(prior: Any, utility: Any, *, by: str = "value", outputs: Any = None) -> WorstCaseCurve:
    """The least leakage for every level of the worst-case utility: the whole trade-off of [WC] problem (1) at once.

    The masks shrink as the level rises, so a proof for one level holds for the next, and the columns of one are those
    of the next with some letters left out: the levels share their work.

    Parameters
    ----------
    prior
        A prior, or a set of priors.
    utility
        u_ij, what output j is worth when the letter is i; -inf for an output that must never be given.
    by
        ``"value"``: a level is a value of the utility; ``"order"``: a rank within the row, from 1 (worst) to M.
    outputs
        Labels of the outputs; the letters themselves for a square matrix.

    Examples
    --------
    >>> curve = worst_case_curve([0.4, 0.3, 0.3], [[3, 2, 1], [1, 3, 2], [2, 1, 3]], by="order")
    >>> curve.levels.tolist(), np.exp(curve.epsilon).round(6).tolist()
    ([1.0, 2.0, 3.0], [1.0, 1.666667, 3.333333])
    """
    priors = as_prior_set(prior)
    values, names = utility_matrix(utility, outputs)
    levels = Levels(values, by, names)
    levels.fits(priors)
    thresholds = levels.thresholds
    if not len(thresholds):
        levels.checked(-np.inf, priors)
    if len(thresholds) > _MOST_LEVELS:
        raise InvalidInput(
            f"utility has {len(thresholds):,} levels; a curve takes {_MOST_LEVELS:,}. Round the utility, or use "
            'by="order".'
        )
    solutions: list[LeastLeakage] = []
    safe: list[float] = []
    found: tuple[Any, Any] = (None, None)
    for threshold in thresholds.tolist():
        mask = levels.mask(threshold)
        before = solutions[-1] if solutions else None
        if before is not None and np.array_equal(before.mask.allowed, mask.allowed):
            solutions.append(LeastLeakage(before.mechanism, before.method, before.certificate, mask))
            safe.append(safe[-1])
            continue
        found = ratio_on(priors, mask, before=found[0])
        solutions.append(on_mask(priors, mask, searched=found))
        safe.append(safe_on(priors, mask).epsilon)
    return WorstCaseCurve(thresholds, tuple(solutions), np.array(safe), by, priors, values)
