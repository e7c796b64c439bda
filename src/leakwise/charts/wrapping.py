"""Text in lines of a width: broken between words, and never within a number."""

from __future__ import annotations

import re

from leakwise.charts._plain import display_width

__all__ = ["least_width", "wrapped"]

# A sign keeps to its number.
_BETWEEN_WORDS = re.compile(r"(?<![±×≤≥<>=~]) +")
# A word that is no number may be broken where a column is narrower than it, down to this.
_BROKEN_AT = 20


def wrapped(text: str, width: int | None, *, indent: str = "", break_words: bool = False) -> list[str]:
    """Return a text in lines; without a width, as it is.

    A word that is wider than the line stays whole, so that it can be copied, unless ``break_words`` says otherwise.

    >>> wrapped("no more than 0.5 ± 0.25 of it", 12, indent="  ")
    ['no more than', '  0.5 ± 0.25', '  of it']
    """
    if width is None or display_width(text) <= width:
        return [text]
    lines, line = [], ""
    for word in _BETWEEN_WORDS.split(text):
        longer = f"{line} {word}" if line.strip() else line + word
        if display_width(longer) <= width:
            line = longer
            continue
        if line.strip():
            lines.append(line)
        line = indent + word
        while break_words and display_width(line) > width:
            end = next(k for k in range(len(line), 0, -1) if k == 1 or display_width(line[:k]) <= width)
            lines.append(line[:end])
            line = line[end:]
    return [*lines, line] if line else lines


def least_width(text: str) -> int:
    """Return the least width of a cell: that of its longest number, or of its longest word up to a limit.

    >>> least_width("at most 123456789012345678 of them"), least_width("an uninterruptedly-long-word")
    (18, 20)
    """
    return max((_least(word) for word in _BETWEEN_WORDS.split(text)), default=0)


def _least(word: str) -> int:
    letters = sum(character.isalpha() for character in word)
    number = letters <= 1 and any(character.isdigit() for character in word)
    return display_width(word) if number else min(display_width(word), _BROKEN_AT)
