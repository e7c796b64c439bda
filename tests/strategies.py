"""Hypothesis strategies and brute-force mathematics that several test files share.

Nothing here uses the code under test: matrices are lists of lists of Fractions, logarithms are series of Fractions.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

Matrix = list[list[Fraction]]

# Floats of every size, from the least subnormal to the largest.
finite_floats = st.floats(allow_nan=False, allow_infinity=False)

labels = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**80), 2**80),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.dates(),
    st.datetimes(),
)
nested_labels = st.recursive(labels, lambda part: st.lists(part, max_size=3).map(tuple), max_leaves=5)


def fractions_between(low: Fraction, high: Fraction, bits: int = 40) -> st.SearchStrategy[Fraction]:
    """Fractions in [low, high], its ends among them."""
    return st.integers(0, 1 << bits).map(lambda step: low + (high - low) * Fraction(step, 1 << bits))


@st.composite
def laws(draw: st.DrawFn, size: int, *, zeros: bool = True, largest: int = 50) -> list[Fraction]:
    """A probability vector of Fractions."""
    weights = draw(st.lists(st.integers(0 if zeros else 1, largest), min_size=size, max_size=size))
    if not any(weights):
        weights[draw(st.integers(0, size - 1))] = 1
    return [Fraction(weight, sum(weights)) for weight in weights]


@st.composite
def matrices(
    draw: st.DrawFn,
    rows: int | None = None,
    columns: int | None = None,
    *,
    zeros: bool = True,
    largest: int = 50,
) -> Matrix:
    """A row-stochastic matrix of Fractions."""
    height = rows or draw(st.integers(1, 5))
    width = columns or draw(st.integers(1, 5))
    return [draw(laws(width, zeros=zeros, largest=largest)) for _ in range(height)]


@st.composite
def common_laws(draw: st.DrawFn, *, least: int = 1, most: int = 6) -> tuple[list[int], int]:
    """A common law and a denominator that leave a diagonal of either sign (and of any allowed size)."""
    size = draw(st.integers(least, most))
    common = draw(st.lists(st.integers(0, 40), min_size=size, max_size=size))
    # own_j = common_j + denominator - sum(common) must not be negative.
    smallest = sum(common) - min(common)
    denominator = smallest + draw(st.integers(0, 60))
    if size == 1:
        denominator = max(denominator, common[0])
    return (common, denominator) if denominator else ([1] * size, size)


def product(left: Matrix, right: Matrix) -> Matrix:
    """The matrix product, entry by entry."""
    return [
        [sum((row[k] * right[k][j] for k in range(len(right))), Fraction(0)) for j in range(len(right[0]))]
        for row in left
    ]


def exact_matrix(mechanism: Any) -> Matrix:
    """The integers of a mechanism over its denominator."""
    return [[Fraction(int(weight), mechanism.denominator) for weight in row] for row in mechanism.weights]


def pml_ratio(matrix: Matrix, prior: list[Fraction]) -> Fraction:
    """max_y max_x P(y|x) / P(y) over the support of the prior, by the definition."""
    rows = [i for i, mass in enumerate(prior) if mass > 0]
    worst = Fraction(0)
    for j in range(len(matrix[0])):
        law = sum((prior[i] * matrix[i][j] for i in rows), Fraction(0))
        if law > 0:
            worst = max(worst, max(matrix[i][j] for i in rows) / law)
    return worst


def ldp_ratio(matrix: Matrix) -> Fraction | None:
    """max_y max_x,x' P(y|x) / P(y|x'), or None where it is infinite."""
    worst = Fraction(1)
    for column in zip(*matrix, strict=True):
        if max(column) == 0:
            continue
        if min(column) == 0:
            return None
        worst = max(worst, max(column) / min(column))
    return worst


@functools.cache
def exp_bracket(exponent: Fraction, terms: int = 60) -> tuple[Fraction, Fraction]:
    """Rationals below and above e^exponent: the series for an exponent scaled to at most 1/2, squared back up.

    Every step is cut to 1,400 bits outwards, which still tells e^(5e-324) from 1.
    """
    halvings = 0
    scaled = abs(exponent)
    while scaled > Fraction(1, 2):
        scaled /= 2
        halvings += 1
    low = high = low_term = high_term = Fraction(1)
    for k in range(1, terms):
        low_term, high_term = _cut(low_term * scaled / k, up=False), _cut(high_term * scaled / k, up=True)
        low, high = low + low_term, high + high_term
    high += 2 * high_term  # the rest of the series is less than its last term
    for _ in range(halvings):
        low, high = _cut(low * low, up=False), _cut(high * high, up=True)
    return (low, high) if exponent >= 0 else (1 / high, 1 / low)


def _cut(value: Fraction, *, up: bool, bits: int = 1400) -> Fraction:
    scaled = value.numerator << bits
    whole = -(-scaled // value.denominator) if up else scaled // value.denominator
    return Fraction(whole, 1 << bits)


def as_objects(values: list[Any]) -> np.ndarray[Any, Any]:
    """A one-dimensional object array, whatever the values are."""
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return array
