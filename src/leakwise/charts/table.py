"""Readable tables in text and HTML, and numbers that do not hide what is small."""

from __future__ import annotations

import numbers
from collections.abc import Iterable, Sequence
from decimal import Context, Decimal, localcontext
from html import escape
from typing import Any

import numpy as np

from leakwise.charts._plain import display_width, printable
from leakwise.charts.wrapping import least_width, wrapped
from leakwise.errors import InvalidInput

__all__ = ["cell_text", "html_table", "number", "spread", "text_table"]

_GAP = "  "
_LONGEST_CELL = 40
# From here on a fixed-point number is harder to read than its exponent.
_LARGE = Decimal(10) ** 6
_LARGE_INTEGER = 10**15
_ARITHMETIC = Context(prec=40, Emax=10**12, Emin=-(10**12))


def number(x: object, digits: int = 4) -> str:
    """Return a number as text: `digits` decimals, or an exponent where decimals would hide it.

    A value that is not zero never reads as zero; ``0`` and ``1`` without decimals are exactly 0 and 1; integers keep
    all their digits (up to 10¹⁵); infinity is ``∞``.

    >>> [number(x) for x in (0.0, 1.0, 0.5, 0.99999, 3e-7, 12, float("inf"))]
    ['0', '1', '0.5000', '1.0000', '3.000e-7', '12', '∞']
    >>> from fractions import Fraction
    >>> number(Fraction(1, 2**2000))
    '8.710e-603'
    """
    if isinstance(digits, bool) or not isinstance(digits, int) or digits < 1:
        raise InvalidInput(f"digits must be an integer of at least 1. Got {digits!r} instead.")
    if not _is_number(x):
        raise InvalidInput(f"x must be a real number. Got {x!r} instead.")
    if isinstance(x, numbers.Integral) and abs(int(x)) < _LARGE_INTEGER:
        return str(int(x))
    with localcontext(_ARITHMETIC):
        value = _decimal(x)
        if value.is_nan():
            return "NaN"
        if value.is_infinite():
            return "∞" if value > 0 else "-∞"
        if value == 0:
            return "0"
        if value == 1 and x == 1:  # the second test is exact where the first has rounded
            return "1"
        small = Decimal(10) ** (1 - digits)
        if small <= abs(value) < _LARGE:
            return f"{value:.{digits}f}"
        # Decimal prints e+400 and e-400 as readily as e+4, where a float would have become inf or 0.
        return f"{value:.{digits - 1}e}"


def _decimal(x: object) -> Decimal:
    if isinstance(x, Decimal):
        return x
    if isinstance(x, numbers.Rational):  # integers too
        return Decimal(int(x.numerator)) / Decimal(int(x.denominator))
    return Decimal(float(x))  # type: ignore[arg-type]


def _is_number(value: object) -> bool:
    if isinstance(value, bool | np.bool_):
        return False
    return isinstance(value, numbers.Real | Decimal)


def cell_text(value: object, digits: int = 4) -> str:
    """Write a cell: a dash for None, yes or no for truth, numbers by :func:`number`, all else as its text."""
    if value is None:
        return "—"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    return number(value, digits) if _is_number(value) else printable(value)


def spread(values: Iterable[float | None]) -> str:
    """Say from where to where the values go; nothing where none is known."""
    known = [value for value in values if value is not None]
    return f", from {number(min(known))} to {number(max(known))}" if known else ""


def _checked(headers: Iterable[object], rows: Iterable[Sequence[object]]) -> tuple[list[str], list[Sequence[object]]]:
    if isinstance(headers, str):
        raise InvalidInput(f"headers must be a sequence of texts. Got the single text {headers!r} instead.")
    names = [printable(header) for header in headers]
    if not names:
        raise InvalidInput("headers is empty. A table needs at least one column.")
    body = list(rows)
    for index, row in enumerate(body):
        if len(row) != len(names):
            raise InvalidInput(
                f"rows[{index}] has {len(row)} cells where headers has {len(names)}. Give one cell for each header."
            )
    return names, body


def _kept(body: list[Sequence[object]], most: int) -> tuple[list[Sequence[object]], int, int]:
    """The rows to show, at most `most`, how many of them come before those that are hidden, and how many are hidden."""
    head, tail = _ends(len(body), most)
    return body[:head] + (body[-tail:] if tail else []), head, len(body) - head - tail


