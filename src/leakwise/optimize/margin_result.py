"""The result of a design from margins: the least lift, what is known how accurately, and the mechanism."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leakwise.charts.shown import Parts, Table
from leakwise.charts.words import Kept
from leakwise.guarantee import at_least, at_most
from leakwise.optimize.design_result import Design
from leakwise.optimize.problem.margins import Margins
from leakwise.optimize.stratified_result import StratifiedDesign

__all__ = ["MarginDesign", "StratifiedMarginDesign"]


def _digits(lift: float) -> int:
    """How many digits tell a lift from those that are smaller by a thousandth of what it has above 1."""
    return 5 + max(0, -math.floor(math.log10(max(lift - 1, 1e-12))) - 1)


def _proven(lower: float, lift: float) -> str:
    return at_least(lower, _digits(lift)) if lower > 1 else "not proven"


@dataclass(frozen=True, repr=False)
class MarginDesign(Design):
    """The mechanism of least lift that meets the margins; see :class:`Design` for what it shares with others.

    Attributes
    ----------
    value
        The least lift that was found.
    bound
        The lower bound: no lift up to it suffices, proven by the certificate; 1 where nothing is proven.
    margins
        What is to be known, and how accurately.
    """

    margins: Margins

    @property
    def lift(self) -> float:
        """The least lift with which the margins are met."""
        return self.value

    @property
    def gap(self) -> float:
        """How far the lift may be from the least one."""
        return max(0.0, self.value - self.bound)

    @property
    def half_widths(self) -> dict[str, float]:
        """The half-width of the 95% interval of each thing that is to be known, from so many rows, rounded up."""
        found = self.margins.half_widths(self.mechanism, self.prior.nominal)
        return {one.name: width for one, width in zip(self.margins.margins, found, strict=True) if one.stated}

    @property
    def sentence(self) -> str:
        """What was found, in words."""
        digits = _digits(self.value)
        less = f"no lift up to {at_least(self.bound, digits)} suffices"
        less = less if self.bound > 1 else "whether less suffices is not proven"
        return (
            f"A lift of {at_most(self.value, digits)} is enough for every margin (95% intervals from "
            f"{self.margins.rows:,} rows); {less}."
        )

    def _rows(self) -> list[list[str]]:
        return [
            ["least lift", at_most(self.value, _digits(self.value))],
            ["no lift suffices up to", _proven(self.bound, self.value)],
            ["asked", self.constraint],
            ["proven ε (nats, rounded up)", at_most(self.epsilon, 6)],
            ["outcomes", self._outcomes()],
            ["method", self.method],
        ]

    def _shown(self) -> Parts:
        asked = {one.name: one.half_width for one in self.margins.margins}
        known = [[name, at_most(asked[name]), at_most(width, 3)] for name, width in self.half_widths.items()]
        return [
            Table(["", "design"], self._rows(), Kept(f"{self.sentence} {self.certificate.sentence}")),
            Table(["to be known", "margin", "95% interval ±"], known),
            self.mechanism,
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the numbers, the certificate and the mechanism."""
        told = super().to_dict()
        asked = {one.name: one.half_width for one in self.margins.margins}
        margins = [{"name": name, "margin": asked[name], "half_width": w} for name, w in self.half_widths.items()]
        return {"lift": self.lift, "rows": self.margins.rows, "margins": margins, **told}


@dataclass(frozen=True, repr=False)
class StratifiedMarginDesign(StratifiedDesign):
    """The mechanisms of least lift that meet the margins; see :class:`StratifiedDesign` for what it shares with others.

    Attributes
    ----------
    lift
        The least lift that was found.
    lower
        No lift up to it suffices; 1 where nothing is proven. It follows from the search, not from the certificate.
    half_widths
        The half-width of the 95% interval of each thing that is to be known, rounded up.
    margins
        What is to be known, and how accurately.
    """

    lift: float = 1.0
    lower: float = 1.0
    half_widths: Mapping[str, float] = field(default_factory=dict)
    margins: Margins | None = None

    @property
    def value(self) -> float:
        """The least lift that was found."""
        return self.lift

    @property
    def bound(self) -> float:
        """The same as :attr:`lower`."""
        return self.lower

    @property
    def gap(self) -> float:
        """How far the lift may be from the least one."""
        return max(0.0, self.lift - self.lower)

    def _shown(self) -> Parts:
        rows = [
            ["least lift", at_most(self.lift, _digits(self.lift))],
            ["no lift suffices up to", _proven(self.lower, self.lift)],
            ["asked", self.constraint],
            ["proven ε in every stratum (nats)", at_most(self.epsilon, 6)],
            ["strata", f"{len(self.strata):,}"],
        ]
        known = [[name, at_most(width, 3)] for name, width in self.half_widths.items()]
        return [
            Table(["", "design"], rows, Kept(self.certificate.sentence), align="ll"),
            Table(["to be known", "95% interval ±"], known),
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"lift": self.lift, "lower": self.lower, "half_widths": dict(self.half_widths), **super().to_dict()}
