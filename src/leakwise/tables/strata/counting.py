"""How often each value of a secret occurs in each stratum of a table, in memory or in a file."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, GivenColumns, Label, encode_column, found_domain
from leakwise.errors import InvalidInput
from leakwise.tables.formats import is_path, open_table
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.joint_columns import encode_columns
from leakwise.tables.release.arrow_streams import without_relation
from leakwise.tables.release.secret_columns import columns_among
from leakwise.types import Counts

__all__ = ["counts_by_stratum"]

Batch = Mapping[Any, Any]


def counts_by_stratum(
    data: Any, secret: Hashable, given: Any, alphabet: Alphabet
) -> tuple[GivenColumns, dict[Label, list[int]], tuple[Hashable, ...]]:
    """Return the given columns, the counts of the values in each stratum that occurs, and the columns of the secret.

    A file is read in batches: twice where the domain of a given column is to be found.
    """
    if is_path(data):
        table = open_table(data, "data")
        known: list[Hashable] = [*table.names]
        batches: Callable[[list[Any]], Iterable[Batch]] = table.batches
        encode, where = table.encode, repr(str(table.path))
        distinct: Callable[[Any], Any] = lambda column: found_domain(table.distinct(column)[0])  # noqa: E731
    else:
        held = frames.hold(without_relation(data)) if frames.is_table(without_relation(data)) else None
        if held is None:
            raise InvalidInput(f"data must be a table or the path of one. Got {type(data).__name__} instead.")
        known, encode, where, distinct = frames.column_names(held), encode_column, "the table", found_domain
        batches = lambda names: [{name: frames.column_of(held, name) for name in names}]  # noqa: E731
    names = columns_among(known, secret)

    def domain(name: Hashable) -> Any:
        frames.check_names(known, [name], where)
        found: dict[Any, None] = {}
        for batch in batches([name]):
            found.update(dict.fromkeys(distinct(batch[name]).labels))
        return found_domain(list(found), name=f"column {name!r}")

    columns = GivenColumns.read(given, names if len(names) > 1 else names[0], domain)
    frames.check_names(known, [*names, *columns.names], where)
    counts: dict[int, Counts] = {}
    for batch in batches([*names, *columns.names]):
        codes = encode_columns([batch[name] for name in names], names, alphabet, "inputs", encode=encode)
        numbers = columns.encode([batch[name] for name in columns.names], encode)
        strata, places = np.unique(numbers, return_inverse=True)
        table_of = np.bincount(places * len(alphabet) + codes, minlength=strata.size * len(alphabet))
        for number, row in zip(strata.tolist(), table_of.reshape(strata.size, len(alphabet)), strict=True):
            counts[number] = counts[number] + row if number in counts else row
    if not counts:
        raise InvalidInput(f"{where} has no rows.")
    return columns, {columns.numbered(number): counts[number].tolist() for number in sorted(counts)}, names
