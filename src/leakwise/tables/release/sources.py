"""What is to be released, in memory or in a file: checked first, released later."""

from __future__ import annotations

import hmac
import os
from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from leakwise.alphabet import Alphabet
from leakwise.errors import InvalidInput
from leakwise.mechanism import Mechanism
from leakwise.tables.databases.sql_table import CheckedTable, SqlTable, check_table, refuse_table, release_table
from leakwise.tables.formats import is_path, open_table
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.joint_columns import encode_columns, plain_alphabet
from leakwise.tables.ledger.column_digest import Digester
from leakwise.tables.release.arrow_streams import without_relation
from leakwise.tables.release.draw import seeded_stream
from leakwise.tables.release.file import (
    CheckedFile,
    Progress,
    check_file,
    counted,
    refuse_partition,
    refuse_target,
    release_file,
)
from leakwise.tables.release.release import check_data, columns_among, release
from leakwise.tables.release.row_order import RowOrder, check_order, refuse_order

__all__ = ["Checked", "Source", "open_source"]


@dataclass(frozen=True)
class Checked:
    """What a check saw: how often each letter occurs, which stays private, and the keyed digest of the column."""

    rows: int
    counts: npt.NDArray[np.int64]
    digest: str | None


class Source(Protocol):
    """Data whose secret is to be released."""

    name: str | None
    secret_names: tuple[str, ...]
    order: str | None
    """``"keep"`` or ``"shuffle"``; None where the order of the rows is kept if a test finds nothing in it."""

    def check(self, letters: Alphabet, mac: hmac.HMAC | None) -> Checked:
        """Read the secret whole and refuse values that were not declared, and an order of rows that tells it."""

    def release(self, mechanism: Mechanism, mac: hmac.HMAC | None, unsafe_seed: int | None) -> tuple[Any, str | None]:
        """Draw; gives back the released table and its digest."""


def open_source(
    data: Any,
    column: Any,
    out: str | os.PathLike[str] | SqlTable | None,
    *,
    overwrite: bool,
    progress: Progress | None,
    order: str | None = None,
) -> Source:
    """Return the data, with everything refused that can be without reading its rows."""
    check_order(order)
    if is_path(data):
        return _FileSource(Path(data), column, out, overwrite, progress, order)
    if isinstance(data, SqlTable):
        return _SqlSource(data, column, out, overwrite, progress, order)
    if out is not None or overwrite:
        raise InvalidInput(f"out must be left out for a table in memory, which is handed back. Got out={out!r}.")
    return _MemorySource(without_relation(data), column, order)


def _watched(order: str | None, letters: Alphabet) -> list[RowOrder]:
    """What is to see the codes go by, where the user has not chosen the order of the rows."""
    return [RowOrder(letters.labels)] if order is None else []


def _refuse(watched: list[RowOrder], names: tuple[str, ...]) -> None:
    for one in watched:
        refuse_order(one, " and ".join(map(repr, names)))


class _MemorySource:
    name: str | None = None

    def __init__(self, data: Any, column: Any, order: str | None) -> None:
        check_data(data, "data")
        self._given, self.order = data, order
        self._names: tuple[Hashable, ...] = ()
        if frames.is_column(data):
            if column is not None:
                raise InvalidInput(f"column must be left out when the data is a bare column. Got column={column!r}.")
            self.secret_names: tuple[str, ...] = ("column",)
            self._held = data
            return
        if column is None:
            raise InvalidInput(f"column must say which column is the secret, among {frames.column_names(data)}.")
        self._names = columns_among(frames.column_names(data), column)
        frames.check_columns(data, self._names)
        self.secret_names = tuple(str(name) for name in self._names)
        # A lazy table is collected once: run again, its plan could give other rows than were checked.
        self._held = frames.hold(data)

    def _columns(self, table: Any) -> list[Any]:
        return [frames.column_of(table, name) for name in self._names] if self._names else [table]

    def _codes(self, table: Any, letters: Alphabet, what: str) -> npt.NDArray[Any]:
        codes: npt.NDArray[Any] = encode_columns(self._columns(table), self._names or ("data",), letters, what)
        return codes

    def check(self, letters: Alphabet, mac: hmac.HMAC | None) -> Checked:
        codes = self._codes(self._held, letters, "inputs")
        if not codes.size:
            raise InvalidInput("data has no rows: there is nothing to release.")
        frames.check_row_labels(self._held, self._names or (getattr(self._held, "name", None),), codes, letters)
        for one in (watched := _watched(self.order, letters)):
            one.add(codes)
        _refuse(watched, self.secret_names)
        digester = Digester(mac, letters)
        digester.add(codes)
        return Checked(codes.size, counted(codes, len(letters)), digester.text)

    def release(self, mechanism: Mechanism, mac: hmac.HMAC | None, unsafe_seed: int | None) -> tuple[Any, str | None]:
        column = None if not self._names else self._names if len(self._names) > 1 else self._names[0]
        table = release(self._held, mechanism, column, order=self.order or "keep", unsafe_seed=unsafe_seed)
        digester = Digester(mac, mechanism.output_alphabet)
        if mac is not None:
            digester.add(self._codes(table, plain_alphabet(mechanism.output_alphabet), "outputs"))
        return frames.give_back(table, self._given) if self._names else table, digester.text


