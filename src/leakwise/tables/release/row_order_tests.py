"""The tests behind :mod:`leakwise.tables.release.row_order`: runs, mean positions, and counts per block and part.

All of them hold the counts of the values fixed, and bound the probability of what was seen when every arrangement of
the rows is equally likely. Logarithms of probabilities are rounded up by more than floating point can err.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leakwise.tables.release.row_order_ratios import log_arranged, log_likelihood, log_won, slack
from leakwise.types import Array, Counts, Floats, Indices

__all__ = ["Finding", "Trace"]


# Rows handled at once; rows whose codes are kept for the longer distances; those of them on which striking distances
# are looked for, and the longest distance.
_CHUNK = 1 << 16
_KEPT = 1 << 16
_SEARCHED, _FAR = 1 << 13, 1024
# Up to so many values all distances are counted at once.
_FEW = 24
_GROWTH = 4


@dataclass(frozen=True)
class Finding:
    """The logarithm of a p-value, and what was seen."""

    log_p: float
    words: str


class Trace:
    """What is remembered of the codes that went by."""

    def __init__(self, size: int) -> None:
        self.size, self.rows = size, 0
        self.counts: Counts = np.zeros(size, np.int64)
        # Rows equal to the one before, and sums of positions (as floats: they pass 2^63 at four billion rows).
        self._equal: Counts = np.zeros(size, np.int64)
        self._positions: Floats = np.zeros(size)
        self._last: int | None = None
        self._first: int | None = None
        self._kept: list[Array] = []
        # Rows that do not fill a block yet.
        self._waiting: Indices = np.empty(0, np.intp)
        # The closed parts: how many, the counts up to their end, and their log-likelihoods as wholes and by blocks.
        self._parts = 0
        self._before: Counts = np.zeros(size, np.int64)
        self._whole, self._levels = 0.0, _Levels(size)

    def add(self, codes: Array) -> None:
        """See the next rows."""
        for start in range(0, codes.size, _CHUNK):
            self._add(codes[start : start + _CHUNK])

    def _add(self, codes: Array) -> None:
        # Twice the code, plus one where the row before has the same: one count of these numbers tells everything.
        rows = codes.astype(np.intp)
        rows *= 2
        rows[1:] += codes[1:] == codes[:-1]
        if self._last == codes[0]:
            rows[0] += 1
        if self._first is None:
            self._first = int(codes[0])
        self._last = int(codes[-1])
        if (room := _KEPT - sum(map(len, self._kept))) > 0:
            self._kept.append(codes[:room].astype(np.int32))
        rows = np.concatenate([self._waiting, rows]) if self._waiting.size else rows
        self.rows += codes.size
        block = self._levels.block
        blocks = rows.size // block
        if blocks:
            self._levels.push(0, self._counted(rows[: blocks * block].reshape(blocks, block), self.rows - rows.size))
        self._waiting = rows[blocks * block :].copy()

    def _counted(self, rows: Indices, start: int) -> Counts:
        """Count blocks of rows, of which the first begins at a position; gives back the counts of each."""
        blocks, block = rows.shape
        cells = 2 * self.size
        rows = rows + np.arange(0, blocks * cells, cells)[:, None]
        found = np.bincount(rows.reshape(-1), minlength=blocks * cells).reshape(blocks, self.size, 2)
        counts: Counts = found[:, :, 0] + found[:, :, 1]
        self._equal += found[:, :, 1].sum(axis=0)
        self.counts += counts.sum(axis=0)
        # A row counts where the middle of its block is, which spreads less than where the row is.
        self._positions += (start + (block - 1) / 2 + block * np.arange(blocks, dtype=np.float64)) @ counts
        return counts

    def close(self) -> None:
        """End a part: a file or a partition."""
        left: Counts = np.zeros(self.size, np.int64)
        if self._waiting.size:
            left = self._counted(self._waiting[None, :], self.rows - self._waiting.size)[0]
            self._waiting = self._waiting[:0]
        part = self.counts - self._before
        if not part.any():
            return
        whole = float(log_likelihood(part[None, :])[0])
        self._levels.close(left, whole)
        self._whole += whole
        self._before = self.counts.copy()
        self._parts += 1

    def merge(self, later: Trace) -> None:
        """Continue with the rows of another."""
        self.close()
        later.close()
        if later._first is None:
            return
        self._positions += later._positions + later.counts.astype(np.float64) * self.rows
        self._equal += later._equal
        if self._last == later._first:
            self._equal[later._first] += 1
        self._first = later._first if self._first is None else self._first
        self._last = later._last
        room = _KEPT - sum(map(len, self._kept))
        for codes in later._kept:
            if room > 0:
                self._kept.append(codes[:room])
                room -= len(codes)
        self._levels.merge(later._levels, self._whole, later._whole)
        self._whole += later._whole
        self._parts += later._parts
        self.counts += later.counts
        self.rows += later.rows
        self._before = self.counts.copy()

    def finding(self, names: tuple[str, ...], what: str = "value") -> Finding:
        """Return the strongest of all tests, its p-value multiplied by their number; a code stands for a ``what``."""
        self.close()
        there = np.flatnonzero(self.counts)
        if there.size < 2:
            return Finding(0.0, "the secret has one value only")
        kept = np.concatenate(self._kept)
        found = [
            self._runs(names, self.counts, self.rows, self._equal, 1),
            self._mean(names, there),
            self._blocks(),
            _neighbours(kept, 1, what),
        ]
        in_kept = np.bincount(kept, minlength=self.size)
        chosen, among = _striking(kept[:_SEARCHED])
        for distance in chosen:
            # The rows taken in steps of the distance, from the first, then from the second, …: an arrangement of the
            # same rows that does not look at them, so that its runs have the same distribution.
            taken = np.concatenate([kept[start::distance] for start in range(distance)])
            equal = np.bincount(taken[1:][taken[1:] == taken[:-1]], minlength=self.size)
            runs = self._runs(names, in_kept, kept.size, equal, distance)
            for one in (runs, _neighbours(taken, distance, what)):
                # All distances and both tests pay for those that were looked at because they stood out.
                found.append(Finding(one.log_p + float(np.log(2 * among)), one.words))
        if self._parts > 1:
            found.append(self._between_parts())
        best = min(found, key=lambda finding: finding.log_p)
        return Finding(min(best.log_p + float(np.log(len(found))), 0.0), best.words)

    def _runs(self, names: tuple[str, ...], counts: Counts, rows: int, equal: Counts, distance: int) -> Finding:
        """The runs R of a value with c of n rows: P(R = r) = C(c-1, r-1) C(n-c+1, r) / C(n, c), exactly."""
        there = np.flatnonzero(counts)
        c, n = counts[there].astype(np.float64), float(rows)
        r = c - equal[there]
        free = n - c + 1
        log_p = _log_choose(c - 1, r - 1) + _log_choose(free, r) - _log_choose(np.full_like(c, n), c)
        # The distribution is log-concave: beyond r it falls at least as fast as in the first step.
        more = (c - r) * (free - r) / (r * (r + 1))
        fewer = (r - 1) * r / ((c - r + 1) * (free - r + 1))
        # A side that has hardly begun to fall tells nothing.
        fall = np.minimum(more, fewer)
        tail = np.where(fall < 0.999, log_p - np.log1p(-np.minimum(fall, 0.999)), 0.0)
        tail = np.minimum(tail + slack(n), 0.0)
        place = int(np.argmin(tail))
        value, seen, usual = names[int(there[place])], int(r[place]), c[place] * free[place] / n
        among = "" if distance == 1 else f" when every {distance}{_ending(distance)} row is taken"
        words = (
            f"the {int(c[place]):,} rows with {value} come in {seen:,} {'run' if seen == 1 else 'runs'}{among}, where "
            f"a random order gives about {usual:,.0f}"
        )
        # Two sides of every value.
        return Finding(float(tail[place] + np.log(2 * there.size)), words)

    def _mean(self, names: tuple[str, ...], there: Indices) -> Finding:
        """P(|mean position - middle| ≥ t) ≤ 2 exp(-6 c t² / n²): draws without replacement from n equidistant points,
        each sub-Gaussian with variance n²/12 (less when rounded to the middle of a block). For a frequent value the
        other rows say it better.
        """
        n, c = float(self.rows), self.counts[there].astype(np.float64)
        mean = self._positions[there] / c
        off = np.abs(mean - (n - 1) / 2) / n
        # Less what the sums of floats may have erred by.
        off = np.maximum(off - 1e-9, 0.0)
        log_p = -6 * c * off**2 * np.maximum(1.0, c / np.maximum(n - c, 1.0))
        place = int(np.argmin(log_p))
        words = (
            f"the {int(c[place]):,} rows with {names[int(there[place])]} lie on average at row "
            f"{mean[place] + 1:,.0f} of {self.rows:,}, where a random order gives about {(n + 1) / 2:,.0f}"
        )
        return Finding(float(log_p[place] + np.log(2 * there.size)), words)

    def _blocks(self) -> Finding:
        """The mean over the sizes of blocks of the likelihood ratio, a number of expectation at most one."""
        scores = np.array([score - self._arranged() for score in self._levels.scores] or [0.0])
        top = float(scores.max())
        ratio = top + float(np.log(np.exp(scores - top).mean()))
        rows = self._levels.block * _GROWTH ** int(np.argmax(scores))
        words = f"the shares of the values differ from one block of {rows:,} rows to the next by more than chance"
        return Finding(min(slack(self.rows) - ratio, 0.0), words)

    def _between_parts(self) -> Finding:
        parts = f"the {self._parts:,} files, partitions or row groups"
        words = f"the shares of the values differ between {parts} by more than chance"
        return Finding(min(slack(self.rows) - (self._whole - self._arranged()), 0.0), words)

    def _arranged(self) -> float:
        """The logarithm of the probability of one arrangement, when all with these counts are equally likely.

        For any distribution Q of sequences, Q(x) divided by this is of expectation at most one under every exchangeable
        distribution of x: a sum over the counts of P(counts) Q(all arrangements with these counts). So by Markov's
        inequality one over it is a p-value.
        """
        return float(log_arranged(self.counts[None, :])[0])


class _Levels:
    """Log-likelihoods of the rows in blocks, with frequencies of its own for each block, at sizes four times apart."""

    def __init__(self, size: int) -> None:
        self.size = size
        # So large that the counts of a block cost less than its rows.
        self.block = 64
        while self.block < 4 * size:
            self.block *= 2
        self._closed: list[float] = []
        self._start()

    def _start(self) -> None:
        """Begin a part."""
        self._open: list[float] = []
        self._waiting: list[Counts] = []
        self._past = 0.0

    @property
    def scores(self) -> list[float]:
        """The log-likelihood of all closed parts, for every size of blocks."""
        return self._closed

    def push(self, level: int, counts: Counts) -> None:
        """Full blocks of a size: their score, and four of them make one of the next size."""
        if level == len(self._open):
            # The first block of this size: those before it on this level are none.
            self._open.append(0.0)
            self._waiting.append(np.zeros((0, self.size), np.int64))
        self._open[level] += float(log_likelihood(counts).sum())
        waiting = np.concatenate([self._waiting[level], counts])
        full = len(waiting) // _GROWTH
        self._waiting[level] = waiting[full * _GROWTH :]
        if full:
            self.push(level + 1, waiting[: full * _GROWTH].reshape(full, _GROWTH, self.size).sum(axis=1))

    def close(self, left: Counts, whole: float) -> None:
        """End a part; what is left over makes a smaller block at every size."""
        scores = []
        for score, waiting in zip(self._open, self._waiting, strict=True):
            scores.append(score + float(log_likelihood(left[None, :])[0]))
            left = left + waiting.sum(axis=0)
        self._join(scores, self._past, whole)
        past = self._past + whole
        self._start()
        self._past = past

    def merge(self, later: _Levels, mine: float, theirs: float) -> None:
        """Continue with the closed parts of another; the arguments are what both score as whole parts."""
        self._join(later._closed, mine, theirs)
        self._past = mine + theirs

    def _join(self, scores: list[float], mine: float, theirs: float) -> None:
        """Add scores by size; where one side has no block of a size, its parts are its blocks."""
        levels = max(len(self._closed), len(scores))
        a = self._closed + [mine] * (levels - len(self._closed))
        b = scores + [theirs] * (levels - len(scores))
        self._closed = [one + other for one, other in zip(a, b, strict=True)]


def _striking(codes: Array) -> tuple[list[int], int]:
    """Choose the distances at which rows have one value most and least often, and tell among how many."""
    # Of a million declared values only those that are here can stand out.
    counts = np.bincount(codes)
    codes = (np.cumsum(counts > 0) - 1)[codes]
    counts = counts[counts > 0]
    rows, far = codes.size, min(_FAR, codes.size // 2)
    if far < 2:
        return [], 1
    apart = np.arange(2, far + 1)
    equal = _equal_apart(codes, counts.size, far)
    usual = (rows - apart)[:, None] * (counts / rows) ** 2
    off = equal - usual
    whole = off.sum(axis=1) / np.sqrt(usual.sum(axis=1))
    single = (off / np.sqrt(usual + 1)).max(axis=1)
    return sorted({int(apart[place]) for place in (whole.argmax(), whole.argmin(), single.argmax())}), apart.size


def _equal_apart(codes: Array, size: int, far: int) -> Floats:
    """How often each value stands at both ends of a distance of 2, 3, … ``far`` rows."""
    if size > _FEW:
        equal = np.empty((far - 1, size))
        for distance in range(2, far + 1):
            later = codes[distance:]
            equal[distance - 2] = np.bincount(later[later == codes[:-distance]], minlength=size)
        return equal
    # The autocorrelation of where a value stands, all distances at once; the counts are whole numbers.
    length = 1 << (codes.size + far).bit_length()
    found = np.fft.rfft(codes == np.arange(size)[:, None], length)
    counted: Floats = np.rint(np.fft.irfft(np.abs(found) ** 2, length)[:, 2 : far + 1]).T
    return counted


def _neighbours(codes: Array, distance: int, what: str) -> Finding:
    """The rows with the value of the row before: all values together, each of which may be too rare to stand out."""
    equal, counts = int(np.count_nonzero(codes[1:] == codes[:-1])), np.bincount(codes).astype(np.float64)
    won = log_won(codes, np.zeros(codes.size, np.intp))
    before = "before" if distance == 1 else f"{distance:,} before"
    words = (
        f"{equal:,} of {codes.size:,} rows have the {what} of the row {before}, "
        f"where a random order gives about {float(counts @ (counts - 1) / codes.size):,.0f}"
    )
    return Finding(min(slack(codes.size) - won, 0.0), words)


def _log_choose(n: Floats, k: Floats) -> Floats:
    from scipy.special import gammaln

    result: Floats = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return result


def _ending(number: int) -> str:
    return {2: "nd", 3: "rd"}.get(number, "th")
