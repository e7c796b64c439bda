"""The order of a DataFrame's rows: whether it tells the secret, and a random one in its place."""

from __future__ import annotations

import pickle
import warnings
import zlib
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.alphabet import encode_column
from leakwise.errors import RowOrderWarning
from leakwise.mechanism import StratifiedMechanism
from leakwise.spark.finished import quoted
from leakwise.tables.kinds.joint_columns import encode_columns
from leakwise.tables.release.row_order import RowOrder, check_order
from leakwise.tables.release.secret_columns import Secret
from leakwise.tables.strata.given_codes import GivenCodes, bins_of, coarse_codes
from leakwise.tables.strata.mechanisms import RowMechanisms
from leakwise.tables.strata.order import StratifiedOrder
from leakwise.types import Array

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = [
    "WatchedSecret",
    "check_order",
    "grouped",
    "in_random_order",
    "key_names",
    "merged",
    "packed",
    "warn_of_order",
    "watched_labels",
]

Order = RowOrder | StratifiedOrder

# What is seen of a partition goes to the driver, and holds some numbers for each value: beyond so many, neighbours in
# the declared domain are taken together.
_MANY = 1 << 14


class WatchedSecret:
    """The order of a secret in a partition, within the strata that its mechanism lists where it is by strata.

    Rows in no listed stratum are not looked at: what draws for them holds whatever is known of a row, its place too.
    """

    def __init__(self, secret: Secret) -> None:
        self._names, self._mechanism = secret.names, secret.mechanism
        self.order: Order
        if isinstance(secret.mechanism, StratifiedMechanism):
            given = secret.mechanism.given_columns
            self._rows = RowMechanisms(secret.mechanism)
            self._bins = bins_of([given], {})
            self._given = GivenCodes(given, self._bins, strict=secret.mechanism.otherwise is None)
            self.order = StratifiedOrder(watched_labels(secret.mechanism.inputs))
        else:
            self.order = RowOrder(watched_labels(secret.mechanism.inputs))

    def add(self, batch: Any) -> None:
        """See the next rows; values outside the domain are found on the way."""
        columns = [batch[str(name)] for name in self._names]
        codes = encode_columns(columns, self._names, self._mechanism.input_alphabet, "inputs")
        codes = grouped(codes, len(self._mechanism.inputs))
        if isinstance(self.order, RowOrder):
            self.order.add(codes)
            return
        given = self._given.read(batch, coarse_codes(batch, self._bins, encode_column), encode_column)
        self.order.add(codes, self._rows.listed(given))


def watched_labels(labels: Sequence[Hashable]) -> Sequence[Hashable]:
    """Return the labels of the codes that :func:`grouped` gives."""
    if len(labels) <= _MANY:
        return labels
    groups = grouped(np.arange(len(labels)), len(labels))
    starts = np.searchsorted(groups, np.arange(_MANY))
    return [f"values from {labels[start]!r}" for start in starts]


def grouped(codes: Array, size: int) -> Array:
    """Return codes of values as codes of groups of neighbouring ones, where there are many values."""
    return codes if size <= _MANY else codes.astype(np.int64) * _MANY // size


def packed(part: int, seen: Sequence[Order]) -> bytes:
    """Return what an executor saw of a partition, for the driver."""
    return zlib.compress(pickle.dumps((part, list(seen))))


def merged(notes: Sequence[bytes]) -> list[Order]:
    """Return what the executors saw, in the order of the partitions."""
    found: list[tuple[int, list[Any]]] = [pickle.loads(zlib.decompress(note)) for note in notes]
    found.sort(key=lambda one: one[0])
    if not found:
        return []
    whole: list[Order] = found[0][1]
    for _, later in found[1:]:
        for mine, theirs in zip(whole, later, strict=True):
            mine.merge(theirs)
    return whole


def warn_of_order(secrets: Sequence[Secret], seen: Sequence[Order]) -> None:
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
