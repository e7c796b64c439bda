"""The DataFrame that draws: what of each row goes to the executors' Python, and how the outcomes come back.

Most of the time of a release goes into moving rows between the JVM and Python. So only the columns that are read for a
draw go there, where Spark has functions over Arrow columns (since 4.1): a text or a whole number by its place among the
declared values, found in the JVM, and what is drawn comes back by its place among the outcomes. A value that Spark does
not find goes along as it is, and is looked at as everywhere else. Rows with outcomes of other types go to Python whole,
as do those of Spark Connect.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from leakwise.alphabet import Bins
from leakwise.mechanism import StratifiedMechanism
from leakwise.spark.failures import NOT_THERE
from leakwise.spark.sessions import is_connect
from leakwise.spark.shipping import pack_shipment
from leakwise.tables.kinds.joint_columns import Product, parts_of
from leakwise.tables.release.exchange import Exchanger
from leakwise.tables.release.secret_columns import Secret

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType, StructType

__all__ = ["drawn_frame", "watched_frame"]

# Spark looks a value up by comparing it with one after the other: beyond so many it is faster to send it as it is.
_LOOKED_UP = 32
# Outcomes that are named in the plan.
_NAMED = 1024
_WHOLE = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}


def drawn_frame(df: DataFrame, secrets: list[Secret], schema: StructType, keys: Sequence[str]) -> DataFrame:
    """Return the DataFrame that draws when it runs, and again when it runs again: it is to be written once.

    Parameters
    ----------
    df
        The rows.
    secrets
        Their secrets.
    schema
        That of the released rows.
    keys
        Columns of random integers to add.
    """
    outputs = Exchanger([(one.names, one.mechanism) for one in secrets]).outputs
    functions = _functions(df)
    # Functions over columns are newer than Spark 4.0, and whether a server has them its client cannot know.
    columnar = hasattr(functions, "arrow_udf") and not is_connect(df.sparkSession)
    if not columnar or not _may_stay(df.schema, schema, outputs):
        wider = type(schema)(list(schema.fields))
        for key in keys:
            wider = wider.add(key, "long")
        return _mapped(_plain(df), "release_batches", pack_shipment(df.columns, secrets, keys), wider)
    arguments, document = _arguments(df, secrets, keys)
    parts = [*("o short" for _ in outputs), *("k long" for _ in keys)]
    kind = "short" if len(parts) == 1 else ", ".join(part.replace(" ", f"{n} ") for n, part in enumerate(parts))
    with _quietly():
        draw = functions.arrow_udf(_shipped("draw_batches", document), kind, functions.ArrowUDFType.SCALAR_ITER)
        plain = _plain(df)
        # Rows that are drawn for twice would be two draws; as a function that is not deterministic it is run once.
        drawn = plain.select(*plain.columns, draw.asNondeterministic()(*arguments).alias("drawn"))
    place = {name: "drawn" if len(parts) == 1 else f"drawn.o{n}" for n, name in enumerate(outputs)}
    shown = []
    for n, field in enumerate(schema.fields):
        column = functions.col(f"c{n}")
        if field.name in outputs:
            listed = [functions.lit(label).cast(field.dataType) for label in outputs[field.name]]
            column = functions.element_at(functions.array(*listed), functions.col(place[field.name]) + 1)
        shown.append(column.alias(field.name, metadata=dict(field.metadata)))
    added = [functions.col(f"drawn.k{len(outputs) + n}").alias(key) for n, key in enumerate(keys)]
    return drawn.select(*shown, *added)


def watched_frame(df: DataFrame, secrets: list[Secret]) -> DataFrame:
    """Return the DataFrame with what the order of the rows of each partition says, for the driver."""
    arguments, document = _arguments(df, secrets, ())
    named = [one.alias(f"a{place}") for place, one in enumerate(arguments)]
    return _mapped(_plain(df).select(*named), "watch_batches", document, "seen binary")


def _arguments(df: DataFrame, secrets: list[Secret], keys: Sequence[str]) -> tuple[list[Column], bytes]:
    """What is sent of the columns that are read for a draw, and the document that says so."""
    functions = _functions(df)
    reads = [str(name) for name in Exchanger([(one.names, one.mechanism) for one in secrets]).reads]
    known = [_looked_up(df.schema[name].dataType, name, secrets) for name in reads]
    sent: list[Column] = []
    for name, values in zip(reads, known, strict=True):
        column = functions.col(f"c{df.columns.index(name)}")
        if values is None:
            sent.append(column)
            continue
        pairs = (one for place, value in enumerate(values) for one in (value, place))
        table = functions.create_map(*(functions.lit(one) for one in pairs))
        found = functions.try_element_at(table, column).cast("byte")
        sent += [found, functions.when(found.isNull(), column)]
    return sent, pack_shipment(reads, secrets, keys, known)


def _looked_up(kind: DataType, name: str, secrets: list[Secret]) -> list[Any] | None:
    """The values of a column that Spark can tell apart as Python does; None where there are none, or too many."""
    found: dict[Any, None] = {}
    for secret in secrets:
        own = secret.mechanism
        domains: list[tuple[Hashable, Any]] = []
        letters = own.input_alphabet
        if len(secret.names) == 1:
            domains.append((secret.names[0], letters))
        elif isinstance(letters, Product):
            domains += zip(secret.names, letters.parts, strict=True)
        else:
            domains += zip(secret.names, parts_of(letters, secret.names, "inputs"), strict=True)
        if isinstance(own, StratifiedMechanism):
            domains += zip(own.given_columns.names, own.given_columns.domains, strict=True)
        for column, domain in domains:
            if column == name:
                if isinstance(domain, Bins):
                    return None
                found.update(dict.fromkeys(getattr(domain, "labels", domain)))
    held = [value for value in found if value is not None and _holds(kind, value)]
    return held if 0 < len(held) <= _LOOKED_UP else None


def _holds(kind: DataType, value: Any) -> bool:
    """Whether a column of the type holds a value, and Spark compares it as Python does, bit by bit."""
    name = kind.simpleString()  # of texts that are compared otherwise it says so
    if name in _WHOLE:
        return type(value) is int and -(1 << _WHOLE[name] - 1) <= value < 1 << _WHOLE[name] - 1
    return name == "string" and type(value) is str


def _may_stay(before: StructType, after: StructType, outputs: dict[Any, Sequence[Any]]) -> bool:
    """Whether columns that are not drawn for may go past Python, and outcomes come back by their places."""
    for old, new in zip(before.fields, after.fields, strict=True):
        labels = outputs.get(new.name)
        if labels is None:
            if old.dataType != new.dataType:  # something inside it is to be left out
                return False
        elif len(labels) > _NAMED or not all(one is None or _holds(new.dataType, one) for one in labels):
            return False
    return True


def _functions(df: DataFrame) -> Any:
    return import_module("pyspark.sql.connect.functions" if is_connect(df.sparkSession) else "pyspark.sql.functions")


def _plain(df: DataFrame) -> DataFrame:
    """The columns under plain names, because Spark takes a name apart at its dots."""
    return df.toDF(*(f"c{place}" for place in range(len(df.columns))))


def _mapped(df: DataFrame, function: str, document: bytes, schema: Any) -> DataFrame:
    """What a function of :mod:`leakwise.spark.executor` makes of whole rows."""
    with _quietly():
        return df.mapInArrow(_shipped(function, document), schema)


@contextmanager
def _quietly() -> Iterator[None]:
    """Without what Spark thinks of the version of pandas (batches stay Arrow from end to end) and of type hints."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
        warnings.filterwarnings("ignore", message="It is preferred to specify type hints", category=UserWarning)
        yield


def _shipped(function: str, document: bytes) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function for the executors. Its code goes along, so that it can say when leakwise is not there."""
    complaint = NOT_THERE

    def on_the_executor(batches: Iterator[Any]) -> Iterator[Any]:
        try:
            from leakwise.spark import executor
        except ImportError as error:
            import platform

            raise ImportError(
                f"{complaint} ({platform.node()}, Python {platform.python_version()}): {error}."
            ) from error
        yield from getattr(executor, function)(document, batches)

    return on_the_executor
