"""What a black-box audit returns: an interval for each measure, the event that shows the leakage, a verdict."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from leakwise.alphabet import Label, label_to_plain
from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import dots_with_intervals
from leakwise.errors import some_of
from leakwise.guarantee import at_least, at_most, lift_below

__all__ = ["MEASURES", "BlackBoxAudit", "Event", "Interval"]

MEASURES = {"ldp": "LDP ε", "pml": "PML ε", "maximal_leakage": "maximal leakage"}


@dataclass(frozen=True)
class Interval:
    """From ``lower`` to ``upper``, in nats; ``upper`` is infinite where nothing bounds it."""

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """How far the ends are apart."""
        return self.upper - self.lower


@dataclass(frozen=True)
class Event:
    """Outcomes that give an input away: more likely for ``input`` than for ``other``, or than at large.

    Of the answers that tested it, ``count`` is how many to ``input`` were among the outcomes, and of how many;
    ``other_count`` the same for ``other``.
    """

    outcomes: tuple[str, ...]
    input: Label
    other: Label | None
    at_least: float
    count: tuple[int, int]
    other_count: tuple[int, int] | None = None

    @property
    def counts(self) -> str:
        """How often the outcomes came, in words."""
        said = f"They came {self.count[0]:,} times in {self.count[1]:,} answers for {self.input!r}"
        if self.other_count is None:
            return f"{said}."
        return f"{said} and {self.other_count[0]:,} times in {self.other_count[1]:,} for {self.other!r}."

    @property
    def sentence(self) -> str:
        """The event in words."""
        than = "at large" if self.other is None else f"for {self.other!r}"
        outcomes = f"The outcomes {some_of(self.outcomes, 6)}"
        if math.isinf(self.at_least):
            return f"{outcomes} are possible for {self.input!r} and impossible {than}."
        lift = at_least(lift_below(self.at_least))
        return f"{outcomes} are at least {lift} times as likely for {self.input!r} as {than}."


@dataclass(frozen=True, repr=False)
class BlackBoxAudit(Drawn):
    """The leakage of a program, from its answers alone.

    With probability at least 1 - ``failure`` over the answers every interval holds the true value.

    Attributes
    ----------
    measures
        An :class:`Interval` for ``"ldp"``, ``"maximal_leakage"``, and with a prior ``"pml"``. The lower ends hold
        whatever else the program can answer; the upper ends are infinite unless all outputs were declared and each
        of them stands for one answer as it is.
    verdict
        ``"refuted"``: the claim is false. ``"confirmed"``: it is true of a program that answers nothing but the
        declared outputs. ``"not refuted"``: so many answers cannot tell. ``"at least"``: only lower ends hold, however
        many answers come, because different answers were counted as one (``put_together``). None without a claim. All
        except with probability ``failure``.
    events
        For each measure the event that shows the lower end.
    samples, failure
        How many answers were asked for, and the probability of being wrong.
    inputs, outcomes
        What was asked about, and what the answers were sorted into.
    put_together
        Why different answers were counted as one: bins, or labels such as 1 that also stood for True. None where every
        outcome stands for one answer.
    """

    measures: dict[str, Interval]
    events: dict[str, Event]
    samples: int
    failure: float
    inputs: tuple[Label, ...]
    outcomes: tuple[str, ...]
    claim: tuple[str, float] | None = None
    put_together: str | None = None

    @property
    def verdict(self) -> str | None:
        if self.claim is None:
            return None
        measure, epsilon = self.claim
        found = self.measures[measure]
        if found.lower > epsilon:
            return "refuted"
        if self.put_together is not None:
            return "at least"
        return "confirmed" if found.upper <= epsilon else "not refuted"

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        told = f"(wrong with probability at most {at_most(self.failure)})"
        if self.claim is None:
            each = ", ".join(f"{MEASURES[name]} at least {at_least(one.lower)}" for name, one in self.measures.items())
            return f"{self.samples:,} answers show: {each} {told}."
        measure, epsilon = self.claim
        found = self.measures[measure]
        asked, least = at_most(epsilon), at_least(found.lower)
        if self.verdict == "refuted":
            said = f"This claims {MEASURES[measure]} = {asked} but leaks at least {at_least(found.lower)} {told}."
            if measure not in self.events:
                return said
            return f"{said} {self.events[measure].sentence} {self.events[measure].counts}"
        if self.verdict == "confirmed":
            return (
                f"The claim {MEASURES[measure]} = {asked} holds for a program that answers nothing but the "
                f"declared outputs: it is at most {at_most(found.upper)} {told}."
            )
        if self.put_together is not None:
            return (
                f"The claim {MEASURES[measure]} = {asked} is not refuted, and cannot be confirmed: "
                f"{self.samples:,} answers show at least {least} {told}. Only lower bounds hold, because "
                f"{self.put_together}, and what differs among those may tell more."
            )
        return (
            f"The claim {MEASURES[measure]} = {asked} is not refuted: {self.samples:,} answers show at least "
            f"{least}{'' if math.isinf(found.upper) else f' and at most {at_most(found.upper)}'} {told}."
        )

    def _shown(self) -> Parts:
        rows = [
            [MEASURES[name], at_least(one.lower, 6), "" if math.isinf(one.upper) else at_most(one.upper, 6)]
            for name, one in self.measures.items()
        ]
        return [Table(["nats", "at least", "at most"], rows, self.sentence)]

    def chart(self) -> dict[str, Any]:
        """The intervals as a Vega-Lite specification; one without an upper end is drawn as its lower end."""
        names, known = [MEASURES[name] for name in self.measures], list(self.measures.values())
        lower = [one.lower for one in known]
        upper = [one.lower if math.isinf(one.upper) else one.upper for one in known]
        middle = [(low + high) / 2 for low, high in zip(lower, upper, strict=True)]
        return dots_with_intervals(
            names,
            middle,
            lower,
            upper,
            title="Leakage of the program",
            value_title="nats",
            reference=None if self.claim is None else self.claim[1],
            reference_label=None if self.claim is None else "claimed",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "verdict": self.verdict,
            "sentence": self.sentence,
            "put_together": self.put_together,
            "claim": None if self.claim is None else {"measure": self.claim[0], "epsilon": self.claim[1]},
            "measures": {name: {"lower": one.lower, "upper": one.upper} for name, one in self.measures.items()},
            "events": {
                name: {
                    "outcomes": list(one.outcomes),
                    "input": label_to_plain(one.input),
                    "other": None if one.other is None else label_to_plain(one.other),
                    "at_least": one.at_least,
                    "count": list(one.count),
                    "other_count": None if one.other_count is None else list(one.other_count),
                }
                for name, one in self.events.items()
            },
            "samples": self.samples,
            "failure": self.failure,
            "inputs": [label_to_plain(label) for label in self.inputs],
            "outcomes": list(self.outcomes),
        }
