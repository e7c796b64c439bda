"""The answer in three parts that move with the knob: what leaks, what to release, what is lost."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.guarantee import at_most, percent, percent_at_most
from leakwise.priors import Prior
from leakwise.report.comparison import Comparison, compare, outcome_weights, response
from leakwise.studio.mechanism_picture import codes_of

if TYPE_CHECKING:
    from leakwise.studio.answers import Solved

__all__ = ["compared", "to_try", "what_is_lost", "what_leaks", "what_to_release"]

_MOST_VALUES = 8
_ROWS = 1000
_MOST_TRIED = 40_000
# Five people of the prior, and the chance of each: the same at every turn of the knob, so that only it moves the rows.
_PEOPLE = (0.08, 0.93, 0.5, 0.71, 0.29)
_CHANCES = (0.62, 0.37, 0.81, 0.12, 0.45)


def what_leaks(solved: Solved) -> dict[str, Any]:
    """Return how likely each value is before the release and at most after it, the most exposed first."""
    prior, matrix = solved.nominal, solved.mechanism.matrix
    law = prior.probabilities @ matrix
    with np.errstate(divide="ignore", invalid="ignore"):
        lifts = np.where(law > 0, matrix / law, 0.0).max(axis=1)
    if solved.certificate.largest_lift is not None:
        lifts = np.minimum(lifts, solved.certificate.largest_lift)  # floats may be a hair above what is proven
    after = np.minimum(lifts * prior.probabilities, 1.0)
    exposed = sorted(np.flatnonzero(prior.support).tolist(), key=lambda place: (-round(lifts[place], 9), -after[place]))
    values = [
        {
            "name": str(prior.labels[place]),
            "before": percent(float(prior.probabilities[place])),
            "after": percent_at_most(float(after[place])),
            "shares": [float(prior.probabilities[place]), float(after[place])],
        }
        for place in exposed
    ]
    rest = ""
    if left := exposed[_MOST_VALUES:]:
        most = at_most(float(max(lifts[place] for place in left)))
        rest = f"{len(left)} further values become at most {most} times as likely."
    middle = "" if isinstance(solved.priors, Prior) else "For the prior in the middle of the set."
    return {"values": values, "first": _MOST_VALUES, "rest": rest, "note": middle}


def what_to_release(solved: Solved) -> list[dict[str, str]]:
    """Return five rows as they are and as they would be released."""
    prior, outcomes = solved.nominal, solved.mechanism.outputs
    shares = np.cumsum(prior.probabilities)
    places = np.minimum(np.searchsorted(shares, np.array(_PEOPLE) * shares[-1], "right"), len(prior) - 1)
    drawn = []
    for place, chance in zip(places.tolist(), _CHANCES, strict=True):
        sums = np.cumsum(solved.mechanism.matrix[place])
        drawn.append(min(int(np.searchsorted(sums, chance * sums[-1], "right")), len(outcomes) - 1))
    # A code is followed by the set that it is for.
    shown = codes_of(solved, drawn) or [str(outcomes[place]) for place in drawn]
    values = (str(prior.labels[place]) for place in places)
    return [{"value": value, "outcome": outcome} for value, outcome in zip(values, shown, strict=True)]


def compared(solved: Solved) -> Comparison | None:
    """Return what the mechanism is worth compared with randomized response; None where a value cannot occur."""
    prior = solved.nominal
    if len(prior) < 2 or not prior.support.all():
        return None
    return compare(solved.mechanism, prior, solved.certificate.epsilon_upper, 1)


def what_is_lost(found: Comparison | None) -> dict[str, Any]:
    """Return how many rows without protection as many released ones are worth, and those of randomized response."""
    if found is None:
        return {"words": "A value cannot occur: its frequency is known without any row.", "bars": []}
    ours, other = found.ours.rows_worth, found.randomized_response.rows_worth
    if ours is None:
        return {"words": "The outcomes do not determine the frequencies of the values.", "bars": []}
    rows = [("no protection", 1.0), ("this mechanism", ours), ("randomized response", other or 0.0)]
    bars = [{"name": name, "rows": _rows(share), "share": share} for name, share in rows]
    words = f"{_ROWS:,} released rows say as much about the frequencies as {_rows(ours)} without protection."
    if other is None:
        words += " Those of randomized response that leaks as much do not determine them."
    else:
        words += f" Randomized response that leaks as much: {_rows(other)}."
        if ours > 1.05 * other:
            words += f" That is {_times(ours / other)} times as good."
    return {"words": words, "bars": bars}


def to_try(solved: Solved) -> dict[str, Any] | None:
    """Return what simulates rows in the page, for the mechanism and for randomized response that leaks as much."""
    prior = solved.nominal
    if len(prior) < 2 or not prior.support.all() or solved.mechanism.matrix.size > _MOST_TRIED:
        return None
    other = response(solved.mechanism, prior, solved.certificate.epsilon_upper)
    return {
        "labels": [str(label) for label in prior.labels],
        "outcomes": [str(label) for label in solved.mechanism.outputs],
        "prior": prior.probabilities.tolist(),
        "mechanisms": [
            {"rows": one.matrix.tolist(), "weights": None if weights is None else weights.tolist()}
            for one in (solved.mechanism, other)
            for weights in [outcome_weights(one.matrix, prior.probabilities)]
        ],
    }


def _rows(share: float) -> str:
    """Rows without protection, rounded down.

    >>> _rows(0.0987), _rows(0.00123)
    ('98', '1.2')
    """
    rows = Fraction(share) * _ROWS
    return f"{int(rows):,}" if rows >= 10 else f"{int(rows * 10) / 10:g}"


def _times(ratio: float) -> str:
    return f"{int(ratio * 10) / 10:g}" if ratio < 10 else f"{int(ratio):,}"
