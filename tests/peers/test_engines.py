"""The workers of other people's engines run tasks again; each row is drawn for once all the same."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import leakwise as lw
from leakwise.errors import InvalidInput
from leakwise.tables.release import exchange
from ray_start import patient

RESPONSE = lw.randomized_response(["no", "yes"], lift=3)
ROWS = 400
FRAME = pd.DataFrame({"id": range(ROWS), "smokes": np.random.default_rng(2).choice(["no", "yes"], ROWS)})


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows were drawn for, each time that something was."""
    seen: list[int] = []
    real = exchange.draw_codes

    def counting(codes: Any, *rest: Any) -> Any:
        seen.append(codes.size)
        return real(codes, *rest)

    monkeypatch.setattr(exchange, "draw_codes", counting)
    return seen


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    import ray

    start = patient(ray.init)
    start("local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    yield ray
    ray.shutdown()


def test_a_worker_of_ray_that_is_lost_leads_to_no_second_draw(ray: Any, tmp_path: Path, draws: list[int]) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()

    def dies_once(batch: Any) -> Any:
        first = batch["id"][0].as_py()
        (runs / f"{first}-{os.getpid()}").touch()
        if first == 200 and len(list(runs.glob("200-*"))) == 1:
            os._exit(1)
        return batch

    parts = [pa.Table.from_pandas(FRAME.iloc[at : at + 100], preserve_index=False) for at in range(0, ROWS, 100)]
    with pytest.raises(InvalidInput, match=r"lw\.batches\(dataset\.iter_batches"):
        lw.release(ray.data.from_arrow(parts), RESPONSE, "smokes", out=tmp_path / "r.csv")
    dataset = ray.data.from_arrow(parts).map_batches(dies_once, batch_format="pyarrow", batch_size=None)
    source = dataset.iter_batches(batch_format="pyarrow", batch_size=None)
    out = lw.release(lw.batches(source), RESPONSE, "smokes", order="shuffle", out=tmp_path / "released.parquet")
    assert len(list(runs.glob("200-*"))) == 2  # it was run again
    assert sorted(pq.read_table(out)["id"].to_pylist()) == list(range(ROWS))
    assert sum(draws) == ROWS


def test_a_plan_of_dask_is_run_once_and_a_failure_leaves_nothing(tmp_path: Path, draws: list[int]) -> None:
    import dask.dataframe as dd

    runs: Counter[int] = Counter()

    def seen(part: pd.DataFrame, broken: bool = False) -> pd.DataFrame:
        first = int(part["id"].iloc[0])
        runs[first] += 1
        if broken and first == 300:
            raise RuntimeError("worker lost")
        return part

    frame = dd.from_pandas(FRAME, npartitions=4)
    with pytest.raises(InvalidInput, match=r"lw\.batches\(\(part\.compute\(\) for part in frame\.partitions\)\)"):
        lw.release(frame, RESPONSE, "smokes")
    broken = frame.map_partitions(seen, broken=True, meta=FRAME.head(0))
    with pytest.raises(RuntimeError, match="worker lost"):
        lw.release(lw.batches(part.compute() for part in broken.partitions), RESPONSE, "smokes", out=tmp_path / "r.csv")
    assert draws == []
    assert os.listdir(tmp_path) == []
    runs.clear()
    whole = frame.map_partitions(seen, meta=FRAME.head(0))
    released = lw.release(lw.batches(part.compute() for part in whole.partitions), RESPONSE, "smokes", order="keep")
    assert set(runs.values()) == {1}
    assert pa.table(released)["id"].to_pylist() == list(range(ROWS))
    assert sum(draws) == ROWS
