"""A PRAM matrix beside the best that keeps the frequencies."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app

PRIOR = lw.Prior({"a": 5, "b": 3, "c": 2})


def two_stage(matrix, p):
    """Invariant PRAM as statistical offices make it: P followed by Bayes' rule back, R_jk = p_k P_kj / (pP)_j."""
    back = (p[:, None] * matrix).T
    return matrix @ (back / back.sum(axis=1, keepdims=True))


def test_a_two_stage_matrix_has_a_better_one_beside_it():
    first = 0.6 * np.eye(3) + 0.4 / 3
    pram = lw.Mechanism(two_stage(first, PRIOR.probabilities), inputs=list("abc"), outputs=list("abc"))
    found = lw.best_invariant(pram, PRIOR)
    assert found.shift < 1e-9
    assert found.better
    assert found.design.value > found.agreement + 0.01
    assert lw.epsilon(found.design.mechanism, PRIOR) <= lw.epsilon(pram, PRIOR)
    assert lw.ldp(found.design.mechanism) <= lw.ldp(pram)
    assert lw.measures.frequency_shift(found.design.mechanism, PRIOR) == 0
    found.design.certificate.verify()
    assert "keeps the frequencies and leaks no more" in repr(found)


def test_the_best_one_is_proven_to_be_the_best():
    best = lw.design(PRIOR, lift=2, ldp=3, utility="guessing", keep_frequencies=True).mechanism
    found = lw.best_invariant(best, PRIOR)
    assert not found.better
    assert found.design.bound - found.agreement < 1e-9
    assert "it keeps as many as any that leaks no more (lift 2)" in found.sentence


@pytest.mark.parametrize(
    ("matrix", "masses", "words"),
    [
        (lw.randomized_response(list("abc"), epsilon=1).matrix, [1 / 3] * 3, "keeps 57.61% of the values"),
        (np.eye(3), [0.2, 0.3, 0.5], "keeps 100% of the values"),
        (np.tile([0.25, 0.25, 0.5], (3, 1)), [0.25, 0.25, 0.5], "keeps 37.5% of the values"),
    ],
)
def test_a_share_that_nothing_exceeds_is_rounded_down_and_said_once(matrix, masses, words):
    found = lw.best_invariant(lw.Mechanism(matrix, inputs=list("abc"), outputs=list("abc")), masses)
    assert words in found.sentence
    assert "it keeps as many as any that leaks no more" in found.sentence
    assert found.sentence.count("%") == 1


@pytest.mark.parametrize(("bound", "shown"), [(0.60000001, "60.0001%"), (1 + 5e-13, "100%"), (math.inf, "100%")])
def test_a_bound_that_is_not_reached_is_rounded_up_but_never_beyond_all_rows(bound, shown):
    found = lw.best_invariant(lw.randomized_response(list("abc"), epsilon=1), [1 / 3] * 3)
    found = replace(found, design=replace(found.design, bound=bound))
    assert f"keeps more than {shown} of the values; this one keeps 57.6116%." in found.sentence
    assert "1.0001" not in repr(found)


def test_a_small_advantage_is_not_rounded_away():
    found = lw.best_invariant(lw.randomized_response(list("abc"), epsilon=1), [1 / 3] * 3)
    found = replace(found, agreement=0.576112)
    assert "keeps 57.6112% of the values. The best mechanism" in found.sentence
    assert found.sentence.endswith("keeps 57.6116%.")


def test_a_matrix_that_changes_frequencies_is_said_to():
    found = lw.best_invariant(lw.randomized_response(list("abc"), lift=4), PRIOR)
    assert found.shift == pytest.approx(1 / 12, abs=1e-9)
    assert "changes frequencies by up to 8.34 percentage points" in found.sentence
    assert found.better


def test_outcomes_that_are_no_values_are_refused():
    with pytest.raises(lw.InvalidInput, match="The outcome 'x' is not a value"):
        lw.best_invariant(lw.Mechanism([[1, 0], [0, 1]], inputs=["no", "yes"], outputs=["no", "x"]), [0.5, 0.5])


def test_the_command_reads_a_matrix_as_r_writes_it(tmp_path):
    (tmp_path / "pram.csv").write_text('"","a","b","c"\n"a",0.8,0.1,0.1\n"b",0.1,0.8,0.1\n"c",0.1,0.1,0.8\n')
    words = ["audit", str(tmp_path / "pram.csv"), "--counts", "a=50,b=30,c=20", "--invariant"]
    done = CliRunner().invoke(app, [*words, "--save", str(tmp_path / "better.json")])
    assert done.exit_code == 0, done.output
    assert "This matrix keeps 80% of the values" in done.output
    better = lw.Mechanism.load(tmp_path / "better.json")
    assert lw.measures.frequency_shift(better, PRIOR) == 0
    plain = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert plain["invariant"]["design"]["value"] == pytest.approx(0.7755, abs=1e-4)
    for wrong in (["--save", str(tmp_path / "x.json")], ["--invariant", "--failure", "1e-6"]):
        assert CliRunner().invoke(app, [*words[:-1], *wrong]).exit_code == 2
