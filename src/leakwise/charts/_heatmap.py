"""Matrices as colours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from leakwise.charts._plain import display_width, matrix, names, printable
from leakwise.charts._theme import Spec, blend, chart, ink_on
from leakwise.charts.table import number
from leakwise.errors import InvalidInput

__all__ = ["heatmap"]

Array = np.ndarray[Any, np.dtype[np.float64]]

# Both get lighter or darker all the way, and change their hue, so they survive colour blindness and a grey printer.
_SEQUENTIAL = ["#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725"]
_DIVERGING = ["#d6ecfb", "#aed3ec", "#8fbcdb", "#aeaba7", "#cf8a4a", "#b4561a", "#6f2c03"]
_MISSING = "#cccccc"

_MOST_COLUMNS_WITH_TEXT = 14
_ROW_WITH_TEXT = 14  # pixels
_DIGIT = 6.4  # pixels, in a wide font of the size of the numbers
_MOST_LEANING = 12
_LARGEST_WITH_GAPS = 60
_LARGEST_DRAWN = 100


def heatmap(
    row_labels: Iterable[object],
    column_labels: Iterable[object],
    values: Any,
    *,
    title: str,
    value_title: str,
    row_title: str,
    column_title: str,
    diverging_at: float | None = None,
    exact: Sequence[Sequence[str]] | None = None,
    note: str | None = None,
) -> Spec:
    """Return a matrix as a heat map: one cell for each row and column label.

    Up to 14 columns the cells carry their numbers. From 61 rows or columns on the cells touch, and beyond 100
    neighbouring entries are drawn as the mean of a block; the subtitle says so and the tooltip gives the least and the
    largest.

    Parameters
    ----------
    values
        Rows of finite numbers; None where `note` says what is missing.
    diverging_at
        The value that gets the neutral colour; both sides then change colour at the same rate.
    exact
        Texts of the same shape, such as fractions, for the tooltip; a block of entries shows none.
    note
        A sentence below the title.
    """
    rows, columns = names(row_labels, "row_labels"), names(column_labels, "column_labels")
    table = matrix(values, len(rows), len(columns), note)
    if exact is not None and (len(exact) != len(rows) or any(len(row) != len(columns) for row in exact)):
        raise InvalidInput(f"exact must have the shape of values, {len(rows)} × {len(columns)}.")
    finite = table[~np.isnan(table)]
    if finite.size == 0:
        raise InvalidInput("values holds nothing but None. Give at least one number.")
    least, largest = float(finite.min()), float(finite.max())
    if diverging_at is not None and not math.isfinite(diverging_at):
        raise InvalidInput(f"diverging_at must be a finite number. Got {diverging_at!r} instead.")

    notes: list[str | None] = [note]
    size = max(len(rows), len(columns))
    if size > _LARGEST_DRAWN:
        records, rows, columns, block = _blocks(table, rows, columns)
        notes.append(f"Each cell is the mean of up to {block[0]} × {block[1]} entries.")
        tooltip = [("t", f"mean {value_title}"), ("least", "least"), ("largest", "largest")]
        finite = np.array([record["v"] for record in records if record["v"] is not None])
    else:
        records = _cells(table, rows, columns, exact)
        tooltip = [("t", value_title)] + ([("exact", "exact")] if exact is not None else [])

    ends = float(finite.min()), float(finite.max())
    domain, colours = _colour_scale(*ends, diverging_at)
    middle = (domain[0] + domain[-1]) / 2 if diverging_at is None else diverging_at
    ticks = sorted({domain[0], middle, domain[-1]})
    padding = 0.03 if size <= _LARGEST_WITH_GAPS else 0.0
    place = {
        "x": _band("c", column_title, columns, padding, {"orient": "top", **_slant(columns)}),
        "y": _band("r", row_title, rows, padding, {}),
    }
    fill = {
        "field": "v",
        "type": "quantitative",
        "title": printable(value_title),
        "scale": {"domain": domain, "range": colours, "interpolate": "rgb", "clamp": True},
        "legend": {"gradientLength": 140, "values": ticks, "format": ".3~g"},
    }
    tips = [
        {"field": field, "type": "nominal", "title": printable(name)}
        for field, name in [("r", row_title), ("c", column_title), *tooltip]
    ]
    layers: list[Spec] = [
        {"mark": {"type": "rect", "invalid": "filter"}, "encoding": {**place, "color": fill, "tooltip": tips}}
    ]
    if np.isnan(table).any():
        layers.append(
            {
                "transform": [{"filter": "datum.v === null"}],
                "mark": {"type": "rect", "color": _MISSING},
                "encoding": {**place, "tooltip": tips},
            }
        )
    wide, high = _extent(len(columns), widest=46), _extent(len(rows), widest=26)
    if len(columns) <= _MOST_COLUMNS_WITH_TEXT and size <= _LARGEST_DRAWN:
        high = max(high, _ROW_WITH_TEXT * len(rows))
        for record in records:
            record["ink"] = _ink(record["v"], domain, colours)
            record["s"] = _short(record["v"], int((1 - padding) * wide / len(columns) / _DIGIT))
        ink = {"field": "ink", "type": "nominal", "scale": None}
        layers.append(
            {
                "mark": {"type": "text", "fontSize": 10, "tooltip": False},
                "encoding": {**place, "text": {"field": "s", "type": "nominal"}, "color": ink},
            }
        )
    description = (
        f"{title}. Heat map of {value_title}, {table.shape[0]} rows ({row_title}) by "
        f"{table.shape[1]} columns ({column_title}), from {number(least)} to {number(largest)}."
    )
    return chart(
        # The ink of a number is a colour of its own and not one of the scale.
        {"data": {"values": records}, "layer": layers, "resolve": {"scale": {"color": "independent"}}},
        title=title,
        description=description,
        notes=notes,
        width=wide,
        height=high,
    )


def _cells(
    table: Array, rows: Sequence[str], columns: Sequence[str], exact: Sequence[Sequence[str]] | None
) -> list[Spec]:
    records = []
    for i, row in enumerate(table.tolist()):
        for j, value in enumerate(row):
            record: Spec = {"r": rows[i], "c": columns[j], "v": None, "t": "—"}
            if not math.isnan(value):
                record |= {"v": value, "t": number(value)}
            if exact is not None:
                record["exact"] = printable(exact[i][j])
            records.append(record)
    return records


def _blocks(
    table: Array, rows: Sequence[str], columns: Sequence[str]
) -> tuple[list[Spec], list[str], list[str], tuple[int, int]]:
    """The matrix in blocks of equal size, so that at most `_LARGEST_DRAWN` remain on each side."""
    high, wide = (math.ceil(n / _LARGEST_DRAWN) for n in table.shape)
    row_names = [_span(rows[i : i + high]) for i in range(0, len(rows), high)]
    column_names = [_span(columns[j : j + wide]) for j in range(0, len(columns), wide)]
    records: list[Spec] = []
    for i, row_name in enumerate(row_names):
        for j, column_name in enumerate(column_names):
            block = table[i * high : (i + 1) * high, j * wide : (j + 1) * wide]
            known = block[~np.isnan(block)]
            record: Spec = {"r": row_name, "c": column_name, "v": None, "t": "—", "least": "—", "largest": "—"}
            # A block with a gap in it has no mean; its known entries still have a least and a largest.
            if known.size:
                record |= {"least": number(float(known.min())), "largest": number(float(known.max()))}
            if known.size == block.size:
                mean = float(known.mean())
                record |= {"v": mean, "t": number(mean)}
            records.append(record)
    if all(record["v"] is None for record in records):
        raise InvalidInput("Every block of values holds a None, so no mean can be drawn. Give fewer labels.")
    return records, row_names, column_names, (high, wide)


def _span(labels: Sequence[str]) -> str:
    return labels[0] if len(labels) == 1 else f"{labels[0]} … {labels[-1]}"


def _colour_scale(least: float, largest: float, middle: float | None) -> tuple[list[float], list[str]]:
    """Domain stops and their colours, piecewise linear; the legend then spans exactly what occurs."""
    if middle is None:
        if least == largest:
            # One value has no scale of its own; zero is the other end that means something.
            least, largest = (min(least, 0.0), max(least, 0.0)) if least else (0.0, 1.0)
        stops = np.linspace(least, largest, len(_SEQUENTIAL)).tolist()
        return stops, list(_SEQUENTIAL)
    reach = max(abs(largest - middle), abs(least - middle)) or 1.0
    low, high = min(least, middle), max(largest, middle)
    if low == high:
        low, high = middle - reach, middle + reach
    inner = [middle + reach * (k / 3 - 1) for k in range(7)]
    stops = sorted({low, high, middle, *(s for s in inner if low < s < high)})
    return stops, [blend(_DIVERGING, min(max((s - middle) / reach / 2 + 0.5, 0.0), 1.0)) for s in stops]


def _ink(value: float | None, domain: Sequence[float], colours: Sequence[str]) -> str:
    if value is None:
        return ink_on(_MISSING)
    k = min(max(int(np.searchsorted(domain, value, side="right")) - 1, 0), len(domain) - 2)
    width = domain[k + 1] - domain[k]
    share = min(max((value - domain[k]) / width, 0.0), 1.0) if width > 0 else 0.0
    return ink_on(blend(colours[k : k + 2], share))


def _short(value: float | None, room: int) -> str:
    """The number with as many digits as have room in a cell, four at most."""
    if value is None:
        return "—"
    texts = [number(value, digits) for digits in (4, 3, 2, 1)] + ([f"{value:.0f}"] if abs(value) >= 1 else [])
    return next((text for text in texts if len(text) <= room), f"{value:.0e}")


def _band(field: str, title: str, labels: Sequence[str], padding: float, axis: Spec) -> Spec:
    return {
        "field": field,
        "type": "nominal",
        "sort": None,
        "title": printable(title),
        "scale": {"domain": list(labels), "paddingInner": padding},
        "axis": {"labelOverlap": True, "ticks": False, "domain": False, "labelLimit": 140, **axis},
    }


def _slant(labels: Sequence[str]) -> Spec:
    """Labels lie flat where they fit, lean where there is some room, and stand where there is none."""
    if max(map(display_width, labels)) * 6.5 <= _extent(len(labels), widest=46) / len(labels):
        return {"labelAngle": 0}
    if len(labels) <= _MOST_LEANING:
        # The boxes around labels that lean overlap where the labels do not, and half of them would be dropped.
        return {"labelAngle": -40, "labelAlign": "left", "labelOverlap": False}
    return {"labelAngle": -90, "labelAlign": "left"}


def _extent(count: int, widest: int) -> int:
    # Whole pixels for each cell: a fraction would show as hairlines between them.
    return count * min(widest, max(560 // count, 1))
