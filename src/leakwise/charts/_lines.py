"""Curves: series over a common axis, with bands and marked places."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from leakwise.charts._plain import column, display_width, names, printable, real, same_length
from leakwise.charts._theme import PALETTE, Spec, chart
from leakwise.charts.table import cell_text, spread
from leakwise.errors import InvalidInput

__all__ = ["lines"]

_MOST_POINTS = 20_000
_MOST_WITH_DOTS = 25
_WIDTH, _HEIGHT = 460, 280
_NARROWEST = 260  # pixels: what is left for the curves on a phone
_CLOSE = 5  # pixels: nearer lines share a label
_LETTER, _LINE = 7.0, 13  # pixels: the width and the height of a letter of a label, in a wide font
_DASHES = [[1, 0], [7, 3], [2, 2], [9, 3, 2, 3], [4, 4]]


def lines(
    series: Mapping[str, tuple[Iterable[object], Iterable[object]]],
    *,
    title: str,
    x_title: str,
    y_title: str,
    step: bool = False,
    rules: Sequence[tuple[float, str]] = (),
    bands: Mapping[str, tuple[Iterable[object], Iterable[object], Iterable[object]]] | None = None,
    x_log: bool = False,
    y_log: bool = False,
    note: str | None = None,
) -> Spec:
    """Curves told apart by colour and by dash.

    Parameters
    ----------
    series
        Name to ``(x, y)``. Points are joined in the order of x; a y of None (with a `note`) breaks the line.
    step
        Draw the right-continuous step function that jumps at each x.
    rules
        ``(x, label)``: vertical lines at marked places. Labels that would collide stand above each other; lines too
        close to be told apart share one.
    bands
        Name to ``(x, low, high)``: a shaded area in the colour of the series of that name.
    x_log, y_log
        Logarithmic axes; everything on them must be positive.
    """
    groups = names(series, "series")
    if extra := [name for name in (bands or {}) if name not in series]:
        groups = names([*series, *extra], "bands")
    colours = {
        "field": "series",
        "type": "nominal",
        "sort": None,
        "title": None,
        "scale": {"domain": groups, "range": [PALETTE[k % len(PALETTE)] for k in range(len(groups))]},
        "legend": None if len(groups) == 1 else {"symbolType": "stroke", "symbolSize": 300},
    }
    dashes = {
        **{key: colours[key] for key in ("field", "type", "sort", "title", "legend")},
        "scale": {"domain": groups, "range": [_DASHES[k % len(_DASHES)] for k in range(len(groups))]},
    }
    keys = dict(zip([*series, *extra], groups, strict=True))
    points, heights = _points(series, keys, note)
    areas = _areas(bands or {}, keys, note)
    marks = [{"at": real(x, "rules", None), "name": printable(label)} for x, label in rules]
    _check_positive(x_log, "x_log", [p["x"] for p in (*points, *areas)] + [m["at"] for m in marks])
    _check_positive(y_log, "y_log", [*heights, *(a[end] for a in areas for end in ("low", "high"))])

    x = _axis("x", x_title, x_log)
    y = _axis("y", y_title, y_log)
    shape = {"interpolate": "step-after"} if step else {}
    layers: list[Spec] = []
    if areas:
        layers.append(
            {
                "data": {"values": areas},
                "mark": {"type": "area", "opacity": 0.22, **shape},
                "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colours},
            }
        )
    few = len(points) <= _MOST_WITH_DOTS * len(series)
    tips = [
        {"field": field, "type": "nominal", "title": printable(name)}
        for field, name in [("series", "series"), ("tx", x_title), ("ty", y_title)]
    ]
    layers.append(
        {
            "data": {"values": points},
            "mark": {"type": "line", "strokeWidth": 2, "invalid": "break-paths-show-path-domains", **shape},
            "encoding": {"x": x, "y": y, "color": colours, **({"strokeDash": dashes} if len(groups) > 1 else {})},
        }
    )
    # Dots carry the tooltip; on a dense curve they are there for the pointer and not for the eye.
    layers.append(
        {
            "data": {"values": points},
            "mark": {"type": "point", "filled": True, "size": 36, "opacity": 1 if few and not step else 0},
            "encoding": {"x": x, "y": y, "color": colours, "tooltip": tips},
        }
    )
    if marks:
        layers += _rules(marks, [p["x"] for p in (*points, *areas)], x_log)
    return chart(
        {"layer": layers},
        title=title,
        description=f"{title}. Line chart of {y_title} over {x_title}: {', '.join(groups)}{spread(heights)}.",
        notes=[note],
        width=_WIDTH,
        height=_HEIGHT,
    )


def _points(
    series: Mapping[str, tuple[Iterable[object], Iterable[object]]], keys: Mapping[str, str], note: str | None
) -> tuple[list[Spec], list[float | None]]:
    points: list[Spec] = []
    heights: list[float | None] = []
    for key, (across, up) in series.items():
        xs, ys = column(across, f"series[{key!r}] (x)"), column(up, f"series[{key!r}] (y)", note)
        same_length(len(xs), f"x values of series {key!r}", y=ys)
        if not xs:
            raise InvalidInput(f"series[{key!r}] has no points. Give at least one, or leave the series out.")
        heights += ys
        for a, b in zip(xs, ys, strict=True):
            points.append({"series": keys[key], "x": a, "y": b, "tx": cell_text(a), "ty": cell_text(b)})
    if len(points) > _MOST_POINTS:
        raise InvalidInput(
            f"series holds {len(points)} points; a chart takes at most {_MOST_POINTS}. "
            "Pass every k-th point, or the corners only."
        )
    return points, heights


def _areas(
    bands: Mapping[str, tuple[Iterable[object], Iterable[object], Iterable[object]]],
    keys: Mapping[str, str],
    note: str | None,
) -> list[Spec]:
    areas: list[Spec] = []
    for key, (across, below, above) in bands.items():
        xs = column(across, f"bands[{key!r}] (x)")
        low, high = (column(below, f"bands[{key!r}] (low)", note), column(above, f"bands[{key!r}] (high)", note))
        same_length(len(xs), f"x values of band {key!r}", low=low, high=high)
        for at, a, b in zip(xs, low, high, strict=True):
            if a is not None and b is not None and a > b:
                raise InvalidInput(f"bands[{key!r}] has low {a!r} above high {b!r} at x = {at!r}. Swap the two.")
            areas.append({"series": keys[key], "x": at, "low": a, "high": b})
    return areas


def _rules(marks: Sequence[Spec], known: Sequence[float], log: bool) -> list[Spec]:
    """Lines across the chart, each with its label like a flag above it."""
    x = {"field": "at", "type": "quantitative"}
    flags = _flags(sorted(marks, key=lambda mark: mark["at"]), known, log)
    top = {"field": "top", "type": "quantitative", "scale": None, "axis": None}
    name = {"type": "text", "align": "left", "baseline": "top", "dx": 3}
    text = {"field": "name", "type": "nominal"}
    return [
        {
            "data": {"values": flags},
            "mark": {"type": "rule", "strokeDash": [4, 4]},
            "encoding": {"x": x, "y": top, "y2": {"value": _HEIGHT}},
        },
        {
            "data": {"values": [flag for flag in flags if flag["name"]]},
            "mark": name,
            "encoding": {"x": x, "y": top, "text": text},
        },
    ]


def _flags(marks: Sequence[Spec], known: Sequence[float], log: bool) -> list[Spec]:
    """The marks from the left with where their lines end above the chart: no label lies on a line or another label."""
    place = [math.log(x) if log else x for x in (*known, *(mark["at"] for mark in marks))]
    start, span = min(place), max(place) - min(place) or 1.0
    at = [_NARROWEST * (x - start) / span for x in place[len(known) :]]
    groups: list[list[int]] = []
    for k in range(len(marks)):
        if groups and at[k] - at[groups[-1][0]] < _CLOSE:
            groups[-1].append(k)
        else:
            groups.append([k])
    flags: list[Spec] = []
    standing: list[tuple[float, int]] = []  # the place and the height of each label further to the right
    for group in reversed(groups):
        names, last = [marks[k]["name"] for k in group], group[-1]
        text = ", ".join(names) if len(names) < 3 else f"{names[0]} … {names[-1]}"
        end = at[last] + _LETTER * (display_width(text) + 1)
        height = 1 + max((up for x, up in standing if x < end), default=0)
        standing.append((at[last], height))
        flags.append({"at": marks[last]["at"], "name": text, "top": -_LINE * height})
        flags += [{"at": marks[k]["at"], "name": "", "top": 0} for k in reversed(group[:-1])]
    return flags[::-1]


def _axis(field: str, title: str, log: bool) -> Spec:
    scale: Spec = {"type": "log"} if log else {"zero": False}
    axis: Spec = {"format": "~g", "tickCount": 6} if log else {"grid": field == "y"}
    return {
        "field": field,
        "type": "quantitative",
        "title": printable(title),
        "scale": {**scale, "nice": field == "y" and not log},
        "axis": axis,
    }


def _check_positive(log: bool, argument: str, values: Sequence[float | None]) -> None:
    if log and (bad := [v for v in values if v is not None and v <= 0]):
        raise InvalidInput(
            f"{argument}=True needs positive numbers on that axis. Got {bad[0]!r} instead; "
            "leave such points out or use a linear axis."
        )
