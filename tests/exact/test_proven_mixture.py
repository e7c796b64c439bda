"""A basis is believed only where its weights and all prices are right."""

from __future__ import annotations

from fractions import Fraction

from leakwise.exact import LogSum
from leakwise.exact.proven_mixture import Optimum, proven, proven_mixture

HALF, MOST = Fraction(1, 2), Fraction(3, 2)
COLUMNS = [(HALF, MOST), (MOST, HALF), (Fraction(1), Fraction(1))]


def worths(*values: int) -> list[LogSum]:
    return [LogSum(Fraction(value, 10)) for value in values]


def test_a_basis_with_a_better_column_beside_it_is_no_optimum() -> None:
    assert proven(COLUMNS, worths(1, 1, 3), [0, 1]) == [2]
    found = proven(COLUMNS, worths(1, 1, 1), [0, 1])
    assert isinstance(found, Optimum)
    assert found.tight == (0, 1, 2)  # the third is worth as much: a tie
    assert proven(COLUMNS, worths(1, 1, 1), [0, 0]) == []  # no basis
    assert proven([(MOST, HALF), (Fraction(2), Fraction(0))], worths(1, 1), [0, 1]) == []  # a weight below zero


def test_ties_of_logarithms_are_decided() -> None:
    logs = [LogSum.log(6), LogSum.log(6), LogSum.log(2) + LogSum.log(3)]
    found = proven(COLUMNS, logs, [0, 1])
    assert isinstance(found, Optimum)
    assert found.tight == (0, 1, 2)
    a_hair = LogSum(Fraction(1, 10**100))
    assert proven(COLUMNS, [*logs[:2], logs[2] + a_hair], [0, 1]) == [2]


def test_it_is_found_whatever_is_tried_first() -> None:
    for likely in ([], [0], [0, 1], [2], [1, 2]):
        found = proven_mixture(COLUMNS, worths(1, 2, 3), likely)
        assert found is not None
        assert sum((one.constant for one in found.duals), Fraction(0)) == Fraction(3, 10)
    assert proven_mixture(COLUMNS[:1], worths(1), [0]) is None  # nothing adds up to one in both rows


def test_a_basis_is_whole_although_fewer_columns_do() -> None:
    columns = [(Fraction(2), Fraction(0), Fraction(0)), (Fraction(0), Fraction(2), Fraction(2))]
    columns += [(Fraction(0), Fraction(2), HALF), (MOST, HALF, Fraction(2))]
    found = proven_mixture(columns, worths(9, 9, 1, 2), [0, 1])
    assert found is not None
    assert {0, 1} < set(found.basis) <= {0, 1, 2, 3}
    assert sorted(found.weights) == [0, HALF, HALF]
    alone = proven_mixture(columns[:2], worths(9, 9), [0, 1])
    assert alone is not None
    assert sorted(alone.basis) == [-1, 0, 1]
