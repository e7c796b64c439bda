"""What is known of a secret column before its table is read: the values it can have, and their prior."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from leakwise.cli.options.domain import read_domain
from leakwise.cli.options.reading import PRIOR_WORDS, TRUTH, read_prior, with_labels_of
from leakwise.cli.options.row import read_prior_by_stratum
from leakwise.errors import InvalidInput

if TYPE_CHECKING:
    from leakwise.alphabet import Alphabet
    from leakwise.tables import SqlTable
    from leakwise.tables.formats import TableFile

__all__ = ["check_columns", "over_values", "read_known", "read_letters", "read_public"]

_READ: dict[type, tuple[str, Callable[[str], Any]]] = {
    float: ("a number", float),
    Decimal: ("a number", Decimal),
    datetime: ("a time, such as 2024-01-31T12:00", datetime.fromisoformat),
    date: ("a date, such as 2024-01-31", date.fromisoformat),
}


def check_columns(table: TableFile | SqlTable, secrets: Iterable[Any], *others: Iterable[Any] | None) -> None:
    """Refuse columns that the table does not have: the first thing that is told."""
    from leakwise.tables.formats import TableFile
    from leakwise.tables.kinds import frames

    names = [name for one in secrets for name in (one if isinstance(one, tuple) else (one,))]
    names += [name for some in others for name in some or ()]
    frames.check_names(table.names, names, repr(str(table.path)) if isinstance(table, TableFile) else "the table")


def read_known(text: str | None, from_table: bool) -> Any:
    """Return what is known of the secret beforehand: a prior, priors by stratum, a word for one, or ``"table"``."""
    if (text is not None) == from_table:
        raise InvalidInput(
            "Choose what is known of the secret beforehand: --prior PRIOR from public knowledge, or "
            "--prior-from-table with --failure to estimate it from the table itself. Got "
            f"{'both' if from_table else 'neither'}."
        )
    return "table" if text is None else read_public(text)


def read_public(text: str) -> Any:
    """Return a prior, priors by stratum, or a word for one: those are over the values of the domain."""
    if (word := text.strip().lower()) in PRIOR_WORDS:
        return word
    return read_prior_by_stratum(text) or read_prior(text)


def read_letters(
    table: TableFile | SqlTable,
    columns: Sequence[str],
    domains: Sequence[str] | None,
    known: Any = None,
    *,
    missing: bool = False,
) -> Alphabet | None:
    """Return the values of the columns, declared or named by the prior, of the type that they have in the file."""
    from leakwise.priors import Prior
    from leakwise.tables.kinds.joint_columns import Product

    if domains is None:
        if missing:
            raise InvalidInput(
                "--missing goes with --domain VALUES: missing is one more of them. In a prior that names the values, a "
                "missing one has its probability without a name: no=0.6,yes=0.3,=0.1."
            )
        if len(columns) > 1 or not isinstance(known, Prior) or not known.alphabet.declared:
            return None
        return _of_kind(known.alphabet, table.holds(columns[0]), columns[0], "--prior")
    if len(domains) != len(columns):
        raise InvalidInput(
            f"--domain must be given once for each --column. Got {len(domains)} for {len(columns)} columns."
        )
    parts = [
        _of_kind(read_domain(text, missing=missing), table.holds(name), name, "--domain")
        for name, text in zip(columns, domains, strict=True)
    ]
    return parts[0] if len(parts) == 1 else Product(parts)


def over_values(table: TableFile | SqlTable, columns: Sequence[str], known: Any, letters: Alphabet | None) -> Any:
    """Return a prior over the values of the columns, as they are in the file; anything else as it is."""
    from leakwise.priors import Prior

    if not isinstance(known, Prior) or letters is None:
        return known
    if len(columns) == 1 and known.alphabet.declared:
        names = _of_kind(known.alphabet, table.holds(columns[0]), columns[0], "--prior")
        known = Prior.from_integers(names, [int(weight) for weight in known.weights], known.sample_size)
    return with_labels_of(known, letters)


def _of_kind(letters: Alphabet, kind: type | None, column: str, option: str) -> Alphabet:
    """Return the values as texts, truth values, numbers or dates where the column contains nothing else."""
    from leakwise.alphabet import Alphabet as Letters
    from leakwise.alphabet import Bins

    if isinstance(letters, Bins) or kind is None:
        return letters
    found: list[Any]
    if kind is str:
        found = [None if label is None else str(label) for label in letters]
    elif kind is bool:
        found = [TRUTH.get(str(label).lower(), label) for label in letters]
    else:
        found = [_read(label, kind, column, option) if isinstance(label, str) else label for label in letters]
    return Letters(found, name=option)


def _read(text: str, kind: type, column: str, option: str) -> Any:
    """Return a value of a column of this kind."""
    if kind not in _READ:
        return text
    what, read = _READ[kind]
    try:
        value = read(text)
    except (ValueError, ArithmeticError):
        value = None
    # NaN, which is not even itself, is a missing value, and that is typed as an empty one.
    if value is None or value != value:
        raise InvalidInput(
            f"{option} names {text!r}, and column {column!r} contains {what.split()[1].rstrip(',')}s: each value must "
            f"be {what}, or missing (typed as nothing, or --missing)."
        )
    return value
