"""Vertices of lift vectors, listed one by one: what the checker's tables of sets are compared with."""

from __future__ import annotations

import itertools

import numpy as np

from leakwise.proof.optimality.ranges import Range
from leakwise.types import Floats


def box_vertices(p: Floats, low: float, high: float) -> Floats:
    """Every lift vector in [low, high] with all entries at an end but for one, which is what the others leave it."""
    size, found = len(p), [np.ones(len(p))]
    for ends in itertools.product((low, high), repeat=size - 1):
        for free in range(size):
            vertex = np.insert(np.array(ends), free, 0.0)
            vertex[free] = (1 - p @ vertex) / p[free]
            if low - 1e-12 <= vertex[free] <= high + 1e-12:
                vertex[free] = np.clip(vertex[free], low, high)
                found.append(vertex)
    return np.array(found).T


def range_vertices(p: Floats, where: Range) -> Floats:
    """Two values on every set of letters, and the boxes at the kinks."""
    found = []
    for raised in itertools.product((False, True), repeat=len(p)):
        chosen = np.array(raised)
        below, above = where.levels(p[chosen].sum(keepdims=True), p[~chosen].sum(keepdims=True))
        if below[0] >= where.low - 1e-12:
            found.append(np.where(chosen, above, np.maximum(below, 0.0)))
    boxes = [(a, float(where.top(np.array([a]))[0])) for a in where.kinks()]
    return np.concatenate([np.array(found).T, *(box_vertices(p, a, top) for a, top in boxes if top >= 1)], axis=1)
