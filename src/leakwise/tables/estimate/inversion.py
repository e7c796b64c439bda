"""From counts of released outcomes back to the frequencies of the true letters, with intervals.

Purely numeric: letters are 0..N-1, outcomes 0..M-1. With P the kernel, p the unknown frequencies and c the counts of n
released rows, c is multinomial(n, q = pP). All errors stated here are those of p as the law of the population the rows
were drawn from: they hold the noise of the mechanism *and* the noise of sampling. For the frequencies inside the table
that was released (no sampling) they are on the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from leakwise.errors import InvalidInput
from leakwise.tables.estimate.intervals import LinearEstimates, program_interval, score_interval
from leakwise.tables.estimate.mixture import likelihood_gap, mixture_proportions
from leakwise.types import Bools, Floats, Indices

__all__ = ["GAP", "Inversion", "invert", "invert_structured", "most_likely"]

Method: TypeAlias = Literal["inverse", "linear", "maximum_likelihood", "pooled"]

_THREADED = 2500  # entries of a matrix
GAP = 1e-9
"""Largest certified loss of log-likelihood per row at which an answer counts as converged."""

_ROW_SLIP = 1e-9  # how far the sum of a row may be from 1
_MATRIX_LIMIT = 5000  # letters up to which a whole covariance matrix is made


@dataclass(frozen=True, eq=False)
class Inversion:
    """Frequencies of the true letters recovered from released outcomes.

    Attributes
    ----------
    frequencies
        The most likely p on the simplex. Where ``identifiable`` is False (or ``unique`` is) only one of several equally
        likely answers: read the interval instead.
    standard_error
        Of each frequency, for the population: √diag of (J⁻¹ - ppᵀ)/n with J = Σ_j P_j P_jᵀ / q_j. NaN where not
        identifiable.
    intervals
        N×2. Identifiable letters: score intervals (those of Wilson, carried through the kernel), asymptotic. Others:
        every value that some p on the simplex can have while pP lies in a box that holds the true q with the stated
        confidence: exact, and as wide as ignorance is.
    identifiable
        Whether the law of the outcomes determines the frequency of the letter.
    unique
        Whether no other p is as likely.
    method
        ``"inverse"`` where P⁻¹ applied to the observed law is itself a law (it is then the most likely one), else
        ``"maximum_likelihood"``; ``"linear"`` for thousands of letters that a code released, brought onto the simplex;
        ``"pooled"`` for strata with mechanisms of their own.
    log_likelihood
        Σ_j c_j log (pP)_j in nats, without the multinomial coefficient.
    gap
        Certified: no p has a log-likelihood larger by more than ``gap`` per row.
    sample_size
        n, the number of released rows.
    confidence, simultaneous
        As asked for.
    """

    frequencies: Floats
    standard_error: Floats
    intervals: Floats
    identifiable: Bools
    unique: bool
    method: Method
    log_likelihood: float
    gap: float
    sample_size: int
    confidence: float
    simultaneous: bool
    _covariance: Callable[[Indices], Floats] = field(repr=False)

    @property
    def converged(self) -> bool:
        """Whether ``gap`` is at most 1e-9."""
        return self.gap <= GAP

    def covariance(self, letters: ArrayLike | None = None) -> Floats:
        """Return the asymptotic covariance of the frequencies of some letters (all of them by default)."""
        count = self.frequencies.size
        if letters is None:
            if count > _MATRIX_LIMIT:
                raise InvalidInput(
                    f"covariance of all {count} letters would need a {count}×{count} matrix; name at most "
                    f"{_MATRIX_LIMIT} letters."
                )
            return self._covariance(np.arange(count))
        chosen = np.atleast_1d(np.asarray(letters))
        if not np.issubdtype(chosen.dtype, np.integer) or chosen.min() < 0 or chosen.max() >= count:
            raise InvalidInput(f"letters is {letters}; expected indices within 0..{count - 1}.")
        return self._covariance(chosen.astype(np.intp))


def invert(counts: ArrayLike, matrix: ArrayLike, *, confidence: float = 0.95, simultaneous: bool = False) -> Inversion:
    r"""Recover the frequencies of the true letters through a dense kernel.

    Maximises :math:`\sum_j c_j \log (pP)_j` over the simplex. The covariance is
    :math:`(J^{-1} - pp^T)/n`, :math:`J = \sum_j P_j P_j^T / q_j`, the inverse Fisher information of the
    multinomial on the simplex; for an invertible square kernel that is
    :math:`P^{-T}(\mathrm{diag}\,q - qq^T)P^{-1}/n`.

    Parameters
    ----------
    counts
        How often each of the M outcomes was released.
    matrix
        P, N×M, rows are laws (to 1e-9).
    confidence
        Of each interval, or of all together if ``simultaneous`` (Bonferroni).

    Examples
    --------
    >>> result = invert([620, 380], [[0.8, 0.2], [0.2, 0.8]])
    >>> result.frequencies.round(6).tolist(), result.method
    ([0.7, 0.3], 'inverse')
    >>> invert([620, 380], [[0.5, 0.5], [0.5, 0.5]]).intervals.tolist()   # nothing can be said
    [[0.0, 1.0], [0.0, 1.0]]
    """
    p = _kernel(matrix)
    c, n = _counts(counts, p.shape[1])
    delta = _delta(confidence)
    possible = np.asarray((p > 0).any(axis=0))
    _refuse_impossible(c, possible)
    p, c = p[:, possible], c[possible]
    # Letters with the same row are one letter to the outcomes; apart from the sum nothing is known of them.
    laws, group = np.unique(p, axis=0, return_inverse=True)
    group = group.reshape(-1)
    size = np.bincount(group)

    with _one_thread(laws.size):
        x, method = most_likely(laws, c, n)
        q = x @ laws
        seen = c > 0
        gap = likelihood_gap(laws[:, seen], c[seen] / n, x)
        linear = LinearEstimates.of(laws, q, n)
        alone = linear.identified[group] & (size == 1)[group]
        pinned = bool(linear.identified.all()) and (bool(seen.all()) or _full_rank(laws[x > 0][:, seen]))
        # One claim for each score interval, and one for the box that all linear programs share.
        claims = int(linear.identified.sum()) + int(not linear.identified.all()) if simultaneous else 1
        low, high = linear.intervals(c / n, x, n, delta / claims)
        if not linear.identified.all():
            low, high = program_interval(laws, c, n, q, delta / claims, ~linear.identified, low, high)
        shared = size > 1
        ends = np.stack((np.where(shared, 0.0, low)[group], high[group]), axis=1)
        variance = np.where(alone, linear.variance(x, q, n)[group], np.nan)

    return Inversion(
        frequencies=(x / size)[group],
        standard_error=np.sqrt(variance),
        intervals=ends,
        identifiable=alone,
        unique=pinned and bool((~shared | (x == 0)).all()),
        method=method,
        log_likelihood=float(c[seen] @ np.log(q[seen])),
        gap=gap,
        sample_size=n,
        confidence=confidence,
        simultaneous=simultaneous,
        _covariance=partial(_dense_covariance, linear, group, alone, x, q, n),
    )


def invert_structured(
    counts: ArrayLike, common: ArrayLike, diagonal: float, *, confidence: float = 0.95, simultaneous: bool = False
) -> Inversion:
    r"""Recover the frequencies through :math:`P_{ij} = a_j + d\,[i = j]` in time N log N, without a matrix.

    Here :math:`P^{-1} = (I - 1a^T)/d`, so p = (q - a)/d; where that leaves the simplex the most likely p is found by
    filling water: for d > 0, :math:`p_j = \max(0, c_j t - a_j/d)`, for d < 0,
    :math:`p_j = \max(0, a_j/|d| - c_j t)`, with t such that they add up to one.
    Covariance :math:`(\mathrm{diag}\,q - qq^T)/(n d^2)`.

    Parameters
    ----------
    counts
        How often each of the N outcomes was released.
    common
        a, the part of the law that does not depend on the letter; sum a + d = 1.
    diagonal
        d, what the letter adds to its own outcome; may be negative.
    confidence, simultaneous
        As for :func:`invert`.

    Examples
    --------
    >>> invert_structured([520, 240, 240], [0.2, 0.2, 0.2], 0.4).frequencies.round(6).tolist()
    [0.8, 0.1, 0.1]
    """
    a, d = _structure(common, diagonal)
    c, n = _counts(counts, a.size)
    delta = _delta(confidence)
    _refuse_impossible(c, (a > 0) | (a + d > 0))
    count, seen = a.size, c > 0
    identified = d != 0.0 or count == 1
    method: Method = "maximum_likelihood"
    unique = identified
    if d == 0.0:
        p = np.full(count, 1.0 / count)
    else:
        p = (c / n - a) / d
        if (p >= 0).all():
            p, method = p / p.sum(), "inverse"
        else:
            p, unique = _fill(c, a, d)
    q = a + d * p
    g = (c[seen] @ (a[seen] / q[seen])) / n + np.where(seen, d * c / np.where(seen, q, 1.0), 0.0) / n
    gap = max(float(g.max()) - 1.0, 0.0)
    if not identified:
        low, high = np.zeros(count), np.ones(count)
    elif count == 1:
        low = high = np.ones(1)
    else:
        own = ((1 - a) ** 2 * (a + d) + a**2 * (1 - a - d)) / d**2
        others = a * (1 - a) / d**2
        low, high = score_interval((c / n - a) / d, own, others, n, delta / (count if simultaneous else 1))
        low, high = np.minimum(low, p), np.maximum(high, p)

    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(q * (1 - q) / n) / abs(d)
    if d == 0.0:
        error = np.full(count, 0.0 if identified else np.nan)
    return Inversion(
        frequencies=p,
        standard_error=error,
        intervals=np.stack((low, high), axis=1),
        identifiable=np.full(count, identified),
        unique=unique,
        method=method,
        log_likelihood=float(c[seen] @ np.log(q[seen])),
        gap=gap,
        sample_size=n,
        confidence=confidence,
        simultaneous=simultaneous,
        _covariance=partial(_structured_covariance, identified, q, d, n),
    )


# Functions of the module, so that an estimate can be pickled.


def _one_thread(entries: int) -> AbstractContextManager[None]:
    """One thread of linear algebra, where libraries would use several: they would wait for each other."""
    if entries < _THREADED:
        return nullcontext()
    from leakwise.lp.blas_threads import one_blas_thread  # which loads libraries that small matrices do not need

    return one_blas_thread()


def _dense_covariance(
    linear: LinearEstimates, group: Any, alone: Any, x: Floats, q: Floats, n: int, letters: Indices
) -> Floats:
    out = linear.covariance(group[letters], x, q, n)
    out[~alone[letters], :] = np.nan
    out[:, ~alone[letters]] = np.nan
    return out


def _structured_covariance(identified: bool, q: Floats, d: float, n: int, letters: Indices) -> Floats:
    if not identified or d == 0.0:
        return np.full((letters.size, letters.size), 0.0 if identified else np.nan)
    same = letters[:, None] == letters[None, :]
    return np.asarray((same * q[letters] - np.outer(q[letters], q[letters])) / (d * d * n))


# ------------------------------------------------------------------------------------------- the most likely p


def most_likely(laws: Floats, c: Floats, n: int) -> tuple[Floats, Method]:
    """Return the most likely proportions; by the plain inverse where it gives a law."""
    count, outcomes = laws.shape
    if count == outcomes:
        try:
            x = np.linalg.solve(laws.T, c / n)
        except np.linalg.LinAlgError:
            x = np.full(count, -1.0)
        if (x >= 0).all():
            x = x / x.sum()
            # A nearly singular kernel can give a law that does not fit: then it is not the answer.
            if likelihood_gap(laws[:, c > 0], c[c > 0] / n, x) <= 1e-12:
                return x, "inverse"
    seen = c > 0
    return mixture_proportions(laws[:, seen], c[seen] / n).proportions, "maximum_likelihood"


def _fill(c: Floats, a: Floats, d: float) -> tuple[Floats, bool]:
    """The most likely p of the structured kernel when its inverse is not a law, and whether it is the only one."""
    base = a / abs(d)
    if d > 0:
        # p = max(0, c t - base): letters enter in the order base/c; a letter never seen does not.
        seen = np.flatnonzero(c > 0)
        order = seen[np.argsort(base[seen] / c[seen], kind="stable")]
        slope, level = np.cumsum(c[order]), np.cumsum(base[order])
        t = (1.0 + level) / slope  # t if exactly the first k letters are in
        k = int(np.flatnonzero(t * c[order] > base[order])[-1])
        p = np.zeros(a.size)
        kept = order[: k + 1]
        p[kept] = np.maximum(c[kept] * t[k] - base[kept], 0.0)
        return p / p.sum(), True
    unseen = c == 0
    if unseen.any():
        # P ≥ 0 means a_j ≥ |d|: letters whose outcome never came can take all the mass, and any split is as likely.
        return unseen / unseen.sum(), bool(unseen.sum() == 1)
    # p = max(0, base - c t): letters leave in the order base/c.
    order = np.argsort(-base / c, kind="stable")
    slope, level = np.cumsum(c[order]), np.cumsum(base[order])
    t = (level - 1.0) / slope
    k = int(np.flatnonzero(base[order] > t * c[order])[-1])
    p = np.zeros(a.size)
    kept = order[: k + 1]
    p[kept] = np.maximum(base[kept] - c[kept] * t[k], 0.0)
    return p / p.sum(), True


def _full_rank(laws: Floats) -> bool:
    return bool(laws.shape[0] <= laws.shape[1]) and bool(np.linalg.matrix_rank(laws) == laws.shape[0])


# ------------------------------------------------------------------------------------------------------ inputs


def _kernel(matrix: ArrayLike) -> Floats:
    p = np.asarray(matrix, dtype=np.float64)
    if p.ndim != 2 or 0 in p.shape:
        raise InvalidInput(f"matrix has shape {p.shape}; expected two dimensions (letters, outcomes).")
    if not (np.isfinite(p).all() and (p >= 0).all()):
        i, j = np.argwhere(~(np.isfinite(p) & (p >= 0)))[0]
        raise InvalidInput(f"matrix[{i}, {j}] is {p[i, j]}; expected a probability.")
    slip = np.abs(p.sum(axis=1) - 1.0)
    if slip.max() > _ROW_SLIP:
        i = int(slip.argmax())
        raise InvalidInput(f"row {i} of matrix sums to {float(p[i].sum())!r}; every row must sum to 1.")
    return p


def _structure(common: ArrayLike, diagonal: float) -> tuple[Floats, float]:
    a, d = np.asarray(common, dtype=np.float64), float(diagonal)
    if a.ndim != 1 or a.size == 0:
        raise InvalidInput(f"common has shape {a.shape}; expected a vector with one entry per outcome.")
    if not math.isfinite(d):
        raise InvalidInput(f"diagonal is {diagonal}; expected a finite number.")
    bad = np.flatnonzero(~(np.isfinite(a) & (a >= 0) & (a + d >= 0)))
    if bad.size:
        j = bad[0]
        raise InvalidInput(
            f"common[{j}] = {a[j]} with diagonal = {d} is no pair of probabilities; expected common ≥ 0 and common + "
            "diagonal ≥ 0."
        )
    if abs(a.sum() + d - 1.0) > _ROW_SLIP:
        raise InvalidInput(f"common sums to {float(a.sum())!r} and diagonal is {d!r}; together they must make 1.")
    return a, d


def _counts(counts: ArrayLike, outcomes: int) -> tuple[Floats, int]:
    given = np.asarray(counts)
    if given.shape != (outcomes,):
        raise InvalidInput(f"counts has shape {given.shape}; expected one count for each of {outcomes} outcomes.")
    if not (np.issubdtype(given.dtype, np.integer) or np.issubdtype(given.dtype, np.floating)):
        raise InvalidInput(f"counts has the type {given.dtype}; expected non-negative integers.")
    bad = np.flatnonzero(~((given >= 0) & (given == np.floor(given)) & (given <= 2.0**53)))
    if bad.size:
        raise InvalidInput(f"counts[{bad[0]}] is {given[bad[0]]}; expected a non-negative integer up to 2^53.")
    c = given.astype(np.float64)
    if not c.any():
        raise InvalidInput("counts are all zero; at least one released row is needed.")
    return c, int(c.sum())


def _refuse_impossible(c: Floats, possible: Bools) -> None:
    bad = np.flatnonzero((c > 0) & ~possible)
    if bad.size:
        raise InvalidInput(
            f"outcome {bad[0]} was counted {int(c[bad[0]])} times but has probability zero under every letter; the "
            "rows were not released by this mechanism, or outcomes are in another order."
        )


def _delta(confidence: float) -> float:
    if not 0.0 < confidence < 1.0:
        raise InvalidInput(f"confidence is {confidence}; expected a number strictly between 0 and 1.")
    return 1.0 - confidence
