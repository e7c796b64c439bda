"""Numbers from values: means, totals and quantiles of what cells stand for, with intervals."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.alphabet import Label
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import InvalidInput, some_of
from leakwise.types import Floats

if TYPE_CHECKING:
    from leakwise.tables.estimate.joint.evidence import Evidence

__all__ = [
    "ColumnNumbers",
    "Edges",
    "Quantity",
    "critical_value",
    "ends_of",
    "quantile",
    "quantile_of",
    "stand_for_numbers",
    "values_of",
]


# Steps of regula falsi towards the end of an interval inside a bin.
_CROSSING_STEPS = 3


@dataclass(frozen=True, repr=False)
class Quantity(Shown):
    """An estimated number, with its standard error and interval; ``float(q)`` is the number.

    Attributes
    ----------
    name
        What it is.
    value, standard_error, interval
        The estimate, its standard error (NaN where the outcomes do not determine it), and low and high.
    confidence
        The confidence of the interval.
    """

    name: str
    value: float
    standard_error: float
    interval: tuple[float, float]
    confidence: float

    def __float__(self) -> float:
        return self.value

    def _shown(self) -> Parts:
        headers = ["", "estimate", "standard error", "low", "high"]
        known = math.isfinite(self.standard_error)
        row = [self.name, self.value if known else None, self.standard_error if known else None, *self.interval]
        return [Table(headers, [row])] + ([] if known else ["The outcomes do not determine it."])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; None where a number does not exist."""
        known = math.isfinite(self.standard_error)
        return {
            "name": self.name,
            "value": self.value if known else None,
            "standard_error": self.standard_error if known else None,
            "interval": [one if math.isfinite(one) else None for one in self.interval],
            "confidence": self.confidence,
        }


def critical_value(confidence: float, degrees: float | None, claims: int = 1) -> float:
    """Return how many standard errors an interval reaches: of Student's distribution where degrees of freedom are few.

    >>> round(critical_value(0.95, None), 4), round(critical_value(0.95, 10), 4)
    (1.96, 2.2281)
    """
    tail = (1 - confidence) / (2 * claims)
    if degrees is None or degrees > 10_000:
        return -NormalDist().inv_cdf(tail)
    from scipy.special import stdtrit

    return float(-stdtrit(max(degrees, 1), tail))


Edges = Sequence[float | str]
"""The edges of bins as they are stored: infinite ones and dates are texts."""


def stand_for_numbers(labels: Sequence[Label], edges: Edges | None) -> bool:
    """Return whether values stand for numbers by themselves: they are numbers, or bins that all have a middle."""
    if edges is not None:
        return len(labels) < len(edges) and not any(isinstance(edge, str) for edge in edges)
    return all(isinstance(label, (int, float)) and not isinstance(label, bool) for label in labels)


def ends_of(labels: Sequence[Label], edges: Edges, name: Hashable, *, infinite: bool = False) -> Floats:
    """Return the edges of bins as numbers; those that are none are refused, infinite ones unless they are allowed."""
    why = None
    if len(labels) == len(edges):
        why = "a missing value stands for no number"
    elif dates := [edge for edge in edges if isinstance(edge, str) and "inf" not in edge]:
        why = f"they are bins of dates, such as {dates[0]}"
    elif not infinite and any(isinstance(edge, str) for edge in edges):
        why = f"the open bin {labels[0] if edges[0] == '-inf' else labels[-1]} has no middle"
    if why is not None:
        raise InvalidInput(
            f"values must say which number each value of {name!r} stands for: {why}. Give a mapping or a list for "
            f"{some_of(labels)}."
        )
    return np.array([float(edge) for edge in edges])


