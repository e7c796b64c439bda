"""The release of a Spark DataFrame, from the driver's side: checked, written once by the executors, read back."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from leakwise.errors import InvalidInput, LeakwiseWarning, some_of
from leakwise.mechanism import Mechanism
from leakwise.spark.failures import NOT_THERE, translated
from leakwise.spark.places import clear, temporary_place
from leakwise.spark.sessions import check_frame, setting
from leakwise.spark.shipping import pack_shipment
from leakwise.tables.carried import KEY, Carried, carried_secrets, choose_carried, pack
from leakwise.tables.exchange import Exchanger
from leakwise.tables.release import Secret, secrets_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["mechanism", "release"]

# Version 1 of Hadoop's committer moves files to their place when the whole job is done, version 2 when a task is: with
# it a job that fails has left rows behind.
_COMMIT = {"mapreduce.fileoutputcommitter.algorithm.version": "1"}
_COORDINATION = "spark.hadoop.outputCommitCoordination.enabled"

# What stands in the schema is sent with every plan and written into every file.
_LARGEST = 1 << 20


def release(
    df: DataFrame,
    mechanism: Mechanism | Mapping[Any, Mechanism],
    column: Hashable = None,
    *,
    path: str | os.PathLike[str] | None = None,
) -> DataFrame:
    """The same rows with their secret columns randomised on the executors, written once; a DataFrame that reads them.

    Every value is replaced by an outcome drawn from its row of the mechanism, independently and exactly, from the
    randomness of the executor's operating system, with a key of its own for every attempt of every task. The job runs
    now. Its rows are written as Parquet, of each task the one attempt that Spark's commit coordinator lets through,
    and they appear when all are there; what is handed back reads these files. So retries, speculative tasks, lost
    executors and repeated evaluation show nobody a second draw. A value outside the declared domain, wherever it is
    found, stops the job, and nothing is left.

    Parameters
    ----------
    df
        A DataFrame of Spark or of Spark Connect.
    mechanism
        A Mechanism whose inputs are the values that can occur; or a mapping from columns to mechanisms, in which a
        tuple of columns is one joint secret, as for :func:`leakwise.release`.
    column
        The secret column, or a tuple of columns.
    path
        The folder to write to, which must not exist, in any file system that Spark knows. Left out: the session's
        checkpoint directory, or on a single machine a temporary folder that goes when this process ends.

    Notes
    -----
    While the job runs, rows of attempts that will be thrown away lie in ``path/_temporary``. Let nobody read there who
    is to have the released table only.

    Examples
    --------
    ``lw.spark.release(df, lw.randomized_response(["no", "yes"], lift=3), "smokes", path="hdfs:///released")``
    """
    check_frame(df)
    spark = df.sparkSession
    secrets = secrets_of(df.columns, mechanism, column)
    _refuse_repeated(df.columns)
    if setting(spark, _COORDINATION) == "false":
        raise InvalidInput(
            f"{_COORDINATION} is false, so that two attempts of one task could both be written. Leave it at true."
        )
    schema = _released_schema(df.schema, secrets)
    with warnings.catch_warnings():
        # Batches stay Arrow from end to end: what Spark thinks of the version of pandas does not matter here.
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        # Under plain names, because mapInArrow takes a column's name apart at its dots.
        plain = df.toDF(*(f"c{place}" for place in range(len(df.columns))))
        drawn = plain.mapInArrow(_shipped(pack_shipment(df.columns, secrets)), schema)
    target = temporary_place(spark) if path is None else os.fspath(path)
    _write(drawn, spark, target)
    read: DataFrame = spark.read.schema(schema).parquet(target)
    return read


def mechanism(df: DataFrame, column: Hashable = None) -> Mechanism:
    """The mechanism by which a column of a released DataFrame was made, which its schema carries.

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


def _shipped(document: bytes) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function for the executors. Its code goes along, so that it can say when leakwise is not there."""
    complaint = NOT_THERE

    def randomise(batches: Iterator[Any]) -> Iterator[Any]:
        try:
            from leakwise.spark.executor import release_batches
        except ImportError as error:
            import platform

            raise ImportError(
                f"{complaint} ({platform.node()}, Python {platform.python_version()}): {error}."
            ) from error
        yield from release_batches(document, batches)

    return randomise


def _write(drawn: DataFrame, spark: Any, target: str) -> None:
    from pyspark.errors import AnalysisException

    try:
        drawn.write.mode("error").options(**_COMMIT).parquet(target)
    except AnalysisException as error:
        # Found before anything ran: what is there is not ours.
        if error.getCondition() == "PATH_ALREADY_EXISTS":
            raise InvalidInput(
                f"path {target!r} exists already. A second release of the same secret reveals more than the first "
                "alone; write to a new folder, or remove the old one first."
            ) from error
        raise
    except BaseException as error:
        clear(spark, target)
        known = translated(error) if isinstance(error, Exception) else None
        if known is None:
            raise
        raise known from error


def _released_schema(schema: StructType, secrets: list[Secret]) -> StructType:
    """The schema after the release: types that hold the outcomes, and in the released columns their mechanism."""
    from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type
    from pyspark.sql.types import StructField, StructType

    from leakwise.tables.kinds.of_arrow import maker

    fields = {field.name: field for field in schema.fields}
    for secret in secrets:
        told = _told(secret)
        for name, labels in Exchanger([(secret.names, secret.mechanism)]).outputs.items():
            before = fields[name]
            given = to_arrow_type(before.dataType)
            _, kind = maker(labels, given)
            new = before.dataType if kind == given else from_arrow_type(kind)
            fields[name] = StructField(name, new, before.nullable or None in labels, told)
    return StructType(list(fields.values()))


def _told(secret: Secret) -> dict[str, str]:
    packed = pack([Carried(secret.names, secret.mechanism)], {}).get(KEY, b"")
    if len(packed) <= _LARGEST:
        return {KEY.decode(): packed.decode()} if packed else {}
    warnings.warn(
        f"The mechanism of {some_of(secret.names)} takes {len(packed) >> 20} MB and is not put into the schema. Save "
        "it beside the released table: mechanism.save(path).",
        LeakwiseWarning,
        stacklevel=4,
    )
    return {}


def _refuse_repeated(names: list[str]) -> None:
    """Spark takes names for the same that differ in case only, unless it is told otherwise; files cannot hold both."""
    lowered = [name.lower() for name in names]
    twice = [name for name in names if lowered.count(name.lower()) > 1]
    if twice:
        raise InvalidInput(
            f"df has columns of one name: {some_of(twice)}. Rename them apart first (case does not count)."
        )
