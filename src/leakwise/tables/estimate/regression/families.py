"""Which family a regression has, and what its outcome is: values in order, or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import Label
from leakwise.errors import InvalidInput, did_you_mean, some_of
from leakwise.tables.estimate.numbers import stand_for_numbers, values_of
from leakwise.tables.estimate.regression.formula import ParsedFormula, model_matrix
from leakwise.tables.estimate.regression.rows import Rows, Seen
from leakwise.types import Floats, Indices

__all__ = ["FAMILIES", "Response", "response"]

FAMILIES = ("linear", "logistic", "multinomial", "poisson")
_ALSO = {"gaussian": "linear", "ols": "linear", "binomial": "logistic", "logit": "logistic", "mnlogit": "multinomial"}
_MOST_VALUES = 100


@dataclass(frozen=True)
class Response:
    """The outcome of a regression.

    Attributes
    ----------
    family
        One of the families.
    labels
        The values in order, where the family has probabilities of them: the last of two is what logistic is for.
    numbers
        The number of every row, or of every value where it was released; for linear and Poisson.
    places
        The place of every row's value among the labels, where it was not released.
    seen
        What was released of it.
    """

    family: str
    labels: tuple[Label, ...]
    numbers: Floats | None
    places: Indices | None
    seen: Seen | None


def response(formula: ParsedFormula, rows: Rows, family: Any) -> Response:
    """Return the outcome, with the family that was asked for or that its values call for."""
    asked = _family(family)
    if (seen := rows.released.get(formula.outcome)) is not None:
        return _released(formula, seen, asked)
    if formula.outcome in rows.frame.columns:
        column = rows.frame[formula.outcome]
        if asked in (None, "logistic", "multinomial") and (found := _values(column, asked)) is not None:
            return _categories(formula, *found, asked)
    else:
        import pandas

        matrix = model_matrix(formula.left, rows.frame)
        names = [name for name in matrix.model_spec.column_names if name != "Intercept"]
        column = pandas.Series(np.asarray(matrix)[:, list(matrix.model_spec.column_names).index(names[0])])
        if asked in ("logistic", "multinomial") and (found := _values(column, asked)) is not None:
            return _categories(formula, *found, asked)
    if asked in ("logistic", "multinomial"):
        raise InvalidInput(f"family={family!r} needs an outcome of few values; {formula.outcome!r} has many.")
    try:
        numbers = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"The outcome {formula.outcome!r} must be numbers for a {asked} regression.") from error
    if not np.isfinite(numbers).all():
        raise InvalidInput(f"The outcome {formula.outcome!r} is infinite in some rows. Remove these rows.")
    _check_counts(formula, numbers, asked or "linear")
    return Response(asked or "linear", (), numbers, None, None)


def _family(family: Any) -> str | None:
    if family is None:
        return None
    name = _ALSO.get(str(family).lower(), str(family).lower())
    if name not in FAMILIES:
        raise InvalidInput(f"family must be one of {some_of(FAMILIES)}. Got {family!r}." + did_you_mean(name, FAMILIES))
    return name


def _released(formula: ParsedFormula, seen: Seen, asked: str | None) -> Response:
    labels = seen.axis.values.labels
    are_numbers = stand_for_numbers(labels, seen.axis.edges)
    family = asked or ("logistic" if len(labels) == 2 else "linear" if are_numbers else "multinomial")
    _check_labels(formula, labels, family)
    if family in ("logistic", "multinomial"):
        return Response(family, labels, None, None, seen)
    numbers = values_of(labels, seen.axis.edges, None, formula.outcome)
    _check_counts(formula, numbers, family)
    return Response(family, (), numbers, None, seen)


def _check_labels(formula: ParsedFormula, labels: Sequence[Label], family: str | None) -> None:
    if len(labels) < 2:
        raise InvalidInput(f"The outcome {formula.outcome!r} has a single value: there is nothing to explain.")
    if family == "logistic" and len(labels) != 2:
        raise InvalidInput(
            f"family='logistic' needs an outcome of two values; {formula.outcome!r} has {len(labels)}: "
            f"{some_of(labels)}. Use family='multinomial'."
        )


def _check_counts(formula: ParsedFormula, numbers: Floats, family: str) -> None:
    if family == "poisson" and not ((numbers >= 0) & (numbers == np.floor(numbers))).all():
        raise InvalidInput(f"family='poisson' needs counts; {formula.outcome!r} has numbers that are not whole.")


def _values(column: Any, asked: str | None) -> tuple[tuple[Label, ...], Indices] | None:
    """The values of a column in order and where each row has them; None where they are numbers of many kinds."""
    import pandas

    if isinstance(column.dtype, pandas.CategoricalDtype):
        return tuple(column.cat.categories), np.asarray(column.cat.codes, dtype=np.intp)
    if asked is None and column.dtype.kind in "iuf" and column.nunique() > 2:
        return None
    codes, values = pandas.factorize(column, sort=True)
    if len(values) > _MOST_VALUES:
        return None
    return tuple(value.item() if hasattr(value, "item") else value for value in values), codes.astype(np.intp)


def _categories(formula: ParsedFormula, labels: tuple[Label, ...], places: Indices, asked: str | None) -> Response:
    _check_labels(formula, labels, asked)
    family = asked or ("logistic" if len(labels) == 2 else "multinomial")
    return Response(family, labels, None, places, None)
