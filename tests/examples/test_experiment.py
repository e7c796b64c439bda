"""The experiment that the researcher's tutorial ends in."""

from __future__ import annotations

import csv
import importlib.util
from pathlib import Path

import leakwise as lw

SCRIPT = Path(__file__).parents[2] / "examples" / "experiment.py"


def test_the_experiment_leaves_a_table_an_optimum_and_its_proof(tmp_path, capsys):
    spec = importlib.util.spec_from_file_location("experiment", SCRIPT)
    experiment = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(experiment)
    experiment.main(tmp_path / "results")
    told = capsys.readouterr().out
    assert "total variation at lift 11/10: 111/2000 = " in told
    assert "every day of a year: lift 6.6667" in told  # 1/π of the rarest value: after a year it is known
    with (tmp_path / "results" / "compared.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {row["limit"] for row in rows} == {"11/10", "3/2", "2"}
    assert {"design for frequencies", "optimized_unary_encoding"} <= {row["mechanism"] for row in rows}
    assert (tmp_path / "results" / "optimum.tex").read_text().startswith("\\begin{array}")
    assert lw.verify(tmp_path / "results" / "optimum.json").holds
