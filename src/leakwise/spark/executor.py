"""What runs on the executors: batches of rows in, the same batches with their secret columns drawn out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput, some_of
from leakwise.sampling import SecureStream
from leakwise.spark.order import WatchedSecret, packed
from leakwise.spark.shipping import Shipment, unpack_shipment
from leakwise.tables.formats.columns import Replacement
from leakwise.tables.release.exchange import Exchanger

__all__ = ["draw_batches", "release_batches", "watch_batches"]


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
            named = _named(batch, shipment)
            if replacement is None:
                replacement = Replacement(named.schema, exchange.outputs, {})
            released = replacement.batch(named, exchange(named))
        yield _with_keys(released, shipment.keys, stream)


def draw_batches(document: bytes, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the places of the outcomes drawn for the rows of one partition, from a secure stream as above.

    A batch is a tuple of arrays, or one array, of the columns of the document; what is yielded for it is an array of
    places, or of structures of them where several columns are drawn for or keys are asked for.
    """
    import pyarrow as pa

    shipment, stream = _opened(document), SecureStream()
    exchange = Exchanger([(one.names, one.mechanism) for one in shipment.secrets], stream=stream)
    for arrays in batches:
        sent = (arrays,) if isinstance(arrays, pa.Array) else arrays
        named = _named(pa.record_batch(list(sent), [str(place) for place in range(len(sent))]), shipment)
        with _located(named):
            new = exchange(named)
        drawn = [pa.array(new[name][0].astype(np.int16)) for name in exchange.outputs]
        drawn += [_key(named.num_rows, stream) for _ in shipment.keys]
        names = [f"{'o' if place < len(new) else 'k'}{place}" for place in range(len(drawn))]
        yield drawn[0] if len(drawn) == 1 else pa.StructArray.from_arrays(drawn, names)


def watch_batches(document: bytes, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield one batch with one value: what the order of the rows of a partition says about each secret, for the driver.

    The columns are those of the document, without any others. Values outside the domain are found on the way.
    """
    import pyarrow as pa

    shipment = _opened(document)
    seen = [WatchedSecret(one) for one in shipment.secrets]
    for batch in batches:
        with _located(batch):
            named = _named(batch, shipment)
            for one in seen:
                one.add(named)
    if any(one.order.rows for one in seen):
        note = packed(_partition() or 0, [one.order for one in seen])
        yield pa.record_batch({"seen": pa.array([note], pa.binary())})


def _with_keys(batch: Any, names: list[str], stream: SecureStream) -> Any:
    for name in names:
        batch = batch.append_column(name, _key(batch.num_rows, stream))
    return batch


def _key(rows: int, stream: SecureStream) -> Any:
    """A random integer of 64 bits for each row."""
    import pyarrow as pa

    return pa.array(stream.words(rows, 64).view("int64"))


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


def _named(batch: Any, shipment: Shipment) -> Any:
    """The batch under the names that the user knows, with the values of columns that came by their places."""
    import pyarrow as pa

    columns, known = shipment.columns, shipment.known
    if batch.num_columns != len(columns) + sum(one is not None for one in known):
        raise InvalidInput(
            f"Columns are missing: there are {batch.num_columns} and {len(columns)} are expected, {some_of(columns)}. "
            "Every partition must have all columns."
        )
    sent, arrays = iter(batch.columns), []
    for values in known:
        array = next(sent)
        if values is not None:
            other = next(sent)
            array = pa.DictionaryArray.from_arrays(array, pa.array(values, other.type))
            if other.null_count < len(other):  # values that Spark did not find
                array = pa.compute.coalesce(array.cast(other.type), other)
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, names=columns)


def _partition() -> int | None:
    """The number of the partition, where Spark tells it."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return None if context is None else int(context.partitionId())
