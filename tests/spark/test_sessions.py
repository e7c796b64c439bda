"""Without Spark, without Java, on a cluster: what is said when something is not there."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

import leakwise as lw
from leakwise.spark import places


def test_without_pyspark(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    for call in (
        lambda: lw.spark.session(),
        lambda: lw.spark.release(None, lw.identity(2), "a"),
        lambda: lw.spark.counts(None, "a"),
        lambda: lw.spark.mechanism(None),
    ):
        with pytest.raises(lw.MissingExtra, match=r"pip install 'leakwise\[spark\]'"):
            call()


def test_without_java(monkeypatch, tmp_path):
    pytest.importorskip("pyspark")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(lw.MissingExtra, match=r"none was found. .*apt-get install openjdk-17-jre-headless.*JAVA_HOME"):
        lw.spark.session()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(lw.MissingExtra, match="has no bin/java"):
        lw.spark.session()


class Cluster:
    """A session of a cluster, as far as the choice of a place asks it."""

    def __init__(self, checkpoint: str | None, master: str = "yarn") -> None:
        self.sparkContext = SimpleNamespace(getCheckpointDir=lambda: checkpoint)
        self.conf = SimpleNamespace(get=lambda name, other: {"spark.master": master}.get(name, other))


def test_on_a_cluster_a_place_is_asked_for():
    with pytest.raises(lw.InvalidInput, match="path must be given: a new folder that the driver and all executors"):
        places.temporary_place(Cluster(None))
    found = {places.temporary_place(Cluster("hdfs://name/checkpoints/")) for _ in range(2)}
    assert len(found) == 2
    assert all(place.startswith("hdfs://name/checkpoints/leakwise-") for place in found)


def test_the_rooms_open_lazily():
    import subprocess

    script = (
        "import sys, leakwise as lw; assert not {'leakwise.spark', 'leakwise.sklearn'} & set(sys.modules);"
        "lw.spark.release; assert 'pyspark' not in sys.modules and 'pyarrow' not in sys.modules;"
        "assert {'spark', 'sklearn'} <= set(dir(lw)); import leakwise.spark as s; assert s is lw.spark"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    with pytest.raises(AttributeError, match="no attribute 'sparc'"):
        _: Any = lw.sparc  # type: ignore[attr-defined]
