"""Cross-tables: shares of cells, within all rows or within the values of other columns, with intervals."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import Label, label_to_plain
from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import dots_with_intervals, heatmap
from leakwise.errors import label_text, require
from leakwise.types import Bools, Floats

__all__ = ["CrossTable"]

_SHOWN = 60


@dataclass(frozen=True, repr=False, eq=False)
class CrossTable(Drawn):
    """The estimated shares of combinations of true values, one axis for each column.

    Attributes
    ----------
    columns, labels
        The columns, and the values of each.
    given
        Columns within whose values the shares add up to one; none for shares of all rows.
    frequencies, standard_error, intervals, identifiable
        Arrays with one axis for each column; intervals with a last axis of low and high.
    confidence, simultaneous
        Of each interval, or of all of them together.
    """

    columns: tuple[Hashable, ...]
    labels: tuple[tuple[Label, ...], ...]
    given: tuple[Hashable, ...]
    frequencies: Floats
    standard_error: Floats
    intervals: Floats
    identifiable: Bools
    confidence: float
    simultaneous: bool
    what: str = "Shares"

    def __post_init__(self) -> None:
        for array in (self.frequencies, self.standard_error, self.intervals, self.identifiable):
            array.setflags(write=False)

    def _title(self) -> str:
        kind = "together" if self.simultaneous else "each"
        within = f" within {' and '.join(map(str, self.given))}" if self.given else ""
        names = " × ".join(map(str, self.columns))
        return f"{self.what} of {names}{within}; intervals at {100 * self.confidence:g}% {kind}"

    def _shown(self) -> Parts:
        headers = [*map(str, self.columns), "frequency", "standard error", "low", "high"]
        align = "l" * len(self.columns) + "rrrr"
        parts: list[Any] = [Table(headers, self._rows(), self._title(), align=align, max_rows=_SHOWN)]
        if not self.identifiable.all():
            parts.append("Cells without a frequency cannot be estimated; their intervals contain all that fits.")
        return parts

    def _rows(self) -> list[list[object]]:
        rows: list[list[object]] = []
        for place in itertools.product(*map(range, self.frequencies.shape)):
            known = bool(self.identifiable[place])
            rows.append(
                [
                    *(str(labels[at]) for labels, at in zip(self.labels, place, strict=True)),
                    float(self.frequencies[place]) if known else None,
                    float(self.standard_error[place]) if known else None,
                    *map(float, self.intervals[place]),
                ]
            )
        return rows

    def chart(self) -> dict[str, Any]:
        """A heat map for two columns, otherwise a dot with its interval for each cell, as a Vega-Lite specification."""
        note = None if self.identifiable.all() else "Cells without a number cannot be estimated from the outcomes."
        if len(self.columns) == 2:
            values = np.where(self.identifiable, self.frequencies, np.nan)
            return heatmap(
                [label_text(label) for label in self.labels[0]],
                [label_text(label) for label in self.labels[1]],
                [[None if one != one else one for one in row] for row in values.tolist()],
                title=self._title(),
                value_title="share",
                row_title=str(self.columns[0]),
                column_title=str(self.columns[1]),
                note=note,
            )
        flat = self.intervals.reshape(-1, 2)
        known = self.identifiable.reshape(-1)
        return dots_with_intervals(
            [" · ".join(map(str, cell)) for cell in itertools.product(*self.labels)],
            [float(p) if ok else None for p, ok in zip(self.frequencies.reshape(-1), known, strict=True)],
            flat[:, 0],
            flat[:, 1],
            title=self._title(),
            value_title="share",
            label_title=" · ".join(map(str, self.columns)),
            note=note,
        )

    def to_pandas(self) -> Any:
        """Return a DataFrame with one row for each cell, the values of the columns as its index."""
        pandas = require("pandas", extra="data", purpose="A table of the estimate")
        index = pandas.MultiIndex.from_product(
            [list(labels) for labels in self.labels], names=[str(name) for name in self.columns]
        )
        flat = self.intervals.reshape(-1, 2)
        columns = {
            "frequency": self.frequencies.reshape(-1),
            "standard_error": self.standard_error.reshape(-1),
            "low": flat[:, 0],
            "high": flat[:, 1],
            "identifiable": self.identifiable.reshape(-1),
        }
        return pandas.DataFrame(columns, index=index)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; None where a number does not exist."""
        errors = np.where(self.identifiable, self.standard_error.astype(np.object_), np.array(None))
        return {
            "columns": [str(name) for name in self.columns],
            "labels": [[label_to_plain(one) for one in labels] for labels in self.labels],
            "given": [str(name) for name in self.given],
            "frequencies": self.frequencies.tolist(),
            "standard_error": errors.tolist(),
            "intervals": self.intervals.tolist(),
            "identifiable": bool(self.identifiable.all()),
            "confidence": self.confidence,
            "simultaneous": self.simultaneous,
        }
