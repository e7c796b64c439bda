"""What an estimate returns: the frequencies of the true values, how sure they are, and what cannot be known."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.alphabet import Alphabet, Label, label_to_plain
from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import dots_with_intervals
from leakwise.charts.table import number
from leakwise.errors import InvalidInput, label_text, require, some_of
from leakwise.tables.estimate.numbers import ColumnNumbers
from leakwise.types import Array, Bools, Counts, Floats, Indices

if TYPE_CHECKING:
    from leakwise.tables.estimate.inversion import Inversion
    from leakwise.tables.estimate.joint.evidence import Evidence

__all__ = ["Estimate", "GroupedEstimate"]


# More letters than this are shown by the most frequent ones.
_SHOWN = 200
_MOST_FREQUENT = 20
_HOW = {
    "inverse": "by the inverse",
    "linear": "by unbiased linear estimates",
    "maximum_likelihood": "by maximum likelihood",
    "pooled": "pooled over strata",
}
_HEADERS = ["value", "frequency", "standard error", "low", "high", "sampling error"]


@dataclass(frozen=True, repr=False, eq=False)
class Estimate(ColumnNumbers, Drawn):
    """The frequencies of the true values, estimated from released outcomes.

    They are those of the population the rows were drawn from: the standard errors contain both the noise of the
    mechanism and that of sampling. All arrays are read-only and in the order of ``labels``.

    Attributes
    ----------
    labels
        The values.
    sample_size
        The number of released rows.
    confidence, simultaneous
        Of each interval, or of all of them together.
    edges
        The edges of the bins, where the values are bins; infinite ones and dates are texts.
    cells
        For every mechanism its matrix, the values it is for, and how often each outcome came; none where the values are
        too many for a matrix.
    """

    alphabet: Alphabet
    inversion: Inversion
    edges: Sequence[float | str] | None = None
    cells: Sequence[tuple[Floats, Bools, Counts]] = ()

    def __post_init__(self) -> None:
        found = self.inversion
        for array in (found.frequencies, found.standard_error, found.intervals, found.identifiable):
            array.setflags(write=False)

    @property
    def labels(self) -> tuple[Label, ...]:
        """The values."""
        return self.alphabet.labels

    @property
    def frequencies(self) -> Floats:
        """The most likely frequencies; where a value is not identifiable, one of several equally likely ones."""
        return self.inversion.frequencies

    @property
    def standard_error(self) -> Floats:
        """The standard error of each frequency; NaN where the value is not identifiable."""
        return self.inversion.standard_error

    @property
    def intervals(self) -> Floats:
        """N×2, low and high. For values that are not identifiable: every frequency that fits the outcomes."""
        return self.inversion.intervals

    @property
    def identifiable(self) -> bool:
        """Whether the outcomes determine the frequency of every value, given enough rows."""
        return bool(self.inversion.identifiable.all())

    @property
    def identifiable_letters(self) -> Bools:
        """For which values the outcomes determine the frequency."""
        return self.inversion.identifiable

    @cached_property
    def plain_standard_error(self) -> Floats:
        r"""The standard error of a sample of as many rows without randomization, :math:`\sqrt{p(1-p)/n}`."""
        p = self.frequencies
        error = np.sqrt(p * (1 - p) / self.sample_size)
        error[~self.identifiable_letters] = np.nan
        error.setflags(write=False)
        return error

    @property
    def sample_size(self) -> int:
        """The number of released rows."""
        return self.inversion.sample_size

    @property
    def confidence(self) -> float:
        """The probability that an interval contains the truth (all of them, if ``simultaneous``)."""
        return self.inversion.confidence

    @property
    def simultaneous(self) -> bool:
        """Whether the confidence is that of all intervals together."""
        return self.inversion.simultaneous

    @property
    def method(self) -> str:
        """``"inverse"`` where the plain inverse gives a distribution, else ``"maximum_likelihood"``, or ``"linear"``.

        The last is for thousands of values: unbiased linear estimates, brought onto the simplex.
        """
        return self.inversion.method

    @property
    def gap(self) -> float:
        """Proven: no frequencies have a log-likelihood larger by more than this, per row."""
        return self.inversion.gap

    def covariance(self, letters: list[Label] | None = None) -> Floats:
        """Return the covariance of the frequencies of some values, of all by default."""
        if letters is None:
            return self.inversion.covariance()
        return self.inversion.covariance([self.alphabet.code(letter, name="letter") for letter in letters])

    @cached_property
    def evidence(self) -> Evidence | None:
        """What the rows say about sums of frequencies; None where the values are too many for a matrix."""
        if not self.cells:
            return None
        from leakwise.tables.estimate.joint.evidence import column_evidence

        return column_evidence(self.cells)

    def __len__(self) -> int:
        return len(self.alphabet)

    # -- in words and tables ------------------------------------------------------------------------------------

    def _notes(self) -> list[str]:
        """Return what a reader must know besides the numbers."""
        notes = []
        unknown = np.flatnonzero(~self.identifiable_letters)
        if unknown.size:
            notes.append(
                f"{unknown.size:,} of {len(self):,} values cannot be estimated from the outcomes, however many rows "
                f"there are: {some_of([self.labels[place] for place in unknown])}. Their intervals contain every "
                "frequency that fits."
            )
        if not self.inversion.converged and self.method != "linear":
            notes.append(f"The search for the most likely frequencies stopped within {number(self.gap)} nats per row.")
        return notes

    def _title(self) -> str:
        kind = "together" if self.simultaneous else "each"
        how = _HOW[self.method]
        rows = "row" if self.sample_size == 1 else "rows"
        return (
            f"Frequencies of {len(self):,} values from {self.sample_size:,} released {rows}, {how}; intervals at "
            f"{100 * self.confidence:g}% {kind}"
        )

    def _order(self) -> Indices:
        if len(self) <= _SHOWN:
            return np.arange(len(self))
        return np.argsort(-self.frequencies, kind="stable")[:_MOST_FREQUENT]

    def _rows(self) -> list[list[object]]:
        rows: list[list[object]] = []
        for place in self._order():
            low, high = self.intervals[place]
            known = bool(self.identifiable_letters[place])
            rows.append(
                [
                    label_text(self.labels[place]),
                    float(self.frequencies[place]) if known else None,
                    float(self.standard_error[place]) if known else None,
                    float(low),
                    float(high),
                    float(self.plain_standard_error[place]) if known else None,
                ]
            )
        return rows

    def _shown(self) -> Parts:
        if len(self) <= _SHOWN:
            return [Table(_HEADERS, self._rows(), self._title(), max_rows=_SHOWN), *self._notes()]
        return [self._title(), Table(_HEADERS, self._rows(), f"The {_MOST_FREQUENT} most frequent:"), *self._notes()]

    def chart(self) -> dict[str, Any]:
        """A dot for each frequency with its interval, as a Vega-Lite specification."""
        note = None
        if not self.identifiable:
            note = "Values without a dot cannot be estimated from the outcomes."
        known = self.identifiable_letters
        return dots_with_intervals(
            [label_text(label) for label in self.labels],
            [float(p) if known[place] else None for place, p in enumerate(self.frequencies)],
            self.intervals[:, 0],
            self.intervals[:, 1],
            title=f"Frequencies from {self.sample_size:,} released rows",
            value_title="frequency",
            label_title="value",
            note=note,
        )

    def to_pandas(self) -> Any:
        """Return a DataFrame with the values as its index (a MultiIndex for tuples)."""
        pandas = require("pandas", extra="data", purpose="A table of the estimate")
        return pandas.DataFrame(self._columns(), index=_index(pandas, self.labels, "letter"))

    def _columns(self) -> dict[str, Array]:
        return {
            "frequency": self.frequencies,
            "standard_error": self.standard_error,
            "low": self.intervals[:, 0],
            "high": self.intervals[:, 1],
            "identifiable": self.identifiable_letters,
            "plain_standard_error": self.plain_standard_error,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; None where a number does not exist."""
        return {
            "labels": [label_to_plain(label) for label in self.labels],
            "frequencies": self.frequencies.tolist(),
            "standard_error": _with_none(self.standard_error),
            "plain_standard_error": _with_none(self.plain_standard_error),
            "intervals": self.intervals.tolist(),
            "identifiable": self.identifiable,
            "identifiable_letters": self.identifiable_letters.tolist(),
            "sample_size": self.sample_size,
            "confidence": self.confidence,
            "simultaneous": self.simultaneous,
            "method": self.method,
            "gap": self.gap,
        }


