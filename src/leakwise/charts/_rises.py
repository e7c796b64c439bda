"""How far something rises, one row for each label: from a ring to a dot, with what is allowed, and words beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from leakwise.charts._plain import column, names, printable, same_length
from leakwise.charts._theme import PALETTE, Spec, chart

__all__ = ["rises"]

_WIDTH = 300
_STEP = 26
_LARGE = 5.0  # beyond so many times the least a linear axis has no room left for what is small


def rises(
    labels: Iterable[object],
    before: Iterable[object],
    after: Iterable[object],
    texts: Sequence[str],
    *,
    allowed: Iterable[object],
    title: str,
    value_title: str,
    least: float = 0.0,
    shares: bool = False,
    notes: Sequence[str | None] = (),
) -> Spec:
    """Return a row for each label: a ring, a line to a dot, a mark at what is allowed, and its text to the right.

    Parameters
    ----------
    before, after, allowed
        Where ring, dot and mark are; None for a dot or a mark that is nowhere, which the text then explains.
    least
        Where the axis begins.
    shares
        Whether the numbers are shares, shown in percent.
    """
    rows, note = names(labels, "labels"), "None: it is nowhere."
    start, end = column(before, "before", note), column(after, "after", note)
    most = column(allowed, "allowed", note)
    same_length(len(rows), "labels", before=start, after=end, allowed=most, texts=texts)
    records: list[Spec] = [
        {"label": name, "a": a, "b": b, "m": m, "t": printable(text), "over": b is not None and m is not None and b > m}
        for name, a, b, m, text in zip(rows, start, end, most, texts, strict=True)
    ]
    known = [value for side in (start, end, most) for value in side if value is not None]
    large = 0 < _LARGE * least < max(known)
    scale: Spec = {"domainMin": least, **({"type": "log"} if large else {"zero": least == 0})}
    if max(known) <= least:
        scale["domainMax"] = 2 * least or 1.0
    axis: Spec = {"format": "%" if shares else "~g", "tickCount": 5, "orient": "bottom"}
    x: Spec = {"type": "quantitative", "title": printable(value_title), "scale": scale, "axis": axis}
    y: Spec = {
        "field": "label",
        "type": "nominal",
        "sort": None,
        "title": None,
        "scale": {"domain": rows},
        "axis": {"ticks": False, "domain": False, "labelPadding": 10},
    }
    colour = {"condition": {"test": "datum.over", "value": PALETTE[1]}, "value": PALETTE[0]}
    there = [{"filter": "isValid(datum.b)"}]
    layers: list[Spec] = [
        {
            "transform": there,
            "mark": {"type": "rule", "strokeWidth": 3},
            "encoding": {"y": y, "x": {**x, "field": "a"}, "x2": {"field": "b"}, "color": colour},
        },
        {
            "mark": {"type": "point", "filled": False, "size": 70, "strokeWidth": 2, "opacity": 1},
            "encoding": {"y": y, "x": {**x, "field": "a"}, "color": colour},
        },
        {
            "transform": there,
            "mark": {"type": "point", "filled": True, "size": 90, "opacity": 1},
            "encoding": {"y": y, "x": {**x, "field": "b"}, "color": colour},
        },
        {
            "transform": [{"filter": "isValid(datum.m)"}],
            "mark": {"type": "tick", "thickness": 2, "size": 18, "orient": "vertical"},
            "encoding": {"y": y, "x": {**x, "field": "m"}},
        },
        {
            "mark": {"type": "text", "align": "left", "baseline": "middle"},
            "encoding": {"y": y, "x": {"value": _WIDTH + 14}, "text": {"field": "t", "type": "nominal"}},
        },
    ]
    told = " ".join(f"{name}: {text}." for name, text in zip(rows, texts, strict=True))
    return chart(
        {"data": {"values": records}, "layer": layers},
        title=title,
        description=f"{title}. {printable(told)}",
        notes=notes,
        width=_WIDTH,
        height=_STEP * len(rows),
    )
