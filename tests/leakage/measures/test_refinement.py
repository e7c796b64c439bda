"""Refinement with its witnesses, and the reduced mechanism."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings

import leakwise as lw
from leakage import brute
from leakage.brute import EXAMPLE, matrices, processed
from leakwise.leakage.measures import refinement

F = Fraction


def distance(first: lw.Mechanism, second: lw.Mechanism) -> F:
    """max_x TV, from the Fractions."""
    pairs = zip(brute.entries(first), brute.entries(second), strict=True)
    return max(sum((abs(p - r) for p, r in zip(a, b, strict=True)), F(0)) / 2 for a, b in pairs)


@settings(max_examples=40)
@given(processed())
def test_a_processed_mechanism_is_found_out(case: tuple[lw.Mechanism, lw.Prior, lw.Mechanism]) -> None:
    mechanism, _, after = case
    found = lw.measures.refines(mechanism, after)
    assert found
    assert distance(mechanism.then(found.kernel), after) <= F(found.upper) <= F(1, 10**9)
    assert found.kernel.inputs == mechanism.outputs
    assert found.kernel.outputs == after.outputs


@settings(max_examples=60)
@given(matrices(rows=3), matrices(rows=3))
def test_every_answer_carries_its_proof(one: brute.Matrix, two: brute.Matrix) -> None:
    first, second = lw.Mechanism(one), lw.Mechanism(two)
    found = lw.measures.refines(first, second)
    assert 0 <= found.lower <= found.upper <= found.lower + 1e-7
    if found.holds:
        assert distance(first.then(found.kernel), second) <= F(found.upper)
        for measure in (lw.maximal_leakage, lw.ldp):
            assert measure(second) <= measure(first) + 1e-6
    else:
        # An adversary with this gain is better off after the second: no processing of the first can be it.
        assert (found.gain >= 0).all()
        uniform = lw.Prior.uniform(3)
        before, after = (lw.measures.g_vulnerability(m, uniform, found.gain).posterior for m in (first, second))
        assert after > before


def test_refinement_is_reflexive_and_reduction_changes_nothing() -> None:
    small = lw.measures.reduced(EXAMPLE)
    assert lw.measures.refines(EXAMPLE, EXAMPLE).exact
    assert lw.measures.refines(EXAMPLE, small)
    assert lw.measures.refines(small, EXAMPLE)


def test_the_reduced_mechanism_of_appendix_c() -> None:
    small = lw.measures.reduced(EXAMPLE)
    expected = [[0, 0, 1], [0, 0, 1], [0, F(1, 5), F(4, 5)], [F(1, 5), 0, F(4, 5)]]
    assert brute.entries(small) == expected
    assert small.outputs == (0, 1, "{2,3}")


@given(matrices())
def test_reduction_changes_no_leakage(matrix: brute.Matrix) -> None:
    m = lw.Mechanism(matrix)
    small = lw.measures.reduced(m)
    prior = lw.Prior.uniform(len(matrix))
    assert lw.maximal_leakage(m) == lw.maximal_leakage(small)
    assert lw.epsilon(m, prior) == lw.epsilon(small, prior)
    for t in (F(1), F(3, 2)):
        assert lw.measures.tail_probability(m, prior, lift=t) == lw.measures.tail_probability(small, prior, lift=t)
    assert len({tuple(c) for c in zip(*brute.entries(small), strict=True)}) == small.shape[1]


def test_letters_are_matched_by_label() -> None:
    first = lw.Mechanism([[1, 0], [0, 1]], inputs=["no", "yes"])
    second = lw.Mechanism([[0, 1], [1, 0]], inputs=["yes", "no"])
    assert lw.measures.refines(first, second).kernel.matrix.tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_floats_that_differ_in_the_last_digit_count_as_one() -> None:
    matrix = np.random.default_rng(0).dirichlet(np.ones(5), 4)
    kernel = np.random.default_rng(1).dirichlet(np.ones(3), 5)
    found = lw.measures.refines(lw.Mechanism(matrix), lw.Mechanism(matrix @ kernel))
    assert found.holds
    assert found.upper < 1e-12


def test_it_shows_itself() -> None:
    yes, no = lw.measures.refines(lw.identity(3), lw.constant(3)), lw.measures.refines(lw.constant(3), lw.identity(3))
    assert "processed further" in repr(yes)
    assert "cannot be made" in repr(no)
    assert no.lower == pytest.approx(2 / 3)
    assert "<table" in no._repr_html_()
    assert no.to_dict()["holds"] is False


def test_bad_input() -> None:
    with pytest.raises(lw.InvalidInput, match="The first has 2, the second 3"):
        lw.measures.refines(lw.identity(2), lw.identity(3))
    with pytest.raises(lw.InvalidInput, match="first"):
        lw.measures.refines(lw.identity(["a", "b"]), lw.identity(["a", "c"]))
    with pytest.raises(lw.InvalidInput, match="tolerance"):
        lw.measures.refines(lw.identity(2), lw.identity(2), tolerance=-1.0)
    with pytest.raises(lw.InvalidInput, match=r"second must be a lw\.Mechanism"):
        lw.measures.refines(lw.identity(2), [[1.0], [1.0]])  # type: ignore[arg-type]
    with pytest.raises(lw.InvalidInput, match="variables"):
        lw.measures.refines(lw.identity(400), lw.identity(400))


def test_an_answer_that_proves_nothing_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the solver says, only what the integers confirm is reported."""
    monkeypatch.setattr(refinement, "_solve", lambda *_: (np.full((2, 2), 0.5), np.zeros((2, 2))))
    with pytest.raises(lw.NotConverged, match="larger tolerance") as caught:
        lw.measures.refines(lw.identity(2), lw.identity(2))
    assert caught.value.upper == 0.5


def test_the_time_limit_ends_it() -> None:
    rng = np.random.default_rng(0)
    first, second = (lw.Mechanism(rng.dirichlet(np.ones(30), 30)) for _ in range(2))
    with pytest.raises(lw.NotConverged, match="Allow more time"):
        lw.measures.refines(first, second, time_limit=1e-6)
