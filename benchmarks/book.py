"""Where benchmarks write their figures down: one JSON file for each script, and one page made of all of them."""

from __future__ import annotations

import json
import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"


def machine() -> dict[str, Any]:
    """What the figures were taken on."""
    model = platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, StopIteration, ValueError):
        memory = 0
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory_gigabytes": round(memory / 2**30),
        "system": platform.system(),
        "python": platform.python_version(),
    }


class Book:
    """The figures of one script."""

    def __init__(self, script: str) -> None:
        self.script, self.figures = script, list[dict[str, Any]]()
        self._table: dict[str, Any] | None = None

    def note(self, what: str, figure: str, *, target: str | None = None, kept: bool | None = None) -> None:
        """One line of the page: what was measured, what came out, what was wanted."""
        self.figures.append({"what": what, "figure": figure, "target": target, "kept": kept})

    def table(self, title: str, head: list[str], lines: list[list[str]]) -> None:
        """The figures once more, as a table of its own on the page."""
        self._table = {"title": title, "head": head, "lines": lines}

    def close(self) -> Path:
        """Write them to results/."""
        RESULTS.mkdir(exist_ok=True)
        told = {
            "script": self.script,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": machine(),
            "figures": self.figures,
        }
        if self._table is not None:
            told["table"] = self._table
        path = RESULTS / f"{self.script}.figures.json"
        path.write_text(json.dumps(told, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        return path
