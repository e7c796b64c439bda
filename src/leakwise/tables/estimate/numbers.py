"""Numbers from values: means, totals and quantiles of what cells stand for, with intervals."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from leakwise.alphabet import Label
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import InvalidInput, some_of
from leakwise.types import Floats

__all__ = ["ColumnNumbers", "Quantity", "critical_value", "quantile", "quantile_of", "values_of"]


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


def critical_value(confidence: float, degrees: int | None, claims: int = 1) -> float:
    """Return how many standard errors an interval reaches: of Student's distribution where degrees of freedom are few.

    >>> round(critical_value(0.95, None), 4), round(critical_value(0.95, 10), 4)
    (1.96, 2.2281)
    """
    tail = (1 - confidence) / (2 * claims)
    if degrees is None or degrees > 10_000:
        return -NormalDist().inv_cdf(tail)
    from scipy.special import stdtrit

    return float(-stdtrit(max(degrees, 1), tail))


def values_of(labels: Sequence[Label], edges: Sequence[float] | None, values: Any, name: Hashable) -> Floats:
    """Return the number that each value stands for: as given, the middles of bins, or the values themselves."""
    if values is None:
        if edges is not None:
            ends = np.asarray(edges)
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

    ``within``: shares lie evenly between consecutive ends (bins); otherwise each share sits on its value.

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
    error_of: Callable[[Floats], float],
    reach: float,
    confidence: float,
) -> Quantity:
    """Return a quantile with the interval of Woodruff: where the distribution function, give or take its error, is q.

    ``error_of`` is the standard error of a sum of shares with the given coefficients. Between the ends of a bin the
    function is the share of the bins before and a part of this one; of values, it is uncertain just below the quantile
    and at it, and the larger error is taken.
    """
    if isinstance(q, bool) or not isinstance(q, (int, float, np.number)) or not 0 < q < 1:
        raise InvalidInput(f"q must be strictly between 0 and 1, such as 0.5 for the median. Got {q!r}.")
    value = quantile_of(shares, ends, float(q), within=within)
    at = min(int(np.searchsorted(np.cumsum(shares), q - 1e-12)), shares.size - 1)
    parts = [(value - ends[at]) / (ends[at + 1] - ends[at])] if within else [0.0, 1.0]
    error = 0.0
    for part in parts:
        coefficients = (np.arange(shares.size) < at).astype(np.float64)
        coefficients[at] = part
        error = max(error, error_of(coefficients)) if error == error else error
    title = f"{q:g} quantile of {name}"
    if not math.isfinite(error):
        return Quantity(title, value, math.nan, (float(ends[0]), float(ends[-1])), confidence)
    low, high = (quantile_of(shares, ends, float(q) + sign * reach * error, within=within) for sign in (-1, 1))
    return Quantity(title, value, (high - low) / (2 * reach), (low, high), confidence)


class ColumnNumbers:
    """Numbers from the frequencies of one column."""

    __slots__ = ()

    edges: Sequence[float] | None

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

    def mean(self, values: Any = None) -> Quantity:
        """Return the mean of the numbers that the values stand for, with its interval.

        ``values`` maps values to numbers, or lists numbers in their order. It may be left out for bins, which stand for
        their middles, and for values that are numbers.
        """
        numbers = values_of(self.labels, self.edges, values, "the column")
        return self._sum("mean", numbers, 1.0)

    def total(self, values: Any = None) -> Quantity:
        """Return the total of the numbers over all rows, with its interval."""
        numbers = values_of(self.labels, self.edges, values, "the column")
        return self._sum("total", numbers, float(self.sample_size))

    def quantile(self, q: float, values: Any = None) -> Quantity:
        """Return the quantile of the numbers, with the interval of Woodruff; bins are filled evenly."""
        within = values is None and self.edges is not None
        order = np.arange(len(self.labels))
        if within:
            ends = np.asarray(self.edges, dtype=np.float64)
        else:
            numbers = values_of(self.labels, None, values, "the column")
            order = np.argsort(numbers, kind="stable")
            ends = numbers[order]
        reach = critical_value(self.confidence, None)

        def error_of(coefficients: Floats) -> float:
            return self._error(coefficients[np.argsort(order)])

        return quantile("the column", q, self.frequencies[order], ends, within, error_of, reach, self.confidence)

    def _error(self, coefficients: Floats) -> float:
        return float(np.sqrt(np.maximum(coefficients @ self.covariance() @ coefficients, 0.0)))

    def _sum(self, name: str, numbers: Floats, scale: float) -> Quantity:
        value, error = scale * float(numbers @ self.frequencies), scale * self._error(numbers)
        reach = critical_value(self.confidence, None) * error
        ends = (value - reach, value + reach) if math.isfinite(error) else (-math.inf, math.inf)
        return Quantity(name, value, error, ends, self.confidence)
