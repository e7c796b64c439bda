"""Whole curves: the same numbers as point by point, breakpoints, and what is drawn beside them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from strategies import Matrix, laws, matrices

EXAMPLE_1 = [[0, 0, "0.5", "0.5"], [0, 0, "0.5", "0.5"], [0, "0.2", "0.4", "0.4"], ["0.2", 0, "0.4", "0.4"]]
AT = np.array([0.003, 0.04, 0.1, 0.25, 0.5, 0.77, 0.95, 0.995])


@settings(max_examples=50)
@given(matrices(), st.data())
def test_curve_equals_single_points(matrix: Matrix, data: st.DataObject) -> None:
    m, prior = lw.Mechanism(matrix), lw.Prior(data.draw(laws(len(matrix))))
    curve = lw.envelope_curve(m, prior, method="primal")
    alone = [lw.envelope(m, prior, float(delta)).epsilon for delta in AT]
    assert curve(AT) == pytest.approx(alone, abs=1e-9)
    corners = curve.breakpoints
    assert (np.diff(corners[:, 0]) > 0).all()
    assert (np.diff(corners[:, 1]) <= 1e-12).all()


@pytest.mark.parametrize("size", [2, 3, 5, 12])
def test_randomized_response_closed_and_traced(size: int) -> None:
    weights = np.arange(1, size + 1) ** 1.7
    m, prior = lw.randomized_response(size, epsilon=1.0), lw.Prior((weights / weights.sum()).tolist())
    closed, traced = lw.envelope_curve(m, prior), lw.envelope_curve(m, prior, method="primal")
    assert closed(AT) == pytest.approx(traced(AT), abs=1e-12)
    assert traced.solves > 0 == closed.solves
    # Every corner of the closed form lies on the traced curve.
    inside = closed.breakpoints[closed.breakpoints[:, 0] < 0.999]
    assert traced(inside[:, 0]) == pytest.approx(inside[:, 1], abs=1e-9)


@pytest.mark.parametrize("epsilon", [1.0, 8.0])
def test_repeated_releases_with_many_ties(epsilon: float) -> None:
    joint, prior = lw.randomized_response(4, epsilon=epsilon).repeat(3), lw.Prior([2, 1, 5, 4])
    curve = lw.envelope_curve(joint, prior)
    assert curve(AT) == pytest.approx([lw.envelope(joint, prior, float(at)).epsilon for at in AT], abs=1e-9)


def test_example_1_has_two_pieces() -> None:
    curve = lw.envelope_curve(lw.Mechanism(EXAMPLE_1), lw.Prior.uniform(4))
    assert curve.pieces is not None
    assert len(curve.pieces) == 2
    delta = np.linspace(0.11, 0.99, 30)
    assert np.exp(curve(delta)) == pytest.approx(8 / 9 + 14 / (45 * delta), rel=1e-12)
    assert curve(0.05) == pytest.approx(math.log(4))


def test_inverse() -> None:
    curve = lw.envelope_curve(lw.Mechanism(EXAMPLE_1), lw.Prior.uniform(4))
    for delta in (0.2, 0.5, 0.9):
        assert curve.failure(curve(delta)) == pytest.approx(delta, abs=1e-12)


def test_tiny_delta_is_solved_by_itself() -> None:
    m, prior = lw.Mechanism([["0.3", "0.7"], ["0.6", "0.4"]]), lw.Prior(["0.1", "0.9"])
    assert lw.envelope_curve(m, prior)(1e-12) == lw.envelope(m, prior, 1e-12).epsilon


@pytest.mark.parametrize(
    ("size", "masses"),
    [(3, [0.2, 0.3, 0.5]), (5, [0.1, 0.2, 0.2, 0.2, 0.3]), (12, None), (20, None)],
)
def test_figure_2(size: int, masses: list[float] | None) -> None:
    """The four panels of Figure 2: bounds around the exact line, and the ADP curve of k-RR."""
    if masses is None:
        levels = [1 - 0.3, 1 - 0.1, 1 + 0.1, 1 + 0.3]
        masses = [levels[4 * i // size] / size for i in range(size)]
    m, prior = lw.randomized_response(size, epsilon=1.0), lw.Prior(masses)
    curve = lw.envelope_curve(m, prior)
    drawn = curve.series(40)
    _, exact = drawn["exact envelope"]
    assert (exact <= drawn["upper bound (Theorem 3)"][1] + 1e-12).all()
    assert (drawn["h of Theorem 5"][1] <= exact + 1e-12).all()
    assert (drawn["ε_b (Algorithm 1)"][1] <= exact + 1e-12).all()
    alpha, beta = math.e / (math.e + size - 1), 1 / (math.e + size - 1)
    at, adp = drawn["(ε, δ)-LDP"]
    # The float of e is rounded inside the promise, so that the mechanism is a hair more private.
    assert adp == pytest.approx(np.maximum(np.log(np.maximum(alpha - at, beta) / beta), 0.0), abs=1e-9)
    assert curve.chart(20)["layer"]


def test_looks_and_data() -> None:
    curve = lw.envelope_curve(lw.Mechanism(EXAMPLE_1), lw.Prior.uniform(4))
    assert "2 pieces" in repr(curve)
    assert "<table" in curve._repr_html_()
    plain = curve.to_dict(points=3)
    assert plain["delta"] == [0.25, 0.5, 0.75]
    assert plain["breakpoints"] == curve.breakpoints.tolist()
    assert curve.published(AT) is None


def test_bad_input() -> None:
    curve = lw.envelope_curve(lw.Mechanism(EXAMPLE_1), lw.Prior.uniform(4))
    with pytest.raises(lw.InvalidInput, match="delta"):
        curve(0.0)
    with pytest.raises(lw.InvalidInput, match="method"):
        lw.envelope_curve(lw.Mechanism(EXAMPLE_1), lw.Prior.uniform(4), method="dual")


def test_too_large_to_trace_is_evaluated_point_by_point(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("curve", "one_delta"):
        monkeypatch.setattr(f"leakwise.leakage.envelopes.{module}.PRIMAL_PAIRS", 500)
    rng = np.random.default_rng(0)
    m = lw.Mechanism(rng.dirichlet(np.ones(400), 3))
    prior = lw.Prior([0.2, 0.3, 0.5])
    curve = lw.envelope_curve(m, prior)
    assert curve.pieces is None
    assert lw.envelope(m, prior, 0.2).method.startswith("dual")
    assert curve(0.2) == lw.envelope(m, prior, 0.2).epsilon
    assert curve.to_dict(points=1)["breakpoints"] is None
    with pytest.raises(lw.InvalidInput, match="breakpoints"):
        _ = curve.breakpoints
