"""The notebook for analysts runs from top to bottom, and comes near the truth that it ends with."""

from __future__ import annotations

import json
from pathlib import Path

NOTEBOOK = Path(__file__).parents[2] / "examples" / "analyst.ipynb"


def test_every_cell_runs_and_the_answers_are_near_the_truth(capsys):
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {}
    codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert len(codes) >= 8
    for code in codes:
        exec(compile(code, str(NOTEBOOK), "exec"), names)
    assert "Regression of true values from released ones" in capsys.readouterr().out
    found, true = names["e"], names["true_table"]
    assert (abs(found.frequencies - true.frequencies) < 6 * found.standard_error).all()
