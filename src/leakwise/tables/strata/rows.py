"""A table to be counted, in memory, in a file or in a database: its columns, a batch at a time."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leakwise.alphabet import encode_column
from leakwise.errors import InvalidInput
from leakwise.tables.databases.sql_table import SqlTable
from leakwise.tables.formats import is_path, open_table, readable
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.batches import Batches
from leakwise.tables.kinds.streams import in_a_file, rows_at_hand
from leakwise.types import Array, Counts

__all__ = ["CountedRows", "ReadTable", "read_table"]

Batch = Mapping[Any, Any]


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Distinct rows of a table, column by column, and how often each occurs: what a database or cluster counted."""

    columns: Mapping[Any, Sequence[Any]]
    times: Counts


@dataclass(frozen=True)
class ReadTable:
    """The names of the columns of a table, and what reads them.

    ``encode`` and ``distinct`` make codes of a column of a batch, by a domain or by the values that it has. Where rows
    were counted, ``times`` says how often each of them occurs.
    """

    names: Sequence[Hashable]
    where: str
    batches: Callable[[list[Any]], Iterable[Batch]]
    encode: Callable[..., Array]
    distinct: Callable[[Any], tuple[list[Any], Array]]
    times: Counts | None = None


def read_table(data: Any, name: str = "data") -> ReadTable:
    """Return what reads a table; anything else is refused."""
    if isinstance(data, Batches):
        data = in_a_file(data)
    if is_path(data):
        table = open_table(data, name)

        def batches(names: list[Any]) -> Iterable[Batch]:
            with readable(table.path):
                yield from table.batches(names)

        return ReadTable(table.names, repr(str(table.path)), batches, table.encode, table.distinct)
    if isinstance(data, SqlTable):
        return ReadTable(data.names, str(data), data.batches, data.encode, data.distinct)
    times = None
    if isinstance(data, CountedRows):
        data, times = data.columns, data.times
    data = rows_at_hand(data)
    if frames.is_column(data) or not frames.is_table(data):
        raise InvalidInput(
            f"{name} must be a table, with the given columns beside the secret, or the path of one. Got "
            f"{type(data).__name__} instead."
        )
    held = frames.hold(data)
    return ReadTable(
        frames.column_names(held),
        "the table",
        lambda names: [{name: frames.column_of(held, name) for name in names}],
        encode_column,
        frames.groups_of,
        times,
    )
