"""Utilities that people have: distances on numbers and on ordered labels, uneven penalties, a matrix from a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from leakwise.documents.csv_matrix import read_matrix
from leakwise.errors import InvalidInput, some_of
from leakwise.priors import PriorSet
from leakwise.types import Floats

__all__ = ["distance_utility", "ordered_utility", "read_utility"]


def distance_utility(
    points: Iterable[float],
    outputs: Iterable[float] | None = None,
    *,
    power: float = 1.0,
    below: float = 0.0,
    above: float = 0.0,
    below_factor: float = 1.0,
    above_factor: float = 1.0,
) -> Floats:
    """Minus a distance between numbers: u_ij = -(factor·abs(y_j - x_i)^power + penalty), 0 for the right answer.

    An answer below the truth costs ``below_factor`` times the distance and ``below`` besides; one above it,
    ``above_factor`` and ``above``.

    Parameters
    ----------
    points
        The numbers of the letters.
    outputs
        The numbers that may be answered; the letters' own by default.
    power
        1 for the distance, 2 for the quadratic loss.

    Examples
    --------
    The counting query of [WC] (11), with the slip in its lower triangle put right:

    >>> distance_utility(range(7), power=2, below=1)[4].tolist()
    [-17.0, -10.0, -5.0, -2.0, 0.0, -1.0, -4.0]
    """
    x = _numbers(points, "points")
    y = x if outputs is None else _numbers(outputs, "outputs")
    costs = {"below": below, "above": above, "below_factor": below_factor, "above_factor": above_factor, "power": power}
    for name, value in costs.items():
        if not (np.isfinite(value) and value >= 0) or (name == "power" and value == 0):
            raise InvalidInput(f"{name} must be a finite number {'above' if name == 'power' else 'of at least'} 0.")
    difference = y[None, :] - x[:, None]
    under = difference < 0
    loss = np.abs(difference) ** power * np.where(under, below_factor, above_factor)
    penalty = np.where(under, below, np.where(difference > 0, above, 0.0))
    return 0.0 - (loss + penalty)  # 0.0 first, so that the right answer is worth 0 and not -0


def ordered_utility(labels: Sequence[Any], outputs: Sequence[Any] | None = None, **options: Any) -> Floats:
    """The same for labels in their order ("low", "middle", "high"): the distance is the number of steps between them.

    ``outputs`` are some of the labels; the options are those of :func:`distance_utility`.

    >>> ordered_utility(["low", "middle", "high"], above=1).tolist()
    [[0.0, -2.0, -3.0], [-1.0, 0.0, -2.0], [-2.0, -1.0, 0.0]]
    """
    order = {label: place for place, label in enumerate(labels)}
    if len(order) != len(labels):
        raise InvalidInput("labels must differ from one another.")
    said = list(labels if outputs is None else outputs)
    unknown = [label for label in said if label not in order]
    if unknown:
        raise InvalidInput(f"outputs must be among the labels. {some_of(unknown)} are not.")
    return distance_utility(range(len(labels)), [order[label] for label in said], **options)


def read_utility(
    path: str | os.PathLike[str], prior: PriorSet | None = None
) -> tuple[Floats, tuple[str, ...], tuple[str, ...]]:
    """Return a utility from a CSV file with labels: the outputs in the first row, the letters in the first column.

    Returns the matrix, the letters and the outputs. With a prior the rows are put in the order of its letters, and
    letters that do not agree are an error. A cell ``-inf`` or ``never`` forbids the pair.
    """
    name = repr(str(path))
    cells, letters, outputs = read_matrix(path, labelled=True)
    assert letters is not None
    assert outputs is not None
    if len(set(letters)) != len(letters) or len(set(outputs)) != len(outputs):
        raise InvalidInput(f"The labels of {name} must differ from one another.")
    matrix = np.array([[_cell(cell, letter, name) for cell in row] for letter, row in zip(letters, cells, strict=True)])
    if prior is None:
        return matrix, tuple(letters), tuple(outputs)
    place = {letter: number for number, letter in enumerate(letters)}
    wanted = [str(label) for label in prior.labels]
    missing = [label for label in wanted if label not in place]
    extra = [letter for letter in letters if letter not in set(wanted)]
    if missing or extra:
        raise InvalidInput(
            f"The letters of {name} must be those of the prior."
            + (f" It lacks {some_of(missing)}." if missing else "")
            + (f" The prior has no {some_of(extra)}." if extra else "")
        )
    return matrix[[place[label] for label in wanted]], tuple(wanted), tuple(outputs)


def _cell(text: str, letter: str, name: str) -> float:
    if text.lower() in ("-inf", "never"):
        return -np.inf
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise InvalidInput(f"{name} must hold numbers (or 'never'). The row of {letter!r} has {text!r}.")
    return value


def _numbers(values: Iterable[float], name: str) -> Floats:
    try:
        numbers = np.array([float(value) for value in values])
    except (TypeError, ValueError) as error:
        raise InvalidInput(
            f"{name} must be numbers: {error}. For labels in an order use lw.ordered_utility."
        ) from error
    if not len(numbers) or not np.isfinite(numbers).all():
        raise InvalidInput(f"{name} must be finite numbers, at least one.")
    return numbers
