"""Awkward tables are released, or refused in words that say what to do: by the command and by the library alike."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli.app import app
from tables.awkward import TABLES, Awkward

NAMES = [one.name for one in TABLES]
DOMAINS = {"bins": lambda: lw.bins([0, 18, 65, float("inf")]), "months": lambda: lw.bins("2024-01", "2024-02", "month")}


def written(one: Awkward, folder: Path) -> tuple[Path, Path]:
    source = folder / one.file
    one.make(source)
    ending = "".join(source.suffixes) or (".csv" if "CSV" in one.name else ".parquet")
    return source, folder / f"released{ending}"


def left(folder: Path, source: Path) -> list[str]:
    """What was written beside the table."""
    return sorted(path.name for path in folder.iterdir() if path != source)


@pytest.mark.parametrize("one", TABLES, ids=NAMES)
def test_on_the_command_line(one: Awkward, tmp_path: Path, monkeypatch: Any) -> None:
    source, out = written(one, tmp_path)
    monkeypatch.setenv("COLUMNS", "2000")
    words = ["release", str(source), "-c", one.column, "--domain", one.typed, "--lift", "2", "--prior", "uniform"]
    words += ["-o", str(out), *one.flags, *(part for name in one.drop for part in ("--drop", name))]
    done = CliRunner().invoke(app, words)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    if one.says is None:
        assert done.exit_code == 0, done.output
        assert len(lw.estimate(out).frequencies) >= 2  # by the mechanism that it carries or that is found beside it
    else:
        assert done.output.replace(f"{tmp_path}/", "").startswith(f"Error: {one.says}")
        assert done.exit_code == 2
        assert left(tmp_path, source) == []


@pytest.mark.parametrize("one", TABLES, ids=NAMES)
def test_in_python(one: Awkward, tmp_path: Path) -> None:
    source, out = written(one, tmp_path)
    domain = DOMAINS[one.domain]() if isinstance(one.domain, str) else one.domain

    def release() -> Any:
        return lw.protect(source, one.column, domain=domain, prior="uniform", lift=2, out=out, drop=list(one.drop))

    if one.says is None:
        released = release()
        assert out.exists()
        assert len(lw.estimate(out, released.mechanism, column=one.column).frequencies) >= 2
    else:
        with pytest.raises(lw.LeakwiseError) as refused:
            release()
        assert str(refused.value).replace(f"{tmp_path}/", "").startswith(one.says)
        assert left(tmp_path, source) == []
