"""What a trade-off returns: a curve with its bound, and two simpler mechanisms beside it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import lines
from leakwise.charts.table import number
from leakwise.errors import require
from leakwise.optimize.design_result import Design
from leakwise.priors import Prior
from leakwise.types import Floats

if TYPE_CHECKING:
    import pandas

__all__ = ["Tradeoff"]


_SHOWN = 48
_WORDS = {
    "mutual_information": "mutual information (nats)",
    "total_variation": "total variation",
    "chi_square": "χ² information",
    "hellinger": "Hellinger information",
    "guessing": "probability of guessing right",
    "frequencies": "standard error of the frequencies, per row",
}


@dataclass(frozen=True, eq=False, repr=False)
class Tradeoff(Drawn):
    """The optimal utility as a function of the leakage bound.

    Attributes
    ----------
    epsilons
        The bounds, in nats.
    designs
        The optimal mechanism at each of them, with its certificate.
    randomized_response
        What randomized response of the same PML reaches.
    ldp
        What the optimal ε-LDP mechanism reaches; None for more letters than are compared.
    regions
        The borders ε_0 = 0, ε_1, … of the privacy regions.
    utility
        The name of the utility.
    """

    epsilons: Floats
    designs: tuple[Design, ...]
    randomized_response: Floats
    ldp: Floats | None
    regions: Floats
    utility: str
    prior: Prior

    @property
    def values(self) -> Floats:
        """The utility reached at each ε, rounded down."""
        return np.array([design.value for design in self.designs])

    @property
    def bounds(self) -> Floats:
        """What no mechanism beats at each ε, rounded up."""
        return np.array([design.bound for design in self.designs])

    @property
    def gaps(self) -> Floats:
        """How far each value may be from the optimum."""
        return np.array([design.gap for design in self.designs])

    def __len__(self) -> int:
        return len(self.epsilons)

    def _columns(self) -> dict[str, list[Any]]:
        columns: dict[str, list[Any]] = {
            "epsilon": self.epsilons.tolist(),
            "region": [self.prior.region(epsilon) for epsilon in self.epsilons.tolist()],
            "value": self.values.tolist(),
            "bound": self.bounds.tolist(),
            "gap": self.gaps.tolist(),
            "randomized_response": self.randomized_response.tolist(),
        }
        if self.ldp is not None:
            columns["ldp"] = self.ldp.tolist()
        return columns | {"method": [design.method for design in self.designs]}

    def _shown(self) -> Parts:
        names = {
            "epsilon": "ε (nats)",
            "randomized_response": "randomized response",
            "ldp": "best ε-LDP",
        }
        columns = {name: cells for name, cells in self._columns().items() if name not in ("bound", "method")}
        headers = [names.get(name, name) for name in columns]
        rows = [
            [number(cell, 2 if name == "gap" else 4) for name, cell in zip(columns, cells, strict=True)]
            for cells in zip(*columns.values(), strict=True)
        ]
        title = f"{self.utility} against leakage for {len(self.prior):,} values"
        return [Table(headers, rows, title, max_rows=_SHOWN), self._sentence()]

    def _sentence(self) -> str:
        """One point of the curve in words, from its middle."""
        middle = len(self) // 2
        value, simple = float(self.values[middle]), float(self.randomized_response[middle])
        words = f"At ε = {number(float(self.epsilons[middle]))}: best {number(value)}"
        if not math.isfinite(simple):
            return f"{words}."
        return f"{words}, randomized response of the same leakage {number(simple)}."

    def chart(self) -> dict[str, Any]:
        """A Vega-Lite picture: the optimum, the two comparisons, the privacy regions.

        For ``frequencies`` it shows the standard error √(-U) of one row, on a logarithmic axis.
        """
        statistical = self.utility == "frequencies"
        curves: dict[str, Iterable[float]] = {
            "optimal for ε-PML": self.values,
            "randomized response, same PML": self.randomized_response,
        }
        if self.ldp is not None:
            curves["optimal for ε-LDP"] = self.ldp
        shown = {name: [_drawn(value, statistical) for value in values] for name, values in curves.items()}
        missing = any(value is None for values in shown.values() for value in values)
        note = "A gap: the frequencies cannot be recovered there." if statistical else "A gap: not computed."
        return lines(
            {name: (self.epsilons, values) for name, values in shown.items()},
            title="What a leakage bound allows",
            x_title="ε (nats)",
            y_title=_WORDS.get(self.utility, self.utility),
            rules=[
                (float(border), f"ε{_subscript(place)}")
                for place, border in enumerate(self.regions[1:], 1)
                if border <= self.epsilons.max()
            ],
            y_log=statistical,
            note=note if missing else None,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the points of the curve, and the borders of the regions."""
        return {"utility": self.utility, "regions": self.regions.tolist(), **self._columns()}

    def to_pandas(self) -> pandas.DataFrame:
        """Return one row for each ε."""
        pandas = require("pandas", extra="data", purpose="A trade-off as a data frame")
        return pandas.DataFrame(self._columns())


def _drawn(value: float, statistical: bool) -> float | None:
    if statistical:
        return math.sqrt(-value) if math.isfinite(value) and value < 0 else None
    return value if math.isfinite(value) else None


def _subscript(number: int) -> str:
    return "".join("₀₁₂₃₄₅₆₇₈₉"[int(digit)] for digit in str(number))
