"""The error family.

LeakwiseError
 ├── InvalidInput          an argument, a file or a table is not what it must be (also a ValueError)
 ├── Infeasible            no answer exists; carries the witness that shows it
 ├── NotConverged          a limit was reached first; carries the best bounds found
 ├── CertificateRejected   a certificate does not prove its claim
 └── MissingExtra          an optional dependency is not installed; says how to get it (also an ImportError)

Every message names the argument, its value, what was expected and what to do.
"""

from __future__ import annotations

import importlib
import numbers
from collections.abc import Hashable, Iterable
from types import ModuleType
from typing import Any

__all__ = [
    "CertaintyWarning",
    "CertificateRejected",
    "Infeasible",
    "InvalidInput",
    "LeakwiseError",
    "LeakwiseWarning",
    "MissingExtra",
    "NotConverged",
    "RowOrderWarning",
    "UnsafeSeedWarning",
    "check_seconds",
    "counted",
    "did_you_mean",
    "label_text",
    "require",
    "some_of",
    "written",
]


class LeakwiseError(Exception):
    """The base class of all errors that Leakwise raises on purpose."""


class LeakwiseWarning(UserWarning):
    """Something the user should know that does not make the answer wrong."""


class CertaintyWarning(LeakwiseWarning):
    """The mechanism lets rows be read: some outcome can come from one value alone."""


class RowOrderWarning(LeakwiseWarning):
    """The order of the rows reveals the secret: a release that keeps it leaks more than its mechanism does."""


class UnsafeSeedWarning(LeakwiseWarning):
    """Draws come from a seed that was given: for tests, since anyone who knows the seed can undo the release."""


class InvalidInput(LeakwiseError, ValueError):
    """An argument, a file or a table is not what it must be."""


class SecretInClear(InvalidInput):
    """Other columns of a table say what the secret is.

    Attributes
    ----------
    columns
        Those columns.
    """

    def __init__(self, message: str, *, columns: tuple[Hashable, ...]) -> None:
        super().__init__(message)
        self.columns = columns


class Infeasible(LeakwiseError):
    """No answer exists.

    Attributes
    ----------
    witness
        What shows it: a dual vector, a value without an allowed outcome, the least feasible limit.
    """

    def __init__(self, message: str, *, witness: Any = None) -> None:
        super().__init__(message)
        self.witness = witness


class NotConverged(LeakwiseError):
    """A limit was reached before the answer was found.

    Attributes
    ----------
    lower, upper
        The best bounds found until then.
    """

    def __init__(self, message: str, *, lower: float, upper: float) -> None:
        super().__init__(message)
        self.lower = lower
        self.upper = upper


class CertificateRejected(LeakwiseError):
    """A certificate does not prove its claim."""


class MissingExtra(LeakwiseError, ImportError):
    """An optional dependency is not installed."""


def require(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Import an optional dependency, or say how to install it.

    >>> require("math", extra="data", purpose="counting").sqrt(4.0)
    2.0
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise MissingExtra(
            f"{purpose} needs the package {name!r}, which is not installed. "
            f"Install it with: pip install 'leakwise[{extra}]'"
        ) from error


def check_seconds(seconds: object, name: str = "time_limit (--time-limit)") -> None:
    """Refuse a time limit that is not a positive number; None is no limit."""
    if seconds is None or (not isinstance(seconds, bool) and isinstance(seconds, numbers.Real) and float(seconds) > 0):
        return
    raise InvalidInput(f"{name} must be a positive number of seconds, such as 5. Got {seconds!r} instead.")


def counted(count: int, noun: str, nouns: str | None = None) -> str:
    """Return a count with its noun, in the plural unless there is one.

    >>> counted(1, "missing value"), counted(1200, "row"), counted(2, "stratum", "strata")
    ('1 missing value', '1,200 rows', '2 strata')
    """
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def some_of(values: Iterable[object], most: int = 5) -> str:
    """Return the first few values, for a message: ``'a', 'b', 'c' and 4 more``.

    >>> some_of("abcdefg", most=3)
    "'a', 'b', 'c' and 4 more"
    """
    items = list(values)
    shown = ", ".join(written(value) for value in items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def written(value: object) -> str:
    """Return a value as a message shows it: a text in quotes, a date or a number as people write it.

    >>> import datetime, decimal
    >>> written("a"), written(datetime.date(2024, 1, 31)), written(decimal.Decimal("1.50")), written(None)
    ("'a'", '2024-01-31', '1.50', 'missing')
    """
    if value is None:
        return "missing"
    if isinstance(value, tuple):
        return f"({', '.join(map(written, value))})"
    plain = type(value).__module__ in ("datetime", "decimal", "fractions", "numpy", "pandas._libs.tslibs.timestamps")
    return str(value) if plain else repr(value)


def label_text(label: object) -> str:
    """Return a value as a table or a name shows it: as its text, and a missing one as the word.

    >>> label_text("a"), label_text(None), label_text(("a", None)), label_text(3)
    ('a', 'missing', "('a', missing)", '3')
    """
    return written(label) if label is None or (isinstance(label, tuple) and None in label) else str(label)


def did_you_mean(name: object, known: Iterable[object]) -> str:
    """Return `` Did you mean 'x'?`` when a known name is close, else nothing.

    >>> did_you_mean("mutual_infomation", ["mutual_information", "guessing"])
    " Did you mean 'mutual_information'?"
    >>> print(did_you_mean("caf\N{LATIN SMALL LETTER E WITH ACUTE}", ["cafe\N{COMBINING ACUTE ACCENT}"])[23:])
    written with another form of the accent (NFD)?
    """
    import difflib
    import unicodedata

    by_text = {str(candidate): candidate for candidate in known if candidate is not None}
    # A name that differs in case alone is the nearest, however short it is.
    same = [text for text in by_text if text.casefold() == str(name).casefold()]
    # Two forms of one accent look the same: which one it is has to be said.
    alike = [text for text in by_text if unicodedata.normalize("NFC", text) == unicodedata.normalize("NFC", str(name))]
    if alike and str(name) not in by_text:
        form = next((one for one in ("NFC", "NFD") if unicodedata.is_normalized(one, alike[0])), "mixed")
        return f" Did you mean {written(by_text[alike[0]])}, written with another form of the accent ({form})?"
    close = same or difflib.get_close_matches(str(name), by_text, n=1)
    return f" Did you mean {written(by_text[close[0]])}?" if close else ""
