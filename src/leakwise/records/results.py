"""What the questions about records answer: numbers with both sides, the adversary in words, and curves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from leakwise.charts.shown import Drawn, Parts, Shown, Table
from leakwise.charts.specs import lines
from leakwise.charts.table import number
from leakwise.charts.words import Kept
from leakwise.errors import label_text
from leakwise.guarantee import at_least, at_most, lift_above
from leakwise.proof import PointwiseRecordCertificate, RecordInformationCertificate
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
    min_entropy
        -log max p(x) of its belief, in nats, where that is what is bounded.
    """

    record: int
    entries: tuple[tuple[Any, str, int, float], ...]
    entropy: float
    min_entropy: float | None = None

    @property
    def sentence(self) -> str:
        """What it knows, in words."""
        by_value: dict[Any, list[tuple[float, str]]] = {}
        for value, kind, _, p in self.entries:
            by_value.setdefault(value, []).append((p, kind))
        parts = []
        for value, kinds in by_value.items():
            total = sum(p for p, _ in kinds)
            if total < 5e-7 and self.min_entropy is None:
                continue
            likely = sorted(((p / total, kind) for p, kind in kinds if p > 5e-7 * total), reverse=True)[:3]
            told = ", ".join(f"{kind} ({100 * p:.3g}%)" for p, kind in likely)
            parts.append(f"record {self.record} is {value!r} with probability {total:.4g}, and then {told}")
        known = (
            f"uncertainty is {self.entropy:.4f}"
            if self.min_entropy is None
            else f"min-entropy is {self.min_entropy:.4f}"
        )
        return f"The adversary, whose {known} nats, believes: " + "; ".join(parts) + "."

    def _shown(self) -> Parts:
        rows = [[str(v), kind, f"{m:.4g}" if m < 10**6 else f"{float_text(m)}", p] for v, kind, m, p in self.entries]
        headers = [f"record {self.record}", "others", "datasets in the class", "probability"]
        return [self.sentence, Table(headers, rows)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        entries = [
            {
                "value": plain_label(v),
                "others": kind,
                "datasets": str(m),
                "probability": p,
            }
            for v, kind, m, p in self.entries
        ]
        least = {} if self.min_entropy is None else {"min_entropy": self.min_entropy}
        return {"record": self.record, "entropy": self.entropy, **least, "sentence": self.sentence, "classes": entries}


def plain_label(label: Any) -> Any:
    """Return a value of a record or an outcome as plain data."""
    return label if isinstance(label, int | float | str | bool) else str(label)


def float_text(m: int) -> str:
    """Return a whole number of any size, roughly."""
    digits = str(m) if m < 10**300 else None
    if digits is None:
        return f"2^{m.bit_length() - 1}…"
    return f"{float(m):.3g}"


@dataclass(frozen=True, eq=False, repr=False)
class RecordLeakage(Shown):
    """What a mechanism tells about one record, at most, to adversaries of bounded knowledge.

    The largest I(X_i; Y) over the records and over adversaries with H(X) ≥ b; or, for ``measure="pointwise"``, the
    largest log P(y | x_i) / P(y) over the records, their values, the outcomes, and adversaries with p(x) ≤ e^{-b}.

    Attributes
    ----------
    value
        Reached by ``adversary`` (rounded down): the leakage is at least this.
    bound
        No adversary learns more (rounded up).
    entropy
        b, in nats: the least entropy of the adversary, or the least min-entropy.
    record
        The record that leaks most (the first of those that are alike, numbered from 0).
    adversary
        Who learns it.
    method
        How it was found.
    closed
        Whether bound - value came within the tolerance asked for. When it did not, both sides hold all the same.
    boxes
        How many boxes (of posteriors, or of laws of the answer) were bounded.
    certificate
        The proof of the bound, which ``verify`` checks: for the pointwise measure always (None: there is no bound),
        else the whole tree of boxes where ``certificate=True`` asked for it.
    measure
        ``"mutual_information"`` or ``"pointwise"``.
    outcome, letter
        For the pointwise measure: the outcome that tells most, and the value of the record that it speaks for.
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
    certificate: PointwiseRecordCertificate | RecordInformationCertificate | None = None
    measure: str = "mutual_information"
    outcome: Any = None
    letter: Any = None

    @property
    def gap(self) -> float:
        """bound - value, never negative."""
        return 0.0 if self.bound == self.value else max(0.0, self.bound - self.value)

    @property
    def pointwise(self) -> bool:
        """Whether every answer counts, not an average over them."""
        return self.measure == "pointwise"

    def _shown(self) -> Parts:
        rows = [
            ["leakage, at least", f"{at_least(self.value, 6)} nats"],
            ["leakage, at most", f"{at_most(self.bound, 6)} nats"],
            ["gap", number(self.gap, 2) + ("" if self.closed else " (not closed)")],
            [
                "worst record",
                f"{self.record}" + (f" (and {len(self.alike) - 1:,} alike)" if len(self.alike) > 1 else ""),
            ],
            [f"adversary's {'min-' * self.pointwise}entropy, at least", f"{at_most(self.entropy, 6)} nats"],
        ]
        if self.pointwise:
            rows.append(["at outcome", label_text(self.outcome)])
            rows.append(["by value", label_text(self.letter)])
        return [Kept(self.sentence), Table(["", self.about], rows), self._words()]

    @property
    def sentence(self) -> str:
        """The bound in words."""
        if self.pointwise:
            lift = at_most(lift_above(self.bound))
            return (
                f"No answer makes a guess about a record more than {lift} times as likely (a leakage of "
                f"{at_most(self.bound, 6)} nats), for anyone whose min-entropy about the dataset is at least "
                f"{at_most(self.entropy, 6)} nats."
            )
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
            "measure": self.measure,
            "value": self.value,
            "bound": self.bound,
            "gap": self.gap,
            "closed": self.closed,
            ("min_entropy" if self.pointwise else "entropy"): self.entropy,
            "record": self.record,
            **({"outcome": plain_label(self.outcome), "letter": plain_label(self.letter)} if self.pointwise else {}),
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
