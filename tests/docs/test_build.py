"""The documentation is read by Sphinx without a warning: every page, link and listing, except the API's docstrings.

Those take most of the time of ``make docs``, which builds all of it.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
API = "reference/index.md"


def test_every_page_is_read_without_a_warning(tmp_path: Path) -> None:
    without = ["-D", f"exclude_patterns=_build,{API}"]
    quiet = ["-D", "suppress_warnings=ref.python,toc.not_readable"]  # the page left out here is still listed
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "dummy", *without, *quiet]
    done = subprocess.run([*command, str(DOCS), str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.returncode == 0
