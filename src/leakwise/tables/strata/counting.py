"""How often each value of a secret occurs in each stratum of a table, wherever it is."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from leakwise.alphabet import Alphabet, GivenColumns, Label, StratumCounts, found_domain
from leakwise.errors import InvalidInput
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.joint_columns import encode_columns
from leakwise.tables.release.secret_columns import columns_among
from leakwise.tables.strata.rows import read_table

__all__ = ["counts_by_stratum"]


def counts_by_stratum(
    data: Any, secret: Hashable, given: Any, alphabet: Alphabet
) -> tuple[GivenColumns, dict[Label, list[int]], tuple[Hashable, ...]]:
    """Return the given columns, the counts of the values in each stratum that occurs, and the columns of the secret.

    A file is read in batches: twice where the domain of a given column is to be found.
    """
    table = read_table(data)
    names = columns_among(table.names, secret)

    def domain(name: Hashable) -> Any:
        frames.check_names(table.names, [name], table.where)
        found: dict[Any, None] = {}
        for batch in table.batches([name]):
            if len(batch[name]):
                found.update(dict.fromkeys(table.distinct(batch[name])[0]))
        return found_domain(list(found), name=f"column {name!r}")

    columns = GivenColumns.read(given, names if len(names) > 1 else names[0], domain)
    frames.check_names(table.names, [*names, *columns.names], table.where)
    counts = StratumCounts(columns, len(alphabet))
    for batch in table.batches([*names, *columns.names]):
        codes = encode_columns([batch[name] for name in names], names, alphabet, "inputs", encode=table.encode)
        counts.add(columns.encode([batch[name] for name in columns.names], table.encode), codes)
    if not len(counts):
        raise InvalidInput(f"{table.where} has no rows.")
    return columns, counts.strata(), names
