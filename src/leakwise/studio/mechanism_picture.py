"""The heat map of the mechanism: all of it while it is small, and then its likeliest part, which its caption says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.charts.specs import Spec, heatmap
from leakwise.guarantee import percent_at_least

if TYPE_CHECKING:
    from leakwise.studio.answers import Solved

__all__ = ["codes_of", "mechanism_picture"]

_MOST_VALUES = 50
_MOST_OUTCOMES = 30
# More outcomes, or longer names, have no room above a heat map: they are numbered.
_MOST_NAMES = 12
_LONGEST_NAME = 24
_LISTED = 12  # values of a set that a code is for
_RAISED = 1 + 1e-9
_WORDS = {
    "mechanism": "How often each outcome (column) comes for each value (row).",
    "lifts": "How many times as likely each outcome (column) makes each value (row): above 1 raised, below 1 lowered.",
}


def mechanism_picture(solved: Solved, view: str) -> dict[str, Any] | None:
    """Return the picture of a view with its caption; None for the lifts where a value cannot occur."""
    mechanism, prior = solved.mechanism, solved.nominal
    if view == "lifts" and not prior.support.all():
        return None
    law = prior.probabilities @ mechanism.matrix
    rows, columns = _likeliest(prior.probabilities, _MOST_VALUES), _likeliest(law, _MOST_OUTCOMES)
    part = mechanism.matrix[np.ix_(rows, columns)]
    with np.errstate(divide="ignore", invalid="ignore"):
        lifts = np.where(law[columns] > 0, part / law[columns], 1.0)
    names = [str(mechanism.outputs[place]) for place in columns]
    coded = codes_of(solved, columns)
    short = coded is None and len(names) <= _MOST_NAMES and max(map(len, names)) <= _LONGEST_NAME
    weights = mechanism.weights
    shown = heatmap(
        [str(mechanism.inputs[place]) for place in rows],
        names if short or coded else [str(place) for place in range(1, len(names) + 1)],
        lifts if view == "lifts" else part,
        title=_WORDS[view],
        value_title="lift" if view == "lifts" else "probability",
        row_title="value",
        column_title="outcome",
        diverging_at=1.0 if view == "lifts" else None,
        exact=None
        if view == "lifts"
        else [[f"{weights[row, column]}/{mechanism.denominator}" for column in columns] for row in rows],
    )
    words = [_WORDS[view], *_left_out(solved, law, rows, columns)]
    if short:
        words.append("Point at a cell for its exact number.")
    else:
        _dotted(shown, names if coded is None else coded, lifts > _RAISED)
        words.append("A dot marks each value that an outcome makes more likely. Point at a cell for the names.")
    return {"chart": shown, "words": " ".join(words)}


def codes_of(solved: Solved, places: Sequence[int]) -> list[str] | None:
    """Return outcomes that have codes with the sets that these are for; None where outcomes have names of their own."""
    from leakwise.optimize.finish.outcome_names import coded, set_name

    mechanism, prior = solved.mechanism, solved.nominal
    if not coded(mechanism.outputs):
        return None
    part = mechanism.matrix[:, places]
    raised = part > _RAISED * (prior.probabilities @ part)
    sets = (set_name(column, prior.labels, _LISTED) for column in raised.T)
    return [f"{mechanism.outputs[place]}: {one}" for place, one in zip(places, sets, strict=True)]


def _likeliest(probabilities: np.ndarray[Any, np.dtype[np.float64]], most: int) -> list[int]:
    """The places of the likeliest, in their own order."""
    return sorted(np.argsort(-probabilities, kind="stable")[:most].tolist())


def _left_out(solved: Solved, law: Any, rows: list[int], columns: list[int]) -> list[str]:
    values, outcomes = solved.mechanism.shape
    words = []
    if len(rows) < values:
        words.append(f"The {len(rows)} likeliest of {values} values are shown.")
    if len(columns) < outcomes:
        share = percent_at_least(float(law[columns].sum()))
        words.append(f"The {len(columns)} likeliest of {outcomes:,} outcomes are shown, which {share} of the rows get.")
    return words


def _dotted(spec: Spec, names: list[str], raised: Any) -> None:
    """Name the outcomes where one points, and mark what each of them raises."""
    values = spec["data"]["values"]
    for place, record in enumerate(values):
        row, column = divmod(place, len(names))
        record["o"], record["up"] = names[column], bool(raised[row, column])
    cells = spec["layer"][0]
    for tip in cells["encoding"]["tooltip"]:
        if tip["field"] == "c":
            tip["field"] = "o"
    where = {axis: cells["encoding"][axis] for axis in "xy"}
    dots = {"type": "circle", "size": 26, "opacity": 1, "color": "#ffffff", "stroke": "#1d2328", "tooltip": False}
    layers = [layer for layer in spec["layer"] if layer["mark"]["type"] != "text"]
    dotted = {"transform": [{"filter": "datum.up"}], "mark": {**dots, "strokeWidth": 0.8}, "encoding": where}
    spec["layer"] = [*layers, dotted]
