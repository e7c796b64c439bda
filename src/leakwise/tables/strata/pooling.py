"""Frequencies of all rows from strata with mechanisms of their own: pooled by the strata's known sizes.

Purely numeric. A cell is a set of rows that went through one mechanism. Its frequencies are estimated by an unbiased
linear estimate, and not by the most likely ones: those are drawn into the simplex in every small cell, and the errors
of many cells would add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from leakwise.tables.estimate.intervals import LinearEstimates
from leakwise.tables.estimate.inversion import Inversion, most_likely
from leakwise.tables.estimate.mixture import likelihood_gap
from leakwise.types import Bools, Counts, Floats, Indices

__all__ = ["Cell", "fitted_law", "onto_simplex", "pooled"]


@dataclass(frozen=True)
class Cell:
    """Rows with one mechanism: its matrix, which values they can have, and how often each outcome came."""

    matrix: Floats
    support: Bools
    counts: Counts

    @property
    def rows(self) -> int:
        """How many rows the cell has."""
        return int(self.counts.sum())


@dataclass(frozen=True)
class _Part:
    """What a cell says: an unbiased estimate with its covariance, and which values it identifies."""

    estimate: Floats
    covariance: Floats
    identified: Bools
    log_likelihood: float
    gap: float


def pooled(cells: Sequence[Cell], *, confidence: float, simultaneous: bool) -> Inversion:
    r"""Return the frequencies :math:`\sum_u (n_u/n) p_u` of all rows, with the covariance of given stratum sizes.

    The covariance is :math:`\sum_u (n_u/n)^2 C_u` with :math:`C_u = (J_u^{-1} - p_u p_u^T)/n_u` (the mathematics,
    section 8); intervals are score intervals with it. A value that some stratum's outcomes do not determine gets an
    interval that allows for every share it can have there.
    """
    total, size = sum(cell.rows for cell in cells), cells[0].support.size
    fits = [_fit(cell) for cell in cells]
    shares = np.array([cell.rows / total for cell in cells])
    whole = shares @ np.stack(fits)
    parts = [_part(cell, fit, whole) for cell, fit in zip(cells, fits, strict=True)]
    known = np.stack([part.identified for part in parts])
    values = np.stack([np.where(part.identified, part.estimate, 0.0) for part in parts])
    estimate = shares @ values
    covariance = np.zeros((size, size))
    for share, part in zip(shares, parts, strict=True):
        covariance += share**2 * np.where(np.outer(part.identified, part.identified), part.covariance, 0.0)
    identified: Bools = np.asarray(known.all(axis=0))
    unknown = shares @ ~known
    possible = np.any([cell.support for cell in cells], axis=0)
    frequencies = np.zeros(size)  # exactly, where no stratum can have the value
    frequencies[possible] = onto_simplex(np.where(identified, estimate, shares @ np.stack(fits))[possible])
    low, high = _intervals(cells, estimate, covariance, frequencies, confidence, size if simultaneous else 1)
    low, high = np.where(possible, low, 0.0), np.where(possible, np.minimum(high + unknown, 1.0), 0.0)
    low, high = np.minimum(low, frequencies), np.maximum(high, frequencies)
    covariance[~identified, :] = np.nan
    covariance[:, ~identified] = np.nan
    gap = max(part.gap for part in parts)
    return Inversion(
        frequencies=frequencies,
        standard_error=np.sqrt(np.where(identified, np.maximum(covariance.diagonal(), 0.0), np.nan)),
        intervals=np.stack((low, high), axis=1),
        identifiable=identified,
        unique=bool(identified.all()),
        method="pooled",
        log_likelihood=float(sum(part.log_likelihood for part in parts)),
        gap=gap,
        sample_size=total,
        confidence=confidence,
        simultaneous=simultaneous,
        _covariance=partial(_chosen, covariance),
    )


def _intervals(
    cells: Sequence[Cell], estimate: Floats, covariance: Floats, frequencies: Floats, confidence: float, claims: int
) -> tuple[Floats, Floats]:
    from leakwise.tables.estimate.joint.evidence import column_evidence
    from leakwise.tables.estimate.joint.score import cell_intervals

    evidence = column_evidence([(cell.matrix, cell.support, cell.counts) for cell in cells])
    error = np.sqrt(np.maximum(covariance.diagonal(), 0.0))
    return cell_intervals(evidence, estimate, frequencies, error, confidence, claims)


def _laws(cell: Cell) -> tuple[Floats, Floats]:
    """The matrix of the values that can occur, over the outcomes that can come of them, and their counts."""
    laws = cell.matrix[cell.support]
    possible = (laws > 0).any(axis=0)
    return laws[:, possible], cell.counts[possible].astype(np.float64)


def _fit(cell: Cell) -> Floats:
    """The most likely frequencies in a cell, over all values."""
    laws, counts = _laws(cell)
    found = np.zeros(cell.support.size)
    rows, group, size = np.unique(laws, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    found[cell.support] = (most_likely(rows, counts, cell.rows)[0] / size)[group]
    return found


def fitted_law(cell: Cell) -> tuple[Floats, Counts]:
    """Return the most likely distribution of the outcomes of a cell, over those that can come, and their counts."""
    laws, counts = _laws(cell)
    return _fit(cell)[cell.support] @ laws, counts.astype(np.int64)


def _part(cell: Cell, fit: Floats, whole: Floats) -> _Part:
    laws, counts = _laws(cell)
    n, size = cell.rows, cell.support.size
    # Weights and variances at frequencies that lean on the whole table: a few rows do not show their own.
    lean = np.where(cell.support, whole, 0.0)
    lean = lean / lean.sum() if lean.sum() > 0 else cell.support / cell.support.sum()
    near = ((n * fit + size * lean) / (n + size))[cell.support]
    law = near @ laws
    linear = LinearEstimates.of(laws, law, n)
    found = np.nan_to_num(linear.b).T @ (counts / n)
    places = np.flatnonzero(cell.support)
    estimate, covariance = np.zeros(size), np.zeros((size, size))
    estimate[places] = found
    with np.errstate(invalid="ignore"):
        inner = linear.covariance(np.arange(places.size), near, law, n)
    covariance[np.ix_(places, places)] = np.nan_to_num(inner)
    identified = np.ones(size, dtype=np.bool_)  # what cannot occur has the frequency zero
    identified[places] = linear.identified
    seen = counts > 0
    most = fit[cell.support] @ laws
    likelihood = float(counts[seen] @ np.log(np.maximum(most[seen], np.finfo(np.float64).tiny)))
    gap = likelihood_gap(laws[:, seen], counts[seen] / n, fit[cell.support])
    return _Part(estimate, covariance, identified, likelihood, gap)


def onto_simplex(values: Floats) -> Floats:
    """Return the nearest distribution."""
    ordered = np.sort(values)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, values.size + 1)
    last = int(np.flatnonzero(ordered > excess)[-1])
    return np.asarray(np.maximum(values - excess[last], 0.0))


def _chosen(covariance: Floats, letters: Indices) -> Floats:
    return np.asarray(covariance[np.ix_(letters, letters)])
