"""Exact optima against every vertex, listed and proven here, and against linear programs of SciPy."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import leakwise as lw
from leakwise.exact import LogSum

GAINS = [[1, 0.5, 0, 2], [0, 1, 0.25, -1], [0.5, 0.75, 1, 0], [0, 0, 2, 1], [1, 0, 0, 0.5]]


def vertices(p: list[Fraction], t: Fraction) -> list[tuple[Fraction, ...]]:
    """All vertices of {0 ≤ λ ≤ t, π·λ = 1}: all but one entry at an end, whatever the other one then is."""
    found = set()
    for free in range(len(p)):
        for ends in itertools.product([Fraction(0), t], repeat=len(p) - 1):
            column = [*ends[:free], Fraction(0), *ends[free:]]
            column[free] = (1 - sum(a * b for a, b in zip(p, column, strict=True))) / p[free]
            if 0 <= column[free] <= t:
                found.add(tuple(column))
    return sorted(found)


def worth(utility: str, p: list[Fraction], lifts: tuple[Fraction, ...]) -> Any:
    """What an outcome is worth, of its definition."""
    if utility == "mutual_information":
        logs = (
            mass.numerator
            * mpmath.mpf(x.numerator)
            / mass.denominator
            / x.denominator
            * mpmath.log(mpmath.mpf(x.numerator) / x.denominator)
            for mass, x in zip(p, lifts, strict=True)
            if x
        )
        return mpmath.fsum(logs)
    if utility == "total_variation":
        return sum(mass * abs(x - 1) for mass, x in zip(p, lifts, strict=True)) / 2
    if utility == "chi_square":
        return sum(mass * (x - 1) ** 2 for mass, x in zip(p, lifts, strict=True))
    if utility == "guessing":
        return max(mass * x for mass, x in zip(p, lifts, strict=True))
    gains = [[Fraction(g) for g in row] for row in GAINS[: len(p)]]
    return max(sum(mass * row[w] * x for mass, row, x in zip(p, gains, lifts, strict=True)) for w in range(4))


def number(value: Fraction | LogSum) -> Any:
    if isinstance(value, LogSum):
        logs = (
            mpmath.mpf(c.numerator) / c.denominator * mpmath.log(mpmath.mpf(b.numerator) / b.denominator)
            for b, c in value.logs.items()
        )
        return mpmath.fsum(logs) + mpmath.mpf(value.constant.numerator) / value.constant.denominator
    return value


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_it_is_the_optimum_over_every_vertex_and_its_duals_prove_that(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 5))
    alike = data.draw(st.booleans())
    counts = [1] * size if alike else data.draw(st.lists(st.integers(1, 9), min_size=size, max_size=size))
    p = [Fraction(one, sum(counts)) for one in counts]
    t = 1 + data.draw(st.fractions(min_value=Fraction(1, 20), max_value=3, max_denominator=20))
    utility = data.draw(st.sampled_from(["mutual_information", "total_variation", "chi_square", "guessing", "gain"]))
    goal = lw.Expected([row[:4] for row in GAINS[:size]]) if utility == "gain" else utility
    best = lw.design(p, lift=t, utility=goal).exact()
    listed = vertices(p, t)
    with mpmath.workdps(50):
        worths = [worth(utility, p, column) for column in listed]
        nothing = 0 if utility != "mutual_information" else mpmath.mpf(10) ** -45
        columns = [tuple(column) for column in best.columns.T.tolist()]
        # The primal: allowed columns that add up to one in every row, exactly.
        assert set(columns) <= set(listed)
        assert min(best.weights) > 0
        for row in best.columns.tolist():
            assert sum(q * x for q, x in zip(best.weights, row, strict=True)) == 1
        reached = sum(number(q) * worths[listed.index(c)] for q, c in zip(best.weights, columns, strict=True))
        # The dual: no vertex is worth more than it costs, and both have one value, exactly.
        duals = [number(one) for one in best.duals]
        gaps = [
            sum(y * x.numerator / x.denominator if nothing else y * x for y, x in zip(duals, c, strict=True)) - w
            for c, w in zip(listed, worths, strict=True)
        ]
        assert min(gaps) >= -nothing
        assert abs(sum(duals) - number(best.value)) <= nothing
        assert abs(reached - number(best.value)) <= nothing
        tight = {column for column, gap in zip(listed, gaps, strict=True) if gap <= nothing}
        assert {tuple(column) for column in best.tight.T.tolist()} == tight
        floats = [float(one) for one in worths]
    answer = linprog([-one for one in floats], A_eq=np.array(listed, dtype=float).T, b_eq=np.ones(size))
    assert float(best.value) == pytest.approx(-answer.fun, abs=1e-8)
    assert best.interval[0] <= float(best.value) <= best.interval[1]
    assert lw.certify(best.mechanism, lw.Prior(p), lift=t).holds


def test_weights_are_rational_functions_of_the_lift_where_the_basis_holds() -> None:
    prior = lw.Prior(["1/2", "3/10", "1/5"])
    best = lw.design(prior, lift="3/2", utility="chi_square").exact()
    functions = best.weights_in_lift()
    assert [one(best.lift) for one in functions] == list(best.weights)
    for lift in ("11/8", "47/32", "49/32", "97/64", "25/16", "5/2"):
        there = lw.design(prior, lift=lift, utility="chi_square").exact()
        holds = best.holds_at(lift)
        assert holds == (lift in ("49/32", "97/64")), lift
        if holds:
            assert sorted(one(Fraction(lift)) for one in functions) == sorted(there.weights)
    with pytest.raises(lw.errors.InvalidInput, match="regions of the prior meet"):
        lw.design(prior, lift=2).exact().weights_in_lift()


def test_sympy_and_latex_say_the_same() -> None:
    sympy = pytest.importorskip("sympy")
    best = lw.design({"a_b": "1/2", "c": "3/10", "d": "1/5"}, lift="3/2").exact()
    numbers = best.to_sympy()
    assert numbers["columns"] * numbers["weights"] == sympy.ones(3, 1)
    assert sympy.simplify(sum(numbers["duals"]) - numbers["value"]) == 0
    assert numbers["prior"].dot(numbers["columns"][:, 0]) == 1
    functions = best.to_sympy(in_lift=True)
    t = functions["lift"]
    assert sympy.simplify(functions["columns"] * functions["weights"]) == sympy.ones(3, 1)
    assert abs(sympy.N((functions["value"] - numbers["value"]).subs(t, sympy.Rational(3, 2)), 30)) < 1e-25
    for utility in ("guessing", "total_variation", "chi_square", lw.Gain([[1, 0], [0, 1], [0.5, 0.5]])):
        other = lw.design(best.prior, lift="3/2", utility=utility).exact()
        symbols = other.to_sympy(in_lift=True)
        assert symbols["value"].subs(symbols["lift"], sympy.Rational(3, 2)) == other.to_sympy()["value"]
    assert best.mechanism.to_sympy() == numbers["columns"] * sympy.diag(*numbers["weights"])
    assert r"\text{a\_b} & \frac{11}{10}" in best.to_latex()
    assert best.to_latex().endswith(r"\frac{1}{2} \log \frac{3}{2}")


def test_values_that_never_occur_and_a_limit_that_allows_nothing() -> None:
    best = lw.design({"a": "1/2", "never": 0, "b": "1/2"}, lift="3/2", utility="guessing").exact()
    assert best.prior.labels == ("a", "b")
    assert best.value == Fraction(3, 4)
    nothing = lw.design(["1/2", "1/4", "1/4"], lift=1, utility="guessing").exact()
    assert (nothing.value, nothing.weights, nothing.basis) == (Fraction(1, 2), (1,), None)
    typed = lw.design(["1/2", "1/2"], lift=1.1, utility="guessing").exact()
    assert (typed.lift, typed.value) == (Fraction(11, 10), Fraction(11, 20))
    irrational = lw.design(["1/2", "1/2"], epsilon=0.5, utility="guessing").exact()
    assert float(irrational.value) == pytest.approx(np.exp(0.5) / 2, abs=1e-15)


def test_it_prints_what_is_exact() -> None:
    shown = repr(lw.design({"a": "1/2", "b": "3/10", "c": "1/5"}, lift="3/2", utility="guessing").exact())
    assert "exact optimum of guessing at a lift of at most 3/2" in shown
    assert "dual of the value's row" in shown
    assert "9/100" in shown
    assert "Value 0.6 = 3/5. Proven without rounding over all extreme columns: 3 columns used" in shown
    data = lw.design(["1/2", "1/2"], lift="3/2").exact().to_dict()
    assert data["weights"] == ["1/2", "1/2"]
    assert data["value_lower"] <= data["value_upper"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"utility": "hellinger"}, "has roots"),
        ({"utility": "frequencies"}, "no sum over outcomes"),
        ({"anyone": 5}, "has others"),
        ({"ceiling": {0: 0.6}}, "has others"),
        ({"utility": "guessing", "keep_frequencies": True}, "has others"),
        ({"utility": lw.FInformation(lambda x: (x - 1) ** 2)}, "cannot be stored"),
        ({"utility": lw.WorstCase(np.eye(3))}, r"that for worst case by value does not\. d\.value"),
    ],
)
def test_what_cannot_be_solved_exactly_is_refused_with_the_reason(options: dict[str, Any], words: str) -> None:
    with pytest.raises(lw.errors.InvalidInput, match=words):
        lw.design([0.5, 0.3, 0.2], lift=1.5, **options).exact()


def test_sets_of_priors_and_too_many_values_are_refused_with_the_reason() -> None:
    with pytest.raises(lw.errors.InvalidInput, match="a set of priors"):
        lw.design(lw.Prior([0.5, 0.3, 0.2]).ball(0.05), lift=1.5).exact()
    with pytest.raises(lw.errors.InvalidInput, match=r"16 values at lift = 2 have up to .* are looked at"):
        lw.design(lw.Prior.uniform(16), lift=2).exact()


@pytest.mark.parametrize("utility", ["mutual_information", "guessing"])
def test_the_duals_add_up_to_the_value_and_are_prices_in_plain_arithmetic(utility: str) -> None:
    best = lw.design(["7/20", "1/4", "1/5", "1/5"], lift="8/5", utility=utility).exact()
    assert sum(best.duals) == best.value
    prices = np.array(best.duals, dtype=object) @ best.columns
    assert sum(q * price for q, price in zip(best.weights, prices, strict=True)) == best.value


def test_latex_writes_a_minus_before_a_fraction_and_not_inside_it() -> None:
    written = lw.design(["2/17", "5/17", "10/17"], lift="7/5").exact().to_latex()
    assert r"\frac{-" not in written
    assert "+ -" not in written
    assert (
        r"& -\frac{280}{4913} \log \frac{7}{5} + \frac{900}{4913} \log \frac{18}{25} - \frac{25}{4913} \log" in written
    )
