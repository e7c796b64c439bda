"""The declared values of a column, typed or listed in a file: ``no,yes``, ``bins:0,100,20``, ``@values.csv``."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leakwise.cli.options.typed import is_number, is_whole, label, number, typed_words, whole
from leakwise.errors import InvalidInput

if TYPE_CHECKING:
    from leakwise.alphabet import Alphabet, Label

__all__ = ["DomainOption", "DomainsOption", "MissingOption", "OccurringOption", "domain_files", "read_domain"]

_DOMAIN = (
    "Every value the column can have, whether it occurs or not: no,yes or @values.csv (a file with one column, with a "
    "header). Numbers go in bins: bins:0,100,20 (20 of them), bins:0,18,65,inf (by their edges); dates too: "
    "bins:2020-01,2024-12,month (or day, week, quarter, year). A value with a comma goes in double quotes; an empty "
    'one (no,yes, or bins:0,100,20,) is a missing value, and "" is the empty text.'
)
DomainOption = Annotated[str | None, typer.Option("--domain", metavar="VALUES", help=_DOMAIN)]
OccurringOption = Annotated[
    str | None, typer.Option("--domain", metavar="VALUES", help=f"{_DOMAIN} [default: the values that occur]")
]
DomainsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--domain",
        metavar="VALUES",
        help=f"{_DOMAIN} One for each column [default: the values that --prior or --mechanism names].",
    ),
]
MissingOption = Annotated[
    bool, typer.Option("--missing", help="A missing value is a value of the domain, too: as secret as the others.")
]

_INFINITE = {"inf": math.inf, "+inf": math.inf, "-inf": -math.inf}
# A field of a file with one column: in double quotes, or all up to the end of the line.
_FIELD = re.compile(r'"((?:[^"]|"")*)"[ \t]*(?:\r?\n|\Z)|([^\r\n]*)(?:\r?\n|\r|\Z)')


def read_domain(text: str, *, missing: bool = False, name: str = "--domain") -> Alphabet:
    """Return the declared values of a column: typed, in bins, or from a file; with ``missing`` a missing one as well.

    >>> read_domain('north,"south, east",').labels
    ('north', 'south, east', None)
    """
    from leakwise.alphabet import Alphabet, Bins

    found = _read(text, name)
    if not missing or None in found.index:
        return found
    return found.with_missing() if isinstance(found, Bins) else Alphabet([*found.labels, None])


def domain_files(texts: list[str] | None) -> dict[str, str]:
    """Return the files that domains are read from, for what must not be written over."""
    files = [text[1:] for text in texts or () if text.startswith("@")]
    return {f"--domain{' ' * place}": file for place, file in enumerate(files)}


def _read(text: str, name: str) -> Alphabet:
    from leakwise.alphabet import Alphabet

    if text.startswith("@"):
        return Alphabet(_values_in(Path(text[1:])), name=f"the values in {text[1:]!r}")
    kind, colon, rest = text.partition(":")
    if kind == "bins" and colon:
        return _bins(text, [part.strip() for part in rest.split(",")])
    return Alphabet([label(rest) if word is None else word + rest for word, rest in typed_words(text)], name=name)


def _bins(text: str, parts: list[str]) -> Alphabet:
    """Bins of equal width (low,high,count), of units of time (first,last,month), or between edges."""
    from leakwise.alphabet import bins

    missing = len(parts) > 1 and not parts[-1]
    words = parts[:-1] if missing else parts
    numbers = [_INFINITE.get(word.lower()) or (float(number(word, "")) if is_number(word) else None) for word in words]
    if len(words) < 3:
        raise InvalidInput(
            "--domain bins must be low,high,count, such as bins:0,100,10, or edges, such as bins:0,18,65,inf, or for "
            f"dates first,last,unit, such as bins:2020-01,2024-12,month. Got {text!r}."
        )
    if len(words) == 3 and words[2].isalpha() and numbers[2] is None:
        found = bins(words[0], words[1], words[2].lower().removesuffix("s"))
    elif len(words) == 3 and is_whole(words[2]) and None not in numbers:
        found = bins(numbers[0], numbers[1], whole(words[2], "the number of bins"))
    elif None not in numbers:
        found = bins(numbers)
    else:  # dates, of which a year alone reads as a number
        found = bins([_INFINITE.get(word.lower(), word) for word in words])
    return found.with_missing() if missing else found


def _values_in(path: Path) -> list[Label]:
    """The values in a file of one column, after its header: quoted texts as they are, an empty line is missing."""
    try:
        content = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput(
            f"--domain @{path} must name a file of values: {error.strerror}. A value that begins with @ goes in double "
            "quotes."
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(f"--domain @{path} is not a file of text in UTF-8: {error}.") from error
    content = content.rstrip("\r\n")
    fields: list[Label] = []
    place = 0
    while place <= len(content):
        found = _FIELD.match(content, place)
        assert found is not None  # its second way matches everything
        quoted, plain = found[1], found[2]
        if quoted is None and ("," in plain or '"' in plain):
            raise InvalidInput(
                f"--domain @{path} must have one column, with a header. Line {content.count(chr(10), 0, place) + 1} is "
                f"{plain!r}: a value with a comma or a quote in it goes in double quotes, with its own quotes doubled."
            )
        fields.append(label(plain) if quoted is None else quoted.replace('""', '"'))
        if found.end() == len(content) and not found[0].endswith(("\n", "\r")):
            break
        place = found.end()
    if len(fields) < 2:
        raise InvalidInput(
            f"--domain @{path} must have a header and at least one value below it. Got {len(fields)} lines."
        )
    return fields[1:]
