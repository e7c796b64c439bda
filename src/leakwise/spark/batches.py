"""Streams, released batch by batch: once each, however often the query is killed and started again."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from leakwise.errors import InvalidInput
from leakwise.mechanism import AnyMechanism, StratifiedMechanism
from leakwise.proof import Certificate, StratifiedCertificate
from leakwise.spark.drafts import clear_stream
from leakwise.spark.driver import release_or_find
from leakwise.spark.order import check_order
from leakwise.spark.places import place_of
from leakwise.spark.stream_entry import StreamEntry
from leakwise.tables.release.secret_columns import check_mechanism

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from leakwise.tables.ledger.ledger import Ledger

__all__ = ["foreach_batch"]


def foreach_batch(
    mechanism: Any,
    column: Hashable = None,
    *,
    path: str | os.PathLike[str],
    partition_by: str | Sequence[str] | None = None,
    order: str | None = None,
    ledger: Ledger | str | os.PathLike[str] | None = None,
    dataset: str | None = None,
) -> Callable[[DataFrame, int], None]:
    """Make the function that releases each batch of a stream once, for ``writeStream.foreachBatch``.

    Batch 7 goes to ``path/batch=7``, so that ``spark.read.parquet(path)`` reads all of them, with their number in the
    column ``batch``. It is drawn in a hidden draft and moved there when all its rows are there. A restarted query runs
    its last batch again: if that was released already, its rows are left as they are, and the query goes on; if it was
    cut off, its draft is removed before anything is drawn. A batch with other rows than those that were released under
    its number is an error: another query, or the same one without its checkpoint, needs another path.

    Parameters
    ----------
    mechanism
        As for :func:`release`. With a ledger the certificate in its place (``lw.certify(m, prior)``, or that of
        :func:`protect`), or a mapping from columns to certificates.
    column, partition_by, order
        As for :func:`release`.
    path
        The folder of the batches.
    ledger, dataset
        A :class:`leakwise.Ledger` or its path, and the name of the data in it. The stream is entered once, before its
        first draw, as one release of each of its rows, however often it is started again. Who has rows in several
        batches is drawn for each time.

    Examples
    --------
    ``stream.writeStream.foreachBatch(lw.spark.foreach_batch(m, "smokes", path="released")).option(
    "checkpointLocation", "progress").start()``
    """
    given = dict(mechanism) if isinstance(mechanism, Mapping) else {column: mechanism}
    certificates = {key: one for key, one in given.items() if isinstance(one, (Certificate, StratifiedCertificate))}
    drawn_by: dict[Any, AnyMechanism] = {
        key: certificates[key].mechanism if key in certificates else one for key, one in given.items()
    }
    for one in drawn_by.values():
        if not isinstance(one, StratifiedMechanism):
            check_mechanism(one)
    check_order(order)
    folder = os.fspath(path).rstrip("/")
    entry = None
    if ledger is not None:
        if len(certificates) < len(given):
            raise InvalidInput(
                "mechanism must be a certificate where a ledger is given, since what a release reveals depends on the "
                "prior: lw.certify(mechanism, prior)."
            )
        entry = StreamEntry(ledger, dataset, certificates)

    def release_batch(df: DataFrame, batch: int) -> None:
        if "batch" in (name.lower() for name in df.columns):
            raise InvalidInput(
                "df has a column 'batch', which is the name of the column for the number of the batch. Rename it first."
            )
        place = place_of(df.sparkSession, folder)
        if place.folders is not None:
            clear_stream(place.folders, place.path)
        if entry is not None:
            entry.reserve(place)
        wanted = drawn_by if isinstance(mechanism, Mapping) else drawn_by[column]
        release_or_find(df, wanted, column, path=f"{folder}/batch={batch}", partition_by=partition_by, order=order)
        if entry is not None:
            entry.confirm()

    return release_batch
