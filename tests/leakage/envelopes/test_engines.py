"""Two engines, one answer: the whole linear program, and the dual that decides most outcomes without it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import leakwise as lw
from leakwise.leakage.envelopes.dual import DualProgram
from leakwise.leakage.envelopes.problem import as_problem
from leakwise.leakage.envelopes.program import Program
from leakwise.leakage.envelopes.search import search


def random_problem(seed: int, letters: int, outcomes: int, spread: float) -> tuple[lw.Mechanism, lw.Prior]:
    rng = np.random.default_rng(seed)
    matrix = rng.dirichlet(np.full(outcomes, spread), letters)
    matrix[matrix < 1e-9] = 0.0
    prior = rng.dirichlet(np.ones(letters)) + 1e-3
    return lw.Mechanism(matrix / matrix.sum(axis=1, keepdims=True)), lw.Prior((prior / prior.sum()).tolist())


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("delta", [1e-9, 0.01, 0.3, 0.9])
def test_engines_agree(seed: int, delta: float) -> None:
    m, prior = random_problem(seed, 2 + seed % 7, 5 + 9 * (seed % 5), [0.1, 1.0, 5.0][seed % 3])
    primal = lw.envelope(m, prior, delta, method="primal")
    dual = lw.envelope(m, prior, delta, method="dual")
    assert primal.epsilon == pytest.approx(dual.epsilon, abs=1e-9)
    assert primal.gap < 1e-11
    assert dual.gap < 1e-11
    dual.certificate.verify()


@pytest.mark.parametrize("delta", [0.02, 0.4])
def test_boxes_smaller_than_the_problem_find_the_same(delta: float) -> None:
    m, prior = random_problem(5, 6, 2_000, 1.0)
    columns = as_problem(m, prior).columns
    whole = search(Program(columns, delta), 1.0, float(columns.largest.max()))
    boxes = DualProgram(columns, delta, undecided=60)
    found = search(boxes, 1.0, float(columns.largest.max()))
    assert boxes.solves > 1
    assert math.log(found.t) == pytest.approx(math.log(whole.t), abs=1e-12)


def test_many_outcomes_start_from_samples() -> None:
    m, prior = random_problem(7, 3, 13_000, 1.0)
    found = lw.envelope(m, prior, 0.05, method="dual")
    assert found.gap < 1e-10
    assert found.method.startswith("dual")
    assert lw.failure_probability(m, prior, found.epsilon) == pytest.approx(0.05, abs=1e-9)


def test_jumps_are_found_by_both() -> None:
    # V jumps at the largest lift of each letter; on [V(T+), V(T)] the envelope is log T.
    m = lw.Mechanism([["0.3", 0, "0.7"], [0, "0.2", "0.8"]])
    prior = lw.Prior(["0.5", "0.5"])
    for method in ("primal", "dual"):
        for delta in ("0.2", "0.25"):
            assert lw.envelope(m, prior, delta, method=method).epsilon == pytest.approx(math.log(2), abs=1e-14)


@pytest.mark.parametrize("weights", [(10**11, 1000), (10, 10**11, 1), (1, 10, 10**10, 10**6, 10**11, 10**9, 1)])
@pytest.mark.parametrize("delta", ["0.09", "0.52", "0.97"])
def test_letters_that_are_nearly_impossible(weights: tuple[int, ...], delta: str) -> None:
    """Outcomes of probability 1e-11 with lifts of 1e11 count as much as likely ones."""
    m, prior = lw.identity(len(weights)), lw.Prior(list(weights))
    for method in ("primal", "dual"):
        found = lw.envelope(m, prior, delta, method=method)
        found.certificate.verify()
        assert found.gap < 1e-10
        assert lw.measures.pml_quantiles(m.then(found.post_processing), prior, delta).upper == pytest.approx(
            found.epsilon, abs=1e-9
        )
