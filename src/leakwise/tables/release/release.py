"""The release: every value of a secret column replaced by an outcome of the mechanism."""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeVar, cast

from leakwise.errors import InvalidInput
from leakwise.mechanism import AnyMechanism, Mechanism, SetMechanism, StratifiedMechanism
from leakwise.tables.databases.sql_table import SqlTable
from leakwise.tables.formats import is_path
from leakwise.tables.kinds.batches import Batches
from leakwise.tables.kinds.streams import is_reader
from leakwise.tables.memo.draws import memo_of
from leakwise.tables.memo.key import MemoKey
from leakwise.tables.release.arrow_streams import release_reader
from leakwise.tables.release.certain_values import warn_of_certainty
from leakwise.tables.release.draw import seeded_stream
from leakwise.tables.release.exchange import refuse_given_secrets, refuse_roles
from leakwise.tables.release.file import Progress, refuse_partition
from leakwise.tables.release.paths import file_of, refuse_same_files
from leakwise.tables.release.row_order import RowOrder, check_order, warn_of_order
from leakwise.tables.release.secret_columns import Secret, secrets_of
from leakwise.tables.release.sources import open_source
from leakwise.tables.strata.release import refuse_strata, warn_of_others, warn_of_readable_strata, warn_of_strange

__all__ = ["release", "warn_of_secrets"]

Data = TypeVar("Data")


