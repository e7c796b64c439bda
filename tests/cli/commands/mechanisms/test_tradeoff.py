"""``leakwise tradeoff``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app

RUN = CliRunner()
PRIOR = ("--prior", "a=0.5,b=0.3,c=0.2")


def run(*words: str) -> tuple[int, str, str]:
    done = RUN.invoke(app, ["tradeoff", *words], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def test_the_table() -> None:
    code, said, _ = run(*PRIOR)
    assert code == 0
    assert "best ε-LDP" in said
    assert said.startswith("At ε = 0.6931: best 0.6931, randomized response")
    assert said.endswith("More with --all: 28 rows.\n")
    assert max(map(len, said.splitlines())) <= 80
    assert len(run(*PRIOR, "--all")[1].splitlines()) == 45


def test_json_is_the_curve() -> None:
    code, said, _ = run(*PRIOR, "--epsilons", "0, 1/4, 0.5", "--utility", "guessing", "--json")
    assert code == 0
    same = lw.tradeoff(lw.Prior({"a": "0.5", "b": "0.3", "c": "0.2"}), [0, "1/4", "0.5"], "guessing")
    assert json.loads(said) == json.loads(json.dumps(same.to_dict()))


def test_a_matrix_and_a_picture(tmp_path: Path) -> None:
    matrix, where = tmp_path / "worth.csv", tmp_path / "curve.svg"
    matrix.write_text(",x,y\na,1,0\nb,0,1\nc,0,2\n")
    code, said, told = run(*PRIOR, "--epsilons", "0.1,0.5", "--utility-matrix", str(matrix), "--plot", str(where))
    assert code == 0
    assert "expected against leakage" in said
    assert where.read_text().startswith("<svg")
    assert str(where) in told.replace("\n", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--epsilons", "1"), "exactly one of --prior"),
        ((*PRIOR, "--epsilons", "1,two"), "--epsilons"),
        ((*PRIOR, "--epsilons", "-1"), "at least 0"),
        ((*PRIOR, "--utility", "gain"), "utility must be one of"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(words: tuple[str, ...], said: str) -> None:
    code, _, error = run(*words)
    assert code == 2
    assert said in error
    assert error.count("\n") == 1
