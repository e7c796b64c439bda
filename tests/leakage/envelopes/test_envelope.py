"""The envelope of [EN]: its examples, its theorems as laws, and the linear program against independent arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import leakwise as lw
from strategies import Matrix, laws, matrices, product

EXAMPLE_1 = [[0, 0, "0.5", "0.5"], [0, 0, "0.5", "0.5"], [0, "0.2", "0.4", "0.4"], ["0.2", 0, "0.4", "0.4"]]
DELTAS = st.fractions(Fraction(1, 1000), Fraction(999, 1000), max_denominator=1000)


def largest_lifts(matrix: Matrix, prior: list[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """(largest lift, probability) of each possible outcome, by the definition."""
    found = []
    for column in zip(*matrix, strict=True):
        mass = sum((p * v for p, v in zip(prior, column, strict=True)), Fraction(0))
        if mass:
            found.append((max(v for p, v in zip(prior, column, strict=True) if p) / mass, mass))
    return found


def upper_quantile(matrix: Matrix, prior: list[Fraction], delta: Fraction) -> Fraction:
    """The largest t with P(lift ≥ t) ≥ δ."""
    reached = Fraction(0)
    for lift, mass in sorted(largest_lifts(matrix, prior), reverse=True):
        reached += mass
        if reached >= delta:
            return lift
    raise AssertionError


def plain_value(matrix: Matrix, prior: list[Fraction], t: float) -> float:
    """V(t) by SciPy, straight from the linear program of the mathematics, section 5."""
    rows = [i for i, p in enumerate(prior) if p]
    p = np.array([[float(matrix[i][j]) for j in range(len(matrix[0]))] for i in rows])
    q = np.array([float(prior[i]) for i in rows]) @ p
    p, q = p[:, q > 0], q[q > 0]
    n, m = p.shape
    capacity, lift = np.zeros((m, n * m)), np.zeros((n, n * m))
    for x in range(n):
        for y in range(m):
            capacity[y, x * m + y] = 1.0
            lift[x, x * m + y] = t - p[x, y] / q[y]
    found = linprog(
        -np.ones(n * m), A_ub=np.vstack([capacity, lift]), b_ub=np.concatenate([q, np.zeros(n)]), method="highs"
    )
    return float(-found.fun)


@st.composite
def problems(draw: st.DrawFn, zeros: bool = True) -> tuple[Matrix, list[Fraction], Fraction]:
    matrix = draw(matrices(zeros=zeros))
    return matrix, draw(laws(len(matrix), zeros=zeros)), draw(DELTAS)


@pytest.mark.parametrize(
    ("delta", "factor"),
    [("0.05", 4), ("0.1", 4), ("0.2", Fraction(22, 9)), ("0.5", Fraction(68, 45)), ("0.9", Fraction(100, 81))],
)
@pytest.mark.parametrize("method", ["auto", "primal", "dual"])
def test_example_1(delta: str, factor: Fraction, method: str) -> None:
    found = lw.envelope(lw.Mechanism(EXAMPLE_1), lw.Prior.uniform(4), delta, method=method)
    assert math.exp(found.epsilon) == pytest.approx(float(factor), rel=1e-14)
    assert found.gap < 1e-14
    assert found.attained <= math.log(factor) + 1e-15
    found.certificate.verify()


def test_example_1_bad_set_does_not_protect() -> None:
    """Ignoring outcomes of probability 0.1 seems to leave log 10/9; merging brings log 6/5, and log 4 at worst."""
    m, prior = lw.Mechanism(EXAMPLE_1), lw.Prior.uniform(4)
    assert lw.measures.pml_quantiles(m, prior, "0.1").lower == pytest.approx(math.log(10 / 9))
    merged = m.then([[1, 0], [0, 1], [1, 0], [0, 1]])
    assert lw.pml(merged, prior) == pytest.approx([math.log(6 / 5)] * 2)
    assert lw.envelope(m, prior, "0.1").epsilon == pytest.approx(math.log(4))


def test_example_2_quantiles_differ_and_the_envelope_takes_the_larger() -> None:
    m, prior = lw.Mechanism(EXAMPLE_1), lw.Prior.uniform(4)
    both = lw.measures.pml_quantiles(m, prior, "0.1")
    assert (both.lower, both.upper) == pytest.approx((math.log(10 / 9), math.log(4)))
    assert lw.envelope(m, prior, "0.1").lower == pytest.approx(both.upper)


def test_examples_3_and_4_leakage_of_events() -> None:
    m, prior = lw.Mechanism([["0.9", 0, "0.1"], [0, "0.9", "0.1"]]), lw.Prior.uniform(2)

    def event(*members: int) -> float:
        inside = [[1, 0] if outcome in members else [0, 1] for outcome in range(3)]
        return float(lw.pml(m.then(inside), prior)[0])

    assert event(0) == event(1) == pytest.approx(math.log(2))
    assert event(0, 1) == 0.0  # Example 3: the union leaks less than either part
    assert event(2) == 0.0
    assert event(0, 2) == pytest.approx(math.log(1 / 0.55))  # Example 4: larger than {3}, smaller than {1}
    assert event(0, 2) < event(0)
    # Naming the letter is worth more than any event: 0.9 of the outcomes leak log 2.
    assert lw.envelope(m, prior, "0.9").epsilon == pytest.approx(math.log(2))
    assert lw.envelope(m, prior, "0.9").binary < math.log(2) - 0.1


@given(problems())
def test_theorem_3_and_14_bounds_hold(problem: tuple[Matrix, list[Fraction], Fraction]) -> None:
    matrix, law, delta = problem
    m, prior = lw.Mechanism(matrix), lw.Prior(law)
    found = lw.envelope(m, prior, delta)
    assert found.lower <= found.epsilon <= found.upper
    assert found.binary <= found.lower
    assert 0.0 <= found.attained <= found.epsilon
    assert found.epsilon <= math.log(sum(map(any, zip(*matrix, strict=True))) / delta) + 1e-12
    assert found.upper <= min(lw.maximal_leakage(m, prior) + math.log(1 / delta), lw.epsilon(m, prior)) + 1e-12


@given(problems())
def test_certificate_proves_and_post_processing_attains(problem: tuple[Matrix, list[Fraction], Fraction]) -> None:
    matrix, law, delta = problem
    m, prior = lw.Mechanism(matrix), lw.Prior(law)
    found = lw.envelope(m, prior, delta)
    found.certificate.verify()
    assert found.gap <= 1e-12
    post = [[Fraction(int(w), found.post_processing.denominator) for w in row] for row in found.post_processing.weights]
    # By the definition, in Fractions: what Z = post(Y) reaches with probability at least δ.
    reached = upper_quantile(product(matrix, post), law, delta)
    assert math.log(reached) == pytest.approx(found.epsilon, abs=1e-9)
    assert m.then(found.post_processing).shape[1] <= len(matrix) + 1


@given(problems(), st.data())
def test_never_increased_by_then_and_never_exceeded(
    problem: tuple[Matrix, list[Fraction], Fraction], data: st.DataObject
) -> None:
    matrix, law, delta = problem
    m, prior = lw.Mechanism(matrix), lw.Prior(law)
    kernel = data.draw(matrices(rows=len(matrix[0])))
    before, after = lw.envelope(m, prior, delta), lw.envelope(m.then(kernel), prior, delta)
    assert after.attained <= before.epsilon
    assert math.log(upper_quantile(product(matrix, kernel), law, delta)) <= before.epsilon + 1e-15


@given(problems(), DELTAS)
def test_monotone_and_one_lipschitz_in_log_delta(
    problem: tuple[Matrix, list[Fraction], Fraction], other: Fraction
) -> None:
    """ε_c falls with δ ([EN] Lemma 1), and never faster than log 1/δ: δ e^{ε_c(δ)} rises."""
    matrix, law, delta = problem
    low, high = sorted([delta, other])
    m, prior = lw.Mechanism(matrix), lw.Prior(law)
    first, second = lw.envelope(m, prior, low), lw.envelope(m, prior, high)
    assert second.attained <= first.epsilon
    assert first.attained + math.log(low) <= second.epsilon + math.log(high) + 1e-12


@settings(max_examples=40)
@given(problems())
def test_value_is_the_root_of_the_plain_linear_program(problem: tuple[Matrix, list[Fraction], Fraction]) -> None:
    matrix, law, delta = problem
    found = lw.envelope(lw.Mechanism(matrix), lw.Prior(law), delta)
    t = math.exp(found.epsilon)
    assert plain_value(matrix, law, t * (1 - 1e-6)) >= float(delta) - 1e-7
    assert plain_value(matrix, law, t * (1 + 1e-6)) <= float(delta) + 1e-7


@given(problems())
def test_relabelling_changes_nothing(problem: tuple[Matrix, list[Fraction], Fraction]) -> None:
    matrix, law, delta = problem
    turned = [row[::-1] for row in matrix[::-1]]
    one = lw.envelope(lw.Mechanism(matrix), lw.Prior(law), delta)
    two = lw.envelope(lw.Mechanism(turned), lw.Prior(law[::-1]), delta)
    assert one.epsilon == pytest.approx(two.epsilon, abs=1e-12)


@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-30, 1e-200])
def test_tiny_delta_keeps_its_digits(delta: float) -> None:
    # The outcome that names the second letter has probability of the order of δ itself.
    rare = Fraction(delta) / 4
    m = lw.Mechanism([[1 - rare, rare / 2, rare / 2], [Fraction(1, 2), Fraction(1, 2) - rare, rare]])
    prior = lw.Prior([1 - Fraction(delta), Fraction(delta)])
    found = lw.envelope(m, prior, delta)
    assert found.gap <= 1e-10
    found.certificate.verify()


def test_proportional_and_impossible_outcomes_change_nothing() -> None:
    plain = lw.Mechanism([["0.7", "0.3"], ["0.2", "0.8"]])
    split = lw.Mechanism([["0.35", 0, "0.35", "0.1", "0.2"], ["0.1", 0, "0.1", "4/15", "8/15"]])
    prior = lw.Prior(["0.4", "0.6"])
    one, two = lw.envelope(plain, prior, "0.3"), lw.envelope(split, prior, "0.3")
    assert one.epsilon == pytest.approx(two.epsilon, abs=1e-14)
    assert two.post_processing.shape[0] == 5
    assert lw.measures.pml_quantiles(split.then(two.post_processing), prior, "0.3").upper == pytest.approx(
        one.epsilon, abs=1e-9
    )


def test_letters_without_mass_do_not_count() -> None:
    m = lw.Mechanism([["0.7", "0.3"], ["0.2", "0.8"], [1, 0]])
    with_it = lw.envelope(m, lw.Prior(["0.4", "0.6", 0]), "0.3")
    without = lw.envelope(lw.Mechanism([["0.7", "0.3"], ["0.2", "0.8"]]), lw.Prior(["0.4", "0.6"]), "0.3")
    assert with_it.epsilon == without.epsilon


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, "nan", float("nan"), "0", True, None])
def test_delta_outside_is_refused(delta: object) -> None:
    with pytest.raises(lw.InvalidInput, match="delta"):
        lw.envelope(lw.Mechanism([[1, 0], [0, 1]]), lw.Prior.uniform(2), delta)


def test_wrong_arguments_are_named() -> None:
    m, prior = lw.Mechanism(EXAMPLE_1), lw.Prior.uniform(4)
    with pytest.raises(lw.InvalidInput, match="method must be one of"):
        lw.envelope(m, prior, 0.1, method="primary")
    with pytest.raises(lw.InvalidInput, match="method 'closed'"):
        lw.envelope(m, prior, 0.1, method="closed")
    with pytest.raises(lw.InvalidInput, match=r"lw\.Mechanism"):
        lw.envelope([[1, 0], [0, 1]], prior, 0.1)  # type: ignore[arg-type]


def test_result_shows_itself() -> None:
    found = lw.envelope(lw.Mechanism(EXAMPLE_1), lw.Prior.uniform(4), "0.2")
    assert "0.893818" in repr(found)
    assert "<table" in found._repr_html_()
    assert found.value <= found.bound == found.epsilon
    plain = found.to_dict()
    assert plain["epsilon"] == found.epsilon
    assert plain["certificate"]["delta"] == pytest.approx(0.2)
    assert "layer" in found.chart()


@pytest.mark.parametrize("delta", ["1e-310", "1e-400"])
def test_a_delta_below_all_floats(delta: str) -> None:
    m = lw.aggregate.count(unknown=20, prior="0.3").mechanism
    found = lw.envelope(m, {1: "0.3", 0: "0.7"}, delta)
    assert found.epsilon == pytest.approx(math.log(10 / 3))
    assert found.certificate.verify()
