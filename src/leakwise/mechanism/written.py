"""A mechanism as mathematics is written: fractions in an array, in LaTeX and in CSV."""

from __future__ import annotations

import csv
import io
import os
import re
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.documents import write_atomically
from leakwise.errors import InvalidInput, label_text, require
from leakwise.types import Array

if TYPE_CHECKING:
    from leakwise.mechanism.mechanism import Mechanism

__all__ = ["as_array", "as_csv", "as_latex", "as_sympy", "latex_fraction", "latex_text"]

_MOST_BITS = 14_000  # Python writes no whole number of more than 4,300 digits
_SPECIAL = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


def as_array(mechanism: Mechanism, dtype: object, copy: bool | None) -> Array:
    """Return the probabilities, as NumPy asks for them: exact fractions where objects are wanted, otherwise floats."""
    kind = np.dtype(np.float64 if dtype is None else dtype)  # type: ignore[call-overload]
    if kind == np.float64:
        return mechanism.matrix.copy() if copy else mechanism.matrix
    if copy is False:
        raise ValueError(
            f"The probabilities are floats of 64 bits: as {kind} they must be copied. Leave out copy=False."
        )
    if kind != np.object_:
        return mechanism.matrix.astype(kind)
    weights = mechanism.weights  # refused first where it is too large
    exact = np.empty(weights.shape, dtype=np.object_)
    for place, weight in np.ndenumerate(weights):
        exact[place] = Fraction(int(weight), mechanism.denominator)
    return exact


def as_latex(mechanism: Mechanism) -> str:
    """Return the matrix with its labels as an ``array`` for LaTeX's mathematics."""
    lines = [
        " & ".join([latex_text(label), *(latex_fraction(value) for value in row)])
        for label, row in zip(mechanism.inputs, _written(mechanism, "to_latex"), strict=True)
    ]
    head = " & ".join(["", *map(latex_text, mechanism.outputs)]).strip()
    body = " \\\\\n".join(lines)
    return f"\\begin{{array}}{{l|{'c' * mechanism.shape[1]}}}\n{head} \\\\ \\hline\n{body}\n\\end{{array}}"


def as_csv(mechanism: Mechanism, path: str | os.PathLike[str]) -> None:
    """Write the matrix: the outcomes in the first line, then a line for each value."""
    text = io.StringIO()
    rows = _written(mechanism, "to_csv")
    write = csv.writer(text, lineterminator="\n").writerow
    write(["", *mechanism.outputs])
    for label, row in zip(mechanism.inputs, rows, strict=True):
        write([label, *row])
    write_atomically(path, text.getvalue().encode())


def as_sympy(mechanism: Mechanism) -> Any:
    """Return the matrix as one of SymPy's, of rationals."""
    sympy = require("sympy", extra="symbolic", purpose="A matrix for SymPy")
    rows = _written(mechanism, "to_sympy")
    return sympy.Matrix([[sympy.Rational(value.numerator, value.denominator) for value in row] for row in rows])


def _written(mechanism: Mechanism, name: str) -> Array:
    if mechanism.denominator.bit_length() > _MOST_BITS:
        raise InvalidInput(
            f"{name} writes fractions of up to {_MOST_BITS:,} bits. This mechanism is exact over an integer of "
            f"{mechanism.denominator.bit_length():,} bits: keep it with save, or write its floats, m.matrix."
        )
    return as_array(mechanism, np.object_, None)


def latex_fraction(value: Fraction) -> str:
    """Return a fraction for LaTeX's mathematics."""
    if value.denominator == 1:
        return str(value)
    return rf"{'-' if value < 0 else ''}\frac{{{abs(value.numerator)}}}{{{value.denominator}}}"


def latex_text(label: object) -> str:
    """Return a label as text within LaTeX's mathematics."""
    escaped = re.sub(r"[\\~^#$%&_{}]", lambda found: _SPECIAL.get(found[0], f"\\{found[0]}"), label_text(label))
    return rf"\text{{{escaped}}}"
