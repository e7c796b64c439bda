"""``leakwise aggregate``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import leakwise as lw
from leakwise.cli import app


def run(*words: str, code: int = 0) -> str:
    done = CliRunner().invoke(app, ["aggregate", *words])
    assert done.exit_code == code, done.output
    return done.output


COUNT = ["count", "--unknown", "1000", "--prior", "0.3"]


def test_a_count_with_its_certificate_and_its_judge(tmp_path: Path) -> None:
    file = tmp_path / "count.json"
    words = [*COUNT, "--noise", "1", "--delta", "1e-6"]
    plain = json.loads(run(*words, "--certificate", str(file), "--json"))
    assert plain["epsilon"] == lw.aggregate.count(unknown=1000, prior="0.3", noise=1).envelope("1e-6").epsilon
    assert plain["aggregate"]["epsilon"] == pytest.approx(0.584, abs=5e-4)
    assert lw.verify(file).to_dict()["lift"] == plain["lift"]
    saved = " ".join(run(*words, "--certificate", str(file)).split())
    assert "Certificate saved" in saved
    assert "It is about 1,000 unknown records of one count" in saved
    assert "1.2427 times as likely whatever is done to the count" in run(*words)
    assert "is kept" in run(*words, "--fail-above", "1.25")
    assert "is broken" in run(*words, "--fail-above", "1.2", code=1)
    assert "is broken" in run("count", "--unknown", "9", "--prior", "0,1", "--fail-above", "5", code=1)


def test_the_least_noise_and_a_draw(tmp_path: Path) -> None:
    plain = json.loads(run(*COUNT, "--lift", "1.5", "--answer", "300", "--json"))
    assert plain["needed"]
    assert plain["noise"] == pytest.approx(0.6466, abs=1e-4)
    assert 0 <= plain["released"] <= 1000
    assert json.loads(run(*COUNT, "--answer", "1400", "--records", "1500", "--json"))["released"] == 1400
    assert "goes with --answer" in run(*COUNT, "--records", "1500", code=2)
    picture = tmp_path / "noise.json"
    said = run(
        "count", "--unknown", "10000", "--prior", "0.3", "--lift", "1.1", "--delta", "1e-6", "--plot", str(picture)
    )
    assert said.startswith("This count needs no noise for this limit.")
    assert json.loads(picture.read_text(encoding="utf-8"))["layer"]


def test_histograms_and_totals() -> None:
    cells = ["histogram", "--unknown", "20", "--prior", "a=0.5,b=0.3,c=0.2", "--noise", "1", "--json"]
    plain = json.loads(run(*cells, "--answer", "10,6,4"))
    assert plain["anyone"] == pytest.approx(7.389, abs=1e-3)
    assert len(plain["released"]) == 3
    sums = json.loads(run("total", "--unknown", "12", "--prior", "0=0.45,1=0.1,2=0.45", "--noise", "2", "--json"))
    assert sums["lift"] == pytest.approx(2.12, abs=5e-3)


def test_what_is_wrong_is_named() -> None:
    assert "Got both" in run(*COUNT, "--noise", "1", "--lift", "2", code=2)
    assert "interval such as" in run("count", "--unknown", "9", "--prior", "0.1,0.2,0.3", code=2)
    assert "from 1 to" in run("count", "--unknown", "0", "--prior", "0.1", code=2)
    assert "nothing to save" in run("count", "--unknown", "9", "--prior", "0,1", "--certificate", "x.json", code=2)
    halves = ["histogram", "--unknown", "3", "--prior", "a=0.5,b=0.5", "--answer", "1.5,2"]
    assert "2 whole numbers" in run(*halves, code=2)


def test_counts_are_given_and_released_by_name() -> None:
    words = ["histogram", "--unknown", "100", "--prior", "a=0.3,b=0.7", "--noise", "40", "--json"]
    assert json.loads(run(*words, "--answer", "b=70,a=30"))["released"] == {"a": 30, "b": 70}
    assert json.loads(run(*words, "--answer", "30,70"))["released"] == [30, 70]
    assert "a count for each of ['a', 'b']" in " ".join(run(*words, "--answer", "a=30,c=70", code=2).split())
