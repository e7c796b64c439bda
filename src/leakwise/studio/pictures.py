"""The pictures of an answer, as Vega-Lite specifications of the library."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leakwise.charts.specs import Spec, bars, dots_with_intervals, heatmap
from leakwise.charts.table import number
from leakwise.guarantee import percent
from leakwise.leakage import Audit, envelope_curve

if TYPE_CHECKING:
    from leakwise.studio.answers import Solved

__all__ = ["beliefs", "envelope", "lifts", "outcomes", "without_envelope"]

_MOST_BARS = 30
_MOST_LIFTS = 40_000
# Up to so many entries the curve of the envelope is traced within a second or two.
_MOST_TRACED = 4_000


def lifts(solved: Solved) -> Spec | None:
    """What each outcome raises and lowers; None where the matrix is too large to look at."""
    rows, columns = solved.mechanism.shape
    prior = solved.nominal
    if rows * columns > _MOST_LIFTS or not prior.support.all():
        return None
    law = prior.probabilities @ solved.mechanism.matrix
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(law > 0, solved.mechanism.matrix / law, 1.0)
    return heatmap(
        [str(name) for name in solved.mechanism.inputs],
        [str(name) for name in solved.mechanism.outputs],
        ratios,
        title="How many times as likely each outcome makes each value",
        value_title="lift",
        row_title="letter",
        column_title="outcome",
        diverging_at=1.0,
    )


def outcomes(looked: Audit) -> Spec:
    worst = sorted(looked.outcomes, key=lambda one: -one.leakage)[:_MOST_BARS]
    more = len(looked.outcomes) - len(worst)
    return bars(
        [f"{one.label} ({percent(round(one.probability, 9))})" for one in worst],
        [one.leakage for one in worst],
        title="Leakage of each outcome" + (f" (the {len(worst)} largest; {more} more)" if more else ""),
        value_title="leakage ℓ (nats)",
        label_title="outcome",
        reference=float(looked.epsilon),
        reference_label=f"ε = {number(looked.epsilon)}",
    )


def beliefs(looked: Audit) -> Spec | None:
    """How likely each value is before, and the range of what it can be after."""
    letters = sorted(looked.letters, key=lambda one: -one.prior)[:_MOST_BARS]
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
