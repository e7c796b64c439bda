"""Events that tell inputs apart, chosen on one part of the answers so that another part can test them.

A lower bound on leakage needs one good event, not all probabilities: for a set E of outcomes and inputs x, x',
log P(E|x) - log P(E|x') is at most the LDP ε, and log P(E|x) - log Σ π P(E|·) at most the PML ε, since an event is a
post-processing. For maximal leakage, Σ_x P(E_x|x) is at most e^𝓛 for disjoint events E_x (a guess for each outcome).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leakwise.priors.binomial import lower_bounds, upper_bounds
from leakwise.types import Counts, Floats

__all__ = ["Candidate", "guesses", "ldp_candidates", "maximal_lower", "pml_candidates", "tested_ldp", "tested_pml"]


CANDIDATES = 8  # events that are tested on the second part; the failure is shared among them


@dataclass(frozen=True)
class Candidate:
    """Outcomes, the input that makes them likely, and for LDP the one that does not."""

    outcomes: tuple[int, ...]
    input: int
    other: int | None = None


def ldp_candidates(table: Counts) -> list[Candidate]:
    """Return the pairs of inputs and sets of outcomes with the largest ratio, as far as so many answers can tell."""
    totals = table.sum(axis=1)
    found: list[tuple[float, Candidate]] = []
    for x in range(len(table)):
        for other in range(len(table)):
            if x != other:
                order = np.argsort(-np.log((table[x] + 0.5) / (table[other] + 0.5)), kind="stable")
                ours, theirs = np.cumsum(table[x][order]), np.cumsum(table[other][order])
                worth = np.log(_low(ours, totals[x])) - np.log(_high(theirs, totals[other]))
                best = int(worth.argmax())
                found.append((float(worth[best]), Candidate(tuple(order[: best + 1].tolist()), x, other)))
    return _first(found)


def pml_candidates(table: Counts, pi: Floats) -> list[Candidate]:
    """Return the inputs and sets of outcomes with the largest lift."""
    totals = table.sum(axis=1)
    shares = (table + 0.5 / table.shape[1]) / (totals + 0.5)[:, None]
    law = pi @ shares
    found: list[tuple[float, Candidate]] = []
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


def _first(found: list[tuple[float, Candidate]]) -> list[Candidate]:
    return [one for _, one in sorted(found, key=lambda pair: -pair[0])[:CANDIDATES]]


def _low(successes: Counts, trials: int) -> Floats:
    """About where a lower bound will be; only for choosing."""
    share = successes / trials
    return np.asarray(np.maximum(share - 3 * np.sqrt((share * (1 - share) + 1 / trials) / trials), 1e-300))


def _high(successes: Counts, trials: int) -> Floats:
    share = successes / trials
    return np.asarray(share + 3 * np.sqrt((share * (1 - share) + 1 / trials) / trials) + 3 / trials)


def tested_ldp(candidate: Candidate, table: Counts, log_level: float) -> float:
    """Return log P(E|x)/P(E|x') from below, wrong with probability at most e^{log_level}."""
    assert candidate.other is not None
    chosen, half = list(candidate.outcomes), log_level - math.log(2)
    ours, theirs = table[candidate.input], table[candidate.other]
    low = float(lower_bounds(int(ours[chosen].sum()), int(ours.sum()), half))
    high = float(upper_bounds(int(theirs[chosen].sum()), int(theirs.sum()), half))
    return _log_ratio(low, high)


def tested_pml(candidate: Candidate, table: Counts, pi: Floats, log_level: float) -> float:
    """Return log P(E|x)/P(E) from below, wrong with probability at most e^{log_level}."""
    chosen, x = list(candidate.outcomes), candidate.input
    seen = np.flatnonzero(pi > 0)
    each = log_level - math.log(len(seen))
    low = float(lower_bounds(int(table[x][chosen].sum()), int(table[x].sum()), each))
    rest = sum(
        pi[z] * float(upper_bounds(int(table[z][chosen].sum()), int(table[z].sum()), each)) for z in seen if z != x
    )
    # p / (πp + rest) grows with p.
    return _log_ratio(low, (pi[x] * low + rest) * (1 + 2.0**-45))


def guesses(table: Counts) -> Counts:
    """For each outcome the input that most likely gave it."""
    totals = table.sum(axis=1, keepdims=True)
    return np.asarray((table / totals).argmax(axis=0), dtype=np.int64)


def maximal_lower(chosen: Counts, table: Counts, log_level: float) -> float:
    """log Σ_x P(E_x|x) from below for the guesses, wrong with probability at most e^{log_level}; never below 0."""
    used: Sequence[int] = np.unique(chosen).tolist()
    each = log_level - math.log(len(used))
    total = sum(float(lower_bounds(int(table[x][chosen == x].sum()), int(table[x].sum()), each)) for x in used)
    return max(0.0, math.log(total) * (1 - 2.0**-45) - 2.0**-45) if total > 0 else 0.0


def _log_ratio(low: float, high: float) -> float:
    if low <= 0 or high <= 0:
        return 0.0 if low <= 0 else math.inf
    return max(0.0, math.log(low / high) - 2.0**-45)
