"""The pictures of an answer, as Vega-Lite specifications of the library."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from leakwise.charts.specs import Spec, bars, dots_with_intervals
from leakwise.guarantee import at_most, percent
from leakwise.leakage import Audit, envelope_curve
from leakwise.leakage.audit import Letter, Outcome

if TYPE_CHECKING:
    from leakwise.studio.answers import Solved

__all__ = ["beliefs", "envelope", "outcomes", "which_outcomes", "which_values", "without_envelope"]

_MOST_BARS = 30
_BEYOND = "#D55E00"  # of the palette of the charts, and unlike its first for every eye
# Up to so many entries the curve of the envelope is traced within a second or two.
_MOST_TRACED = 4_000


def _worst(looked: Audit) -> list[Outcome]:
    return sorted(looked.outcomes, key=lambda one: -one.leakage)[:_MOST_BARS]


def which_outcomes(looked: Audit) -> str:
    """Return what the picture of the outcomes shows, and what it leaves out."""
    words = "The limit holds for every single outcome, not for their average."
    if not looked.level.allows(Fraction(looked.ratio)):
        words = "An outcome beyond the dashed line breaks the limit."
    left = len(looked.outcomes) - _MOST_BARS
    if left > 0:
        words += f" These are the {_MOST_BARS} outcomes of {len(looked.outcomes):,} that leak the most."
    return words


def outcomes(looked: Audit) -> Spec:
    """Return the leakage of each outcome, and the limit; what is beyond it in another colour."""
    worst = _worst(looked)
    limit = looked.level.epsilon
    # A limit that no mechanism could reach would squeeze the bars to nothing.
    shown = limit <= max(looked.prior.nominal.epsilon_max, looked.epsilon)
    spec = bars(
        [f"{one.label} ({percent(round(one.probability, 9))})" for one in worst],
        [one.leakage for one in worst],
        title="Leakage of each outcome",
        value_title="leakage ℓ (nats)",
        label_title="outcome",
        reference=limit if shown else None,
        reference_label=f"your limit, ε = {at_most(limit)}" if shown else None,
    )
    bar = spec["layer"][0]
    # Decided here, on exact numbers: a float a hair above the limit may still keep it.
    broken = [not looked.level.allows(Fraction(one.ratio)) for one in worst]
    for record, over in zip(spec["data"]["values"], broken, strict=True):
        record["over"] = over
    bar["encoding"]["color"] = {"condition": {"test": "datum.over", "value": _BEYOND}, "value": bar["mark"]["color"]}
    return spec


def _by_lift(looked: Audit) -> list[tuple[Fraction, Letter]]:
    """Each value with how many times as likely it can become, the most exposed first."""
    prior = looked.prior.nominal
    before = dict(zip(prior.labels, prior.fractions, strict=True))
    lifts = [(Fraction(one.range[1]) / before[one.label], one) for one in looked.letters]
    return sorted(lifts, key=lambda pair: (-pair[0], -pair[1].prior))


def which_values(looked: Audit) -> str:
    """Return what the picture of the beliefs shows, and what it leaves out."""
    words = "How likely each value is before, and the range of what it can be after any outcome."
    if left := _by_lift(looked)[_MOST_BARS:]:
        words += (
            f" These are the {_MOST_BARS} most exposed of {len(looked.letters)} values; each of the other {len(left)} "
            f"becomes at most {at_most(left[0][0])} times as likely. The report lists all of them."
        )
    return f"{words} For the prior in the middle of the set." if looked.of_set else words


def beliefs(looked: Audit) -> Spec | None:
    """How likely each value is before, and the range of what it can be after."""
    letters = sorted((one for _, one in _by_lift(looked)[:_MOST_BARS]), key=lambda one: -one.prior)
    if not letters:
        return None
    spec = dots_with_intervals(
        [str(one.label) for one in letters],
        [one.prior for one in letters],
        [min(one.least, one.prior) for one in letters],
        [max(one.most, one.prior) for one in letters],
        title="What someone can come to believe",
        value_title="probability: before (dot), after (line)",
        label_title="value",
    )
    for layer in spec["layer"]:
        layer["encoding"]["x"]["scale"] = {"domainMin": 0, "nice": True}  # no probability is below zero
    return spec


def without_envelope(solved: Solved) -> str:
    """Why there may be no curve."""
    if solved.certificate.ratio == 1:
        return "The outcome says nothing about the secret, whatever is done to it."
    return "The mechanism is too large to trace the curve here; lw.envelope does it point by point."


def envelope(solved: Solved) -> Spec | None:
    rows, columns = solved.mechanism.shape
    if rows * columns > _MOST_TRACED or solved.certificate.ratio == 1:
        return None
    points = 200 if rows * columns <= 400 else 60
    return envelope_curve(solved.mechanism, solved.nominal).chart(points)
