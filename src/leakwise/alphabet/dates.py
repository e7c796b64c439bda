"""Dates as letters: days, weeks, months, quarters and years, or any intervals of days."""

from __future__ import annotations

import datetime
import itertools
import math
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from leakwise.alphabet.bins import Bins
from leakwise.alphabet.labels import plain_value
from leakwise.errors import InvalidInput, did_you_mean, written
from leakwise.types import Array, Floats, Indices

__all__ = ["DateBins", "date_bins", "day_of", "days_in", "is_date"]

_FIRST = datetime.date(1970, 1, 1).toordinal()
# A year, a month of one, or a day.
_PARTIAL = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", re.ASCII)
# Units of whole months.
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_UNITS = ("day", "week", *_MONTHS)


class DateBins(Bins):
    """Intervals of days, all without their end: [2024-01-01, 2024-02-01) is named 2024-01.

    The edges are days since 1970. A time belongs to the day that its own clock shows.
    """

    __slots__ = ()

    @classmethod
    def of(cls, edges: Iterable[Any], *, missing: bool = False) -> DateBins:
        """Return the intervals between dates (or texts of dates), of which the first may be -inf and the last inf."""
        return cls([_edge(edge) for edge in edges], missing=missing)

    @staticmethod
    def _names(edges: Floats) -> list[str]:
        days = [None if not math.isfinite(edge) else _date(edge) for edge in edges.tolist()]
        if None not in days:
            for unit in ("year", "quarter", "month", "day"):
                if all(_next(low, unit) == high for low, high in itertools.pairwise(days)):  # type: ignore[arg-type]
                    return [_name(day, unit) for day in days[:-1]]  # type: ignore[arg-type]
        texts = [str(edge) if day is None else day.isoformat() for edge, day in zip(edges.tolist(), days, strict=True)]
        names = [f"[{low}, {high})" for low, high in itertools.pairwise(texts)]
        if days[0] is None:
            names[0] = f"({names[0][1:]}"
        return names

    @property
    def plain_edges(self) -> list[float | str]:
        return [str(edge) if not math.isfinite(edge) else _date(edge).isoformat() for edge in self.edges.tolist()]

    @property
    def typed(self) -> str:
        if (unit := self._unit()) is not None:
            return f"bins:{_date(self.edges[0])},{_date(self.edges[-1] - 1)},{unit}"
        return f"bins:{','.join(map(str, self.plain_edges))}"

    @property
    def called(self) -> str:
        if (unit := self._unit()) is not None:
            return f'lw.bins("{_date(self.edges[0])}", "{_date(self.edges[-1] - 1)}", "{unit}")'
        inner = (repr(edge) if "inf" not in str(edge) else f'float("{edge}")' for edge in self.plain_edges)
        return f"lw.bins([{', '.join(inner)}])"

    def _unit(self) -> str | None:
        """The unit that every interval is one of, if there is one."""
        if not np.isfinite(self.edges).all():
            return None
        ends = list(itertools.pairwise(map(_date, self.edges.tolist())))
        return next((unit for unit in _UNITS if all(_next(low, unit) == high for low, high in ends)), None)

    def codes_of_numbers(self, values: Floats) -> Indices:
        """Return the bin of each day, -1 outside of them (and for NaN, if missing values have no place)."""
        codes = super().codes_of_numbers(values)
        codes[values == self.edges[-1]] = -1
        return codes

    def codes_of_values(self, values: Sequence[Any]) -> list[int]:
        """Return the code of each value, a text among them for the date that it says; -1 for one without a place."""
        days = [day_of(value) for value in values]
        codes = self.codes_of_numbers(np.array([math.nan if day is None else float(day) for day in days]))
        known = [value is None or day is not None for value, day in zip(values, days, strict=True)]
        return [int(code) if there else -1 for code, there in zip(codes, known, strict=True)]


def date_bins(low: Any, high: Any, unit: str) -> DateBins:
    """Return the units of time from that of ``low`` to that of ``high``.

    >>> date_bins("2023", "2024-06", "year").labels
    ('2023', '2024')
    """
    if unit not in _UNITS:
        raise InvalidInput(
            f"The unit of bins of dates must be one of {', '.join(_UNITS)}. Got {unit!r}.{did_you_mean(unit, _UNITS)}"
        )
    first, last = _ends(low)[0], _ends(high)[1]
    if first > last:
        raise InvalidInput(f"bins need dates low ≤ high. Got low={written(low)}, high={written(high)} instead.")
    edges = [_start(first, unit)]
    while edges[-1] <= last:
        edges.append(_next(edges[-1], unit))
    return DateBins.of(edges)


