"""Rational functions found from their values."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from leakwise.exact import RationalFunction, ones_as_mixture

entries = st.fractions(min_value=-3, max_value=3, max_denominator=5)


@settings(max_examples=40)
@given(st.lists(st.tuples(*[st.tuples(entries, entries)] * 3), min_size=3, max_size=3), entries)
def test_weights_solve_the_system_wherever_it_can_be_solved(columns: list, t: Fraction) -> None:
    def at(x: Fraction) -> list[list[Fraction]]:
        return [[a + b * x for a, b in column] for column in columns]

    def determinant(c: list[list[Fraction]]) -> Fraction:
        minors = (c[1][1] * c[2][2] - c[1][2] * c[2][1], c[1][0] * c[2][2] - c[1][2] * c[2][0])
        return c[0][0] * minors[0] - c[0][1] * minors[1] + c[0][2] * (c[1][0] * c[2][1] - c[1][1] * c[2][0])

    if not determinant(at(t)):
        return
    weights = ones_as_mixture(columns, t)
    for x in (t, t + 1, t - Fraction(7, 3)):
        if determinant(at(x)):
            q = [one(x) for one in weights]
            assert [sum(q[k] * at(x)[k][row] for k in range(3)) for row in range(3)] == [1, 1, 1]


def test_a_function_reads_as_it_is_written() -> None:
    function = RationalFunction((Fraction(-1), Fraction(1)), (Fraction(0), Fraction(-1), Fraction(3, 2)))
    assert str(function) == "(-1 + t)/(-t + 3/2 t^2)"
    assert function(Fraction(2)) == Fraction(1, 4)
