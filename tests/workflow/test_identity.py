"""``key=``, ``same_as=``, ``new_people=`` and ``outcomes=``: what a release tells its ledger."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app

PRIOR = lw.Prior({"no": 0.75, "yes": 0.25})
ASKED = {"prior": PRIOR, "lift": 2, "drop": ["id"]}


def people(rows=600, seed=3):
    values = np.random.default_rng(seed).choice(["no", "yes"], rows, p=[0.75, 0.25])
    return pd.DataFrame({"id": np.arange(rows) + 10_000, "ill": values})


def shuffled(table, seed=4):
    return table.sample(frac=1, random_state=seed).reset_index(drop=True)


def in_file(tmp_path, table, suffix):
    path = tmp_path / f"t{suffix}"
    if suffix == ".csv":
        table.to_csv(path, index=False)
    elif suffix == ".parquet":
        table.to_parquet(path, index=False)
    elif suffix == ".jsonl":
        table.to_json(path, orient="records", lines=True)
    elif suffix == ".sqlite":
        with closing(sqlite3.connect(path)) as db:
            table.to_sql("t", db, index=False)
        return lw.SqlTable(path, "t"), lw.SqlTable(tmp_path / "out.sqlite", "t")
    return path, tmp_path / f"out{suffix}"


@pytest.mark.parametrize(
    "kind",
    [lambda t: t, pl.from_pandas, pa.Table.from_pandas, lambda t: t.to_dict("list"), lambda t: t.astype({"id": str})],
    ids=["pandas", "polars", "arrow", "mapping", "recoded"],
)
def test_the_same_people_are_known_again_in_every_kind_of_table(tmp_path, kind):
    ledger = lw.Ledger(tmp_path / "l.db")
    lw.protect(people(), "ill", **ASKED, ledger=ledger, dataset="one", key="id")
    again = kind(shuffled(people()))
    with pytest.raises(lw.InvalidInput, match=r"about 100% of the people .* same_as='one'"):
        lw.protect(again, "ill", **ASKED, ledger=ledger, dataset="two", key="id")
    lw.protect(again, "ill", **ASKED, ledger=ledger, dataset="two", key="id", same_as="one")
    assert ledger.total("one", "ill").releases == 2


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl", ".sqlite"])
def test_the_same_people_are_known_again_in_files(tmp_path, suffix):
    ledger = lw.Ledger(tmp_path / "l.db")
    lw.protect(people(), "ill", **ASKED, ledger=ledger, dataset="one", key="id")
    data, out = in_file(tmp_path, shuffled(people()), suffix)
    with pytest.raises(lw.InvalidInput, match=r"about 100% of the people .* same_as='one'"):
        lw.protect(data, "ill", **ASKED, ledger=ledger, key="id", out=out, order="keep")
    lw.protect(data, "ill", **ASKED, ledger=ledger, key="id", out=out, order="keep", new_people=True)
    assert [one.releases for one in ledger.totals()] == [1, 1]


def test_the_person_of_a_memo_is_the_key_of_the_ledger(tmp_path):
    memo = lw.MemoKey.create(tmp_path / "key.bin")
    first = lw.protect(people(), "ill", **ASKED, ledger=tmp_path / "l.db", dataset="y1", memo=memo, person="id")
    with pytest.raises(lw.InvalidInput, match="same_as='y1'"):
        lw.protect(
            shuffled(people()),
            "ill",
            prior=PRIOR,
            drop=["id"],
            mechanism=first.mechanism,
            ledger=tmp_path / "l.db",
            dataset="y2",
            memo=memo,
            person="id",
        )


def test_a_release_beside_the_outcomes_of_an_earlier_one_adds_its_lift(tmp_path):
    ledger, table = lw.Ledger(tmp_path / "l.db"), people(6000)
    table["old"] = np.random.default_rng(9).choice(["f", "m"], len(table))
    asked = {"prior": "table", "failure": 1e-6, "ledger": ledger, "dataset": "d"}
    first = lw.protect(table, "ill", domain=["no", "yes"], lift=1.5, drop=["id", "old"], **asked)
    table["seen"] = first.table["ill"]
    second = lw.protect(
        table,
        "old",
        domain=["f", "m"],
        lift=1.5,
        given=["seen"],
        drop=["id", "ill"],
        outcomes={"seen": first.entry},
        **asked,
    )
    assert ledger.entries()[1].outcomes == (("seen", first.entry),)
    total, lifts = ledger.total("d"), [one.certificate.epsilon_upper for one in (first, second)]
    assert total.epsilon == pytest.approx(sum(lifts))
    assert total.beside is None  # no column of the table went out as it is
    # Beside nothing, one with the same lift adds its limit for anyone.
    alone = lw.protect(table, "old", domain=["f", "m"], lift=1.5, drop=["id", "ill", "seen"], **asked)
    assert ledger.total("d").epsilon > total.epsilon + 1.5 * lifts[1]
    assert alone.entry == 3


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"key": "id"}, "'key' must be left out without a ledger"),
        ({"same_as": "x"}, "'same_as' must be left out without a ledger"),
        ({"new_people": True}, "'new_people' must be left out without a ledger"),
        ({"outcomes": {"y": 1}}, "'outcomes' must be left out without a ledger"),
        ({"key": "ids", "ledger": "l.db"}, "Did you mean 'id'"),
        ({"key": "id", "same_as": "x", "new_people": True, "ledger": "l.db"}, "exclude each other"),
        ({"outcomes": {"id": 1}, "ledger": "l.db"}, r"must name given columns .* Not given: 'id'"),
        ({"same_as": "x", "ledger": "l.db"}, "must be a dataset of the ledger: it has none"),
    ],
)
def test_what_means_nothing_is_refused(tmp_path, options, named):
    if "ledger" in options:
        options = {**options, "ledger": tmp_path / options["ledger"], "dataset": "d"}
    with pytest.raises(lw.InvalidInput, match=named):
        lw.protect(people(50), "ill", **ASKED, **options)
    if "ledger" in options and (tmp_path / "l.db").exists():
        assert lw.Ledger(tmp_path / "l.db").entries() == []


def test_a_bare_column_has_no_key(tmp_path):
    with pytest.raises(lw.InvalidInput, match="must be left out for a bare column"):
        lw.protect(people(50)["ill"], prior=PRIOR, lift=2, ledger=tmp_path / "l.db", dataset="d", key="id")


def test_a_dry_run_says_that_the_people_are_known(tmp_path):
    ledger = lw.Ledger(tmp_path / "l.db")
    lw.protect(people(), "ill", **ASKED, ledger=ledger, dataset="one", key="id")
    tried = lw.protect(people(), "ill", **ASKED, ledger=ledger, dataset="two", key="id", dry_run=True)
    assert "would refuse the release: By column 'id', about 100% of the people" in repr(tried)
    assert len(ledger.entries()) == 1


def test_on_the_command_line(tmp_path):
    people().to_csv(tmp_path / "one.csv", index=False)
    shuffled(people()).to_csv(tmp_path / "two.csv", index=False)
    words = ["-c", "ill", "--lift", "2", "--prior", "no=0.75,yes=0.25", "--drop", "id", "--order", "keep"]
    words += ["--ledger", str(tmp_path / "l.db"), "--key", "id"]

    def run(name, *more):
        found = CliRunner().invoke(app, ["release", str(tmp_path / name), *words, *more])
        return found.exit_code, " ".join(found.output.split())

    assert run("one.csv")[0] == 0
    code, said = run("two.csv")
    assert code == 2
    assert "--same-as one.csv" in said
    assert not (tmp_path / "two.released.csv").exists()
    assert run("two.csv", "--same-as", "one.csv")[0] == 0
    assert lw.Ledger(tmp_path / "l.db").total("two.csv").releases == 2
    code, said = run("one.csv", "--outcome", "seen", "--overwrite")
    assert code == 2
    assert "--outcome must be NAME=ENTRY" in said
