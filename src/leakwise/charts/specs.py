"""Charts as Vega-Lite specifications: plain dictionaries with their data inside.

Every function checks its numbers (NaN and infinity are refused; None is drawn as a gap where ``note=`` says what it
stands for), escapes what a label must not contain, and describes the chart in words for those who do not see it.
"""

from __future__ import annotations

from leakwise.charts._bars import bars, dots_with_intervals, grouped_bars
from leakwise.charts._cloud import cloud
from leakwise.charts._heatmap import heatmap
from leakwise.charts._lines import lines
from leakwise.charts._plain import plain
from leakwise.charts._rises import rises
from leakwise.charts._theme import SCHEMA, Spec, blend, ink_on, themed
from leakwise.errors import InvalidInput

__all__ = [
    "Spec",
    "bars",
    "beside",
    "blend",
    "cloud",
    "dots_with_intervals",
    "grouped_bars",
    "heatmap",
    "ink_on",
    "lines",
    "rises",
    "themed",
    "vertical",
]

# What only the outermost specification may say.
_OUTER = ("$schema", "background", "config")


def vertical(*specs: Spec) -> Spec:
    """Return the charts one below the other, as one chart."""
    return _joined("vconcat", specs)


def beside(*specs: Spec) -> Spec:
    """Return the charts side by side, as one chart."""
    return _joined("hconcat", specs)


def _joined(how: str, specs: tuple[Spec, ...]) -> Spec:
    if not specs:
        raise InvalidInput("There is nothing to join. Pass at least one specification.")
    result: Spec = plain(
        {
            "$schema": SCHEMA,
            "description": " ".join(spec["description"] for spec in specs if "description" in spec),
            "background": "transparent",
            how: [{key: value for key, value in spec.items() if key not in _OUTER} for spec in specs],
            "spacing": 28,
            # Colours mean something else in each part, so none may borrow its neighbour's legend.
            "resolve": {"scale": {"color": "independent", "strokeDash": "independent"}},
            "config": specs[0].get("config", {}),
        }
    )
    return result
