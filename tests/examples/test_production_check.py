"""The script of a pipeline that the privacy engineer's tutorial ends in: it stops where a limit is broken."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import leakwise as lw

SCRIPT = Path(__file__).parents[2] / "examples" / "production_check.sh"


def _run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    (folder / "check.sh").write_text(script)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["sh", "check.sh"], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )


def test_the_check_passes_and_enters_the_release(tmp_path):
    text = SCRIPT.read_text()
    done = _run(tmp_path / "kept", text)
    assert done.returncode == 0, done.stderr
    assert lw.verify(tmp_path / "kept" / "certificate.json").holds
    assert json.loads((tmp_path / "kept" / "audit.json").read_text())["kept"] is True
    assert lw.Ledger(tmp_path / "kept" / "ledger.db").total("visits", "smokes").releases == 1
    # A mechanism that leaks more ends the pipeline before anything is entered.
    done = _run(tmp_path / "broken", text.replace("epsilon=0.02", "epsilon=1"))
    assert done.returncode == 1
    assert not (tmp_path / "broken" / "ledger.db").exists()
