"""Section 7.2 side by side, and the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from leakwise import records
from leakwise.cli import app
from leakwise.errors import InvalidInput


def test_at_equal_epsilon() -> None:
    c = records.compare(records.parity(4), epsilon=1.0, entropy=2.2)
    rows = {row[0]: row for row in c.rows}
    assert rows["Laplace"][2] == pytest.approx(0.0713, abs=5e-5)
    assert rows["exponential"][2] == pytest.approx(0.0272, abs=5e-5)
    assert rows["Laplace"][4] == pytest.approx(0.3033, abs=5e-5)
    assert rows["exponential"][4] == pytest.approx(0.3775, abs=5e-5)
    assert rows["least leakage"][3] == pytest.approx(rows["symmetric channel"][3], abs=2e-5)
    assert "Laplace" in repr(c)
    assert "<table" in c._repr_html_()
    assert c.chart()["$schema"]
    assert len(c.to_dict()["rows"]) == 4


def test_at_equal_leakage_on_a_count() -> None:
    c = records.compare(records.count(2), leakage=0.1, entropy=0.5, tolerance=1e-3)
    rows = {row[0]: row for row in c.rows}
    assert all(row[3] <= 0.1 + 1e-12 for row in c.rows)
    assert all(rows["least distortion"][4] <= row[4] + 5e-3 for row in c.rows)


def test_noise_worse_than_a_constant() -> None:
    c = records.compare(records.count(3), epsilon=0.2, entropy=1.0, tolerance=1e-3)
    assert c.rows[0][4] > 0.75
    assert c.rows[3][3] == 0
    assert c.rows[3][4] == pytest.approx(0.75)


def test_compare_needs_one_footing() -> None:
    for options in ({}, {"epsilon": 1.0, "leakage": 0.1}, {"leakage": 0.0}):
        with pytest.raises(InvalidInput):
            records.compare(records.parity(2), **options)  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------- command line


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["records", *words])
    assert result.exit_code == 0, result.output
    return result.output


def test_leakage_command() -> None:
    text = run("leakage", "parity:n=4", "laplace:epsilon=1", "--entropy", "2")
    assert "0.0795415" in text
    assert "0.0795416" in text
    assert "The adversary" in text
    data = json.loads(run("leakage", "modular-sum:n=4,modulus=3", "symmetric:flip=0.3", "-b", "2", "--json"))
    assert data["gap"] <= 1e-6


def test_curve_and_designs(tmp_path: Path) -> None:
    picture = tmp_path / "curve.json"
    assert "entropy b" in run("curve", "parity:n=3", "symmetric:flip=0.3", "--points", "3", "--plot", str(picture))
    assert json.loads(picture.read_text())["$schema"]
    assert json.loads(run("least-leakage", "parity:n=3", "-d", "0.2", "--json"))["goal"] == "leakage"
    assert json.loads(run("least-distortion", "parity:n=3", "-l", "0.1", "-b", "max", "--json"))["value"] < 1e-5
    assert "exponential" in run("compare", "parity:n=3", "--epsilon", "1")


def test_a_matrix_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "q.csv"
    file.write_text("0.7,0.3\n0.3,0.7\n")
    assert json.loads(run("leakage", "parity:n=4", str(file), "--json"))["value"] == pytest.approx(0.0823, abs=5e-5)


def test_labels_in_the_matrix_of_a_file_are_refused(tmp_path: Path) -> None:
    """They could be in another order than the answers."""
    file = tmp_path / "q.csv"
    file.write_text(",a,b\n1,0.7,0.3\n0,0.3,0.7\n")
    done = CliRunner().invoke(app, ["records", "leakage", "parity:n=4", str(file)])
    assert done.exit_code == 2
    assert "without labels" in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("leakage", "party:n=4", "symmetric:flip=0.3"), "parity"),
        (("leakage", "parity:m=4", "symmetric:flip=0.3"), "m=4"),
        (("leakage", "parity:n=x", "symmetric:flip=0.3"), "expected int"),
        (("leakage", "parity", "symmetric:flip=0.3"), "lacks a parameter"),
        (("leakage", "parity:n=4", "symmetric"), "lacks a parameter"),
        (("leakage", "parity:n=4", "nowhere.csv"), "Cannot read 'nowhere.csv'"),
        (("leakage", "parity:n=4", "symmetric:flip=0.3", "-b", "9"), "2.772589"),
        (("leakage", "parity:n=4", "symmetric:flip=0.3", "-b", "much"), "max"),
        (("least-leakage", "parity:n=4", "-d", "0.7"), "constant answer"),
    ],
)
def test_bad_words(words: tuple[str, ...], said: str) -> None:
    result = CliRunner().invoke(app, ["records", *words])
    assert result.exit_code == 2
    assert said in result.output
