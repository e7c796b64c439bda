"""Several secrets of a row as they are typed: ``--protect diagnosis=2 --protect age+sex=3``."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakwise.cli.options.limits import read_margin
from leakwise.cli.options.row import read_any_mechanism
from leakwise.cli.options.secret import over_values, read_known, read_letters, read_public
from leakwise.cli.options.typed import number
from leakwise.errors import InvalidInput, some_of

if TYPE_CHECKING:
    from leakwise.alphabet import Alphabet
    from leakwise.mechanism import AnyMechanism
    from leakwise.tables import SqlTable
    from leakwise.tables.formats import TableFile

__all__ = [
    "JointOption",
    "ProtectOption",
    "TotalOption",
    "TypedSecret",
    "columns_of",
    "mechanisms_by_column",
    "read_protect",
    "read_secret",
]

ProtectOption = Annotated[
    list[str] | None,
    typer.Option(
        "--protect",
        metavar="SECRET=LIFT",
        help="One of several secrets with its lift, instead of --column: diagnosis=2, or age+sex=3 for two columns "
        "that are one secret. What their outcomes tell multiplies. With --total or --margin, LIFT may be left out.",
    ),
]
TotalOption = Annotated[
    str | None,
    typer.Option(
        "--total",
        metavar="LIFT",
        help="With --protect: the limit for all secrets together, shared out for the best accuracy.",
    ),
]
JointOption = Annotated[
    bool, typer.Option("--joint", help="With --protect: one mechanism for all secrets together, at the same total.")
]


def columns_of(text: str) -> tuple[str, ...]:
    """Return the columns of a secret.

    >>> columns_of("age+sex"), columns_of('"a+b"')
    (('age', 'sex'), ('a+b',))
    """
    names = tuple(name.strip() for name in next(csv.reader([text], delimiter="+", skipinitialspace=True), []))
    return names if all(names) else (text,)  # such as "C++"


def mechanisms_by_column(given: list[str] | None, what: str) -> dict[Any, Any]:
    """Return the mechanisms of ``NAME=MECHANISM`` words."""
    found: dict[Any, Any] = {}
    for word in given or []:
        name, equals, text = word.partition("=")
        if not equals or not name or ":" in name:
            raise InvalidInput(f"With {what} a mechanism is given as NAME=MECHANISM. Got {word!r} instead.")
        own = columns_of(name)
        found[own[0] if len(own) == 1 else own] = read_any_mechanism(text)
    return found


def read_protect(texts: Sequence[str] | None, columns: Sequence[str] | None) -> dict[Any, Any] | None:
    """Return several secrets with their lifts; None where one is named by its columns.

    >>> read_protect(["ill=2", "age+sex=1.5", "income"], None)
    {'ill': 2, ('age', 'sex'): 1.5, 'income': None}
    """
    if (texts is None) == (not columns):
        raise InvalidInput(
            "Name the secret with --column NAME, or several with --protect NAME=LIFT for each. Got "
            f"{'neither' if texts is None else 'both'}."
        )
    if texts is None:
        return None
    found: dict[Any, Any] = {}
    for text in texts:
        left, equals, lift = text.rpartition("=")
        names = columns_of(left if equals else lift)
        if not all(names) or not names:
            raise InvalidInput(f"--protect must be SECRET=LIFT, such as ill=2 or age+sex=3. Got {text!r} instead.")
        key = names[0] if len(names) == 1 else names
        if key in found:
            raise InvalidInput(f"--protect names {'+'.join(names)!r} twice. A secret has one lift.")
        found[key] = number(lift, "--protect") if equals else None
    return found


def _read_margins(margin: Sequence[str] | None, values: Sequence[str] | None) -> dict[str, Any]:
    """The margins of several secrets: one for all whose lift is left out, or one for each.

    >>> _read_margins(["ill=0.02", "age+sex=0.03"], None)["margin"]
    {'ill': 0.02, ('age', 'sex'): 0.03}
    """
    if values:
        raise InvalidInput(
            "--values is about one secret: leave it out beside --protect. In Python lw.protect takes values= by secret."
        )
    if not margin:
        return {"margin": None}
    if len(margin) == 1 and "=" not in margin[0]:
        return {"margin": number(margin[0], "--margin")}
    found: dict[Any, Any] = {}
    for text in margin:
        left, equals, width = text.rpartition("=")
        if not equals:
            raise InvalidInput(
                "--margin beside --protect must be one NUMBER for all secrets whose lift is left out, or SECRET=NUMBER "
                f"for each, such as ill=0.02. Got {text!r} among others."
            )
        names = columns_of(left)
        key = names[0] if len(names) == 1 else names
        if key in found:
            raise InvalidInput(f"--margin names {left!r} twice. Give each secret once.")
        found[key] = number(width, "--margin")
    return {"margin": found}


@dataclass(frozen=True)
class TypedSecret:
    """What is typed of one secret, or of several.

    Attributes
    ----------
    column
        The column, a tuple of columns, or a mapping from secrets to lifts.
    domain, prior
        The declared values, and what is known beforehand.
    values
        Those of one secret, which its limits may name.
    """

    column: Any
    domain: Any
    prior: Any
    values: Alphabet | None = None

    def read_margin(self, margin: list[str] | None, values: list[str] | None) -> dict[str, Any]:
        """Return the margin, and the numbers that values stand for, as ``lw.protect`` takes them."""
        if isinstance(self.column, Mapping):
            return _read_margins(margin, values)
        return read_margin(margin, values, self.values)


def read_secret(
    table: TableFile | SqlTable,
    columns: list[str],
    several: Mapping[Any, Any] | None,
    domains: list[str] | None,
    priors: list[str] | None,
    from_table: bool,
    mechanism: AnyMechanism | None,
    *,
    missing: bool = False,
) -> TypedSecret:
    """Return the secret, or the secrets, with their values and what is known of them."""
    from leakwise.workflow.arguments import declared_values

    if several is not None:
        return TypedSecret(dict(several), *_read_each(table, several, domains, priors, from_table, missing))
    if priors is not None and len(priors) > 1:
        raise InvalidInput(f"--prior must be given once for one secret. Got {len(priors)}.")
    known = read_known(priors[0] if priors else None, from_table)
    letters = read_letters(table, columns, domains, known if mechanism is None else None, missing=missing)
    values = letters if letters is not None or mechanism is None else mechanism.input_alphabet
    column = columns[0] if len(columns) == 1 else tuple(columns)
    known = over_values(table, columns, known, values)
    declared_values(values, known, mechanism, column)  # what is wrong with the domain is told before the files
    return TypedSecret(column, values, known, values)


def _read_each(
    table: TableFile | SqlTable,
    secrets: Mapping[Any, Any],
    domains: list[str] | None,
    priors: list[str] | None,
    from_table: bool,
    missing: bool,
) -> tuple[dict[str, Alphabet] | None, Any]:
    """Return the declared values of each column, and what is known of the secrets beforehand."""
    names = {key: key if isinstance(key, tuple) else (key,) for key in secrets}
    columns = [name for own in names.values() for name in own]
    values: dict[str, Alphabet] | None = None
    if domains is not None:
        if len(domains) != len(columns):
            raise InvalidInput(
                f"--domain must be given once for each column of the secrets, in their order: {some_of(columns, 12)}. "
                f"Got {len(domains)}."
            )
        values = {}
        for name, text in zip(columns, domains, strict=True):
            letters = read_letters(table, [name], [text], missing=missing)
            assert letters is not None
            values[name] = letters
    if (not priors) != from_table:
        raise InvalidInput(
            "Choose what is known of the secrets beforehand: --prior PRIOR for each in their order, or one of all of "
            "them together, from public knowledge; or --prior-from-table with --failure to estimate it from the table "
            f"itself. Got {'both' if priors else 'neither'}."
        )
    if not priors:
        return values, "table"
    if len(priors) == 1 and len(secrets) > 1:
        return values, read_public(priors[0])
    if len(priors) != len(secrets):
        raise InvalidInput(
            f"--prior must be given once for each secret, or once for all of them together. Got {len(priors)} for "
            f"{len(secrets)} secrets."
        )
    known = {}
    for (key, own), text in zip(names.items(), priors, strict=True):
        public = read_public(text)
        letters = read_letters(table, own, None, public) if values is None else _joined([values[one] for one in own])
        known[key] = over_values(table, own, public, letters)
    return values, known


def _joined(parts: list[Alphabet]) -> Alphabet:
    from leakwise.tables.kinds.joint_columns import Product

    return parts[0] if len(parts) == 1 else Product(parts)
