"""Whose data is released, and beside which earlier outcomes: what a ledger is told beyond the release itself."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from leakwise.errors import InvalidInput, some_of
from leakwise.tables.kinds import frames

if TYPE_CHECKING:
    from leakwise.tables.ledger.ledger import Ledger
    from leakwise.tables.ledger.people import People
    from leakwise.tables.release.sources import Source
    from leakwise.tables.row_columns import RowColumns

__all__ = ["Told"]


@dataclass(frozen=True)
class Told:
    """What the user says of the data for the ledger.

    Attributes
    ----------
    key
        The column that tells people apart.
    same_as, new_people
        Whose data it is, where the people of another dataset have the same keys.
    outcomes
        The given columns that hold outcomes of earlier releases, and the numbers of their entries.
    """

    key: Hashable = None
    same_as: str | None = None
    new_people: bool = False
    outcomes: Mapping[Any, int] | None = None

    def check(self, ledger: object, source: Source, row: RowColumns) -> None:
        """Refuse what means nothing here."""
        said = {"key": self.key, "same_as": self.same_as, "new_people": self.new_people or None}
        named = [name for name, value in (said | {"outcomes": self.outcomes or None}).items() if value is not None]
        if named and ledger is None:
            raise InvalidInput(f"{some_of(named)} must be left out without a ledger (--ledger): it is told to one.")
        if self.key is not None:
            if source.names is None:
                raise InvalidInput(f"key (--key) must be left out for a bare column. Got {self.key!r}.")
            frames.check_names(source.names, [self.key])
        if wrong := [name for name in self.outcomes or () if name not in row.given]:
            raise InvalidInput(
                f"outcomes (--outcome) must name given columns (given, --given): the release is certified beside them. "
                f"Not given: {some_of(wrong)}."
            )

    def people(self, book: Ledger | None, source: Source) -> People | None:
        """Return whose data it is, with a sketch of the key column where there is a ledger to keep it."""
        from leakwise.tables.ledger.people import People

        if self == Told(outcomes=self.outcomes):
            return None
        sketch = None
        if self.key is not None and book is not None:
            sketcher = book.sketcher()
            for batch in source.plain(self.key):
                sketcher.add(frames.groups_of(batch, name=f"column {self.key!r}")[0])
            sketch = sketcher.sketch
        return People(self.key, sketch, self.same_as, self.new_people)