def _ends(count: int, most: int) -> tuple[int, int]:
    """How many rows to keep at the head and at the tail, so that at most `most` are shown."""
    if most < 2:
        raise InvalidInput(f"max_rows must be at least 2. Got {most!r} instead.")
    # A row saying "… 1 more" would take the place of the row it hides.
    if count <= most + 1:
        return count, 0
    return most - most // 2, most // 2


def _right_aligned(rows: Sequence[Sequence[object]], columns: int) -> list[bool]:
    """A column stands to the right when it holds numbers and nothing but numbers (or gaps)."""
    result = []
    for j in range(columns):
        cells = [row[j] for row in rows if row[j] is not None]
        result.append(bool(cells) and all(_is_number(cell) for cell in cells))
    return result


def text_table(
    headers: Iterable[object],
    rows: Iterable[Sequence[object]],
    align: Sequence[str] | None = None,
    title: str | None = None,
    *,
    digits: int = 4,
    max_rows: int = 20,
    max_width: int = 110,
    wrap: bool = False,
    every_column: bool = False,
) -> str:
    """Return a monospaced table that fits a screen.

    Parameters
    ----------
    headers, rows
        One header and, in each row, one cell for each column. Numbers are written by :func:`number`, None as a dash,
        truth as yes or no, everything else as its text.
    align
        One of ``l``, ``r``, ``c`` for each column; by default columns of numbers go to the right.
    title
        A line above the table.
    digits, max_rows, max_width
        Decimals, and the size beyond which rows and columns are elided in the middle; the table says how many.
    wrap
        Long cells go on in the next line, instead of being cut, before any column is elided.
    every_column
        Columns that do not fit come below, next to the first column again, instead of being elided.

    >>> print(text_table(["letter", "mass"], [["a", 0.5], ["b", 0.25]], title="A prior"))
    A prior
    letter    mass
    ──────  ──────
    a       0.5000
    b       0.2500
    """
    names, body = _checked(headers, rows)
    kept, head, hidden = _kept(body, max_rows)
    sides = _sides(align, kept, len(names))
    lines = [names, *([cell_text(value, digits) for value in row] for row in kept)]
    if not wrap:
        lines = [[_shorten(text) for text in line] for line in lines]
    widths = [max(display_width(line[j]) for line in lines) for j in range(len(names))]
    least = [max(least_width(line[j]) for line in lines) for j in range(len(names))] if wrap else widths

    out = [] if title is None else [printable(title)]
    for places, dropped in _pages(least, max_width, every_column):
        page, sizes, ways = _taken(lines, places), _taken([widths], places)[0], _taken([sides], places)[0]
        if dropped:
            gap = f"… {dropped} more"
            place = (len(places) + 1) // 2
            page = [[*line[:place], gap if i == 0 else "…", *line[place:]] for i, line in enumerate(page)]
            sizes, ways = (
                [*some[:place], one, *some[place:]] for some, one in ((sizes, display_width(gap)), (ways, "c"))
            )
        if wrap:
            floor = [max(least_width(line[j]) for line in page) for j in range(len(sizes))]
            if dropped:  # the word for what is left out stays on one line
                floor[place] = sizes[place]
            sizes = _narrowed(sizes, floor, max_width - len(_GAP) * (len(sizes) - 1))
        out += _drawn(page, sizes, ways, head, hidden)
    return "\n".join(out)


def _drawn(
    lines: Sequence[Sequence[str]], widths: Sequence[int], sides: Sequence[str], head: int, hidden: int
) -> list[str]:
    """Draw the head, a rule and the rows, with a word for those that are hidden."""
    first, *rest = (_line(line, widths, sides) for line in lines)
    if hidden:
        rest.insert(head, [f"… {hidden} more"])
    body = [text for one in rest for text in one]
    return [*first, _GAP.join("─" * width for width in widths), *(body or ["(no rows)"])]


def _taken(lines: Sequence[Sequence[Any]], places: Sequence[int]) -> list[list[Any]]:
    return [[line[j] for j in places] for line in lines]


def _pages(widths: Sequence[int], most: int, every_column: bool) -> list[tuple[list[int], int]]:
    """The columns of each part of a table, and how many are left out in the middle of it."""
    count = len(widths)
    if not every_column:
        left, right = _columns_that_fit(widths, most)
        return [([*range(left), *range(count - right, count)], count - left - right)]
    pages = [[0]]
    for j in range(1, count):
        if len(pages[-1]) > 1 and sum(widths[k] + len(_GAP) for k in pages[-1]) + widths[j] > most:
            pages.append([0])
        pages[-1].append(j)
    return [(page, 0) for page in pages]


