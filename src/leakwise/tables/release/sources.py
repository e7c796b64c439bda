"""What is to be released, in memory, in a file or in a database: opened once, checked first, released later."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from leakwise.alphabet import Alphabet
from leakwise.errors import InvalidInput
from leakwise.mechanism import Mechanism
from leakwise.tables.databases.sql_table import SqlTable, check_table, refuse_table, release_table
from leakwise.tables.formats import TableFile, is_path, open_table
from leakwise.tables.formats.carried_mechanism import KEY, Carried, metadata_of, pack
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.joint_columns import encode_columns, plain_alphabet
from leakwise.tables.release.arrow_streams import without_relation
from leakwise.tables.release.exchange import Exchanger, Look, Watch
from leakwise.tables.release.file import Progress, check_file, counted, refuse_target, release_file
from leakwise.tables.release.secret_columns import check_data
from leakwise.types import Array, Counts

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["Checked", "Source", "open_source"]


class Checked(Protocol):
    """What a check saw: how often each letter occurs, which stays private."""

    @property
    def rows(self) -> int:
        """How many rows there are."""

    @property
    def counts(self) -> Counts:
        """How often each letter occurs."""


class Source(Protocol):
    """Data whose secrets are to be released."""

    name: str | None
    names: Sequence[Hashable] | None
    """The columns that there are; None for a bare column."""
    order: str | None
    """``"keep"`` or ``"shuffle"``; None where the user has not chosen, and a test is to look at the order."""

    def check(self, names: Sequence[Hashable], letters: Alphabet, watch: Sequence[Look] = ()) -> Checked:
        """Read a secret whole and refuse values that were not declared; ``watch`` sees its codes go by."""

    def release(self, mechanisms: Sequence[Mechanism], stream: SecureStream | None, after: Sequence[Watch] = ()) -> Any:
        """Draw for the secrets, in the order in which they were checked, and give back the released table.

        ``after`` sees the drawn codes of the first, second, … secret in the order in which the rows stand now.
        """


def open_source(
    data: Any,
    out: str | os.PathLike[str] | SqlTable | None,
    *,
    overwrite: bool,
    progress: Progress | None,
    order: str | None,
) -> Source:
    """Return the data, with everything refused that can be without reading its rows."""
    if is_path(data) or isinstance(data, SqlTable):
        return _Stored(data, out, overwrite, progress, order)
    if out is not None or overwrite:
        given = f"out={out!r}" if out is not None else f"overwrite={overwrite!r}"
        raise InvalidInput(
            f"overwrite and out must be left out for a table in memory, which is returned. Got {given}. For a file "
            "give its path."
        )
    return _InMemory(without_relation(data), order)


@dataclass(frozen=True)
class _Encoded:
    """The columns of a secret in memory, and its codes. A bare column has no name."""

    columns: dict[Hashable, Any]
    codes: Array
    letters: int

    @property
    def rows(self) -> int:
        return self.codes.size

    @property
    def counts(self) -> Counts:
        return counted(self.codes, self.letters)


class _InMemory:
    name: str | None = None

    def __init__(self, data: Any, order: str | None) -> None:
        check_data(data, "data")
        self._given, self.order = data, order
        self.names: Sequence[Hashable] | None = None if frames.is_column(data) else frames.column_names(data)
        self._checked: list[_Encoded] = []

    @cached_property
    def _held(self) -> Any:
        # A lazy table is collected once: run again, its plan could give other rows than were checked.
        return self._given if self.names is None else frames.hold(self._given)

    def check(self, names: Sequence[Hashable], letters: Alphabet, watch: Sequence[Look] = ()) -> Checked:
        columns = {name: frames.column_of(self._held, name) for name in names} or {None: self._held}
        codes = encode_columns(list(columns.values()), names or ("data",), letters, "inputs")
        if self.order != "shuffle":  # shuffled rows are numbered again
            frames.check_row_labels(self._held, names or (getattr(self._held, "name", None),), codes, letters)
        for each in watch:
            each(codes, None)
        self._checked.append(_Encoded(columns, codes, len(letters)))
        return self._checked[-1]

    def release(self, mechanisms: Sequence[Mechanism], stream: SecureStream | None, after: Sequence[Watch] = ()) -> Any:
        secrets = [(tuple(one.columns), each) for one, each in zip(self._checked, mechanisms, strict=True)]
        drawn: list[Array] = []
        exchange = Exchanger(secrets, stream=stream, after=[drawn.append for _ in after])
        before = metadata_of(self._held)
        seeded = stream is not None and stream.seeded
        carried = pack([Carried(*one) for one in secrets], before, unsafe_seed=seeded) if before else {}
        columns = {name: column for one in self._checked for name, column in one.columns.items()}
        new = exchange.draw(one.codes for one in self._checked)
        released = {name: frames.decode(codes, labels, columns[name]) for name, (codes, labels) in new.items()}
        table = released[None] if self.names is None else frames.with_columns(self._held, released)
        if before:
            # An Arrow table that was released before says so still, and how it was released since.
            kept = {key: told for key, told in (table.schema.metadata or {}).items() if key != KEY}
            table = table.replace_schema_metadata({**kept, **carried})
        if self.order == "shuffle":
            from leakwise.sampling import random_order  # the cipher is loaded when someone draws

            places = random_order(self._checked[0].rows, stream)
            table, drawn = frames.take(table, places), [codes[places] for codes in drawn]
        for each, codes in zip(after, drawn, strict=True):
            each(codes)
        return table if self.names is None else frames.give_back(table, self._given)


class _Stored:
    """A table in a file or in a database: read in batches, whole before anything is drawn, and again to be written."""

    def __init__(self, data: Any, out: Any, overwrite: bool, progress: Progress | None, order: str | None) -> None:
        self.name: str | None
        self.names: Sequence[Hashable] | None
        self._table: TableFile | SqlTable
        self._check: Callable[..., Any]
        self._write: Callable[..., Any]
        if isinstance(data, SqlTable):
            self._check, self._write, self._table, self._out = check_table, release_table, data, out
            self.name, self.names, self.order = data.table, data.names, data.order(order)
            refuse_table(data, out, overwrite=overwrite)
        else:
            if out is None:
                raise InvalidInput(
                    f"out must be given: the path of the file that the release of {str(Path(data))!r} is written to."
                )
            if isinstance(out, SqlTable):
                raise InvalidInput(
                    f"out must be a file like {str(Path(data))!r}. Got a table of a database. Import it afterwards."
                )
            table = open_table(data, "data")
            self._check, self._write, self._table, self._out = check_file, release_file, table, Path(out)
            self.name, self.names, self.order = table.path.name, table.names, order
            refuse_target(table.path, self._out, overwrite=overwrite)
        self._overwrite, self._progress = overwrite, progress
        self._checked: list[Any] = []

    def check(self, names: Sequence[Hashable], letters: Alphabet, watch: Sequence[Look] = ()) -> Checked:
        found: Checked = self._check(self._table, names, letters, watch=watch, progress=self._progress)
        self._checked.append(found)
        return found

    def release(self, mechanisms: Sequence[Mechanism], stream: SecureStream | None, after: Sequence[Watch] = ()) -> Any:
        secrets = list(zip(self._checked, mechanisms, strict=True))
        shuffle = self.order == "shuffle"
        done = self._write(
            secrets,
            self._out,
            stream=stream,
            overwrite=self._overwrite,
            after=() if shuffle else after,
            progress=self._progress,
            shuffle=shuffle,
        )
        if shuffle:
            for (one, mechanism), each in zip(secrets, after, strict=False):
                outcomes = plain_alphabet(mechanism.output_alphabet)
                self._check(done, one.names, outcomes, what="outputs", watch=[lambda codes, _, see=each: see(codes)])
        return done
