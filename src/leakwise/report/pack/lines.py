"""A certificate line by line, so that a number can be pointed to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any

from leakwise.charts.page import html_page
from leakwise.report.style import STYLE

__all__ = ["Lines"]

Place = tuple[str | int, ...]

_LISTED = (
    "ol { font: .8rem/1.5 ui-monospace, monospace; overflow-wrap: anywhere; } li { margin: 0; max-width: none; }\n"
)
_LISTED += "li:target { background: color-mix(in srgb, var(--strong) 25%, transparent); }\n"


class Lines:
    """A JSON document with one value on each line, and the line of every value.

    >>> lines = Lines({"asked": {"lift": "0x2"}, "weights": ["0x9", "0x1"]})
    >>> lines.number("asked", "lift"), lines.number("weights", 1)
    (2, 5)
    """

    def __init__(self, document: Any) -> None:
        self._lines: list[tuple[int, str]] = []
        self._places: dict[Place, int] = {}
        for place, depth, text in _walk(document, (), 0, "document"):
            self._lines.append((depth, text))
            self._places[place] = len(self._lines) - 1

    def number(self, *place: str | int) -> int | None:
        """Return the line of a value; None where the document has no such value."""
        return self._places.get(place)

    def page(self, title: str) -> str:
        """Return the document as a page on which every line can be linked to."""
        items = "".join(
            f'<li id="L{number}" value="{number}">{"&nbsp;" * 2 * depth}{escape(text)}</li>\n'
            for number, (depth, text) in enumerate(self._lines)
        )
        body = f"<h1>{escape(title)}</h1>\n<ol>\n{items}</ol>\n"
        return html_page(title, body, style=STYLE + _LISTED)


def _walk(value: Any, place: Place, depth: int, name: str) -> Iterator[tuple[Place, int, str]]:
    if isinstance(value, dict):
        yield place, depth, f"{name}:"
        for key, part in value.items():
            yield from _walk(part, (*place, key), depth + 1, key)
    elif isinstance(value, list) and value:
        yield place, depth, f"{name}:"
        for number, part in enumerate(value):
            yield from _walk(part, (*place, number), depth + 1, f"[{number}]")
    else:
        yield place, depth, f"{name}: {json.dumps(value, ensure_ascii=False)}"
