"""The extreme columns under an envelope, for given weights w and for all weights of a box.

A column is a lift vector λ with r = 1 - s ≤ 1, the share of it that is sure: λ_x ≤ t - w_x r for every letter. On an
extreme one either r = 1, and all lifts but one are at 0 or at their top t - w_x; or r < 1, and all are at 0 or at
t - w_x r: a set of letters, which determines r. Weights from a box allow at most what the smallest allow where r ≥ 0,
and what the largest allow where r ≤ 0: two polytopes, whose vertices are such columns too, and those with r = 0.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from leakwise.types import Bools, Floats

__all__ = ["SureColumns", "allowed_by_box", "allowed_by_weights"]

_CLOSE = 1e-13


@dataclass(frozen=True)
class SureColumns:
    """Lift vectors (N × n), and the share of each that is sure."""

    lifts: Floats
    sure: Floats

    def joined(self, *others: SureColumns) -> SureColumns:
        """Return these and others."""
        every = (self, *others)
        lifts, sure = [one.lifts for one in every], [one.sure for one in every]
        return SureColumns(np.concatenate(lifts, axis=1), np.concatenate(sure))


def allowed_by_weights(p: Floats, t: float, weights: Floats) -> SureColumns:
    """Return every extreme column for weights w with π·w ≤ t - 1 and w ≤ t."""
    return _slice(p, t - weights, 1.0).joined(_sets(p, t, weights, -np.inf, 1.0))


def allowed_by_box(p: Floats, t: float, low: Floats, high: Floats) -> SureColumns:
    """Return columns of which every mechanism is made that keeps the envelope by some weights between two."""
    sure, half = _slice(p, t - low, 1.0), _slice(p, np.full(len(p), t), 0.0)
    return sure.joined(half, _sets(p, t, low, 0.0, 1.0), _sets(p, t, high, -np.inf, 0.0))


@functools.cache
def _subsets(size: int) -> Bools:
    every: Bools = ((np.arange(2**size)[None, :] >> np.arange(size)[:, None]) & 1).astype(bool)
    return every


def _slice(p: Floats, tops: Floats, sure: float) -> SureColumns:
    """The vertices of 0 ≤ λ ≤ tops with π·λ = 1: all but one at an end."""
    raised = _subsets(len(p))
    rest = 1 - (p * tops) @ raised
    found = []
    for free, (mass, top) in enumerate(zip(p.tolist(), tops.tolist(), strict=True)):
        lift = rest / mass
        chosen = ~raised[free] & (lift >= -_CLOSE) & (lift <= top + _CLOSE)
        columns = np.where(raised[:, chosen], tops[:, None], 0.0)
        columns[free] = np.clip(lift[chosen], 0.0, max(top, 0.0))
        found.append(columns)
    lifts = np.concatenate(found, axis=1)
    return SureColumns(lifts, np.full(lifts.shape[1], sure))


def _sets(p: Floats, t: float, weights: Floats, least: float, most: float) -> SureColumns:
    """The columns t - w_x r on a set of letters and 0 off it, for the sets whose r is between two numbers."""
    raised = _subsets(len(p))[:, 1:]
    slope, room = (p * weights) @ raised, t * (p @ raised) - 1
    chosen = slope > 0
    raised, sure = raised[:, chosen], room[chosen] / slope[chosen]
    chosen = (sure >= least) & (sure < most)
    raised, sure = raised[:, chosen], sure[chosen]
    return SureColumns(np.where(raised, np.maximum(t - weights[:, None] * sure, 0.0), 0.0), sure)
