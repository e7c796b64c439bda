"""Pictures and pages, made without a network, and what happens when the extra is missing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from leakwise.charts import render, specs
from leakwise.errors import InvalidInput, MissingExtra

pytest.importorskip("vl_convert")
pytest.importorskip("altair")

NASTY = "</script><script>alert('x')</script><!-- \"q\" & 日本"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def spec() -> dict[str, Any]:
    return specs.bars([NASTY, "b", "c\x1b"], [0.25, 1e-9, 0.5], title=NASTY, value_title="share", reference=0.3)


def every() -> list[Any]:
    x = [0.1, 0.5, 1.0]
    words = {"title": "T", "value_title": "v"}
    heat = specs.heatmap(
        "ab".__iter__(), "cde".__iter__(), [[0, 1, None], [0.2, 0.3, 2]], row_title="r", column_title="c",
        diverging_at=1, note="One cell is infinite.", **words,
    )  # fmt: skip
    curve = specs.lines(
        {"one": (x, x), "two": (x, [3, None, 1])}, title="T", x_title="x", y_title="y", x_log=True,
        rules=[(0.5, "half")], bands={"one": (x, x, [1, 1, 1])}, note="A gap.",
    )  # fmt: skip
    group = specs.grouped_bars(x, {"s": x, "t": x}, {"s": (x, [1, 2, 3])}, **words)
    dots = specs.dots_with_intervals(x, x, x, [1, 2, 3], **words)
    both = specs.vertical(specs.beside(heat, curve), specs.themed(group, dark=True))
    parts = {"heat": heat, "lines": curve, "grouped": group, "dots": dots, "joined": both}
    return [pytest.param(part, id=name) for name, part in parts.items()]


@pytest.mark.parametrize("part", every())
def test_every_kind_of_chart_draws(part: dict[str, Any]) -> None:
    root = ElementTree.fromstring(render.svg(part))
    assert root.tag == f"{SVG}svg"
    assert (root.get("role"), root.get("aria-label")) == ("img", part["description"])
    assert "T" in [text.text for text in root.iter(f"{SVG}text")]
    assert "NaN" not in ElementTree.tostring(root, encoding="unicode")
    assert render.png(part).startswith(b"\x89PNG\r\n\x1a\n")


def test_bars_are_as_long_as_their_values(spec: dict[str, Any]) -> None:
    root = ElementTree.fromstring(render.svg(specs.bars("ab".__iter__(), [1, 3], title="T", value_title="v")))
    bars = [p for p in root.iter(f"{SVG}path") if p.get("aria-roledescription") == "bar"]
    lengths = [float(str(bar.get("d")).partition("h")[2].partition("v")[0]) for bar in bars]
    assert len(lengths) == 2
    assert lengths[1] == pytest.approx(3 * lengths[0])


def test_labels_cannot_become_markup_in_svg(spec: dict[str, Any]) -> None:
    root = ElementTree.fromstring(render.svg(spec))
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {NASTY, "c\\x1b", "1.000e-9"} <= set(texts)
    assert not list(root.iter(f"{SVG}script"))


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scripts: list[str] = []
        self.outside: list[tuple[str, str | None]] = []
        self.title = ""
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        self.outside += [(tag, value) for name, value in attrs if name in ("src", "href")]
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside == "title":
            self.title += data


def test_the_page_carries_everything_and_labels_stay_data(spec: dict[str, Any], tmp_path: Path) -> None:
    page = render.save(spec, tmp_path / "chart.html").read_text(encoding="utf-8")
    reader = _Reader()
    reader.feed(page)
    assert reader.outside == []
    assert len(reader.scripts) == 3
    assert "window.vegaEmbed" in reader.scripts[0]
    assert json.loads(reader.scripts[1]) == spec
    assert reader.title == NASTY
    assert "default-src 'none'" in page


def test_json_round_trip(spec: dict[str, Any], tmp_path: Path) -> None:
    assert json.loads(render.save(spec, str(tmp_path / "chart.json")).read_text(encoding="utf-8")) == spec


@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<svg "), (".PNG", b"\x89PNG")])
def test_pictures_are_written(spec: dict[str, Any], tmp_path: Path, suffix: str, start: bytes) -> None:
    target = render.save(spec, tmp_path / f"chart{suffix}")
    assert target.read_bytes().startswith(start)


@pytest.mark.parametrize("name", ["chart.pdf", "chart", "chart.htm"])
def test_an_unknown_suffix_names_the_known_ones(spec: dict[str, Any], tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput, match=r"\.json, \.html, \.svg, \.png"):
        render.save(spec, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_nan_in_a_spec_of_ones_own_is_refused(spec: dict[str, Any], tmp_path: Path) -> None:
    broken = {**spec, "width": float("nan")}
    for draw in (render.svg, render.png, render.html, render.to_altair, render.script_json):
        with pytest.raises(InvalidInput, match="width"):
            draw(broken)
    with pytest.raises(InvalidInput, match="width"):
        render.save(broken, tmp_path / "chart.json")


def test_nothing_is_fetched(spec: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not allowed"):
        render.svg({**spec, "data": {"url": "https://leakwise.invalid/data.json"}})


def test_altair_objects_have_their_kind(spec: dict[str, Any]) -> None:
    import altair

    assert isinstance(render.to_altair(spec), altair.LayerChart)
    assert isinstance(render.to_altair(specs.vertical(spec, spec)), altair.VConcatChart)


def test_altair_takes_a_large_heatmap_and_draws_the_same_picture() -> None:
    n = 30
    big = specs.heatmap(
        range(n), range(n), [[i * j / n**2 for j in range(n)] for i in range(n)],
        title="T", value_title="v", row_title="r", column_title="c",
    )  # fmt: skip
    shown = render.to_altair(big).to_dict()
    assert isinstance(shown["datasets"][shown["data"]["name"]], str)  # one text, and not 900 records to check
    assert re.sub(r"lw-\w+", "lw", render.svg(shown)) == re.sub(r"lw-\w+", "lw", render.svg(big))


def test_the_same_chart_gives_the_same_svg_and_two_charts_share_no_names() -> None:
    words = {"title": "T", "value_title": "v", "row_title": "r", "column_title": "c"}
    one, two = (specs.heatmap(["a"], ["b", "c"], [[0, top]], **words) for top in (1, 2))
    first, second = render.svg(one), render.svg(two)
    assert render.svg(one) == first
    names, others = (set(re.findall(r' id="([^"]+)"', text)) for text in (first, second))
    assert names
    assert names.isdisjoint(others)
    assert set(re.findall(r"url\(#([^)]+)\)", first)) <= names


@pytest.mark.parametrize(
    ("module", "call"),
    [
        ("altair", render.to_altair),
        ("vl_convert", render.svg),
        ("vl_convert", render.png),
        ("vl_convert", render.html),
    ],
)
def test_a_missing_extra_says_what_to_install(
    spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch, module: str, call: Any
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtra, match=r"leakwise\[plots\]"):
        call(spec)


def test_json_needs_no_extra(spec: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in ("altair", "vl_convert"):
        monkeypatch.setitem(sys.modules, module, None)
    assert render.save(spec, tmp_path / "chart.json").exists()


def test_importing_charts_loads_no_plotting_library() -> None:
    code = "import sys, leakwise.charts\nprint(sorted({'altair', 'vl_convert', 'pandas', 'scipy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("suffix", [".json", ".html", ".svg", ".png"])
def test_a_full_disk_leaves_the_picture_that_was_there(spec, suffix, tmp_path, monkeypatch):
    target = tmp_path / f"chart{suffix}"
    target.write_bytes(b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("leakwise.documents.atomic.os.fsync", full)
    with pytest.raises(InvalidInput, match=r"Cannot write .*No space left"):
        render.save(spec, target)
    assert target.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == [target.name]
