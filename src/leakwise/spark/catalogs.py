"""Tables of a catalog: rows are released into the folder of the table, and the name is given when all are there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leakwise.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["Home", "home_of", "register"]

_OWN = "spark_catalog"
_PART = re.compile(r"`((?:[^`]|``)+)`|(\w+)")
# A table is found by its files, and the columns of its folders are texts.
_READING = {
    "spark.sql.hive.manageFilesourcePartitions": "false",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}


@dataclass(frozen=True)
class Home:
    """The whole name of a table, the folder of its rows, and whether the catalog knows it already."""

    name: str
    path: str
    known: bool


def home_of(spark: Any, table: str) -> Home:
    """Return where a table of the session's catalog is, or will be; an error where its rows cannot be released into.

    Catalogs of other makers have ways of their own to write: what was released once may be copied into them.
    """
    parts = [(one[1] or one[2]).replace("``", "`") for one in _PART.finditer(table)] if isinstance(table, str) else []
    if not 1 <= len(parts) <= 3 or _PART.sub("", table) != "." * (len(parts) - 1):
        raise InvalidInput(f"table must be a name such as 'released' or 'database.released'. Got {table!r} instead.")
    catalog = parts[0] if len(parts) == 3 else spark.catalog.currentCatalog()
    if catalog != _OWN:
        raise InvalidInput(
            f"table={table!r} is in the catalog {catalog!r}; rows are released into tables of Spark's own catalog, "
            f"{_OWN!r}. Release to a path, and copy what was drawn: lw.spark.release(..., path=...).writeTo("
            f"{table!r}).create(). That draws nothing again."
        )
    database = parts[-2] if len(parts) > 1 else spark.catalog.currentDatabase()
    if not spark.catalog.databaseExists(database):
        raise InvalidInput(f"table={table!r}: there is no database {database!r}. Make it first: CREATE DATABASE.")
    name = ".".join("`" + part.replace("`", "``") + "`" for part in (_OWN, database, parts[-1]))
    path = f"{str(spark.catalog.getDatabase(database).locationUri).rstrip('/')}/{parts[-1].lower()}"
    known = bool(spark.catalog.tableExists(name))
    if known and (there := _location(spark, name)) != _plain(path):
        raise InvalidInput(
            f"table={table!r} exists already, and is {f'in {there!r}' if there else 'a view'}. A second release of the "
            "same secret reveals more than the first alone. For the release of another table choose another name."
        )
    return Home(name, path, known)


def register(spark: Any, home: Home, schema: StructType, by: Sequence[str]) -> Any:
    """Give the name to a folder of released rows, and return what reads them."""
    if not home.known:
        with _settings(spark, _READING):
            # Of folders by columns Spark finds the schema itself, with the mechanisms, in the files.
            spark.catalog.createTable(home.name, path=home.path, source="parquet", schema=None if by else schema)
    return spark.table(home.name)


def _location(spark: Any, name: str) -> str | None:
    """The folder of a table; None for a view."""
    for row in spark.sql(f"DESCRIBE TABLE EXTENDED {name}").collect():
        if row[0] == "Location":
            return _plain(str(row[1]))
    return None


def _plain(path: str) -> str:
    return re.sub(r"^file:/+", "/", path).rstrip("/")


@contextmanager
def _settings(spark: Any, wanted: dict[str, str]) -> Iterator[None]:
    """Settings for the time of a call."""
    before = {name: spark.conf.get(name) for name in wanted}
    try:
        for name, value in wanted.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
