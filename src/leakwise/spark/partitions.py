"""Folders by the values of columns: which columns may name them, since the name of a folder is read by anyone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.alphabet import GivenColumns, joined
from leakwise.errors import InvalidInput, some_of
from leakwise.spark.counting import counted
from leakwise.tables.formats.carried_mechanism import KEY
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.joint_columns import encode_columns
from leakwise.tables.release.exchange import Exchanger
from leakwise.tables.release.secret_columns import Secret
from leakwise.tables.strata.near_copies import near_copy

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

__all__ = ["partition_columns", "refuse_deciding"]

# Types that the name of a folder gives back as they were.
_KINDS = ("string", "tinyint", "smallint", "int", "bigint", "boolean", "date")
# What Spark reads as a missing value in the name of a folder.
_MISSING = ("", "__HIVE_DEFAULT_PARTITION__")


def partition_columns(wanted: Any, schema: StructType, secrets: Sequence[Secret], *, table: bool) -> list[str]:
    """Return the columns to partition by; refuse a secret, and what the name of a folder cannot hold.

    Parameters
    ----------
    wanted
        A column, several, or None.
    schema
        That of the released rows.
    secrets
        The secrets.
    table
        Whether it is a table of a catalog, which finds the columns out by the names of the folders.
    """
    names = [] if wanted is None else [wanted] if isinstance(wanted, str) else list(wanted)
    frames.check_names(schema.names, names)
    drawn = [str(name) for one in secrets for name in one.names]
    if both := [name for name in names if name in drawn]:
        raise InvalidInput(
            f"partition_by must not name a secret: {some_of(both)}. Folders such as {both[0]}=… put the rows of one "
            "value together, before or after the draw, and readers take the name for the true value. Partition by "
            "columns that go out as they are."
        )
    if len(set(names)) < len(names):
        raise InvalidInput(f"partition_by names a column twice: {some_of(names)}.")
    for field in (schema[name] for name in names):
        kind = field.dataType.simpleString()
        if kind not in _KINDS or (table and kind != "string"):
            what = "a text, since a catalog reads it from the name of the folder" if table else "a text or whole number"
            raise InvalidInput(
                f"partition_by={field.name!r} is of type {kind}, and must be {what}. Cast it first: "
                f"df.withColumn({field.name!r}, df[{field.name!r}].cast('string'))."
            )
        if KEY.decode() in field.metadata:
            raise InvalidInput(
                f"partition_by={field.name!r} was released before, and the name of a folder cannot carry the mechanism "
                "that made it. Partition by columns that went out as they are."
            )
    return names


def refuse_deciding(df: DataFrame, names: Sequence[str], secrets: Sequence[Secret]) -> None:
    """Refuse to partition by columns that say what a secret is, and by values that the name of a folder loses.

    Spark counts how often each value of a secret occurs with each of the columns.
    """
    bins = Exchanger([(one.names, one.mechanism) for one in secrets]).coarse
    names = [name for name in names if name not in bins]  # these go out as bins
    for secret in secrets if names else ():
        own = [str(name) for name in secret.names]
        cells = counted(df, [*names, *own], (*names, *own))
        if not cells:
            return
        columns = list(zip(*cells, strict=True))
        for name, values in zip(names, columns, strict=False):
            if lost := [value for value in _MISSING if value in values]:
                raise InvalidInput(
                    f"partition_by={name!r} has the value {lost[0]!r}, which Spark cannot tell from a missing one in "
                    "the name of a folder. Replace it first."
                )
        letters = secret.mechanism.input_alphabet
        codes = encode_columns(columns[len(names) :], own, letters, "inputs")
        given = GivenColumns({name: list(dict.fromkeys(of)) for name, of in zip(names, columns, strict=False)})
        counts: dict[Any, Any] = {}
        for values, code, count in zip(cells, codes.tolist(), cells.values(), strict=True):
            key = values[0] if len(names) == 1 else values[: len(names)]
            counts.setdefault(key, np.zeros(len(letters), dtype=np.int64))[code] += count
        if (found := near_copy(counts, given, own, letters.labels)) is not None:
            raise InvalidInput(
                f"partition_by must not name what the secret decides: {joined(map(repr, found.columns))} "
                f"{'says' if len(found.columns) == 1 else 'say'} what {joined(found.secret)} is in {found.right:,} of "
                f"{found.rows:,} rows (the best guess without: {found.without:,}), so that the names of the folders "
                "would. Nothing was released. Partition by other columns, and drop these."
            )
