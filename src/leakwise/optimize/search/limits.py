"""What every search shares: limits, progress, and what it hands back."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from leakwise.errors import NotConverged
from leakwise.types import Floats, Indices

__all__ = ["Answer", "Found", "Limits", "Progress"]

Progress = Callable[[str, float, float], None]
"""Called with what is being done, the best value so far and the best bound so far."""

now = time.monotonic  # by a name of its own, so that a test can put another clock in its place


@dataclass
class Limits:
    """How exact, how long, and whom to tell: one deadline that every stage of a design is handed."""

    tolerance: float = 1e-11
    seconds: float | None = None
    progress: Progress | None = None
    started: float = field(default_factory=lambda: now())
    stopped: bool = False  # whether a stage was cut short
    outcomes: int | None = None  # at most so many, where a search chooses their number
    rough: bool = False  # a step on the way to a design: near the optimum will do, and nobody asks how near

    @property
    def exhausted(self) -> bool:
        """Whether the time is up."""
        return self.seconds is not None and now() - self.started > self.seconds

    @property
    def remaining(self) -> float | None:
        """The seconds left, at least a thousandth; None without a limit."""
        return None if self.seconds is None else max(1e-3, self.seconds - (now() - self.started))

    def until(self, share: float) -> Limits:
        """Return the same clock, stopped at a share of the time: what comes after a search takes time as well."""
        return replace(self, seconds=None if self.seconds is None else share * self.seconds)

    def part(self, share: float, most: float | None = None) -> Limits:
        """Return a share of the time that is left, and no more than ``most`` seconds, for a stage that tells nobody."""
        left = [most] if self.remaining is None else [share * self.remaining, most]
        seconds = min((end for end in left if end is not None), default=None)
        return Limits(self.tolerance, seconds, outcomes=self.outcomes, rough=self.rough)

    def check(self) -> None:
        """Raise NotConverged when the time is up: where a stage has nothing to show before its end."""
        if self.exhausted:
            raise self.over()

    def over(self) -> NotConverged:
        """Return the error of a stage that ended without an answer."""
        self.stopped = True
        told = "" if self.seconds is None else f"within {self.seconds:g} s "
        return NotConverged(f"no answer was found {told}by this stage.", lower=-math.inf, upper=math.inf)

    def tell(self, stage: str, value: float, bound: float) -> None:
        """Report progress to whoever asked for it."""
        if self.progress is not None:
            self.progress(stage, value, bound)


@dataclass(frozen=True)
class Found:
    """Columns with weights, and the dual vector with the largest reduced cost that it leaves.

    The optimum is at most Σ y + ``largest``; ``proof`` says how that was shown: ``windows`` (all vertices that matter
    were listed), ``chord`` (the chord bound), ``linear`` (a linear functional was maximised), ``vertices`` (all
    listed), ``ranges`` (all sets of letters listed, or intervals of the least lift).
    """

    lifts: Floats  # N × R
    weights: Floats  # R
    duals: Floats  # N
    largest: float
    proof: str
    labels: Indices | None = None  # for labelled utilities: which output each column stands for
    stopped: bool = False  # by the time limit
    inner: Callable[[], tuple[Floats, Floats] | None] | None = None  # finds the same for a slightly smaller cone
    proven: float | None = None  # the bound itself, where it is not of the form Σ y + largest
    root: Floats | None = None  # for frequencies: a matrix close to J⁻¹ that proves the bound with the duals
    multipliers: Floats | None = None  # and those of a looser bound that needs no list of the vertices

    @property
    def bound(self) -> float:
        """The proven bound, rounded up."""
        if self.proven is not None:
            return self.proven
        size = float(np.abs(self.duals).sum())
        return float(self.duals.sum()) + max(self.largest, 0.0) + size * (len(self.duals) + 4) * 2.0**-52


@dataclass(frozen=True)
class Answer:
    """What a search found, and how in words."""

    found: Found
    how: str
