"""Objects that show themselves: as text in a terminal, as HTML in a notebook, and as a picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from leakwise.charts.render import inline, to_altair
from leakwise.charts.table import html_table, text_table
from leakwise.errors import LeakwiseError

__all__ = ["Drawn", "Parts", "Shown", "Table"]


@dataclass(frozen=True)
class Table:
    """A table before it is text or HTML.

    Attributes
    ----------
    headers, rows, title, digits
        As for :func:`~leakwise.charts.table.text_table`.
    align, max_rows
        Of the text alone: HTML has room for more rows, and lets numbers stand to the right.
    """

    headers: Sequence[object]
    rows: Iterable[Sequence[object]]
    title: str | None = None
    align: str | None = None
    digits: int = 4
    max_rows: int = 20

    def text(self) -> str:
        """Write the table for a terminal."""
        return text_table(self.headers, self.rows, self.align, self.title, digits=self.digits, max_rows=self.max_rows)

    def html(self) -> str:
        """Write the table for a notebook or a page."""
        return html_table(self.headers, self.rows, self.title, digits=self.digits)


class Shown(ABC):
    """An object that says once what it shows, and is printed and shown in a notebook from that.

    >>> class Coin(Shown):
    ...     def _shown(self):
    ...         return [Table(["side", "probability"], [["heads", 0.5]]), "A fair coin."]
    >>> Coin()
    side   probability
    ─────  ───────────
    heads       0.5000
    A fair coin.
    """

    __slots__ = ()

    @abstractmethod
    def _shown(self) -> Parts:
        """Return what is shown, from top to bottom: tables, sentences, lists of sentences, and other such objects."""

    def __repr__(self) -> str:
        return "\n".join(_text(part) for part in self._shown())

    def _repr_html_(self) -> str:
        return _html(self)


class Drawn(Shown):
    """A shown object that has a picture too: a notebook shows its sentences, the picture, and the tables folded."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        parts = list(self._shown())
        tables = [place for place, part in enumerate(parts) if isinstance(part, Table | Shown)]
        if not tables:  # too large to show, and then to draw
            return _html(self)
        # What stands between two tables belongs to them; the first words and those below the last are about the whole.
        words, folded = parts[tables[-1] + 1 :], parts[: tables[-1] + 1]
        first = folded[0]
        if isinstance(first, Table) and first.title is not None:
            words, folded[0] = [first.title, *words], replace(first, title=None)
        elif isinstance(first, str | list):
            words, folded = [first, *words], folded[1:]
        said, below = ("".join(map(_html, some)) for some in (words, folded))
        try:
            picture = inline(self.chart())
        except LeakwiseError as none:
            return f"{said}{below}<p>No picture: {escape(str(none))}</p>"
        return f"{said}{picture}<details><summary>Table</summary>{below}</details>"

    @abstractmethod
    def chart(self) -> dict[str, Any]:
        """Return the picture as a Vega-Lite specification."""

    def plot(self, *which: Any, **options: Any) -> Any:
        """Draw the picture of :meth:`chart`, with the same arguments (altair)."""
        return to_altair(self.chart(*which, **options))


Part = str | list[str] | Table | Shown
Parts = Sequence[Part]


def _text(part: Part) -> str:
    if isinstance(part, Table):
        return part.text()
    if isinstance(part, list):
        return "\n".join(f"- {words}" for words in part)
    return part if isinstance(part, str) else repr(part)


def _html(part: Part) -> str:
    if isinstance(part, Table):
        return part.html()
    if isinstance(part, list):
        return "<ul>" + "".join(f"<li>{escape(words)}</li>" for words in part) + "</ul>"
    if isinstance(part, str):
        return f"<p>{escape(part)}</p>" if part else ""
    return "".join(map(_html, part._shown()))
