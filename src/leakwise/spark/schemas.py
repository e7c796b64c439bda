"""The schema of a released DataFrame: types that hold the outcomes, the mechanisms, and nothing else of the source."""

from __future__ import annotations

import hashlib
import warnings
from typing import TYPE_CHECKING, Any

from leakwise.errors import InvalidInput, LeakwiseWarning, some_of
from leakwise.tables.carried import KEY, Carried, carried_secrets, pack
from leakwise.tables.exchange import Exchanger
from leakwise.tables.release import Secret

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

__all__ = ["released_schema"]

# What stands in the schema is sent with every plan and written into every file.
_LARGEST = 1 << 20


def released_schema(schema: StructType, secrets: list[Secret]) -> StructType:
    """The schema after the release, with the mechanism in the metadata of the released columns.

    Other metadata of the source does not pass on: comments and attributes may hold figures of the secret. Only what an
    earlier release of another column said about itself is kept.
    """
    from pyspark.sql.types import StructField, StructType

    from leakwise.tables.kinds.of_arrow import maker

    fields = {}
    for field in schema.fields:
        _arrow_type(field.name, field.dataType)
        fields[field.name] = StructField(field.name, _bare(field.dataType), field.nullable, _earlier(field))
    for secret in secrets:
        told = _told(secret)
        for name, labels in Exchanger([(secret.names, secret.mechanism)]).outputs.items():
            before = fields[name]
            given = _arrow_type(name, before.dataType)
            _, kind = maker(labels, given)
            new = before.dataType if kind == given else _spark_type(kind)
            fields[name] = StructField(name, new, before.nullable or None in labels, told)
    return StructType(list(fields.values()))


def _arrow_type(name: str, kind: DataType) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type

    try:
        return to_arrow_type(kind)
    except PySparkException as error:
        raise InvalidInput(
            f"Column {name!r} of type {kind.simpleString()} cannot be sent to Python by Spark. Cast it to a number or "
            f"a text first, or drop it: df.withColumn({name!r}, df[{name!r}].cast('string'))."
        ) from error


def _spark_type(kind: Any) -> DataType:
    from pyspark.sql.pandas.types import from_arrow_type

    found: DataType = from_arrow_type(kind)
    return found


def _bare(kind: DataType) -> DataType:
    """The type without the metadata of fields inside it."""
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    if isinstance(kind, StructType):
        return StructType([StructField(one.name, _bare(one.dataType), one.nullable) for one in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(_bare(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(_bare(kind.keyType), _bare(kind.valueType), kind.valueContainsNull)
    return kind


def _earlier(field: Any) -> dict[str, str]:
    """What an earlier release said about a column, read and written again, so that nothing comes along with it."""
    if KEY.decode() not in field.metadata:
        return {}
    told = {KEY: str(field.metadata[KEY.decode()]).encode()}
    return {KEY.decode(): pack(carried_secrets(told, f"column {field.name!r}"), {})[KEY].decode()}


def _told(secret: Secret) -> dict[str, str]:
    packed = pack([Carried(secret.names, secret.mechanism)], {}).get(KEY, b"")
    if len(packed) <= _LARGEST:
        return {KEY.decode(): packed.decode()} if packed else {}
    warnings.warn(
        f"The mechanism of {some_of(secret.names)} takes {len(packed) >> 20} MB and is not put into the schema. Save "
        "it beside the released table: mechanism.save(path).",
        LeakwiseWarning,
        stacklevel=5,
    )
    # By which a finished release is known again.
    return {KEY.decode() + ".sha256": hashlib.sha256(packed).hexdigest()}
