"""How often each outcome stands in a released column: what an estimate needs, and all that leaves the cluster."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from leakwise.alphabet.labels import is_missing
from leakwise.errors import InvalidInput
from leakwise.spark.finished import check_finished, quoted
from leakwise.spark.sessions import check_frame
from leakwise.tables.kinds import frames
from leakwise.tables.release.secret_columns import columns_among

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["collected", "counted", "counts"]

# Beyond this many different values the column was not the one that was meant.
_MOST = 1 << 22


def counts(df: DataFrame, column: Hashable) -> dict[Any, int]:
    """Count the values of a column, for :func:`leakwise.estimate`: ``lw.estimate(counts(df, "a"), m)``.

    Spark groups and counts; only the counts come to the driver. The keys are the values as Python knows them, tuples of
    values for a tuple of columns; what is missing (null, NaN) is None. Files of an unfinished job are refused.

    Parameters
    ----------
    df
        A released DataFrame, of Spark or of Spark Connect. One that was not released gives its exact counts away.
    column
        The released column, or the tuple of columns of a joint secret.
    """
    check_frame(df)
    names = columns_among(df.columns, column)
    frames.check_names(df.columns, names)
    check_finished(df)
    found = counted(df, [str(name) for name in names], column)
    return found if len(names) > 1 else {values[0]: count for values, count in found.items()}


def counted(df: DataFrame, names: Sequence[str], column: Any) -> dict[Any, int]:
    """Return how often each tuple of values of some columns occurs; an error names them as the user did."""
    from pyspark.errors import PySparkException

    try:
        grouped = df.groupBy(*(df[quoted(name)] for name in names)).count().limit(_MOST + 1).collect()
    except PySparkException as error:
        if error.getCondition() not in ("NOT_IMPLEMENTED", "UNSUPPORTED_DATA_TYPE_FOR_ARROW_CONVERSION"):
            raise
        raise InvalidInput(
            f"column {column!r} has a type that Spark cannot send to Python. Cast it to a number or a text first."
        ) from error
    if len(grouped) > _MOST:
        raise InvalidInput(
            f"column {column!r} has more than {_MOST:,} different values, too many to count one by one. Was it "
            "released?"
        )
    found: dict[Any, int] = {}
    for row in grouped:
        values = tuple(collected(value) for value in row[:-1])
        found[values] = found.get(values, 0) + int(row[-1])
    return found


def collected(value: Any) -> Any:
    """Return a value that Spark collected as Python has it elsewhere: bytes, and None for what is missing."""
    if isinstance(value, bytearray):
        return bytes(value)
    return None if is_missing(value) else value
