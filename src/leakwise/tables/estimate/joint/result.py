"""What a joint estimate returns: the table of the true values of several columns, and what can be read from it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np

from leakwise.alphabet import Label
from leakwise.charts.shown import Drawn, Parts
from leakwise.charts.specs import beside, heatmap
from leakwise.errors import InvalidInput, label_text, some_of
from leakwise.tables.estimate.joint.axes import Axis
from leakwise.tables.estimate.joint.cross_table import CrossTable
from leakwise.tables.estimate.joint.evidence import Evidence, covariance
from leakwise.tables.estimate.joint.fit import Fit
from leakwise.tables.estimate.joint.independence import Independence, outcomes_test, values_test
from leakwise.tables.estimate.joint.score import ratio
from leakwise.tables.estimate.numbers import Quantity, critical_value, ends_of, quantile, values_of
from leakwise.types import Bools, Floats

__all__ = ["JointEstimate"]

_MATRIX_LIMIT = 2000


@dataclass(frozen=True, repr=False, eq=False)
class JointEstimate(Drawn):
    """The joint frequencies of the true values of several released columns.

    Arrays have one axis for each released column, in the order of the mapping; ``intervals`` have a last axis of low
    and high. All are read-only.

    Attributes
    ----------
    columns, labels
        The columns, and the values of each.
    confidence, simultaneous
        Of each interval, or of all of them together.
    """

    axes: tuple[Axis, ...]
    evidence: Evidence
    fit: Fit
    confidence: float
    simultaneous: bool

    def __post_init__(self) -> None:
        for array in (self.fit.frequencies, self.fit.standard_error, self.fit.intervals, self.fit.identifiable):
            array.setflags(write=False)

    @property
    def columns(self) -> tuple[Hashable, ...]:
        """The released columns; a tuple for those that were released together."""
        return tuple(axis.title for axis in self.axes)

    @property
    def labels(self) -> tuple[tuple[Label, ...], ...]:
        """The values of each column."""
        return tuple(axis.values.labels for axis in self.axes)

    @property
    def frequencies(self) -> Floats:
        """The most likely share of every combination of values."""
        return self.fit.frequencies

    @property
    def standard_error(self) -> Floats:
        """The standard error of every share; NaN where the outcomes do not determine it."""
        return self.fit.standard_error

    @property
    def intervals(self) -> Floats:
        """Low and high of every share, along a last axis."""
        return self.fit.intervals

    @property
    def identifiable(self) -> bool:
        """Whether the outcomes determine the share of every combination."""
        return bool(self.fit.identifiable.all())

    @property
    def identifiable_cells(self) -> Bools:
        """Which combinations have a share that the outcomes determine."""
        return self.fit.identifiable

    @property
    def sample_size(self) -> int:
        """The number of released rows."""
        return self.evidence.rows

    @property
    def method(self) -> str:
        """``"inverse"``, ``"maximum_likelihood"``, or ``"pooled"`` with mechanisms by strata."""
        return self.fit.method

    @property
    def gap(self) -> float:
        """Proven: no table has a log-likelihood larger by more than this, per row (0 where pooled)."""
        return self.fit.gap

    @cached_property
    def naive(self) -> Floats | None:
        """The shares of the outcomes, as if they were values; None where some outcome is not a value."""
        places = [[axis.values.index.get(label, -1) for label in axis.outcomes.labels] for axis in self.axes]
        if any(place < 0 for of in places for place in of):
            return None
        shares = np.zeros(self.evidence.shape)
        np.add.at(shares, np.ix_(*places), sum(self.evidence.tables()) / self.evidence.total_weight)
        shares.setflags(write=False)
        return shares

    def covariance(self) -> Floats:
        """Return the covariance of all cells, in the order of ``frequencies.ravel()``."""
        size = self.frequencies.size
        if size > _MATRIX_LIMIT:
            raise InvalidInput(
                f"covariance of all {size:,} cells would need a {size:,}×{size:,} matrix; tables of at most "
                f"{_MATRIX_LIMIT:,} cells have one. Read margins (e.table(column)) instead."
            )
        return self.evidence.covariance(np.eye(size).reshape(size, *self.evidence.shape))

    # -- tables -------------------------------------------------------------------------------------------------

    def table(self, *columns: Hashable, given: Any = ()) -> CrossTable:
        """Return the shares of some columns (all by default), within the values of the ``given`` columns if any.

        ``e.table("sex")`` is a margin; ``e.table("income", given="sex")`` the shares of incomes within each sex, with
        the columns in the order income, sex.
        """
        within = tuple(given) if isinstance(given, (list, tuple)) and given not in self.columns else (given,)
        within = tuple(name for name in within if name != ())
        wanted = columns or tuple(name for name in self.columns if name not in within)
        places = [self._axis(name) for name in (*wanted, *within)]
        if len(set(places)) < len(places):
            raise InvalidInput(f"Each column may be named once. Got {some_of((*wanted, *within))}.")
        if sorted(places) == list(range(len(self.axes))) and not within:
            return CrossTable(
                wanted,
                self._labels(places),
                (),
                np.array(np.transpose(self.frequencies, places)),
                np.array(np.transpose(self.standard_error, places)),
                np.array(np.transpose(self.intervals, [*places, len(self.axes)])),
                np.array(np.transpose(self.identifiable_cells, places)),
                self.confidence,
                self.simultaneous,
            )
        return self._sums_table(wanted, within, places)

    def _sums_table(self, wanted: tuple[Any, ...], within: tuple[Any, ...], places: list[int]) -> CrossTable:
        shape = tuple(self.evidence.shape[place] for place in places)
        size = int(np.prod(shape))
        claims = size if self.simultaneous else 1
        value, error, ends = np.empty(size), np.empty(size), np.empty((size, 2))
        for number, cell in enumerate(np.ndindex(*shape)):
            part = self._cells({place: [at] for place, at in zip(places, cell, strict=True)})
            whole = np.ones(self.evidence.shape)
            if within:
                whole = self._cells({place: [at] for place, at in list(zip(places, cell, strict=True))[len(wanted) :]})
            value[number], error[number], ends[number] = self._ratio(part, whole, claims)
        known = np.isfinite(error)
        ends[~known] = (0.0, 1.0)
        return CrossTable(
            (*wanted, *within),
            self._labels(places),
            within,
            value.reshape(shape),
            error.reshape(shape),
            ends.reshape(*shape, 2),
            known.reshape(shape),
            self.confidence,
            self.simultaneous,
        )

    def _labels(self, places: Sequence[int]) -> tuple[tuple[Label, ...], ...]:
        return tuple(self.labels[place] for place in places)

    def _axis(self, name: Any) -> int:
        if name not in self.columns:
            raise InvalidInput(f"{name!r} is not one of the released columns {some_of(self.columns)}.")
        return self.columns.index(name)

    def _cells(self, chosen: Mapping[int, Any]) -> Floats:
        """Coefficients 1 for the cells with the chosen places (or numbers per place) along some axes, else 0."""
        vectors = []
        for axis, size in enumerate(self.evidence.shape):
            vector = np.ones(size)
            if axis in chosen:
                picked = chosen[axis]
                vector = picked if isinstance(picked, np.ndarray) else np.isin(np.arange(size), picked).astype(float)
            vectors.append(vector)
        return np.asarray(reduce(np.multiply.outer, vectors))

    def _ratio(self, part: Floats, whole: Floats, claims: int = 1) -> tuple[float, float, tuple[float, float]]:
        return ratio(self.evidence, self.frequencies, part, whole, self._reach(claims))

    # -- numbers ------------------------------------------------------------------------------------------------

    def mean(self, values: Any = None, column: Hashable = None, *, given: Mapping[Any, Any] | None = None) -> Quantity:
        """Return the mean of the numbers that the values of a column stand for.

        Parameters
        ----------
        values
            A mapping from values to numbers, or a list in their order. May be left out for bins (their middles) and for
            values that are numbers.
        column
            The column; may be left out where the estimate has one, or where ``values`` names the values of one.
        given
            Values of other columns, such as ``{"sex": "female"}``: the mean among such rows.
        """
        place = self._column_for(values, column)
        numbers = values_of(self.labels[place], self.axes[place].edges, values, self.columns[place])
        chosen = self._given(given, place)
        value, error, ends = self._ratio(self._cells({**chosen, place: numbers}), self._cells(chosen))
        return Quantity(f"mean of {self.columns[place]}", value, error, ends, self.confidence)

    def total(self, values: Any = None, column: Hashable = None) -> Quantity | CrossTable:
        """Return the total of the numbers over all rows (by their weights); without values and column, of all cells."""
        if values is None and column is None:
            return self._totals()
        place = self._column_for(values, column)
        numbers = values_of(self.labels[place], self.axes[place].edges, values, self.columns[place])
        part, n = self._cells({place: numbers}), self.evidence.total_weight
        name = f"total of {self.columns[place]}"
        if self.evidence.design is None:
            mean, spread, (low, high) = self._ratio(part, np.ones(part.shape))
            return Quantity(name, n * mean, n * spread, (n * low, n * high), self.confidence)
        value, error = self._totalled(part[None])
        reach = self._reach() * error[0]
        ends = (float(value[0] - reach), float(value[0] + reach))
        return Quantity(name, float(value[0]), float(error[0]), ends, self.confidence)

    def _totals(self) -> CrossTable:
        shape, weight = self.evidence.shape, self.evidence.total_weight
        value, error, ends = self.frequencies * weight, self.standard_error * weight, self.intervals * weight
        if self.evidence.design is not None:
            spread = np.empty(value.size)
            for number in range(value.size):
                unit = np.zeros((1, value.size))
                unit[0, number] = 1.0
                spread[number] = self._totalled(unit.reshape(1, *shape))[1][0]
            error = spread.reshape(shape)
            # The sum of the weights varies too: an interval contains that of the share, and that of the total.
            claims = value.size if self.simultaneous else 1
            reach = self._reach(claims) * np.nan_to_num(error, nan=np.inf)
            low = np.minimum(ends[..., 0], np.maximum(value - reach, 0.0))
            ends = np.stack((low, np.maximum(ends[..., 1], value + reach)), axis=-1)
        arrays = (np.array(value), np.array(error), np.array(ends), np.array(self.identifiable_cells))
        return CrossTable(self.columns, self.labels, (), *arrays, self.confidence, self.simultaneous, "Totals")

    def _totalled(self, sums: Floats) -> tuple[Floats, Floats]:
        """Totals by the survey weights, with their errors."""
        evidence, weight = self.evidence, self.evidence.total_weight
        value = (sums * self.frequencies).reshape(sums.shape[0], -1).sum(axis=1) * weight
        assert evidence.design is not None
        d, known = evidence.values(sums)
        spread = np.sqrt(np.maximum(np.diagonal(covariance(evidence.design, evidence.entries, d)), 0.0))
        return value, np.where(known, spread, np.nan)

    def _reach(self, claims: int = 1) -> float:
        design = self.evidence.design
        return critical_value(self.confidence, None if design is None else design.degrees, claims)

    def quantile(
        self, q: float, column: Hashable = None, values: Any = None, *, given: Mapping[Any, Any] | None = None
    ) -> Quantity:
        """Return the quantile of a column whose values are bins (even within each) or stand for numbers.

        The interval is that of Woodruff: the values at which the distribution function, with its own interval, reaches
        ``q``.
        """
        place = self._column_for(values, column)
        axis = self.axes[place]
        within = values is None and axis.edges is not None
        if values is None and axis.edges is not None:
            ends = ends_of(axis.values.labels, axis.edges, axis.title, infinite=True)
            order = np.arange(len(axis.values))
        else:
            numbers = values_of(axis.values.labels, None, values, axis.title)
            order = np.argsort(numbers, kind="stable")
            ends = numbers[order]
        chosen = self._given(given, place)
        whole = self._cells(chosen)
        others = tuple(at for at in range(len(self.axes)) if at != place)
        shares = (whole * self.frequencies).sum(axis=others)[order]

        def part_of(coefficients: Floats) -> tuple[float, float, tuple[float, float]]:
            return self._ratio(self._cells({**chosen, place: coefficients[np.argsort(order)]}), whole)

        shares = shares / shares.sum()
        return quantile(str(axis.title), q, shares, ends, within, part_of, self._reach(), self.confidence)

    def _column_for(self, values: Any, column: Any) -> int:
        if column is not None:
            return self._axis(column)
        if len(self.axes) == 1:
            return 0
        if isinstance(values, Mapping):
            fits = [at for at, labels in enumerate(self.labels) if set(values) >= set(labels)]
        else:
            fits = [at for at, labels in enumerate(self.labels) if values is not None and len(values) == len(labels)]
        if len(fits) == 1:
            return fits[0]
        raise InvalidInput(f"column must say which of {some_of(self.columns)} is meant.")

    def _given(self, given: Mapping[Any, Any] | None, place: int) -> dict[int, Any]:
        chosen: dict[int, Any] = {}
        for name, value in (given or {}).items():
            axis = self._axis(name)
            if axis == place:
                raise InvalidInput(f"given must name other columns than {name!r} itself.")
            chosen[axis] = [self.axes[axis].values.code(value, name=f"value of {name!r}")]
        return chosen

    # -- tests --------------------------------------------------------------------------------------------------

    def independence(self, *columns: Hashable) -> Independence:
        """Test whether the true values of some columns (all by default) are independent.

        p-values are uniform if they are. Without weights and strata it is Pearson's test of the outcomes: each column
        is randomized on its own, so that independent values have independent outcomes.
        """
        places = [self._axis(name) for name in (columns or self.columns)]
        if len(set(places)) < 2:
            raise InvalidInput(f"independence needs two different columns. Got {some_of(columns or self.columns)}.")
        names = [self.columns[place] for place in places]
        if self.evidence.design is None and len(self.evidence.blocks) == 1:
            table = self.evidence.tables()[0]
            others = tuple(at for at in range(table.ndim) if at not in places)
            return outcomes_test(names, table.sum(axis=others))
        return values_test(names, self.evidence, places)

    # -- in words and tables ------------------------------------------------------------------------------------

    def _shown(self) -> Parts:
        shown: list[Any] = [*self.table()._shown()]
        how = {"inverse": "the inverse", "maximum_likelihood": "maximum likelihood", "pooled": "pooling strata"}
        shown.append(f"From {self.sample_size:,} released rows, by {how[self.method]}.")
        if not self.fit.converged:
            shown.append(f"The search for the most likely table stopped within {self.gap:.2g} nats per row.")
        return shown

    def chart(self) -> dict[str, Any]:
        """Return the cross-table as a Vega-Lite specification; of two columns beside that of the outcomes."""
        drawn = self.table().chart()
        if len(self.axes) != 2 or self.naive is None:
            return drawn
        names = [[label_text(label) for label in labels] for labels in self.labels]
        outcomes = heatmap(
            names[0],
            names[1],
            self.naive,
            title="Released values taken for true",
            value_title="share",
            row_title=str(self.columns[0]),
            column_title=str(self.columns[1]),
        )
        return beside(drawn, outcomes)

    def to_pandas(self) -> Any:
        """Return a DataFrame with one row for each combination of values."""
        return self.table().to_pandas()

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; None where a number does not exist."""
        told = self.table().to_dict()
        return {**told, "sample_size": self.sample_size, "method": self.method, "gap": self.gap}
