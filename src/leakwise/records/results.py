"""What the questions about records answer: numbers with both sides, the adversary in words, and curves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leakwise.charts.shown import Drawn, Parts, Shown, Table
from leakwise.charts.specs import lines
from leakwise.charts.table import number
from leakwise.charts.words import Kept
from leakwise.guarantee import at_most
from leakwise.types import Floats

__all__ = ["Adversary", "Curve", "RecordLeakage"]


@dataclass(frozen=True, eq=False, repr=False)
class Adversary(Shown):
    """What the worst adversary believes before seeing the output.

    Attributes
    ----------
    record
        The record it is after (numbered from 0).
    entries
        (value of the record, class of the others, how many datasets of the others are in it, probability). Within a
        class all datasets are equally likely.
    entropy
        H(X) of its belief, in nats.
    """

    record: int
    entries: tuple[tuple[Any, str, int, float], ...]
    entropy: float

    @property
    def sentence(self) -> str:
        """What it knows, in words."""
        by_value: dict[Any, list[tuple[float, str]]] = {}
        for value, kind, _, p in self.entries:
            by_value.setdefault(value, []).append((p, kind))
        parts = []
        for value, kinds in by_value.items():
            total = sum(p for p, _ in kinds)
            if total < 5e-7:
                continue
            likely = sorted(((p / total, kind) for p, kind in kinds if p > 5e-7 * total), reverse=True)[:3]
            told = ", ".join(f"{kind} ({100 * p:.3g}%)" for p, kind in likely)
            parts.append(f"record {self.record} is {value!r} with probability {total:.4g}, and then {told}")
        return f"The adversary, whose uncertainty is {self.entropy:.4f} nats, believes: " + "; ".join(parts) + "."

    def _shown(self) -> Parts:
        rows = [[str(v), kind, f"{m:.4g}" if m < 10**6 else f"{float_text(m)}", p] for v, kind, m, p in self.entries]
        headers = [f"record {self.record}", "others", "datasets in the class", "probability"]
        return [self.sentence, Table(headers, rows)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        entries = [
            {
                "value": v if isinstance(v, int | float | str | bool) else str(v),
                "others": kind,
                "datasets": str(m),
                "probability": p,
            }
            for v, kind, m, p in self.entries
        ]
        return {"record": self.record, "entropy": self.entropy, "sentence": self.sentence, "classes": entries}


def float_text(m: int) -> str:
    """Return a whole number of any size, roughly."""
    digits = str(m) if m < 10**300 else None
    if digits is None:
        return f"2^{m.bit_length() - 1}…"
    return f"{float(m):.3g}"


@dataclass(frozen=True, eq=False, repr=False)
class RecordLeakage(Shown):
    """The largest I(X_i; Y) over the records and over adversaries with H(X) ≥ b.

    Attributes
    ----------
    value
        Reached by ``adversary`` (rounded down): the leakage is at least this.
    bound
        No adversary learns more (rounded up).
    entropy
        b, in nats.
    record
        The record that leaks most (the first of those that are alike, numbered from 0).
    adversary
        Who learns it.
    method
        How it was found.
    closed
        Whether bound - value came within the tolerance asked for. When it did not, both sides hold all the same.
    boxes
        How many boxes of posteriors were bounded.
    certificate
        None: the proof is the whole tree of boxes, which is not kept; the same call makes it again.
    """

    value: float
    bound: float
    entropy: float
    record: int
    alike: tuple[int, ...]
    adversary: Adversary
    method: str
    closed: bool
    boxes: int
    about: str
    belief: Floats = field(default_factory=lambda: np.empty(0))
    certificate: None = None

    @property
    def gap(self) -> float:
        """bound - value, never negative."""
        return max(0.0, self.bound - self.value)

    def _shown(self) -> Parts:
        rows = [
            ["leakage, at least", f"{number(self.value, 6)} nats"],
            ["leakage, at most", f"{number(self.bound, 6)} nats"],
            ["gap", number(self.gap, 2) + ("" if self.closed else " (not closed)")],
            [
                "worst record",
                f"{self.record}" + (f" (and {len(self.alike) - 1:,} alike)" if len(self.alike) > 1 else ""),
            ],
            ["adversary's entropy, at least", f"{number(self.entropy, 4)} nats"],
        ]
        return [Kept(self.sentence), Table(["", self.about], rows), self._words()]

    @property
    def sentence(self) -> str:
        """The bound in words."""
        return (
            f"No adversary whose uncertainty about the dataset is at least {at_most(self.entropy, 6)} nats learns "
            f"more than {at_most(self.bound, 6)} nats about a record, on average (mutual information)."
        )

    def _words(self) -> str:
        still = "" if self.closed else " The gap was not closed: both sides hold, the truth is between them."
        return f"Found by {self.method}.{still} {self.adversary.sentence}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "about": self.about,
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "closed": self.closed,
            "entropy": self.entropy,
            "record": self.record,
            "alike": len(self.alike),
            "method": self.method,
            "boxes": self.boxes,
            "adversary": self.adversary.to_dict(),
        }


@dataclass(frozen=True, eq=False, repr=False)
class Curve(Drawn):
    """A quantity over a grid, both sides.

    Attributes
    ----------
    x, value, bound
        The grid and, for each point, the two sides of the truth.
    results
        The result behind each point.
    """

    x: Floats
    value: Floats
    bound: Floats
    results: tuple[Any, ...]
    title: str
    x_title: str
    y_title: str

    def _shown(self) -> Parts:
        rows = [[float(a), float(b), float(c)] for a, b, c in zip(self.x, self.value, self.bound, strict=True)]
        return [Table([self.x_title, "value", "bound"], rows, self.title, digits=6)]

    def chart(self) -> dict[str, Any]:
        """A Vega-Lite picture: the value, and the band to the bound."""
        low, high = np.minimum(self.value, self.bound), np.maximum(self.value, self.bound)
        return lines(
            {"value": (self.x.tolist(), self.value.tolist())},
            title=self.title,
            x_title=self.x_title,
            y_title=self.y_title,
            bands={"value": (self.x.tolist(), low.tolist(), high.tolist())},
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"title": self.title, "x": self.x.tolist(), "value": self.value.tolist(), "bound": self.bound.tolist()}
