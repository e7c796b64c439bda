"""The release of a Spark DataFrame, from the driver's side: checked, written once by the executors, read back."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from leakwise.errors import InvalidInput, LeakwiseWarning, some_of
from leakwise.mechanism import AnyMechanism
from leakwise.spark.catalogs import home_of, register
from leakwise.spark.drafts import clear_abandoned
from leakwise.spark.drawing import drawn_frame, watched_frame
from leakwise.spark.failures import translation
from leakwise.spark.finished import quoted, released_rows, same_release
from leakwise.spark.order import check_order, in_random_order, key_names, merged, warn_of_order
from leakwise.spark.partitions import partition_columns, refuse_deciding
from leakwise.spark.places import place_of, temporary_place
from leakwise.spark.schemas import released_schema
from leakwise.spark.sessions import check_frame, setting
from leakwise.spark.writing import write_once
from leakwise.tables.formats.carried_mechanism import KEY, Carried, carried_secrets, choose_carried, pack
from leakwise.tables.release.exchange import Exchanger
from leakwise.tables.release.release import warn_of_secrets
from leakwise.tables.release.secret_columns import Secret, secrets_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["mechanism", "release"]

_COORDINATION = "spark.hadoop.outputCommitCoordination.enabled"


def release(
    df: DataFrame,
    mechanism: AnyMechanism | Mapping[Any, AnyMechanism],
    column: Hashable = None,
    *,
    path: str | os.PathLike[str] | None = None,
    table: str | None = None,
    partition_by: str | Sequence[str] | None = None,
    order: str | None = None,
) -> DataFrame:
    """Randomize the secret columns of a DataFrame on the executors, write the rows once, return what reads them.

    Every value is replaced by an outcome drawn from its row of the mechanism, independently and exactly, from the
    randomness of the executor's operating system, with a key of its own for every attempt of every task. The job runs
    now. Its rows are written as Parquet to a hidden draft beside ``path``, of each task the one attempt that Spark's
    commit coordinator lets through, and the draft is moved to ``path`` when all are there; what is returned reads these
    files. So retries, speculative tasks, lost executors, repeated evaluation and two jobs with one path show nobody a
    second draw. A value outside the declared domain, wherever it is found, stops the job, and nothing is left.

    Parameters
    ----------
    df
        A DataFrame of Spark or of Spark Connect.
    mechanism
        A Mechanism whose inputs are the values that can occur; or a mapping from columns to mechanisms, in which a
        tuple of columns is one joint secret, as for :func:`leakwise.release`. Or a StratifiedMechanism: each row is
        drawn for by the mechanism of its stratum, and given columns that are binned go out as bins.
    column
        The secret column, or a tuple of columns.
    path
        The folder to write to, in any file system that Spark knows. If it holds the finished release of the same table
        by the same mechanism, as after a restart, that one is returned with a warning, and nothing is drawn; anything
        else there is an error. Left out: the session's checkpoint directory, or on a single machine a temporary folder
        that goes when this process ends.
    table
        In place of a path: a table of Spark's own catalog, ``"database.released"``. Its rows go to its folder in the
        database as to a path, and its name is given when all of them are there. (``DROP TABLE`` leaves the files.)
    partition_by
        Columns by whose values the rows are put into folders, ``region=north``: neither a secret, nor what says it.
    order
        The partitions of a DataFrame and the order of their rows go out with them. Left out, both are tested first, and
        a warning says when they reveal the secret; ``"shuffle"`` writes the rows in a random order (and so twice);
        ``"keep"`` writes them as they are, untested.

    Notes
    -----
    No prior is known here: a :class:`leakwise.CertaintyWarning` says where one outcome of the mechanism can come from
    one value alone, so that rows can be read.

    A draft lies in ``.leakwise-<name>-…`` beside ``path`` while the job runs, and stays when the driver is killed. The
    next release to that path removes it. Let nobody read there who is to have the released table only.

    Examples
    --------
    ``lw.spark.release(df, lw.randomized_response(["no", "yes"], lift=3), "smokes", path="hdfs:///released")``
    """
    found, new = release_or_find(df, mechanism, column, path=path, table=table, partition_by=partition_by, order=order)
    if not new:
        where = f"path {os.fspath(path or '')!r}" if table is None else f"table {table!r}"
        warnings.warn(
            f"{where} holds the finished release of this table by this mechanism already. It is "
            "returned, and nothing was drawn. (Compared were the mechanism, the number of rows and all columns that "
            "are not secret; the secret values leave no trace that they could be compared with.)",
            LeakwiseWarning,
            stacklevel=2,
        )
    return found


def release_or_find(
    df: DataFrame,
    mechanism: Any,
    column: Hashable,
    *,
    path: str | os.PathLike[str] | None,
    order: str | None,
    table: str | None = None,
    partition_by: str | Sequence[str] | None = None,
    moved: Callable[[], None] = lambda: None,
) -> tuple[DataFrame, bool]:
    """As :func:`release`, and whether anything was drawn; ``moved`` is called when rows are where others see them."""
    check_frame(df)
    check_order(order)
    if path is not None and table is not None:
        raise InvalidInput(f"path and table must not both be given. Got path={path!r} and table={table!r}.")
    spark = df.sparkSession
    secrets = secrets_of(df.columns, mechanism, column)
    # Those that are exchanged: the secrets, and given columns that go out in bins.
    names = [str(name) for name in Exchanger([(one.names, one.mechanism) for one in secrets]).outputs]
    _refuse_repeated(df.columns)
    if setting(spark, _COORDINATION) == "false":
        raise InvalidInput(
            f"{_COORDINATION} is false, so that two attempts of one task could both be written. Leave it at true."
        )
    schema = released_schema(df.schema, secrets, shuffled=order == "shuffle")
    by = partition_columns(partition_by, schema, secrets, table=table is not None)
    home = None if table is None else home_of(spark, table)
    place = place_of(spark, home.path if home is not None else temporary_place(spark) if path is None else path)

    def finished(found: DataFrame, *, new: bool) -> tuple[DataFrame, bool]:
        if home is None:
            return found, new
        rows = register(spark, home, schema, by)
        return (rows if rows.columns == found.columns else rows.select(*map(quoted, found.columns))), new

    if place.folders is not None:
        clear_abandoned(place.folders, place.path)
    if place.exists(spark):
        return finished(same_release(spark, df, schema, names, place.path, by), new=False)
    if home is not None and home.known:
        raise InvalidInput(f"table={table!r} exists already, and its folder {place.path!r} does not. Drop it first.")
    refuse_deciding(df, by, secrets)
    warn_of_secrets(df.columns, secrets, stacklevel=3)
    if order is None:
        _test_order(df, secrets)
    keys = key_names(df.columns) if order == "shuffle" else ()
    drawn = drawn_frame(df, secrets, schema, keys)
    shuffled = (lambda rows: in_random_order(rows, keys)) if keys else None
    if not write_once(spark, place, drawn, shuffled, by, moved):
        return finished(same_release(spark, df, schema, names, place.path, by), new=False)
    return finished(released_rows(spark, schema, place.path), new=True)


def mechanism(df: DataFrame, column: Hashable = None) -> AnyMechanism:
    """Return the mechanism by which a column of a released DataFrame was made, which its schema carries.

    It stays with the column when the files are read again, and in a table that is saved from them. Hand it to
    :func:`leakwise.estimate` with the :func:`counts`.

    Parameters
    ----------
    df
        A DataFrame that was released, or read from where one was written to.
    column
        The released column, or the tuple of columns of a joint secret; may be left out where there is only one.
    """
    return choose_carried(pack(found, {}) if (found := carried_by(df)) else {}, column, "the DataFrame").mechanism


def carried_by(df: DataFrame) -> list[Carried]:
    """Return the released columns of a DataFrame with their mechanisms, as its schema carries them."""
    check_frame(df)
    found: list[Carried] = []
    for field in df.schema.fields:
        if KEY.decode() in field.metadata:
            told = {KEY: str(field.metadata[KEY.decode()]).encode()}
            found += [one for one in carried_secrets(told, f"column {field.name!r}") if one not in found]
    return found


def _test_order(df: DataFrame, secrets: list[Secret]) -> None:
    """Look at the secret columns in the order of the rows, and warn where it tells them."""
    with translation():
        notes = [bytes(row[0]) for row in watched_frame(df, secrets).collect()]
    warn_of_order(secrets, merged(notes))


def _refuse_repeated(names: list[str]) -> None:
    """Spark takes names for the same that differ in case only, unless it is told otherwise; files cannot hold both."""
    lowered = [name.lower() for name in names]
    twice = [name for name in names if lowered.count(name.lower()) > 1]
    if twice:
        raise InvalidInput(
            f"df has columns of one name: {some_of(twice)}. Rename them apart first (case does not count)."
        )
