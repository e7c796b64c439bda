"""A result on a screen: the guarantee, a few sentences, a short table; all of it when that is asked for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from leakwise.charts.shown import Part, Parts, Shown, Table
from leakwise.charts.table import text_table
from leakwise.charts.words import Broken, Command, Kept, Notice
from leakwise.charts.wrapping import wrapped
from leakwise.errors import counted

__all__ = ["MOST_ROWS", "MOST_SENTENCES", "PIPE_WIDTH", "Line", "laid_out", "typed"]

MOST_ROWS = 12
"""A short page has so many rows of tables."""
MOST_SENTENCES = 3
"""A short page has so many sentences beside the guarantee, broken limits and notices."""
PIPE_WIDTH = 110
"""The width of tables where no terminal says how wide it is."""

# A sentence ends before a capital, a figure or a quote; that of an abbreviation does not.
_END = re.compile(r"(?<!Mrs)[.!?](?=\s+[A-Z0-9'\"]|\Z)")
# The words of a command, with what is quoted in them.
_WORDS = re.compile(r"""(?:'[^']*'|"[^"]*"|\\.|[^\s'"])+""")


class Line(NamedTuple):
    """A line of a page, and the colour of it."""

    text: str
    colour: str | None = None


def laid_out(parts: Parts, width: int | None = None, *, everything: bool = False) -> list[Line]:
    """Return the lines of a page: guarantee, broken limits, sentences, tables, commands, notices, and what is left out.

    Without a width sentences are not broken, as a program that reads them wants it.

    >>> for line in laid_out([Table(["value"], [[one] for one in range(40)]), Kept("Nothing leaks."), "So it is."], 60):
    ...     print(line.text)
    Nothing leaks.
    So it is.
    <BLANKLINE>
    value
    ─────
        0
    ...
    More with --all: 28 rows.
    """
    words, tables = _sorted(list(_flat(parts)))
    kept, broken, commands = ([one for one in words if isinstance(one, kind)] for kind in (Kept, Broken, Command))
    notices = [one for one in words if isinstance(one, Notice)]
    plain = [one for one in words if type(one) is str]
    said = plain if everything else _few(plain)
    shown, rows, left_out = (tables, 0, []) if everything else _short(tables)
    more = [] if not rows else [counted(rows, "row")]
    more += [] if not left_out else [counted(len(left_out), "table") + _names(left_out)]
    sentences = sum(map(_sentences, plain)) - sum(map(_sentences, said))
    more += [] if not sentences else [counted(sentences, "sentence")]
    last = [f"More with --all: {', '.join(more)}."] if more else []
    first = ((kept, "green"), (broken, "red"), (said, None))
    blocks = [[Line(line, colour) for some, colour in first for one in some for line in wrapped(one, width)]]
    blocks += [[Line(line) for line in _drawn(table, width or PIPE_WIDTH, everything)] for table in shown]
    blocks += [[Line(line) for one in commands for line in typed(one, width)]]
    blocks += [[Line(line) for one in (*notices, *last) for line in wrapped(one, width)]]
    lines = [line for block in blocks if block for line in (Line(""), *block)]
    return lines[1:]


def _flat(parts: Parts) -> Iterator[str | Table]:
    for part in parts:
        if isinstance(part, Shown):
            yield from _flat(part._shown())
        elif isinstance(part, list):
            yield from part
        elif part:
            yield part


def _sorted(parts: list[Part]) -> tuple[list[str], list[Table]]:
    """Part words from tables; a title that is a sentence, or a guarantee, goes to the words."""
    words: list[str] = []
    tables: list[Table] = []
    for part in parts:
        if isinstance(part, str):
            words.append(part)
        elif isinstance(part, Table):
            if part.title is not None and part.title.endswith("."):
                words.append(part.title)
                part = replace(part, title=None)
            tables.append(part)
    return words, tables


def _sentences(text: str) -> int:
    """How many sentences a text has; a heading has none."""
    return len(_END.findall(text))


def _few(plain: list[str]) -> list[str]:
    """The first paragraphs with so few sentences: none is cut, so that no sentence loses its condition."""
    taken, room = [], MOST_SENTENCES
    for text in plain:
        room -= _sentences(text)
        if room < 0:
            break
        taken.append(text)
    return taken


def _short(tables: list[Table]) -> tuple[list[Table], int, list[Table]]:
    """The first table with so few rows, those after it that fit whole; how many rows are hidden; and the others."""
    taken: list[Table] = []
    left_out: list[Table] = []
    hidden, room = 0, MOST_ROWS
    for table in tables:
        rows = list(table.rows)
        if not taken:
            # As in text_table: a line that hides one row would take its place.
            hidden = 0 if len(rows) <= room + 1 else len(rows) - room
        elif left_out or len(rows) > room:
            left_out.append(table)
            continue
        taken.append(replace(table, rows=rows, max_rows=MOST_ROWS))
        room -= len(rows)
    return taken, hidden, left_out


def _names(tables: list[Table]) -> str:
    named = [one.title or " ".join(str(header) for header in one.headers[1:] if header) for one in tables]
    return f" ({'; '.join(named)})"


def _drawn(table: Table, width: int, everything: bool) -> list[str]:
    """A table in the width, below its title."""
    rows = list(table.rows)
    text = text_table(
        table.headers,
        rows,
        table.align,
        digits=table.digits,
        max_rows=max(2, len(rows)) if everything else table.max_rows,
        max_width=width,
        wrap=True,
        every_column=everything,
    )
    return [*([] if table.title is None else wrapped(table.title, width)), *text.splitlines()]


def typed(command: str, width: int | None) -> list[str]:
    r"""Return a command that can be copied: broken between its words, and within one that is too long, by backslashes.

    >>> print(*typed("leakwise release a.csv --domain alpha,beta,gamma --drop 'a b'", 32), sep="\n")
    leakwise release a.csv \
      --domain alpha,beta,gamma \
      --drop 'a b'
    """
    if width is None or len(command) <= width or command.startswith("#"):
        return wrapped(command, width, indent="# ")
    lines, line = [], ""
    for word in _WORDS.findall(command):
        if line and len(line) + len(word) + 3 <= width:
            line += f" {word}"
            continue
        if line:
            lines.append(f"{line} \\")
            line = "  "
        if len(line) + len(word) + 2 > width:
            (plain,) = shlex.split(word)
            while len(line) + len(word) + 2 > width and len(plain) > 1:
                # A quote cannot go on in the next line: each piece has its own, and the shell joins them.
                room = range(len(plain) - 1, 1, -1)
                end = next((k for k in room if len(line) + len(shlex.quote(plain[:k])) < width), 1)
                lines.append(f"{line}{shlex.quote(plain[:end])}\\")
                line, plain = "", plain[end:]
                word = shlex.quote(plain)
        line += word
    return [*lines, line]
