"""WorstCase: the utility whose worst possible answer is to be as good as the leakage allows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from leakwise.alphabet import Alphabet, Label
from leakwise.optimize.problem.utilities import Utility, as_utility
from leakwise.optimize.worst_case.mask import Levels, utility_matrix
from leakwise.types import Floats

__all__ = ["WorstCase"]


class WorstCase:
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
        ``"guessing"``, ``lw.Gain``, or ``lw.Expected`` over the same outputs). None: the least leakage, which is often
        a nearly constant answer.
    outputs
        Labels of the outputs; the letters themselves for a square matrix.

    Examples
    --------
    >>> WorstCase([[0, -1], [-1, 0]], then="mutual_information").levels().thresholds.tolist()
    [-1.0, 0.0]
    """

    name = "worst_case"
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
        self._levels = Levels(self.utility, by, self.outputs)

    def levels(self) -> Levels:
        """Return the thresholds that make a difference."""
        return self._levels

    def __repr__(self) -> str:
        rows, columns = self.utility.shape
        then = "" if self.then is None else f", then {self.then.name}"
        return f"WorstCase({rows} letters × {columns} outputs, by {self.by}{then})"
