"""Answers as counts: a table of inputs and outcomes, with outcomes that are labels or bins of numbers.

Whatever outcomes are put together, the table is that of a post-processing of the program, which leaks no more. So every
lower bound read off it holds for the program; an upper bound holds only where the outcomes were declared.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from leakwise.alphabet import as_alphabet
from leakwise.alphabet.bins import Bins
from leakwise.alphabet.labels import plain_value
from leakwise.errors import InvalidInput

__all__ = ["Outcomes", "declared_outcomes", "learned_outcomes"]

Counts = npt.NDArray[np.int64]

# Numbers of more different values than this are put into bins, as many as this.
MOST_VALUES = 64
OTHER = "(any other)"


class Outcomes:
    """How answers become columns of a table of counts."""

    def __init__(self, names: Sequence[str], place: Callable[[Sequence[Any]], Counts], *, complete: bool) -> None:
        self.names, self._place, self.complete = tuple(names), place, complete

    def count(self, answers: Sequence[Any]) -> Counts:
        """How often each outcome is among the answers."""
        return np.bincount(self._place(answers), minlength=len(self.names)).astype(np.int64)

    def table(self, answers: Sequence[Sequence[Any]]) -> Counts:
        """A row for each input."""
        return np.stack([self.count(own) for own in answers])


def declared_outcomes(outputs: Any) -> Outcomes:
    """The outcomes that the user says are all there are; an answer beyond them is an error."""
    letters = as_alphabet(outputs, name="outputs")

    def place(answers: Sequence[Any]) -> Counts:
        if isinstance(letters, Bins):
            return _binned(_numbers(answers), np.asarray(letters.edges, dtype=np.float64), strict=True)
        places = {label: where for where, label in enumerate(letters.labels)}
        found = [places.get(_label(answer), -1) for answer in answers]
        if -1 in found:
            strange = _label(answers[found.index(-1)])
            raise InvalidInput(
                f"outputs must name every answer that can come. Got {strange!r}, which is none of them. Leave outputs "
                "out to audit without a list: the lower bounds hold all the same."
            )
        return np.array(found, dtype=np.int64)

    return Outcomes([str(label) for label in letters.labels], place, complete=True)


def learned_outcomes(answers: Iterable[Any]) -> Outcomes:
    """Outcomes read off some answers, which must not be counted again: labels as they are, or bins of many numbers."""
    seen = [_label(answer) for answer in answers]
    different = dict.fromkeys(seen)
    if len(different) > MOST_VALUES and all(_is_number(label) for label in different):
        numbers = np.array([float(label) for label in seen if math.isfinite(label)])
        edges = np.unique(np.quantile(numbers, np.linspace(0, 1, MOST_VALUES + 1)[1:-1]))
        full = np.concatenate([[-math.inf], edges, [math.inf]])
        names = [f"[{low:.6g}, {high:.6g})" for low, high in itertools.pairwise(full.tolist())]

        def place(those: Sequence[Any]) -> Counts:
            return np.searchsorted(edges, _numbers(those), side="right").astype(np.int64)

        return Outcomes(names, place, complete=False)
    frequent = sorted(different, key=_how_often(seen), reverse=True)[: 16 * MOST_VALUES]
    places = {label: where for where, label in enumerate(frequent)}

    def find(those: Sequence[Any]) -> Counts:
        return np.array([places.get(_label(answer), len(places)) for answer in those], dtype=np.int64)

    return Outcomes([*map(str, frequent), OTHER], find, complete=False)


def _how_often(seen: list[Any]) -> Callable[[Any], int]:
    counted: dict[Any, int] = {}
    for label in seen:
        counted[label] = counted.get(label, 0) + 1
    return counted.__getitem__


def _label(answer: Any) -> Any:
    """An answer as something that can be counted: arrays and lists by their entries, NaN as itself."""
    if isinstance(answer, np.ndarray):
        answer = answer.tolist()
    if isinstance(answer, (list, tuple)):
        return tuple(_label(part) for part in answer)
    plain = plain_value(answer)
    if isinstance(plain, float) and math.isnan(plain):
        return "nan"
    try:
        hash(plain)
    except TypeError:
        raise InvalidInput(
            f"An answer must be a number, a text, or a list of such. Got {type(answer).__name__}: give back what an "
            "attacker sees of it."
        ) from None
    return plain


def _is_number(label: Any) -> bool:
    return isinstance(label, (int, float)) and not isinstance(label, bool)


def _numbers(answers: Sequence[Any]) -> npt.NDArray[np.float64]:
    try:
        return np.asarray(answers, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("The answers must be numbers for outcomes that are bins.") from None


def _binned(numbers: npt.NDArray[np.float64], edges: npt.NDArray[np.float64], *, strict: bool) -> Counts:
    inside = (numbers >= edges[0]) & (numbers <= edges[-1])
    if strict and not inside.all():
        raise InvalidInput(
            f"outputs must cover every answer: {numbers[~inside][0]!r} is outside [{edges[0]:g}, {edges[-1]:g}]."
        )
    return np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2).astype(np.int64)
