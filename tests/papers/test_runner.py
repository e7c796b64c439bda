"""The files: the same bytes every time, made again only where something changed, one failure not the end of all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

import pytest

from leakwise.errors import InvalidInput
from leakwise.papers import Result, runner
from leakwise.papers import exhibit as frame
from leakwise.papers.runner import Run, is_current, run, stamp

NAMES = ["WC/example_1", "WC/figure_2", "EN/example_3"]
FULL = ["worst-case-utility/example_1", "worst-case-utility/figure_2", "leakage-envelopes/example_3"]


@pytest.fixture(autouse=True, scope="module")
def one_erratum() -> Iterator[None]:
    """The errata have tests of their own; here one of them stands for all."""
    from leakwise.papers import errata

    chosen = [entry for entry in errata.errata("ED") if entry.name == "ed_linear_composition"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(errata, "errata", lambda paper=None, kind=None: chosen)
        yield


def files(directory: Path) -> dict[str, bytes]:
    return {str(f.relative_to(directory)): f.read_bytes() for f in sorted(directory.rglob("*")) if f.is_file()}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    directory = tmp_path_factory.mktemp("first")
    return directory, run(directory, NAMES, fast=True, jobs=1)


def test_the_files_of_an_exhibit(made: tuple[Path, Run]) -> None:
    directory, done = made
    assert done.made == FULL
    assert done.kept == []
    assert done.failed == {}
    names = set(files(directory))
    assert {f"worst-case-utility/figure_2.{suffix}" for suffix in ("csv", "svg", "png", "json")} <= names
    assert "leakage-envelopes/example_3.png" not in names  # a table and no picture
    assert {"index.html", "errata.html", "errata.json"} <= names
    assert (directory / "worst-case-utility/figure_2.png").read_bytes().startswith(b"\x89PNG")
    record = json.loads((directory / "worst-case-utility/figure_2.json").read_text())
    assert record["parameters"]["levels"] == [2, 3]
    assert record["fast"] is True
    assert all(finding["agrees"] for finding in record["findings"])


def test_two_processes_give_the_same_bytes_as_one(made: tuple[Path, Run], tmp_path: Path) -> None:
    told: list[tuple[str, float, str]] = []
    done = run(tmp_path, NAMES, fast=True, jobs=2, told=lambda *message: told.append(message))
    assert done.made == FULL
    assert files(tmp_path) == files(made[0])
    assert {name for name, _, words in told if words == "made"} == set(FULL)


def test_what_is_still_true_is_kept(made: tuple[Path, Run]) -> None:
    directory, _ = made
    before = files(directory)
    told: list[str] = []
    done = run(directory, NAMES, fast=True, jobs=1, told=lambda name, share, words: told.append(words))
    assert done.kept == FULL
    assert done.made == []
    assert told == ["still true"] * 3
    assert files(directory) == before


def test_what_was_lost_or_changed_is_made_again(made: tuple[Path, Run]) -> None:
    directory, _ = made
    before = files(directory)
    (directory / "worst-case-utility/figure_2.svg").unlink()
    (directory / "worst-case-utility/example_1.csv").write_text("p1\n")
    (directory / "leakage-envelopes/example_3.json").write_text("{")
    assert run(directory, NAMES, fast=True, jobs=1).made == FULL
    assert files(directory) == before


def test_again_makes_it_and_other_settings_make_it(made: tuple[Path, Run]) -> None:
    directory, _ = made
    before = files(directory)
    assert run(directory, ["EN/example_3"], fast=True, jobs=1, again=True).made == ["leakage-envelopes/example_3"]
    assert files(directory) == before
    exhibit_3 = frame.find(["EN/example_3"])[0]
    assert is_current(directory, exhibit_3, fast=True)
    assert not is_current(directory, exhibit_3, fast=False)
    assert stamp(exhibit_3, fast=True) != stamp(exhibit_3, fast=False)


def test_one_failure_does_not_end_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = dict(frame._REGISTRY)
    monkeypatch.setattr(frame, "_REGISTRY", registry)

    @frame.exhibit(paper="WC", title="t", shows="s", printed="p")
    def figure_99(*, fast: bool = False, progress: Any = None) -> Result:
        raise InvalidInput("nothing to see")

    def quick(directory: Path) -> Path:
        return directory

    monkeypatch.setattr("leakwise.papers.gallery.write_gallery", quick)
    done = run(tmp_path, ["WC/figure_99", "EN/example_3"], fast=True, jobs=1)
    assert done.failed == {"worst-case-utility/figure_99": "InvalidInput: nothing to see"}
    assert done.made == ["leakage-envelopes/example_3"]
    assert not (tmp_path / "worst-case-utility").exists()
    assert done.to_dict()["failed"] == done.failed


def test_warnings_of_an_exhibit_are_kept_as_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import warnings

    monkeypatch.setattr(frame, "_REGISTRY", dict(frame._REGISTRY))

    @frame.exhibit(paper="WC", title="t", shows="s", printed="p")
    def figure_98(*, fast: bool = False, progress: Any = None, scale: float = float("inf")) -> Result:
        warnings.warn("mind the gap", stacklevel=1)
        return Result([{"n": 1}], None, [frame.stated("it is infinite", None, float("inf"), True)])

    made = frame.find(["WC/figure_98"])[0]
    runner.make(tmp_path, made)
    record = runner.read_record(tmp_path, made)
    assert record is not None
    assert record["notes"] == ["mind the gap"]
    assert record["parameters"] == {"scale": "inf"}
    assert record["findings"][0]["ours"] == "inf"


def test_jobs_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="jobs must be at least 1"):
        run(tmp_path, jobs=0)


def test_a_process_that_dies_is_told() -> None:
    future: Future[str | None] = Future()
    future.set_exception(BrokenProcessPool("gone"))
    assert "--jobs 1" in str(runner._outcome(future))


def test_a_run_that_is_stopped_leaves_the_rest_undone(tmp_path: Path) -> None:
    wanted = frame.find(["WC"])
    work = runner._work(tmp_path, wanted, True, 2, None)
    first, error = next(work)
    assert error is None
    work.close()  # what Ctrl-C does
    assert is_current(tmp_path, first, fast=True)
    rest = run(tmp_path, ["WC"], fast=True, jobs=1)
    assert first.full_name in rest.kept
    assert sorted(rest.kept + rest.made) == sorted(made.full_name for made in wanted)


def test_a_gallery_with_records_of_an_older_version_is_still_written(made: tuple[Path, Run]) -> None:
    """Older records do not say which findings go further than their paper."""
    directory, _ = made
    file = directory / "worst-case-utility" / "example_1.json"
    before = file.read_bytes()
    record = json.loads(before)
    for finding in record["findings"]:
        del finding["beyond"]
    file.write_text(json.dumps(record), encoding="utf-8")
    try:
        run(directory, ["EN/example_3"], fast=True, jobs=1)
        assert 'id="WC-example_1"' in (directory / "index.html").read_text(encoding="utf-8")
    finally:
        file.write_bytes(before)
