"""A mechanism as an array, in LaTeX and in CSV: the exact fractions, whatever the labels are."""

from __future__ import annotations

import csv
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import leakwise as lw
from leakwise.errors import InvalidInput

THIRDS = lw.Mechanism([["1/3", "2/3", 0], [0, "1/7", "6/7"]], inputs=["no", "a_b & 50%"], outputs=["x^2", "{y}", "z\\"])


def test_numpy_reads_the_matrix() -> None:
    floats = np.asarray(THIRDS)
    assert floats.dtype == np.float64
    assert floats is THIRDS.matrix  # nothing is copied unless asked for
    assert np.asarray(THIRDS, copy=False) is THIRDS.matrix
    copied = np.array(THIRDS)
    copied[0, 0] = 1.0
    assert THIRDS.matrix[0, 0] == 1 / 3
    assert np.asarray(THIRDS, dtype=np.float32).dtype == np.float32
    assert np.array_equal([0.5, 0.5] @ np.asarray(THIRDS), [0.5, 0.5] @ THIRDS.matrix)


def test_numpy_reads_exact_fractions_where_it_asks_for_objects() -> None:
    exact = np.asarray(THIRDS, dtype=object)
    assert exact.tolist() == [[Fraction(1, 3), Fraction(2, 3), 0], [0, Fraction(1, 7), Fraction(6, 7)]]
    assert lw.Mechanism(exact, THIRDS.inputs, THIRDS.outputs) == THIRDS
    with pytest.raises(ValueError, match="copy=False"):
        np.asarray(THIRDS, dtype=object, copy=False)


@pytest.mark.parametrize(
    "m", [lw.randomized_response(3, lift=3), lw.Mechanism([["1/2", "1/2"], [0, 1]]).repeat(3)], ids=["common", "counts"]
)
def test_structured_mechanisms_are_read_too(m: lw.Mechanism) -> None:
    exact = np.asarray(m, dtype=object)
    assert exact.shape == m.shape
    assert all(sum(row) == 1 for row in exact)
    assert np.array_equal(exact.astype(float), np.asarray(m))


def test_latex_has_exact_fractions_and_escaped_labels() -> None:
    assert THIRDS.to_latex() == (
        "\\begin{array}{l|ccc}\n"
        "& \\text{x\\textasciicircum{}2} & \\text{\\{y\\}} & \\text{z\\textbackslash{}} \\\\ \\hline\n"
        "\\text{no} & \\frac{1}{3} & \\frac{2}{3} & 0 \\\\\n"
        "\\text{a\\_b \\& 50\\%} & 0 & \\frac{1}{7} & \\frac{6}{7}\n"
        "\\end{array}"
    )


def test_csv_is_exact_and_read_back(tmp_path: Path) -> None:
    m = lw.Mechanism([[0.1, 0.9], ["1/3", "2/3"]], inputs=['a,"b"', "c\nd"], outputs=["x", "=1+1"])
    m.to_csv(tmp_path / "m.csv")
    with (tmp_path / "m.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows[0] == ["", *m.outputs]
    assert [row[0] for row in rows[1:]] == list(m.inputs)
    assert lw.Mechanism([row[1:] for row in rows[1:]], m.inputs, m.outputs) == m
    assert lw.Mechanism(pd.read_csv(tmp_path / "m.csv", index_col=0, dtype=str)) == m


def test_fractions_too_long_to_be_written_are_refused(tmp_path: Path) -> None:
    m = lw.Mechanism([[Fraction(1, 3**10_000), 1 - Fraction(1, 3**10_000)]])
    with pytest.raises(InvalidInput, match="to_latex writes fractions of up to 14,000 bits"):
        m.to_latex()
    with pytest.raises(InvalidInput, match=r"to_csv .* 15,850 bits: keep it with save"):
        m.to_csv(tmp_path / "m.csv")
    assert not list(tmp_path.iterdir())
