"""What every source of rows answers: checked whole first, drawn for, and released last."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from leakwise.alphabet import Alphabet, Bins, GivenColumns
from leakwise.mechanism import AnyMechanism
from leakwise.types import Array, Counts

if TYPE_CHECKING:
    from leakwise.sampling import SecureStream
    from leakwise.tables.memo.draws import Memo
    from leakwise.tables.release.checking import StrataCounts
    from leakwise.tables.release.exchange import Look, Watch
    from leakwise.tables.strata.order import StratifiedOrder

__all__ = ["Checked", "Opened", "Source"]


class Opened:
    """A source that was opened elsewhere, such as by Spark: it is released as it is."""


class Checked(Protocol):
    """What a check saw: how often each letter occurs, which stays private."""

    @property
    def rows(self) -> int:
        """How many rows there are."""

    @property
    def counts(self) -> Counts:
        """How often each letter occurs."""

    @property
    def strata(self) -> StrataCounts | None:
        """How often each letter occurs in each stratum that occurs, where columns were given.

        Rows with a value that is not declared are in none.
        """

    @property
    def order(self) -> StratifiedOrder | None:
        """What the order of the rows within strata says, where columns were given and the order is to be tested."""


class Source(Protocol):
    """Data whose secrets are to be released.

    What becomes of the other columns (``drop``, ``coarsen``) may be said after it was opened, and before the first
    check.
    """

    name: str | None
    names: Sequence[Hashable] | None
    """The columns that there are; None for a bare column."""
    order: str | None
    """``"keep"`` or ``"shuffle"``; None where the user has not chosen, and a test is to look at the order."""
    drop: Sequence[Hashable]
    """Columns that do not go out."""
    coarsen: Mapping[Any, Bins]
    """The bins in which columns go out."""
    late: bool
    """Whether secrets are drawn for when they are released: later ones cannot be counted beside outcomes."""
    closed: bool
    """Whether no column may go out that the table did not name when it was opened."""
    memo: Memo | None
    """The key and the person column of draws that repeat."""
    watch_given: Callable[[Mapping[Hashable, Array]], None] | None
    """Sees the codes of the given columns go by in a check."""
    written: bool
    """Whether the released table is in its place already, where others may see it."""

    @property
    def table(self) -> Any:
        """The table as it was opened: read again it gives the same rows, where a plan or a stream might not."""

    def plain(self, name: Hashable) -> Iterator[Any]:
        """Return a column in plain values, a batch at a time."""

    def row_labels(self) -> list[str]:
        """Return what goes out as labels of the rows, and is more than their numbers."""

    def distinct(self, name: Hashable, most: int) -> list[Any] | None:
        """Return the values of a column that goes out, as they go out; None where there are more than ``most``.

        None also where they are not plain values that a mechanism can name, such as lists.
        """

    def check(
        self,
        names: Sequence[Hashable],
        letters: Alphabet,
        watch: Sequence[Look] = (),
        given: GivenColumns | None = None,
        *,
        strict: bool = False,
    ) -> Checked:
        """Read a secret whole and refuse values that were not declared; ``watch`` sees its codes go by.

        With ``given``, it is also counted by stratum. A value of a given column that is not declared is in no stratum;
        it is refused where that is ``strict``.
        """

    def tally(self, letters: Alphabet, given: GivenColumns, place: int = -1) -> StrataCounts:
        """Count a secret that was checked, the last one unless ``place`` says which, by strata of other columns.

        A given column that was drawn for counts by its outcomes.
        """

    def draw(self, mechanism: AnyMechanism, stream: SecureStream | None) -> None:
        """Draw for the first secret that was checked and not drawn for yet, and keep the outcomes.

        Whatever is counted or drawn from now on sees them in the place of its columns, and :meth:`release` gives them
        out.
        """

    def release(
        self, mechanisms: Sequence[AnyMechanism], stream: SecureStream | None, after: Sequence[Watch] = ()
    ) -> Any:
        """Draw for the secrets, in the order in which they were checked, and give back the released table.

        ``after`` sees the drawn codes of the first, second, … secret in the order in which the rows stand now.
        """
