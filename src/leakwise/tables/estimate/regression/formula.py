"""A formula, the columns it reads, and the matrices it makes: one for each combination of unseen true values."""

from __future__ import annotations

import ast
import itertools
import re
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput, require, some_of
from leakwise.tables.databases.sql_table import SqlTable
from leakwise.tables.estimate.joint.axes import Axis
from leakwise.tables.formats import is_path
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.streams import rows_at_hand
from leakwise.types import Floats

__all__ = ["ParsedFormula", "as_frame", "combinations", "matrices", "model_matrix", "parsed", "read_frame"]

# A matrix of the model for every combination of released covariates: more would not say anything.
_MOST_COMBINATIONS = 400


@dataclass(frozen=True)
class ParsedFormula:
    """A formula with its outcome and the columns of its terms.

    Attributes
    ----------
    text
        As it was written.
    outcome
        The expression on the left, and the columns it reads.
    terms
        The columns that the right side reads.
    """

    text: str
    outcome: str
    outcome_columns: tuple[str, ...]
    terms: tuple[str, ...]
    right: Any
    left: Any


def parsed(text: Any) -> ParsedFormula:
    """Return the parts of a formula such as ``"income ~ age + C(sex)"``."""
    formulaic = require("formulaic", extra="analysis", purpose="lw.regress")
    require("statsmodels", extra="analysis", purpose="lw.regress")
    require("pandas", extra="analysis", purpose="lw.regress")
    if not isinstance(text, str) or "~" not in text:
        raise InvalidInput(f"formula must be a text such as 'income ~ age + C(sex)'. Got {text!r} instead.")
    try:
        whole = formulaic.Formula(text)
        left, right = whole.lhs, whole.rhs
        count = len(list(left))
    except (formulaic.errors.FormulaicError, AttributeError, TypeError) as error:
        words = " ".join(str(error).split())
        raise InvalidInput(f"formula {text!r} cannot be read: {words}") from error
    if count != 1:
        raise InvalidInput(f"formula {text!r} must have one outcome on the left of ~. Got {count}.")
    return ParsedFormula(
        text, text.partition("~")[0].strip().strip("`"), _columns_of(left), _columns_of(right), right, left
    )


def _columns_of(side: Any) -> tuple[str, ...]:
    """The columns that one side of a formula reads. (What formulaic says itself leaves out those of center(x).)"""
    found: dict[str, None] = {}
    for term in side:
        for factor in term.factors:
            if factor.eval_method.value == "lookup":
                found[factor.expr] = None
            elif factor.eval_method.value == "python":
                found.update(dict.fromkeys(_names_in(factor.expr)))
    return tuple(sorted(found))


