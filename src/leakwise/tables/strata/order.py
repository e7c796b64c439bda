"""Whether the order of the rows tells more of the secret than the given columns do: a streaming test within strata.

Given columns go out with the rows. So it is no news that a table is sorted by one of them, even if the secret goes with
it; what counts is whether, among rows with the same given columns, the order could be a random one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.tables.release.row_order import OrderVerdict, RowOrder
from leakwise.tables.release.row_order_ratios import log_arranged, log_likelihood, log_won, slack
from leakwise.tables.release.row_order_tests import Finding
from leakwise.tables.strata.lone_rows import LoneRows
from leakwise.types import Array, Counts, Floats, Indices

__all__ = ["StratifiedOrder"]

# Strata that are tested one by one, for periods as well, and the rows that one has before that begins.
_TRACED, _LEAST = 4, 1024
# Values that all strata together are tested for; neighbours in a larger domain are taken as one.
_GROUPS = 16
# Strata that are tested together: those that come first.
_MOST = 1 << 18
# Rows of a stratum that make a block; rows handled at once; rows whose neighbours are looked at.
_BLOCKS = (16, 256)
_CHUNK = 1 << 18
_KEPT = 1 << 16


class StratifiedOrder:
    """Watch the codes of a secret go by with their strata, and tell whether their order depends on them.

    For rows whose order has nothing to do with the secret within each stratum (given how often each value occurs in a
    stratum, every arrangement among its rows is equally likely) the p-value is valid at every size. It combines, by the
    union bound, :class:`RowOrder` in each of the first strata that are large, and tests of all strata together, small
    ones included:

    - the counts per block of rows of a stratum, and per file or row group, by a likelihood ratio: a product over the
      strata of numbers of expectation at most one;
    - the mean position of each value within its stratum (Hoeffding's inequality for draws without replacement);
    - whether a row has the value of the row before in its stratum, on the first rows.

    A row whose given columns no other row has tells nothing by its place that could be tested so. Where such rows are
    half of the table or more, :class:`LoneRows` tests their order as it is.

    Parameters
    ----------
    labels
        The declared values of the secret, in the order of their codes.

    Examples
    --------
    >>> order = StratifiedOrder(["no", "yes"])
    >>> order.add(np.array([0] * 60 + [1] * 60), np.array([0, 1] * 60))
    >>> print(order.verdict().evidence)
    within strata 116 of 120 rows have the value of the row before, where a random order gives about 58
    """

    def __init__(self, labels: Sequence[Hashable]) -> None:
        self.labels = tuple(labels)
        groups = min(len(self.labels), _GROUPS)
        self._view: Indices = np.arange(len(self.labels)) * groups // len(self.labels)
        self._traces: dict[int, RowOrder] = {}
        self._counts: Counts = np.zeros((16, groups), np.int64)
        self._positions: Floats = np.zeros((16, groups))
        self._first: Counts = np.full(16, -1, np.int64)
        self._last: Counts = np.zeros(16, np.int64)
        self._blocks = [_Blocks(size, groups) for size in _BLOCKS]
        # The parts of the table are blocks too: the counts up to the end of the last one.
        self._part_scores = _Scores()
        self._before: Counts = self._counts.copy()
        self._kept: list[tuple[Array, Array]] = []
        self._part: Hashable = None
        self._parts = 1
        self._lone: LoneRows | None = None
        self.rows = 0

    def add(self, codes: Array, strata: Array, part: Hashable = None, given: Sequence[Array] | None = None) -> None:
        """See the next rows: their codes, the numbers of their strata (-1 for none), and the part they belong to.

        With the codes of the ``given`` columns, rows that are alone in their stratum are looked at as well; strata then
        have numbers in the order in which they come.
        """
        if given is not None and codes.size:
            self._lone = self._lone or LoneRows(self.labels, StratifiedOrder)
            self._lone.add(codes, strata, given, part)
        if part != self._part and self.rows:
            self._parts += 1
            self._close()
        self._part = part
        for start in range(0, codes.size, _CHUNK):
            self._add(codes[start : start + _CHUNK], strata[start : start + _CHUNK])

    def _add(self, codes: Array, strata: Array) -> None:
        places = np.flatnonzero((strata >= 0) & (strata < _MOST))
        before, self.rows = self.rows, self.rows + codes.size
        if not places.size:
            return
        strata = strata[places]
        order = np.argsort(strata.astype(np.min_scalar_type(int(strata.max()))), kind="stable")
        strata, rows = strata[order], places[order]
        codes = codes[rows]
        self._grow(int(strata[-1]) + 1)
        values = self._view[codes]
        if (room := _KEPT - sum(part.size for part, _ in self._kept)) > 0:
            few = np.flatnonzero(order < room)
            self._kept.append((values[few], strata[few]))
        groups = self._counts.shape[1]
        cells = strata * groups + values
        size = (int(strata[-1]) + 1) * groups
        self._counts[: size // groups] += np.bincount(cells, minlength=size).reshape(-1, groups)
        where = (before + rows).astype(np.float64)
        self._positions[: size // groups] += np.bincount(cells, where, minlength=size).reshape(-1, groups)
        starts = np.flatnonzero(np.diff(strata, prepend=-1))
        present = strata[starts]
        ends = np.append(starts[1:], strata.size)
        new = self._first[present] < 0
        self._first[present[new]] = before + rows[starts[new]]
        self._last[present] = before + rows[ends - 1]
        for blocks in self._blocks:
            blocks.add(values, strata, starts, len(self._counts))
        self._trace(codes, present, starts, ends)

    def _trace(self, codes: Array, present: Array, starts: Indices, ends: Indices) -> None:
        """Show the large strata to tests of their own; which are large follows from the given columns alone."""
        totals = self._counts[present].sum(axis=1)
        known = np.array([number in self._traces for number in present.tolist()])
        for place in np.argsort(-totals, kind="stable").tolist():
            if not known[place]:
                if len(self._traces) >= _TRACED or totals[place] < _LEAST:
                    continue
                self._traces[int(present[place])] = RowOrder(self.labels)
            self._traces[int(present[place])].add(codes[starts[place] : ends[place]], self._part)

    def _close(self) -> None:
        """End a part: a file or a row group."""
        for blocks in self._blocks:
            blocks.close()
        part = self._counts.copy()
        part[: len(self._before)] -= self._before
        there = np.flatnonzero(part.any(axis=1))
        self._part_scores.add(there, part[there])
        self._before = self._counts.copy()

    def _grow(self, strata: int) -> None:
        while len(self._counts) < strata:
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
            self._positions = np.concatenate([self._positions, np.zeros_like(self._positions)])
            self._first = np.concatenate([self._first, np.full_like(self._first, -1)])
            self._last = np.concatenate([self._last, np.zeros_like(self._last)])

    def merge(self, later: StratifiedOrder) -> None:
        """Continue with the rows that another one saw, as parts of their own; strata must have the same numbers."""
        if later.labels != self.labels:
            raise InvalidInput("Row orders can be merged for the same values only.")
        self._close()
        later._close()
        size = len(later._counts)
        self._grow(size)
        self._counts[:size] += later._counts
        self._positions[:size] += later._positions + later._counts * float(self.rows)
        there = np.flatnonzero(later._first >= 0)
        new = there[self._first[there] < 0]
        self._first[new] = later._first[new] + self.rows
        self._last[there] = later._last[there] + self.rows
        for mine, theirs in zip(
            [*(one.scores for one in self._blocks), self._part_scores],
            [*(one.scores for one in later._blocks), later._part_scores],
            strict=True,
        ):
            mine.merge(theirs)
        for number, trace in later._traces.items():
            if number in self._traces:
                self._traces[number].merge(trace)
            elif len(self._traces) < _TRACED:
                self._traces[number] = trace
        for values, strata in later._kept:
            room = max(_KEPT - sum(part.size for part, _ in self._kept), 0)
            self._kept.append((values[:room], strata[:room]))
        self._before = self._counts.copy()
        self._part = later._part
        self._parts += later._parts
        self.rows += later.rows

    def verdict(self) -> OrderVerdict:
        """Give the p-value and the strongest evidence for dependence on position."""
        within = self._within_strata()
        if self._lone is None or 2 * self._lone.rows < self.rows:
            return within
        found = min(within, self._lone.verdict(), key=lambda one: one.p_value)
        return OrderVerdict(min(1.0, 2 * found.p_value), found.evidence, self.rows)

    def _within_strata(self) -> OrderVerdict:
        if not self._counts.any():
            return OrderVerdict(1.0, "no stratum has rows", self.rows)
        found = [self._blocks_differ(), self._positions_differ(), self._neighbours()]
        single = [trace.verdict() for trace in self._traces.values()]
        tests = len(found) + len(single)
        best = min(found, key=lambda finding: finding.log_p)
        with np.errstate(under="ignore"):
            together = float(np.exp(min(best.log_p + np.log(tests), 0.0)))
        verdict = OrderVerdict(together, f"within strata {best.words}", self.rows)
        alone = min(single, key=lambda one: one.p_value, default=None)
        if alone is not None and alone.p_value * tests <= together:
            verdict = OrderVerdict(min(1.0, alone.p_value * tests), f"within a stratum {alone.evidence}", self.rows)
        return verdict

    def _blocks_differ(self) -> Finding:
        self._close()
        used = [blocks.scores for blocks in self._blocks] + ([self._part_scores] if self._parts > 1 else [])
        scores = np.array([one.log_ratio(self._counts) for one in used])
        top = float(scores.max())
        ratio = top + float(np.log(np.exp(scores - top).mean()))
        parts = int(np.argmax(scores)) == len(self._blocks)
        words = f"between the {self._parts:,} parts" if parts else "from one block of rows to the next"
        return Finding(
            min(slack(self.rows) - ratio, 0.0), f"the shares of the values differ {words} by more than chance"
        )

    def _positions_differ(self) -> Finding:
        """P(|sum of positions - its mean| ≥ t) ≤ 2 exp(-2 t² / Σ m r²): in each stratum, with rows over a range r, m
        draws without replacement, of the value or of the others, whichever are fewer.
        """
        sizes = self._counts.sum(axis=1, keepdims=True)
        there = sizes[:, 0] > 0
        counts, sums, sizes = self._counts[there], self._positions[there], sizes[there]
        off = (sums - counts * (sums.sum(axis=1, keepdims=True) / sizes)).sum(axis=0)
        spread = (self._last[there] - self._first[there])[:, None].astype(np.float64)
        variance = (np.minimum(counts, sizes - counts) * spread**2).sum(axis=0)
        # Less what the sums of floats may have erred by.
        sure = np.maximum(np.abs(off) - 1e-12 * self.rows * float(sizes.sum()), 0.0)
        log_p = np.where(variance > 0, -2 * sure**2 / np.maximum(variance, 1.0), 0.0)
        place = int(np.argmin(log_p))
        shown = [self.labels[code] for code in np.flatnonzero(self._view == place)]
        name = repr(shown[0]) if len(shown) == 1 else f"{shown[0]!r} to {shown[-1]!r}"
        rows = max(int(counts[:, place].sum()), 1)
        words = (
            f"the {rows:,} rows with {name} lie on average {abs(off[place]) / rows:,.0f} rows "
            f"{'after' if off[place] > 0 else 'before'} the middle of their stratum"
        )
        return Finding(float(log_p[place] + np.log(2 * counts.shape[1])), words)

    def _neighbours(self) -> Finding:
        codes, strata = (np.concatenate(part) for part in zip(*self._kept, strict=True))
        order = np.argsort(strata, kind="stable")
        codes, (_, strata) = codes[order], np.unique(strata[order], return_inverse=True)
        together = strata[1:] == strata[:-1]
        equal = int(np.count_nonzero((codes[1:] == codes[:-1]) & together))
        table = np.bincount(
            strata * self._counts.shape[1] + codes, minlength=(int(strata[-1]) + 1) * self._counts.shape[1]
        )
        table = table.reshape(-1, self._counts.shape[1]).astype(np.float64)
        usual = float(((table * (table - 1)).sum(axis=1) / table.sum(axis=1)).sum())
        words = (
            f"{equal:,} of {codes.size:,} rows have the value of the row before, where a random order gives about "
            f"{usual:,.0f}"
        )
        return Finding(min(slack(codes.size) - log_won(codes, strata), 0.0), words)


class _Scores:
    """Log-likelihoods of the rows of each stratum in blocks, with frequencies of its own for each block."""

    def __init__(self) -> None:
        self._score: Floats = np.zeros(16)
        self._blocks: Counts = np.zeros(16, np.int64)

    def add(self, strata: Array, counts: Counts) -> None:
        """Add finished blocks: their strata, in order, and their counts."""
        if not strata.size:
            return
        top = int(strata[-1]) + 1
        while len(self._score) < top:
            self._score = np.concatenate([self._score, np.zeros_like(self._score)])
            self._blocks = np.concatenate([self._blocks, np.zeros_like(self._blocks)])
        self._score[:top] += np.bincount(strata, log_likelihood(counts), minlength=top)
        self._blocks[:top] += np.bincount(strata, minlength=top)

    def merge(self, other: _Scores) -> None:
        """Add the blocks of another."""
        more = max(len(other._score) - len(self._score), 0)
        self._score, self._blocks = np.pad(self._score, (0, more)), np.pad(self._blocks, (0, more))
        self._score[: len(other._score)] += other._score
        self._blocks[: len(other._blocks)] += other._blocks

    def log_ratio(self, counts: Counts) -> float:
        """The logarithm of a number of expectation at most one, a product over the strata.

        A stratum with one block says nothing. One that says less than nothing takes away at most a factor of two: it
        counts as the mean of one and its ratio.
        """
        several = np.flatnonzero(self._blocks > 1)
        ratio = self._score[several] - log_arranged(counts[several])
        return float((np.logaddexp(0.0, ratio) - np.log(2.0)).sum())


class _Blocks:
    """The rows of all strata in blocks of a size."""

    def __init__(self, size: int, groups: int) -> None:
        self.size, self.scores = size, _Scores()
        self._open: Counts = np.zeros((16, groups), np.int64)

    def add(self, values: Array, strata: Array, starts: Indices, most: int) -> None:
        """See rows that are sorted by stratum; ``starts`` says where each begins."""
        while len(self._open) < most:
            self._open = np.concatenate([self._open, np.zeros_like(self._open)])
        present, groups = strata[starts], self._open.shape[1]
        lengths = np.diff(starts, append=strata.size)
        filled = self._open[present].sum(axis=1)
        block = (np.arange(strata.size) - np.repeat(starts - filled, lengths)) // self.size
        fresh = np.diff(block, prepend=0) != 0
        fresh[starts] = True
        piece = np.cumsum(fresh) - 1
        counts = np.bincount(piece * groups + values, minlength=(int(piece[-1]) + 1) * groups).reshape(-1, groups)
        first = piece[starts]
        counts[first] += self._open[present]
        last = np.append(first[1:], len(counts)) - 1
        full = np.ones(len(counts), np.bool_)
        full[last] = counts[last].sum(axis=1) == self.size
        self.scores.add(strata[np.flatnonzero(fresh)][full], counts[full])
        self._open[present] = np.where(full[last][:, None], 0, counts[last])

    def close(self) -> None:
        """End the blocks of all strata."""
        begun = np.flatnonzero(self._open.any(axis=1))
        self.scores.add(begun, self._open[begun])
        self._open[begun] = 0
