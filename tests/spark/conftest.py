"""One local Spark for all tests of this folder, which speaks Spark Connect as well."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import leakwise as lw

HAS_SPARK = importlib.util.find_spec("pyspark") is not None and (
    "JAVA_HOME" in os.environ or shutil.which("java") is not None
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="session")
def port() -> int:
    return free_port()


@pytest.fixture(scope="session")
def spark(port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Four threads, two tries for a task, small batches so that a partition has several."""
    if not HAS_SPARK:
        pytest.skip("Spark or Java is not installed")
    from pyspark.sql import SparkSession

    if (other := SparkSession.getActiveSession()) is not None:
        other.stop()  # an example of the documentation left it
    # Spark takes relative paths from where it was started, and the examples of the documentation have some.
    moved = pytest.MonkeyPatch()
    moved.chdir(tmp_path_factory.mktemp("spark"))
    session = lw.spark.session(
        "local[4,2]",
        {
            "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
            "spark.connect.grpc.binding.port": port,
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.sql.shuffle.partitions": 4,
            "spark.sql.execution.arrow.maxRecordsPerBatch": 1000,
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.session.timeZone": "UTC",
        },
    )
    moved.undo()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def connect(spark: Any, port: int) -> Iterator[Any]:
    """A client of the same Spark through Spark Connect."""
    # A worker of pytest-xdist has no main file, by which pyspark takes it for its own doctests and exits.
    main = sys.modules["__main__"]
    unnamed = not hasattr(main, "__file__")
    if unnamed:
        main.__file__ = __file__
    from pyspark.sql.connect.session import SparkSession

    if unnamed:
        del main.__file__
    session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    yield session
    session.client.close()
