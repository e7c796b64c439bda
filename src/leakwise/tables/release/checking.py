"""The first reading of a table: every secret value within its domain, counted, by stratum where columns are given."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Bins, GivenColumns, Label, StratumCounts, encode_column
from leakwise.tables.kinds.joint_columns import encode_columns
from leakwise.tables.release.exchange import Look
from leakwise.tables.strata.drawn_columns import DrawnColumns, encoder
from leakwise.tables.strata.given_codes import GivenCodes, bins_of, coarse_codes
from leakwise.tables.strata.one_form import OneForm
from leakwise.tables.strata.order import StratifiedOrder
from leakwise.types import Array, Counts

__all__ = ["CheckedSecret", "Encoded", "RowBeside", "RowCheck", "Seen", "StrataCounts", "counted"]

StrataCounts = Mapping[Label, list[int]]
"""How often each value of the secret occurs in each stratum that occurs."""

# In blocks, because np.bincount makes an index of eight bytes for every row.
_BLOCK = 1 << 18


@dataclass
class Seen:
    """How many rows went by, and how often each code was among them."""

    counts: Counts
    rows: int = 0

    def add(self, codes: Array) -> None:
        """Count a batch."""
        self.rows += codes.size
        for start in range(0, codes.size, _BLOCK):
            self.counts += np.bincount(codes[start : start + _BLOCK], minlength=self.counts.size)


def counted(codes: Array, size: int) -> Counts:
    """Return how often each of ``size`` codes occurs."""
    seen = Seen(np.zeros(size, dtype=np.int64))
    seen.add(codes)
    return seen.counts


@dataclass(frozen=True)
class CheckedSecret:
    """A secret that was read whole and found to be within its declared domain; what it holds is private."""

    names: tuple[str, ...]
    rows: int
    counts: Counts = field(repr=False)
    strata: StrataCounts | None = field(repr=False)
    order: StratifiedOrder | None = field(repr=False)


@dataclass(frozen=True)
class Encoded:
    """The columns of a secret in memory, and its codes. A bare column has no name."""

    columns: dict[Hashable, Any]
    codes: Array
    letters: int
    strata: StrataCounts | None = None
    order: StratifiedOrder | None = None

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.codes.size

    @property
    def counts(self) -> Counts:
        """How often each letter occurs."""
        return counted(self.codes, self.letters)


@dataclass(frozen=True)
class RowBeside:
    """What is looked at beside a secret.

    Attributes
    ----------
    given
        The given columns, by which rows are counted; a row with a value that is not declared is in no stratum.
    coarsen
        The bins in which columns go out: a number outside of them is refused.
    strict
        Whether a value of a given column that is not declared is refused.
    ordered
        Whether the order of the rows within strata is looked at.
    drawn
        Outcomes of other secrets of the rows: a given column that is among them means the outcomes, not what the table
        has there.
    watch
        Sees the codes of the given columns go by, by name.
    """

    given: GivenColumns | None = None
    coarsen: Mapping[Any, Bins] | None = None
    strict: bool = False
    ordered: bool = False
    drawn: DrawnColumns | None = None
    watch: Callable[[Mapping[Hashable, Array]], None] | None = None


class RowCheck:
    """Reads a secret batch by batch, with the columns beside it."""

    def __init__(
        self,
        names: Sequence[Hashable],
        alphabet: Alphabet,
        *,
        what: str = "inputs",
        encode: Callable[..., Any] = encode_column,
        watch: Iterable[Look] = (),
        beside: RowBeside | None = None,
        shown: Callable[[Any], Any] = lambda column: column,
    ) -> None:
        beside = beside or RowBeside()
        given, self._drawn, self._watch_given = beside.given, beside.drawn, beside.watch
        self._names, self._alphabet, self._what = tuple(names), alphabet, what
        self._encode = encoder(encode)
        self._shown = shown
        self._watch = tuple(watch)
        self.seen = Seen(np.zeros(len(alphabet), dtype=np.int64))
        outcomes = () if self._drawn is None else self._drawn.names
        self._bins = bins_of([] if given is None else [given], beside.coarsen or {})
        self._given = None if given is None else GivenCodes(given, self._bins, strict=beside.strict)
        # A column that goes out in bins is written again, and so is one of outcomes.
        new = (*self._bins, *outcomes)
        as_they_are = [] if given is None else [name for name in given.names if name not in new]
        self._forms = {name: OneForm(name) for name in as_they_are}
        self._beside = () if given is None else given.names
        self.strata = None if given is None else StratumCounts(given, len(alphabet))
        self.order = StratifiedOrder(alphabet.labels) if given is not None and beside.ordered else None
        reads = dict.fromkeys([*names, *self._bins, *(() if given is None else given.names)])
        self.reads: list[Any] = [name for name in reads if name not in outcomes]

    def add(self, batch: Mapping[Any, Any], parts: Iterable[tuple[Hashable, slice]] | None = None) -> Array:
        """See a batch, which may belong to several parts of a file; gives back the codes of its secret."""
        columns = [batch[name] for name in self._names]
        codes: Array = encode_columns(columns, self._names, self._alphabet, self._what, encode=self._encode)
        self.add_codes(codes, batch, parts)
        return codes

    def add_codes(
        self, codes: Array, batch: Mapping[Any, Any], parts: Iterable[tuple[Hashable, slice]] | None = None
    ) -> None:
        """See the codes of a secret, and the columns beside it."""
        if self._drawn is not None:
            outcomes = self._drawn.rows(self.seen.rows, codes.size)
            others = (name for name in (*self._bins, *self._beside) if name not in outcomes)
            batch = {**{name: batch[name] for name in others}, **outcomes}
        self.seen.add(codes)
        coarse = coarse_codes(batch, self._bins, self._encode)
        strata, given = None, list[Array]()
        if self._given is not None and self.strata is not None:
            given = self._given.read(batch, coarse, self._encode)
            strata = self.strata.add(given, codes)
            if self._watch_given is not None:
                self._watch_given(dict(zip(self._beside, given, strict=True)))
            for name, column in zip(self._beside, given, strict=True):
                if name in self._forms:
                    self._forms[name].add(self._shown(batch[name]), column)
        for part, rows in [(None, slice(None))] if parts is None else parts:
            for each in self._watch:
                each(codes[rows], part)
            if self.order is not None and strata is not None:
                self.order.add(codes[rows], strata[rows], part, [column[rows] for column in given])
