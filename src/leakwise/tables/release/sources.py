"""What is to be released, in memory, in a file or in a database: opened once, checked first, released later."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from leakwise.alphabet import Alphabet, Bins, GivenColumns
from leakwise.errors import InvalidInput
from leakwise.mechanism import AnyMechanism
from leakwise.tables.address import refuse_address
from leakwise.tables.databases.sql_table import SqlTable, check_table, refuse_place, refuse_table, release_table
from leakwise.tables.formats import TableFile, is_path, open_table
from leakwise.tables.formats.carried_mechanism import KEY, Carried, metadata_of, pack
from leakwise.tables.formats.remote import Upload, uri_of
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.batches import Batches, DrawnBatches, refuse_engines
from leakwise.tables.kinds.joint_columns import encode_columns, plain_alphabet
from leakwise.tables.kinds.streams import in_a_file, rows_at_hand
from leakwise.tables.memo.draws import Memo
from leakwise.tables.release.checking import Encoded, RowBeside, RowCheck, StrataCounts
from leakwise.tables.release.exchange import Exchanger, Look, Watch
from leakwise.tables.release.file import (
    Progress,
    check_file,
    refuse_columns,
    refuse_partition,
    refuse_target,
    release_file,
)
from leakwise.tables.release.secret_columns import check_data
from leakwise.tables.source import Checked, Opened, Source
from leakwise.tables.strata.columns_in_memory import ColumnsInMemory, encode_held, labels_of, listed, shown_held
from leakwise.tables.strata.drawn_columns import DrawnColumns
from leakwise.tables.strata.rows import read_table
from leakwise.types import Array

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = ["Checked", "Source", "open_source"]


def open_source(
    data: Any,
    out: str | os.PathLike[str] | SqlTable | None,
    *,
    overwrite: bool,
    progress: Progress | None,
    order: str | None,
    drop: Sequence[Hashable] = (),
    coarsen: Mapping[Any, Bins] | None = None,
) -> Source:
    """Return the data, with everything refused that can be without reading its rows."""
    if isinstance(data, Opened):
        return cast(Source, data)
    refuse_engines(data)
    if isinstance(data, Batches) and not overwrite:
        data = in_a_file(data)
    if isinstance(data, TableFile) and data.in_batches and out is None and not overwrite:
        return _Stored(data, DrawnBatches(), False, progress, order, drop, coarsen or {})
    if (is_path(out) or isinstance(out, SqlTable)) and not is_path(data) and not isinstance(data, SqlTable):
        data = in_a_file(data)
    if isinstance(data, SqlTable) and data.on_server and is_path(out):
        from leakwise.tables.databases.server_table import ServerTable

        order = data.order(order)
        data = ServerTable(data)
    if is_path(data) or isinstance(data, SqlTable):
        return _Stored(data, out, overwrite, progress, order, drop, coarsen or {})
    if out is not None or overwrite:
        given = f"out={out!r}" if out is not None else f"overwrite={overwrite!r}"
        raise InvalidInput(
            f"overwrite and out must be left out for {type(data).__name__} in memory, which is returned. Got {given}. "
            "For a file give its path; out takes what is a table in Arrow, too."
        )
    return _InMemory(rows_at_hand(data), order, drop, coarsen or {})


class _InMemory:
    late = False
    name: str | None = None
    closed: bool = False
    memo: Memo | None = None
    watch_given: Callable[[Mapping[Hashable, Array]], None] | None = None
    written: bool = False

    def __init__(self, data: Any, order: str | None, drop: Sequence[Hashable], coarsen: Mapping[Any, Bins]) -> None:
        check_data(data, "data")
        self._given, self.order, self.drop, self.coarsen = data, order, drop, coarsen
        self.names: Sequence[Hashable] | None = None if frames.is_column(data) else frames.column_names(data)
        self._checked: list[Encoded] = []
        self._drawn = DrawnColumns()

    @cached_property
    def _held(self) -> Any:
        # A lazy table is collected once: run again, its plan could give other rows than were checked.
        return self._given if self.names is None else frames.hold(self._given)

    @property
    def table(self) -> Any:
        return self._held

    @cached_property
    def _columns(self) -> ColumnsInMemory:
        return ColumnsInMemory(self._held)

    def plain(self, name: Hashable) -> Iterator[Any]:
        yield self._columns.raw(name).column

    def row_labels(self) -> list[str]:
        return [] if self.order == "shuffle" else frames.index_columns(self._held)  # shuffled rows are numbered again

    def distinct(self, name: Hashable, most: int) -> list[Any] | None:
        if name in self.coarsen:
            bins = self.coarsen[name].with_missing()
            return labels_of(bins, [encode_held(self._columns.raw(name), bins, name=f"column {name!r}")])
        values = self._columns.values(name)
        return None if values is None else listed(values, most)

    def check(
        self,
        names: Sequence[Hashable],
        letters: Alphabet,
        watch: Sequence[Look] = (),
        given: GivenColumns | None = None,
        *,
        strict: bool = False,
    ) -> Checked:
        if self.names is not None:
            frames.check_names(self.names, [*self.drop, *self.coarsen, *(() if given is None else given.names)])
        columns = {name: frames.column_of(self._held, name) for name in names} or {None: self._held}
        codes = encode_columns(list(columns.values()), names or ("data",), letters, "inputs")
        bins = {*self.coarsen, *(() if given is None else given.coarse())}
        if self.order != "shuffle":  # shuffled rows are numbered again
            frames.check_row_labels(self._held, names or (getattr(self._held, "name", None),), codes, letters)
            if self.names is not None:
                frames.refuse_index_of(self._held, [*self.drop, *bins])
        beside = RowBeside(given, self.coarsen, strict, self.order is None, self._drawn, self.watch_given)
        check = RowCheck(tuple(columns), letters, encode=encode_held, watch=watch, beside=beside, shown=shown_held)
        check.add_codes(codes, self._columns.beside((name for name in check.reads if name not in columns), bins))
        strata = None if check.strata is None else check.strata.strata()
        self._checked.append(Encoded(columns, codes, len(letters), strata, check.order))
        return self._checked[-1]

    def tally(self, letters: Alphabet, given: GivenColumns, place: int = -1) -> StrataCounts:
        one = self._checked[place]
        beside = RowBeside(given, self.coarsen, drawn=self._drawn)
        check = RowCheck(tuple(one.columns), letters, encode=encode_held, beside=beside, shown=shown_held)
        others = (name for name in check.reads if name not in one.columns)
        check.add_codes(one.codes, self._columns.beside(others, {*self.coarsen, *given.coarse()}))
        assert check.strata is not None
        return check.strata.strata()

    def _beside(self, exchange: Exchanger, secret: Container[Hashable]) -> dict[Hashable, Any]:
        """The columns beside the secrets that are read to draw for them."""
        as_it_is = {*exchange.coarse, *([] if self.memo is None else [self.memo.person])}
        return self._columns.beside((name for name in exchange.reads if name not in secret), as_it_is)

    def draw(self, mechanism: AnyMechanism, stream: SecureStream | None) -> None:
        one, kept = self._checked[len(self._drawn)], list[Array]()
        names = tuple(one.columns)
        exchange = Exchanger(
            [(names, mechanism)],
            encode=encode_held,
            stream=stream,
            after=[kept.append],
            memo=self.memo,
            plain=shown_held,
            drawn=self._drawn,
        )
        exchange.draw([one.codes], self._beside(exchange, names))
        self._drawn.add(names, mechanism.output_alphabet, one.codes, kept[0])

    def release(
        self, mechanisms: Sequence[AnyMechanism], stream: SecureStream | None, after: Sequence[Watch] = ()
    ) -> Any:
        secrets = [(tuple(one.columns), each) for one, each in zip(self._checked, mechanisms, strict=True)]
        drawn: list[Array] = []
        exchange = Exchanger(
            secrets,
            encode=encode_held,
            stream=stream,
            after=[drawn.append for _ in after],
            coarsen=self.coarsen,
            drop=self.drop,
            memo=self.memo,
            plain=shown_held,
            drawn=self._drawn,
            unlisted=True,
        )
        before = metadata_of(self._held)
        seeded = stream is not None and stream.seeded
        carried = pack([Carried(*one) for one in secrets], before, unsafe_seed=seeded) if before else {}
        columns = {name: column for one in self._checked for name, column in one.columns.items()}
        new = exchange.draw([one.codes for one in self._checked], self._beside(exchange, columns))
        released = {
            name: frames.decode(codes, _shown(codes, labels) if name in exchange.coarse else labels, like)
            for name, (codes, labels) in new.items()
            for like in [columns[name] if name in columns else self._columns.raw(name).column]
        }
        table = released[None] if self.names is None else frames.with_columns(self._held, released, self.drop)
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


def _shown(codes: Array, labels: Sequence[Any]) -> Sequence[Any]:
    """The names of bins, without the place of missing values after them where there are none."""
    return labels[:-1] if codes.max(initial=0) < len(labels) - 1 else labels


class _Stored:
    """A table in a file or in a database: read in batches, whole before anything is drawn, and again to be written."""

    late = False

    def __init__(
        self,
        data: Any,
        out: Any,
        overwrite: bool,
        progress: Progress | None,
        order: str | None,
        drop: Sequence[Hashable],
        coarsen: Mapping[Any, Bins],
    ) -> None:
        self.drop, self.coarsen, self.closed, self.written = drop, coarsen, False, False
        self._upload: Upload | DrawnBatches | None = None
        self.memo: Memo | None = None
        self.watch_given: Callable[[Mapping[Hashable, Array]], None] | None = None
        self.name: str | None
        self.names: Sequence[Hashable] | None
        self._table: TableFile | SqlTable
        self._check: Callable[..., Any]
        self._write: Callable[..., Any]
        if isinstance(data, SqlTable):
            refuse_table(data, out, overwrite=overwrite)
            data = data.at_one_moment()
            self._check, self._write, self._table, self._out = check_table, release_table, data, out
            self.name, self.names, self.order = data.table, data.names, data.order(order)
        else:
            if out is None:
                raise InvalidInput(
                    f"out must be given: the path of the file that the release of {str(Path(data))!r} is written to."
                )
            table = open_table(data, "data")
            self._check, self._write, self._table = check_file, release_file, table
            self.name, self.names, self.order = table.title, table.names, order
            if isinstance(out, SqlTable):
                if not out.on_server:
                    raise InvalidInput(
                        f"out must be a file, as {str(Path(data))!r} is, or a table of PostgreSQL. Got {out!r}. Import "
                        "the released file afterwards."
                    )
                self._out, self.order = out, out.order(order)
                refuse_place(out, overwrite=overwrite)
            else:
                if isinstance(out, DrawnBatches):
                    self._upload = out
                else:
                    refuse_address(out, "out")
                    self._upload = None if (uri := uri_of(out)) is None else Upload(uri, overwrite=overwrite)
                self._out = Path(out) if self._upload is None else self._upload.file
                refuse_target(table, self._out, overwrite=overwrite)
        self._overwrite, self._progress = overwrite, progress
        self._checked: list[Any] = []
        self._drawn = DrawnColumns()

    @property
    def table(self) -> Any:
        return self._table

    def plain(self, name: Hashable) -> Iterator[Any]:
        for batch in self._table.batches([str(name)]):
            yield self._table.plain(batch[str(name)])

    def row_labels(self) -> list[str]:
        return []  # in a file they are columns

    def distinct(self, name: Hashable, most: int) -> list[Any] | None:
        frames.check_names(self._table.names, [name], repr(str(self._table.path)))
        columns = (batch[str(name)] for batch in self._table.batches([str(name)]))
        if name in self.coarsen:
            bins = self.coarsen[name].with_missing()
            return labels_of(bins, (self._table.encode(one, bins, name=f"column {name!r}") for one in columns))
        values: dict[Any, None] = {}
        for column in columns:
            try:
                values.update(dict.fromkeys(self._table.distinct(column)[0]))
            except InvalidInput:  # it contains lists or the like
                return None
            if len(values) > most:
                return None
        return listed(values, most)

    def check(
        self,
        names: Sequence[Hashable],
        letters: Alphabet,
        watch: Sequence[Look] = (),
        given: GivenColumns | None = None,
        *,
        strict: bool = False,
    ) -> Checked:
        frames.check_names(self._table.names, [*self.drop, *self.coarsen], repr(str(self._table.path)))
        if isinstance(self._table, TableFile):
            refuse_partition(self._table.files, names)
            refuse_columns(self._table, self._out, [*names, *self.drop, *self.coarsen])
        beside = RowBeside(given, self.coarsen, strict, self.order is None, self._drawn, self.watch_given)
        found: Checked = self._check(self._table, names, letters, watch=watch, progress=self._progress, beside=beside)
        self._checked.append(found)
        return found

    def tally(self, letters: Alphabet, given: GivenColumns, place: int = -1) -> StrataCounts:
        beside = RowBeside(given, self.coarsen, drawn=self._drawn)
        found: Checked = self._check(self._table, self._checked[place].names, letters, beside=beside)
        assert found.strata is not None
        return found.strata

    def draw(self, mechanism: AnyMechanism, stream: SecureStream | None) -> None:
        one, before, after = self._checked[len(self._drawn)], list[Array](), list[Array]()
        if isinstance(self._table, SqlTable) and self._table.is_view:
            raise InvalidInput(
                f"{self._table} is a view, whose rows may come in another order each time that they are read: several "
                "secrets cannot be released from it. Make a table of it first."
            )
        exchange = Exchanger(
            [(one.names, mechanism)],
            encode=self._table.encode,
            stream=stream,
            before=[before.append],
            after=[after.append],
            memo=self.memo,
            plain=self._table.plain,
            drawn=self._drawn,
        )
        for batch in read_table(self._table).batches(exchange.reads):
            exchange(batch)
        self._drawn.add(one.names, mechanism.output_alphabet, np.concatenate(before), np.concatenate(after))

    def release(
        self, mechanisms: Sequence[AnyMechanism], stream: SecureStream | None, after: Sequence[Watch] = ()
    ) -> Any:
        secrets = list(zip(self._checked, mechanisms, strict=True))
        shuffle = self.order == "shuffle"
        if isinstance(self._table, TableFile):
            self._table.closed = self.closed
        done = self._write(
            secrets,
            self._out,
            stream=stream,
            overwrite=self._overwrite,
            after=() if shuffle else after,
            progress=self._progress,
            shuffle=shuffle,
            coarsen=self.coarsen,
            drop=self.drop,
            memo=self.memo,
            drawn=self._drawn,
        )
        self.written = True
        if shuffle:
            for (one, mechanism), each in zip(secrets, after, strict=False):
                outcomes = plain_alphabet(mechanism.output_alphabet)
                again: Callable[..., Any] = check_table if isinstance(done, SqlTable) else check_file
                again(done, one.names, outcomes, what="outputs", watch=[lambda codes, _, see=each: see(codes)])
        return done if self._upload is None else self._upload.put()