@dataclass(frozen=True, repr=False, eq=False)
class GroupedEstimate(Drawn, Mapping[Any, Estimate]):
    """One :class:`Estimate` for each value of an untouched column: the frequencies within that group.

    A mapping from the group to its estimate. The sizes of the groups are public, since their column was not randomized.

    Attributes
    ----------
    by
        The column of the groups.
    groups
        The estimates.
    confidence, simultaneous
        Of each interval, or of all intervals of all groups together.
    """

    by: Hashable
    groups: Mapping[Any, Estimate]
    confidence: float
    simultaneous: bool

    def __getitem__(self, group: Any) -> Estimate:
        try:
            return self.groups[group]
        except (KeyError, TypeError):
            raise KeyError(f"{group!r} is not a value of {self.by!r}: {some_of(self.groups)}") from None

    def __iter__(self) -> Iterator[Any]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def sample_size(self) -> int:
        """The number of released rows in all groups."""
        return sum(one.sample_size for one in self.groups.values())

    @property
    def identifiable(self) -> bool:
        """Whether the outcomes determine the frequency of every value."""
        return all(one.identifiable for one in self.groups.values())

    @property
    def labels(self) -> tuple[Label, ...]:
        """The values."""
        return next(iter(self.groups.values())).labels

    def _shown(self) -> Parts:
        rows = [
            [label_text(group), one.sample_size, *row[:-1]]
            for group, one in list(self.groups.items())[:_SHOWN]
            for row in one._rows()
        ]
        # Without the last column, and with two lines above, it fits into 80 columns.
        headers = [str(self.by), "rows", *_HEADERS[:-1]]
        kind = "all together" if self.simultaneous else "each"
        intervals = f"from {self.sample_size:,} released rows; intervals at {100 * self.confidence:g}% {kind}"
        first = f"Frequencies of {len(self.labels):,} values within {len(self):,} groups by {self.by}"
        return [first, Table(headers, rows, intervals, max_rows=60), *self._notes()]

    def _notes(self) -> list[str]:
        notes = dict.fromkeys(note for one in self.groups.values() for note in one._notes())
        if len(self) > _SHOWN:
            notes[f"The first {_SHOWN} groups of {len(self):,} are shown."] = None
        return list(notes)

    def chart(self) -> dict[str, Any]:
        """A dot for each frequency within each group, with its interval, as a Vega-Lite specification."""
        points = [
            (f"{group} · {label}", one.frequencies[place] if one.identifiable_letters[place] else None, *limits)
            for group, one in self.groups.items()
            for place, (label, limits) in enumerate(zip(one.labels, one.intervals, strict=True))
        ]
        names, values, low, high = zip(*points, strict=True)
        return dots_with_intervals(
            names,
            values,
            low,
            high,
            title=f"Frequencies within each {self.by}",
            value_title="frequency",
            label_title=f"{self.by} · value",
            note=None if self.identifiable else "Values without a dot cannot be estimated from the outcomes.",
        )

    def to_pandas(self) -> Any:
        """Return a DataFrame with one row for each group and value.

        ``frequency`` and its errors are within the group; ``rows`` is the size of the group, and ``joint_frequency``
        the share of group and value together among all rows.
        """
        pandas = require("pandas", extra="data", purpose="A table of the estimate")
        total = self.sample_size
        parts = []
        for one in self.groups.values():
            part = one.to_pandas()
            part.insert(0, "rows", one.sample_size)
            part["joint_frequency"] = one.frequencies * (one.sample_size / total)
            parts.append(part)
        return pandas.concat(parts, keys=list(self.groups), names=[str(self.by)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: a list of groups."""
        return {
            "by": str(self.by),
            "confidence": self.confidence,
            "simultaneous": self.simultaneous,
            "sample_size": self.sample_size,
            "groups": [{"group": label_to_plain(group), **one.to_dict()} for group, one in self.groups.items()],
        }


def _with_none(values: Floats) -> list[float | None]:
    return [None if value != value else value for value in values.tolist()]


def _index(pandas: Any, labels: tuple[Label, ...], name: str) -> Any:
    lengths = {len(label) if isinstance(label, tuple) else 0 for label in labels}
    if len(lengths) == 1 and 0 not in lengths:
        return pandas.MultiIndex.from_tuples(labels)
    if any(isinstance(label, tuple) for label in labels):
        raise InvalidInput("Letters that are partly tuples cannot be the index of a table. Use to_dict().")
    return pandas.Index(labels, name=name)
