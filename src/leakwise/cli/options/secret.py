"""What is known of a secret column before its table is read: the values it can have, and their prior."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from leakwise.cli.options.reading import TRUTH, read_domain, read_prior
from leakwise.cli.options.row import read_prior_by_stratum
from leakwise.errors import InvalidInput

if TYPE_CHECKING:
    from leakwise.alphabet import Alphabet
    from leakwise.priors import Prior
    from leakwise.tables import SqlTable
    from leakwise.tables.formats import TableFile

__all__ = ["read_known", "read_letters"]

_READ: dict[type, Callable[[str], Any]] = {
    float: float,
    Decimal: Decimal,
    datetime: datetime.fromisoformat,
    date: date.fromisoformat,
}


def read_known(text: str | None, from_table: bool, letters: Alphabet | None) -> Any:
    """Return what is known of the secret beforehand: a prior, priors by stratum, or ``"table"``."""
    if (text is not None) == from_table:
        raise InvalidInput(
            "Choose what is known of the secret beforehand: --prior PRIOR from public knowledge, or "
            "--prior-from-table with --failure to estimate it from the table itself. Got "
            f"{'both' if from_table else 'neither'}."
        )
    if text is None:
        return "table"
    if (by_stratum := read_prior_by_stratum(text)) is not None:
        return by_stratum
    from leakwise.mechanism import identity

    found: Prior = read_prior(text, mechanism=None if letters is None else identity(letters))
    return found


def read_letters(
    table: TableFile | SqlTable, columns: list[str], domains: list[str] | None, prior: str | None
) -> Alphabet | None:
    """Return the values of the columns, declared or named by the prior, of the type that they have in the file."""
    from leakwise.tables.kinds import frames
    from leakwise.tables.kinds.joint_columns import Product

    frames.check_names(table.names, columns, repr(str(table.path)))
    if domains is None:
        if prior is None or len(columns) > 1 or read_prior_by_stratum(prior) is not None:
            return None
        named = read_prior(prior).alphabet
        return _of_kind(named, table.holds(columns[0])) if named.declared else None
    if len(domains) != len(columns):
        raise InvalidInput(
            f"--domain must be given once for each --column. Got {len(domains)} for {len(columns)} columns."
        )
    parts = [_of_kind(read_domain(text), table.holds(name)) for name, text in zip(columns, domains, strict=True)]
    return parts[0] if len(parts) == 1 else Product(parts)


def _of_kind(letters: Alphabet, kind: type | None) -> Alphabet:
    """Return the values as texts, truth values, numbers or dates where the column contains nothing else."""
    from leakwise.alphabet import Alphabet as Letters
    from leakwise.alphabet import Bins

    if isinstance(letters, Bins) or kind is None:
        return letters
    if kind is str:
        return Letters([None if label is None else str(label) for label in letters])
    if kind is bool:
        return Letters([TRUTH.get(str(label).lower(), label) for label in letters])
    return Letters([_read(label, kind) if isinstance(label, str) else label for label in letters])


def _read(text: str, kind: type) -> Any:
    """Return a value of a column of this kind; the text itself, which is then refused by name, where it is none."""
    try:
        value = _READ.get(kind, str)(text)
    except (ValueError, ArithmeticError):
        return text
    # NaN, which is not even itself, is a missing value, and that is typed as an empty one.
    return value if value == value else text
