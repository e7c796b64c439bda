"""The one look: colours that colour-blind readers tell apart, and greys that read on white and on black."""

from __future__ import annotations

import copy
import textwrap
from collections.abc import Sequence
from typing import Any

from leakwise.charts._plain import plain, printable

__all__ = ["PALETTE", "SCHEMA", "Spec", "blend", "chart", "ink_on", "themed"]

Spec = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"

# Okabe and Ito's colours without the yellow, which vanishes on white, and with a grey for the black, which
# vanishes on a dark page.
PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8A8F98"]

# Vega does not wrap a subtitle, and a long one would push the chart into a corner of a wide picture.
_LINE = 76

_NEUTRAL = {"text": "#767B84", "rule": "#80858E", "grid": "#80808038"}
_LIGHT = {"text": "#24292F", "rule": "#57606A", "grid": "#0000001F"}
_DARK = {"text": "#E6E8EB", "rule": "#A9B1BA", "grid": "#FFFFFF24"}


def _config(greys: dict[str, str]) -> Spec:
    text, rule, grid = greys["text"], greys["rule"], greys["grid"]
    return {
        "axis": {
            "labelColor": text,
            "titleColor": text,
            "domainColor": rule,
            "tickColor": rule,
            "gridColor": grid,
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "labelLimit": 220,
            "labelFlush": False,
        },
        "legend": {
            "labelColor": text,
            "titleColor": text,
            "labelFontSize": 11,
            "titleFontSize": 12,
            "titleFontWeight": "normal",
            "labelLimit": 260,
            "symbolOpacity": 1,
        },
        "title": {
            "color": text,
            "subtitleColor": text,
            "fontSize": 14,
            "subtitleFontSize": 11,
            "anchor": "start",
            "frame": "group",
            "offset": 12,
        },
        "text": {"color": text, "fontSize": 11},
        "rule": {"color": rule},
        "tick": {"color": rule},
        "view": {"stroke": None},
        "range": {"category": PALETTE},
    }


def chart(body: Spec, *, title: str, description: str, notes: Sequence[str | None] = (), **size: float | Spec) -> Spec:
    """A complete specification: the body with its title, notes (as a subtitle), description and the look."""
    sentences = [printable(note) for note in notes if note]
    shown = [line for sentence in sentences for line in textwrap.wrap(sentence, _LINE)]
    heading: Spec = {"text": printable(title)}
    if shown:
        heading["subtitle"] = shown
    spec = {
        "$schema": SCHEMA,
        "title": heading,
        "description": printable(" ".join([description, *sentences])),
        "background": "transparent",
        **size,
        **body,
        "config": _config(_NEUTRAL),
    }
    result: Spec = plain(spec)
    return result


def themed(spec: Spec, dark: bool) -> Spec:
    """Return the same chart with the greys of a light or of a dark page in place of those that suit both.

    The background stays transparent: the page is the background.
    """
    result = copy.deepcopy(spec)
    config = result.setdefault("config", {})
    for part, settings in _config(_DARK if dark else _LIGHT).items():
        present = config.get(part)
        config[part] = {**present, **settings} if isinstance(present, dict) else settings
    return result


def _rgb(colour: str) -> tuple[float, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def blend(colours: Sequence[str], position: float) -> str:
    """Return the colour at a position in [0, 1] along evenly spaced stops.

    >>> blend(["#000000", "#ffffff"], 0.5)
    '#808080'
    """
    scaled = position * (len(colours) - 1)
    below = min(int(scaled), len(colours) - 2)
    share = scaled - below
    pairs = zip(_rgb(colours[below]), _rgb(colours[below + 1]), strict=True)
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in pairs)


def ink_on(colour: str) -> str:
    """Black or white, whichever has the larger WCAG contrast on a colour; it is 4.58 at the least.

    >>> ink_on("#fde725"), ink_on("#440154")
    ('#000000', '#ffffff')
    """
    parts = (c / 255 for c in _rgb(colour))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if (luminance + 0.05) ** 2 > 1.05 * 0.05 else "#ffffff"
