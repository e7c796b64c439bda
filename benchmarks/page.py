"""Make docs/benchmarks.md of the figures in results/, and add them to the history there. Called by ``make bench``."""

from __future__ import annotations

import json
import sys
from typing import Any

from book import RESULTS

PAGE = RESULTS.parents[1] / "docs" / "benchmarks.md"
HISTORY = RESULTS / "history.json"

HEAD = """# Benchmarks

Written by `make bench`. Every line comes from a script in `benchmarks/`, which runs by itself and compares with a named
baseline in the same run. Tests never depend on these figures. `benchmarks/results/history.json` keeps those of earlier
runs.

"""


def _summary(books: list[dict[str, Any]]) -> str:
    """For each script, how many figures it has, how many targets they met, and which they missed."""
    text = "## Summary\n\n| script | figures | targets met | targets missed |\n|---|---|---|---|\n"
    for book in books:
        judged = [line for line in book["figures"] if line["kept"] is not None]
        missed = [line["what"].replace("|", "\\|") for line in judged if not line["kept"]]
        met = f"{len(judged) - len(missed)} of {len(judged)}" if judged else ""
        text += f"| `{book['script']}.py` | {len(book['figures'])} | {met} | {'; '.join(missed)} |\n"
    return text


def _table(book: dict[str, Any]) -> str:
    """The table that a script made of its own figures, with the day and the machine it is of."""
    if "table" not in book:
        return ""
    title, head, lines = (book["table"][name] for name in ("title", "head", "lines"))
    there = book["machine"]
    text = (
        f"\n## {title}\n\n`{book['script']}.py`, {book['time'][:10]}, {there['processor']}, {there['cores']} cores.\n\n"
    )
    text += f"| {' | '.join(head)} |\n|{'---|' * len(head)}\n"
    return text + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def main() -> int:
    books: list[dict[str, Any]] = [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.figures.json"))
    ]
    if not books:
        print("No figures yet: run the benchmarks first.", file=sys.stderr)
        return 1
    text = HEAD
    newest = max(books, key=lambda book: book["time"])
    there = newest["machine"]
    text += (
        f"Machine of the newest figures ({newest['time'][:10]}): {there['processor']}, {there['cores']} cores, "
        f"{there['memory_gigabytes']} GiB, {there['system']}, Python {there['python']}.\n\n"
    )
    text += _summary(books) + "".join(map(_table, books)) + "\n## All figures\n\n"
    text += "| script | what | figure | wanted | kept |\n|---|---|---|---|---|\n"
    for book in books:
        for line in book["figures"]:
            kept = {True: "yes", False: "**no**", None: ""}[line["kept"]]
            cells = [f"`{book['script']}.py`", line["what"], line["figure"], line["target"] or "", kept]
            text += "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"
    PAGE.write_text(text, encoding="utf-8")
    history: list[dict[str, Any]] = json.loads(HISTORY.read_text(encoding="utf-8")) if HISTORY.exists() else []
    known = {(entry["script"], entry["time"]) for entry in history}
    history += [book for book in books if (book["script"], book["time"]) not in known]
    HISTORY.write_text(json.dumps(history, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    missed = [line["what"] for book in books for line in book["figures"] if line["kept"] is False]
    print(f"{PAGE.name}: {sum(len(book['figures']) for book in books)} figures, {len(missed)} not kept")
    for what in missed:
        print(f"  not kept: {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
