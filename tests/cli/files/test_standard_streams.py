"""``-``: a table from the standard input, and the released one to the standard output; nothing of either is left."""

from __future__ import annotations

import gzip
import io
import os
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app
from leakwise.cli.files import standard_streams

FRAME = pd.DataFrame({"id": range(400), "smokes": np.random.default_rng(0).choice(["no", "yes"], 400)})
CSV = FRAME.to_csv(index=False).encode()
ASKED = ("-c", "smokes", "--domain", "no,yes", "--lift", "2", "--prior", "no=0.5,yes=0.5", "--unrelated", "id")
READING = (*ASKED, "--for", "reading")


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of temporary files in which everything that is left is seen."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def run(*words: object, given: bytes = CSV) -> tuple[int, bytes, str]:
    done = CliRunner().invoke(app, [str(word) for word in words], input=given, catch_exceptions=False)
    return done.exit_code, done.stdout_bytes, done.stderr


def table_of(data: bytes, kind: str) -> pd.DataFrame:
    match kind:
        case "csv":
            return pd.read_csv(io.BytesIO(data))
        case "csv.gz":
            return pd.read_csv(io.BytesIO(gzip.decompress(data)))
        case "jsonl":
            return pd.read_json(io.BytesIO(data), lines=True)
        case "parquet":
            return pq.read_table(io.BytesIO(data)).to_pandas()
        case _:
            return pa.ipc.open_stream(data).read_pandas()


def bytes_of(kind: str) -> bytes:
    into = io.BytesIO()
    match kind:
        case "csv.gz":
            return gzip.compress(CSV)
        case "jsonl":
            return FRAME.to_json(orient="records", lines=True).encode()
        case "parquet":
            pq.write_table(pa.Table.from_pandas(FRAME), into)
            return into.getvalue()
    return CSV


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "parquet"])
@pytest.mark.parametrize("target", ["csv", "csv.gz", "jsonl", "parquet", "arrows", None])
def test_a_table_goes_through_a_pipe(kind, target, tmp_path, temporary):
    words = () if target is None else ("--out-format", target)
    code, sent, said = run("release", "-", "--format", kind, *READING, "-o", "-", *words, given=bytes_of(kind))
    assert code == 0, said
    released = table_of(sent, target or kind)
    assert released["id"].tolist() == FRAME["id"].tolist()
    assert set(released["smokes"]) == {"no", "yes"}
    assert "No guess about" in said
    assert "table: -" in said
    assert ("--save-mechanism FILE saves it" in said) is ((target or kind) not in ("parquet", "arrows"))
    assert [one.name for one in tmp_path.rglob("*")] == ["temporary"]


def test_the_output_is_the_default_for_what_came_in_and_a_file_may_stand_on_either_side(tmp_path):
    code, sent, _ = run("release", "-", "--format", "csv", *READING)
    assert code == 0
    assert sent.startswith(b"id,smokes\n0,")
    assert run("release", "-", "--format", "csv", *READING, "-o", "o.parquet")[0] == 0
    assert stat.S_IMODE(Path("o.parquet").stat().st_mode) == 0o600, "as private as what it was made of"
    Path("t.csv").write_bytes(CSV)
    code, sent, _ = run("release", "t.csv", *READING, "-o", "-")
    assert code == 0
    assert len(table_of(sent, "csv")) == 400
    assert sorted(one.name for one in tmp_path.iterdir()) == ["o.parquet", "o.report.html", "t.csv", "temporary"]


def test_mechanism_certificate_and_report_are_saved_where_asked_and_estimates_read_the_stream(tmp_path):
    files = ("--save-mechanism", "m.json", "--certificate", "c.json", "--report", "r.json")
    code, sent, _ = run("release", "-", "--format", "csv", *ASKED, "-o", "-", *files, "--json")
    assert code == 0
    code, found, _ = run("estimate", "-", "--format", "csv", "-m", "m.json", "-c", "smokes", "--json", given=sent)
    assert code == 0
    Path("o.csv").write_bytes(sent)
    assert found == run("estimate", "o.csv", "-m", "m.json", "-c", "smokes", "--json")[1]
    one_less = b"".join(sent.splitlines(keepends=True)[:-1])
    code, _, said = run("estimate", "-", "--format", "csv", "-m", "m.json", "-c", "smokes", given=one_less)
    assert "belongs to another released table" in said, "the file of the mechanism knows its table"
    code, sent, _ = run("release", "-", "--format", "csv", *ASKED, "-o", "-", "--out-format", "parquet")
    code, found, _ = run("estimate", "-", "--format", "parquet", given=sent)
    assert code == 0, "its mechanism is in it"
    code, found, _ = run("regress", "smokes ~ id", "-", "--format", "parquet", given=sent)
    assert code == 0
    assert lw.verify("c.json").holds


FAULTS = [
    (("-o", "-"), CSV, "--format must say what kind of table the standard input is"),
    (("--format", "xlsx"), CSV, "--format must be one of parquet"),
    (("--format", "csv", "--out-format", "cvs"), CSV, "Did you mean 'csv'"),
    (("--format", "csv"), b"", "is empty"),
    (("--format", "parquet"), CSV, "is not a Parquet file"),
    (("--format", "csv.gz"), gzip.compress(CSV)[:-9], "damaged or cut off"),
    (("--format", "csv"), CSV + b"400,perhaps\n", "outside the declared domain"),
    (("--format", "csv"), CSV + b"401\n", "has 1 fields"),
    (("--format", "csv", "-o", "o.csv", "--out-format", "csv"), CSV, "--out-format is for the standard output"),
    (("--format", "csv", "--ledger", "l.db"), CSV, "dataset"),
    (("--format", "csv", "--save-config", "s.toml"), CSV, "--save-mechanism FILE"),
    (("--format", "csv", "--report", "none/r.html"), CSV, "does not exist"),
]


