"""What is at the path of a release already: the same release, which is handed back, or something else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from leakwise.errors import InvalidInput, some_of
from leakwise.spark.places import FINISHED, all_exist

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["check_finished", "quoted", "released_rows", "same_release"]

_AGAIN = (
    "A second release of the same secret reveals more than the first alone. For the release of another table choose "
    "another path."
)
# Kinds that Spark does not hash, or not the same way after they were written.
_UNHASHED = ("map<", "variant", "void")


def same_release(
    spark: Any, df: DataFrame, schema: StructType, secrets: Sequence[str], path: str, by: Sequence[str] = ()
) -> DataFrame:
    """Return the release at a path, if it is a finished one of the same rows by the same mechanisms; else an error.

    Columns, types and mechanisms are compared, and the rows as far as they are public: their number, and the values of
    the columns that are not secret, in any order. Any trace of the secret values in the folder would reveal them, so
    that they cannot be compared. Columns that folders are by have their types from the names of these.
    """
    if not all_exist(spark, [path + FINISHED]):
        raise InvalidInput(
            f"path {path!r} exists and is not a finished release: it has no file {FINISHED[1:]}. Either a job is "
            "writing there, or one was stopped there, or it is something else. If it is what a stopped job left, and "
            "nobody has read it, remove it and call again; else choose another path."
        )
    there = _schema_at(spark, path)
    if there is None or _shape(there, by) != _shape(schema, by):
        raise InvalidInput(
            f"path {path!r} exists already, and holds another table, or a release by another mechanism, or one in "
            f"another order. {_AGAIN} (What was released can be shuffled without another draw, since it is public.)"
        )
    found = released_rows(spark, schema, path)
    public = [
        field.name
        for field in schema.fields
        if field.name not in secrets and not any(kind in field.dataType.simpleString() for kind in _UNHASHED)
    ]
    if _digest(df, public) != _digest(found, public):
        raise InvalidInput(
            f"path {path!r} exists already, and holds the release of other rows: their number differs, or the values "
            f"of {some_of(public)}. {_AGAIN}"
        )
    return found


def check_finished(df: DataFrame) -> None:
    """Refuse a DataFrame that reads files of a job that has not finished: some of its rows may be missing."""
    folders = dict.fromkeys(unquote(file).rpartition("/")[0] for file in df.inputFiles())
    missing = list(folders)
    # Above the files there may be folders of partitions; the job's mark lies in the topmost one, or below.
    while missing and not all_exist(df.sparkSession, [folder + FINISHED for folder in missing]):
        missing = [folder for folder in missing if not _is_marked(df.sparkSession, folder)]
        if top := [folder for folder in missing if "=" not in folder.rpartition("/")[2]]:
            raise InvalidInput(
                f"The DataFrame reads {some_of(top)}, which is not whole: it has no file {FINISHED[1:]}, so that the "
                "job that writes it is running still, or was stopped. Release the table again to another path. (If "
                f"another program wrote it and it is whole, put an empty file {FINISHED[1:]} there.)"
            )
        missing = list(dict.fromkeys(folder.rpartition("/")[0] for folder in missing))


def _is_marked(spark: Any, folder: str) -> bool:
    # The transactions of Delta Lake are marked in a log of their own.
    return all_exist(spark, [folder + FINISHED]) or all_exist(spark, [folder + "/_delta_log"])


def quoted(name: str) -> str:
    """Return a name that Spark does not take apart at its dots."""
    return "`" + name.replace("`", "``") + "`"


def _schema_at(spark: Any, path: str) -> StructType | None:
    from pyspark.errors import AnalysisException

    try:
        schema: StructType = spark.read.parquet(path).schema
    except AnalysisException:  # no files, or not of Parquet
        return None
    return schema


def _shape(schema: StructType, by: Sequence[str]) -> tuple[set[str], list[tuple[str, str, dict[str, Any]]]]:
    """Names, types without the word about missing values, which files do not keep, and mechanisms."""
    fields = [field for field in schema.fields if field.name not in by]
    told = [(field.name, field.dataType.simpleString(), dict(field.metadata)) for field in fields]
    return set(schema.names), told


def released_rows(spark: Any, schema: StructType, path: str) -> DataFrame:
    """Return what reads the released rows: the columns in their order, also where folders are by some of them."""
    found: DataFrame = spark.read.schema(schema).parquet(path)
    return found if found.columns == schema.names else found.select(*(quoted(name) for name in schema.names))


def _digest(df: DataFrame, names: Sequence[str]) -> tuple[Any, ...]:
    """The number of rows, and two sums over hashes of the rows, which do not depend on their order."""
    # A hash passes over what is missing, and so would not tell in which column it is.
    told = "".join(f", {quoted(name)}, isnull({quoted(name)})" for name in names)
    sums = df.selectExpr("count(1)", f"sum(cast(xxhash64(0{told}) as decimal(38,0)))", f"bit_xor(xxhash64(1{told}))")
    return tuple(sums.collect()[0])
