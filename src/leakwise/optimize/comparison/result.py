"""What a comparison returns: a row for each mechanism, with what it leaks and what it tells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import bars, grouped_bars, vertical
from leakwise.errors import InvalidInput, did_you_mean, require
from leakwise.guarantee import at_least, at_most
from leakwise.mechanism import Mechanism
from leakwise.optimize.comparison.sets import bounded_frequencies
from leakwise.priors import PriorSet

if TYPE_CHECKING:
    import pandas

__all__ = ["Compared", "MechanismComparison"]

_WORDS = {
    "mutual_information": "mutual information (nats)",
    "total_variation": "total variation",
    "chi_square": "χ² information",
    "hellinger": "Hellinger information",
    "guessing": "probability of guessing right",
}
_HEADERS = {"mutual_information": "mutual info"}
_ROWS = "rows needed for the frequencies, relative to the best"
_MOST_ROWS = 100  # times as many: a longer bar would leave nothing to see of the others


@dataclass(frozen=True, eq=False)
class Compared:
    """One mechanism of a comparison; what it leaks in nats, rounded up, what it is worth rounded down.

    Attributes
    ----------
    name, kind, mechanism
        How it is called, whether it is a ``"design"``, of a ``"family"`` or a ``"mechanism"`` as given, and itself.
    parameter
        The ε of the family (or the limit of a design) that was found; None for a mechanism as given.
    epsilon, lift
        The ε of PML for the prior, and e^ε: how many times as likely an outcome can make a guess.
    ldp, maximal_leakage, envelope
        ε of local differential privacy; maximal leakage; the envelope at δ, where it was asked for.
    values
        What it is worth, by utility; None where that would need too large a matrix.
    rows_needed
        How many times as many rows the frequencies need as with the best mechanism of the comparison; infinite where
        they cannot be estimated, None where nobody asked.
    """

    name: str
    kind: str
    mechanism: Mechanism
    parameter: float | None
    epsilon: float
    lift: float
    ldp: float
    maximal_leakage: float
    envelope: float | None
    values: Mapping[str, float | None]
    rows_needed: float | None = None

    @property
    def shown(self) -> str:
        """Its name in tables and pictures, in words where it is ours."""
        return self.name if self.kind == "mechanism" else self.name.replace("_", " ")

    def beside(self, best: float) -> Compared:
        """Return the same row with the rows it needs beside the best value of frequencies."""
        own = self.values.get("frequencies")
        if own is None or not math.isfinite(best):
            return self
        if not best < 0:  # a single value: nothing is to be known
            return replace(self, rows_needed=1.0)
        return replace(self, rows_needed=own / best)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, without the mechanism."""
        names = ("name", "kind", "parameter", "epsilon", "lift", "ldp", "maximal_leakage", "envelope", "rows_needed")
        return {**{name: getattr(self, name) for name in names}, "values": dict(self.values)}


