"""The first reading of a table: every secret value within its domain, counted, by stratum where columns are given."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Bins, GivenColumns, StratumCounts, encode_column
from leakwise.tables.kinds.joint_columns import encode_columns
from leakwise.tables.release.exchange import Look
from leakwise.tables.strata.given_codes import GivenCodes, bins_of, coarse_codes
from leakwise.tables.strata.one_form import OneForm
from leakwise.tables.strata.order import StratifiedOrder
from leakwise.types import Array, Counts

__all__ = ["RowBeside", "RowCheck", "Seen", "counted"]

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
    """

    given: GivenColumns | None = None
    coarsen: Mapping[Any, Bins] | None = None
    strict: bool = False
    ordered: bool = False


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
        self._names, self._alphabet, self._what, self._encode = tuple(names), alphabet, what, encode
        self._shown = shown
        self._watch = tuple(watch)
        self.seen = Seen(np.zeros(len(alphabet), dtype=np.int64))
        beside = beside or RowBeside()
        given = beside.given
        self._bins = bins_of([] if given is None else [given], beside.coarsen or {})
        self._given = None if given is None else GivenCodes(given, self._bins, strict=beside.strict)
        # A column that goes out in bins is written again.
        as_they_are = [] if given is None else [name for name in given.names if name not in self._bins]
        self._forms = {name: OneForm(name) for name in as_they_are}
        self._beside = () if given is None else given.names
        self.strata = None if given is None else StratumCounts(given, len(alphabet))
        self.order = StratifiedOrder(alphabet.labels) if given is not None and beside.ordered else None
        self.reads: list[Any] = list(dict.fromkeys([*names, *self._bins, *(() if given is None else given.names)]))

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
        self.seen.add(codes)
        coarse = coarse_codes(batch, self._bins, self._encode)
        strata, given = None, list[Array]()
        if self._given is not None and self.strata is not None:
            given = self._given.read(batch, coarse, self._encode)
            strata = self.strata.add(given, codes)
            for name, column in zip(self._beside, given, strict=True):
                if name in self._forms:
                    self._forms[name].add(self._shown(batch[name]), column)
        for part, rows in [(None, slice(None))] if parts is None else parts:
            for each in self._watch:
                each(codes[rows], part)
            if self.order is not None and strata is not None:
                self.order.add(codes[rows], strata[rows], part, [column[rows] for column in given])
