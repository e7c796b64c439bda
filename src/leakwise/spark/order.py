"""The order of a DataFrame's rows: whether it tells the secret, and a random one in its place."""

from __future__ import annotations

import pickle
import warnings
import zlib
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from leakwise.errors import RowOrderWarning
from leakwise.spark.finished import quoted
from leakwise.tables.release.row_order import RowOrder, check_order
from leakwise.tables.release.secret_columns import Secret
from leakwise.types import Array

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["check_order", "grouped", "in_random_order", "key_names", "merged", "packed", "warn_of_order", "watch"]

# What is seen of a partition goes to the driver, and holds some numbers for each value: beyond so many, neighbours in
# the declared domain are taken together.
_MANY = 1 << 14


def watch(labels: Sequence[Hashable]) -> RowOrder:
    """Return the test of an order, which sees the codes that :func:`grouped` gives."""
    if len(labels) <= _MANY:
        return RowOrder(labels)
    groups = grouped(np.arange(len(labels)), len(labels))
    starts = np.searchsorted(groups, np.arange(_MANY))
    return RowOrder([f"values from {labels[start]!r}" for start in starts])


def grouped(codes: Array, size: int) -> Array:
    """Return codes of values as codes of groups of neighbouring ones, where there are many values."""
    return codes if size <= _MANY else codes.astype(np.int64) * _MANY // size


def packed(part: int, seen: Sequence[RowOrder]) -> bytes:
    """Return what an executor saw of a partition, for the driver."""
    return zlib.compress(pickle.dumps((part, list(seen))))


def merged(notes: Sequence[bytes]) -> list[RowOrder]:
    """Return what the executors saw, in the order of the partitions."""
    found: list[tuple[int, list[RowOrder]]] = [pickle.loads(zlib.decompress(note)) for note in notes]
    found.sort(key=lambda one: one[0])
    if not found:
        return []
    _, whole = found[0]
    for _, later in found[1:]:
        for mine, theirs in zip(whole, later, strict=True):
            mine.merge(theirs)
    return whole


def warn_of_order(secrets: Sequence[Secret], seen: Sequence[RowOrder]) -> None:
    """Say that the order of the rows tells a secret, where it does."""
    for secret, order in zip(secrets, seen, strict=False):
        verdict = order.verdict()
        if not verdict.dependent:
            continue
        names = ", ".join(repr(name) for name in secret.names)
        warnings.warn(
            f"The order of the rows reveals {names}: {verdict.evidence}. The released files keep the partitions and "
            "the order of the DataFrame, so that anyone who reads them learns more than the mechanism allows. Pass "
            "order='shuffle' to write the rows in a random order, or sort the DataFrame by other columns first; "
            "order='keep' says that the order may be known.",
            RowOrderWarning,
            stacklevel=5,
        )


def key_names(columns: Sequence[str]) -> tuple[str, str]:
    """Names for two columns of random keys, unlike those that are there."""
    taken = {name.lower() for name in columns}
    stem = "leakwise_key"
    while f"{stem}_1" in taken or f"{stem}_2" in taken:
        stem += "_"
    return f"{stem}_1", f"{stem}_2"


def in_random_order(df: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Return the rows in the order of their keys, without them.

    The keys are 128 bits for each row, from the secure streams of the executors: they choose its partition and its
    place there, so that every order of the rows is equally likely (up to two rows with the same key, which happens
    with probability below rows² / 2^129).
    """
    columns = [df[quoted(key)] for key in keys]
    return df.repartition(*columns).sortWithinPartitions(*columns).drop(*columns)
