"""``dry_run=True``: everything of a release but the draw."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app

PRIOR = lw.Prior({"no": 0.75, "yes": 0.25})
ASKED = {"prior": PRIOR, "lift": 2, "unrelated": ["sex"]}
OPTIONS = ("-c", "ill", "--lift", "2", "--prior", "no=0.75,yes=0.25", "--unrelated", "sex")


@pytest.fixture
def table() -> pd.DataFrame:
    generator = np.random.default_rng(11)
    return pd.DataFrame({"ill": generator.choice(["no", "yes"], 4000, p=[0.7, 0.3]), "sex": ["f", "m"] * 2000})


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def test_the_guarantee_is_that_of_the_release_and_nothing_is_drawn(table):
    tried, made = (lw.protect(table, "ill", **ASKED, dry_run=dry) for dry in (True, False))
    assert tried.guarantee == made.guarantee
    assert np.array_equal(tried.mechanism.matrix, made.mechanism.matrix)
    assert tried.certificate.verify().holds
    assert tried.table is None
    assert "Dry run: nothing was drawn, written or entered in a ledger." in repr(tried)
    # 0.4% of the rows with a value, then 87% of them, at a limit of 2: without a word that looks like a broken limit.
    assert "guessed before, guessed after: how many of the rows with that value" in repr(tried)


def test_the_expected_errors_and_guesses_are_those_of_many_releases(table):
    tried = lw.protect(table, "ill", **ASKED, dry_run=True).dry_run
    m, counts = tried.mechanism, table["ill"].value_counts()[list(tried.mechanism.inputs)].to_numpy()
    generator = np.random.default_rng(5)
    outcomes = sum(generator.multinomial(n, row, 4000) for n, row in zip(counts, m.matrix, strict=True))
    estimates = outcomes / 4000 @ np.linalg.inv(m.matrix)
    # The rows' own values stay; what they vary by in a population of such people comes to it.
    spread = np.sqrt(estimates.var(axis=0) + counts * (4000 - counts) / 4000**3)
    assert list(tried.standard_errors.values()) == pytest.approx(spread, rel=0.05)
    joint = counts[:, None] * m.matrix
    assert tried.guesses.after == pytest.approx(joint.max(axis=0).sum() / 4000)
    assert tried.guesses.before == counts.max() / 4000


def test_groups_have_errors_of_their_own():
    generator = np.random.default_rng(2)
    sex = generator.choice(["f", "m"], 9000, p=[2 / 3, 1 / 3])
    ill = np.where(generator.random(9000) < np.where(sex == "f", 0.2, 0.5), "yes", "no")
    frame = pd.DataFrame({"sex": sex, "ill": ill})
    tried = lw.protect(
        frame, "ill", domain=["no", "yes"], prior="table", failure=1e-3, lift=2, given=["sex"], dry_run=True
    ).dry_run
    assert list(tried.by_group) == ["f", "m"]
    for key, errors in tried.by_group.items():
        rows = frame[frame["sex"] == key]["ill"].value_counts()[["no", "yes"]]
        law = (rows / rows.sum()).to_numpy() @ tried.mechanism[key].matrix
        slope = np.ptp(tried.mechanism[key].matrix[:, 0])
        assert errors["yes"] == pytest.approx(np.sqrt(law[0] * law[1] / rows.sum()) / slope, rel=1e-3)
    assert max(tried.standard_errors.values()) < min(max(one.values()) for one in tried.by_group.values())


def test_a_ledger_is_asked_and_not_changed(table, tmp_path):
    path = tmp_path / "l.db"
    tried = lw.protect(table, "ill", **ASKED, dry_run=True, ledger=path, dataset="d")
    assert tried.dry_run.ledger == "would be made, with this release as its first entry"
    assert not path.exists()
    ledger = lw.Ledger(path)
    ledger.set_budget("d", "ill", lift=2.5)
    lw.protect(table, "ill", **ASKED, ledger=ledger, dataset="d")
    before = ledger.entries()
    tried = lw.protect(table, "ill", **ASKED, dry_run=True, ledger=ledger, dataset="d")
    assert "would refuse the release: This release of 'ill' of 'd' is refused" in tried.dry_run.ledger
    ledger.set_budget("d", "ill", lift=90)
    tried = lw.protect(table, "ill", **ASKED, dry_run=True, ledger=ledger, dataset="d")
    assert tried.dry_run.ledger.startswith("would count 2 with this release, with a lift of ")
    assert tried.dry_run.ledger.endswith("the budget is lift = 90")
    assert ledger.entries() == before


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_command_writes_nothing_and_names_what_it_would(table, tmp_path, suffix):
    place = tmp_path / f"t{suffix}"
    (table.to_csv(place, index=False) if suffix == ".csv" else table.to_parquet(place))
    before = files_of(tmp_path)
    more = ("--ledger", tmp_path / "l.db", "--certificate", tmp_path / "c.json", "--save-config", tmp_path / "s.toml")
    done = CliRunner().invoke(app, list(map(str, ("release", place, *OPTIONS, *more, "--dry-run"))))
    assert done.exit_code == 0, done.output
    assert files_of(tmp_path) == before
    assert "For the steward only" in done.stdout
    done = CliRunner().invoke(app, list(map(str, ("release", place, *OPTIONS, *more, "--dry-run", "--json"))))
    told = json.loads(done.stdout)["dry_run"]
    assert set(told["files"]) == {"table", "report", "mechanism", "certificate", "settings"}
    assert told["files"]["table"] == str(tmp_path / f"t.released{suffix}")
    # Each of these is written by the same command without --dry-run.
    done = CliRunner().invoke(app, list(map(str, ("release", place, *OPTIONS, *more))))
    assert done.exit_code == 0, done.output
    assert all(Path(one).is_file() for one in told["files"].values())


def test_what_the_release_refuses_is_refused_in_a_dry_run_too(table, tmp_path):
    with pytest.raises(lw.LeakwiseError, match="outside the declared domain"):
        lw.protect(table.replace({"ill": {"no": "maybe"}}), "ill", **ASKED, dry_run=True)
    with pytest.raises(lw.LeakwiseError, match="nothing was drawn"):
        lw.protect(table, "ill", **ASKED, dry_run=True).report(tmp_path / "r.html")


def test_a_database_is_not_written_to(table, tmp_path):
    import sqlite3

    path = tmp_path / "d.sqlite"
    with sqlite3.connect(path) as db:
        table.to_sql("t", db, index=False)
    db.close()
    before = path.read_bytes()
    tried = lw.protect(
        lw.SqlTable(path, "t"), "ill", **ASKED, dry_run=True, out=lw.SqlTable(path, "u"), order="shuffle"
    )
    assert tried.table is None
    assert path.read_bytes() == before
