"""Pictures made of table cells: they need no script, print in black and white, and can be read aloud."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from leakwise.charts.specs import blend, ink_on
from leakwise.types import Floats

__all__ = ["bar", "heat_table"]


def heat_table(rows: Sequence[str], columns: Sequence[str], matrix: Floats) -> str:
    """Return probabilities as a table with shaded cells, in percent; an impossible one is shown as a dot."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = ""
    for name, line in zip(rows, matrix.tolist(), strict=True):
        cells = "".join(_cell(value) for value in line)
        body += f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>\n'
    small = " small" if len(columns) > 12 else ""
    return (
        f'<div class="wide"><table class="heat{small}">\n<thead><tr><th scope="col">true '
        f"value</th>{head}</tr></thead>\n"
        f"<tbody>\n{body}</tbody>\n</table></div>\n"
    )


def _cell(value: float) -> str:
    if value == 0:
        return '<td class="n never">·</td>'
    shown = f"{100 * value:.1f}" if value >= 5e-4 else "&lt;0.1"
    shade = blend(["#ffffff", "#0072b2"], min(0.04 + 0.9 * value, 1.0))
    return f'<td class="n" style="background:{shade};color:{ink_on(shade)}">{shown}</td>'


def bar(before: float, least: float, most: float) -> str:
    """Return the range of a probability on a line from 0 to 1, with a mark where it was before."""
    left, width = 100 * least, max(0.4, 100 * (most - least))
    words = f"from {100 * least:.1f}% to {100 * most:.1f}%, before {100 * before:.1f}%"
    return (
        f'<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="{words}">'
        f'<rect class="line" x="0" y="3.6" width="100" height="0.8"/>'
        f'<rect class="range" x="{left:.2f}" y="1.5" width="{min(width, 100 - left):.2f}" height="5"/>'
        f'<rect class="mark" x="{max(0.0, 100 * before - 0.4):.2f}" y="0" width="0.8" height="8"/></svg>'
    )
