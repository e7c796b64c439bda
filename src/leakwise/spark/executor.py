"""What runs on the executors: batches of rows in, the same batches with their secret columns drawn anew out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from leakwise.errors import InvalidInput, some_of
from leakwise.sampling import SecureStream
from leakwise.spark.shipping import Shipment, unpack_shipment
from leakwise.tables.exchange import Exchanger
from leakwise.tables.formats.columns import Replacement

__all__ = ["release_batches"]


@lru_cache(maxsize=4)
def _opened(document: bytes) -> Shipment:
    """The mechanisms, and with them their samplers, made once for all tasks that a worker runs of a release."""
    return unpack_shipment(document)


def release_batches(document: bytes, batches: Iterable[Any]) -> Iterator[Any]:
    """The batches of one partition, released. Each attempt of a task has a secure stream of its own.

    The key of the stream comes from the operating system of the executor when the attempt starts: neither two
    partitions nor two attempts of one partition share any of it. The columns come in the order of the document, under
    any names.
    """
    shipment = _opened(document)
    exchange = Exchanger([(one.names, one.mechanism) for one in shipment.secrets], stream=SecureStream())
    replacement: Replacement | None = None
    for batch in batches:
        try:
            named = _named(batch, shipment.columns)
            if replacement is None:
                replacement = Replacement(named.schema, exchange.outputs, {})
            released = replacement.batch(named, exchange(named))
        except InvalidInput as error:
            # One line, because the driver finds it again in the text of a stack trace.
            words = " ".join(str(error).split())
            raise InvalidInput(f"In a batch of {batch.num_rows} rows{_where()}: {words}") from error
        yield released


def _named(batch: Any, columns: list[str]) -> Any:
    """The batch under the names that the user knows."""
    if batch.num_columns != len(columns):
        raise InvalidInput(
            f"Columns are missing: there are {batch.num_columns} and {len(columns)} are expected, {some_of(columns)}. "
            "Every partition must have all columns."
        )
    return batch.rename_columns(columns)


def _where() -> str:
    """The partition, where Spark tells it."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return "" if context is None else f" of partition {context.partitionId()}"
