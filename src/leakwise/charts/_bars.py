"""Labelled values as bars or dots, one row for each label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from leakwise.charts._plain import column, names, printable, real, same_length
from leakwise.charts._theme import PALETTE, Spec, chart
from leakwise.charts.table import cell_text, number, spread
from leakwise.errors import InvalidInput

__all__ = ["bars", "dots_with_intervals", "grouped_bars"]

_MOST_LABELS = 2000
_MOST_WITH_TEXT = 40
_WIDTH = 420


def bars(
    labels: Iterable[object],
    values: Iterable[object],
    *,
    title: str,
    value_title: str,
    label_title: str | None = None,
    reference: float | None = None,
    reference_label: str | None = None,
    note: str | None = None,
) -> Spec:
    """Return one horizontal bar for each label, and a line across all of them at a reference value."""
    rows, heights = _labelled(labels, values, note)
    records: list[Spec] = [
        {"label": a, "v": v, "end": v or 0.0, "t": cell_text(v)} for a, v in zip(rows, heights, strict=True)
    ]
    y, x = _label_axis(rows, label_title), _value_axis(value_title)
    if len(rows) <= _MOST_WITH_TEXT and min(record["end"] for record in records) < 0:
        x["scale"]["padding"] = 48  # room for the numbers of negative bars beside the labels
    layers: list[Spec] = [
        {
            "mark": {"type": "bar", "color": PALETTE[0]},
            "encoding": {"y": y, "x": x, "tooltip": _tips(("label", label_title or "label"), ("t", value_title))},
        }
    ]
    if len(rows) <= _MOST_WITH_TEXT:
        for sign, anchor, offset in ((">= 0", "left", 4), ("< 0", "right", -4)):
            layers.append(
                {
                    "transform": [{"filter": f"datum.end {sign}"}],  # a None ends at 0 and shows its dash there
                    "mark": {"type": "text", "align": anchor, "dx": offset, "baseline": "middle"},
                    "encoding": {"y": y, "x": {**x, "field": "end"}, "text": {"field": "t", "type": "nominal"}},
                }
            )
    layers += _reference(reference, reference_label)
    return chart(
        {"data": {"values": records}, "layer": layers},
        title=title,
        description=f"{title}. Bar chart of {value_title} for {len(rows)} labels{spread(heights)}.",
        notes=[note],
        width=_WIDTH,
        height=_height(len(rows), 22),
    )


def grouped_bars(
    labels: Iterable[object],
    series: Mapping[str, Iterable[object]],
    intervals: Mapping[str, tuple[Iterable[object], Iterable[object]]] | None = None,
    *,
    title: str,
    value_title: str,
    label_title: str | None = None,
    note: str | None = None,
) -> Spec:
    """For each label a bar of every series, with the interval (low, high) of a series drawn over its bars."""
    rows = _rows(labels)
    groups = names(series, "series")
    known = dict(zip(series, groups, strict=True))
    limits = intervals or {}
    if strangers := set(limits) - set(series):
        raise InvalidInput(f"intervals names {sorted(map(str, strangers))}, which series does not.")
    records: list[Spec] = []
    everything: list[float | None] = []
    for key, group in known.items():
        heights = column(series[key], f"series[{key!r}]", note)
        same_length(len(rows), "labels", **{f"series[{key!r}]": heights})
        everything += heights
        low: Sequence[float | None] = [None] * len(rows)
        high: Sequence[float | None] = low
        if key in limits:
            low, high = _interval(limits[key], len(rows), f"intervals[{key!r}]", note)
        for label, v, a, b in zip(rows, heights, low, high, strict=True):
            record: Spec = {"label": label, "series": group, "v": v, "t": cell_text(v)}
            if key in limits:
                record |= {"low": a, "high": b, "interval": f"{cell_text(a)} … {cell_text(b)}"}
            records.append(record)
    offset = {"field": "series", "type": "nominal", "sort": None, "scale": {"domain": groups}}
    place = {"y": _label_axis(rows, label_title), "yOffset": offset}
    x = _value_axis(value_title)
    tips = [("label", label_title or "label"), ("series", "series"), ("t", value_title)]
    colour = {
        "field": "series",
        "type": "nominal",
        "title": None,
        "scale": {"domain": groups, "range": [PALETTE[k % len(PALETTE)] for k in range(len(groups))]},
    }
    encoding = {**place, "x": x, "color": colour, "tooltip": _tips(*tips)}
    layers: list[Spec] = [{"mark": {"type": "bar"}, "encoding": encoding}]
    if limits:
        layers += _whiskers(place, x, _tips(*tips, ("interval", "interval")), over_bars=True)
    return chart(
        {"data": {"values": records}, "layer": layers},
        title=title,
        description=(
            f"{title}. Grouped bar chart of {value_title} for {len(rows)} labels in {len(groups)} series: "
            f"{', '.join(groups)}{spread(everything)}."
        ),
        notes=[note],
        width=_WIDTH,
        height=_height(len(rows), 8 + 14 * len(groups)),
    )


def dots_with_intervals(
    labels: Iterable[object],
    values: Iterable[object],
    low: Iterable[object],
    high: Iterable[object],
    *,
    title: str,
    value_title: str,
    label_title: str | None = None,
    reference: float | None = None,
    reference_label: str | None = None,
    note: str | None = None,
) -> Spec:
    """Return a dot at each value with its interval; unlike bars, the axis need not begin at zero."""
    rows, dots = _labelled(labels, values, note)
    below, above = _interval((low, high), len(rows), "low and high", note)
    records = [
        {"label": name, "v": v, "low": a, "high": b, "t": cell_text(v), "interval": f"{cell_text(a)} … {cell_text(b)}"}
        for name, v, a, b in zip(rows, dots, below, above, strict=True)
    ]
    place = {"y": _label_axis(rows, label_title)}
    x = _value_axis(value_title, zero=False)
    shown = [one for side in (dots, below, above, [reference]) for one in side if one is not None]
    x["scale"] |= {"padding": 8, **_ends(shown)}
    tips = _tips(("label", label_title or "label"), ("t", value_title), ("interval", "interval"))
    layers = [
        *_whiskers(place, x, tips),
        {
            "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1, "color": PALETTE[0]},
            "encoding": {**place, "x": x, "tooltip": tips},
        },
        *_reference(reference, reference_label),
    ]
    return chart(
        {"data": {"values": records}, "layer": layers},
        title=title,
        description=f"{title}. {value_title} with its interval for {len(rows)} labels{spread(dots)}.",
        notes=[note],
        width=_WIDTH,
        height=_height(len(rows), 22),
    )


def _rows(labels: Iterable[object]) -> list[str]:
    rows = names(labels, "labels")
    if len(rows) > _MOST_LABELS:
        raise InvalidInput(
            f"labels has {len(rows)} entries; a chart with one row for each can show at most {_MOST_LABELS}. "
            "Pass the largest values only, or draw their distribution with lines()."
        )
    return rows


def _labelled(
    labels: Iterable[object], values: Iterable[object], note: str | None
) -> tuple[list[str], list[float | None]]:
    rows, numbers = _rows(labels), column(values, "values", note)
    same_length(len(rows), "labels", values=numbers)
    return rows, numbers


def _interval(
    limits: tuple[Iterable[object], Iterable[object]], count: int, argument: str, note: str | None
) -> tuple[list[float | None], list[float | None]]:
    low, high = (column(side, argument, note) for side in limits)
    same_length(count, "labels", **{f"{argument} (low)": low, f"{argument} (high)": high})
    for i, (a, b) in enumerate(zip(low, high, strict=True)):
        if a is not None and b is not None and a > b:
            raise InvalidInput(f"{argument} has low {a!r} above high {b!r} at position {i}. Swap the two.")
    return low, high


def _whiskers(place: Spec, x: Spec, tips: list[Spec], *, over_bars: bool = False) -> list[Spec]:
    """A line from low to high with a cap at either end."""
    known = {"filter": "isValid(datum.low) && isValid(datum.high)"}
    low, high = ({**x, "field": end} for end in ("low", "high"))
    # Over a bar no single colour shows on the bar and on both kinds of page: a dark line in a light one does.
    strokes: list[Spec] = [{"color": "#ffffffc0", "thickness": 4.5}, {"color": "#2b2f36", "thickness": 1.5}]
    layers: list[Spec] = []
    for stroke in strokes if over_bars else [{"thickness": 1.5}]:
        paint = {key: value for key, value in stroke.items() if key == "color"}
        line = {"type": "rule", "strokeWidth": stroke["thickness"], **paint}
        span = {**place, "x": low, "x2": {"field": "high"}, "tooltip": tips}
        layers.append({"transform": [known], "mark": line, "encoding": span})
        for end in (low, high):
            cap = {"type": "tick", "thickness": stroke["thickness"], "size": 8, "orient": "vertical", **paint}
            layers.append({"transform": [known], "mark": cap, "encoding": {**place, "x": end}})
    return layers


def _reference(value: float | None, label: str | None) -> list[Spec]:
    """A dashed line across all rows, and its name above it."""
    if value is None:
        if label is not None:
            raise InvalidInput("reference_label is given without a reference. Pass reference=... as well.")
        return []
    at = real(value, "reference", None)
    text = printable(number(value) if label is None else label)
    data = {"values": [{"at": at, "name": text}]}
    x = {"field": "at", "type": "quantitative"}
    rule = {"type": "rule", "strokeDash": [5, 3], "strokeWidth": 1.5}
    name = {"type": "text", "align": "center", "baseline": "bottom", "dy": -3}
    return [
        {"data": data, "mark": rule, "encoding": {"x": x}},
        {
            "data": data,
            "mark": name,
            "encoding": {"x": x, "y": {"value": 0}, "text": {"field": "name", "type": "nominal"}},
        },
    ]


def _label_axis(rows: Sequence[str], title: str | None) -> Spec:
    return {
        "field": "label",
        "type": "nominal",
        "sort": None,
        "title": None if title is None else printable(title),
        "scale": {"domain": list(rows)},
        "axis": {"labelOverlap": True, "ticks": False, "domain": False},
    }


def _value_axis(title: str, zero: bool = True) -> Spec:
    return {"field": "v", "type": "quantitative", "title": printable(title), "scale": {"zero": zero}}


def _ends(known: list[float]) -> dict[str, float]:
    """Where an axis must end: one of shares, or of leakages, does not go below zero, nor one of shares beyond one."""
    least, most = (min(known), max(known)) if known else (1.0, 1.0)
    ends = {"domainMin": 0.0} if 0 <= least < most / 10 else {}
    return ends | ({"domainMax": 1.0} if least >= 0 and 0.9 < most <= 1 else {})


def _tips(*fields: tuple[str, str]) -> list[Spec]:
    return [{"field": field, "type": "nominal", "title": printable(title)} for field, title in fields]


def _height(count: int, step: int) -> int:
    return max(40, min(count * step, 900))
