"""What runs on the executors: batches of rows in, the same batches with their secret columns drawn out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from leakwise.errors import InvalidInput, some_of
from leakwise.sampling import SecureStream
from leakwise.spark.order import WatchedSecret, packed
from leakwise.spark.shipping import Shipment, unpack_shipment
from leakwise.tables.formats.columns import Replacement
from leakwise.tables.release.exchange import Exchanger

__all__ = ["release_batches", "watch_batches"]


@lru_cache(maxsize=4)
def _opened(document: bytes) -> Shipment:
    """The mechanisms, and with them their samplers, made once for all tasks that a worker runs of a release."""
    return unpack_shipment(document)


def release_batches(document: bytes, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the batches of one partition, released. Each attempt of a task has a secure stream of its own.

    The key of the stream comes from the operating system of the executor when the attempt starts: neither two
    partitions nor two attempts of one partition share any of it. The columns come in the order of the document, under
    any names. Where the document asks for keys, columns of random integers come after them.
    """
    shipment, stream = _opened(document), SecureStream()
    exchange = Exchanger([(one.names, one.mechanism) for one in shipment.secrets], stream=stream)
    replacement: Replacement | None = None
    for batch in batches:
        with _located(batch):
            named = _named(batch, shipment.columns)
            if replacement is None:
                replacement = Replacement(named.schema, exchange.outputs, {})
            released = replacement.batch(named, exchange(named))
        yield _with_keys(released, shipment.keys, stream)


def watch_batches(document: bytes, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield one batch with one value: what the order of the rows of a partition says about each secret, for the driver.

    The columns are those of the document, without any others. Values outside the domain are found on the way.
    """
    import pyarrow as pa

    shipment = _opened(document)
    seen = [WatchedSecret(one) for one in shipment.secrets]
    for batch in batches:
        with _located(batch):
            named = _named(batch, shipment.columns)
            for one in seen:
                one.add(named)
    if any(one.order.rows for one in seen):
        note = packed(_partition() or 0, [one.order for one in seen])
        yield pa.record_batch({"seen": pa.array([note], pa.binary())})


def _with_keys(batch: Any, names: list[str], stream: SecureStream) -> Any:
    import pyarrow as pa

    for name in names:
        batch = batch.append_column(name, pa.array(stream.words(batch.num_rows, 64).view("int64")))
    return batch


@contextmanager
def _located(batch: Any) -> Iterator[None]:
    """Errors that say where they arose."""
    try:
        yield
    except InvalidInput as error:
        # One line, because the driver finds it again in the text of a stack trace.
        words, part = " ".join(str(error).split()), _partition()
        where = "" if part is None else f" of partition {part}"
        raise InvalidInput(f"In a batch of {batch.num_rows} rows{where}: {words}") from error


def _named(batch: Any, columns: list[str]) -> Any:
    """The batch under the names that the user knows."""
    if batch.num_columns != len(columns):
        raise InvalidInput(
            f"Columns are missing: there are {batch.num_columns} and {len(columns)} are expected, {some_of(columns)}. "
            "Every partition must have all columns."
        )
    return batch.rename_columns(columns)


def _partition() -> int | None:
    """The number of the partition, where Spark tells it."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return None if context is None else int(context.partitionId())
