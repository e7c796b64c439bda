"""The schema of a released DataFrame: types that hold the outcomes, the mechanisms, and nothing else of the source."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from leakwise.errors import InvalidInput, LeakwiseWarning, some_of
from leakwise.tables.formats.carried_mechanism import KEY, Carried, carried_secrets, drawn_from_seed, pack
from leakwise.tables.release.exchange import Exchanger
from leakwise.tables.release.secret_columns import Secret

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

__all__ = ["released_schema"]

# What stands in the schema is sent with every plan and written into every file.
_LARGEST = 1 << 20


def released_schema(schema: StructType, secrets: list[Secret], *, shuffled: bool = False) -> StructType:
    """The schema after the release, with the mechanism in the metadata of the released columns, and whether the rows
    were shuffled.

    Other metadata of the source does not pass on: comments and attributes may hold figures of the secret. Only what an
    earlier release of another column said about itself is kept.
    """
    from pyspark.sql.types import StructField, StructType

    from leakwise.tables.kinds.of_arrow import maker

    fields = {}
    for field in schema.fields:
        _arrow_type(field.name, field.dataType)
        fields[field.name] = StructField(
            field.name, _rebuilt(field.dataType), field.nullable, _as_text(_carried(field))
        )
    for secret in secrets:
        told = _told(secret, [_carried(field) for field in schema.fields if field.name in secret.names])
        if shuffled:
            told[KEY.decode() + ".order"] = "shuffle"
        # Beside the secret, the given columns that go out in bins; only the secret says how it was released.
        for name, labels in Exchanger([(secret.names, secret.mechanism)]).outputs.items():
            before = fields[name]
            given = _arrow_type(name, before.dataType)
            _, kind = maker(labels, given)
            new = before.dataType if kind == given else _spark_type(kind)
            own = told if name in secret.names else {}
            fields[name] = StructField(name, new, before.nullable or None in labels, own)
    return StructType(list(fields.values()))


def _arrow_type(name: str, kind: DataType) -> Any:
    """The type by which Arrow knows the column; the time zone of timestamps is that of the session, UTC here."""
    import pyarrow as pa
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import TimestampNTZType, TimestampType

    if isinstance(kind, TimestampType):
        return pa.timestamp("us", tz="UTC")
    try:
        return to_arrow_type(_rebuilt(kind, lambda one: TimestampNTZType() if isinstance(one, TimestampType) else one))
    except PySparkException as error:
        raise InvalidInput(
            f"Column {name!r} of type {kind.simpleString()} cannot be sent to Python by Spark. Cast it to a number or "
            f"a text first, or drop it: df.withColumn({name!r}, df[{name!r}].cast('string'))."
        ) from error


def _spark_type(kind: Any) -> DataType:
    from pyspark.sql.pandas.types import from_arrow_type

    found: DataType = from_arrow_type(kind)
    return found


def _rebuilt(kind: DataType, leaf: Callable[[DataType], DataType] = lambda kind: kind) -> DataType:
    """The type without the metadata of fields inside it, and with its simple types exchanged."""
    from pyspark.sql.types import ArrayType, MapType, StructField, StructType

    if isinstance(kind, StructType):
        return StructType([StructField(one.name, _rebuilt(one.dataType, leaf), one.nullable) for one in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(_rebuilt(kind.elementType, leaf), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(_rebuilt(kind.keyType, leaf), _rebuilt(kind.valueType, leaf), kind.valueContainsNull)
    return leaf(kind)


def _carried(field: Any) -> dict[bytes, bytes]:
    """What an earlier release said about a column, read and written again, so that nothing comes along with it."""
    if KEY.decode() not in field.metadata:
        return {}
    told = {KEY: str(field.metadata[KEY.decode()]).encode()}
    return pack(carried_secrets(told, f"column {field.name!r}"), {}, unsafe_seed=drawn_from_seed(told))


def _told(secret: Secret, before: list[dict[bytes, bytes]]) -> dict[str, str]:
    """What the columns of a secret say about its release, after what they said before."""
    # The columns of a joint secret say the same.
    earlier = next((one for one in before if one), {})
    packed = pack([Carried(secret.names, secret.mechanism)], earlier).get(KEY, b"")
    if len(packed) <= _LARGEST:
        return _as_text({KEY: packed} if packed else {})
    warnings.warn(
        f"The mechanism of {some_of(secret.names)} takes {len(packed) >> 20} MB and is not put into the schema. Save "
        "it beside the released table: mechanism.save(path).",
        LeakwiseWarning,
        stacklevel=5,
    )
    # By which a finished release is known again.
    return {KEY.decode() + ".sha256": hashlib.sha256(packed).hexdigest()}


def _as_text(metadata: dict[bytes, bytes]) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in metadata.items()}
