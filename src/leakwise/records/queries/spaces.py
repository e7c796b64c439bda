"""Class reduction: datasets grouped into states, and each record seen against the states of all others.

A sum over the records needs no table of datasets: what the others add up to is convolved exactly, in whole numbers. A
small query without structure is tabulated.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.records.queries.problem import Problem
from leakwise.types import Floats, Indices

__all__ = [
    "MOST_STATES",
    "Group",
    "Space",
    "View",
    "add_modulo",
    "add_tuples",
    "additive_space",
    "reduce",
    "table_space",
]

MOST_STATES = 5000
"""A convolution that would hold more states than this is refused."""

Key = Any


@dataclass(frozen=True, eq=False)
class View:
    """One record (or several that are alike) against the others.

    Attributes
    ----------
    records
        The records this stands for.
    others
        How many datasets of the other records lead to each of the T states of theirs, exact.
    successor
        A×T: the state of the whole dataset when the record has value a and the others are in state t.
    names
        What the states of the others are called.
    """

    records: tuple[int, ...]
    others: tuple[int, ...]
    successor: Indices
    names: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Space:
    """Datasets grouped into S states that have the same answer.

    Attributes
    ----------
    answer
        The answer of each state, as a place among the query's answers.
    mass
        The probability of each state under the data distribution p0.
    views
        The records, alike ones once.
    names
        What the states are called.
    datasets
        For tabulated queries the state of each dataset (C order), else None.
    replay
        For sums: the states of datasets given as places of values (one row for each).
    """

    answer: Indices
    mass: Floats
    views: tuple[View, ...]
    names: tuple[str, ...]
    datasets: Indices | None = None
    replay: Callable[[Indices], Indices] | None = None

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class Group:
    """Records that are alike: what each value adds to the state, and how probable it is under p0."""

    records: tuple[int, ...]
    steps: tuple[Key, ...]
    chances: tuple[float, ...]


def _convolve(
    left: Mapping[Key, Any], right: Mapping[Key, Any], add: Callable[[Key, Key], Key], what: str
) -> dict[Key, Any]:
    result: dict[Key, Any] = {}
    for i, x in left.items():
        for j, y in right.items():
            key = add(i, j)
            result[key] = result.get(key, 0) + x * y
        if len(result) > MOST_STATES:
            raise InvalidInput(
                f"{what} has more than {MOST_STATES:,} states even after grouping what is alike. Fewer "
                "different weights, fewer "
                "records or a modulus make it smaller."
            )
    return result


def _power(base: Mapping[Key, Any], times: int, zero: Key, add: Callable[[Key, Key], Key], what: str) -> dict[Key, Any]:
    result: dict[Key, Any] = {zero: 1}
    square = dict(base)
    while times:
        if times & 1:
            result = _convolve(result, square, add, what)
        times >>= 1
        if times:
            square = _convolve(square, square, add, what)
    return result


def _letters(group: Group, weights: Sequence[Any]) -> dict[Key, Any]:
    base: dict[Key, Any] = {}
    for step, weight in zip(group.steps, weights, strict=True):
        base[step] = base.get(step, 0) + weight
    return base


def add_modulo(modulus: int | None, x: int, y: int) -> int:
    """Return the sum of two partial sums, modulo ``modulus`` where there is one."""
    return (x + y) % modulus if modulus else x + y


def add_tuples(x: tuple[int, ...], y: tuple[int, ...]) -> tuple[int, ...]:
    """Return the sum of two partial sums that are counted place by place."""
    return tuple(a + b for a, b in zip(x, y, strict=True))


def _replay(
    zero: Key,
    add: Callable[[Key, Key], Key],
    steps: Mapping[int, Sequence[Key]],
    place: Mapping[Key, int],
    places: Indices,
) -> Indices:
    result = []
    for dataset in places.tolist():
        key = zero
        for i, value in enumerate(dataset):
            key = add(key, steps[i][value])
        result.append(place[key])
    return np.array(result, dtype=np.intp)


def additive_space(
    groups: Sequence[Group],
    zero: Key,
    add: Callable[[Key, Key], Key],
    answer_of: Callable[[Key], int],
    name_of: Callable[[Key, bool], str],
    what: str,
) -> Space:
    """Return the space of a query whose answer depends on a sum over the records.

    ``add`` joins two partial sums (and is kept, so that it must be one that can be pickled); ``answer_of`` gives the
    place of the answer; ``name_of(key, others)`` says the state in words.
    """

    def product(weighted: bool, without: int | None = None) -> dict[Key, Any]:
        total: dict[Key, Any] = {zero: 1}
        for g, group in enumerate(groups):
            times = len(group.records) - (g == without)
            base = _letters(group, group.chances if weighted else [1] * len(group.steps))
            total = _convolve(total, _power(base, times, zero, add, what), add, what)
        return total

    keys = sorted(product(False))
    place = {key: k for k, key in enumerate(keys)}
    masses = product(True)
    views = []
    for g, group in enumerate(groups):
        rest = product(False, without=g)
        order = sorted(rest)
        successor = np.array([[place[add(step, t)] for t in order] for step in group.steps], dtype=np.intp)
        views.append(
            View(group.records, tuple(rest[t] for t in order), successor, tuple(name_of(t, True) for t in order))
        )
    steps = {i: group.steps for group in groups for i in group.records}
    return Space(
        np.array([answer_of(key) for key in keys], dtype=np.intp),
        np.array([float(masses[key]) for key in keys]),
        tuple(views),
        tuple(name_of(key, False) for key in keys),
        replay=partial(_replay, zero, add, steps, place),
    )


def table_space(
    shape: tuple[int, ...], answers: Indices, states: Indices, mass: Floats, names: tuple[str, ...]
) -> Space:
    """Return the space of a tabulated query: ``answers`` and ``states`` for each dataset in C order."""
    count = int(states.max()) + 1
    answer = np.zeros(count, dtype=np.intp)
    answer[states] = answers
    grid = states.reshape(shape)
    views = []
    for i, size in enumerate(shape):
        columns = np.moveaxis(grid, i, 0).reshape(size, -1)
        kinds, counts = np.unique(columns, axis=1, return_counts=True)
        labels = tuple("the others give " + " / ".join(names[s] for s in column) for column in kinds.T)
        views.append(View((i,), tuple(int(c) for c in counts), kinds.astype(np.intp), labels))
    return Space(
        answer, np.bincount(states, weights=mass, minlength=count).astype(np.float64), tuple(views), names, states
    )


def reduce(view: View, rows: Floats) -> tuple[Problem, list[tuple[int, tuple[int, ...]]]]:
    """Return the problem of one record: classes of equal output law for each of its values.

    Beside the problem, each class: the value of the record and the states of the others that belong to it.
    """
    _, kind = np.unique(rows, axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    laws: list[Floats] = []
    letter: list[int] = []
    sizes: list[int] = []
    members: list[tuple[int, tuple[int, ...]]] = []
    for a, states in enumerate(view.successor):
        groups: dict[Hashable, list[int]] = {}
        for t, s in enumerate(states):
            groups.setdefault(int(kind[s]), []).append(t)
        for inside in groups.values():
            laws.append(rows[states[inside[0]]])
            letter.append(a)
            sizes.append(sum(view.others[t] for t in inside))
            members.append((a, tuple(inside)))
    return Problem(np.array(laws), np.array(letter, dtype=np.intp), tuple(sizes)), members
