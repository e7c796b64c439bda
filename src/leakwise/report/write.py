"""The report as a file."""

from __future__ import annotations

import json
import os
from pathlib import Path

from leakwise.documents import write_atomically
from leakwise.errors import InvalidInput, did_you_mean
from leakwise.report.page import page
from leakwise.report.release_facts import ReleaseFacts
from leakwise.report.steward import StewardFacts, steward_page

__all__ = ["write_report"]


def write_report(facts: ReleaseFacts | StewardFacts, path: str | os.PathLike[str]) -> Path:
    """Write the report, ``.html`` or ``.json``, atomically, and return its path."""
    target = Path(path)
    suffix = target.suffix.lower()
    if suffix in (".html", ".htm"):
        text = steward_page(facts) if isinstance(facts, StewardFacts) else page(facts)
    elif suffix == ".json":
        text = json.dumps(facts.to_dict(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    else:
        raise InvalidInput(
            f"A report must end in .html or .json. Got {str(path)!r} instead.{did_you_mean(suffix, ['.html', '.json'])}"
        )
    write_atomically(target, text.encode())
    return target
