"""Answers as counts: a table of inputs and outcomes, with outcomes that are labels or bins of numbers.

Whatever outcomes are put together, the table is that of a post-processing of the program, which leaks no more. So every
lower bound read off it holds for the program; an upper bound holds only where the outcomes were declared and no
different answers were counted as one.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.alphabet import as_alphabet
from leakwise.alphabet.bins import Bins
from leakwise.alphabet.dates import DateBins
from leakwise.alphabet.labels import plain_value
from leakwise.blackbox.forms import Forms, form
from leakwise.errors import InvalidInput
from leakwise.types import Counts, Floats

__all__ = ["Outcomes", "declared_outcomes", "learned_outcomes"]


# Numbers of more different values than this are put into bins, as many as this.
MOST_VALUES = 64
OTHER = "(any other)"
BINS = "bins count different answers as one"


class Outcomes:
    """How answers become columns of a table of counts.

    Parameters
    ----------
    names
        One for each column.
    place
        From answers to columns.
    declared
        Whether the user named every outcome there is.
    binned
        Whether numbers are put into bins.
    forms
        What each outcome has stood for so far, where the outcomes are labels.
    """

    def __init__(
        self,
        names: Sequence[str],
        place: Callable[[Sequence[Any]], Counts],
        *,
        declared: bool,
        binned: bool = False,
        forms: Forms | None = None,
    ) -> None:
        self.names, self.declared, self.binned = tuple(names), declared, binned
        self._place, self._forms = place, forms

    @property
    def put_together(self) -> str | None:
        """Why the outcomes counted so far hide differences between answers; None where they hide none."""
        if self.binned:
            return BINS
        return None if self._forms is None else self._forms.merged

    @property
    def complete(self) -> bool:
        """Whether the outcomes are all there are, each of them one answer: only then there are upper bounds."""
        return self.declared and self.put_together is None

    def count(self, answers: Sequence[Any]) -> Counts:
        """Return how often each outcome is among the answers."""
        return np.bincount(self._place(answers), minlength=len(self.names)).astype(np.int64)

    def table(self, answers: Sequence[Sequence[Any]]) -> Counts:
        """Return a row for each input."""
        return np.stack([self.count(own) for own in answers])


def declared_outcomes(outputs: Any) -> Outcomes:
    """Return the outcomes that the user says are all there are; an answer beyond them is an error."""
    letters = as_alphabet(outputs, name="outputs")
    names = [str(label) for label in letters.labels]
    if isinstance(letters, DateBins):
        raise InvalidInput("outputs must be labels, or bins of numbers. Got bins of dates.")
    if isinstance(letters, Bins):
        edges = np.asarray(letters.edges, dtype=np.float64)
        return Outcomes(names, lambda those: _binned(_numbers(those), edges), declared=True, binned=True)
    places = {label: where for where, label in enumerate(letters.labels)}
    forms = Forms("answers")

    def place(answers: Sequence[Any]) -> Counts:
        found = [places.get(_label(answer), -1) for answer in answers]
        if -1 in found:
            strange = _label(answers[found.index(-1)])
            raise InvalidInput(
                f"outputs must name every answer that can come. Got {strange!r}, which is none of them. Leave outputs "
                "out to audit without a list: the lower bounds hold all the same."
            )
        for where, answer in zip(found, answers, strict=True):
            forms.note(where, answer)
        return np.array(found, dtype=np.int64)

    return Outcomes(names, place, declared=True, forms=forms)


def learned_outcomes(answers: Iterable[Any]) -> Outcomes:
    """Return outcomes read off some answers, which must not be counted again.

    Answers as they are; of many different numbers those that come often, the rest in bins.
    """
    shown: dict[Hashable, Any] = {}
    counted: Counter[Hashable] = Counter()
    for answer in answers:
        key = _key(answer)
        counted[key] += 1
        shown.setdefault(key, answer)
    numbers = {key: value for key, answer in shown.items() if (value := _number(answer)) is not None}
    rare: dict[Hashable, float] = {}
    if len(numbers) > MOST_VALUES:
        often = sum(counted[key] for key in numbers) / MOST_VALUES
        rare = {key: value for key, value in numbers.items() if counted[key] < often}
    labels = [key for key, _ in counted.most_common() if key not in rare][: 16 * MOST_VALUES]
    places = {key: where for where, key in enumerate(labels)}
    drawn = np.repeat(list(rare.values()), [counted[key] for key in rare]) if rare else np.zeros(0)
    edges = np.unique(np.quantile(drawn, np.linspace(0, 1, MOST_VALUES + 1)[1:-1])) if rare else np.zeros(0)
    full = [-math.inf, *edges.tolist(), math.inf] if rare else []
    bins = [f"[{low:.6g}, {high:.6g})" for low, high in itertools.pairwise(full)]
    other = len(labels) + len(bins)

    def place(those: Sequence[Any]) -> Counts:
        found = np.array([places.get(_key(answer), other) for answer in those], dtype=np.int64)
        if bins:
            left = [(where, _number(those[where])) for where in np.flatnonzero(found == other).tolist()]
            inside = {where: value for where, value in left if value is not None}
            found[list(inside)] = len(labels) + np.searchsorted(edges, list(inside.values()), side="right")
        return found

    return Outcomes([*_names([shown[key] for key in labels]), *bins, OTHER], place, declared=False, binned=bool(bins))


def _names(answers: list[Any]) -> list[str]:
    """Answers in words: as they print, with their type where two would print alike."""
    plain = [str(_label(answer)) for answer in answers]
    twice = {name for name, times in Counter(plain).items() if times > 1}
    return [
        f"{name} ({type(answer).__name__})" if name in twice else name
        for name, answer in zip(plain, answers, strict=True)
    ]


def _key(answer: Any) -> Hashable:
    """What an answer is counted under: as it is, or where only its own equality is known by that."""
    exact = form(answer)
    return (type(answer), _label(answer)) if exact is None else exact


def _label(answer: Any) -> Any:
    """An answer as something that can be looked up among labels: arrays and lists by their entries, NaN as itself."""
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


def _number(answer: Any) -> float | None:
    """A finite real number that bins can hold; None for any other answer."""
    plain = answer if type(answer) is float else plain_value(answer)
    if isinstance(plain, bool) or not isinstance(plain, (int, float, Decimal, Fraction)):
        return None
    try:
        value = float(plain)
    except (OverflowError, ValueError):
        return None  # an integer beyond all floats, a signalling NaN
    return value if math.isfinite(value) else None


def _numbers(answers: Sequence[Any]) -> Floats:
    try:
        return np.asarray(answers, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(
            "The answers must be numbers for outcomes that are bins. Leave outputs out where other answers can come."
        ) from None


def _binned(numbers: Floats, edges: Floats) -> Counts:
    inside = (numbers >= edges[0]) & (numbers <= edges[-1])
    if not inside.all():
        raise InvalidInput(
            f"outputs must cover every answer: {numbers[~inside][0]!r} is outside [{edges[0]:g}, {edges[-1]:g}]."
        )
    return np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2).astype(np.int64)
