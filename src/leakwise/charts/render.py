"""Charts as pictures, pages and notebook objects, without a request to anywhere (extra ``plots``)."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html import escape
from os import PathLike
from pathlib import Path
from typing import Any

from leakwise.charts._plain import plain
from leakwise.charts._theme import Spec
from leakwise.charts.page import html_page
from leakwise.documents import write_atomically
from leakwise.errors import InvalidInput, did_you_mean, require

__all__ = ["checked_suffix", "html", "inline", "javascript", "png", "save", "script_json", "svg", "to_altair"]

_SUFFIXES = (".json", ".html", ".svg", ".png")
_EXTRA = "plots"
_MOST_RECORDS = 200
_MOST_SVG = 400_000  # characters
# The renderer measures texts in Liberation Sans; DejaVu Sans and Verdana, which many readers have in its place, are up
# to this much wider.
_WIDER = 1.2


def to_altair(spec: Spec) -> Any:
    """Return the chart as an Altair object, checked against the Vega-Lite schema; a notebook shows it as it is."""
    altair = require("altair", extra=_EXTRA, purpose="Showing a chart in a notebook")
    return altair.Chart.from_dict(_packed(plain(spec)))


def _packed(part: Any) -> Any:
    """The same specification with every long list of records as one JSON text, which Vega reads as well.

    Altair checks each record against the schema, which takes half a minute for ten thousand of them.
    """
    if isinstance(part, list):
        return [_packed(entry) for entry in part]
    if not isinstance(part, dict):
        return part
    packed = {key: _packed(entry) for key, entry in part.items() if key != "data"}
    if "data" in part:
        data = part["data"]
        long = isinstance(data, dict) and isinstance(data.get("values"), list)
        if long and len(data["values"]) > _MOST_RECORDS and "format" not in data:
            data = {**data, "values": json.dumps(data["values"]), "format": {"type": "json"}}
        packed["data"] = data
    return packed


def svg(spec: Spec) -> str:
    """Return the chart as one SVG element, named for screen readers by the chart's description.

    Nothing is cut off where the reader's font is up to a fifth wider than the renderer's.
    """
    convert = require("vl_convert", extra=_EXTRA, purpose="Drawing a chart as SVG")
    checked = plain(spec)
    # No base address is allowed, so that a chart cannot make the renderer fetch anything.
    sizes: dict[float, float] = {}
    drawn = str(convert.vegalite_to_svg(_roomy(checked, sizes), allowed_base_urls=[]))
    drawn = re.sub(r'(?<= font-size=")([\d.]+)(?=px")', lambda found: _as_asked(found[1], sizes), drawn)
    name = escape(str(checked.get("description", "chart")), quote=True)
    return _own_names(drawn, checked).replace("<svg ", f'<svg role="img" aria-label="{name}" ', 1)


def _roomy(part: Any, sizes: dict[float, float]) -> Any:
    """The same specification with texts enlarged, so that it is laid out for a wider font; notes the sizes asked for.

    The drawing then gets back the sizes that were asked for and keeps the room.
    """
    if isinstance(part, list):
        return [_roomy(entry, sizes) for entry in part]
    if not isinstance(part, dict):
        return part
    roomy = {}
    for key, entry in part.items():
        text = key.lower().endswith(("fontsize", "limit")) and isinstance(entry, int | float)
        if text:
            roomy[key] = round(_WIDER * entry, 3)
            sizes[roomy[key]] = entry
        else:
            roomy[key] = entry if key in ("data", "datasets") else _roomy(entry, sizes)
    return roomy


def _as_asked(size: str, sizes: dict[float, float]) -> str:
    return f"{sizes[float(size)]:g}" if float(size) in sizes else size


def _own_names(drawn: str, spec: Spec) -> str:
    """The drawing with its gradients and clips named after its content.

    The renderer counts them from the start of the process: the same chart would differ from run to run, and two
    charts of different runs in one page would use each other's gradients.
    """
    mark = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:10]
    known = dict.fromkeys(re.findall(r'<(?:linearGradient|radialGradient|clipPath) id="([^"]+)"', drawn))
    names = {old: f"lw-{mark}-{k}" for k, old in enumerate(known)}

    def renamed(match: re.Match[str]) -> str:
        return match[1] + names.get(match[2], match[2]) + match[3]

    return re.sub(r'(="(?:url\(#)?)([\w-]+)(\)?")', renamed, drawn)


def png(spec: Spec) -> bytes:
    """Return the chart as a PNG, at twice the resolution of a plain screen."""
    convert = require("vl_convert", extra=_EXTRA, purpose="Drawing a chart as PNG")
    return bytes(convert.vegalite_to_png(plain(spec), scale=2.0, allowed_base_urls=[]))


def inline(spec: Spec) -> str:
    """Return the chart as an element for a notebook: SVG, or a PNG where that makes the notebook's file smaller."""
    drawn = svg(spec)
    if len(drawn) > _MOST_SVG:
        name = escape(str(plain(spec).get("description", "chart")), quote=True)
        picture = base64.b64encode(png(spec)).decode("ascii")
        image = f'<img style="max-width:100%" alt="{name}" src="data:image/png;base64,{picture}">'
        drawn = min(drawn, image, key=len)
    return f'<div style="overflow-x:auto">{drawn}</div>'


