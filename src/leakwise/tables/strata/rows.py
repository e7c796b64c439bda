"""The rows of a table in memory, each with the stratum that its given columns put it into."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, GivenColumns, Label
from leakwise.errors import InvalidInput, some_of
from leakwise.mechanism import StratifiedMechanism
from leakwise.tables.databases.sql_table import SqlTable
from leakwise.tables.formats import is_path
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.joint_columns import encode_columns
from leakwise.tables.release.arrow_streams import is_reader, without_relation
from leakwise.tables.release.secret_columns import secret_columns
from leakwise.types import Codes, Counts, Indices

__all__ = ["StratifiedRows", "rows_by_stratum"]


@dataclass(frozen=True)
class StratifiedRows:
    """A held table, the codes of its secret (or of its outcomes), and the stratum of every row.

    ``strata`` are those that occur, ``places`` says for each row which of them it belongs to.
    """

    held: Any
    names: tuple[Hashable, ...]
    codes: Codes
    strata: tuple[Label, ...]
    places: Indices

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.codes.size

    def sizes(self) -> Counts:
        """Return how many rows each stratum has."""
        return np.bincount(self.places, minlength=len(self.strata)).astype(np.int64)

    def counts(self, size: int) -> Counts:
        """Return how often each code occurs in each stratum."""
        table = np.bincount(self.places * size + self.codes, minlength=len(self.strata) * size)
        return table.astype(np.int64).reshape(len(self.strata), size)

    def each(self) -> Iterator[tuple[Label, Indices]]:
        """The rows of one stratum after the other, in their order."""
        order = np.argsort(self.places, kind="stable")
        ends = np.cumsum(self.sizes())
        yield from zip(self.strata, np.split(order, ends[:-1]), strict=True)


def rows_by_stratum(
    data: Any, column: Hashable, mechanism: StratifiedMechanism, alphabet: Alphabet, what: str
) -> StratifiedRows:
    """Return the rows of a table with their strata; a stratum that was not declared is refused, and named."""
    held = hold_table(data, what)
    known = frames.column_names(held)
    names = secret_columns(known, mechanism.secret if column is None else column)
    given = mechanism.given_columns
    frames.check_columns(held, given.names)
    if both := [name for name in given.names if name in names]:
        raise InvalidInput(f"The secret must not be a given column: {some_of(both)} is both.")
    columns = [frames.column_of(held, name) for name in names]
    codes = encode_columns(columns, names, alphabet, what)
    found = stratified(held, names, codes, given)
    unknown = [key for key in found.strata if mechanism.otherwise is None and key not in mechanism]
    if unknown:
        sizes = dict(zip(found.strata, found.sizes().tolist(), strict=True))
        raise InvalidInput(
            f"{sum(sizes[key] for key in unknown):,} of {found.rows:,} rows are in {len(unknown):,} strata that were "
            f"not declared when the mechanism was made: {some_of(map(given.described, unknown), 3)}. Design with every "
            "combination that can occur declared (given={'sex': ['f', 'm'], …}), or leave these rows out."
        )
    return found


def stratified(held: Any, names: tuple[Hashable, ...], codes: Codes, given: GivenColumns) -> StratifiedRows:
    """Return rows with the strata that their given columns put them into."""
    numbers = given.encode([frames.column_of(held, name) for name in given.names])
    if numbers.size != codes.size:
        raise InvalidInput(f"The given columns have {numbers.size} rows and the secret has {codes.size}.")
    if not codes.size:
        raise InvalidInput("The table has no rows.")
    strata, places = np.unique(numbers, return_inverse=True)
    return StratifiedRows(held, names, codes, tuple(given.numbered(number) for number in strata), places)


def hold_table(data: Any, what: str) -> Any:
    """Return a table with its rows at hand; files and streams are refused with the way out."""
    if is_path(data) or isinstance(data, SqlTable) or is_reader(data):
        raise InvalidInput(
            "With a stratified mechanism the table must be in memory. Read it first, such as by pandas.read_csv, "
            f"polars.read_parquet or pyarrow.parquet.read_table. Got {type(data).__name__} instead."
        )
    data = without_relation(data)
    if frames.is_column(data) or not frames.is_table(data):
        raise InvalidInput(
            f"A stratified mechanism needs a table: the {what} and the given columns beside them. Got "
            f"{type(data).__name__} instead."
        )
    return frames.hold(data)