@pytest.mark.parametrize(("words", "given", "message"), FAULTS, ids=[message for _, _, message in FAULTS])
def test_a_release_that_fails_sends_nothing_and_leaves_nothing(words, given, message, tmp_path):
    code, sent, said = run("release", "-", *READING, *words, given=given)
    assert code == 2
    assert message in said
    assert sent == b""
    left = [one.name for one in tmp_path.rglob("*") if not one.name.startswith("l.db")]
    assert left == ["temporary"]


def test_a_report_that_fails_is_told_before_anything_is_sent(monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise lw.InvalidInput("the disk is full")

    monkeypatch.setattr("leakwise.report.reported.Reported.report", broken, raising=False)
    monkeypatch.setattr("leakwise.report.Protection.report", broken)
    code, sent, said = run("release", "-", "--format", "csv", *READING, "-o", "-", "--report", "r.html")
    assert code == 2
    assert sent == b""
    assert "was drawn, and was not sent, but its report could not be written" in said


def test_settings_do_not_keep_that_a_table_came_through_a_pipe():
    words = ("--save-config", "s.toml", "--save-mechanism", "m.json")
    assert run("release", "-", "--format", "csv", *READING, *words, "--out-format", "jsonl")[0] == 0
    assert "format" not in Path("s.toml").read_text()
    Path("t.csv").write_bytes(CSV)
    assert run("release", "t.csv", "--config", "s.toml")[0] == 0


def test_a_dry_run_sends_nothing():
    code, sent, said = run("release", "-", "--format", "csv", *READING, "-o", "-", "--dry-run")
    assert code == 0
    assert sent == b""
    assert "No guess about" in said


def test_a_format_is_not_for_files():
    Path("t.csv").write_bytes(CSV)
    code, _, said = run("release", "t.csv", "--format", "csv", *READING)
    assert code == 2
    assert "--format is for a table on the standard input" in said


def test_nobody_else_can_read_the_rows_that_came_in(temporary, monkeypatch):
    seen: list[tuple[int, int, bool]] = []
    before = standard_streams.shutil.copyfileobj

    def watched(source: object, file: object, *rest: object) -> None:
        before(source, file, *rest)
        if source is sys.stdin.buffer:
            folder = next(temporary.iterdir())
            found = os.fstat(file.fileno())
            seen.append((stat.S_IMODE(folder.stat().st_mode), stat.S_IMODE(found.st_mode), found.st_nlink == 0))

    monkeypatch.setattr(standard_streams.shutil, "copyfileobj", watched)
    assert run("release", "-", "--format", "csv", *READING)[0] == 0
    assert seen == [(0o700, 0o600, sys.platform == "linux")]


def test_without_nameless_files_the_copy_is_private_and_removed(temporary, monkeypatch):
    monkeypatch.setattr(standard_streams, "_PROCESSES", Path("none/such"))
    modes: list[int] = []

    def watched(file: io.IOBase, folder: str) -> None:
        modes.extend(stat.S_IMODE(one.stat().st_mode) for one in (Path(folder), Path(folder) / "stdin.csv"))
        remove(file, folder)

    remove = standard_streams._remove
    monkeypatch.setattr(standard_streams, "_remove", watched)
    assert run("release", "-", "--format", "csv", *READING)[0] == 0
    assert modes == [0o700, 0o600]
    assert not list(temporary.iterdir())


def test_an_output_that_breaks_off_is_told(temporary):
    code = "import sys; from leakwise.cli import app; app(sys.argv[1:])"
    words = [sys.executable, "-c", code, "release", "-", "--format", "csv", *READING]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(words, env={**os.environ, "TMPDIR": str(temporary)}, **pipes) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(CSV)
        process.stdin.close()
        said = process.stderr.read().decode()
    assert process.returncode == 2
    assert "the standard output broke off: Broken pipe" in said
    assert "Traceback" not in said
    assert not list(temporary.iterdir())


def test_a_process_that_is_killed_leaves_no_row_behind(temporary):
    code = "import sys; from leakwise.cli import app; app(sys.argv[1:])"
    words = [sys.executable, "-c", code, "release", "-", "--format", "csv", *READING]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "TMPDIR": str(temporary)}
    ) as process:
        assert process.stdin is not None
        process.stdin.write(CSV)
        process.stdin.flush()
        while not list(temporary.rglob("stdin.csv")) and process.poll() is None:
            process.stdin.write(b"1,no\n")
            process.stdin.flush()
        process.send_signal(signal.SIGKILL)
        assert process.stdout is not None
        assert process.stdout.read() == b""
    assert not any(one.is_file() for one in temporary.rglob("*")), "a link that leads nowhere, at most"


@pytest.mark.parametrize("protected", [ASKED, ("--protect", "smokes=2", "--protect", "id=2")])
def test_what_is_said_of_a_release_into_a_pipe_names_no_temporary_file(protected, temporary: Path) -> None:
    if protected is not ASKED:
        protected = (
            *protected,
            "--domain",
            "no,yes",
            "--domain",
            "bins:0,400,2",
            "--prior",
            "uniform",
            "--prior",
            "uniform",
        )
    code, sent, said = run(
        "release", "-", "--format", "csv", *protected, "--out-format", "parquet", "--order", "shuffle"
    )
    assert (code, sent[:4]) == (0, b"PAR1")
    assert "table: -" in said
    assert temporary.name not in said
    assert "stdout" not in said