def javascript() -> str:
    """Vega, Vega-Lite and Vega-Embed in one script, to serve or to put into a page; sets ``window.vegaEmbed``."""
    convert = require("vl_convert", extra=_EXTRA, purpose="Making a page with charts")
    return str(convert.javascript_bundle())


def script_json(spec: Spec) -> str:
    """Return the specification as JSON that may stand inside a ``<script>`` element.

    A label such as ``</script>`` would otherwise end the element and run as markup.

    >>> script_json({"title": "</script>"})
    '{"title": "\\\\u003c/script\\\\u003e"}'
    """
    text = json.dumps(plain(spec), ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def html(spec: Spec) -> str:
    """Return the chart as a page that carries its own scripts; its content policy forbids any outside request."""
    heading = spec.get("title", "Chart")
    name = heading.get("text", "Chart") if isinstance(heading, dict) else heading
    description = escape(str(spec.get("description", name)), quote=True)
    # The editor action would send the data to another host, so only the downloads are offered.
    actions = {"export": True, "source": False, "compiled": False, "editor": False}
    options = json.dumps({"renderer": "svg", "actions": actions})
    body = f"""<div id="chart" role="img" aria-label="{description}"></div>
<script id="spec" type="application/json">{script_json(spec)}</script>
<script>
vegaEmbed("#chart", JSON.parse(document.getElementById("spec").textContent), {options}).catch(console.error);
</script>
"""
    style = "body { margin: 1.5rem; font-family: system-ui, sans-serif; }"
    return html_page(str(name), body, style=style, script=javascript())


def checked_suffix(path: Path, name: str = "path") -> str:
    """Return the suffix that chooses the format of a picture; another one is refused."""
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise InvalidInput(
            f"{name} must end in one of {', '.join(_SUFFIXES)}. Got {str(path)!r} instead."
            f"{did_you_mean(suffix, _SUFFIXES) if suffix else ''}"
        )
    return suffix


def save(spec: Spec, path: str | PathLike[str]) -> Path:
    """Write the chart to a file, atomically, and return its path; the suffix chooses the format.

    ``.json`` is the specification, ``.html`` a self-contained page, ``.svg`` and ``.png`` are pictures.
    """
    target = Path(path)
    suffix = checked_suffix(target)
    if suffix == ".png":
        content = png(spec)
    elif suffix == ".json":
        content = (json.dumps(plain(spec), ensure_ascii=False, allow_nan=False, indent=1) + "\n").encode()
    else:
        content = (html(spec) if suffix == ".html" else svg(spec)).encode()
    write_atomically(target, content)
    return target
