"""A mechanism as two functions of PostgreSQL: a pure one that takes eight bytes, and the draw, which takes none."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Iterable
from decimal import Decimal
from importlib import resources
from typing import Any

from leakwise.alphabet import Label
from leakwise.alphabet.dates import DateBins
from leakwise.errors import InvalidInput, some_of
from leakwise.exported.contents import Contents, Domain

__all__ = ["check_dialect", "postgresql"]

DIALECT = "postgresql"
# What a generator that can be foretold would undo: the draws of every row.
_NOT_SECURE = {
    "duckdb": "its random() is PCG, which is not a cryptographic generator and which setseed() repeats",
    "sqlite": "its random() and randomblob() are documented as pseudo-random, and nothing says that they are secure",
}

_PARAMETER = re.compile(r"[a-z_][a-z0-9_]{0,62}", re.ASCII)
_LOWEST = -(1 << 63)


def check_dialect(dialect: str, to: str) -> None:
    """Refuse what a sampler is not written for, with the reason."""
    if to != "sql":
        raise InvalidInput(f"dialect (--dialect) goes with to='sql' (--to sql). Got {dialect!r} for {to}.")
    if reason := _NOT_SECURE.get(dialect.lower()):
        raise InvalidInput(
            f"dialect {dialect!r} has no generator known to be secure: {reason}. Use leakwise release "
            "--from-sql, which draws outside of the database."
        )
    if dialect.lower() != DIALECT:
        raise InvalidInput(f"dialect must be {DIALECT!r} (with pgcrypto). Got {dialect!r} instead.")


def postgresql(contents: Contents, header: str, name: str, comment: str) -> str:
    """Return the script as text, in ASCII.

    Parameters
    ----------
    contents
        What is drawn from.
    header
        Lines that are comments already.
    name
        What the draw is called.
    comment
        What the database shows about it.
    """
    domains = [contents.secret, *contents.given]
    kinds = [_kind(domain) for domain in domains]
    arguments = ", ".join(f'"{name}" {kind}' for name, kind in zip(_parameters(domains), kinds, strict=True))
    returned = _type(contents.outcomes, "outcomes")
    rows = list(contents.rows())
    firsts = [1]
    for starts, _ in rows:
        firsts.append(firsts[-1] + len(starts))
    values = len(contents.secret.alphabet)
    parts = {
        "NAME": name,
        "ARGUMENTS": arguments,
        "RETURNS": returned,
        "TYPES": ", ".join(kinds),
        "PARAMETERS": ", ".join(f"${place}" for place in range(1, len(domains) + 1)),
        "COMMENT": _text(comment),
        "STRATUM": "".join(
            f"  stratum := stratum * {len(domain.alphabet)} + {_place(domain, kind, place)} - 1;\n"
            for place, (domain, kind) in enumerate(zip(domains, kinds, strict=True), 2)
            if domain is not contents.secret
        ),
        "PLACE": _place(contents.secret, kinds[0], 2),
        "MECHANISMS": _integers((one.mechanism for one in contents.strata), "integer"),
        "STRATA": _integers((one.number for one in contents.strata), "bigint"),
        "OTHERWISE": "NULL::integer" if contents.otherwise is None else str(contents.otherwise),
        "VALUES": str(values),
        "NEVER": _integers((one.number * values + code + 1 for one in contents.strata for code in one.never), "bigint"),
        "FIRSTS": _integers(firsts, "integer"),
        "OUTCOMES": _array(contents.outcomes, returned),
        "OUTCOME_PLACES": _integers((place + 1 for _, places in rows for place in places), "integer"),
        "STARTS": _integers((start + _LOWEST for starts, _ in rows for start in starts), "bigint"),
    }
    code = resources.files("leakwise.exported").joinpath("sampler.sql").read_text(encoding="utf-8")
    # All at once: what is put in is not looked through again.
    return header + re.sub(r"@([A-Z_]+)@", lambda mark: parts[mark[1]], code)


def _parameters(domains: list[Domain]) -> list[str]:
    """Names of the arguments: those of the columns where they are plain, else numbered ones."""
    taken, names = {"word"}, []
    for place, domain in enumerate(domains):
        plain = _PARAMETER.fullmatch(domain.name) and domain.name not in taken
        names.append(domain.name if plain else f"given_{place}")
        taken.add(names[-1])
    return names


def _place(domain: Domain, kind: str, parameter: int) -> str:
    """An expression for the place of an argument in its domain, from 1; NULL for one that is not in it."""
    told, bins = f"${parameter}", domain.bins
    if bins is None:
        # By its bytes, whatever the column holds to be equal.
        told += ' COLLATE "C"' if kind == _TEXT else ""
        return f"array_position({_array(domain.alphabet.labels, kind)}, {told})"
    days = isinstance(bins, DateBins)
    edges = [str(edge) for edge in bins.plain_edges]
    ends = _listed((_text(edge.replace("inf", "infinity")) for edge in edges), kind)
    count, missing = len(edges) - 1, len(bins.labels) if bins.missing else "NULL"
    finite = f"isfinite({told})" if days else f"{told} > '-Infinity' AND {told} < 'Infinity'"
    inside = f"{finite} AND {told} >= ({ends})[1] AND {told} {'<' if days else '<='} ({ends})[{count + 1}]"
    found = f"least(width_bucket({told}, {ends}), {count})"
    return f"CASE WHEN {told} IS NULL THEN {missing} WHEN {inside} THEN {found} END"


_TEXT = "pg_catalog.text"


def _kind(domain: Domain) -> str:
    """The type of an argument."""
    if domain.bins is not None:
        return "pg_catalog.date" if isinstance(domain.bins, DateBins) else "double precision"
    return _type(domain.alphabet.labels, domain.name)


def _type(labels: tuple[Label, ...], name: str) -> str:
    """The one type that all labels have."""
    kinds = {type(label) for label in labels if label is not None}
    if kinds <= {str}:
        return _TEXT
    if kinds == {bool}:
        return "boolean"
    numbers: list[Any] = [label for label in labels if label is not None]
    if kinds == {int} and all(-(1 << 63) <= number < 1 << 63 for number in numbers):
        return "bigint"
    if kinds <= {int, Decimal}:
        return "numeric"
    if kinds <= {int, float} and all(math.isfinite(number) and number == float(number) for number in numbers):
        return "double precision"
    if kinds == {datetime.date}:
        return "pg_catalog.date"
    if kinds == {datetime.datetime} and all(one.tzinfo is None for one in numbers):
        return "timestamp without time zone"
    raise InvalidInput(
        f"{name}: a column of PostgreSQL has one type, and a joint secret is several columns. The labels are "
        f"{some_of(labels)}. Use labels of one type (texts, numbers, booleans, dates), or leakwise release."
    )


def _array(labels: Iterable[Label], kind: str) -> str:
    return _listed(("NULL" if label is None else _text(str(label)) for label in labels), kind)


def _listed(literals: Iterable[str], kind: str) -> str:
    return f"ARRAY[{', '.join(literals)}]::{kind}[]"


def _integers(numbers: Iterable[int], kind: str) -> str:
    return f"'{{{','.join(map(str, numbers))}}}'::{kind}[]"


def _text(text: str) -> str:
    """A literal in ASCII that means the same under every setting of the server; nothing in it ends a quotation.

    >>> _text("it's $1")
    "E'it\\\\u0027s \\\\u00241'"
    """
    if "\0" in text:
        raise InvalidInput(f"PostgreSQL has no texts with a zero byte: {text!r}. Use another label.")
    return f"E'{''.join(map(_sign, text))}'"


def _sign(sign: str) -> str:
    if sign.isascii() and (sign.isalnum() or sign in " ,.;()[]{}=+-_/"):
        return sign
    return f"\\u{ord(sign):04X}" if ord(sign) < 0x10000 else f"\\U{ord(sign):08X}"
