"""Worst-case utility: least leakage on a mask, utility-safe mechanisms, designs by level, and their proofs."""

from __future__ import annotations

import csv
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app
from leakwise.optimize.worst_case.comparison import (
    local_epsilon,
    pml_exponential,
    pml_randomized_response,
    worst_utility,
)
from optimize.worst_case.plain import bisected

# The counting query of [WC] (11): quadratic loss, one more for an answer below the truth (-10, where the paper has -9).
COUNTING = np.array([[-((j - i) ** 2) - (j < i) for j in range(7)] for i in range(7)], dtype=float)
# [WC] (12)
ORDER = np.argsort(np.argsort(COUNTING, axis=1), axis=1) + 1


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_least_leakage_equals_bisection_and_is_proven(seed):
    generator = np.random.default_rng(seed)
    size, outputs = generator.integers(2, 5), generator.integers(2, 5)
    mask = generator.random((size, outputs)) < 0.55
    mask[np.arange(size), generator.integers(0, outputs, size)] = True
    prior = generator.integers(1, 9, size)
    found = lw.least_leakage(lw.Prior(prior.tolist()), mask)
    masses = [Fraction(int(weight), int(prior.sum())) for weight in prior]
    assert found.epsilon == pytest.approx(bisected(mask, masses), abs=1e-9)
    assert found.gap < 1e-9
    assert found.lower <= found.epsilon
    found.certificate.verify()
    places = [list(range(outputs)).index(label) for label in found.mechanism.outputs]
    assert not found.mechanism.matrix[~mask[:, places]].any()


@pytest.mark.parametrize(
    ("level", "safe", "least"),
    [
        (1, 0, 0),
        (2, math.log(7 / 3), 0),
        (3, math.log(7 / 3), 0),
        (4, math.log(7 / 2), 0),
        (5, math.log(7 / 2), math.log(2)),
        (6, math.log(7), math.log(7 / 2)),
        (7, math.log(7), math.log(7)),
    ],
)
def test_the_counting_query_of_math_section_3(level, safe, least):
    prior = lw.Prior.uniform(7)
    assert lw.utility_safe(prior, COUNTING, level, by="order").epsilon == pytest.approx(safe, abs=1e-9)
    assert lw.least_leakage(prior, level <= ORDER).epsilon == pytest.approx(least, abs=1e-9)


def test_the_whole_curve_at_once():
    curve = lw.worst_case_curve(lw.Prior.uniform(7), COUNTING, by="order")
    expected = [0, 0, 0, 0, math.log(2), math.log(7 / 2), math.log(7)]
    assert curve.epsilon == pytest.approx(expected, abs=1e-9)
    assert (curve.lower <= curve.epsilon).all()
    assert (curve.utility_safe >= curve.epsilon - 1e-12).all()
    assert curve.gap < 1e-9
    assert "level" in repr(curve)
    assert "<table" in curve._repr_html_()
    assert curve.chart()["title"]
    assert curve.to_dict()


def test_wc_example_1():
    orders = np.array([[3, 2, 1], [1, 3, 2], [2, 1, 3]])
    heavy = lw.Prior(["0.6", "0.25", "0.15"])
    assert lw.least_leakage(heavy, orders >= 2).epsilon == pytest.approx(math.log(2), abs=1e-9)
    even = lw.Prior(["0.4", "0.35", "0.25"])
    safe = lw.utility_safe(even, orders, 2, by="order")
    assert safe.epsilon == pytest.approx(-math.log(0.6), abs=1e-9)
    assert lw.least_leakage(even, orders >= 2).epsilon == pytest.approx(safe.epsilon, abs=1e-9)
    assert repr(safe)
    assert safe.to_dict()


@pytest.mark.parametrize("p", [0.05, 0.15, 0.25, 0.3])
def test_example_1_on_both_sides_of_its_condition(p):
    prior = lw.Prior([1 - 2 * p, p, p])
    orders = np.array([[3, 2, 1], [1, 3, 2], [2, 1, 3]])
    expected = math.log(2) if 2 * p <= 0.5 else -math.log(2 * p)
    assert lw.least_leakage(prior, orders >= 2).epsilon == pytest.approx(expected, abs=1e-9)


# -- in design ---------------------------------------------------------------------------------------------------


def test_design_takes_the_best_level_and_then_the_second_utility():
    prior = lw.Prior.uniform(7)
    goal = lw.WorstCase(COUNTING, by="order", then="mutual_information")
    design = lw.design(prior, epsilon=0.8, utility=goal)
    assert design.value == 5
    assert design.epsilon <= 0.8
    assert design.least.epsilon == pytest.approx(math.log(2), abs=1e-9)
    assert design.second is not None
    assert design.second <= design.second_bound + 1e-12
    for outcome, says in enumerate(design.says):
        able = design.mechanism.matrix[:, outcome] > 0
        assert (ORDER[able, prior.labels.index(says)] >= 5).all()
    plain = lw.design(prior, epsilon=0.8, utility=lw.WorstCase(COUNTING, by="order"))
    assert plain.value == 5
    assert plain.epsilon <= design.epsilon + 1e-9
    assert "worst-case level" in repr(design)
    assert design.to_dict()["level"] == 5