@dataclass(frozen=True, eq=False, repr=False)
class MechanismComparison(Drawn):
    """Mechanisms side by side: what each leaks, and what it tells.

    Attributes
    ----------
    rows
        One :class:`Compared` for each, the best first; ``comparison["name"]`` is the mechanism of one.
    utilities
        The names of the utilities.
    equal, asked
        What families have in common, ``"leakage"`` or ``"utility"``, None where there are none; the same in words.
    bounds
        At equal leakage: for each utility what no mechanism within the limit exceeds, rounded up.
    remarks
        What has to be known beside the figures.
    """

    rows: tuple[Compared, ...]
    utilities: tuple[str, ...]
    equal: str | None
    asked: str
    bounds: Mapping[str, float]
    remarks: tuple[str, ...]
    prior: PriorSet

    def __getitem__(self, name: str) -> Mechanism:
        """The mechanism of a row."""
        known = {row.name: row.mechanism for row in self.rows}
        if name not in known:
            raise InvalidInput(
                f"There is no mechanism {name!r} in this comparison. It has {', '.join(known)}."
                f"{did_you_mean(name, known)}"
            )
        return known[name]

    def __len__(self) -> int:
        return len(self.rows)

    # -- tables -------------------------------------------------------------------------------------------------

    def _shown(self) -> Parts:
        around = any(row.envelope is not None for row in self.rows)
        headers = ["mechanism", "lift", *(["envelope"] if around else ["ε"]), "ε-LDP", "maximal"]
        lines = []
        for row in self.rows:
            leaks = [row.envelope if around else row.epsilon, row.ldp, row.maximal_leakage]
            lines.append([row.shown, at_most(row.lift, 4), *(_up(one) for one in leaks), *self._told(row)])
        for name in self.utilities:
            headers += [_HEADERS.get(name, name.replace("_", " ")), *(["rows"] if name == "frequencies" else [])]
        if self.bounds:
            empty = [""] * 4
            bounds = [self._bound(name) for name in self.utilities]
            lines.append(["upper bound", *empty, *(cell for one in bounds for cell in one)])
        table = Table(headers, lines, f"{self.asked}:", align="l" + "r" * (len(headers) - 1), max_rows=60)
        return [
            table,
            *([self._sentence()] if self._sentence() else []),
            *([list(self.remarks)] if self.remarks else []),
        ]

    def _told(self, row: Compared) -> list[str]:
        cells = []
        for name in self.utilities:
            value = row.values[name]
            cells.append("—" if value is None else at_least(value, 4))
            if name == "frequencies":
                cells.append("—" if row.rows_needed is None else f"×{_times(row.rows_needed)}")
        return cells

    def _bound(self, name: str) -> list[str]:
        text = at_most(self.bounds[name], 4) if name in self.bounds else ""
        return [text, ""] if name == "frequencies" else [text]

    def _sentence(self) -> str:
        """Who needs how many rows, in words."""
        exact = [row for row in self.rows if not bounded_frequencies(row.mechanism, self.prior)]
        needed = [row for row in exact if row.rows_needed is not None and math.isfinite(row.rows_needed)]
        if self.equal == "utility" or len(needed) < 2:
            return ""
        best = min(needed, key=lambda row: row.rows_needed or 0)
        worst = max(needed, key=lambda row: row.rows_needed or 0)
        times = (worst.rows_needed or 0) / (best.rows_needed or 1)
        if times < 1.005:
            return ""
        return (
            f"For the same accuracy of the frequencies {worst.shown} needs {_times(times)} times as many "
            f"rows as {best.shown}."
        )

    # -- pictures -----------------------------------------------------------------------------------------------

    def chart(self) -> dict[str, Any]:
        """Return what each mechanism leaks and what it tells, as a Vega-Lite specification."""
        names = [row.shown for row in self.rows]
        leaks = {
            "for the prior (PML)": [_finite(row.epsilon) for row in self.rows],
            "for anyone (LDP)": [_finite(row.ldp) for row in self.rows],
        }
        unlimited = any(one is None for some in leaks.values() for one in some)
        note = f"{self.asked}.{' No bar: no limit.' if unlimited else ''}"
        parts = [grouped_bars(names, leaks, title="What each leaks", value_title="ε (nats)", note=note)]
        for name in self.utilities:
            rows = name == "frequencies"
            shown = [_drawn(row.rows_needed) if rows else _finite(row.values[name]) for row in self.rows]
            missing = self._no_bar() if rows else "not computed"
            bound = None if rows else _finite(self.bounds.get(name))
            parts.append(
                bars(
                    names,
                    shown,
                    title="What each tells",
                    value_title=_ROWS if rows else _WORDS.get(name, name),
                    reference=bound,
                    reference_label=None if bound is None else "upper bound",
                    note=f"No bar: {missing}." if None in shown else None,
                )
            )
        return vertical(*parts)

    def _no_bar(self) -> str:
        """Why a mechanism has no bar for the frequencies."""
        far = any((_finite(row.rows_needed) or 0) > _MOST_ROWS for row in self.rows)
        never = any(row.rows_needed is None or math.isinf(row.rows_needed) for row in self.rows)
        words = [f"more than {_MOST_ROWS} times as many rows"] if far else []
        return ", or ".join([*words, *(["the frequencies cannot be estimated"] if never else [])])

    # -- plain data ---------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: the rows, the upper bounds and the remarks."""
        return {
            "equal": self.equal,
            "asked": self.asked,
            "utilities": list(self.utilities),
            "bounds": dict(self.bounds),
            "rows": [row.to_dict() for row in self.rows],
            "remarks": list(self.remarks),
        }

    def to_pandas(self) -> pandas.DataFrame:
        """Return one row for each mechanism, with a column for each leakage and each utility."""
        pandas = require("pandas", extra="data", purpose="A comparison as a data frame")
        plain = [row.to_dict() for row in self.rows]
        return pandas.DataFrame([{**one, **one.pop("values")} for one in plain]).drop(columns="values", errors="ignore")


def _up(value: float | None) -> str:
    return "—" if value is None else at_most(value, 4)


def _times(factor: float | None) -> str:
    """How many times as many rows, to three digits."""
    return "—" if factor is None else "∞" if math.isinf(factor) else f"{float(f'{factor:.3g}'):,g}"


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _drawn(rows: float | None) -> float | None:
    """How long the bar is of a mechanism that needs so many times as many rows; None without one."""
    known = _finite(rows)
    return None if known is None or known > _MOST_ROWS else known