def _names_in(expression: str) -> list[str]:
    """Names that an expression reads, apart from functions and modules; names in backticks may be any text."""
    quoted: list[str] = []

    def noted(match: re.Match[str]) -> str:
        quoted.append(match[1])
        return f"_quoted_{len(quoted) - 1}"

    tree = ast.parse(re.sub(r"`([^`]*)`", noted, expression), mode="eval")
    nodes = list(ast.walk(tree))
    others = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    others |= {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    names = [node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in others]
    return [quoted[int(name[8:])] if name.startswith("_quoted_") else name for name in names]


def read_frame(released: Any, names: Sequence[Hashable], texts: Sequence[Hashable] = ()) -> Any:
    """Return columns of a table or a file as a DataFrame; ``texts`` stay texts where the file has no types."""
    pandas = require("pandas", extra="analysis", purpose="lw.regress")
    wanted = list(dict.fromkeys(names))
    if is_path(released):
        released = _read_file(pandas, released, wanted, texts)
    if isinstance(released, SqlTable):
        return _read_table(pandas, released, wanted)
    data = rows_at_hand(released)
    if frames.is_column(data) or not frames.is_table(data):
        raise InvalidInput(
            f"released must be a table with the columns of the formula, or the path of one. Got {type(data).__name__}."
        )
    frames.check_columns(data, wanted)
    if isinstance(data, pandas.DataFrame):
        return data[wanted].reset_index(drop=True)
    held = frames.hold(data, wanted)
    columns = {}
    for name in wanted:
        column = frames.column_of(held, name)
        columns[name] = column.to_pandas() if hasattr(column, "to_pandas") else np.asarray(column)
    try:
        return pandas.DataFrame(columns)
    except ValueError as error:
        raise InvalidInput(f"The columns of released must have the same number of rows: {error}.") from error


def _read_table(pandas: Any, table: SqlTable, names: Sequence[Any]) -> Any:
    """Return columns of a table of a database; decimal numbers as those that a regression computes with."""
    frames.check_names(table.names, names, str(table))
    parts = []
    for batch in table.batches(names):
        columns = {}
        for name, column in batch.items():
            known = column.to_pandas() if hasattr(column, "to_pandas") else pandas.Series(column)
            present = known.dropna()
            exact = bool(len(present)) and all(isinstance(value, Decimal) for value in present)
            columns[name] = known.astype(float) if exact else known
        parts.append(pandas.DataFrame(columns))
    return pandas.concat(parts, ignore_index=True)


def _read_file(pandas: Any, path: Any, wanted: Sequence[Hashable], texts: Sequence[Hashable]) -> Any:
    from leakwise.tables.formats import open_table, readable
    from leakwise.tables.formats.compression import opened
    from leakwise.tables.formats.delimited import DelimitedTable

    table = open_table(path, "released")
    frames.check_names(table.names, wanted, repr(str(table.path)))
    if table.text_format is None:
        pyarrow = require("pyarrow", extra="data", purpose="Reading files with types")
        schema = table.arrow_schema([str(name) for name in wanted])
        rows = pyarrow.Table.from_batches((batch for _, batch in table.pieces([], schema)), schema=schema).to_pandas()
        for name in texts:
            if labels := table.labels(str(name)):
                rows[name] = [labels.get(value, value) for value in rows[name]]
        return rows
    found = []
    for place, file in enumerate(table.files):
        # pandas guesses types as people expect it: a column of 1.50 and 2.5 is one of numbers.
        with readable(file), opened(file) as stream:
            if isinstance(one := open_table(file), DelimitedTable):
                frame = pandas.read_csv(stream, sep=one.delimiter, dtype=dict.fromkeys(texts, str))
            else:
                frame = pandas.read_json(stream, lines=True)
        found.append(frame.assign(**table.constants(place)))
    return pandas.concat(found, ignore_index=True)


def model_matrix(spec: Any, frame: Any) -> Any:
    """Return the matrix of the terms of a formula (or of one that was made before) for the rows of a frame."""
    formulaic = require("formulaic", extra="analysis", purpose="lw.regress")
    try:
        with warnings.catch_warnings():
            # A category that the model does not know would silently count as the first one.
            warnings.simplefilter("error", formulaic.errors.DataMismatchWarning)
            made = spec.get_model_matrix(frame, output="numpy", na_action="raise")
    except formulaic.errors.DataMismatchWarning as error:
        named = re.search(r"\{(.*)\}", str(error))
        raise InvalidInput(
            "The table has categories that the fitted rows do not have: "
            f"{named[1] if named else error}. Leave such rows out."
        ) from error
    except (formulaic.errors.FormulaicError, ValueError) as error:
        words = " ".join(str(error).split())
        raise InvalidInput(f"The terms of the formula cannot be computed: {words} Check names and types.") from error
    array = np.asarray(made, dtype=np.float64)
    if not np.isfinite(array).all():
        bad = np.flatnonzero(~np.isfinite(array).all(axis=0))
        names = [made.model_spec.column_names[place] for place in bad]
        raise InvalidInput(f"{some_of(names)} is infinite in some rows. Remove these rows, or change the term.")
    return made


def combinations(axes: Sequence[Axis]) -> list[tuple[int, ...]]:
    """Return every combination of values of released covariates, as places."""
    count = int(np.prod([float(len(axis.values)) for axis in axes])) if axes else 1
    if count > _MOST_COMBINATIONS:
        raise InvalidInput(
            f"The released covariates {some_of([axis.title for axis in axes])} have {count:,} combinations of values; "
            f"at most {_MOST_COMBINATIONS:,} can be told apart. Use fewer of them."
        )
    return list(itertools.product(*(range(len(axis.values)) for axis in axes)))


def matrices(formula: ParsedFormula, frame: Any, axes: Sequence[Axis]) -> tuple[list[Floats], tuple[str, ...], Any]:
    """Return the model matrix for every combination of released covariates, the names of its terms, and its spec."""
    cells = combinations(axes)
    # Every value must be met when the terms are made, so that each has its column.
    longer = frame if not axes else frame.iloc[np.resize(np.arange(len(frame)), max(len(frame), len(cells)))]
    first = model_matrix(formula.right, _with_values(longer, axes, cells))
    spec = first.model_spec
    if not axes:
        return [np.asarray(first, dtype=np.float64)], tuple(spec.column_names), spec
    made = [np.asarray(model_matrix(spec, _with_values(frame, axes, [cell])), dtype=np.float64) for cell in cells]
    return made, tuple(spec.column_names), spec


def _with_values(frame: Any, axes: Sequence[Axis], cells: Sequence[tuple[int, ...]]) -> Any:
    """The frame with its released covariates exchanged for given values, repeated over the rows."""
    if not axes:
        return frame
    new: dict[Hashable, Any] = {}
    for at, axis in enumerate(axes):
        codes = np.resize(np.array([cell[at] for cell in cells]), len(frame))
        for part, name in enumerate(axis.names):
            labels = [label if len(axis.names) == 1 else label[part] for label in axis.values.labels]  # type: ignore[index]
            new[name] = _column(labels, codes)
    return frame.assign(**{str(name): column for name, column in new.items()})


def _column(labels: Sequence[Any], codes: Any) -> Any:
    """Labels of codes: numbers stay numbers, all else is a category with all labels as its levels, in their order."""
    import pandas

    distinct = list(dict.fromkeys(labels))
    if all(isinstance(label, (int, float)) and not isinstance(label, bool) for label in distinct):
        return np.array(labels)[codes]
    places = np.array([distinct.index(label) for label in labels])[codes]
    return pandas.Categorical.from_codes(places, categories=distinct)


def as_frame(table: Any, names: Sequence[str], axes: Sequence[Axis]) -> Any:
    """Return the true values of new rows, for predictions."""
    if isinstance(table, Mapping) and not any(map(frames.is_column, table.values())):
        table = {name: [value] for name, value in table.items()}
    frame = read_frame(table, names)
    for axis in axes:
        for part, name in enumerate(axis.names):
            labels = [label if len(axis.names) == 1 else label[part] for label in axis.values.labels]  # type: ignore[index]
            if str(name) in names:
                known = {label: place for place, label in enumerate(labels)}
                if unknown := [value for value in frame[name].unique() if value not in known]:
                    raise InvalidInput(f"{some_of(unknown)} is not a value of {name!r}: {some_of(labels)}.")
                frame[name] = _column(labels, frame[name].map(known).to_numpy())
    return frame
