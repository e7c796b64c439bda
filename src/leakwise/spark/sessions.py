"""A Spark session on this machine, and what there is to know about a session that someone else made."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from leakwise.errors import InvalidInput, MissingExtra, require

__all__ = ["check_frame", "is_connect", "session", "setting"]

_JAVA = (
    "Spark needs Java 17 or newer{why}. Install it (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: "
    "brew install openjdk@17; conda: conda install -c conda-forge openjdk) and, where it is not on the PATH, set "
    "JAVA_HOME to its folder. A Spark Connect client (SparkSession.builder.remote) needs none."
)


def session(master: str = "local[*]", settings: Mapping[str, object] | None = None) -> Any:
    """Return a Spark session on this machine, whose workers run this very Python.

    What ``SparkSession.builder`` gives, with Java looked for first. On a cluster use the session that is there.

    Parameters
    ----------
    master
        Where to run: ``"local[4]"`` takes four cores of this machine.
    settings
        Settings of Spark by name, such as ``{"spark.driver.memory": "4g"}``.
    """
    require("pyspark", extra="spark", purpose="A Spark session")
    _require_java()
    from pyspark.errors import PySparkRuntimeError
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master)
    if master.startswith("local"):
        for name in ("spark.driver.host", "spark.driver.bindAddress"):
            builder = builder.config(name, "127.0.0.1")
        builder = builder.config("spark.ui.enabled", "false")
    for name, value in (settings or {}).items():
        builder = builder.config(name, str(value))
    try:
        with _this_python(master):
            return builder.getOrCreate()
    except PySparkRuntimeError as error:
        if "JAVA_GATEWAY_EXITED" not in str(error):
            raise
        raise MissingExtra(_JAVA.format(why=", and the one that was found did not start it")) from error


@contextmanager
def _this_python(master: str) -> Iterator[None]:
    """The workers of a local session run the Python that asks for it, unless the user has named another."""
    if "PYSPARK_PYTHON" in os.environ or not master.startswith("local"):
        yield
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        yield
    finally:
        del os.environ["PYSPARK_PYTHON"]


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if home:
        if not any((Path(home) / "bin" / name).is_file() for name in ("java", "java.exe")):
            raise MissingExtra(_JAVA.format(why=f", and JAVA_HOME ({home!r}) has no bin/java"))
        return
    if shutil.which("java") is None:
        raise MissingExtra(_JAVA.format(why=", and none was found"))


def check_frame(df: Any) -> None:
    """Refuse what is not a Spark DataFrame."""
    require("pyspark", extra="spark", purpose="leakwise.spark")
    from pyspark.sql import DataFrame

    if not isinstance(df, DataFrame):
        raise InvalidInput(
            f"df must be a Spark DataFrame. Got {type(df).__module__}.{type(df).__name__} instead. (Tables in "
            "memory and files go to lw.release.)"
        )
    if df.isStreaming:
        raise InvalidInput(
            "df must not be a stream: its rows come and go, and a restart would draw them again. Release it batch "
            "by batch: df.writeStream.foreachBatch(lw.spark.foreach_batch(mechanism, column, path=...))."
        )


def is_connect(spark: Any) -> bool:
    """Return whether a session speaks to a Spark Connect server."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def setting(spark: Any, name: str) -> str | None:
    """Return a setting of a session; None where nobody made it."""
    found = spark.conf.get(name, None)
    return None if found is None else str(found)