class _FileSource:
    def __init__(
        self,
        path: Path,
        column: Any,
        out: str | os.PathLike[str] | SqlTable | None,
        overwrite: bool,
        progress: Progress | None,
        order: str | None,
    ) -> None:
        if isinstance(out, SqlTable):
            raise InvalidInput(f"out must be a path for a file: {str(path)!r} is one. A SqlTable goes to a SqlTable.")
        if out is None:
            raise InvalidInput(f"out must be given: the path of the file to which the release of {str(path)!r} goes.")
        names = open_table(path, "data").names
        if column is None:
            raise InvalidInput(f"column must say which column of {str(path)!r} is the secret, among {names}.")
        self._names = columns_among(names, column)
        refuse_target(path, Path(out), overwrite=overwrite)
        refuse_partition((path, Path(out)), self._names)
        self._path, self._out, self._overwrite, self._progress = path, Path(out), overwrite, progress
        self.order = order
        self._checked: CheckedFile | None = None
        self.name: str | None = path.name
        self.secret_names = tuple(str(name) for name in self._names)

    def check(self, letters: Alphabet, mac: hmac.HMAC | None) -> Checked:
        digester = Digester(mac, letters)
        watched = _watched(self.order, letters)
        watch = [digester.add, *(one.add for one in watched)]
        found = check_file(self._path, self._names, letters, watch=watch, progress=self._progress)
        _refuse(watched, self.secret_names)
        self._checked = found
        return Checked(found.rows, found.counts, digester.text)

    def release(self, mechanism: Mechanism, mac: hmac.HMAC | None, unsafe_seed: int | None) -> tuple[Any, str | None]:
        assert self._checked is not None, "a file is checked before it is released"
        digester = Digester(mac, mechanism.output_alphabet)
        shuffle = self.order == "shuffle"
        path = release_file(
            [(self._checked, mechanism)],
            self._out,
            stream=seeded_stream(unsafe_seed),
            overwrite=self._overwrite,
            watch=[] if shuffle else [digester.add],
            progress=self._progress,
            shuffle=shuffle,
        )
        if shuffle and mac is not None:  # of the rows in the order in which they stand now
            letters = plain_alphabet(mechanism.output_alphabet)
            check_file(path, self._names, letters, what="outputs", watch=[digester.add])
        return path, digester.text


class _SqlSource:
    def __init__(
        self,
        table: SqlTable,
        column: Any,
        out: Any,
        overwrite: bool,
        progress: Progress | None,
        order: str | None,
    ) -> None:
        names = table.names
        self.order = table.order(order)
        if column is None:
            raise InvalidInput(f"column must say which column of {table} is the secret, among {names}.")
        self._names = columns_among(names, column)
        frames.check_names(names, self._names)
        refuse_table(table, out, overwrite=overwrite)
        self._table, self._out, self._overwrite, self._progress = table, out, overwrite, progress
        self._checked: CheckedTable | None = None
        self.name: str | None = table.table
        self.secret_names = tuple(str(name) for name in self._names)

    def check(self, letters: Alphabet, mac: hmac.HMAC | None) -> Checked:
        digester = Digester(mac, letters)
        watched = _watched(self.order, letters)
        watch = [digester.add, *(one.add for one in watched)]
        found = check_table(self._table, self._names, letters, watch=watch, progress=self._progress)
        _refuse(watched, self.secret_names)
        self._checked = found
        return Checked(found.rows, found.counts, digester.text)

    def release(self, mechanism: Mechanism, mac: hmac.HMAC | None, unsafe_seed: int | None) -> tuple[Any, str | None]:
        assert self._checked is not None, "a table is checked before it is released"
        digester = Digester(mac, mechanism.output_alphabet)
        shuffle = self.order == "shuffle"
        table = release_table(
            [(self._checked, mechanism)],
            self._out,
            stream=seeded_stream(unsafe_seed),
            overwrite=self._overwrite,
            after=[] if shuffle else [digester.add],
            progress=self._progress,
            shuffle=shuffle,
        )
        if shuffle and mac is not None:  # of the rows in the order in which they stand now
            check_table(table, self._names, plain_alphabet(mechanism.output_alphabet), watch=[digester.add])
        return table, digester.text
