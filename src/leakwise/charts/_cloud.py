"""Many single points below the curves that should hold them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from leakwise.charts._lines import lines
from leakwise.charts._plain import column, printable, same_length
from leakwise.charts._theme import Spec
from leakwise.errors import InvalidInput

__all__ = ["cloud"]

_MOST_POINTS = 20_000


def cloud(
    points: tuple[Iterable[object], Iterable[object]],
    curves: Mapping[str, tuple[Iterable[object], Iterable[object]]],
    *,
    name: str,
    title: str,
    x_title: str,
    y_title: str,
) -> Spec:
    """Return a cloud of grey dots ``(x, y)`` with curves over it; ``name`` says in the subtitle what a dot is.

    The curves and titles are those of :func:`lines`. The dots have no tooltip: there are too many of them.
    """
    across, up = column(points[0], "points (x)"), column(points[1], "points (y)")
    same_length(len(across), "x values of points", y=up)
    if not 0 < len(across) <= _MOST_POINTS:
        raise InvalidInput(f"points holds {len(across)} points; a cloud takes from 1 to {_MOST_POINTS}. Pass a part.")
    words = f"{len(across):,} grey dots: {name}."
    spec = lines(curves, title=title, x_title=x_title, y_title=y_title, note=words)
    dots: Spec = {
        "data": {"values": [{"x": a, "y": b} for a, b in zip(across, up, strict=True)]},
        "mark": {"type": "circle", "size": 9, "opacity": 0.35, "color": "#8A8F98", "tooltip": False},
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": printable(x_title)},
            "y": {"field": "y", "type": "quantitative", "title": printable(y_title)},
        },
    }
    return {**spec, "layer": [dots, *spec["layer"]]}