def values_of(labels: Sequence[Label], edges: Edges | None, values: Any, name: Hashable) -> Floats:
    """Return the number that each value stands for: as given, the middles of bins, or the values themselves."""
    if values is None:
        if edges is not None:
            ends = ends_of(labels, edges, name)
            return np.asarray((ends[:-1] + ends[1:]) / 2)
        if all(isinstance(label, (int, float)) for label in labels):
            return np.array([float(label) for label in labels])  # type: ignore[arg-type]
        raise InvalidInput(
            f"values must say which number each value of {name!r} stands for: {some_of(labels)}. Give a mapping or a "
            "list in this order."
        )
    if isinstance(values, Mapping):
        if missing := [label for label in labels if label not in values]:
            raise InvalidInput(f"values has no number for {some_of(missing)} of {name!r}.")
        values = [values[label] for label in labels]
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"values must be numbers, one for each value of {name!r}. Got {values!r}.") from error
    if array.shape != (len(labels),) or not np.isfinite(array).all():
        raise InvalidInput(
            f"values must be {len(labels)} finite numbers, one for each of {some_of(labels)}. Got {values!r} instead."
        )
    return array


def quantile_of(shares: Floats, ends: Floats, level: float, *, within: bool) -> float:
    """Return where the distribution reaches a level.

    ``within``: shares lie evenly between consecutive ends (bins); otherwise each share sits on its value. In a bin that
    is open on one side nothing is known of where.

    >>> quantile_of(np.array([0.5, 0.5]), np.array([0.0, 10.0, 20.0]), 0.75, within=True)
    15.0
    >>> quantile_of(np.array([0.5, 0.5]), np.array([1.0, 3.0]), 0.75, within=False)
    3.0
    """
    level = min(max(level, 0.0), 1.0)
    up_to = np.minimum(np.cumsum(shares), 1.0)
    place = min(int(np.searchsorted(up_to, level - 1e-12)), shares.size - 1)
    if not within:
        return float(ends[place])
    if not np.isfinite(ends[place : place + 2]).all():
        raise InvalidInput(
            f"The {level:g} quantile is in the open bin from {ends[place]:g} to {ends[place + 1]:g}, where nothing is "
            "known of it. Close the bin, or give values."
        )
    before = up_to[place - 1] if place else 0.0
    share = up_to[place] - before
    inside = (level - before) / share if share > 0 else 0.0
    return float(ends[place] + min(max(inside, 0.0), 1.0) * (ends[place + 1] - ends[place]))


def quantile(
    name: str,
    q: Any,
    shares: Floats,
    ends: Floats,
    within: bool,
    part_of: Callable[[Floats], tuple[float, float, tuple[float, float]]],
    reach: float,
    confidence: float,
) -> Quantity:
    """Return a quantile with the interval of Woodruff: every number at which the distribution function may be q.

    ``part_of`` gives a sum of shares with coefficients: value, error (NaN where it is not determined) and interval.
    Between the ends of a bin the function is the share of the bins before and a part of this one.
    """
    if isinstance(q, bool) or not isinstance(q, (int, float, np.number)) or not 0 < q < 1:
        raise InvalidInput(f"q must be strictly between 0 and 1, such as 0.5 for the median. Got {q!r}.")
    value = quantile_of(shares, ends, float(q), within=within)
    at = min(int(np.searchsorted(np.cumsum(shares), q - 1e-12)), shares.size - 1)

    errors: list[float] = []

    def band(up_to: float) -> tuple[float, float]:
        """Low and high of the distribution function after so many shares."""
        if up_to <= 0 or up_to >= shares.size:
            return (0.0, 0.0) if up_to <= 0 else (1.0, 1.0)
        _, error, found = part_of(np.clip(up_to - np.arange(shares.size), 0.0, 1.0))
        errors.append(error)
        return found

    first, last = at, at  # values (bins) that the quantile may be (lie in)
    while first > 0 and band(first)[1] >= q:
        first -= 1
    while last < shares.size - 1 and band(last + 1)[0] <= q:
        last += 1
    title = f"{q:g} quantile of {name}"
    if within:
        start, end = (_crossing(band, place, float(q), side) for place, side in ((first, 1), (last, 0)))
        places, finite = np.arange(ends.size), np.isfinite(ends)
        closed = np.interp(places, places[finite], ends[finite])
        low = min(float(np.interp(start, places, closed)), value) if finite[first] else -math.inf
        high = max(float(np.interp(end, places, closed)), value) if finite[last + 1] else math.inf
    else:
        low, high = float(ends[first]), float(ends[last])
    error = (high - low) / (2 * reach) if np.isfinite(errors).all() else math.nan
    return Quantity(title, value, error, (low, high), confidence)