def release(
    data: Data,
    mechanism: AnyMechanism | Mapping[Any, AnyMechanism],
    column: Hashable = None,
    *,
    out: str | os.PathLike[str] | SqlTable | None = None,
    overwrite: bool = False,
    order: str | None = None,
    memo: MemoKey | str | os.PathLike[str] | None = None,
    person: Hashable = None,
    progress: Progress | None = None,
    unsafe_seed: int | None = None,
) -> Data:
    """Randomize the secret columns of a table; its kind, its rows and its other columns stay as they are.

    Every value is replaced by an outcome drawn from its row of the mechanism, independently and exactly (integers over
    a power of two), from the operating system's randomness. All values are checked before the first draw. No prior is
    known here: a :class:`leakwise.CertaintyWarning` says where an outcome of the mechanism can come from one value
    alone, so that rows can be read. :func:`leakwise.protect` knows the prior, and refuses more than that.

    Parameters
    ----------
    data
        A column (list, tuple, NumPy array, pandas or polars Series, pyarrow array) or a table (pandas or polars
        DataFrame, polars LazyFrame, pyarrow Table, RecordBatch or Dataset, mapping from names to columns). Or the path
        of a file (CSV, TSV, Parquet, Arrow, JSON lines, Stata, SPSS; of text also compressed, ``.csv.gz``), or its
        address (``s3://bucket/survey.csv``), of a folder of files (names such as ``country=DE`` inside are columns of
        the table), or a pattern (``"data/*.csv"``); it is read and written in batches, and ``out`` is returned. Or a
        table of a database (:class:`SqlTable`), likewise. Or anything else that gives its rows in Arrow
        (``__arrow_c_stream__``), such as a DuckDB relation. With ``out``, a LazyFrame, a Dataset and the like are read
        once into a private temporary file, and memory does not grow with the rows; without it they are taken into
        memory, since running a plan twice would release twice, and an Arrow table (a LazyFrame for a LazyFrame) comes
        back. Of a pyarrow RecordBatchReader another one comes back, which draws as it is read, once. Batches of any
        other engine go through :func:`leakwise.batches`.
    mechanism
        A Mechanism whose inputs are the values that can occur; or a mapping from columns to mechanisms. A tuple of
        columns (that is not itself the name of a column) is a joint secret: the inputs and outputs of its mechanism are
        tuples with a value for each. Numbers may be binned by ``lw.bins``; what is released are bins. Or a
        StratifiedMechanism: each row is drawn for by the mechanism of its stratum, given columns that are binned go out
        as bins, and the secret is the mechanism's own unless ``column`` names another. The guarantee is for anyone who
        sees the given columns beside the outcome: drop other columns that go with the secret first. In a mapping, a
        mechanism that is by the column of an earlier secret is by its outcomes.
    column
        The secret column of a table, or a tuple of columns.
    out
        Where the released file goes; its name says of which kind it is. Of the source's own kind, it keeps every byte
        that is not exchanged, or the types and the compression; into another kind every value is converted without
        loss (a column of texts becomes numbers or dates only where they are written the one way those are). A table of
        a database goes into a database of the same kind; PostgreSQL takes and gives files, too. All are written
        atomically; Parquet and Arrow files contain their mechanism in the metadata, tables of PostgreSQL in a comment.
    overwrite
        Whether a file that exists already may be replaced.
    order
        The order of the rows, which reveals the secret where the table was sorted or split by it. Left out, they keep
        their order (a view of a database has none: its rows are shuffled), and a :class:`leakwise.RowOrderWarning` says
        so when a test finds that it reveals the secret. ``"shuffle"`` puts them into a random order, all orders equally
        likely; a pandas index is numbered again. ``"keep"`` keeps their order without a test.
    memo, person
        A key file (:class:`leakwise.MemoKey`), and the column that says whose row it is: the draw is then a function
        of the key, the columns, the mechanism, the person and the value, so that releasing an unchanged value again
        tells nothing new. Ids are texts or whole numbers: 7 and "7" are one person, "07" is another.
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
    >>> out["name"]
    ['Ada', 'Bo', 'Cy']
    """
    stream = seeded_stream(unsafe_seed)
    check_order(order)
    if is_reader(data) and out is None:
        reader = cast(Any, data)
        read = secrets_of(reader.schema.names, mechanism, column)
        _refuse_unlisted(read, True)
        warn_of_secrets(reader.schema.names, read, stacklevel=2)
        drawn = [name for one in read for name in one.names]
        kept = memo_of(memo, person, reader.schema.names, drawn, unsafe_seed)
        return cast(Data, release_reader(reader, read, stream, order, kept))
    source = open_source(data, out, overwrite=overwrite, progress=progress, order=order)
    secrets = secrets_of(source.names, mechanism, column)
    drawn = [name for one in secrets for name in one.names]
    refuse_partition((data, out), drawn)
    elsewhere = out is not None or is_path(data) or isinstance(data, (SqlTable, Batches)) or memo is not None
    _refuse_unlisted(secrets, elsewhere)
    source.memo = memo_of(memo, person, source.names, drawn, unsafe_seed)
    refuse_same_files({"memo": None if source.memo is None else source.memo.key.path}, {"out": file_of(out)})
    warn_of_secrets(source.names or (), secrets, stacklevel=2)
    every = {name for one in secrets for name in one.names}
    chained = any(every.intersection(getattr(one.mechanism, "given", ())) for one in secrets)
    for one in secrets:
        chosen = one.mechanism
        watched = RowOrder(chosen.inputs) if source.order is None and isinstance(chosen, Mechanism) else None
        watch = [] if watched is None else [watched.add]
        if isinstance(chosen, StratifiedMechanism):
            strict = chosen.otherwise is None
            seen = source.check(one.names, chosen.input_alphabet, watch, chosen.given_columns, strict=strict)
            refuse_strata(seen.strata or {}, chosen)
            if seen.rows and not seen.strata and len(chosen):
                warn_of_strange(chosen.given, chosen, stacklevel=3)
        else:
            seen = source.check(one.names, chosen.input_alphabet, watch)
        if (found := watched or seen.order) is not None:
            warn_of_order(found, " and ".join(map(repr, one.names)) or "the secret", stacklevel=2)
        if chained:  # later ones are drawn by outcomes of this one
            source.draw(one.mechanism, stream)
    if source.memo is not None:
        source.memo.check(source.plain(person), stacklevel=2)
    return cast(Data, source.release([one.mechanism for one in secrets], stream))


def _refuse_unlisted(secrets: Sequence[Secret], elsewhere: bool) -> None:
    """Refuse sets that nobody listed where a list of the outcomes is needed."""
    for one in secrets:
        if isinstance(one.mechanism, SetMechanism) and (elsewhere or len(one.names) > 1):
            raise InvalidInput(
                f"The mechanism has outcomes that are too many to list ({one.mechanism}). It releases one column at a "
                "time, in memory and without a memo: read the table first, or use lw.catalog.optimized_local_hashing, "
                "whose outcomes are few."
            )


def warn_of_secrets(known: Sequence[Hashable], secrets: Sequence[Secret], stacklevel: int) -> None:
    """Warn of what can be known to reveal more than it should, without a look at the rows."""
    drawn = [name for one in secrets for name in one.names]
    refuse_roles(drawn, refuse_given_secrets([(one.names, one.mechanism) for one in secrets]))
    for one in secrets:
        if isinstance(one.mechanism, StratifiedMechanism):
            warn_of_others(known, drawn, one.mechanism, stacklevel=stacklevel + 1)
            warn_of_readable_strata(one.names, one.mechanism, stacklevel=stacklevel + 1)
        else:
            warn_of_certainty([(one.names, one.mechanism)], stacklevel=stacklevel + 1)
