"""The mechanism in the file next to a released table, where ``leakwise release`` saves it for CSV and JSON lines."""

from __future__ import annotations

import copy
import glob
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from leakwise.errors import InvalidInput, some_of
from leakwise.mechanism import AnyMechanism, StratifiedMechanism
from leakwise.mechanism.stratified_file import load_any
from leakwise.tables.databases.sql_table import SqlTable
from leakwise.tables.formats import TableFile, open_table
from leakwise.tables.formats.carried_mechanism import Carried, carried_secrets
from leakwise.tables.formats.names import stem_of
from leakwise.tables.kinds.joint_columns import plain_alphabet
from leakwise.tables.ledger.column_digest import digest_of_outcomes
from leakwise.tables.release.file import check_file
from leakwise.tables.release.secret_columns import columns_among

__all__ = ["earlier_release", "mechanism_beside", "mechanism_file", "released_beside", "secret_in_name"]


def mechanism_file(table: Path, columns: Sequence[Any] | None) -> Path | None:
    """Return the mechanism file next to a table: of these columns where several were released; None without one."""
    table = table.resolve() if table.is_dir() else table  # the folder '.' has no name
    own = [] if columns is None else [table.with_name(f"{stem_of(table)}.{secret_in_name(columns)}.mechanism.json")]
    return next((path for path in [*own, table.with_name(f"{stem_of(table)}.mechanism.json")] if path.exists()), None)


def secret_in_name(columns: Sequence[Any]) -> str:
    """Return the columns of a secret as they stand in the name of a file.

    >>> secret_in_name(["age", "sex"]), secret_in_name(["a/b"])
    ('age+sex', 'a_b')
    """
    texts = ("".join(sign if sign.isalnum() or sign in "_- " else "_" for sign in str(name)) for name in columns)
    return "+".join(texts)


def mechanism_beside(table: TableFile, column: Any) -> Carried | None:
    """Return the mechanism next to a released file, with the column it is for; None where there is no such file.

    Without a column it is for the only one whose values are outcomes of the mechanism, and whose counts are those that
    the file of the mechanism was saved with.
    """
    beside = mechanism_file(table.path, None if column is None else columns_among(table.names, column))
    if beside is None and _in_files(table):
        return next(iter(_beside_files(table, lambda one: [mechanism_beside(one, column)])), None)
    if beside is None:
        several = released_beside(table) if column is None else []
        if len(several) > 1:
            titles = [one.names if len(one.names) > 1 else one.names[0] for one in several]
            raise InvalidInput(
                f"column must say which released column of {str(table.path)!r} is meant: the files next to it are for "
                f"{some_of(titles)}. A list of them asks for their joint table (--joint)."
            )
        return several[0] if several else None
    mechanism = load_any(beside)
    if column is None and isinstance(mechanism, StratifiedMechanism):
        column = mechanism.secret
    if column is not None:
        return Carried(columns_among(table.names, column), mechanism)
    fits = [name for name in table.names if _fits(table, name, mechanism)]
    if len(fits) != 1:
        raise InvalidInput(
            f"column must say which column of {str(table.path)!r} was released by the mechanism next to it "
            f"({beside.name!r}): {some_of(fits) if fits else 'none'} of {some_of(table.names, 12)} contains its "
            "outcomes."
        )
    return Carried((fits[0],), mechanism)


def released_beside(table: TableFile) -> list[Carried]:
    """Return the mechanisms in the files next to a released table whose names or contents say for which columns."""
    names = {secret_in_name([name]): name for name in table.names}
    found = []
    stem = stem_of(table.path)
    for path in sorted(table.path.parent.glob(f"{glob.escape(stem)}.*.mechanism.json")):
        parts = path.name[len(stem) + 1 : -len(".mechanism.json")].split("+")
        if all(part in names for part in parts):
            found.append(Carried(tuple(names[part] for part in parts), load_any(path)))
    alone = mechanism_file(table.path, None)
    if not found and alone is not None:
        mechanism = load_any(alone)
        if isinstance(mechanism, StratifiedMechanism) and mechanism.secret is not None:
            found.append(Carried(columns_among(table.names, mechanism.secret), mechanism))
    return _beside_files(table, released_beside) if not found and alone is None and _in_files(table) else found


def _in_files(table: TableFile) -> bool:
    return table.files != [table.path]


def _beside_files(table: TableFile, read: Callable[[TableFile], Sequence[Carried | None]]) -> list[Carried]:
    """The mechanisms next to the files that a table consists of: those of each must be the same, and belong to it."""
    first: list[Carried] | None = None
    for file in table.files:
        one = open_table(file)
        found = [told for told in read(one) if told is not None]
        if first is not None and found != first:
            raise InvalidInput(
                f"The files of {str(table.path)!r} were released by different mechanisms, or some have none next to "
                "them: they are not one released table. Take each by itself."
            )
        if not all(_belongs(one, told) for told in found):
            raise InvalidInput(f"The mechanism next to {str(file)!r} belongs to another released table.")
        first = found
    # Each belongs to its own file: none to all of them together.
    return [Carried(told.names, _without_digest(told.mechanism)) for told in first or []]


def _belongs(table: TableFile, told: Carried) -> bool:
    alphabet = plain_alphabet(told.mechanism.output_alphabet)
    digest = told.mechanism.outcomes_digest
    if digest is None:
        return True
    return digest == digest_of_outcomes(check_file(table, told.names, alphabet, what="outputs").counts)


def _without_digest(mechanism: AnyMechanism) -> AnyMechanism:
    bare = copy.copy(mechanism)
    object.__setattr__(bare, "outcomes_digest", None)
    return bare


def earlier_release(table: TableFile | SqlTable, columns: Sequence[Any]) -> list[Carried]:
    """Return earlier releases of these columns: from the table's metadata, or from the mechanism file next to it."""
    carried = carried_secrets(table.metadata, repr(str(table.path)))
    if carried:
        return [one for one in carried if set(columns).intersection(one.names)]
    beside = mechanism_file(table.path, columns) if isinstance(table, TableFile) else None
    if beside is None or not isinstance(table, TableFile):
        return []
    mechanism = load_any(beside)
    try:
        counts = check_file(table, columns, plain_alphabet(mechanism.output_alphabet), what="outputs").counts
    except InvalidInput:  # these columns contain values that are not among its outcomes
        return []
    return [Carried(tuple(columns), mechanism)] if mechanism.outcomes_digest == digest_of_outcomes(counts) else []


def _fits(table: TableFile, name: str, mechanism: AnyMechanism) -> bool:
    try:
        counts = check_file(table, (name,), plain_alphabet(mechanism.output_alphabet), what="outputs").counts
    except InvalidInput:  # the column contains values that are not among the outcomes
        return False
    return mechanism.outcomes_digest in (None, digest_of_outcomes(counts))
