"""The demo runs to its end, and leaves files that check."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path

import leakwise as lw

SCRIPT = Path(__file__).parents[2] / "examples" / "adult_demo.py"


def test_the_demo_prints_the_story_and_leaves_files_that_verify(tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("adult_demo", SCRIPT)
    demo = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(demo)
    demo.main(tmp_path)
    told = capsys.readouterr().out
    for words in ("The table", "times as likely", "randomized response", "Recovered", "too rare to learn from"):
        assert words.lower() in told.lower()
    assert "up to 10 times as likely as they make it already" in told  # by a mechanism for the column alone
    assert "more than 2 times as likely as sex and income make it already" in told
    certificate = lw.verify(tmp_path / "certificate.json")
    assert certificate.holds
    assert certificate.ratio <= 2
    assert lw.StratifiedMechanism.load(tmp_path / "mechanism.json") == certificate.mechanism
    with (tmp_path / "released.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 32_561
    assert set(rows[0]) == {"sex", "marital_status", "income"}
    assert {row["marital_status"] for row in rows} <= set(certificate.mechanism.outputs)
    assert (tmp_path / "report.html").exists()
    assert (tmp_path / "frequencies.svg").exists()
