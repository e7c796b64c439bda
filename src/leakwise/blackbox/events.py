"""Events that tell inputs apart, chosen on one part of the answers so that another part can test them.

A lower bound on leakage needs one good event, not all probabilities: for a set E of outcomes and inputs x, x',
log P(E|x) - log P(E|x') is at most the LDP ε, and log P(E|x) - log Σ π P(E|·) at most the PML ε, since an event is a
post-processing. For maximal leakage, Σ_x P(E_x|x) is at most e^𝓛 for disjoint events E_x (a guess for each outcome).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from leakwise.priors.binomial import lower_bounds, upper_bounds
from leakwise.types import Counts, Floats

__all__ = [
    "CANDIDATES",
    "Candidate",
    "Found",
    "guesses",
    "ldp_candidates",
    "maximal_lower",
    "pml_candidates",
    "tested_ldp",
    "tested_pml",
    "worth_of",
]


CANDIDATES = 8  # events of a view that are tested on the second part; the failure is shared among all


@dataclass(frozen=True)
class Candidate:
    """Outcomes of a view, the input that makes them likely, and for LDP the one that does not."""

    outcomes: tuple[int, ...]
    input: int
    other: int | None = None


Found = list[tuple[float, Candidate]]
"""Events and about how much they will show, the best first."""


def ldp_candidates(table: Counts, pair: tuple[int, int] | None = None) -> Found:
    """Return the pairs of inputs and sets of outcomes with the largest ratio, as far as so many answers can tell."""
    totals = table.sum(axis=1)
    found: Found = []
    for x in pair or range(len(table)):
        for other in pair or range(len(table)):
            if x != other:
                order = np.argsort(-np.log((table[x] + 0.5) / (table[other] + 0.5)), kind="stable")
                ours, theirs = np.cumsum(table[x][order]), np.cumsum(table[other][order])
                worth = np.log(_low(ours, totals[x])) - np.log(_high(theirs, totals[other]))
                best = int(worth.argmax())
                found.append((float(worth[best]), Candidate(tuple(order[: best + 1].tolist()), x, other)))
    return _first(found)


def pml_candidates(table: Counts, pi: Floats) -> Found:
    """Return the inputs and sets of outcomes with the largest lift."""
    totals = table.sum(axis=1)
    shares = (table + 0.5 / table.shape[1]) / (totals + 0.5)[:, None]
    law = pi @ shares
    found: Found = []
    for x in np.flatnonzero(pi > 0):
        order = np.argsort(-shares[x] / law, kind="stable")
        ours = _low(np.cumsum(table[x][order]), totals[x])
        rest = sum(
            (pi[z] * _high(np.cumsum(table[z][order]), totals[z]) for z in range(len(pi)) if z != x and pi[z] > 0),
            np.zeros(len(order)),
        )
        worth = np.log(ours) - np.log(pi[x] * ours + rest)
        best = int(worth.argmax())
        found.append((float(worth[best]), Candidate(tuple(order[: best + 1].tolist()), int(x))))
    return _first(found)


def _first(found: Found) -> Found:
    return sorted(found, key=lambda pair: -pair[0])[:CANDIDATES]


def worth_of(successes: Counts, trials: int) -> tuple[Floats, Floats]:
    """About where the lower and the upper bound on a probability will be; only for choosing."""
    return _low(successes, trials), _high(successes, trials)


def _low(successes: Counts, trials: int) -> Floats:
    """About where a lower bound will be; only for choosing."""
    share = successes / trials
    return np.asarray(np.maximum(share - 3 * np.sqrt((share * (1 - share) + 1 / trials) / trials), 1e-300))


def _high(successes: Counts, trials: int) -> Floats:
    share = successes / trials
    return np.asarray(share + 3 * np.sqrt((share * (1 - share) + 1 / trials) / trials) + 3 / trials)


def tested_ldp(candidates: Sequence[Candidate], hits: Counts, totals: Counts, log_level: float) -> Floats:
    """Return log P(E|x)/P(E|x') of each from below, each wrong with probability at most e^{log_level}.

    ``hits`` has a row for each candidate: how many of the ``totals`` of each input were among its outcomes.
    """
    ours = np.array([one.input for one in candidates])
    theirs = np.array([one.input if one.other is None else one.other for one in candidates])
    half, each = log_level - math.log(2), np.arange(len(candidates))
    low = _bounds(lower_bounds, hits[each, ours], totals[ours], half)
    high = _bounds(upper_bounds, hits[each, theirs], totals[theirs], half)
    return _log_ratios(low, high)


def tested_pml(candidates: Sequence[Candidate], hits: Counts, totals: Counts, pi: Floats, log_level: float) -> Floats:
    """Return log P(E|x)/P(E) of each from below, each wrong with probability at most e^{log_level}."""
    ours, each = np.array([one.input for one in candidates]), np.arange(len(candidates))
    seen = np.flatnonzero(pi > 0)
    level = log_level - math.log(len(seen))
    low = _bounds(lower_bounds, hits[each, ours], totals[ours], level)
    highs = _bounds(upper_bounds, hits[:, seen], np.broadcast_to(totals[seen], (len(hits), len(seen))), level)
    rest = np.where(seen == ours[:, None], 0.0, pi[seen] * highs).sum(axis=1)
    # p / (πp + rest) grows with p.
    return _log_ratios(low, (pi[ours] * low + rest) * (1 + 2.0**-45))


def guesses(table: Counts) -> Counts:
    """For each outcome the input that most likely gave it."""
    totals = table.sum(axis=1, keepdims=True)
    return np.asarray((table / totals).argmax(axis=0), dtype=np.int64)


def maximal_lower(chosen: Counts, table: Counts, log_level: float) -> float:
    """log Σ_x P(E_x|x) from below for the guesses, wrong with probability at most e^{log_level}; never below 0."""
    used = np.unique(chosen)
    right = np.array([table[x][chosen == x].sum() for x in used])
    total = float(_bounds(lower_bounds, right, table.sum(axis=1)[used], log_level - math.log(len(used))).sum())
    return max(0.0, math.log(total) * (1 - 2.0**-45) - 2.0**-45) if total > 0 else 0.0


def _bounds(of: Callable[[Counts, int, float], Floats], hits: Counts, totals: Counts, log_level: float) -> Floats:
    """The bounds of many counts, those of equal totals at once."""
    found = np.zeros(hits.shape)
    for total in np.unique(totals).tolist():
        found[totals == total] = of(hits[totals == total], total, log_level)
    return found


def _log_ratios(low: Floats, high: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.where(low <= 0, 0.0, np.maximum(0.0, np.log(np.maximum(low, 1e-300) / high) - 2.0**-45))
