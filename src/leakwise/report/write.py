"""The report as a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

from leakwise.documents import write_atomically
from leakwise.errors import InvalidInput, did_you_mean
from leakwise.report.facts import Facts
from leakwise.report.page import page

__all__ = ["write_report"]


def write_report(facts: Facts, path: str | os.PathLike[str]) -> Path:
    """Write the report, ``.html`` or ``.json``, atomically, and return its path."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix in (".html", ".htm"):
        text = page(facts)
    elif suffix == ".json":
        text = json.dumps(facts.to_dict(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    else:
        raise InvalidInput(
            f"A report must end in .html or .json. Got {str(path)!r} instead.{did_you_mean(suffix, ['.html', '.json'])}"
        )
    write_atomically(target, text.encode())
    return target
