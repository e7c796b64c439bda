"""Mechanisms on a query: the law of the output for each answer, each class of datasets, or each dataset."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import InvalidInput
from leakwise.mechanism import Mechanism
from leakwise.records.queries.problem import Problem, entropy_of
from leakwise.records.queries.query import Query
from leakwise.records.queries.spaces import Space, reduce
from leakwise.records.results import Adversary
from leakwise.types import Floats

__all__ = ["Case", "Channel", "channel", "exponential", "geometric", "laplace", "symmetric_channel"]

_ROW_SUM = 1e-9


@dataclass(frozen=True, eq=False)
class Case:
    """The reduced problem of records that are alike, and how to say its classes in words."""

    records: tuple[int, ...]
    letters: tuple[Any, ...]
    problem: Problem
    classes: tuple[str, ...]

    def adversary(self, belief: Floats) -> Adversary:
        """Return a belief over the classes, with their names."""
        problem = self.problem
        entries = tuple(
            (self.letters[int(problem.letter[k])], self.classes[k], problem.multiplicities[k], float(belief[k]))
            for k in range(len(belief))
        )
        entropy = float(entropy_of(belief[None], problem.log_sizes)[0]) + math.log(problem.largest)
        return Adversary(self.records[0], entries, entropy)


@dataclass(frozen=True, eq=False, repr=False)
class Channel(Shown):
    """A mechanism q(y | x) that is the same within each state of a space.

    Attributes
    ----------
    query
        What is asked.
    space
        How datasets are grouped; a row for each state.
    rows
        The output law of each state.
    outputs
        What can come out.
    name
        What to call it.
    """

    query: Query
    space: Space
    rows: Floats
    outputs: tuple[Any, ...]
    name: str
    by: str = "answer"

    def __post_init__(self) -> None:
        rows = self.rows
        if rows.shape != (len(self.space), len(self.outputs)):
            raise InvalidInput(
                f"matrix has shape {rows.shape}; expected {len(self.space)} rows and {len(self.outputs)} columns."
            )
        if not np.isfinite(rows).all() or (rows < 0).any():
            raise InvalidInput("matrix must hold probabilities: finite numbers of at least 0.")
        worst = int(np.argmax(np.abs(rows.sum(axis=1) - 1)))
        if abs(rows[worst].sum() - 1) > _ROW_SUM:
            raise InvalidInput(
                f"row {worst} of matrix sums to {rows[worst].sum():.12g}; expected 1: every row is a law of the output."
            )
        object.__setattr__(self, "rows", rows / rows.sum(axis=1, keepdims=True))
        self.rows.setflags(write=False)

    def _shown(self) -> Parts:
        rows = [[name, *map(float, row)] for name, row in zip(self.space.names, self.rows, strict=True)]
        return [Table(["", *map(str, self.outputs)], rows, f"{self.name} on {self.query.name}")]

    @cached_property
    def cases(self) -> tuple[Case, ...]:
        """The reduced problem of every record; records with the same problem appear once."""
        found: dict[Any, Case] = {}
        for view in self.space.views:
            problem, members = reduce(view, self.rows)
            key = frozenset(
                (a, frozenset((problem.rows[k].tobytes(), problem.multiplicities[k]) for k in range(b.start, b.stop)))
                for a, b in enumerate(problem.blocks)
            )
            if key in found:
                old = found[key]
                found[key] = Case(tuple(sorted(old.records + view.records)), old.letters, old.problem, old.classes)
                continue
            letters = self.query.alphabets[view.records[0]]
            words = tuple(_class_name(view.names, inside) for _, inside in members)
            found[key] = Case(view.records, letters, problem, words)
        return tuple(found.values())

    def distortion(self, data: Any = "uniform", metric: Any = "absolute") -> float:
        r"""Return E d(f(X), Y) when the data come from ``data`` ([PR] (31)).

        >>> from leakwise.records import parity
        >>> print(f"{parity(4).symmetric_channel(flip=0.3).distortion():.3f}")
        0.300
        """
        matrix = self.query.distortion_matrix(self.outputs, metric)
        rows, space = self.rows, self._space_for(data)
        if len(space) != len(rows) or space.answer.tolist() != self.space.answer.tolist():
            rows = self.by_dataset()
            law = _table_law(self.query, data)
            return float((law[:, None] * rows * matrix[self.query.table()]).sum())
        return float((space.mass[:, None] * rows * matrix[space.answer]).sum())

    def _space_for(self, data: Any) -> Space:
        return self.query.space(data) if self.by == "answer" else self.query.orbit_space(data)

    def by_dataset(self) -> Floats:
        """Return q(y | x) for every dataset in C order (small queries only)."""
        if self.space.datasets is not None:
            return np.asarray(self.rows[self.space.datasets])
        rows = self.by_answer()
        if rows is not None:
            return np.asarray(rows[self.query.table()])
        assert self.space.replay is not None
        places = np.array(np.unravel_index(np.arange(self.query.datasets), self.query.shape)).T
        return np.asarray(self.rows[self.space.replay(places)])

    def by_answer(self) -> Floats | None:
        """Return a row for each answer, or None when datasets of equal answer are treated differently."""
        result = np.zeros((len(self.query.answers), len(self.outputs)))
        result[self.space.answer] = self.rows
        return result if np.abs(result[self.space.answer] - self.rows).max() <= 1e-12 else None

    def mechanism(self) -> Mechanism:
        """Return the exact mechanism from answers to outputs, ready for a release."""
        rows = self.by_answer()
        if rows is None:
            raise InvalidInput(
                f"{self.name} treats datasets of equal answer differently: it is not a mechanism on the answer alone."
            )
        return Mechanism(
            rows, inputs=[_plain(a) for a in self.query.answers], outputs=[_plain(o) for o in self.outputs]
        )


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def _class_name(names: tuple[str, ...], inside: tuple[int, ...]) -> str:
    if len(inside) == 1:
        return names[inside[0]]
    return " or ".join(names[t] for t in inside[:3]) + (f" or {len(inside) - 3} more" if len(inside) > 3 else "")


def _table_law(query: Query, data: Any) -> Floats:
    from leakwise.records.queries.data import data_law

    return data_law(data, query.shape).table()


# ------------------------------------------------------------------------------------------------------- the families


def _by_answer(query: Query, matrix: Floats, outputs: Iterable[Any], name: str) -> Channel:
    space = query.space()
    return Channel(query, space, np.asarray(matrix, dtype=np.float64)[space.answer], tuple(outputs), name)


def _positive(name: str, value: float) -> float:
    if not (isinstance(value, int | float | np.floating | np.integer) and math.isfinite(value) and value > 0):
        raise InvalidInput(f"{name} is {value!r}; expected a positive number.")
    return float(value)


def symmetric_channel(query: Query, flip: float) -> Channel:
    """Return the generalised binary symmetric channel ([PR] (33))."""
    size = len(query.answers)
    if not (isinstance(flip, int | float | np.floating) and 0 <= flip <= 1):
        raise InvalidInput(f"flip is {flip!r}; expected a probability between 0 and 1.")
    if size == 1:
        return _by_answer(query, np.ones((1, 1)), query.answers, f"symmetric channel (flip {flip:g})")
    matrix = np.full((size, size), flip / (size - 1))
    np.fill_diagonal(matrix, 1 - flip)
    return _by_answer(query, matrix, query.answers, f"symmetric channel (flip {flip:g})")


def laplace(
    query: Query, epsilon: float, *, sensitivity: float | None = None, outputs: Iterable[Any] | None = None
) -> Channel:
    """Return f + Laplace(Δf/ε), rounded to the nearest output."""
    epsilon = _positive("epsilon", epsilon)
    scale = (query.sensitivity if sensitivity is None else _positive("sensitivity", sensitivity)) / epsilon
    labels = sorted(query.answers if outputs is None else outputs)
    y = np.array([float(o) for o in labels])
    edges = 0.5 * (y[1:] + y[:-1])
    z = edges[None, :] - query.numeric_answers()[:, None]
    if scale == 0:
        above = (z > 0).astype(np.float64)
        tail_low, tail_high = above, 1 - above
    else:
        # Both tails apart: a difference of two numbers near 1 would lose the small probabilities.
        tail_low = np.where(z < 0, 0.5 * np.exp(-np.abs(z) / scale), 1 - 0.5 * np.exp(-np.abs(z) / scale))
        tail_high = np.where(z < 0, 1 - 0.5 * np.exp(-np.abs(z) / scale), 0.5 * np.exp(-np.abs(z) / scale))
    size = len(query.answers)
    cumulative = np.concatenate([np.zeros((size, 1)), tail_low, np.ones((size, 1))], axis=1)
    survival = np.concatenate([np.ones((size, 1)), tail_high, np.zeros((size, 1))], axis=1)
    left = np.concatenate([np.full((size, 1), -1.0), z], axis=1) < 0
    matrix = np.where(left, np.diff(cumulative, axis=1), -np.diff(survival, axis=1))
    return _by_answer(query, matrix, labels, f"Laplace (ε {epsilon:g})")


def geometric(query: Query, epsilon: float, *, sensitivity: float | None = None) -> Channel:
    """Return f + two-sided geometric noise with ratio e^(-ε/Δf), clipped to the range of the answers."""
    epsilon = _positive("epsilon", epsilon)
    numbers = query.numeric_answers()
    if not np.array_equal(numbers, np.round(numbers)):
        raise InvalidInput(f"the answers of {query.name} are not whole numbers; use laplace instead.")
    delta = query.sensitivity if sensitivity is None else _positive("sensitivity", sensitivity)
    low, high = int(numbers.min()), int(numbers.max())
    ratio = math.exp(-epsilon / delta) if delta > 0 else 0.0
    y = np.arange(low, high + 1)
    matrix = (1 - ratio) / (1 + ratio) * ratio ** np.abs(y[None, :] - numbers[:, None])
    matrix[:, 0] = ratio ** (numbers - low) / (1 + ratio)
    matrix[:, -1] = ratio ** (high - numbers) / (1 + ratio)
    if low == high:
        matrix = np.ones((1, 1))
    return _by_answer(query, matrix, (int(v) for v in y), f"geometric (ε {epsilon:g})")


def exponential(query: Query, epsilon: float, *, utility: Any = None, outputs: Iterable[Any] | None = None) -> Channel:
    """Return P(y | x) ∝ exp(ε u(f, y) / (2 Δu)); u = -|y - f| unless given as a function of answer and output or as a
    matrix.
    """
    epsilon = _positive("epsilon", epsilon)
    labels = tuple(query.answers if outputs is None else outputs)
    if utility is None:
        u = -query.distortion_matrix(labels, "absolute")
    elif callable(utility):
        u = np.array([[float(utility(a, o)) for o in labels] for a in query.answers])
    else:
        u = np.asarray(utility, dtype=np.float64)
    if u.shape != (len(query.answers), len(labels)) or not np.isfinite(u).all():
        raise InvalidInput(f"utility has shape {u.shape}; expected {(len(query.answers), len(labels))} finite numbers.")
    space, delta = query.space(), 0.0
    for view in space.views:
        values = u[space.answer[view.successor]]
        delta = max(delta, float((values.max(axis=0) - values.min(axis=0)).max()))
    exponent = epsilon * u / (2 * delta) if delta > 0 else np.zeros_like(u)
    matrix = np.exp(exponent - exponent.max(axis=1, keepdims=True))
    return _by_answer(query, matrix / matrix.sum(axis=1, keepdims=True), labels, f"exponential (ε {epsilon:g})")


def channel(query: Query, matrix: ArrayLike, *, by: str = "answer", outputs: Iterable[Any] | None = None) -> Channel:
    """Return any mechanism, by ``"answer"``, ``"class"`` (:meth:`Query.orbit_space`) or ``"dataset"`` (C order)."""
    rows = np.asarray(matrix, dtype=np.float64)
    if rows.ndim != 2:
        raise InvalidInput(
            f"matrix has {rows.ndim} dimensions; expected rows (one for each {by}) and columns (one for each output)."
        )
    labels: tuple[Any, ...]
    if outputs is not None:
        labels = tuple(outputs)
    else:
        labels = query.answers if rows.shape[1] == len(query.answers) else tuple(range(rows.shape[1]))
    if by == "answer":
        if rows.shape[0] != len(query.answers):
            raise InvalidInput(
                f"matrix has {rows.shape[0]} rows; expected {len(query.answers)}, one for each answer of {query.name}."
            )
        return _by_answer(query, rows, labels, "channel by answer")
    if by == "class":
        return Channel(query, query.orbit_space(), rows, labels, "channel by class", by="class")
    if by == "dataset":
        from leakwise.records.queries.data import data_law
        from leakwise.records.queries.spaces import table_space

        table = query.table()
        if rows.shape[0] != query.datasets:
            raise InvalidInput(
                f"matrix has {rows.shape[0]} rows; expected {query.datasets:,}, one for each dataset in C order."
            )
        pairs = np.concatenate([rows, table[:, None]], axis=1)
        kinds, states = np.unique(pairs, axis=0, return_inverse=True)
        names = tuple(f"kind {k} (answer {query.answers[int(kind[-1])]})" for k, kind in enumerate(kinds))
        space = table_space(
            query.shape, table, states.reshape(-1).astype(np.intp), data_law("uniform", query.shape).table(), names
        )
        return Channel(query, space, kinds[:, :-1], labels, "channel by dataset", by="dataset")
    raise InvalidInput(f"by is {by!r}; expected 'answer', 'class' or 'dataset'.")
