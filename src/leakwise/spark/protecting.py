"""``lw.spark.protect``: designed from counts that Spark makes, certified, entered, and drawn by the executors once."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.alphabet import Alphabet, Bins, GivenColumns, encode_column
from leakwise.errors import InvalidInput, some_of
from leakwise.mechanism import AnyMechanism
from leakwise.spark.counting import collected
from leakwise.spark.driver import release_or_find
from leakwise.spark.finished import quoted
from leakwise.spark.order import check_order
from leakwise.spark.sessions import check_frame
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.joint_columns import encode_columns, plain_alphabet
from leakwise.tables.release.checking import CheckedSecret, StrataCounts
from leakwise.tables.release.exchange import Look, Watch
from leakwise.tables.source import Opened
from leakwise.tables.strata.columns_in_memory import listed
from leakwise.tables.strata.given_codes import GivenCodes, bins_of, coarse_codes
from leakwise.types import Array, Counts
from leakwise.workflow.protect import protect as protect_source

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from leakwise.report import Protection, SeveralProtection
    from leakwise.sampling import SecureStream

__all__ = ["protect"]

# Combinations of a secret and its given columns that are brought to the driver.
_MOST_GROUPS = 1 << 20
# Codes that are put into a digest at once.
_BLOCK = 1 << 20


def protect(
    df: DataFrame,
    column: Any = None,
    *,
    path: str | os.PathLike[str] | None = None,
    table: str | None = None,
    partition_by: str | Sequence[str] | None = None,
    order: str = "shuffle",
    **options: Any,
) -> Protection | SeveralProtection:
    """Release a DataFrame within a limit: as :func:`leakwise.protect`, with Spark to count, to draw and to write.

    Only counts come to the driver: how often each value of the secret occurs with each combination of the given
    columns. From them mechanisms are designed, certified and entered in the ledger, and the executors draw
    (:func:`release`). Of several secrets (a mapping from them to lifts) the later mechanisms hold for whatever the
    earlier outcomes can make of what is known, so that all of them are drawn in one pass.

    Parameters
    ----------
    df
        A DataFrame of Spark or of Spark Connect.
    column
        The secret column, a tuple of columns, or a mapping from secrets to their lifts.
    path, table, partition_by
        Where to write, as for :func:`release`; a release that is there already is an error.
    order
        ``"shuffle"`` writes the rows in a random order; ``"keep"`` as they are, untested.
    options
        As for :func:`leakwise.protect`, except for those about files, ``memo``, ``person``, ``key`` and
        ``unsafe_seed``.

    Examples
    --------
    ``lw.spark.protect(df, {"ill": 2, ("age", "sex"): 3}, prior="table", failure=1e-6, domain=..., path="hdfs:///out")``
    """
    check_frame(df)
    check_order(order)
    if order is None:
        raise InvalidInput("order must be 'shuffle' or 'keep'. Got None instead.")
    refused = ("out", "overwrite", "progress", "memo", "person", "key", "unsafe_seed")
    if named := [name for name in refused if options.get(name)]:
        raise InvalidInput(
            f"{some_of(named)} must be left out on Spark. It goes with files and tables of one machine. (Where the "
            "rows go, path or table says.)"
        )
    return protect_source(SparkSource(df, path, order, table, partition_by), column, **options)


class SparkSource(Opened):
    """A DataFrame whose secrets are to be released."""

    name: str | None = None
    late = True
    written = False
    memo = None
    closed = False
    watch_given: Callable[[Mapping[Hashable, Array]], None] | None = None

    def __init__(
        self,
        df: DataFrame,
        path: str | os.PathLike[str] | None,
        order: str,
        table: str | None = None,
        partition_by: str | Sequence[str] | None = None,
    ) -> None:
        self._df, self._path, self.order = df, path, order
        self._target, self._by = table, partition_by
        self.names: Sequence[Hashable] = list(df.columns)
        self.drop: Sequence[Hashable] = ()
        self.coarsen: Mapping[Any, Bins] = {}
        self._checked: list[CheckedSecret] = []

    @property
    def table(self) -> Any:
        """The source itself: its rows are counted on Spark."""
        return self

    def row_labels(self) -> list[str]:
        """Return nothing: rows of a DataFrame have no labels."""
        return []

    def plain(self, name: Hashable) -> Iterator[Any]:
        """Refuse to bring a column to the driver."""
        raise InvalidInput(f"Column {name!r} is not read row by row on Spark. Leave key (--key) and memo out.")

    def distinct(self, name: Hashable, most: int) -> list[Any] | None:
        """Return the values of a column that goes out; None where there are more than ``most``."""
        frames.check_names(self.names, [name])
        found = self._grouped([str(name)], min(most, _MOST_GROUPS))
        return None if found is None else listed(found[0][str(name)], most)

    def _grouped(self, names: Sequence[str], most: int = _MOST_GROUPS) -> tuple[dict[str, list[Any]], Counts] | None:
        """Each combination of values with how often it occurs; None where there are too many."""
        rows = self._df.groupBy(*(self._df[quoted(name)] for name in names)).count().limit(most + 1).collect()
        if len(rows) > most:
            return None
        columns = {name: [collected(row[place]) for row in rows] for place, name in enumerate(names)}
        return columns, np.array([int(row[-1]) for row in rows], dtype=np.int64)

    def check(
        self,
        names: Sequence[Hashable],
        letters: Alphabet,
        watch: Sequence[Look] = (),
        given: GivenColumns | None = None,
        *,
        strict: bool = False,
    ) -> CheckedSecret:
        """Count a secret and refuse values that were not declared."""
        beside = () if given is None else given.names
        frames.check_names(self.names, [*names, *beside, *self.drop, *self.coarsen])
        if loose := [name for name in self.coarsen if name not in beside]:
            raise InvalidInput(f"coarsen must name given columns on Spark. Got {some_of(loose)}.")
        found = self._counts(tuple(map(str, names)), letters, given, strict=strict, watch=self.watch_given)
        for each in watch:
            _shown(each, found.counts)
        self._checked.append(found)
        return found

    def tally(self, letters: Alphabet, given: GivenColumns, place: int = -1) -> StrataCounts:
        """Count a secret that was checked by strata of other columns."""
        strata = self._counts(self._checked[place].names, letters, given, strict=False).strata
        assert strata is not None
        return strata

    def _counts(
        self,
        names: tuple[str, ...],
        letters: Alphabet,
        given: GivenColumns | None,
        *,
        strict: bool,
        watch: Callable[[Mapping[Hashable, Array]], None] | None = None,
    ) -> CheckedSecret:
        beside = () if given is None else tuple(map(str, given.names))
        grouped = self._grouped([*names, *beside])
        if grouped is None:
            raise InvalidInput(
                f"{some_of([*names, *beside], 12)} have more than {_MOST_GROUPS:,} combinations of values, too many to "
                "count on the driver. Drop columns (drop), or let numbers go out in bins (coarsen)."
            )
        columns, sizes = grouped
        codes: Array = encode_columns([columns[name] for name in names], names, letters, "inputs")
        counts = np.bincount(codes, sizes, minlength=len(letters)).astype(np.int64)
        if given is None:
            return CheckedSecret(names, int(counts.sum()), counts, None, None)
        bins = bins_of([given], self.coarsen)
        coarse = coarse_codes(columns, bins, encode_column)
        read = GivenCodes(given, bins, strict=strict).read(columns, coarse, encode_column)
        if watch is not None:
            # As for the secret: in the order of the values, of all columns together.
            for place in np.lexsort([*read, codes]).tolist():
                for size in _blocks(int(sizes[place])):
                    watch({name: np.full(size, column[place]) for name, column in zip(given.names, read, strict=True)})
        strata: dict[Any, list[int]] = {}
        for place, (code, size) in enumerate(zip(codes.tolist(), sizes.tolist(), strict=True)):
            own = [int(column[place]) for column in read]
            if min(own) >= 0:
                strata.setdefault(given.coded(own), [0] * len(letters))[code] += size
        return CheckedSecret(names, int(counts.sum()), counts, strata, None)

    def draw(self, mechanism: AnyMechanism, stream: SecureStream | None) -> None:
        """Draw nothing: executors draw for all secrets of a row in one pass."""

    def _moved(self) -> None:
        self.written = True

    def release(
        self, mechanisms: Sequence[AnyMechanism], stream: SecureStream | None, after: Sequence[Watch] = ()
    ) -> DataFrame:
        """Let the executors draw and write, and return what reads the released rows."""
        wanted: dict[Any, AnyMechanism] = {
            one.names[0] if len(one.names) == 1 else one.names: mechanism
            for one, mechanism in zip(self._checked, mechanisms, strict=True)
        }
        rows = self._df.drop(*map(str, self.drop))
        found, new = release_or_find(
            rows,
            wanted,
            None,
            path=self._path,
            order=self.order,
            table=self._target,
            partition_by=self._by,
            moved=self._moved,
        )
        if not new:
            where = f"path {os.fspath(self._path or '')!r}" if self._target is None else f"table {self._target!r}"
            raise InvalidInput(
                f"{where} holds a finished release of this table already. A second one "
                "reveals more than the first alone: read that one, or choose another path."
            )
        for each, (key, mechanism) in zip(after, wanted.items(), strict=False):
            _shown(each, _outcome_counts(found, key if isinstance(key, tuple) else (key,), mechanism))
        return found


def _outcome_counts(df: DataFrame, names: Sequence[str], mechanism: AnyMechanism) -> Counts:
    grouped = SparkSource(df, None, "keep")._grouped(names)
    assert grouped is not None  # a mechanism has fewer outcomes
    outcomes = plain_alphabet(mechanism.output_alphabet)
    codes = encode_columns([grouped[0][name] for name in names], names, outcomes, "outputs")
    return np.bincount(codes, grouped[1], minlength=len(outcomes)).astype(np.int64)


def _shown(each: Any, counts: Counts) -> None:
    """Show codes as if the rows came in the order of their values: a DataFrame has no order of its own."""
    for code, count in enumerate(counts.tolist()):
        for size in _blocks(count):
            each(np.full(size, code))


def _blocks(count: int) -> Iterator[int]:
    for start in range(0, count, _BLOCK):
        yield min(_BLOCK, count - start)
