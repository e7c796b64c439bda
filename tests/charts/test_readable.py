"""Charts can be read: in another font, on a grey printer, and where labels come close."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leakwise as lw
from leakwise.charts import render, specs
from leakwise.charts._heatmap import _DIVERGING, _SEQUENTIAL, _colour_scale
from leakwise.charts._theme import blend
from leakwise.papers.extremal_mechanisms import _figure_1_chart
from leakwise.report.pictures import heat_table

pytest.importorskip("vl_convert")

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
# The widths of the letters from ' ' to '~' in DejaVu Sans and its bold, in thousandths of the size: the widest of the
# fonts that browsers take for "sans-serif".
PLAIN, BOLD = (
    [int(width) for width in widths.split()]
    for widths in (
        "318 401 460 838 636 950 780 275 390 390 500 838 318 361 318 337 636 636 636 636 636 636 636 636 636 636 337 "
        "337 838 838 838 531 1000 684 686 698 770 632 575 775 752 295 295 656 557 863 748 787 603 787 695 635 611 732 "
        "684 989 685 611 685 390 337 390 838 500 500 613 635 550 635 615 352 635 634 278 278 579 278 974 634 612 635 "
        "635 411 521 392 634 592 818 592 592 525 636 337 636 838",
        "348 456 521 838 696 1002 872 306 457 457 523 838 380 415 380 365 696 696 696 696 696 696 696 696 696 696 400 "
        "400 838 838 838 580 1000 774 762 734 830 683 683 821 837 372 372 775 637 995 837 850 733 850 770 720 682 812 "
        "774 1103 771 724 725 457 365 457 838 500 500 675 716 593 716 678 435 716 712 343 343 665 343 1042 712 687 716 "
        "716 493 595 478 712 652 924 645 652 582 712 365 712 838",
    )
)
OTHER = 636  # Greek letters and subscripts

Box = tuple[str, float, float, float, float]


def moved(matrix: Any, transform: str) -> Any:
    for kind, given in re.findall(r"(\w+)\(([^)]*)\)", transform):
        numbers = [float(x) for x in re.split(r"[ ,]+", given)]
        step = np.eye(3)
        if kind == "translate":
            step[:2, 2] = numbers
        elif kind == "rotate":
            turn = math.radians(numbers[0])
            step[:2, :2] = [[math.cos(turn), -math.sin(turn)], [math.sin(turn), math.cos(turn)]]
        else:
            raise AssertionError(kind)
        matrix = matrix @ step
    return matrix


def boxes(drawn: str) -> Iterator[Box]:
    """The box of every text of an SVG as a reader with DejaVu Sans sees it: the text, left, top, right, bottom."""

    def walk(node: Any, matrix: Any) -> Iterator[Box]:
        matrix = moved(matrix, node.get("transform", ""))
        if node.tag != f"{SVG}text":
            for child in node:
                yield from walk(child, matrix)
            return
        size = float(node.get("font-size").removesuffix("px"))
        table = BOLD if node.get("font-weight") == "bold" else PLAIN
        down = 0.0
        for line in list(node) or [node]:
            down += float(line.get("dy", 0))
            text = line.text or ""
            width = size / 1000 * sum(table[ord(c) - 32] if " " <= c <= "~" else OTHER for c in text)
            left = {"start": 0.0, "middle": -width / 2, "end": -width}[node.get("text-anchor", "start")]
            corners = [[x, y, 1] for x in (left, left + width) for y in (down - 0.76 * size, down + 0.24 * size)]
            x, y, _ = matrix @ np.array(corners).T
            if text and float(node.get("opacity", 1)):
                yield text, x.min(), y.min(), x.max(), y.max()

    yield from walk(ElementTree.fromstring(drawn), np.eye(3))


def overlaps(one: Box, two: Box) -> bool:
    return all(max(one[k], two[k]) < min(one[k + 2], two[k + 2]) for k in (1, 2))


def every() -> list[Any]:
    names = ["a", "influenza", "chronic obstructive pulmonary disease", "MMMMMMMMMMMMMMMMMMMM"]
    shares = [0.1, 0.5, 1e-9, 0.9]
    title = "What someone who sees the released outcome of one person can come to believe about them"
    words = {"title": title, "value_title": "probability of the most common of all outcomes"}
    mark = {"reference": 0.89, "reference_label": "MMMM, the limit that was asked for"}
    square = [[abs(a - b) for b in shares] for a in shares]
    heat = specs.heatmap(names, names, square, row_title="value", column_title="outcome", **words)
    curves = {name: ([0.0, 1.0], [share, 1.0]) for name, share in zip(names, shares, strict=True)}
    marks = [(0.02, "first"), (0.99, "the largest of all leakages")]
    over = {"title": title, "x_title": "leakage (nats)", "y_title": "mutual information (nats)"}
    note = "A note of many words which takes the whole of the line that it is wrapped at: MMMMMMMMM WWWWWWWWW."
    line = specs.lines(curves, note=note, rules=marks, **over)
    dots = specs.dots_with_intervals(names, shares, shares, [1.0] * 4, **mark, **words)
    charts = {
        "heat map": heat,
        "bars": specs.bars(names, [-0.5, *shares[1:]], label_title="value", **mark, **words),
        "grouped bars": specs.grouped_bars(names, dict.fromkeys(names, shares), **words),
        "dots": dots,
        "lines": line,
        "rises": specs.rises(
            names,
            shares,
            [None, *shares[2:], 1.0],
            ["from 0.1% to at most 0.2%: 2 times as likely, above the limit"] * 4,
            allowed=[None, 0.6, 0.7, 0.8],
            shares=True,
            notes=[title, None],
            **words,
        ),
        "cloud": specs.cloud(([0.5], [0.5]), curves, name="a release", **over),
        "above": specs.vertical(dots, line),
        "side by side": specs.beside(line, heat),
        "dark": specs.themed(dots, dark=True),
    }
    return [pytest.param(spec, id=name) for name, spec in charts.items()]


def cut_off(drawn: str) -> list[Box]:
    _, _, width, height = map(float, str(ElementTree.fromstring(drawn).get("viewBox")).split())
    found = list(boxes(drawn))
    assert len(found) > 8
    return [box for box in found if min(box[1:3]) < 0 or box[3] > width or box[4] > height]


@pytest.mark.parametrize("spec", every())
def test_no_text_is_cut_off_in_a_wider_font(spec: dict[str, Any]) -> None:
    assert cut_off(render.svg(spec)) == []


def test_no_text_is_cut_off_in_the_pictures_of_the_documentation() -> None:
    pictures = {path.name: path.read_text() for path in (ROOT / "docs").rglob("*.svg") if "_build" not in path.parts}
    drawn = {name: text for name, text in pictures.items() if 'class="marks"' in text}
    assert len(drawn) >= 7
    assert [name for name, text in drawn.items() if cut_off(text)] == []


def test_the_sizes_of_texts_are_those_asked_for() -> None:
    spec = specs.heatmap(
        "ab".__iter__(), ["c"], [[1], [2]], title="T", value_title="v", row_title="r", column_title="c"
    )
    sizes = set(re.findall(r'font-size="([^"]+)"', render.svg(spec)))
    assert sizes == {"10px", "11px", "12px", "14px"}
    own = {"data": {"values": [{"limit": 7}]}, "mark": "text", "encoding": {"text": {"field": "limit"}}}
    drawn = render.svg(own)
    assert ('font-size="11px"' in drawn, ">7</text>" in drawn) == (True, True)


# ------------------------------------------------------------------------------------------------- heat maps


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, two: str) -> float:
    low, high = sorted(map(luminance, (one, two)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", [_SEQUENTIAL, _DIVERGING])
def test_a_grey_printer_tells_the_colours_apart(scheme: list[str]) -> None:
    greys = [luminance(blend(scheme, k / 60)) for k in range(61)]
    steps = [b - a for a, b in itertools.pairwise(greys)]
    assert all(step > 0 for step in steps) or all(step < 0 for step in steps)


@pytest.mark.parametrize(("rows", "columns"), [(3, 2), (12, 12), (50, 12), (100, 3), (5, 14)])
@pytest.mark.parametrize("middle", [None, 1.0])
def test_every_cell_of_twelve_columns_has_a_number_that_reads(rows: int, columns: int, middle: float | None) -> None:
    values = [[k / (rows * columns) * 2 for k in range(i * columns, (i + 1) * columns)] for i in range(rows)]
    values[0][0], values[1][1] = None, 1.23456e-12  # type: ignore[call-overload]
    spec = specs.heatmap(
        range(rows), range(columns), values, title="T", value_title="v", row_title="r", column_title="c",
        diverging_at=middle, note="One is missing.",
    )  # fmt: skip
    (texts,) = [layer for layer in spec["layer"] if layer["mark"]["type"] == "text"]
    wide, high = spec["width"] / columns, spec["height"] / rows
    assert high >= 1.4 * texts["mark"]["fontSize"]
    scale = spec["layer"][0]["encoding"]["color"]["scale"]
    missing = spec["layer"][1]["mark"]["color"]
    for record in spec["data"]["values"]:
        text = record[texts["encoding"]["text"]["field"]]
        assert len(text) * 0.636 * texts["mark"]["fontSize"] <= wide
        value = record["v"]
        cell = missing
        if value is not None:
            domain, colours = _colour_scale(scale["domain"][0], scale["domain"][-1], middle)
            k = min(int(np.searchsorted(domain, value, side="right")) - 1, len(domain) - 2)
            cell = blend(colours[k : k + 2], (value - domain[k]) / (domain[k + 1] - domain[k]))
        assert contrast(record["ink"], cell) >= 4.5


def test_the_numbers_of_a_report_read_on_their_cells() -> None:
    table = heat_table(["a"], [str(k) for k in range(101)], np.linspace(0, 1, 101)[None])
    cells = re.findall(r"background:(#\w{6});color:(#\w{6})", table)
    assert len(cells) == 100  # an impossible outcome is a dot without a shade
    assert min(contrast(*cell) for cell in cells) >= 4.5
    assert [luminance(shade) for shade, _ in cells] == sorted((luminance(shade) for shade, _ in cells), reverse=True)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.25, "0.2500"), (1, "1"), (12.25, "12.250"), (-1.25, "-1.250"), (123456.7, "123457"), (1.26e-12, "1e-12"),
     (-99999.9, "-1e+05"), (3e15, "3e+15")],
)  # fmt: skip
def test_a_number_has_the_digits_that_its_cell_has_room_for(value: float, text: str) -> None:
    spec = specs.heatmap(["a"], ["b"], [[value]], title="T", value_title="v", row_title="r", column_title="c")
    record = spec["data"]["values"][0]
    assert record["s"] == text
    assert len(text) <= 6
    assert len(record["t"]) >= len(text) - 1  # the tooltip keeps what the cell leaves out


@pytest.mark.parametrize("columns", [5, 12, 20])
def test_every_column_of_a_heat_map_has_its_name(columns: int) -> None:
    names = [f"outcome number {k}" for k in range(columns)]
    spec = specs.heatmap(
        ["a", "b"], names, np.ones((2, columns)), title="T", value_title="v", row_title="r", column_title="c"
    )
    assert set(names) <= {box[0] for box in boxes(render.svg(spec))}


# ----------------------------------------------------------------------------------------- labels of marked places

PLAINLY = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
HARD = {
    "geometric": [2.0**-k for k in range(1, 12)] + [2.0**-11],
    "nearly equal": [0.1 + 1e-3 * k for k in range(-4, 5)] + [0.1],
    "one rare": [0.4, 0.35, 0.2497, 1e-4, 1e-4, 1e-4],
    "fifty": [0.51] + [0.01] * 49,
}


@pytest.mark.parametrize("prior", HARD.values(), ids=HARD)
def test_labels_of_regions_do_not_collide(prior: list[float]) -> None:
    known = lw.Prior(prior)
    curve = lw.tradeoff(known, [0.01, known.epsilon_max])
    borders = len(known.regions()) - 1
    names = ("epsilon", "optimal", "randomized_response", "entropy", "ldp")
    rows = [dict.fromkeys(names, at) for at in curve.epsilons.tolist()]
    for spec in (curve.chart(), _figure_1_chart(rows, "T", known.regions().tolist())):
        svg = render.svg(spec)
        root = ElementTree.fromstring(svg)
        found = list(boxes(svg))
        labels = [box for box in found if box[0].startswith("ε") and "(" not in box[0]]
        assert labels
        assert not [pair for pair in itertools.combinations(found, 2) if overlaps(*pair) and set(pair) & set(labels)]
        # No border is left out.
        rules = [node for node in root.iter(f"{SVG}line") if node.get("stroke-dasharray") == "4,4"]
        assert len(rules) == sum(border <= known.epsilon_max for border in known.regions()[1:]) == borders
        numbers = re.findall(r"\d+", " ".join(box[0] for box in labels).translate(PLAINLY))
        assert {"1", f"{borders}"} <= set(numbers)


def test_a_label_never_lies_on_a_line() -> None:
    x = np.linspace(0, 1, 5)
    places = [0.0, 0.001, 0.03, 0.05, 0.4, 0.42, 0.43, 0.99, 1.0]
    spec = specs.lines(
        {"s": (x, x)}, title="T", x_title="x", y_title="y", rules=[(at, f"mark {k}") for k, at in enumerate(places)]
    )
    for width in (260, 460, 900):
        flags = spec["layer"][-2]["data"]["values"]
        assert [flag["at"] for flag in flags] == places
        for flag in flags:
            if flag["name"]:
                left, right = flag["at"] * width, flag["at"] * width + 3 + 7 * len(flag["name"])
                crossed = [one for one in flags if left < one["at"] * width < right and one["top"] < flag["top"] + 13]
                assert crossed == []


def test_an_axis_of_shares_ends_at_zero_and_at_one() -> None:
    words = {"title": "shares", "value_title": "probability"}
    near_both = specs.dots_with_intervals(["a", "b"], [0.02, 0.8], [0.0, 0.7], [0.05, 0.99], **words)
    printed = set(re.findall(r">([^<>]*\d)</text>", render.svg(near_both)))
    assert {"0.0", "1.0"} <= printed
    assert not printed & {"−0.1", "1.1"}
    far = specs.dots_with_intervals(
        ["a"], [5.2], [5.1], [5.3], **words
    )  # as before: such an axis begins where it needs to
    assert "domainMin" not in far["layer"][0]["encoding"]["x"]["scale"]
    below = specs.dots_with_intervals(["a"], [0.01], [-0.02], [0.04], **words)
    assert "−0.020" in set(re.findall(r">([^<>]*\d)</text>", render.svg(below)))
    over = specs.dots_with_intervals(["a"], [0.5], [0.0], [0.95], reference=1.4, **words)
    assert "domainMax" not in over["layer"][0]["encoding"]["x"]["scale"]  # or its line would be outside
