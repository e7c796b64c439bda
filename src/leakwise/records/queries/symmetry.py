"""Which datasets a best mechanism may treat alike: what exchanging records or relabelling values cannot tell apart."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakwise.records.queries.data import DataLaw
from leakwise.records.queries.query import Query, groups_of
from leakwise.records.queries.spaces import Group, Space, add_tuples, additive_space
from leakwise.types import Indices

__all__ = ["histogram_space", "orbits", "relabels_evenly"]


def relabels_evenly(query: Query, law: DataLaw) -> bool:
    """Return whether values can be relabelled so that every dataset of an answer becomes every other one."""
    assert query.structure is not None
    m = query.structure.modulus
    if m is None or not law.uniform:
        return False
    even = all(
        len({w.count(v) for v in range(m)}) == 1
        for w in ([v % m for v in weights] for weights in set(query.structure.weights))
    )
    return even and len(query.answers) == m


def histogram_space(query: Query, law: DataLaw) -> Space:
    """Return the states: how many records of each kind have each kind of value."""
    assert query.structure is not None
    s = query.structure
    kinds = groups_of(query, law, lambda i: s.weights[i])
    coordinates: list[tuple[int, int]] = []  # (group, weight) of each coordinate
    groups = []
    offset: dict[Any, int] = {}
    for g, group in enumerate(kinds):
        for step, chance in zip(group.steps, group.chances, strict=True):
            if (g, step, chance) not in offset:
                offset[g, step, chance] = len(coordinates)
                coordinates.append((g, step))
    size = len(coordinates)
    for g, group in enumerate(kinds):
        units = []
        for step, chance in zip(group.steps, group.chances, strict=True):
            unit = [0] * size
            unit[offset[g, step, chance]] = 1
            units.append(tuple(unit))
        groups.append(Group(group.records, tuple(units), group.chances))

    def total(key: tuple[int, ...]) -> int:
        t = sum(k * w for k, (_, w) in zip(key, coordinates, strict=True))
        return t % s.modulus if s.modulus else t

    def name(key: tuple[int, ...], others: bool) -> str:
        return ("the others: " if others else "") + ", ".join(
            f"{k} of weight {w}" for k, (_, w) in zip(key, coordinates, strict=True) if k
        )

    return additive_space(
        groups,
        (0,) * size,
        add_tuples,
        lambda key: query.places[s.answer(total(key))],
        name,
        query.name,
    )


def orbits(query: Query, table: Indices, law: DataLaw) -> tuple[Indices, tuple[str, ...]]:
    """Return datasets that exchanging records turns into each other, where that changes neither answer nor p0."""
    shape = query.shape
    grid, mass = table.reshape(shape), law.table().reshape(shape)
    blocks: list[list[int]] = []
    for i in range(query.records):
        for block in blocks:
            j = block[0]
            same = query.alphabets[i] == query.alphabets[j]
            if (
                same
                and np.array_equal(grid, grid.swapaxes(i, j))
                and np.allclose(mass, mass.swapaxes(i, j), rtol=0, atol=0)
            ):
                block.append(i)
                break
        else:
            blocks.append([i])
    places = np.array(np.unravel_index(np.arange(query.datasets), shape)).T
    for block in blocks:
        places[:, block] = np.sort(places[:, block], axis=1)
    canonical = np.ravel_multi_index(tuple(places.T), shape)
    kinds, states = np.unique(canonical, return_inverse=True)
    names = []
    for kind in kinds[:10_000]:
        index = np.unravel_index(int(kind), shape)
        names.append("like " + str(tuple(a[int(k)] for a, k in zip(query.alphabets, index, strict=True))))
    names += [f"kind {k}" for k in range(10_000, len(kinds))]
    return states.astype(np.intp).reshape(-1), tuple(names)
