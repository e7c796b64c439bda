"""The release of a Spark DataFrame, from the driver's side: checked, written once by the executors, read back."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from leakwise.errors import InvalidInput, LeakwiseWarning, some_of
from leakwise.mechanism import AnyMechanism
from leakwise.spark.drafts import clear_abandoned
from leakwise.spark.failures import NOT_THERE, translation
from leakwise.spark.finished import quoted, same_release
from leakwise.spark.order import check_order, in_random_order, key_names, merged, warn_of_order
from leakwise.spark.places import place_of, temporary_place
from leakwise.spark.schemas import released_schema
from leakwise.spark.sessions import check_frame, setting
from leakwise.spark.shipping import pack_shipment
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
    found, new = release_or_find(df, mechanism, column, path=path, order=order)
    if not new:
        warnings.warn(
            f"path {os.fspath(path or '')!r} holds the finished release of this table by this mechanism already. It is "
            "returned, and nothing was drawn. (Compared were the mechanism, the number of rows and all columns that "
            "are not secret; the secret values leave no trace that they could be compared with.)",
            LeakwiseWarning,
            stacklevel=2,
        )
    return found


def release_or_find(
    df: DataFrame, mechanism: Any, column: Hashable, *, path: str | os.PathLike[str] | None, order: str | None
) -> tuple[DataFrame, bool]:
    """As :func:`release`, and whether anything was drawn."""
    check_frame(df)
    check_order(order)
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
    place = place_of(spark, temporary_place(spark) if path is None else path)
    if place.folders is not None:
        clear_abandoned(place.folders, place.path)
    if place.exists(spark):
        return same_release(spark, df, schema, names, place.path), False
    warn_of_secrets(df.columns, secrets, stacklevel=3)
    if order is None:
        _test_order(df, secrets)
    keys = key_names(df.columns) if order == "shuffle" else ()
    wider = type(schema)(list(schema.fields))
    for key in keys:
        wider = wider.add(key, "long")
    drawn = _mapped(df, "release_batches", pack_shipment(df.columns, secrets, keys), wider)
    if not write_once(spark, place, drawn, (lambda rows: in_random_order(rows, keys)) if keys else None):
        return same_release(spark, df, schema, names, place.path), False
    return spark.read.schema(schema).parquet(place.path), True


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
    check_frame(df)
    fields = [field for field in df.schema.fields if KEY.decode() in field.metadata]
    found: list[Carried] = []
    for field in fields:
        told = {KEY: str(field.metadata[KEY.decode()]).encode()}
        found += [one for one in carried_secrets(told, f"column {field.name!r}") if one not in found]
    return choose_carried(pack(found, {}) if found else {}, column, "the DataFrame").mechanism


def _test_order(df: DataFrame, secrets: list[Secret]) -> None:
    """Look at the secret columns in the order of the rows, and warn where it tells them."""
    names = [str(name) for name in Exchanger([(one.names, one.mechanism) for one in secrets]).reads]
    watched = _mapped(
        df.select(*(df[quoted(name)] for name in names)), "watch_batches", pack_shipment(names, secrets), "seen binary"
    )
    with translation():
        notes = [bytes(row[0]) for row in watched.collect()]
    warn_of_order(secrets, merged(notes))


def _mapped(df: DataFrame, function: str, document: bytes, schema: Any) -> DataFrame:
    """What a function of :mod:`leakwise.spark.executor` makes of the rows."""
    with warnings.catch_warnings():
        # Batches stay Arrow from end to end: what Spark thinks of the version of pandas does not matter here.
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        # Under plain names, because mapInArrow takes a column's name apart at its dots.
        plain = df.toDF(*(f"c{place}" for place in range(len(df.columns))))
        return plain.mapInArrow(_shipped(function, document), schema)


def _shipped(function: str, document: bytes) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function for the executors. Its code goes along, so that it can say when leakwise is not there."""
    complaint = NOT_THERE

    def on_the_executor(batches: Iterator[Any]) -> Iterator[Any]:
        try:
            from leakwise.spark import executor
        except ImportError as error:
            import platform

            raise ImportError(
                f"{complaint} ({platform.node()}, Python {platform.python_version()}): {error}."
            ) from error
        yield from getattr(executor, function)(document, batches)

    return on_the_executor


def _refuse_repeated(names: list[str]) -> None:
    """Spark takes names for the same that differ in case only, unless it is told otherwise; files cannot hold both."""
    lowered = [name.lower() for name in names]
    twice = [name for name in names if lowered.count(name.lower()) > 1]
    if twice:
        raise InvalidInput(
            f"df has columns of one name: {some_of(twice)}. Rename them apart first (case does not count)."
        )
