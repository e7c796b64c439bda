"""A release opens its table once, encodes its values once, and proves its mechanism once."""

from __future__ import annotations

import hmac
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli.app import app
from leakwise.tables import formats
from leakwise.tables.kinds.joint_columns import encode_columns
from leakwise.tables.ledger.column_digest import Digester
from leakwise.tables.release import exchange, sources
from leakwise.workflow import mechanism as release_mechanism

VALUES = np.where(np.random.default_rng(5).random(400) < 0.3, "yes", "no")
FRAME = pd.DataFrame({"id": range(400), "smokes": VALUES})
PRIOR = lw.Prior({"no": 0.7, "yes": 0.3})
FORMATS = ["t.csv", "t.tsv", "t.jsonl", "t.parquet", "t.arrow"]


def written(path: Path) -> Path:
    if path.suffix == ".parquet":
        FRAME.to_parquet(path, index=False)
    elif path.suffix == ".arrow":
        FRAME.to_feather(path)
    elif path.suffix == ".jsonl":
        FRAME.to_json(path, orient="records", lines=True)
    else:
        FRAME.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.fixture
def encoded(monkeypatch) -> list[str]:
    """What the columns in memory were encoded as."""
    seen: list[str] = []

    def counting(columns, names, alphabet, what, **options):
        seen.append(what)
        return encode_columns(columns, names, alphabet, what, **options)

    for module in (sources, exchange):
        monkeypatch.setattr(module, "encode_columns", counting)
    return seen


@pytest.fixture
def opened(monkeypatch) -> list[str]:
    """The files that were opened as tables."""
    seen: list[str] = []
    real = formats._open

    def counting(path, name):
        seen.append(path.name)
        return real(path, name)

    monkeypatch.setattr(formats, "_open", counting)
    return seen


@pytest.mark.parametrize("order", [None, "shuffle"])
def test_a_table_in_memory_is_encoded_once(order, encoded, tmp_path):
    book = lw.Ledger(tmp_path / "l.db")
    done = lw.protect(FRAME, "smokes", unrelated="id", prior=PRIOR, lift=2, ledger=book, dataset="d", order=order)
    assert encoded == ["inputs"]
    # The digest is of the outcomes in the order in which they stand in the released table.
    outcomes = lw.Mechanism.from_kernel(done.mechanism.kernel, done.mechanism.inputs, done.mechanism.outputs)
    codes = encode_columns([done.table["smokes"]], ["smokes"], outcomes.output_alphabet, "outputs")
    expected = Digester(book.digest, outcomes.output_alphabet)
    expected.add(codes)
    assert expected.text() is not None
    assert hmac.compare_digest(book.entries()[0].released_digest, expected.text())
    encoded.clear()
    lw.release(FRAME, done.mechanism, "smokes", order=order)
    assert encoded == ["inputs"]


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_is_opened_once(name, opened, tmp_path):
    source = written(tmp_path / name)
    out = tmp_path / f"out{source.suffix}"
    mechanism = lw.protect(
        source, "smokes", unrelated="id", prior=PRIOR, lift=2, out=out, ledger=tmp_path / "l.db"
    ).mechanism
    assert opened == [name]
    opened.clear()
    lw.release(source, mechanism, "smokes", out=out, overwrite=True)
    assert opened == [name]
    opened.clear()
    lw.estimate(out, mechanism, "smokes")
    assert opened == [out.name]


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_the_command_opens_its_table_once(name, opened, tmp_path):
    source = written(tmp_path / name)
    words = ["release", str(source), "-c", "smokes", "--domain", "no,yes", "--lift", "2", "--prior", "no=0.7,yes=0.3"]
    words += ["--unrelated", "id"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert opened.count(name) == 1


@pytest.mark.parametrize("prior", [PRIOR, PRIOR.ball(0.05), {"no": 0.7, "yes": 0.3}])
def test_a_design_is_proven_once(prior, monkeypatch):
    proven: list[object] = []
    monkeypatch.setattr(release_mechanism, "certify", lambda *given, **_: proven.append(given))
    done = lw.protect(FRAME, "smokes", unrelated="id", prior=prior, lift=2)
    assert proven == []
    assert done.certificate == done.design.certificate
    assert done.certificate.verify() is not None


def test_a_file_that_changes_after_it_was_opened_is_not_released(tmp_path):
    source = written(tmp_path / "t.csv")
    table = formats.open_table(source)
    with source.open("a", encoding="utf-8") as stream:
        stream.write("400,no\n")
    with pytest.raises(lw.InvalidInput, match="was changed while it was released"):
        lw.protect(table, "smokes", unrelated="id", prior=PRIOR, lift=2, out=tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_copy_of_the_same_size_and_time_is_another_file(name, tmp_path):
    source, other = written(tmp_path / name), written(tmp_path / f"other.{name}")
    table, stamp = formats.open_table(source), source.stat()
    other.replace(source)
    os.utime(source, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert (source.stat().st_size, source.stat().st_mtime_ns) == (stamp.st_size, stamp.st_mtime_ns)
    with pytest.raises(lw.InvalidInput, match="was changed while it was released"):
        lw.protect(table, "smokes", unrelated="id", prior=PRIOR, lift=2, out=tmp_path / f"out.{name}")
