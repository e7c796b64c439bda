"""What the questions about records answer: numbers with both sides, the adversary in words, and curves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leakwise.charts.render import to_altair
from leakwise.charts.specs import lines
from leakwise.charts.table import html_table, number, text_table
from leakwise.types import Floats

__all__ = ["Adversary", "Curve", "RecordLeakage"]


@dataclass(frozen=True, eq=False)
class Adversary:
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
            told = ", ".join(f"{kind} ({100 * p:.3g} %)" for p, kind in likely)
            parts.append(f"record {self.record} is {value!r} with probability {total:.4g}, and then {told}")
        return f"The adversary, whose uncertainty is {self.entropy:.4f} nats, believes: " + "; ".join(parts) + "."

    def __repr__(self) -> str:
        body = [[str(v), kind, f"{m:.4g}" if m < 10**6 else f"{float_text(m)}", p] for v, kind, m, p in self.entries]
        table = text_table([f"record {self.record}", "others", "datasets in the class", "probability"], body)
        return self.sentence + "\n" + table

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
class RecordLeakage:
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

    def _rows(self) -> list[list[str]]:
        return [
            ["leakage, at least", f"{number(self.value, 6)} nats"],
            ["leakage, at most", f"{number(self.bound, 6)} nats"],
            ["gap", number(self.gap, 2) + ("" if self.closed else " (not closed)")],
            [
                "worst record",
                f"{self.record}" + (f" (and {len(self.alike) - 1:,} alike)" if len(self.alike) > 1 else ""),
            ],
            ["adversary's entropy, at least", f"{number(self.entropy, 4)} nats"],
        ]

    def _words(self) -> str:
        still = "" if self.closed else " The gap was not closed: both sides hold, the truth is between them."
        return f"Found by {self.method}.{still} {self.adversary.sentence}"

    def __repr__(self) -> str:
        return text_table(["", self.about], self._rows()) + "\n" + self._words()

    def _repr_html_(self) -> str:
        return html_table(["", self.about], self._rows(), caption=self._words())

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
class Curve:
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

    def __repr__(self) -> str:
        body = [[float(a), float(b), float(c)] for a, b, c in zip(self.x, self.value, self.bound, strict=True)]
        return text_table([self.x_title, "value", "bound"], body, title=self.title, digits=6)

    def _repr_html_(self) -> str:
        body = [[float(a), float(b), float(c)] for a, b, c in zip(self.x, self.value, self.bound, strict=True)]
        return html_table([self.x_title, "value", "bound"], body, caption=self.title, digits=6)

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

    def plot(self) -> Any:
        """The picture of :meth:`chart` (altair)."""
        return to_altair(self.chart())

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"title": self.title, "x": self.x.tolist(), "value": self.value.tolist(), "bound": self.bound.tolist()}
