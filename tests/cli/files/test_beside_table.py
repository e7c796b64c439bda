"""A released CSV file and the mechanism beside it change together, wherever the process dies."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app
from leakwise.mechanism.files import save_mechanism

OLD = lw.Mechanism([["7/8", "1/8"], ["1/8", "7/8"]], inputs=["no", "yes"], outputs=["no", "yes"])
NEW = lw.Mechanism([["1/4", "3/4"], ["3/4", "1/4"]], inputs=["no", "yes"], outputs=["no", "yes"])

WORDS = [
    "release",
    "t.csv",
    "-c",
    "s",
    "--domain",
    "no,yes",
    "--prior",
    "no=0.7,yes=0.3",
    "--unrelated",
    "id",
    "--mechanism",
    "new.json",
    "--overwrite",
]

# Dies at every rename of a file.
KILLER = """
import json, os, shutil, sys
from pathlib import Path
from leakwise.cli import app
import leakwise.tables, leakwise.workflow.protect

template, words = Path(sys.argv[1]), json.loads(sys.argv[2])
real, left = os.replace, [0]

def replace(one, other):
    left[0] -= 1
    if left[0] == 0:
        os._exit(9)
    real(one, other)

points = 0
for point in range(1, 40):
    folder = template.with_name(f"{template.name}-{point}")
    shutil.copytree(template, folder)
    child = os.fork()
    if not child:
        left[0], os.replace = point, replace
        os.chdir(folder)
        app(words, standalone_mode=False)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0:
        break
    points += 1
print("points", points)
"""


def written(folder, rows):
    folder.mkdir()
    generator = np.random.default_rng(3)
    frame = pd.DataFrame({"id": range(rows), "s": np.where(generator.random(rows) < 0.3, "yes", "no")})
    frame.to_csv(folder / "t.csv", index=False)
    OLD.save(folder / "old.json")
    NEW.save(folder / "new.json")


def release(folder, mechanism, *more):
    words = ["release", folder / "t.csv", "-c", "s", "--domain", "no,yes", "--prior", "no=0.7,yes=0.3"]
    words += ["--unrelated", "id"]
    done = CliRunner().invoke(app, [*map(str, words), "--mechanism", str(folder / mechanism), *more])
    assert done.exit_code == 0, done.output


def _read(table, mechanism):
    """The mechanism with which a table is read; or why it is not."""
    try:
        m = lw.Mechanism.load(mechanism)
        lw.estimate(table, m, "s")
    except lw.InvalidInput as error:
        return str(error)
    return m


@pytest.mark.parametrize("digest", [True, False])
def test_a_release_that_dies_leaves_a_table_with_its_mechanism_or_an_error(tmp_path, digest):
    """Killed at every rename: the table that is there is never read with the other's mechanism."""
    folder = tmp_path / "f"
    written(folder, 300)
    release(folder, "old.json")
    keep = "t.released.mechanism.json"
    if not digest:  # as version 0.1 wrote it
        OLD.save(folder / keep)
    before = (folder / "t.released.csv").read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", KILLER, folder, json.dumps(WORDS)], capture_output=True, text=True, check=True
    )
    points = int(done.stdout.split()[-1])
    assert points >= 3
    replaced = refused = 0
    for point in range(1, points + 2):
        there = tmp_path / f"f-{point}"
        same = (there / "t.released.csv").read_bytes() == before
        replaced += not same
        found = _read(there / "t.released.csv", there / keep)
        if isinstance(found, lw.Mechanism):
            assert found == (OLD if same else NEW)
        else:
            assert ".next" in found
            assert lw.Mechanism.load(there / f"{keep}.next") == NEW
            refused += 1
    assert replaced
    assert refused
    release(there, "old.json", "--overwrite")
    assert lw.Mechanism.load(there / keep) == OLD
    assert not list(there.glob("*.next"))


def test_a_full_disk_changes_nothing(tmp_path, monkeypatch):
    folder = tmp_path / "f"
    written(folder, 200)
    release(folder, "old.json", "--certificate", str(folder / "c.json"))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("leakwise.documents.atomic._open", full)
    monkeypatch.chdir(folder)
    done = CliRunner().invoke(app, [*WORDS, "--certificate", "c.json"])
    assert done.exit_code != 0
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_another_table_than_the_mechanisms_own_is_refused(tmp_path):
    folder = tmp_path / "f"
    written(folder, 500)
    release(folder, "old.json")
    m = lw.Mechanism.load(folder / "t.released.mechanism.json")
    assert m == OLD
    assert m.outcomes_digest is not None
    frame = pd.read_csv(folder / "t.released.csv")
    frame.sort_values("s").assign(more=1).to_csv(folder / "sorted.csv", index=False)
    assert lw.estimate(folder / "sorted.csv", m, "s").sample_size == 500
    assert len(lw.estimate(folder / "sorted.csv", m, "s", by="more")) == 1
    frame.iloc[1:].to_csv(folder / "less.csv", index=False)
    for options in ({}, {"by": "id"}):
        with pytest.raises(lw.InvalidInput, match="belongs to another released table"):
            lw.estimate(folder / "less.csv", m, "s", **options)
    assert lw.estimate(pd.read_csv(folder / "less.csv"), m, "s").sample_size == 499
    save_mechanism(m, folder / "k.json", outcomes_digest="0" * 64)
    document = json.loads((folder / "k.json").read_text())
    assert document["version"] == 3
    OLD.save(folder / "plain.json")
    assert json.loads((folder / "plain.json").read_text())["version"] == 1


def test_outcomes_that_no_frequencies_explain_are_said(tmp_path):
    """Shares beyond what the mechanism can give: a warning; shares within, or off by chance: none."""
    m = lw.randomized_response(["no", "yes"], lift=3)
    lw.estimate({"no": 7500, "yes": 2500}, m)
    lw.estimate({"no": 7590, "yes": 2410}, m)  # two standard errors beyond
    with pytest.warns(lw.LeakwiseWarning, match="do not fit this mechanism"):
        lw.estimate({"no": 8200, "yes": 1800}, m)
    dense = lw.Mechanism([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])
    lw.estimate({0: 3500, 1: 3000, 2: 3500}, dense)
    with pytest.warns(lw.LeakwiseWarning, match="do not fit this mechanism"):
        lw.estimate({0: 2500, 1: 5000, 2: 2500}, dense)