@pytest.mark.parametrize("then", ["total_variation", "guessing", lw.Expected(np.eye(4))])
def test_second_stages_of_every_kind(then):
    prior = lw.Prior([0.4, 0.3, 0.2, 0.1])
    utility = -np.abs(np.subtract.outer(range(4), range(4))).astype(float)
    design = lw.design(prior, lift=2, utility=lw.WorstCase(utility, then=then))
    assert design.epsilon <= math.log(2) + 1e-15
    assert design.second <= design.second_bound + 1e-9
    assert lw.certify(design.mechanism, prior, lift=2).holds
    assert design.value == max(
        level
        for level in np.unique(utility)
        if lw.least_leakage(prior, utility >= level).epsilon <= math.log(2) + 1e-12
    )


def test_a_constant_answer_is_not_hidden():
    utility = -np.abs(np.subtract.outer(range(3), range(3))).astype(float)
    design = lw.design(lw.Prior.uniform(3), epsilon=0.01, utility=lw.WorstCase(utility))
    assert design.costs_nothing
    assert "none: the constant answer" in repr(design)
    assert design.value == -1


def test_sets_of_priors():
    ball = lw.Prior([0.4, 0.35, 0.25]).ball(0.05)
    mask = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]], dtype=bool)
    robust = lw.least_leakage(ball, mask)
    assert robust.epsilon >= lw.least_leakage(ball.nominal, mask).epsilon - 1e-12
    assert robust.epsilon >= lw.epsilon(robust.mechanism, ball) - 1e-9
    assert robust.lower <= robust.epsilon
    robust.certificate.verify()


def test_certificates_go_through_files_and_forgeries_are_refused(tmp_path):
    found = lw.least_leakage(lw.Prior([0.5, 0.3, 0.2]), [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    found.certificate.save(tmp_path / "mask.json")
    assert lw.verify(tmp_path / "mask.json").lower == found.lower
    assert found.to_dict()
    assert "<table" in found._repr_html_()
    assert found.chart()["title"]


# -- comparisons, helpers, command line, errors --------------------------------------------------------------------


@given(st.floats(0.05, 1.5))
@settings(max_examples=20)
def test_proposition_1_makes_local_mechanisms_pml_private(epsilon):
    prior = lw.Prior([0.5, 0.3, 0.2])
    utility = -np.abs(np.subtract.outer(range(3), range(3))).astype(float)
    assert local_epsilon(prior, epsilon) >= epsilon
    for make in (pml_exponential, pml_randomized_response):
        mechanism = make(prior, utility, epsilon)
        assert lw.epsilon(mechanism, prior) <= epsilon + 1e-12
        assert worst_utility(mechanism, utility) == -2


def test_helpers_make_utilities():
    near = lw.distance_utility([0, 1, 3])
    assert np.array(near).tolist() == [[0, -1, -3], [-1, 0, -2], [-3, -2, 0]]


def test_the_command_line(tmp_path):
    path = tmp_path / "utility.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["", "a", "b", "c"])
        for name, row in zip("abc", [[0, -1, -2], [-1, 0, -1], [-2, -1, 0]], strict=True):
            writer.writerow([name, *row])
    words = ["worst-case", str(path), "--prior", "a=0.5,b=0.3,c=0.2"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "-1" in done.stdout
    done = CliRunner().invoke(app, [*words, "--lift", "2", "--json"])
    assert done.exit_code == 0, done.output
    assert '"level"' in done.stdout


def test_errors_tell_the_way_out():
    prior = lw.Prior([0.5, 0.5])
    with pytest.raises((lw.InvalidInput, lw.Infeasible)):
        lw.least_leakage(prior, [[True, False], [False, False]])
    with pytest.raises(lw.InvalidInput):
        lw.least_leakage(prior, [[True, False]])
    with pytest.raises(lw.InvalidInput):
        lw.WorstCase([[math.nan, 0], [0, 0]])
    with pytest.raises(lw.InvalidInput, match="do not go with"):
        lw.design(prior, epsilon=1, ldp=1, utility=lw.WorstCase([[0, -1], [-1, 0]]))
    with pytest.raises((lw.InvalidInput, lw.Infeasible)):
        lw.design(prior, epsilon=0.1, utility=lw.WorstCase([[0, -math.inf], [-math.inf, 0]]))
