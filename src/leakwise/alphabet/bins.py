"""Numbers as letters: a declared range cut into intervals."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from leakwise.alphabet.labels import MOST_LETTERS, Alphabet
from leakwise.errors import InvalidInput
from leakwise.types import Floats, Indices

__all__ = ["Bins", "alphabet_with_edges", "bins", "edges_of", "newest", "numbered_edges"]


class Bins(Alphabet):
    """Intervals [e_0, e_1), [e_1, e_2) … [e_{n-1}, e_n] as an alphabet; the last one is closed.

    The first edge may be -inf and the last inf: such an interval is open on that side, and has no middle. With
    ``missing`` there is a place for missing values too, after the intervals: None.
    """

    __slots__ = ("edges",)

    edges: Floats

    def __init__(self, edges: Iterable[float] | Floats, *, missing: bool = False) -> None:
        try:
            array = np.array(edges if isinstance(edges, np.ndarray) else list(edges), dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"bin edges must be numbers. Got {edges!r} instead.") from error
        if array.ndim != 1 or len(array) < 2:
            raise InvalidInput(f"bins need at least two edges. Got {edges!r} instead.")
        if not np.isfinite(array[1:-1]).all() or not (array[1:] > array[:-1]).all():
            raise InvalidInput(
                f"bin edges must increase; the first may be -inf, the last inf. Got {array.tolist()} instead."
            )
        super().__init__([*self._names(array), *([None] if missing else [])], name="bin labels")
        array.flags.writeable = False
        self.edges = array

    @staticmethod
    def _names(edges: Floats) -> list[str]:
        # Twelve digits read well; narrow bins far from zero need more to have names of their own.
        texts = next(
            written
            for digits in (12, 17)
            if len(set(written := [f"{edge:.{digits}g}" for edge in edges])) == len(edges)
        )
        names = [f"[{low}, {high})" for low, high in itertools.pairwise(texts)]
        if math.isfinite(edges[-1]):
            names[-1] = f"{names[-1][:-1]}]"
        if not math.isfinite(edges[0]):
            names[0] = f"({names[0][1:]}"
        return names

    @property
    def missing(self) -> bool:
        """Whether there is a place for missing values."""
        return self.labels[-1] is None

    @property
    def plain_edges(self) -> list[float | str]:
        """The edges as they are stored: JSON knows no infinite numbers."""
        return [edge if math.isfinite(edge) else str(edge) for edge in self.edges.tolist()]

    @property
    def typed(self) -> str:
        """The bins as they are typed after ``--domain``, without the place of missing values."""
        edges = [f"{edge:.17g}" if float(f"{edge:.12g}") != edge else f"{edge:.12g}" for edge in self.edges.tolist()]
        count = len(edges) - 1
        low, high = self.edges[0], self.edges[-1]
        with np.errstate(over="ignore"):  # such edges are of no equal width
            even = math.isfinite(high - low) and np.array_equal(np.linspace(low, high, count + 1), self.edges)
        if even:
            return f"bins:{edges[0]},{edges[-1]},{count}"
        # Of three numbers the last would be a count.
        return f"bins:{','.join(edges)}{'.0' if count == 2 and edges[-1].lstrip('-').isdecimal() else ''}"

    @property
    def called(self) -> str:
        """The call that makes the bins, without the place of missing values."""
        count = len(self.edges) - 1
        if (typed := self.typed).count(",") == 2 and typed.endswith(f",{count}"):
            return f"lw.bins({', '.join(typed.removeprefix('bins:').split(','))})"
        inner = ", ".join(repr(edge) if math.isfinite(edge) else f'float("{edge}")' for edge in self.edges.tolist())
        return f"lw.bins([{inner}])"

    def with_missing(self) -> Bins:
        """Return the same intervals with a place for missing values."""
        return type(self)(self.edges, missing=True)

    def codes_of_numbers(self, values: Floats) -> Indices:
        """Return the bin of each number, -1 outside the range (and for NaN, if missing values have no place)."""
        codes = np.searchsorted(self.edges, values, side="right") - 1
        codes[values == self.edges[-1]] = len(self.edges) - 2
        outside = ~(np.isfinite(values) & (values >= self.edges[0]) & (values <= self.edges[-1]))
        codes[outside] = -1
        if self.missing:
            codes[np.isnan(values)] = len(self) - 1
        return codes

    def codes_of_values(self, values: Sequence[Any]) -> list[int]:
        """Return the code of each value, a text among them for what it says; -1 for one that has no place."""
        numbers = [_number(value) for value in values]
        codes = self.codes_of_numbers(np.array([math.nan if one is None else one for one in numbers]))
        known = [value is None or (one is not None and one == one) for value, one in zip(values, numbers, strict=True)]
        return [int(code) if there else -1 for code, there in zip(codes, known, strict=True)]


def _number(value: Any) -> float | None:
    """The number that a value is, or that a text says; None for anything else."""
    if value is None or isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def bins(low: Any, high: Any = None, count: Any = None) -> Bins:
    """Return intervals of numbers or of dates, as a domain.

    Parameters
    ----------
    low, high, count
        The range from ``low`` to ``high`` in ``count`` intervals of equal width. For dates ``count`` is ``"day"``,
        ``"week"``, ``"month"``, ``"quarter"`` or ``"year"``: all of them from that of ``low`` to that of ``high``,
        which are dates or texts such as ``"2024"``, ``"2024-01"`` and ``"2024-01-31"``. Or ``low`` alone: a list of
        edges, numbers or dates, of which the first may be -inf and the last inf.

    Examples
    --------
    >>> list(bins(0, 100, 10))[:2], list(bins(0, 100, 10))[-1]
    (['[0, 10)', '[10, 20)'], '[90, 100]')
    >>> list(bins([0, 18, 65, float("inf")]))
    ['[0, 18)', '[18, 65)', '[65, inf)']
    >>> list(bins("2024-11", "2025-02", "month"))
    ['2024-11', '2024-12', '2025-01', '2025-02']
    """
    from leakwise.alphabet.dates import DateBins, date_bins, is_date

    if high is None and count is None:
        if isinstance(low, (str, bytes)) or not isinstance(low, Iterable):
            raise InvalidInput(
                "bins must be low, high and a count (or a unit of time), or a list of edges, such as "
                f"lw.bins([0, 18, 65, float('inf')]). Got {low!r} instead."
            )
        edges = list(low)
        return DateBins.of(edges) if any(map(is_date, edges)) else Bins(edges)
    if isinstance(count, str) and count.isalpha():
        return date_bins(low, high, count)
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or not 1 <= count <= MOST_LETTERS:
        raise InvalidInput(
            f"count must be a whole number of bins, from 1 to {MOST_LETTERS:,}, or for dates a unit of time such as "
            f"'month'. Got {count!r} instead."
        )
    try:
        width = float(high) - float(low)
    except (TypeError, ValueError, OverflowError):
        width = math.nan
    if not (math.isfinite(width) and width > 0):
        raise InvalidInput(f"bins need finite numbers low < high. Got low={low!r}, high={high!r} instead.")
    edges_between = np.linspace(float(low), float(high), int(count) + 1)
    if not (np.diff(edges_between) > 0).all():
        raise InvalidInput(
            f"{count} bins between {low!r} and {high!r} are narrower than a float can tell apart. Use fewer."
        )
    return Bins(edges_between)


def edges_of(alphabet: Alphabet) -> list[float | str] | None:
    """Return the edges of bins, to be stored beside their names; None for labels that are no bins.

    Infinite ones and dates are texts: ``"inf"``, ``"2024-01-31"``.
    """
    return alphabet.plain_edges if isinstance(alphabet, Bins) else None


def numbered_edges(bins: Bins) -> tuple[float, ...]:
    """Return finite numbers that tell bins of one column apart: of dates their days, the largest for infinite ones."""
    return tuple(np.nan_to_num(bins.edges).tolist())


def newest(version: int, latest: int, *alphabets: Alphabet) -> int:
    """Return the version of a file that has these alphabets: the latest where an edge is infinite, or a date."""
    return latest if any(isinstance(edge, str) for one in alphabets for edge in edges_of(one) or ()) else version


def alphabet_with_edges(alphabet: Alphabet, edges: Sequence[float | str] | None, *, name: str) -> Alphabet:
    """Return the bins that a file describes by names and edges; without edges the labels as they are."""
    if edges is None:
        return alphabet
    from leakwise.alphabet.dates import DateBins

    missing = alphabet.labels[-1] is None
    infinite = {"inf": math.inf, "-inf": -math.inf}
    read: list[Any] = [infinite.get(edge, edge) if isinstance(edge, str) else edge for edge in edges]
    found: Bins
    if any(isinstance(edge, str) for edge in read):
        try:
            days = [datetime.date.fromisoformat(edge) if isinstance(edge, str) else edge for edge in read]
        except ValueError as error:
            raise InvalidInput(f"{name!r} is damaged: {error}.") from error
        found = DateBins.of(days, missing=missing)
    else:
        found = Bins(read, missing=missing)
    if found.labels != alphabet.labels:
        raise InvalidInput(f"{name!r} is damaged: the edges of its bins do not fit their names.")
    return found
