"""The result of a simulation: what analysts and guessers would get from a release, many times over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from leakwise.alphabet import Label, label_to_plain
from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import dots_with_intervals, grouped_bars, vertical
from leakwise.errors import label_text
from leakwise.guarantee import at_most, percent
from leakwise.report.expected import Guesses
from leakwise.report.steward import STEWARD
from leakwise.types import Bools, Floats

__all__ = ["Analyst", "Attacker", "GroupTest", "Simulation"]

# Tests between groups that are printed.
_TESTS = 12


@dataclass(frozen=True, eq=False)
class Analyst:
    """What someone gets who estimates the frequencies, for each value.

    Attributes
    ----------
    true, mean
        The frequency that the rows are drawn by, and the mean of its estimates.
    low, high
        The range in which 95% of the estimates are.
    standard_error, expected_standard_error
        Of the simulated estimates, and by the formula; NaN where the outcomes do not determine the frequency.
    coverage
        How often the interval contained the true frequency.
    """

    true: Floats
    mean: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    expected_standard_error: Floats
    coverage: Floats


@dataclass(frozen=True, eq=False)
class Attacker:
    """What someone gets who guesses the value of every row, knowing the true frequencies in its group.

    Attributes
    ----------
    expected
        The share of right guesses without the outcomes and with them, of all rows and of those with each value.
    simulated
        The share of right guesses with the outcomes, of all simulated rows.
    stratum, outcome, value
        The outcome that says most, and about which value: there a guess becomes ``lift`` times as likely.
    lift, simulated_lift
        As expected, and as simulated: how much more often rows with that outcome had the value.
    """

    expected: Guesses
    simulated: float
    stratum: Label
    outcome: Label
    value: Label
    lift: float
    simulated_lift: float


class GroupTest(NamedTuple):
    """A test, at 5%, whether a value is as frequent in one group as in another."""

    value: Label
    groups: tuple[Label, Label]
    difference: float
    power: float


@dataclass(frozen=True, eq=False, repr=False)
class Simulation(Drawn):
    """What analysts and guessers would get from a release.

    Attributes
    ----------
    labels
        The values.
    rows, repeats
        Rows of each simulated release, and how many there were.
    analyst, attacker
        What each would get.
    tests
        How often a test between two groups would find a difference, where groups were named.
    guaranteed
        The lift that the release guarantees.
    confidence
        Of the intervals whose coverage is told.
    of_table
        Whether exact figures of a table were used.
    determined
        Which frequencies the outcomes determine.
    """

    labels: tuple[Label, ...]
    rows: int
    repeats: int
    analyst: Analyst
    attacker: Attacker
    tests: Sequence[GroupTest]
    guaranteed: float
    confidence: float
    of_table: bool
    determined: Bools

    def _shown(self) -> Parts:
        one, other, guesses = self.analyst, self.attacker, self.attacker.expected
        told = [
            [
                label,
                percent(one.true[place]),
                percent(one.mean[place]) if self.determined[place] else "-",
                f"{percent(one.low[place])} to {percent(one.high[place])}" if self.determined[place] else "-",
                percent(one.coverage[place]),
            ]
            for place, label in enumerate(self.labels)
        ]
        parts: list[Any] = [
            Table(
                ["value", "true", "mean", "95% of the estimates", "covered"],
                told,
                f"{self.repeats:,} simulated releases of {self.rows:,} rows: what an analyst gets",
                align="lrrrr",
            )
        ]
        if self.tests:
            rows = [
                [t.value, f"{t.groups[0]} - {t.groups[1]}", f"{100 * t.difference:+.1f}", percent(t.power)]
                for t in self.tests
            ]
            title = "How often a test between groups finds the difference (at 5%)"
            parts.append(Table(["value", "groups", "points", "found"], rows, title, align="llrr", max_rows=_TESTS))
        parts.append(
            Table(
                ["value", "without the outcome", "with it"],
                [
                    [label, *("-" if np.isnan(share) else percent(share) for share in (before, after))]
                    for label, before, after in zip(
                        self.labels, guesses.before_by_value, guesses.after_by_value, strict=True
                    )
                ],
                "How often the best guess about a row is right",
                align="lrr",
            )
        )
        where = "" if other.stratum == () else f" where {other.stratum}"
        parts.append(
            f"Of all rows, {percent(guesses.before)} are guessed right without the outcomes and "
            f"{percent(guesses.after)} with them ({percent(other.simulated)} in the simulation). "
            f"The outcome {other.outcome!r}{where} says most: it makes {other.value!r} {at_most(other.lift, 4)} times "
            f"as likely ({at_most(other.simulated_lift, 4)} in the simulation); at most {at_most(self.guaranteed, 4)} "
            "times is guaranteed."
        )
        return [*parts, STEWARD] if self.of_table else parts

    def chart(self) -> dict[str, Any]:
        """Estimates around the true frequencies, above the shares of right guesses, as a Vega-Lite specification."""
        names = [label_text(label) for label in self.labels]
        note = None if self.determined.all() else "Values without a dot cannot be estimated from the outcomes."
        return vertical(
            dots_with_intervals(
                names,
                [float(m) if known else None for m, known in zip(self.analyst.mean, self.determined, strict=True)],
                self.analyst.low,
                self.analyst.high,
                title=f"Where 95% of the estimates are, from {self.rows:,} rows",
                value_title="frequency",
                label_title="value",
                note=note,
            ),
            grouped_bars(
                names,
                {
                    "without the outcome": np.nan_to_num(self.attacker.expected.before_by_value),
                    "with the outcome": np.nan_to_num(self.attacker.expected.after_by_value),
                },
                title="How often the best guess about a row is right",
                value_title="share of the rows",
                label_title="value",
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; None where a number does not exist."""
        one, other = self.analyst, self.attacker
        return {
            "labels": [label_to_plain(label) for label in self.labels],
            "rows": self.rows,
            "repeats": self.repeats,
            "analyst": {name: _plain(getattr(one, name)) for name in one.__dataclass_fields__},
            "attacker": {
                "before": other.expected.before,
                "after": other.expected.after,
                "before_by_value": _plain(other.expected.before_by_value),
                "after_by_value": _plain(other.expected.after_by_value),
                "simulated": other.simulated,
                "stratum": label_to_plain(other.stratum),
                "outcome": label_to_plain(other.outcome),
                "value": label_to_plain(other.value),
                "lift": other.lift,
                "simulated_lift": None if np.isnan(other.simulated_lift) else other.simulated_lift,
            },
            "tests": [
                {
                    "value": label_to_plain(one.value),
                    "groups": [label_to_plain(group) for group in one.groups],
                    "difference": one.difference,
                    "power": one.power,
                }
                for one in self.tests
            ],
            "guaranteed": self.guaranteed,
            "confidence": self.confidence,
            "of_table": self.of_table,
        }


def _plain(values: Floats) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]
