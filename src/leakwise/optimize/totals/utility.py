"""A utility of columns that carry a payment: what they are worth does not depend on it."""

from __future__ import annotations

import numpy as np

from leakwise.optimize.problem.labelled_utilities import LinearUtility
from leakwise.optimize.problem.utility import Utility
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["paying"]


class _Paying(Utility):
    """μ of all entries but the last."""

    def __init__(self, goal: Utility, letters: Prior) -> None:
        self.goal, self.letters = goal, letters
        self.name, self.separable = goal.name, goal.separable

    def columns_worth(self, lifts: Floats, prior: Prior) -> Floats:
        return self.goal.columns_worth(lifts[:-1], self.letters)

    def slopes(self, lifts: Floats, prior: Prior) -> Floats:
        return np.pad(self.goal.slopes(lifts[:-1], self.letters), ((0, 1), (0, 0)))

    def chord(self, low: Floats, high: Floats, prior: Prior) -> tuple[Floats, float]:
        slopes, constant = self.goal.chord(low[:-1], high[:-1], self.letters)
        return np.append(slopes, 0.0), constant

    def chord_gaps(self, low: Floats, high: Floats, point: Floats, prior: Prior) -> Floats:
        return np.append(self.goal.chord_gaps(low[:-1], high[:-1], point[:-1], self.letters), 0.0)


class _PayingLabels(_Paying, LinearUtility):
    """The same for utilities with labels: nothing is said about the value of probability 0."""

    goal: LinearUtility
    kind = "labelled"

    def gains(self, prior: Prior) -> Floats:
        return np.pad(self.goal.gains(self.letters), ((0, 1), (0, 0)))


def paying(goal: Utility, letters: Prior) -> Utility:
    """Return the utility over columns with one more entry."""
    return _PayingLabels(goal, letters) if isinstance(goal, LinearUtility) else _Paying(goal, letters)
