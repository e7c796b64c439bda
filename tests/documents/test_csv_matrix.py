"""One reader of matrices from CSV files."""

from __future__ import annotations

import re
from pathlib import Path

import leakwise as lw

SOURCE = Path(lw.__file__).parent


def test_one_module_reads_matrices_from_csv() -> None:
    """Besides it, the gallery shows the tables it wrote, and the census comes with the package.

    A line that was typed, ``csv.reader([text])``, is no file.
    """
    reads = re.compile(r"csv\.(reader|DictReader)\((?!\[)|loadtxt\(|genfromtxt\(")
    found = {
        str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if reads.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"documents/csv_matrix.py", "papers/gallery.py", "data/__init__.py"}


def test_a_utility_may_leave_out_its_corner(tmp_path: Path) -> None:
    """R writes matrices so."""
    path = tmp_path / "u.csv"
    path.write_text("low,high\na,0,never\nb,-1.5,0\n", encoding="utf-8")
    matrix, letters, outputs = lw.read_utility(path)
    assert (letters, outputs) == (("a", "b"), ("low", "high"))
    assert matrix.tolist() == [[0.0, float("-inf")], [-1.5, 0.0]]


def test_numbers_are_labels_where_a_utility_has_its_labels(tmp_path: Path) -> None:
    path = tmp_path / "u.csv"
    path.write_text("0,1,2\n1,0,1\n2,1,0\n", encoding="utf-8")
    assert lw.read_utility(path)[1:] == (("1", "2"), ("1", "2"))
