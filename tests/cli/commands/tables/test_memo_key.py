"""``leakwise memo-key``, and ``leakwise release --memo``."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from leakwise.cli import app

RUN = CliRunner()


def run(*words: object) -> tuple[int, str, str]:
    done = RUN.invoke(app, [str(word) for word in words], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def test_a_key_is_made_once_and_shown_after_that(tmp_path: Path) -> None:
    code, said, _ = run("memo-key", tmp_path / "key.bin", "--json")
    made = json.loads(said)
    assert (code, made["made"]) == (0, True)
    assert stat.S_IMODE((tmp_path / "key.bin").stat().st_mode) == 0o600
    code, said, _ = run("memo-key", tmp_path / "key.bin")
    assert code == 0
    assert f"a key with the fingerprint {made['fingerprint']}" in said


def test_next_year_unchanged_values_go_out_as_they_did(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    first = pd.DataFrame({"id": range(500), "smokes": rng.choice(["no", "yes"], 500, p=[0.8, 0.2])})
    second = first.assign(smokes=first["smokes"].where(first["id"] > 100, "no")).sample(frac=1, random_state=1)
    first.to_csv(tmp_path / "y1.csv", index=False)
    second.to_parquet(tmp_path / "y2.parquet", index=False)
    run("memo-key", tmp_path / "key.bin")
    memo = ("--memo", tmp_path / "key.bin", "--person", "id", "--unrelated", "id")
    options = ("-c", "smokes", "--lift", "2", "--prior", "no=0.8,yes=0.2", *memo)
    code, said, wrong = run("release", tmp_path / "y1.csv", *options)
    assert code == 0, wrong
    assert "draws repeat" in said
    mechanism = ("--mechanism", tmp_path / "y1.released.mechanism.json")
    code, _, wrong = run("release", tmp_path / "y2.parquet", *options, *mechanism)
    assert code == 0, wrong
    one = pd.read_csv(tmp_path / "y1.released.csv").set_index("id")["smokes"]
    two = pd.read_parquet(tmp_path / "y2.released.parquet").set_index("id")["smokes"].astype(str)
    same = second.set_index("id")["smokes"].sort_index() == first.set_index("id")["smokes"]
    assert (one[same] == two[same.index][same]).all()
    assert 0 < (~same).sum() < 100


def test_a_key_that_others_can_read_ends_with_exit_code_2(tmp_path: Path) -> None:
    pd.DataFrame({"id": range(40), "smokes": ["no", "yes"] * 20}).to_csv(tmp_path / "t.csv", index=False)
    run("memo-key", tmp_path / "key.bin")
    (tmp_path / "key.bin").chmod(0o644)
    options = ("-c", "smokes", "--lift", "2", "--prior", "no=0.8,yes=0.2", "--drop", "id", "--order", "keep")
    code, _, wrong = run("release", tmp_path / "t.csv", *options, "--memo", tmp_path / "key.bin", "--person", "id")
    assert code == 2
    assert "others can read or write the key file" in wrong
    assert not (tmp_path / "t.released.csv").exists()
