"""What a search for the best mechanism on a query answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leakwise.charts.shown import Parts, Shown, Table
from leakwise.charts.table import number
from leakwise.guarantee import at_least, at_most
from leakwise.records.queries.channel import Channel

__all__ = ["RecordDesign"]


@dataclass(frozen=True, eq=False, repr=False)
class RecordDesign(Shown):
    """A mechanism and how far it may be from the best.

    Attributes
    ----------
    value
        What the mechanism is proven to reach (leakage or distortion, rounded up).
    bound
        No mechanism does better (rounded down).
    channel
        The mechanism.
    leakage, distortion
        Its leakage (a proven upper bound where ``method`` is not alternating) and its expected distortion.
    closed
        Whether value - bound came within the tolerance asked for.
    certificate
        None: the lists of cuts and of boxes that prove both sides are not kept; the same call makes them again.
    """

    value: float
    bound: float
    channel: Channel
    leakage: float
    distortion: float
    entropy: float
    method: str
    closed: bool
    question: str
    goal: str
    certificate: None = None

    @property
    def gap(self) -> float:
        """value - bound, never negative."""
        return max(0.0, self.value - self.bound)

    @property
    def mechanism(self) -> Channel:
        """The mechanism (the same as ``channel``)."""
        return self.channel

    def _shown(self) -> Parts:
        rows = [
            [f"least {self.goal}, at most", at_most(self.value, 6)],
            [f"least {self.goal}, at least", at_least(self.bound, 6)],
            ["gap", number(self.gap, 2) + ("" if self.closed else " (not closed)")],
            ["leakage (nats)", at_most(self.leakage, 6)],
            ["distortion", number(self.distortion, 6)],
            ["adversary's entropy, at least", f"{at_most(self.entropy, 6)} nats"],
        ]
        headers = ["", f"{self.channel.query.name}, {self.question}"]
        return [Table(headers, rows), f"Found by {self.method}.", self.channel]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "query": self.channel.query.name,
            "question": self.question,
            "goal": self.goal,
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "closed": self.closed,
            "leakage": self.leakage,
            "distortion": self.distortion,
            "entropy": self.entropy,
            "method": self.method,
            "states": list(self.channel.space.names),
            "outputs": [o if isinstance(o, int | float | str | bool) else str(o) for o in self.channel.outputs],
            "rows": self.channel.rows.tolist(),
        }