def _crossing(band: Callable[[float], tuple[float, float]], place: int, q: float, side: int) -> float:
    """Where within a bin one side of the distribution function reaches q, in bins."""
    low, high = float(place), float(place + 1)
    below, above = band(low)[side], band(high)[side]
    for _ in range(_CROSSING_STEPS):
        if not below < q < above:
            break
        middle = low + (high - low) * min(max((q - below) / (above - below), 0.02), 0.98)
        found = band(middle)[side]
        if found < q:
            low, below = middle, found
        else:
            high, above = middle, found
    if not below < q < above:
        return low if below >= q else high
    return low + (high - low) * (q - below) / (above - below)


class ColumnNumbers:
    """Numbers from the frequencies of one column."""

    __slots__ = ()

    edges: Edges | None

    @property
    @abstractmethod
    def labels(self) -> tuple[Label, ...]:
        """The values."""

    @property
    @abstractmethod
    def frequencies(self) -> Floats:
        """The frequency of each."""

    @property
    @abstractmethod
    def confidence(self) -> float:
        """The confidence of an interval."""

    @property
    @abstractmethod
    def sample_size(self) -> int:
        """The number of rows."""

    @abstractmethod
    def covariance(self, letters: list[Label] | None = None) -> Floats:
        """Return the covariance of the frequencies."""

    @property
    @abstractmethod
    def evidence(self) -> Evidence | None:
        """What the rows say; None where the values are too many for it."""

    def mean(self, values: Any = None) -> Quantity:
        """Return the mean of the numbers that the values stand for, with its interval.

        ``values`` maps values to numbers, or lists numbers in their order. It may be left out for bins, which stand for
        their middles, and for values that are numbers.
        """
        numbers = values_of(self.labels, self.edges, values, "the column")
        return Quantity("mean", *self._mean(numbers), self.confidence)

    def total(self, values: Any = None) -> Quantity:
        """Return the total of the numbers over all rows, with its interval."""
        value, error, (low, high) = self._mean(values_of(self.labels, self.edges, values, "the column"))
        n = float(self.sample_size)
        return Quantity("total", n * value, n * error, (n * low, n * high), self.confidence)

    def quantile(self, q: float, values: Any = None) -> Quantity:
        """Return the quantile of the numbers, with the interval of Woodruff; bins are filled evenly."""
        within = values is None and self.edges is not None
        order = np.arange(len(self.labels))
        if values is None and self.edges is not None:
            ends = ends_of(self.labels, self.edges, "the column", infinite=True)
        else:
            numbers = values_of(self.labels, None, values, "the column")
            order = np.argsort(numbers, kind="stable")
            ends = numbers[order]

        def part_of(coefficients: Floats) -> tuple[float, float, tuple[float, float]]:
            return self._mean(coefficients[np.argsort(order)])

        reach = critical_value(self.confidence, None)
        return quantile("the column", q, self.frequencies[order], ends, within, part_of, reach, self.confidence)

    def _mean(self, numbers: Floats) -> tuple[float, float, tuple[float, float]]:
        """The mean of numbers, its standard error and interval."""
        reach = critical_value(self.confidence, None)
        if (evidence := self.evidence) is not None:
            from leakwise.tables.estimate.joint.score import ratio

            return ratio(evidence, self.frequencies, numbers, np.ones(numbers.size), reach)
        value = float(numbers @ self.frequencies)
        error = float(np.sqrt(np.maximum(numbers @ self.covariance() @ numbers, 0.0)))
        if not math.isfinite(error):
            return value, error, (float(numbers.min()), float(numbers.max()))
        return value, error, (value - reach * error, value + reach * error)
