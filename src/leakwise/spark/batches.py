"""Streams, released batch by batch: once each, however often the query is restarted."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any

from leakwise.errors import InvalidInput
from leakwise.mechanism import AnyMechanism, StratifiedMechanism
from leakwise.spark.driver import release_or_find
from leakwise.spark.order import check_order
from leakwise.tables.release.secret_columns import check_mechanism

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["foreach_batch"]


def foreach_batch(
    mechanism: AnyMechanism | Mapping[Any, AnyMechanism],
    column: Hashable = None,
    *,
    path: str | os.PathLike[str],
    order: str | None = None,
) -> Callable[[DataFrame, int], None]:
    """Make the function that releases each batch of a stream once, for ``writeStream.foreachBatch``.

    Batch 7 goes to ``path/batch=7``, so that ``spark.read.parquet(path)`` reads all of them, with their number in the
    column ``batch``. A restarted query runs its last batch again: if that was released already, its rows are left as
    they are, and the query goes on; if it was cut off, what it left is removed. A batch with other rows than those that
    were released under its number is an error: another query, or the same one without its checkpoint, needs another
    path.

    Parameters
    ----------
    mechanism, column, order
        As for :func:`release`.
    path
        The folder of the batches.

    Examples
    --------
    ``stream.writeStream.foreachBatch(lw.spark.foreach_batch(m, "smokes", path="released")).option(
    "checkpointLocation", "progress").start()``
    """
    for one in mechanism.values() if isinstance(mechanism, Mapping) else [mechanism]:
        if not isinstance(one, StratifiedMechanism):
            check_mechanism(one)
    check_order(order)
    folder = os.fspath(path).rstrip("/")

    def release_batch(df: DataFrame, batch: int) -> None:
        if "batch" in (name.lower() for name in df.columns):
            raise InvalidInput(
                "df has a column 'batch', which is the name of the column for the number of the batch. Rename it first."
            )
        release_or_find(df, mechanism, column, path=f"{folder}/batch={batch}", order=order)

    return release_batch
