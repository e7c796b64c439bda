"""The release: every value of a secret column replaced by an outcome of the mechanism."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from leakwise.errors import InvalidInput, some_of
from leakwise.mechanism import Mechanism
from leakwise.tables.databases.sql_table import SqlTable, check_table, refuse_table, release_table
from leakwise.tables.formats import is_path, open_table
from leakwise.tables.formats.carried_mechanism import KEY, Carried, metadata_of, pack
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.joint_columns import decode_parts, encode_columns, parts_of
from leakwise.tables.release.arrow_streams import is_reader, release_reader, without_relation
from leakwise.tables.release.draw import draw_codes, seeded_stream
from leakwise.tables.release.file import Progress, Watch, check_file, refuse_partition, refuse_target, release_file
from leakwise.tables.release.row_order import RowOrder, check_order, warn_of_order

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream

__all__ = [
    "Secret",
    "check_data",
    "check_mechanism",
    "columns_among",
    "columns_named",
    "release",
    "secrets_of",
]

Data = TypeVar("Data")


@dataclass(frozen=True)
class Secret:
    """One column, or several released together, and the mechanism for it. A bare column has no name."""

    names: tuple[Hashable, ...]
    mechanism: Mechanism


def release(
    data: Data,
    mechanism: Mechanism | Mapping[Any, Mechanism],
    column: Hashable = None,
    *,
    out: str | os.PathLike[str] | SqlTable | None = None,
    overwrite: bool = False,
    order: str | None = None,
    progress: Progress | None = None,
    unsafe_seed: int | None = None,
) -> Data:
    """The same data with its secret columns randomised: the same kind of table, rows and other columns untouched.

    Every value is replaced by an outcome drawn from its row of the mechanism, independently and exactly (integers over
    a power of two), from the operating system's randomness. All values are checked before the first draw.

    Parameters
    ----------
    data
        A column (list, tuple, NumPy array, pandas or polars Series, pyarrow array) or a table (pandas or polars
        DataFrame, polars LazyFrame, pyarrow Table or RecordBatch, mapping from names to columns). A LazyFrame
        is collected: its draw is made once and now, since running a plan twice would release twice. Or the path of a
        file (CSV, TSV, Parquet, Arrow, JSON lines), which is read and written in batches; the path ``out`` is returned.
        Or a table of a database (:class:`SqlTable`), likewise. Of a DuckDB relation an Arrow table comes back; of a
        pyarrow RecordBatchReader another one, which draws as it is read, once.
    mechanism
        A Mechanism whose inputs are the values that can occur; or a mapping from columns to mechanisms. A tuple of
        columns (that is not itself the name of a column) is a joint secret: the inputs and outputs of its mechanism are
        tuples with a value for each. Numbers may be the letters of ``lw.bins``; what is released are bins.
    column
        The secret column of a table, or a tuple of columns.
    out
        Where the released file (or table of a database) goes, of the same kind as the source. It appears when it is
        whole; Parquet and Arrow files carry their mechanism in the metadata.
    overwrite
        Whether a file that stands there already may be replaced.
    order
        The order of the rows, which tells the secret where the table was sorted or split by it. Left out, they keep
        their order (a view of a database has none: its rows are shuffled), and a :class:`leakwise.RowOrderWarning` says
        so when a test finds that it tells the secret. ``"shuffle"`` puts them into a random order, all orders equally
        likely; a pandas index is numbered again. ``"keep"`` keeps their order without a test.
    progress
        For files: called with the stage, the rows done and the rows there are (None where unknown).
    unsafe_seed
        Makes the draws repeatable, for tests only: anyone who knows the seed can undo the release. It warns, and the
        metadata of a released file says so.

    Examples
    --------
    >>> from leakwise.mechanism import randomized_response
    >>> m = randomized_response(["no", "yes"], lift=3)
    >>> table = {"name": ["Ada", "Bo", "Cy"], "smokes": ["no", "yes", "no"]}
    >>> out = release(table, m, column="smokes", unsafe_seed=4)
    >>> out["name"], set(out["smokes"]) <= {"no", "yes"}
    (['Ada', 'Bo', 'Cy'], True)
    """
    stream = seeded_stream(unsafe_seed)
    check_order(order)
    if is_path(data):
        written = _release_path(Path(cast(str, data)), mechanism, column, out, overwrite, order, progress, stream)
        return cast(Data, written)
    if isinstance(data, SqlTable):
        order = data.order(order)
        secrets = secrets_of(data.names, mechanism, column)
        refuse_table(data, out, overwrite=overwrite)
        watched = _watched(secrets, order)
        tables = [
            (check_table(data, one.names, one.mechanism.input_alphabet, watch=watch, progress=progress), one.mechanism)
            for one, watch in zip(secrets, _watches(watched, secrets), strict=True)
        ]
        _warn(secrets, watched)
        options: dict[str, Any] = {"overwrite": overwrite, "progress": progress, "shuffle": order == "shuffle"}
        return cast(Data, release_table(tables, cast(SqlTable, out), stream=stream, **options))
    if is_reader(data) and out is None:
        reader = cast(Any, data)
        return cast(Data, release_reader(reader, secrets_of(reader.schema.names, mechanism, column), stream, order))
    data = without_relation(data)
    check_data(data, "data")
    if out is not None or overwrite:
        raise InvalidInput(
            f"out must be left out for a table in memory, which is handed back. Got out={out!r}. For a file give its "
            "path."
        )
    if frames.is_column(data):
        _refuse_column(column, mechanism)
        chosen = check_mechanism(mechanism)
        codes = encode_columns([data], ["data"], chosen.input_alphabet, "inputs")
        frames.check_row_labels(data, [getattr(data, "name", None)], codes, chosen.input_alphabet)
        secrets = [Secret((), chosen)]
        for seen in (watched := _watched(secrets, order)):
            seen.add(codes)
        _warn(secrets, watched)
        drawn = draw_codes(codes, chosen.sampler, stream)
        result: Data = frames.decode(drawn, chosen.outputs, data)
        return _shuffled(result, codes.size, stream) if order == "shuffle" else result
    secrets = secrets_of(frames.column_names(data), mechanism, column)
    held = frames.hold(data)
    columns = {name: frames.column_of(held, name) for secret in secrets for name in secret.names}
    # Everything that can go wrong goes wrong here: labels, values, a mechanism that cannot be drawn from exactly.
    encoded = []
    for secret in secrets:
        given = [columns[name] for name in secret.names]
        codes = encode_columns(given, secret.names, secret.mechanism.input_alphabet, "inputs")
        frames.check_row_labels(held, secret.names, codes, secret.mechanism.input_alphabet)
        if len(secret.names) > 1:
            parts_of(secret.mechanism.output_alphabet, secret.names, "outputs")
        encoded.append((secret, codes, secret.mechanism.sampler))
    for seen, (_, codes, _) in zip(watched := _watched(secrets, order), encoded, strict=False):
        seen.add(codes)
    _warn(secrets, watched)
    before = metadata_of(held)
    carried = pack([Carried(one.names, one.mechanism) for one in secrets], before) if before else {}
    released: dict[Hashable, Any] = {}
    for secret, codes, sampler in encoded:
        drawn = draw_codes(codes, sampler, stream)
        if len(secret.names) == 1:
            name = secret.names[0]
            released[name] = frames.decode(drawn, secret.mechanism.outputs, columns[name])
            continue
        parts = decode_parts(drawn, secret.mechanism.output_alphabet, secret.names)
        for name, (labels, part_codes) in zip(secret.names, parts, strict=True):
            released[name] = frames.decode(part_codes, labels, columns[name])
    table = frames.with_columns(held, released)
    if before:
        # An Arrow table that was released before says so still, and how it was released since.
        kept = {key: told for key, told in (table.schema.metadata or {}).items() if key != KEY}
        table = table.replace_schema_metadata({**kept, **carried})
    if order == "shuffle":
        table = _shuffled(table, encoded[0][1].size, stream)
    whole: Data = frames.give_back(table, data)
    return whole


def _watched(secrets: Sequence[Secret], order: str | None) -> list[RowOrder]:
    """What is to see the codes of each secret go by, where the user has not chosen the order."""
    return [] if order is not None else [RowOrder(one.mechanism.inputs) for one in secrets]


def _watches(watched: Sequence[RowOrder], secrets: Sequence[Secret]) -> list[list[Watch]]:
    return [[one.add] for one in watched] if watched else [[] for _ in secrets]


def _warn(secrets: Sequence[Secret], watched: Sequence[RowOrder], stacklevel: int = 3) -> None:
    for one, seen in zip(secrets, watched, strict=False):
        warn_of_order(seen, " and ".join(map(repr, one.names)) or "the secret", stacklevel=stacklevel)


def _shuffled(data: Any, rows: int, stream: SecureStream | None) -> Any:
    from leakwise.sampling import random_order  # the cipher is loaded when somebody draws

    return frames.take(data, random_order(rows, stream))


def _release_path(
    source: Path,
    mechanism: Any,
    column: Hashable,
    out: Any,
    overwrite: bool,
    order: str | None,
    progress: Progress | None,
    stream: SecureStream | None,
) -> Path:
    if out is None:
        raise InvalidInput(
            f"out must be given: the path of the file that the release of {str(source)!r} is written to."
        )
    if isinstance(out, SqlTable):
        raise InvalidInput(f"out must be a file like {str(source)!r}. Got a table of a database. Import it afterwards.")
    names = open_table(source, "data").names
    secrets = secrets_of(names, mechanism, column)
    refuse_target(source, Path(out), overwrite=overwrite)
    refuse_partition((source, Path(out)), [name for one in secrets for name in one.names])
    watched = _watched(secrets, order)
    checked = [
        (check_file(source, one.names, one.mechanism.input_alphabet, watch=watch, progress=progress), one.mechanism)
        for one, watch in zip(secrets, _watches(watched, secrets), strict=True)
    ]
    _warn(secrets, watched, stacklevel=4)
    return release_file(checked, out, stream=stream, overwrite=overwrite, progress=progress, shuffle=order == "shuffle")


def secrets_of(known: Sequence[Hashable], mechanism: Any, column: Hashable) -> list[Secret]:
    """Return which columns go through which mechanism."""
    if isinstance(mechanism, Mapping):
        if column is not None:
            raise InvalidInput(
                f"column must be left out when the mechanisms are a mapping from columns. Got column={column!r}."
            )
        if not mechanism:
            raise InvalidInput("mechanism must name at least one column. Got an empty mapping.")
        secrets = [Secret(columns_among(known, key), check_mechanism(one)) for key, one in mechanism.items()]
    else:
        chosen = check_mechanism(mechanism)
        if column is None:
            raise InvalidInput(
                f"column must say which column of the table is the secret. The columns are {some_of(known, 12)}."
            )
        secrets = [Secret(columns_among(known, column), chosen)]
    named = [name for secret in secrets for name in secret.names]
    frames.check_names(known, named)
    if twice := {name for name in named if named.count(name) > 1}:
        raise InvalidInput(
            f"A column can be released once only. Named twice or more: {some_of(twice)}. Put columns that belong "
            "together into one joint mechanism."
        )
    return secrets


def columns_named(table: Any, column: Any) -> tuple[Hashable, ...]:
    """Return one column of a table, or those of a tuple (or list) that is not itself a name of a column."""
    return columns_among(frames.column_names(table), column)


def columns_among(known: Sequence[Hashable], column: Any) -> tuple[Hashable, ...]:
    """As :func:`columns_named`, with the names that there are."""
    if isinstance(column, list):
        column = tuple(column)
    if isinstance(column, tuple) and column not in known:
        if not column:
            raise InvalidInput("column must name at least one column. Got an empty tuple.")
        return column
    return (column,)


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


def _refuse_column(column: Hashable, mechanism: Any) -> None:
    if column is not None:
        raise InvalidInput(f"column must be left out when the data is a bare column. Got column={column!r}.")
    if isinstance(mechanism, Mapping):
        raise InvalidInput("A mapping from columns to mechanisms needs a table. The data is a bare column.")