def is_date(value: Any) -> bool:
    """Return whether an edge is a date, or a text, which must be one."""
    return isinstance(value, (datetime.date, np.datetime64, str))


def day_of(value: Any) -> int | None:
    """Return the day of a date, of a time by its own clock, or of a text of one; None for anything else.

    >>> day_of("1970-01-02"), day_of("1970-01-01T23:30:00+05:00"), day_of("soon")
    (1, 0, None)
    """
    value = plain_value(value)
    if isinstance(value, str):
        try:
            value = datetime.datetime.fromisoformat(value)
        except ValueError:
            return None
    if isinstance(value, np.datetime64):  # finer than Python's clock
        value = None if np.isnat(value) else value.astype("datetime64[D]").item()
    # NaT calls itself a datetime, and has no day.
    return value.toordinal() - _FIRST if isinstance(value, datetime.date) and value == value else None


def days_in(column: Any, library: str) -> Array | None:
    """Return a column of dates or times as days, by the clock of its own time zone; None where its type is another."""
    if library == "pandas" and getattr(getattr(column, "dtype", None), "kind", None) == "M":
        import pandas as pd

        values: Any = pd.Series(column).dt.tz_localize(None).to_numpy(dtype="datetime64[us]")
    elif library == "polars" and str(getattr(column, "dtype", "")).startswith("Date"):
        values = (column if str(column.dtype) == "Date" else column.dt.replace_time_zone(None)).to_numpy()
    elif library == "pyarrow" and hasattr(column, "type"):
        import pyarrow as pa
        import pyarrow.compute as pc

        if not pa.types.is_timestamp(column.type) and not pa.types.is_date(column.type):
            return None
        local = pc.local_timestamp(column) if getattr(column.type, "tz", None) is not None else column
        values = local.to_numpy(zero_copy_only=False)
    else:
        values = column
    if not isinstance(values, np.ndarray) or values.ndim != 1 or values.dtype.kind != "M":
        return None
    return values.astype("datetime64[D]")


def _edge(value: Any) -> float:
    """The day that an interval begins on."""
    if isinstance(value, float) and math.isinf(value):
        return value
    return float(_ends(value)[0].toordinal() - _FIRST)


def _ends(value: Any) -> tuple[datetime.date, datetime.date]:
    """The first and the last day of a date, a month (2024-01) or a year (2024)."""
    value = plain_value(value)
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"{value:04}"
    if isinstance(value, str) and (found := _PARTIAL.fullmatch(value.strip())):
        year, month, day = found.groups()
        with suppress(ValueError):
            value = datetime.date(int(year), int(month or 1), int(day or 1))
        if day is None and isinstance(value, datetime.date):
            return value, _next(value, "year" if month is None else "month") - datetime.timedelta(days=1)
    if isinstance(value, datetime.datetime):
        if value.time() != datetime.time():
            raise InvalidInput(f"Bins of dates begin at midnight. Got {value} instead.")
        value = value.date()
    if not isinstance(value, datetime.date):
        raise InvalidInput(
            f"Bins of dates need dates, or texts such as 2024, 2024-01 or 2024-01-31. Got {written(value)} instead."
        )
    return value, value


def _date(day: float) -> datetime.date:
    return datetime.date.fromordinal(int(day) + _FIRST)


def _start(day: datetime.date, unit: str) -> datetime.date:
    """The first day of the unit that a day is in; a week begins on Monday."""
    if unit == "week":
        return day - datetime.timedelta(days=day.weekday())
    months = _MONTHS.get(unit)
    return day if months is None else day.replace(month=(day.month - 1) // months * months + 1, day=1)


def _next(day: datetime.date, unit: str) -> datetime.date:
    """The day one unit later; itself where it does not begin one."""
    if _start(day, unit) != day:
        return day
    try:
        if unit not in _MONTHS:
            return day + datetime.timedelta(days=7 if unit == "week" else 1)
        month = day.month - 1 + _MONTHS[unit]
        return day.replace(year=day.year + month // 12, month=month % 12 + 1)
    except (ValueError, OverflowError):
        raise InvalidInput("Bins of dates must end before the year 9999.") from None


def _name(day: datetime.date, unit: str) -> str:
    if unit == "quarter":
        return f"{day.year:04}-Q{(day.month + 2) // 3}"
    return day.isoformat()[: {"year": 4, "month": 7, "day": 10}[unit]]
