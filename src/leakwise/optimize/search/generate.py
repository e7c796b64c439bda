"""The one loop of column generation: solve the master, price at its duals, add what pays, until nothing does.

A master holds the columns found so far and gives weights and duals; pricing gives columns that would pay at these
duals, and a number above the reduced cost of every column there is. Their sum with the duals bounds the optimum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from leakwise.optimize.search.limits import Limits
from leakwise.optimize.search.master import Master, MasterSolution
from leakwise.types import Floats

__all__ = ["Generated", "Priced", "Proof", "generate"]

_ROUNDS = 400
_FIRST = 1.0  # seconds that the first solve may take at least
_MOST = 200_000  # columns that a master holds: about what fits into memory with its factors


@dataclass(frozen=True)
class Priced:
    """Columns for the master with their worth, and a number above the reduced cost of all columns (∞ if unknown)."""

    worth: Floats
    columns: Floats
    largest: float = np.inf
    how: str = ""
    conclusive: bool = True  # False where looking farther may still find something


@dataclass(frozen=True)
class Proof:
    """Duals, the largest reduced cost that they leave, and how that was shown."""

    duals: Floats
    largest: float = np.inf
    how: str = ""

    @property
    def bound(self) -> float:
        """What no mechanism exceeds."""
        return float(self.duals.sum()) + max(self.largest, 0.0)


@dataclass(frozen=True)
class Generated:
    """The last solution of the master, the best proof on the way, and whether a limit ended the search."""

    solution: MasterSolution
    proof: Proof
    stopped: bool


def generate(
    master: Master,
    price: Callable[[MasterSolution], Priced],
    limits: Limits,
    *,
    rounds: int = _ROUNDS,
    stage: str = "columns",
    proof: Proof | None = None,
    enough: Callable[[float], float] | None = None,
    ended: Callable[[float, float, float, Priced], bool] | None = None,
    longest: float | None = None,
) -> Generated:
    """Return the optimum over the columns that pricing finds.

    Parameters
    ----------
    master, price
        What is solved, and what finds columns at a solution of it.
    limits
        Tolerance, time and whom to tell.
    rounds, stage
        How often at most; what the progress is called.
    proof
        A first one, known without pricing.
    enough
        The gap to stop at, from the bound; the tolerance if left out.
    ended
        Asked after a round with the value before it, the value after it, the bound and what was priced: whether more
        rounds are worth their while.
    longest
        Seconds for one solve of the master after the first.
    """
    # Whatever was found so far deserves a mechanism, also where finding it took all of the time.
    solution = master.solve(None if limits.remaining is None else max(limits.remaining, _FIRST))
    best = Proof(solution.duals) if proof is None else proof
    for _ in range(rounds):
        priced = price(solution)
        if (here := Proof(solution.duals, priced.largest, priced.how)).bound < best.bound:
            best = here
        limits.tell(stage, solution.value, best.bound)
        goal = limits.tolerance if enough is None else enough(best.bound)
        if priced.conclusive and (best.bound - solution.value <= goal or not len(priced.worth)):
            break
        if limits.exhausted or len(solution.weights) > _MOST:
            return Generated(solution, best, True)
        before = solution.value
        master.add(priced.worth, priced.columns)
        seconds = [end for end in (limits.remaining, longest) if end is not None]
        solution = master.solve(min(seconds, default=None))
        if ended is not None and ended(before, solution.value, best.bound, priced):
            break
    return Generated(solution, best, False)
