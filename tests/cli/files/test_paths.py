"""No file that a release reads or writes may be another of them: all are compared before anything is done."""

from __future__ import annotations

import itertools
import os

import pandas as pd
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app

RUN = CliRunner()
OPTIONS = ("-c", "smokes", "--domain", "no,yes", "--lift", "2", "--unrelated", "id", "--overwrite")
PRIOR = lw.Prior({"no": 0.5, "yes": 0.5})
SMOKES = pd.Series(["no", "yes", "yes", "no"] * 10).sample(frac=1, random_state=0, ignore_index=True)
FRAME = pd.DataFrame({"id": range(40), "smokes": SMOKES})


def run(*words):
    done = RUN.invoke(app, [str(word) for word in words], catch_exceptions=False)
    return done.exit_code, done.stderr


@pytest.fixture
def places(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    PRIOR.save(tmp_path / "p.json")
    lw.randomized_response(["no", "yes"], lift=2).save(tmp_path / "m.json")
    return {
        "TABLE": tmp_path / "t.csv",
        "--prior": tmp_path / "p.json",
        "--mechanism": tmp_path / "m.json",
        "--out": tmp_path / "o.csv",
        "--report": tmp_path / "r.json",
        "--save-mechanism": tmp_path / "k.json",
        "--certificate": tmp_path / "c.json",
        "--ledger": tmp_path / "l.db",
    }


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def command(places):
    words = [word for name, path in places.items() if name != "TABLE" for word in (name, path)]
    return run("release", places["TABLE"], *OPTIONS, *words)


def test_different_files_are_fine(places):
    assert command(places) == (0, "")


NAMES = ("TABLE", "--prior", "--mechanism", "--out", "--report", "--save-mechanism", "--certificate", "--ledger")


@pytest.mark.parametrize("pair", [one for one in itertools.combinations(NAMES, 2) if one[1] not in NAMES[:3]])
def test_every_pair_of_files_is_compared(places, pair, tmp_path):
    first, second = pair
    places[second] = places[first]
    before = content(tmp_path)
    code, said = command(places)
    assert code == 2
    assert said
    assert content(tmp_path) == before


@pytest.mark.parametrize("link", [os.symlink, os.link])
@pytest.mark.parametrize("name", ["--save-mechanism", "--certificate", "--ledger", "--report", "--out"])
def test_links_to_the_table_are_the_table(places, link, name, tmp_path):
    other = tmp_path / f"link{places[name].suffix}"
    link(places["TABLE"], other)
    before = content(tmp_path)
    code, said = command({**places, name: other})
    assert code == 2
    assert "must be different files" in said or "must not be the table itself" in said
    assert content(tmp_path) == before


def test_names_that_differ_in_case_only_or_are_the_ledgers_own(places, tmp_path):
    for changed in (
        {"--certificate": tmp_path / "K.json"},
        {"--certificate": tmp_path / "l.db-wal"},
        {"--certificate": tmp_path / "k.json.next"},
        {"--report": tmp_path / "none" / ".." / "c.json"},
    ):
        code, said = command({**places, **changed})
        assert code == 2
        assert "must be different files" in said
    assert sorted(content(tmp_path)) == ["m.json", "p.json", "t.csv"]


def test_protect_compares_its_files_too(tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    before = content(tmp_path)
    options = {"prior": PRIOR, "lift": 2, "unrelated": "id"}
    for ledger, out in (("t.csv", "o.csv"), ("o.csv", "o.csv"), ("x.db", "x.db-wal"), ("T.CSV", "t.csv")):
        with pytest.raises(lw.InvalidInput, match=r"must be different files|must not be the table|same kind"):
            lw.protect(tmp_path / "t.csv", "smokes", out=tmp_path / out, ledger=tmp_path / ledger, **options)
        assert {name: text for name, text in content(tmp_path).items() if name != "T.CSV"} == before
    r = lw.protect(tmp_path / "t.csv", "smokes", out=tmp_path / "o.csv", ledger=tmp_path / "l.json", **options)
    os.link(tmp_path / "t.csv", tmp_path / "hard.html")
    for path in ("l.json", "hard.html"):
        with pytest.raises(lw.InvalidInput, match="must be different files"):
            r.report(tmp_path / path)
    with pytest.raises(lw.InvalidInput, match="must be different files"):
        lw.Ledger(tmp_path / "l.json").export(tmp_path / "l.json")
    assert lw.Ledger(tmp_path / "l.json").entries()
    assert r.report(tmp_path / "r.json").exists()
