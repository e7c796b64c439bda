"""What is asked of a dataset: sums over the records, and anything on small alphabets."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from leakwise.errors import InvalidInput
from leakwise.exact import log_upper
from leakwise.records.queries.data import DataLaw, data_law
from leakwise.records.queries.spaces import Group, Space, add_modulo, additive_space, table_space
from leakwise.types import Floats, Indices

if TYPE_CHECKING:
    from leakwise.records.queries.channel import Channel

__all__ = ["MOST_DATASETS", "Query", "Sum", "groups_of"]

MOST_DATASETS = 1 << 20


@dataclass(frozen=True)
class Sum:
    """The structure of a query that depends on Σ_i w_i(x_i), perhaps modulo m: weights per record and value."""

    weights: tuple[tuple[int, ...], ...]
    modulus: int | None
    answer: Callable[[int], Any]


class Query:
    """A function of a dataset of n records.

    Parameters
    ----------
    function
        Called with the tuple of the records' values; or a table: an array with one axis per record, or a mapping from
        tuples.
    alphabets
        The values of each record: a number k for 0…k-1, or the values themselves.
    name
        What to call it.

    Examples
    --------
    >>> q = Query(max, [3, 3])
    >>> q.answers, q.datasets
    ((0, 1, 2), 9)
    """

    def __init__(self, function: Any, alphabets: Sequence[int | Sequence[Any]], *, name: str | None = None) -> None:
        self.alphabets = _alphabets(alphabets)
        self.structure: Sum | None = None
        if self.datasets > MOST_DATASETS:
            raise InvalidInput(
                f"alphabets make {self.datasets:,} datasets, more than the {MOST_DATASETS:,} that fit a table. "
                "A query that is a sum "
                "over the records needs no table: parity, modular_sum, count, pairs or weighted_sum serve at any size."
            )
        values, label = _tabulate(function, self.alphabets)
        self.answers, self._table = _sorted_answers(values)
        self.name = name or label

    @classmethod
    def from_sum(
        cls,
        weights: Sequence[Sequence[int]],
        *,
        modulus: int | None,
        answer: Callable[[int], Any],
        alphabets: Sequence[int | Sequence[Any]],
        name: str,
    ) -> Query:
        """Return a query g(Σ_i w_i(x_i)) or g(Σ_i w_i(x_i) mod m): no table is made, whatever the number of records."""
        query = cls.__new__(cls)
        query.alphabets = _alphabets(alphabets)
        query.structure = Sum(tuple(tuple(int(v) for v in w) for w in weights), modulus, answer)
        totals = query._totals()
        query.answers, _ = _sorted_answers([answer(t) for t in totals])
        query._table = None
        query.name = name
        return query

    # ------------------------------------------------------------------------------------------------ what it is

    alphabets: tuple[tuple[Any, ...], ...]
    answers: tuple[Any, ...]
    structure: Sum | None
    name: str
    _table: Indices | None

    @property
    def records(self) -> int:
        """n, how many records a dataset has."""
        return len(self.alphabets)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """How many values each record has."""
        return tuple(len(a) for a in self.alphabets)

    @cached_property
    def datasets(self) -> int:
        """How many datasets there are."""
        return math.prod(len(a) for a in self.alphabets)

    @cached_property
    def max_entropy(self) -> float:
        """The logarithm of their number in nats, rounded up: the entropy of an adversary who knows nothing."""
        return log_upper(Fraction(self.datasets))

    @cached_property
    def places(self) -> dict[Any, int]:
        """The place of each answer."""
        return {answer: k for k, answer in enumerate(self.answers)}

    def __repr__(self) -> str:
        sizes = sorted(set(self.shape))
        values = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        return f"Query({self.name}: {self.records} records of {values} values, {len(self.answers)} answers)"

    def table(self) -> Indices:
        """Return the place of the answer for every dataset, in C order."""
        if self._table is not None:
            return self._table
        assert self.structure is not None
        if self.datasets > MOST_DATASETS:
            raise InvalidInput(
                f"{self.name} has {self.datasets:.3g} datasets, more than the {MOST_DATASETS:,} that fit a "
                "table; use what needs "
                "only its structure (a channel given by answer, method='global')."
            )
        totals = np.zeros(self.shape, dtype=np.int64)
        for i, w in enumerate(self.structure.weights):
            totals += np.array(w).reshape([-1 if k == i else 1 for k in range(self.records)])
        flat = totals.reshape(-1)
        if self.structure.modulus:
            flat = flat % self.structure.modulus
        kinds, inverse = np.unique(flat, return_inverse=True)
        each = np.array([self.places[self.structure.answer(int(t))] for t in kinds], dtype=np.intp)
        return each[inverse]

    def value(self, dataset: Sequence[Any]) -> Any:
        """Return the answer for one dataset."""
        if len(dataset) != self.records:
            raise InvalidInput(
                f"dataset has {len(dataset)} values; expected one for each of the {self.records} records."
            )
        try:
            index = [alphabet.index(v) for alphabet, v in zip(self.alphabets, dataset, strict=True)]
        except ValueError as error:
            raise InvalidInput(
                f"dataset {tuple(dataset)!r} holds a value outside its record's alphabet: {error}."
            ) from error
        if self.structure is None:
            assert self._table is not None
            return self.answers[self._table[np.ravel_multi_index(tuple(index), self.shape)]]
        total = sum(w[k] for w, k in zip(self.structure.weights, index, strict=True))
        return self.structure.answer(total % self.structure.modulus if self.structure.modulus else total)

    @cached_property
    def sensitivity(self) -> float:
        """Δf: how far the answer can move when one record changes (numeric answers)."""
        numbers = self.numeric_answers()
        space = self.space()
        widest = 0.0
        for view in space.views:
            values = numbers[space.answer[view.successor]]
            widest = max(widest, float((values.max(axis=0) - values.min(axis=0)).max()))
        return widest

    def numeric_answers(self) -> Floats:
        """Return the answers as numbers."""
        try:
            return np.array([float(a) for a in self.answers])
        except (TypeError, ValueError) as error:
            raise InvalidInput(
                f"the answers of {self.name} are not numbers; give a distortion='hamming' or a matrix."
            ) from error

    def distortion_matrix(self, outputs: Sequence[Any], metric: Any = "absolute") -> Floats:
        """d(answer, output): ``"absolute"`` for abs(y - f), ``"hamming"`` 0 or 1, a function of both, or a matrix."""
        size = (len(self.answers), len(outputs))
        if isinstance(metric, str):
            if metric == "absolute":
                try:
                    y = np.array([float(o) for o in outputs])
                except (TypeError, ValueError) as error:
                    raise InvalidInput("outputs are not numbers; metric='hamming' or a matrix serves them.") from error
                return np.asarray(np.abs(self.numeric_answers()[:, None] - y))
            if metric == "hamming":
                return np.array([[float(a != o) for o in outputs] for a in self.answers])
            raise InvalidInput(f"metric is {metric!r}; expected 'absolute', 'hamming', a function or a matrix.")
        if callable(metric):
            matrix = np.array([[float(metric(a, o)) for o in outputs] for a in self.answers])
        else:
            matrix = np.asarray(metric, dtype=np.float64)
        if matrix.shape != size or not np.isfinite(matrix).all() or (matrix < 0).any():
            raise InvalidInput(
                f"metric must give {size[0]}×{size[1]} finite numbers of at least 0. Got shape {matrix.shape} instead."
            )
        return matrix

    # ------------------------------------------------------------------------------------------- states, classes

    def space(self, data: Any = "uniform") -> Space:
        """Return datasets grouped by what the answer needs: the total, or the answer itself for a tabulated query."""
        law = data_law(data, self.shape)
        if self.structure is None:
            assert self._table is not None
            names = tuple(str(a) for a in self.answers)
            return table_space(self.shape, self._table, self._table, law.table(), names)
        return self._sum_space(law)

    def orbit_space(self, data: Any = "uniform") -> Space:
        """Datasets grouped by the symmetries that leave query and data distribution unchanged: a best mechanism may be
        sought among those that treat the members of a state alike (the mathematics, section 6)."""
        law = data_law(data, self.shape)
        from leakwise.records.queries.symmetry import histogram_space, orbits, relabels_evenly

        if self.structure is None or law.joint is not None:
            table = self.table()
            states, names = orbits(self, table, law)
            return table_space(self.shape, table, states, law.table(), names)
        return self._sum_space(law) if relabels_evenly(self, law) else histogram_space(self, law)

    def _totals(self) -> list[int]:
        assert self.structure is not None
        modulus = self.structure.modulus
        totals = {0}
        for w in self.structure.weights:
            kinds = set(w)
            if modulus is not None and len(totals) == modulus:
                break
            totals = {(t + v) % modulus if modulus else t + v for t in totals for v in kinds}
            if len(totals) > MOST_DATASETS:
                raise InvalidInput(
                    f"the weights make more than {MOST_DATASETS:,} different sums. Use smaller weights or a modulus."
                )
        return sorted(totals)

    def _sum_space(self, law: DataLaw) -> Space:
        assert self.structure is not None
        s = self.structure
        m = s.modulus
        if law.joint is not None:
            table = self.table()
            return table_space(self.shape, table, table, law.table(), tuple(str(a) for a in self.answers))
        groups = groups_of(self, law, lambda i: tuple(v % m if m else v for v in s.weights[i]))
        text = f" mod {m}" if m else ""
        return additive_space(
            groups,
            0,
            partial(add_modulo, m),
            lambda t: self.places[s.answer(t)],
            lambda t, others: f"{'the others' if others else 'all'} sum to {t}{text}",
            self.name,
        )

    # ------------------------------------------------------------------------------------------------- mechanisms

    def symmetric_channel(self, flip: float) -> Channel:
        """Return the true answer with probability 1 - flip, every other one with flip/(m-1) ([PR] (33))."""
        from leakwise.records.queries.channel import symmetric_channel

        return symmetric_channel(self, flip)

    def laplace(
        self, epsilon: float, *, sensitivity: float | None = None, outputs: Iterable[Any] | None = None
    ) -> Channel:
        """Laplace noise of scale Δf/ε, rounded to the nearest output ([PR] 7.2; for a bit the threshold 1/2)."""
        from leakwise.records.queries.channel import laplace

        return laplace(self, epsilon, sensitivity=sensitivity, outputs=outputs)

    def geometric(self, epsilon: float, *, sensitivity: float | None = None) -> Channel:
        """Return two-sided geometric noise of scale Δf/ε on whole answers, clipped to their range."""
        from leakwise.records.queries.channel import geometric

        return geometric(self, epsilon, sensitivity=sensitivity)

    def exponential(self, epsilon: float, *, utility: Any = None, outputs: Iterable[Any] | None = None) -> Channel:
        """Return the exponential mechanism with utility ``-|y - f|`` by default ([PR] 7.2)."""
        from leakwise.records.queries.channel import exponential

        return exponential(self, epsilon, utility=utility, outputs=outputs)

    def channel(self, matrix: ArrayLike, *, by: str = "answer", outputs: Iterable[Any] | None = None) -> Channel:
        """Any q(y | x): a row for each answer, each dataset (C order) or each symmetry class (``orbit_space``)."""
        from leakwise.records.queries.channel import channel

        return channel(self, matrix, by=by, outputs=outputs)


def _alphabets(alphabets: Sequence[int | Sequence[Any]]) -> tuple[tuple[Any, ...], ...]:
    if isinstance(alphabets, int | str) or not len(alphabets):
        raise InvalidInput(f"alphabets is {alphabets!r}; expected one alphabet for each record, such as [2, 2, 2].")
    result = []
    for i, alphabet in enumerate(alphabets):
        values = tuple(range(alphabet)) if isinstance(alphabet, int) else tuple(alphabet)
        if not values or len(set(values)) < len(values):
            raise InvalidInput(f"alphabets[{i}] is {alphabet!r}; expected at least one value, each once.")
        result.append(values)
    return tuple(result)


def _sorted_answers(values: Sequence[Any]) -> tuple[tuple[Any, ...], Indices]:
    distinct = list(dict.fromkeys(values))
    with contextlib.suppress(TypeError):  # answers without an order stay as they were met
        distinct.sort()
    place = {answer: k for k, answer in enumerate(distinct)}
    return tuple(distinct), np.array([place[v] for v in values], dtype=np.intp)


def _tabulate(function: Any, alphabets: tuple[tuple[Any, ...], ...]) -> tuple[list[Any], str]:
    shape = tuple(len(a) for a in alphabets)
    if isinstance(function, Mapping):
        missing = [x for x in product(*alphabets) if x not in function]
        if missing:
            raise InvalidInput(
                f"function has no answer for {len(missing):,} datasets, such as {missing[0]!r}. Give one for each."
            )
        return [function[x] for x in product(*alphabets)], "table"
    if callable(function):
        name = getattr(function, "__name__", "function")
        return [function(x) for x in product(*alphabets)], "function" if name == "<lambda>" else name
    table = np.asarray(function)
    if table.shape != shape:
        raise InvalidInput(f"function has shape {table.shape}; expected {shape}, one axis for each record.")
    return table.reshape(-1).tolist(), "table"


def groups_of(query: Query, law: DataLaw, steps: Callable[[int], tuple[Any, ...]]) -> list[Group]:
    """Records that take the same steps and have the same law under p0."""
    found: dict[Any, list[int]] = {}
    for i in range(query.records):
        found.setdefault((steps(i), law.marginal(i)), []).append(i)
    return [Group(tuple(records), key[0], key[1]) for key, records in found.items()]