def _narrowed(widths: Sequence[int], least: Sequence[int], room: int) -> list[int]:
    """Take from the widest columns until all fit, down to what each needs for its words."""
    found = [min(width, max(room, floor)) for width, floor in zip(widths, least, strict=True)]
    while sum(found) > room:
        wide = [j for j, floor in enumerate(least) if found[j] > floor]
        if not wide:
            break
        found[max(wide, key=lambda j: found[j])] -= 1
    return found


def _sides(align: Sequence[str] | None, rows: Sequence[Sequence[object]], columns: int) -> list[str]:
    if align is None:
        return ["r" if right else "l" for right in _right_aligned(rows, columns)]
    sides = list(align)
    if len(sides) != columns or not set(sides) <= set("lrc"):
        raise InvalidInput(
            f"align must give one of 'l', 'r', 'c' for each of the {columns} columns. Got {align!r} instead."
        )
    return sides


def _shorten(text: str) -> str:
    if display_width(text) <= _LONGEST_CELL:
        return text
    while display_width(text) > _LONGEST_CELL - 1:
        text = text[: min(len(text) - 1, _LONGEST_CELL - 1)]
    return text + "…"


def _columns_that_fit(widths: Sequence[int], most: int) -> tuple[int, int]:
    """How many columns to keep at the left and at the right; the first is always kept."""
    if sum(widths) + len(_GAP) * (len(widths) - 1) <= most or len(widths) <= 2:
        return len(widths), 0
    gap = display_width(f"… {len(widths)} more")
    left, right = 1, 0
    used = widths[0] + len(_GAP) + gap
    while left + right < len(widths) - 1:
        take_right = right < left
        used += len(_GAP) + (widths[-1 - right] if take_right else widths[left])
        if used > most:
            break
        left, right = (left, right + 1) if take_right else (left + 1, right)
    return left, right


def _line(texts: Sequence[str], widths: Sequence[int], sides: Sequence[str]) -> list[str]:
    """Draw a row: as many lines as its longest cell takes."""
    cells = []
    for text, width, side in zip(texts, widths, sides, strict=True):
        column = []
        for piece in [text] if display_width(text) <= width else wrapped(text, width, break_words=True):
            room = width - display_width(piece)
            before = {"l": 0, "r": room, "c": room // 2}[side]
            column.append(" " * before + piece + " " * (room - before))
        cells.append(column)
    high = max(map(len, cells))
    filled = [[*column, *[" " * width] * (high - len(column))] for column, width in zip(cells, widths, strict=True)]
    return [_GAP.join(pieces).rstrip() for pieces in zip(*filled, strict=True)]


def html_table(
    headers: Iterable[object],
    rows: Iterable[Sequence[object]],
    caption: str | None = None,
    *,
    digits: int = 4,
    max_rows: int = 200,
) -> str:
    """Return an accessible HTML table with its style inside and every text escaped.

    The first cell of a row is its header. Cells are written as in :func:`text_table`.

    >>> html_table(["label"], [["<b>"]]).partition("<tbody>")[2]
    '<tr><th scope="row" ...>&lt;b&gt;</th></tr></tbody></table>'
    """
    names, body = _checked(headers, rows)
    kept, head, hidden = _kept(body, max_rows)
    right = _right_aligned(kept, len(names))

    def tag(name: str, text: str, j: int, scope: str = "") -> str:
        # Colours come from the page, so that the table is readable on light and on dark.
        style = f"padding:.25em .75em;text-align:{'right' if right[j] else 'left'}"
        return f'<{name}{scope} style="{style}">{escape(text)}</{name}>'

    lines = []
    for row in kept:
        cells = [tag("th", cell_text(row[0], digits), 0, ' scope="row"')]
        cells += [tag("td", cell_text(value, digits), j) for j, value in enumerate(row[1:], 1)]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    if hidden:
        lines.insert(head, f'<tr><td colspan="{len(names)}" style="padding:.25em .75em">… {hidden} more</td></tr>')
    top = "".join(tag("th", name, j, ' scope="col"') for j, name in enumerate(names))
    name = "" if caption is None else f'<caption style="text-align:left">{escape(printable(caption))}</caption>'
    return (
        '<table class="leakwise-table" style="border-collapse:collapse;font-variant-numeric:tabular-nums">'
        f'{name}<thead style="border-bottom:1px solid currentColor"><tr>{top}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )
