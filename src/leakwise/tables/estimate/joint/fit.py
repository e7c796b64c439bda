"""From evidence to the table that is reported: the most likely frequencies, with errors and intervals of every cell."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from leakwise.errors import LeakwiseWarning
from leakwise.tables.estimate.fit import fits
from leakwise.tables.estimate.inversion import GAP
from leakwise.tables.estimate.joint.axes import along
from leakwise.tables.estimate.joint.evidence import Evidence
from leakwise.tables.estimate.joint.score import cell_intervals
from leakwise.tables.estimate.joint.simplex import most_likely_table, table_gap
from leakwise.tables.estimate.numbers import critical_value
from leakwise.tables.strata.pooling import onto_simplex
from leakwise.types import Bools, Floats

__all__ = ["Fit", "fitted"]

# Combinations of mechanisms whose outcomes are tested against them.
_TESTED = 64


@dataclass(frozen=True, eq=False)
class Fit:
    """The frequencies of all cells.

    Attributes
    ----------
    frequencies
        The most likely table; with mechanisms by strata the distribution nearest to the unbiased estimate.
    standard_error, intervals
        Of every cell, intervals with a last axis of low and high.
    identifiable
        Which cells the outcomes determine. The interval of another contains every frequency that fits.
    method, gap, converged
        As for an estimate of one column.
    """

    frequencies: Floats
    standard_error: Floats
    intervals: Floats
    identifiable: Bools
    method: str
    gap: float
    converged: bool


def fitted(
    evidence: Evidence, masks: Sequence[Sequence[Bools]], confidence: float, claims: int, *, by_outcome: bool
) -> Fit:
    """Return the frequencies of all cells, with intervals whose failure probability is shared by ``claims`` of them.

    ``by_outcome`` says that some mechanism was chosen by the outcome of another column.
    """
    linear = evidence.linear
    identified = evidence.identified(masks)
    method, gap = "pooled", 0.0
    if len(evidence.blocks) == 1:
        frequencies, method, gap = _most_likely(evidence, bool(identified.all()))
        misfit = not _fits(evidence, 0, frequencies)
    else:
        frequencies = onto_simplex(linear.reshape(-1)).reshape(linear.shape)
        misfit = not by_outcome and _misfit_in_a_block(evidence)
    if misfit:
        warnings.warn(
            "The outcomes do not fit these mechanisms: whatever the true table is, they give such counts less than "
            "once in 10⁹ times. The columns were released by others, not independently of each other, or changed "
            "since. Do not use the estimate.",
            LeakwiseWarning,
            stacklevel=5,
        )
    error = np.where(identified, np.sqrt(np.maximum(evidence.cell_variance, 0.0)), np.nan)
    low, high = cell_intervals(evidence, linear, frequencies, error, confidence, claims)
    low, high = np.minimum(low, frequencies), np.maximum(high, frequencies)
    if not identified.all():
        low = np.where(identified, low, 0.0)
        high = np.where(identified, high, _largest(evidence, masks, confidence))
    return Fit(frequencies, error, np.stack((low, high), axis=-1), identified, method, gap, gap <= GAP)


def _most_likely(evidence: Evidence, identified: bool) -> tuple[Floats, str, float]:
    block = evidence.blocks[0]
    laws = evidence.laws(block)
    weights = evidence.tables()[0] / evidence.total_weight
    linear = evidence.linear
    square = all(law.shape[0] == law.shape[1] for law in laws)
    if square and identified and (linear >= 0).all():
        table = linear / linear.sum()
        gap = table_gap(weights, laws, table)
        if gap <= 1e-12:
            return table, "inverse", gap
    found = most_likely_table(weights, laws, linear)
    return found.proportions, "maximum_likelihood", found.gap


def _largest(evidence: Evidence, masks: Sequence[Sequence[Bools]], confidence: float) -> Floats:
    """No cell is more frequent than the sums of cells it belongs to: those that are known bound the others."""
    shape = evidence.shape
    bound = np.ones(shape)
    for axis, size in enumerate(shape):
        known = np.flatnonzero(np.logical_and.reduce(list(masks[axis])))
        if not known.size:
            continue
        sums = np.zeros((known.size, *shape))
        np.moveaxis(sums, axis + 1, 1)[np.arange(known.size), known] = 1.0
        spread = np.sqrt(np.maximum(np.diagonal(evidence.covariance(sums)), 0.0))
        reach = critical_value(confidence, evidence.design.degrees if evidence.design else None, size)
        most = np.ones(size)
        most[known] = np.clip(evidence.estimates(sums) + reach * np.nan_to_num(spread), 0.0, 1.0)
        bound = np.minimum(bound, most.reshape([-1 if at == axis else 1 for at in range(len(shape))]))
    return bound


def _fits(evidence: Evidence, place: int, frequencies: Floats) -> bool:
    """Whether the outcomes of a block can come from its mechanisms, at the most likely table of it."""
    if evidence.design is not None:
        return True  # weighted counts are not those of a multinomial
    laws = evidence.laws(evidence.blocks[place])
    counts = np.rint(evidence.tables()[place]).astype(np.int64)
    possible = reduce(np.logical_and.outer, [(law > 0).any(axis=0) for law in laws])
    return fits(counts.reshape(-1), along(frequencies, laws).reshape(-1), int(np.sum(possible)))


def _misfit_in_a_block(evidence: Evidence) -> bool:
    """Whether the rows of one of the largest blocks cannot come from its mechanisms."""
    if evidence.design is not None:
        return False
    tables = evidence.tables()
    largest = sorted(range(len(tables)), key=lambda place: -float(tables[place].sum()))[:_TESTED]
    for place in largest:
        rows = float(tables[place].sum())
        if rows:
            block = evidence.blocks[place]
            start = along(tables[place] / rows, evidence.undo(block))
            found = most_likely_table(tables[place] / rows, evidence.laws(block), start)
            if not _fits(evidence, place, found.proportions):
                return True
    return False
