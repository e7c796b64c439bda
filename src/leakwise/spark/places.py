"""Where a release is written: a path of the user's, or a temporary place that every executor can reach."""

from __future__ import annotations

import atexit
import secrets
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from leakwise.errors import InvalidInput
from leakwise.spark.sessions import is_connect, setting

__all__ = ["clear", "temporary_place"]

_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")


def temporary_place(spark: Any) -> str:
    """A path for a release that the user gave none for.

    The checkpoint directory where one is set, which all executors reach by its nature; else, where Spark runs on one
    machine, a folder of this machine that goes when this process ends. Elsewhere nobody but the user can know a place.
    """
    shared = setting(spark, "spark.checkpoint.dir") if is_connect(spark) else spark.sparkContext.getCheckpointDir()
    if shared:
        return f"{str(shared).rstrip('/')}/leakwise-{secrets.token_hex(12)}"
    if not (setting(spark, "spark.master") or "").startswith("local") or not _is_here(spark):
        raise InvalidInput(
            "path must be given: a new folder that the driver and all executors can reach, such as "
            "'hdfs:///releases/2026-01'. The release is written there once, because a DataFrame that drew its rows "
            "again whenever it is read would release them again. (Or set a checkpoint directory: "
            "spark.sparkContext.setCheckpointDir.)"
        )
    folder = tempfile.mkdtemp(prefix="leakwise-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return (Path(folder) / "released").as_uri()


def clear(spark: Any, path: str) -> None:
    """Take away what a job that failed has left at a path that was not there before.

    What is left is an empty folder, or files of a commit that was cut off. A Connect client has no hand on the files of
    the server; there, an empty folder on this machine goes, and any other stays.
    """
    if is_connect(spark):
        parts = urlsplit(path)
        if _is_here(spark) and parts.scheme in ("", "file"):
            with suppress(OSError):
                Path(parts.path).rmdir()
        return
    place = spark._jvm.org.apache.hadoop.fs.Path(path)
    place.getFileSystem(spark._jsc.hadoopConfiguration()).delete(place, True)


def _is_here(spark: Any) -> bool:
    return not is_connect(spark) or spark.client.host in _THIS_MACHINE
