"""WorstCase: the utility whose worst possible answer is to be as good as the leakage allows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Label
from leakwise.errors import InvalidInput
from leakwise.mechanism import Kernel
from leakwise.optimize.problem.utilities import as_utility
from leakwise.optimize.problem.utility import Utility, seen
from leakwise.optimize.problem.utility_matrix import utility_matrix
from leakwise.optimize.worst_case.mask import Levels
from leakwise.priors import Prior, PriorSet
from leakwise.proof import OptimalityClaim
from leakwise.types import Floats, Indices

__all__ = ["WorstCase"]


class WorstCase(Utility):
    """The least utility of any answer that can occur: min over pairs with p_ij > 0 of u_ij ([WC] problem (1)).

    Parameters
    ----------
    utility
        u_ij, what output j is worth when the letter is i; -inf for an output that must never be given.
    by
        ``"value"``: the levels are the values themselves. ``"order"``: ranks within the row, 1 for the worst and M for
        the best; equal utilities have equal ranks.
    then
        What to maximise among the mechanisms of the best level: a utility by name or object (an f-information,
        ``"guessing"``, ``lw.Gain``, ``lw.Expected`` over the same outputs, or a convex utility of your own). None: the
        least leakage, which is often a nearly constant answer.
    outputs
        Labels of the outputs; the letters themselves for a square matrix.

    Examples
    --------
    >>> WorstCase([[0, -1], [-1, 0]], then="mutual_information").levels().thresholds.tolist()
    [-1.0, 0.0]
    """

    kind = "worst_case"
    labelled = True
    said = True
    utility: Floats
    by: str
    then: Utility | None
    outputs: Alphabet | None

    def __init__(
        self,
        utility: Any,
        by: str = "value",
        then: Any = None,
        outputs: int | Iterable[Label] | None = None,
    ) -> None:
        self.utility, self.outputs = utility_matrix(utility, outputs)
        self.by = by
        self.then = None if then is None else as_utility(then)
        if self.then is not None and self.then.kind in ("frequencies", "worst_case"):
            raise InvalidInput(
                "then= must be an f-information, lw.Gain, lw.Expected, 'guessing' or a convex utility of your own. "
                f"Got {self.then.name!r} instead: leave then= out."
            )
        self.name = f"worst case by {by}" + ("" if self.then is None else f", then {self.then.name}")
        self._levels = Levels(self.utility, by, self.outputs)

    def levels(self) -> Levels:
        """Return the thresholds that make a difference."""
        return self._levels

    def columns_worth(self, lifts: Floats, prior: Prior) -> Floats:
        """Return the level of each outcome for the best that it can say: no function that is convex."""
        scores = np.where(lifts.T[:, :, None] > 0, self._levels.scores, np.inf)
        worth: Floats = scores.min(axis=1).max(axis=1)
        return worth

    def value(self, lifts: Floats, law: Floats, prior: Prior) -> float:
        return float(self.columns_worth(lifts, prior)[law > 0].min())

    def interval(self, kernel: Kernel, prior: Prior, says: Indices | None = None) -> tuple[float, float]:
        # Whether a probability is zero is known exactly.
        if says is None:
            value = self.value(*seen(kernel, prior), prior)
        else:
            possible = np.asarray(kernel.weights != 0, dtype=np.bool_)
            value = float(np.where(possible, self._levels.scores[:, says], np.inf).min())
        return value, value

    def says(self, prior: Prior) -> Alphabet:
        return self._levels.mask(-np.inf).names(prior.alphabet)

    def on_support(self, prior: Prior) -> Utility:
        here = prior.support
        return self if here.all() else WorstCase(self.utility[here], self.by, self.then, self.says(prior).labels)

    def claim(self, claim: OptimalityClaim, priors: PriorSet) -> tuple[OptimalityClaim | None, str | None]:
        return None, None  # the next level has a certificate of its own

    def __repr__(self) -> str:
        rows, columns = self.utility.shape
        then = "" if self.then is None else f", then {self.then.name}"
        return f"WorstCase({rows} letters × {columns} outputs, by {self.by}{then})"
