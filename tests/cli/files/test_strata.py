"""``leakwise release`` and ``leakwise estimate`` with mechanisms by strata, in files and databases."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli.app import app

PRIORS = {"f": {"no": 0.4, "yes": 0.6}, "m": {"no": 0.8, "yes": 0.2}}


def run(*words: Any) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.output


def refused(*words: Any) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code != 0, done.output
    return " ".join(done.output.split())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A table of two columns and a secret, priors by stratum, and mechanisms for them."""
    monkeypatch.chdir(tmp_path)
    generator = np.random.default_rng(0)
    sex = generator.choice(["f", "m"], 3000)
    ill = np.where(generator.random(3000) < np.where(sex == "f", 0.6, 0.2), "yes", "no")
    frame = pd.DataFrame({"sex": sex, "age": generator.integers(0, 99, 3000) + 0.8125, "ill": ill})
    frame.to_csv("t.csv", index=False)
    with closing(sqlite3.connect("base.sqlite")) as connection:
        frame.to_sql("people", connection, index=False)
    priors = lw.PriorByStratum(PRIORS, given={"sex": ["f", "m"]}, secret="ill")
    priors.save("priors.json")
    lw.design(priors, lift=2, anyone=20, utility="frequencies").mechanism.save("strata.json")
    return tmp_path


OPTIONS = ["-c", "ill", "--lift", 2, "--prior", "priors.json", "--mechanism", "strata.json", "--drop", "age"]


def test_a_table_and_its_mechanism_by_strata_lie_next_to_each_other(folder: Path) -> None:
    assert "2 times as likely as sex makes it already" in run("release", "t.csv", *OPTIONS)
    assert (folder / "t.released.csv").read_text().splitlines()[0] == "sex,ill"
    assert ".8125" not in (folder / "t.released.csv").read_text()
    kept = lw.StratifiedMechanism.load("t.released.mechanism.json")
    assert kept == lw.StratifiedMechanism.load("strata.json")
    assert kept.outcomes_digest is not None
    found = json.loads(run("estimate", "t.released.csv", "--json"))
    given = json.loads(run("estimate", "t.released.csv", "-m", "t.released.mechanism.json", "-c", "ill", "--json"))
    assert found == given
    assert "within 2 groups by sex" in run("estimate", "t.released.csv", "--by", "sex")
    # The file of another table is not taken for this one's, and outcomes are not released again.
    lines = (folder / "t.released.csv").read_text().splitlines(keepends=True)
    (folder / "t.released.csv").write_text("".join(lines[:-100]))
    assert "belongs to another released table" in refused("estimate", "t.released.csv")
    (folder / "t.released.csv").write_text("".join(lines))
    outcomes = lw.randomized_response(kept.outputs, lift=2)
    outcomes.save("again.json")
    prior = ",".join(f'"{label}"={1 / len(kept.outputs)}' for label in kept.outputs)
    again = ["-c", "ill", "--lift", 4, "--prior", prior, "--mechanism", "again.json", "--unrelated", "sex"]
    assert "cannot be estimated" in refused("release", "t.released.csv", *again)


def test_a_database_is_released_by_strata(folder: Path) -> None:
    run("release", "people", "--from-sql", "base.sqlite", "--to-sql", "out.sqlite", *OPTIONS)
    (beside,) = folder.glob("out*.mechanism.json")
    table = lw.SqlTable("out.sqlite", "people_released")
    assert table.names == ["sex", "ill"]
    assert b".8125" not in (folder / "out.sqlite").read_bytes()
    found = lw.estimate(table, lw.StratifiedMechanism.load(beside), by="sex")
    truth = pd.read_csv("t.csv").groupby("sex")["ill"].agg(lambda one: (one == "yes").mean())
    for sex in found:
        assert abs(found[sex].frequencies[1] - truth[sex]) < 6 * found[sex].standard_error[1]
