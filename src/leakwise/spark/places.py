"""Where a release is written: a path of the user's, or a temporary place that every executor can reach."""

from __future__ import annotations

import atexit
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from leakwise.errors import InvalidInput
from leakwise.spark.folders import Folders, HadoopFolders, LocalFolders
from leakwise.spark.sessions import is_connect, setting

__all__ = ["FINISHED", "Place", "all_exist", "place_of", "temporary_place"]

FINISHED = "/_SUCCESS"
"""What Spark puts beside the files of a job when all of them are there."""

_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
# Spark reads paths as patterns, but does not write them so.
_PATTERN = re.compile(r"[*?\[\]{}\\]")


@dataclass(frozen=True)
class Place:
    """A path as Spark takes it, and the hand on its file system; None where only the server has one."""

    path: str
    folders: Folders | None

    def exists(self, spark: Any) -> bool:
        """Tell whether something is at the path."""
        return all_exist(spark, [self.path]) if self.folders is None else self.folders.exists(self.path)


def place_of(spark: Any, path: str | os.PathLike[str]) -> Place:
    """Return the place at a path that the user gave."""
    given = os.fspath(path)
    name = given.rstrip("/").rpartition("/")[2]
    if name in ("", ".", "..") or _PATTERN.search(given):
        raise InvalidInput(
            f"path must name a new folder, without the characters * ? [ ] {{ }} \\ that Spark reads as "
            f"patterns. Got {given!r} instead."
        )
    if not is_connect(spark):
        hadoop = HadoopFolders(spark)
        whole = hadoop.qualified(given)
        return Place(whole, LocalFolders(private=_on_one_machine(spark)) if whole.startswith("file:") else hadoop)
    if _on_one_machine(spark) and urlsplit(given).scheme in ("", "file"):
        whole = os.path.abspath("/" + given[5:].lstrip("/") if given.startswith("file:") else given)
        return Place(f"file:{whole}", LocalFolders(private=True))
    return Place(given.rstrip("/"), None)


def temporary_place(spark: Any) -> str:
    """Return a path for a release that the user gave none for.

    The checkpoint directory where one is set, which all executors reach by its nature; else, where Spark runs on one
    machine, a folder of this machine that goes when this process ends. Elsewhere nobody but the user can know a place.
    """
    shared = setting(spark, "spark.checkpoint.dir") if is_connect(spark) else spark.sparkContext.getCheckpointDir()
    if shared:
        return f"{str(shared).rstrip('/')}/leakwise-{secrets.token_hex(12)}"
    if not _on_one_machine(spark):
        raise InvalidInput(
            "path must be given: a new folder that the driver and all executors can reach, such as "
            "'hdfs:///releases/2026-01'. The release is written there once, because a DataFrame that drew its rows "
            "again whenever it is read would release them again. (Or set a checkpoint directory: "
            "spark.sparkContext.setCheckpointDir.)"
        )
    folder = tempfile.mkdtemp(prefix="leakwise-spark-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return f"file:{folder}/released"


def all_exist(spark: Any, paths: Sequence[str]) -> bool:
    """Return whether something is at every path, as Spark itself sees it; a Connect client has no other way to look."""
    from pyspark.errors import AnalysisException

    try:
        # Spark looks for the paths when it plans. The names that it does not read as data it looks for all the same.
        _ = spark.read.format("text").load([_PATTERN.sub(r"\\\g<0>", path) for path in paths]).schema
    except AnalysisException as error:
        if error.getCondition() == "PATH_NOT_FOUND":
            return False
        raise
    return True


def _on_one_machine(spark: Any) -> bool:
    """Whether Spark runs on this machine alone."""
    here = not is_connect(spark) or spark.client.host in _THIS_MACHINE
    return here and (setting(spark, "spark.master") or "").startswith("local")
