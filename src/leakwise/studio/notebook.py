"""A notebook for an opened table: design, release and estimate, with the names of its file and columns."""

from __future__ import annotations

import json
from typing import Any

from leakwise.priors import Prior
from leakwise.studio.state import DesignGoal
from leakwise.studio.table_release import TableRelease, value_of
from leakwise.studio.takeaway import design_lines, in_python

__all__ = ["notebook"]


def notebook(release: TableRelease, prior: Prior) -> str:
    """Return the notebook as the text of an ``.ipynb`` file, without outputs."""
    state, others = release.state, release.others
    table, column, out = (_code(name) for name in (others.table, others.column, release.out))
    known = "prior" if state.prior.sample is None else "priors"
    designed = isinstance(state.goal, DesignGoal)
    asked = f"{state.level.kind}={in_python(state.level.value.strip())}"
    shown = "d" if designed else f"lw.audit(mechanism, {known}, {asked})"
    what = "the best mechanism" if designed else "your mechanism"
    stem = release.out.rpartition(".")[0]
    cells: list[str | list[str]] = [
        f"# Release of {column} in {table}\n\n"
        f"From Leakwise studio. Keep this notebook in the folder of {table} and run its cells from top to bottom. It "
        "shows what is known of the secret beforehand: share the released table and its report, not the notebook.",
        f"## The design\n\nWhat the page showed: {what} for the secret alone, if its prior is exactly this.",
        ["import leakwise as lw", "", *design_lines(state, prior, value_of), shown],
        f"## The release\n\n{_about(release)} A second run would be a second release of the same people, which tells "
        f"more about them: it is refused while {out} is there.",
        release.python,
        "What goes to the receiver with the table: the mechanism, which estimates need, and a report.",
        [
            f"r.mechanism.save({in_python(f'{stem}.mechanism.json')})",
            f"r.report({in_python(f'{stem}.report.html')}).name",
        ],
        "## The estimate\n\nWhat the receiver can tell: how frequent each value is behind the released rows, with "
        "intervals. The share of an outcome is not the share of a value.",
        [f"e = lw.estimate({in_python(release.out)}, r.mechanism, {in_python(others.column)})", "e"],
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    document = {
        "cells": [_cell(place, cell) for place, cell in enumerate(cells)],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _about(release: TableRelease) -> str:
    prior = (
        "What is known beforehand is estimated from the rows, and the guarantee covers every prior that they leave "
        f"possible, except with a probability of {release.failure}."
        if release.from_table
        else "The prior is the one that you chose."
    )
    return " ".join(part for part in (prior, release.note) if part)


def _code(name: str) -> str:
    """A name in words: as code, on one line."""
    return f"`{' '.join(name.replace('`', chr(39)).split())}`"


def _cell(place: int, content: str | list[str]) -> dict[str, Any]:
    lines = content.split("\n") if isinstance(content, str) else "\n".join(content).split("\n")
    source = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    if isinstance(content, str):
        return {"cell_type": "markdown", "id": f"cell-{place}", "metadata": {}, "source": source}
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": f"cell-{place}",
        "metadata": {},
        "outputs": [],
        "source": source,
    }
