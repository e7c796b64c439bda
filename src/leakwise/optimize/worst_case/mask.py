"""Masks: which outputs may be given for which letters, from thresholds on a utility.

By value, a pair is allowed when its utility is at least the threshold. By order ([WC] section II), when its rank within
its row is at least the threshold; the rank is the number of entries of the row that are not above it, so that 1 is the
worst, M the best, and equal utilities have equal ranks (the paper excludes ties).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from leakwise.alphabet import Alphabet
from leakwise.errors import Infeasible, InvalidInput, did_you_mean, some_of
from leakwise.mechanism import DenseKernel, Mechanism
from leakwise.optimize.finish.outcome_names import distinct
from leakwise.optimize.problem.utility_matrix import column_labels
from leakwise.priors import PriorSet
from leakwise.types import Bools, Floats, Indices

__all__ = ["Levels", "Mask", "as_mask", "ranks"]


_BY = ("value", "order")


@dataclass(frozen=True, eq=False, repr=False)
class Mask:
    """The allowed pairs of letters and outputs.

    Attributes
    ----------
    allowed
        N×M, True where the output may be given for the letter.
    outputs
        Labels of the outputs; None for the letters themselves (square masks) or numbers.
    words
        What the mask stands for.
    """

    allowed: Bools
    outputs: Alphabet | None = None
    words: str = "a mask"

    @property
    def shape(self) -> tuple[int, int]:
        """Letters and outputs."""
        rows, columns = self.allowed.shape
        return rows, columns

    def names(self, letters: Alphabet) -> Alphabet:
        """Return the labels of the outputs for a secret with these letters."""
        if self.outputs is not None:
            return self.outputs
        size = self.allowed.shape[1]
        return letters if size == len(letters) else Alphabet.numbered(size)

    def mechanism(self, kernel: DenseKernel, outputs: Indices, letters: Alphabet) -> Mechanism:
        """Return the mechanism whose outcomes are named after the outputs that they say."""
        names = self.names(letters).labels
        chosen = Alphabet(distinct(names[place] for place in outputs), name="outcomes", declared=True)
        return Mechanism.from_kernel(kernel, letters, chosen)

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"Mask({rows} letters × {columns} outputs, {int(self.allowed.sum())} pairs allowed: {self.words})"


def as_mask(mask: Any, priors: PriorSet) -> Mask:
    """Return a mask from what a user may give, checked against the letters of a prior."""
    given = mask if isinstance(mask, Mask) else Mask(_booleans(mask), column_labels(mask))
    rows = given.allowed.shape[0]
    if rows != len(priors.alphabet):
        raise InvalidInput(
            f"mask must have one row per letter. Got {rows} rows for the {len(priors.alphabet)} letters of the prior."
        )
    empty = np.flatnonzero(~given.allowed.any(axis=1))
    if len(empty):
        labels = [priors.labels[place] for place in empty]
        raise Infeasible(
            f"No output is allowed for {'the letter' if len(labels) == 1 else 'the letters'} {some_of(labels)} "
            f"({given.words}). Allow at least one output for every letter.",
            witness=labels[0],
        )
    return given


def _booleans(mask: Any) -> Bools:
    try:
        values = np.array(mask)
        numbers = values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"mask must be a matrix of True and False: {error}.") from error
    if numbers.ndim != 2 or 0 in numbers.shape:
        raise InvalidInput(f"mask must have one row per letter and one column per output. Got shape {numbers.shape}.")
    if not np.isin(numbers, (0.0, 1.0)).all():
        raise InvalidInput(
            "mask must hold True and False only (or 1 and 0). For a utility with a threshold use "
            "lw.utility_safe, lw.worst_case_curve or lw.WorstCase."
        )
    allowed: Bools = np.asarray(numbers == 1.0, dtype=np.bool_)
    allowed.flags.writeable = False
    return allowed


def ranks(utility: Floats) -> npt.NDArray[np.int64]:
    """Return the rank of every entry within its row: how many entries of the row are not above it.

    >>> ranks(np.array([[0.0, -1.0, -4.0], [-2.0, 0.0, -2.0]])).tolist()
    [[3, 2, 1], [2, 3, 2]]
    """
    ordered = np.sort(utility, axis=1)
    return np.stack([np.searchsorted(row, here, side="right") for row, here in zip(ordered, utility, strict=True)])


class Levels:
    """The thresholds of a utility that make a difference, worst first, and the mask of each.

    Parameters
    ----------
    utility
        The N×M utility.
    by
        ``"value"`` or ``"order"``.
    """

    def __init__(self, utility: Floats, by: str = "value", outputs: Alphabet | None = None) -> None:
        if by not in _BY:
            raise InvalidInput(f"by must be one of {', '.join(_BY)}. Got {by!r} instead.{did_you_mean(by, _BY)}")
        self.utility, self.by, self.outputs = utility, by, outputs
        self._scores: npt.NDArray[Any] = ranks(utility) if by == "order" else utility
        # -inf is never allowed, whatever the order says.
        self._possible = np.isfinite(utility)

    @property
    def scores(self) -> Floats:
        """The level of each pair, -inf for those that are never allowed."""
        return np.where(self._possible, self._scores, -np.inf)

    @cached_property
    def highest(self) -> float:
        """The largest level at which every row has an allowed output; -inf when some row has none at all."""
        return float(self.scores.max(axis=1).min())

    @cached_property
    def thresholds(self) -> Floats:
        """All levels up to :attr:`highest`, ascending. By order these are 1, 2, …; by value, the values that occur."""
        if self.by == "order":
            return np.arange(1.0, self.highest + 1) if np.isfinite(self.highest) else np.empty(0)
        values = np.unique(self._scores[self._possible])
        return values[values <= self.highest].astype(np.float64)

    def mask(self, level: float) -> Mask:
        """Return the pairs at or above a level."""
        allowed = np.asarray((self._scores >= level) & self._possible, dtype=np.bool_)
        allowed.flags.writeable = False
        what = f"utility at least {level:g}" if self.by == "value" else f"order at least {level:g}"
        return Mask(allowed, self.outputs, what)

    def checked(self, level: object, priors: PriorSet) -> Mask:
        """Return the mask of a level that a user asked for; a row without output is answered with the nearest level."""
        try:
            asked = float(level)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"threshold must be a number. Got {level!r} instead.") from error
        if np.isnan(asked):
            raise InvalidInput("threshold must be a number. Got NaN instead.")
        self.fits(priors)
        mask = self.mask(asked)
        empty = np.flatnonzero(~mask.allowed.any(axis=1))
        if len(empty):
            labels = [priors.labels[place] for place in empty]
            nearest = (
                f"The nearest level that works is {self.highest:g}."
                if np.isfinite(self.highest)
                else "No level works: some letter has no output but -inf."
            )
            raise Infeasible(
                f"threshold = {asked:g} leaves no allowed output for {some_of(labels)}. {nearest}",
                witness=labels[0],
            )
        return mask

    def fits(self, priors: PriorSet) -> None:
        """Refuse a utility whose rows are not the letters of the prior."""
        if self.utility.shape[0] != len(priors.alphabet):
            raise InvalidInput(
                f"The utility must have one row per letter. Got {self.utility.shape[0]} rows for the "
                f"{len(priors.alphabet)} letters of the prior."
            )
