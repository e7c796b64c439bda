"""Which columns of a table are the secret, and which mechanism each goes through."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leakwise.errors import InvalidInput, some_of
from leakwise.mechanism import AnyMechanism, Mechanism, StratifiedMechanism
from leakwise.tables.kinds import frames

__all__ = [
    "Secret",
    "check_data",
    "check_mechanism",
    "columns_among",
    "refuse_names",
    "secret_columns",
    "secrets_of",
    "unnamed",
    "with_known_columns",
]


@dataclass(frozen=True)
class Secret:
    """One column, or several released together, and the mechanism for it. A bare column has no name."""

    names: tuple[Hashable, ...]
    mechanism: AnyMechanism


def secrets_of(known: Sequence[Hashable] | None, mechanism: Any, column: Hashable) -> list[Secret]:
    """Return which columns go through which mechanism; ``known`` is None for a bare column."""
    if isinstance(mechanism, Mapping):
        if known is None:
            raise InvalidInput("A mapping from columns to mechanisms needs a table. The data is a bare column.")
        if column is not None:
            raise InvalidInput(
                f"column must be left out when the mechanisms are a mapping from columns. Got column={column!r}."
            )
        if not mechanism:
            raise InvalidInput("mechanism must name at least one column. Got an empty mapping.")
        secrets = [_secret(known, one, key) for key, one in mechanism.items()]
    else:
        secrets = [_secret(known, mechanism, column)]
    named = [name for secret in secrets for name in secret.names]
    if twice := {name for name in named if named.count(name) > 1}:
        raise InvalidInput(
            f"A column can be released once only. Named twice or more: {some_of(twice)}. Put columns that belong "
            "together into one joint mechanism."
        )
    return secrets


def _secret(known: Sequence[Hashable] | None, mechanism: Any, column: Hashable) -> Secret:
    if not isinstance(mechanism, StratifiedMechanism):
        return Secret(secret_columns(known, column), check_mechanism(mechanism))
    if known is None:
        raise InvalidInput("A stratified mechanism needs a table: the secret and the given columns beside it.")
    frames.check_names(known, mechanism.given)
    return Secret(secret_columns(known, mechanism.secret if column is None else column), mechanism)


def secret_columns(known: Sequence[Hashable] | None, column: Any, where: str = "the table") -> tuple[Hashable, ...]:
    """Return the columns of the one secret that is meant, all of them known; none where the data is a bare column."""
    if known is None:
        if column is not None:
            raise InvalidInput(f"column must be left out when the data is a bare column. Got column={column!r}.")
        return ()
    if column is None:
        raise InvalidInput(
            f"column must say which column of the table is the secret. The columns are {some_of(known, 12)}."
        )
    names = columns_among(known, column)
    frames.check_names(known, names, where)
    return names


def with_known_columns(data: Any, *columns: Any) -> Any:
    """Return the data, a file opened, with secrets refused whose columns it does not have: the first thing to be told.

    What is neither a file nor a table that names its columns is left to those who open it.
    """
    from leakwise.tables.databases.sql_table import SqlTable
    from leakwise.tables.formats import TableFile, is_path, open_table
    from leakwise.tables.kinds.streams import refuse_spark

    refuse_spark(data)
    if is_path(data):
        data = open_table(data, "data")
    known: Sequence[Hashable]
    if isinstance(data, (TableFile, SqlTable)):
        known, where = data.names, repr(str(data.path)) if isinstance(data, TableFile) else "the table"
    elif frames.is_table(data):
        known, where = frames.column_names(data), "the table"
    else:
        return data
    for column in columns:
        secret_columns(known, column, where)
    return data


def columns_among(known: Sequence[Hashable], column: Any) -> tuple[Hashable, ...]:
    """Return one column of a table, or those of a tuple (or list) that is not itself a name of a column."""
    if isinstance(column, list):
        column = tuple(column)
    if isinstance(column, tuple) and column not in known:
        if not column:
            raise InvalidInput("column must name at least one column. Got an empty tuple.")
        return column
    return (column,)


def unnamed(where: str, known: Sequence[Hashable]) -> InvalidInput:
    """Return the error for a released column that is not named."""
    return InvalidInput(f"column must say which column of {where} was released. The columns are {some_of(known, 12)}.")


def refuse_names(column: Hashable, by: Hashable) -> None:
    """Refuse names of columns where a bare column was released."""
    if column is not None or by is not None:
        raise InvalidInput(f"column and by need a table; released is a bare column. Got column={column!r}, by={by!r}.")


def check_data(data: Any, name: str) -> None:
    """Refuse what is neither a column nor a table."""
    if not frames.is_column(data) and not frames.is_table(data):
        raise InvalidInput(
            f"{name} must be a column (list, NumPy array, pandas or polars Series, pyarrow array) or a table (pandas "
            "or polars DataFrame, pyarrow Table, mapping of columns), or the path of a file. Got "
            f"{type(data).__name__} instead."
        )


def check_mechanism(mechanism: Any) -> Mechanism:
    """Refuse what is no mechanism."""
    if isinstance(mechanism, Mechanism):
        return mechanism
    inside = isinstance(getattr(mechanism, "mechanism", None), Mechanism)
    raise InvalidInput(
        f"mechanism must be a Mechanism. Got {type(mechanism).__name__} instead."
        + (" Pass its .mechanism." if inside else "")
    )
