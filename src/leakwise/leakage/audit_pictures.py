"""The pictures of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.charts.specs import bars, lines, vertical
from leakwise.charts.table import number
from leakwise.leakage.envelopes import envelope_curve
from leakwise.leakage.measures.pointwise import pml

if TYPE_CHECKING:
    from leakwise.leakage.audit import Audit

__all__ = ["pictures"]

_MOST_BARS = 30
# Up to so many entries the curve of the envelope is traced within a second or two.
_MOST_TRACED = 900


def pictures(audit: Audit) -> dict[str, Any]:
    """Return the kernel, the leakage of each outcome, what survives post-processing, and how often a limit fails."""
    title = "The mechanism: probability of each outcome"
    parts = [audit.mechanism.chart(title), _outcomes(audit)] if audit.outcomes else []
    rows, columns = audit.mechanism.shape
    if rows * columns <= _MOST_TRACED:
        parts.append(envelope_curve(audit.mechanism, audit.prior.nominal).chart())
    return vertical(*parts, _failures(audit))


def _outcomes(audit: Audit) -> dict[str, Any]:
    worst = sorted(audit.outcomes, key=lambda outcome: -outcome.leakage)[:_MOST_BARS]
    more = len(audit.outcomes) - len(worst)
    return bars(
        [str(outcome.label) for outcome in worst],
        [outcome.leakage for outcome in worst],
        title="Leakage of each outcome" + (f" (the {len(worst)} largest; {more} more)" if more else ""),
        value_title="leakage ℓ (nats)",
        label_title="outcome",
        reference=float(audit.epsilon),
        reference_label=f"ε = {number(audit.epsilon)}",
    )


def _failures(audit: Audit) -> dict[str, Any]:
    """P(ℓ > ε) and, where it was worked out, δ(ε) of LDP, against ε."""
    prior = audit.prior.nominal
    series: dict[str, tuple[list[float], list[float]]] = {}
    if audit.ldp_delta is not None:
        series["LDP: δ(ε)"] = audit.profile.curve(least_end=max(0.5, audit.epsilon * 1.05))
    end = max([audit.epsilon * 1.05, 0.1, *(curve[0][-1] for curve in series.values())])
    leakage = pml(audit.mechanism, prior)
    law = audit.mechanism.kernel.output_law_floats(prior.weights, prior.denominator)
    order = np.argsort(leakage)
    jumps = np.unique(leakage)[-200:]
    # A point on either side of every jump: the line is then as steep as the step it stands for.
    places = np.unique(np.concatenate([np.linspace(0.0, end, 100), jumps, np.nextafter(jumps, -1.0)]))
    places = places[places >= 0]
    mass = np.concatenate([np.cumsum(law[order][::-1])[::-1], [0.0]])
    tails = mass[np.searchsorted(leakage[order], places, side="right")]
    series = {"PML: P(ℓ > ε)": (places.tolist(), np.clip(tails, 0.0, 1.0).tolist()), **series}
    return lines(
        series,
        title="How often the limit ε fails",
        x_title="ε (nats)",
        y_title="probability δ",
        rules=[(float(audit.epsilon), "ε of PML")],
    )
