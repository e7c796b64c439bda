"""The cells of a notebook, run one after the other as Jupyter does."""

from __future__ import annotations

import ast
from typing import Any


def run(book: dict[str, Any], name: str) -> tuple[dict[str, Any], list[object]]:
    """The names after the last cell, and the objects that a notebook would show: the last expression of each cell."""
    names: dict[str, Any] = {"__name__": "__main__"}
    shown = []
    for cell in book["cells"]:
        if cell["cell_type"] != "code":
            continue
        where = f"{name}.ipynb, {cell['id']}"
        *before, last = ast.parse("".join(cell["source"])).body
        if not isinstance(last, ast.Expr):
            before.append(last)
        exec(compile(ast.Module(before, []), where, "exec"), names)
        if isinstance(last, ast.Expr):
            shown.append(eval(compile(ast.Expression(last.value), where, "eval"), names))
    return names, shown
