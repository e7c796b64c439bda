"""What goes out in a row beside the secret: each other column is given, unrelated or dropped."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from leakwise.alphabet import Bins
from leakwise.errors import InvalidInput, some_of
from leakwise.tables.kinds import frames

__all__ = ["RowColumns", "row_columns"]


@dataclass(frozen=True)
class RowColumns:
    """The columns of a table that is to be released, by what a row shows of them.

    Attributes
    ----------
    secret
        The columns that are drawn for; none for a bare column.
    given
        Columns that go out as they are: the guarantee holds for anyone who sees them.
    unrelated
        Columns that go out as they are and are assumed to tell nothing about the secret, given the given ones.
    dropped
        Columns that do not go out.
    coarsened
        The bins in which given or unrelated columns go out.
    declared
        Domains that the user named for given columns that go out as they are.
    unspoken
        Columns that go out and of which nothing was said.
    """

    secret: tuple[Hashable, ...]
    given: tuple[Hashable, ...] = ()
    unrelated: tuple[Hashable, ...] = ()
    dropped: tuple[Hashable, ...] = ()
    coarsened: Mapping[Hashable, Bins] = field(default_factory=dict)
    declared: Mapping[Hashable, Any] = field(default_factory=dict)
    unspoken: tuple[Hashable, ...] = ()

    @property
    def beside(self) -> tuple[Hashable, ...]:
        """The columns that go out beside the secret."""
        return (*self.given, *self.unrelated, *self.unspoken)

    def with_unspoken_given(self) -> RowColumns:
        """Return the same columns with those given of which nothing was said, the default."""
        return replace(self, given=(*self.given, *self.unspoken), unspoken=())


def row_columns(
    known: Sequence[Hashable] | None,
    secret: tuple[Hashable, ...],
    *,
    given: Any = None,
    unrelated: Any = None,
    drop: Any = None,
    coarsen: Mapping[Hashable, Any] | None = None,
) -> RowColumns:
    """Return what each column of a table is, as the user says.

    Parameters
    ----------
    known
        The columns of the table, in order; None for a bare column.
    secret
        Those that are the secret.
    given, unrelated, drop
        One name or several; ``given`` may be a mapping from names to domains, of which bins coarsen the column.
    coarsen
        A mapping from columns to ``lw.bins``. Such a column is given unless it is unrelated.

    Examples
    --------
    >>> row = row_columns(["name", "sex", "zip", "ill"], ("ill",), given="sex", unrelated=["zip"], drop="name")
    >>> row.given, row.unrelated, row.dropped, row.unspoken
    (('sex',), ('zip',), ('name',), ())
    >>> row_columns(["sex", "ill"], ("ill",), drop=["sx"])
    Traceback (most recent call last):
    leakwise.errors.InvalidInput: drop (--drop): column 'sx' is not in the table, ... Did you mean 'sex'?
    """
    said = {"given": given, "unrelated": unrelated, "drop": drop, "coarsen": coarsen}
    if known is None:
        if named := [name for name, value in said.items() if value is not None]:
            raise InvalidInput(
                f"{some_of(named)} must be left out when the data is a bare column: there is no other column."
            )
        return RowColumns(secret)
    names = {role: _named(known, value, role) for role, value in said.items()}
    _refuse_two_roles(secret, names)
    bins = {name: _bins(one, name) for name, one in (coarsen or {}).items()}
    declared = {name: domain for name, domain in given.items() if domain is not None} if _is_map(given) else {}
    for name in list(declared):
        if isinstance(declared[name], Bins):
            if name in bins and bins[name] != declared[name]:
                raise InvalidInput(f"given and coarsen name different bins for column {name!r}. Name them once.")
            bins[name] = declared.pop(name)
    for name in bins:
        if name in names["drop"]:
            raise InvalidInput(f"column {name!r} is both coarsened (coarsen) and left out (drop). Choose one.")
        if name in declared:
            raise InvalidInput(f"column {name!r} has a domain in given and bins in coarsen. Name its bins only.")
        if name not in names["unrelated"] and name not in names["given"]:
            names["given"].append(name)
    spoken = {*secret, *names["given"], *names["unrelated"], *names["drop"]}
    return RowColumns(
        secret,
        tuple(names["given"]),
        tuple(names["unrelated"]),
        tuple(names["drop"]),
        bins,
        declared,
        tuple(name for name in known if name not in spoken),
    )


def _refuse_two_roles(secret: tuple[Hashable, ...], names: Mapping[str, list[Hashable]]) -> None:
    """Refuse a column that is two things at once."""
    for name in secret:
        for role in names:
            if name in names[role]:
                raise InvalidInput(
                    f"{role} (--{role}) must not name the secret: {name!r} is both. A secret goes out as what is drawn "
                    "for it; its values, or bins, are declared by domain (--domain)."
                )
    roles = ("given", "unrelated", "drop")
    for place, one in enumerate(roles):
        for other in roles[place + 1 :]:
            if both := [name for name in names[one] if name in names[other]]:
                raise InvalidInput(f"{some_of(both)} is named by both {one} and {other}. A column is one of them.")


def _named(known: Sequence[Hashable], value: Any, role: str) -> list[Hashable]:
    """Return the columns that the user named, all of them known and each named once."""
    if value is None:
        return []
    if role == "coarsen" and not _is_map(value):
        raise InvalidInput(
            f"coarsen must be a mapping from columns to bins, such as {{'age': lw.bins(0, 100, 10)}}. Got {value!r} "
            "instead."
        )
    alone = isinstance(value, (str, bytes)) or not isinstance(value, Iterable)
    names = [value] if alone or (isinstance(value, tuple) and value in known) else list(value)
    if twice := sorted({str(name) for name in names if names.count(name) > 1}):
        raise InvalidInput(f"{role} (--{role}) must name each column once. Named twice or more: {some_of(twice)}.")
    try:
        frames.check_names(known, names)
    except InvalidInput as error:
        raise InvalidInput(f"{role} (--{role}): {error}") from error
    return names


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)


def _bins(value: Any, name: Hashable) -> Bins:
    if not isinstance(value, Bins):
        raise InvalidInput(f"coarsen must give bins for column {name!r}, such as lw.bins(0, 100, 10). Got {value!r}.")
    return value
