"""Streams that are killed and started again: each row once, no second draw on disk, one entry in the ledger."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import leakwise as lw
from leakwise.spark import drafts
from leakwise.spark.folders import LocalFolders

NOISE = lw.constant(["no", "yes"], law=[1 / 256] * 256)
PROVEN = lw.certify(NOISE, lw.Prior.uniform(["no", "yes"]))


def people(session: Any, first: int, last: int) -> Any:
    return session.range(first, last, 1, 1).selectExpr("id", "if(id % 4 = 0, 'yes', 'no') as smokes")


def rows_of(session: Any, path: Path) -> list[tuple[Any, ...]]:
    return sorted(map(tuple, session.read.parquet(str(path)).collect()))


def drawn_files(folder: Path) -> list[str]:
    """Files of rows outside of the released batches: draws that someone could compare with those."""
    return [str(one) for one in folder.rglob("*part-*") if not one.relative_to(folder).parts[0].startswith("batch=")]


class Killed(BaseException):
    pass


def test_a_killed_stream_leaves_one_draw_of_each_row_and_one_entry(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, ledger = tmp_path / "released", lw.Ledger(tmp_path / "ledger.db")

    def started(dataset: str = "stream", path: Path = out) -> Any:
        return lw.spark.foreach_batch(PROVEN, "smokes", path=path, order="keep", ledger=ledger, dataset=dataset)

    # On another machine a driver is killed when it has drawn the batch and not moved it: nothing is cleaned up.
    with monkeypatch.context() as elsewhere:
        here = drafts._this_process()
        elsewhere.setattr(drafts, "_this_process", lambda: drafts._Owner("another", "b", "s", 7, here.started))
        elsewhere.setattr(LocalFolders, "remove", lambda *_: None)

        def kill(*_: Any) -> bool:
            raise Killed

        elsewhere.setattr(LocalFolders, "move", kill)
        with pytest.raises(Killed):
            started()(people(spark, 0, 50), 0)
    assert len(drawn_files(out)) >= 1
    assert [one.state for one in ledger.entries()] == ["reserved"]
    # A second driver takes over, and is killed after the batch was moved and before anyone noted it.
    monkeypatch.setattr("leakwise.spark.batches.StreamEntry.confirm", kill)
    with pytest.raises(Killed):
        started()(people(spark, 0, 50), 0)
    monkeypatch.undo()
    first = rows_of(spark, out)
    assert [row[0] for row in first] == list(range(50))
    assert drawn_files(out) == []
    # A task of the first outlived it, and wrote after that: the next batch clears it, whichever it is.
    late = out / ".leakwise-batch=0-0123456789abcdef01234567" / "table" / "_temporary"
    late.mkdir(parents=True)
    (late / "part-00000").write_text("another draw")
    third = started()
    third(people(spark, 0, 50), 0)
    third(people(spark, 50, 70), 1)
    both = rows_of(spark, out)
    assert [row for row in both if row[-1] == 0] == first
    assert [row[0] for row in both] == list(range(70))
    assert drawn_files(out) == []
    assert [one.state for one in ledger.entries()] == ["released"]
    # The same stream under another name, and another one.
    with pytest.raises(lw.InvalidInput, match="was released before as 'smokes' of 'stream'"):
        started("other name")(people(spark, 70, 80), 2)
    started(path=tmp_path / "new")(people(spark, 0, 5), 0)
    assert len(ledger.entries("stream")) == 2


def test_a_driver_that_was_replaced_releases_nothing(spark: Any, tmp_path: Path) -> None:
    """Its draft is taken away while it draws; what its tasks write afterwards would not be the whole batch."""
    out = tmp_path / "released"

    def taken_over(batches: Any) -> Any:
        for one in tmp_path.glob("released/.leakwise-*/owner.json"):
            one.unlink()
        yield from batches

    df = people(spark, 0, 20)
    each = lw.spark.foreach_batch(NOISE, "smokes", path=out, order="keep")
    with pytest.raises(lw.InvalidInput, match="was removed while it was being written, by another run"):
        each(df.mapInArrow(taken_over, df.schema), 0)
    assert list(out.iterdir()) == []


def test_a_budget_stops_a_stream_before_its_first_draw(spark: Any, tmp_path: Path) -> None:
    ledger = lw.Ledger(tmp_path / "ledger.db")
    ledger.set_budget("stream", "smokes", lift="1.2")
    proven = lw.certify(lw.randomized_response(["no", "yes"], lift=3), lw.Prior.uniform(["no", "yes"]))
    each = lw.spark.foreach_batch({"smokes": proven}, path=tmp_path / "out", ledger=ledger, dataset="stream")
    with pytest.raises(lw.LeakwiseError, match="budget"):
        each(people(spark, 0, 5), 0)
    assert not list((tmp_path / "out").glob("batch=*"))
    for call, words in (
        (lambda: lw.spark.foreach_batch(NOISE, "smokes", path="x", ledger=ledger, dataset="d"), "be a certificate"),
        (lambda: lw.spark.foreach_batch(PROVEN, "smokes", path="x", ledger=ledger), "dataset must name the data"),
    ):
        with pytest.raises(lw.InvalidInput, match=words):
            call()
