"""What the choice of given columns costs: rows too rare to learn from, the accuracy left, and choices that do better.

For the owner of the table: the figures follow from how often each combination of the given columns occurs, which the
released table shows, and from the frequencies of the secret.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import Bins, GivenColumns, bins
from leakwise.alphabet.dates import day_of
from leakwise.errors import LeakwiseError, LeakwiseWarning
from leakwise.mechanism import Mechanism
from leakwise.priors import Prior
from leakwise.report.better_choices import Advice, Option
from leakwise.report.comparison import worth
from leakwise.report.row_facts import RowFacts
from leakwise.types import Codes, Counts, Floats
from leakwise.workflow.choice import Choice, Request
from leakwise.workflow.strata import CountedStrata, certified_by_stratum

__all__ = ["advice", "bins_of_dates", "round_bins", "tell_accuracy"]

# Choices that are told, and how much better each must be than the last.
_TOLD, _BETTER = 3, 0.9
# A column of numbers with more values than this may be put into bins, of which there are so many.
_MANY, _BINS = 12, 5
# Dates are put into years where there are so many of them; otherwise into quarters, months, …
_FEW_DATES = 4
# A choice that keeps a column in bins is preferred to one that drops it, if it costs no more than this.
_FOR_BINS = 1.15
# Seconds for each of the two designs that accuracies are foretold by.
_SECONDS = 5.0


def tell_accuracy(request: Request, choice: Choice, by: GivenColumns | None, rows: int) -> Advice | None:
    """Warn of rows that are in combinations too rare to learn from, with what would do better, and return it."""
    told = None if by is None else advice(request, choice, by, rows)
    if told is not None:
        warnings.warn(told.words, LeakwiseWarning, stacklevel=3)
    return told


def advice(request: Request, choice: Choice, by: GivenColumns, all_rows: int) -> Advice | None:
    """Return what the choice of given columns costs; None where every combination has a mechanism of its own."""
    facts = choice.facts(request, dataset="", rows=all_rows, ledger=None)
    if request.origin != "table" or not isinstance(facts, RowFacts) or not facts.fallback[1]:
        return None
    strata, rows = facts.fallback
    compared = facts.comparison
    errors = None if compared is None else compared.ours.standard_error
    error = None if errors is None else max(errors)
    options: tuple[Option, ...] = ()
    if error is not None and request.mechanism is None:
        try:
            options = _Search(request, choice, by).options(error)
        except LeakwiseError:
            options = ()  # no design for the whole table either: nothing to foretell by
    return Advice(strata, rows, facts.rows, error, options)


@dataclass(frozen=True)
class _Columns:
    """A choice of given columns: codes of the strata in each, and those that are in bins."""

    codes: Mapping[Hashable, Codes]
    bins: Mapping[Hashable, Bins]

    def without(self, name: Hashable) -> _Columns:
        """Return the choice that drops a column."""
        return _Columns(
            {key: codes for key, codes in self.codes.items() if key != name},
            {key: bins for key, bins in self.bins.items() if key != name},
        )

    def binned(self, name: Hashable, codes: Codes, bins: Bins) -> _Columns:
        """Return the choice that has a column in bins."""
        return _Columns({**self.codes, name: codes}, {**self.bins, name: bins})


class _Search:
    """Foretells the accuracy of other choices, by two designs for frequencies of the whole table."""

    def __init__(self, request: Request, choice: Choice, by: GivenColumns) -> None:
        self._request, self._by = request, by
        counts = choice.counts
        table = np.array(list(counts.values()), dtype=np.int64)
        self._whole: Counts = table.sum(axis=0)
        self._sizes: Counts = table.sum(axis=1)
        self._rows = int(self._sizes.sum())
        parts: Any = [list(counts)] if len(by) == 1 else zip(*counts, strict=True)
        self._start = _Columns(
            {
                name: np.array([*map(domain.index.__getitem__, column)], dtype=np.int64)
                for name, domain, column in zip(by.names, by.domains, parts, strict=True)
            },
            {name: domain for name, domain in zip(by.names, by.domains, strict=True) if isinstance(domain, Bins)},
        )
        # A value that does not occur counts as half a row: its frequency is estimated, too.
        self._prior = Prior.from_integers(request.letters, [int(2 * count + 1) for count in self._whole])
        rest = getattr(choice.certificate.mechanism, "otherwise", None)
        self._rest = None if rest is None else self._variances(rest)
        small, large = max(2 * request.least_rows, self._rows // 16), self._rows
        at_small, at_large = self._designed(small), self._designed(large)
        # The price of a sample falls with the square root of its size.
        slope = (at_small - at_large) / max(small**-0.5 - large**-0.5, 1e-12)
        self._limit, self._slope = at_large - slope * large**-0.5, slope

    def _designed(self, rows: int) -> Floats:
        """The variances of one row in a stratum of so many rows with the frequencies of the whole table."""
        request = self._request
        counts = np.round(self._prior.probabilities * rows).astype(np.int64)
        column = GivenColumns({"stratum": ["one"]})
        sample = CountedStrata(
            {"one": counts.tolist()},
            request.letters,
            column,
            "secret",
            None if request.failure is None else request.failure / 10,
            min(request.least_rows, int(counts.sum())),
            request.prior_cost,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LeakwiseWarning)
            _, found, _ = certified_by_stratum(
                sample, request.asked, request.use, None, request.columns, _SECONDS, request.keep
            )
        told = self._variances(found.mechanism["one"])
        if told is None:
            raise LeakwiseError("The outcomes do not determine the frequencies.")
        return told

    def _variances(self, mechanism: Mechanism) -> Floats | None:
        """The variances of the frequencies for one row; None where the outcomes do not determine them."""
        errors = worth(mechanism, self._prior, 1).standard_error
        return None if errors is None else np.array(errors) ** 2

    def _error(self, columns: _Columns) -> float:
        """The largest standard error, about."""
        if columns.codes:
            # Combinations by a sum with large odd factors: two that meet would spoil no more than an estimate.
            numbers = np.zeros_like(self._sizes)
            for codes, factor in zip(columns.codes.values(), _factors(), strict=False):
                numbers += codes * factor
            order = np.argsort(numbers)
            starts = np.flatnonzero(np.diff(numbers[order], prepend=numbers[order[0]] - 1))
            sizes = np.add.reduceat(self._sizes[order], starts).astype(np.float64)
        else:
            sizes = np.array([float(self._rows)])
        own = sizes[sizes >= self._request.least_rows]
        total = own.sum() * self._limit + np.sqrt(own).sum() * self._slope
        left = self._rows - own.sum()
        if left:
            if self._rest is None:
                return math.inf
            total = total + left * self._rest
        return float(np.sqrt(np.maximum(total, 0.0).max()) / self._rows)

    def options(self, now: float) -> tuple[Option, ...]:
        """Return choices that are better, from the one that changes least on."""
        found: list[Option] = []
        columns, last = self._start, now
        while columns.codes and len(found) < _TOLD:
            steps = [(columns.without(name), 1.0) for name in columns.codes]
            steps += [(one, _FOR_BINS) for one in self._in_bins(columns)]
            errors = [self._error(one) for one, _ in steps]
            best = min(range(len(steps)), key=lambda place: errors[place] / steps[place][1])
            columns = steps[best][0]
            if errors[best] <= _BETTER * last:
                last = errors[best]
                found.append(self._option(columns, last))
        return tuple(found)

    def _in_bins(self, columns: _Columns) -> list[_Columns]:
        """Choices that put one column of many numbers into a few bins."""
        found = []
        for name, domain in zip(self._by.names, self._by.domains, strict=True):
            if name not in columns.codes or name in columns.bins or len(domain) <= _MANY:
                continue
            try:
                numbers = np.array([math.nan if one is None else float(one) for one in domain.labels])  # type: ignore[arg-type]
            except (TypeError, ValueError):
                continue
            bins = round_bins(numbers)
            if bins is not None:
                codes = bins.codes_of_numbers(numbers)
                found.append(columns.binned(name, codes[columns.codes[name]], bins))
        return found

    def _option(self, columns: _Columns, error: float) -> Option:
        row = self._request.row
        coarse = {one: bins for one, bins in row.coarsened.items() if one not in self._by.names or one in columns.codes}
        coarse |= {one: bins for one, bins in columns.bins.items() if one not in row.coarsened}
        dropped = tuple(one for one in (*row.dropped, *self._by.names) if one not in columns.codes)
        return Option(tuple(columns.codes), row.unrelated, dropped, coarse, error)


def _factors() -> Iterator[np.int64]:
    """Odd numbers without a pattern."""
    generator = np.random.default_rng(0)
    while True:
        yield np.int64(2 * generator.integers(1 << 61) + 1)


def round_bins(numbers: Floats) -> Bins | None:
    """A few bins with round edges that contain all numbers; None where there are none, as for an infinite one."""
    finite = numbers[np.isfinite(numbers)]
    if np.isinf(numbers).any() or not finite.size or finite.min() == finite.max():
        return None
    low, high = float(finite.min()), float(finite.max())
    power = math.floor(math.log10(high - low))
    step = 10.0**power
    # 343 times 0.1 is not 34.3 in floats; a number just beyond the round one is still inside.
    low = min(low, round(math.floor(low / step) * step, -power))
    high = max(high, round(math.ceil(high / step) * step, -power))
    return Bins(np.linspace(low, high, _BINS + 1)).with_missing()


def bins_of_dates(values: Sequence[Any]) -> Bins | None:
    """The longest units of time of which the dates span a few; None where not all values are dates."""
    days = [day_of(one) for one in values if one is not None and one != ""]
    known = [day for day in days if day is not None]
    if not known or len(known) < len(days):
        return None
    first, last = (np.datetime64(day, "D").item() for day in (min(known), max(known)))
    choices = (bins(first, last, unit) for unit in ("year", "quarter", "month", "week", "day"))
    found = next((one for one in choices if len(one) >= _FEW_DATES), None)
    return found if found is None or len(days) == len(values) else found.with_missing()
