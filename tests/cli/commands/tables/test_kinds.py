"""``leakwise release`` and ``estimate`` with the kinds of files that people have."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from leakwise.cli import app

RUN = CliRunner()
ASKED = ("-c", "smokes", "--domain", "no,yes", "--lift", "2", "--prior", "no=0.5,yes=0.5", "--unrelated", "id")
FRAME = pd.DataFrame({"id": range(400), "smokes": np.random.default_rng(0).choice(["no", "yes"], 400)})


def run(*words: object) -> tuple[int, str, str]:
    done = RUN.invoke(app, [str(word) for word in words], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("ending", [".csv.gz", ".csv.zst", ".jsonl.gz"])
def test_a_compressed_table_comes_back_compressed_and_its_mechanism_is_found(ending, tmp_path):
    if ".csv" in ending:
        FRAME.to_csv(tmp_path / f"t{ending}", index=False)
    else:
        FRAME.to_json(tmp_path / f"t{ending}", orient="records", lines=True)
    assert run("release", tmp_path / f"t{ending}", *ASKED)[0] == 0
    made = {f"t.released{ending}", "t.released.mechanism.json", "t.released.report.html"}
    assert set(names(tmp_path)) == {f"t{ending}", *made}
    code, said, _ = run("estimate", tmp_path / f"t.released{ending}")
    assert code == 0
    assert "400" in said


def test_csv_goes_to_parquet_which_carries_its_mechanism_and_back(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    assert run("release", tmp_path / "t.csv", *ASKED, "-o", tmp_path / "o.parquet")[0] == 0
    assert names(tmp_path) == ["o.parquet", "o.report.html", "t.csv"]
    assert run("estimate", tmp_path / "o.parquet")[0] == 0
    FRAME.to_parquet(tmp_path / "t.parquet")
    assert run("release", tmp_path / "t.parquet", *ASKED, "-o", tmp_path / "p.csv.gz")[0] == 0
    assert (tmp_path / "p.mechanism.json").exists()
    assert run("estimate", tmp_path / "p.csv.gz")[0] == 0
    with gzip.open(tmp_path / "p.csv.gz", "rt") as lines:
        assert next(lines) == "id,smokes\n"


def test_advice_is_given_for_a_compressed_table(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv.gz", index=False)
    code, said, _ = run("advise", tmp_path / "t.csv.gz", "-c", "smokes", "--domain", "no,yes")
    assert code == 0
    assert "t.csv.gz" in said
