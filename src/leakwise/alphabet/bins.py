"""Numbers as letters: a declared range cut into intervals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from leakwise.alphabet.labels import MOST_LETTERS, Alphabet
from leakwise.errors import InvalidInput
from leakwise.types import Floats, Indices

__all__ = ["Bins", "alphabet_with_edges", "bins", "edges_of"]


class Bins(Alphabet):
    """Intervals [e_0, e_1), [e_1, e_2) … [e_{n-1}, e_n] as an alphabet; the last one is closed.

    With ``missing`` there is a place for missing values too, after the intervals: None.
    """

    __slots__ = ("edges",)

    edges: Floats

    def __init__(self, edges: Sequence[float] | Floats, *, missing: bool = False) -> None:
        try:
            array = np.array(edges, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"bin edges must be numbers. Got {edges!r} instead.") from error
        if array.ndim != 1 or len(array) < 2:
            raise InvalidInput(f"bins need at least two edges. Got {edges!r} instead.")
        if not np.isfinite(array).all() or not (np.diff(array) > 0).all():
            raise InvalidInput(f"bin edges must be finite and increasing. Got {edges!r} instead.")
        # Twelve digits read well; narrow bins far from zero need more to have names of their own.
        texts = next(
            written
            for digits in (12, 17)
            if len(set(written := [f"{edge:.{digits}g}" for edge in array])) == len(array)
        )
        last = len(array) - 2
        labels = [
            f"[{low}, {high}{']' if position == last else ')'}"
            for position, (low, high) in enumerate(itertools.pairwise(texts))
        ]
        super().__init__([*labels, None] if missing else labels, name="bin labels")
        array.flags.writeable = False
        self.edges = array

    @property
    def missing(self) -> bool:
        """Whether there is a place for missing values."""
        return self.labels[-1] is None

    def with_missing(self) -> Bins:
        """Return the same intervals with a place for missing values."""
        return Bins(self.edges, missing=True)

    def codes_of_numbers(self, values: Floats) -> Indices:
        """Return the bin of each number, -1 outside the range (and for NaN, if missing values have no place)."""
        codes = np.searchsorted(self.edges, values, side="right") - 1
        codes[values == self.edges[-1]] = len(self.edges) - 2
        outside = ~((values >= self.edges[0]) & (values <= self.edges[-1]))
        codes[outside] = -1
        if self.missing:
            codes[np.isnan(values)] = len(self) - 1
        return codes


def bins(low: float, high: float, count: int) -> Bins:
    """Return the range from ``low`` to ``high`` in ``count`` intervals of equal width, as a domain.

    >>> list(bins(0, 100, 10))[:2], list(bins(0, 100, 10))[-1]
    (['[0, 10)', '[10, 20)'], '[90, 100]')
    """
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 1 <= count <= MOST_LETTERS:
        raise InvalidInput(f"count must be a whole number of bins, from 1 to {MOST_LETTERS:,}. Got {count!r} instead.")
    try:
        width = float(high) - float(low)
    except (TypeError, ValueError, OverflowError):
        width = math.nan
    if not (math.isfinite(width) and width > 0):
        raise InvalidInput(f"bins need finite numbers low < high. Got low={low!r}, high={high!r} instead.")
    edges = np.linspace(float(low), float(high), int(count) + 1)
    if not (np.diff(edges) > 0).all():
        raise InvalidInput(
            f"{count} bins between {low!r} and {high!r} are narrower than a float can tell apart. Use fewer."
        )
    return Bins(edges)


def edges_of(alphabet: Alphabet) -> list[float] | None:
    """Return the edges of bins, to be stored beside their names; None for labels that are no bins."""
    return alphabet.edges.tolist() if isinstance(alphabet, Bins) else None


def alphabet_with_edges(alphabet: Alphabet, edges: Sequence[float] | None, *, name: str) -> Alphabet:
    """Return the bins that a file describes by names and edges; without edges the labels as they are."""
    if edges is None:
        return alphabet
    found = Bins(edges, missing=alphabet.labels[-1] is None)
    if found.labels != alphabet.labels:
        raise InvalidInput(f"{name!r} is damaged: the edges of its bins do not fit their names.")
    return found
