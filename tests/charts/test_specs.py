"""Specifications: valid for Altair, safe as JSON, faithful to their numbers."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakwise.charts import specs
from leakwise.charts._heatmap import _colour_scale, _ink
from leakwise.charts._plain import names, plain
from leakwise.charts._theme import PALETTE, blend, ink_on
from leakwise.errors import InvalidInput

alt = pytest.importorskip("altair")

NASTY = ["</script><b>", "q\"uo'te", "日本 é 🙂", "a.b[0]\\n", "line\nbreak", "", "${x}", "datum.v"]


def heat(**more: Any) -> dict[str, Any]:
    given = {"title": "T", "value_title": "value", "row_title": "row", "column_title": "column"} | more
    n = len(NASTY)
    return specs.heatmap(NASTY, NASTY[::-1], np.arange(n * n).reshape(n, n) / n**2, **given)


def bar(**more: Any) -> dict[str, Any]:
    return specs.bars(NASTY, np.linspace(-1, 2, len(NASTY)), **{"title": "T", "value_title": "value"} | more)


def group(**more: Any) -> dict[str, Any]:
    series = {"first": [0.1, 0.2], '<i>"second"': [0.3, 0.4]}
    intervals = {"first": ([0.0, 0.1], [0.2, 0.3])}
    return specs.grouped_bars(NASTY[:2], series, intervals, **{"title": "T", "value_title": "value"} | more)


def line(**more: Any) -> dict[str, Any]:
    x = np.linspace(0.1, 1, 7)
    given = {
        "title": "T",
        "x_title": "x",
        "y_title": "y",
        "rules": [(0.5, "<half>")],
        "bands": {"b</script>": (x, x, 2 * x)},
    }
    return specs.lines({"a": (x, x**2), "b</script>": (x, 1.5 * x)}, **given | more)


def dots(**more: Any) -> dict[str, Any]:
    v = np.linspace(0, 1, len(NASTY))
    return specs.dots_with_intervals(NASTY, v, v - 0.1, v + 0.1, **{"title": "T", "value_title": "value"} | more)


MAKERS: list[Callable[..., dict[str, Any]]] = [heat, bar, group, line, dots]


def every() -> list[Any]:
    variants = {
        "heatmap": heat(),
        "heatmap diverging": heat(diverging_at=0.5, exact=[["1/3"] * len(NASTY)] * len(NASTY)),
        "bars": bar(reference=0.5, reference_label="</b> & more"),
        "grouped bars": group(),
        "lines": line(),
        "steps": line(step=True, bands=None, rules=()),
        "log lines": line(x_log=True, y_log=True),
        "dots": dots(reference=0.3),
        "vertical": specs.vertical(heat(), line(), group()),
        "beside": specs.beside(bar(), specs.vertical(dots(), line())),
        "dark": specs.themed(line(), dark=True),
        "light": specs.themed(specs.vertical(heat(), bar()), dark=False),
    }
    return [pytest.param(spec, id=name) for name, spec in variants.items()]


def data_of(spec: Any) -> list[dict[str, Any]]:
    """All inline records of a specification, wherever they stand."""
    found: list[dict[str, Any]] = []
    if isinstance(spec, dict):
        for key, value in spec.items():
            found += value["values"] if key == "data" else data_of(value)
    elif isinstance(spec, list):
        for value in spec:
            found += data_of(value)
    return found


@pytest.mark.parametrize("spec", every())
def test_altair_accepts_every_spec(spec: dict[str, Any]) -> None:
    chart = alt.Chart.from_dict(spec)
    assert chart.to_dict()["description"] == spec["description"]


@pytest.mark.parametrize("spec", every())
def test_json_carries_every_spec_unchanged(spec: dict[str, Any]) -> None:
    assert json.loads(json.dumps(spec, allow_nan=False)) == spec


@pytest.mark.parametrize("spec", every())
def test_every_spec_describes_itself_and_leaves_the_page_its_background(spec: dict[str, Any]) -> None:
    assert spec["description"].startswith("T.")
    assert spec["background"] == "transparent"
    assert spec["$schema"] == "https://vega.github.io/schema/vega-lite/v6.json"


def test_altair_uses_the_schema_named_here() -> None:
    assert alt.SCHEMA_VERSION.startswith("v6.")


@pytest.mark.parametrize("make", [heat, bar, dots])
def test_all_labels_appear_once_each(make: Callable[..., dict[str, Any]]) -> None:
    records = data_of(make())
    key = "r" if "r" in records[0] else "label"
    assert len({record[key] for record in records}) == len(NASTY)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, np.float64("nan")])
def test_values_that_cannot_be_drawn_are_refused(bad: float) -> None:
    kinds: list[Callable[[], Any]] = [
        lambda: specs.bars(["a"], [bad], title="", value_title=""),
        lambda: specs.bars(["a"], [1.0], title="", value_title="", reference=bad),
        lambda: specs.grouped_bars(["a"], {"s": [bad]}, title="", value_title=""),
        lambda: specs.grouped_bars(["a"], {"s": [1]}, {"s": ([bad], [1])}, title="", value_title=""),
        lambda: specs.lines({"s": ([bad], [1])}, title="", x_title="", y_title=""),
        lambda: specs.lines({"s": ([1], [bad])}, title="", x_title="", y_title=""),
        lambda: specs.lines({"s": ([1], [1])}, title="", x_title="", y_title="", rules=[(bad, "")]),
        lambda: specs.lines({"s": ([1], [1])}, title="", x_title="", y_title="", bands={"s": ([1], [1], [bad])}),
        lambda: specs.dots_with_intervals(["a"], [1], [0], [bad], title="", value_title=""),
        lambda: specs.heatmap(
            ["a"], ["b"], [[bad]], title="", value_title="", row_title="", column_title="", note="note"
        ),
    ]
    for make in kinds:
        with pytest.raises(InvalidInput, match="cannot draw"):
            make()
    with pytest.raises(InvalidInput, match="diverging_at"):
        heat(diverging_at=bad)


def test_none_needs_a_note_and_stays_none() -> None:
    with pytest.raises(InvalidInput, match="note"):
        specs.bars(["a", "b"], [1.0, None], title="T", value_title="v")
    spec = specs.bars(["a", "b"], [1.0, None], title="T", value_title="v", note="b is infinite.")
    assert [record["v"] for record in spec["data"]["values"]] == [1.0, None]
    assert spec["title"]["subtitle"] == ["b is infinite."]
    assert spec["description"].endswith("b is infinite.")


def test_numpy_and_fractions_become_plain_numbers() -> None:
    values = [np.float32(0.5), np.int64(2), Fraction(1, 4), 3]
    spec = specs.bars("abcd".__iter__(), values, title="T", value_title="v")
    assert [type(record["v"]) for record in spec["data"]["values"]] == [float] * 4
    assert [record["v"] for record in spec["data"]["values"]] == [0.5, 2.0, 0.25, 3.0]


@pytest.mark.parametrize("bad", ["x", True, object(), 1j])
def test_what_is_not_a_number_is_refused(bad: object) -> None:
    with pytest.raises(InvalidInput, match="values must hold numbers"):
        specs.bars(["a"], [bad], title="", value_title="")


def test_lengths_must_agree() -> None:
    with pytest.raises(InvalidInput, match=r"values must have one entry for each of the 2 labels\. Got 1"):
        specs.bars(["a", "b"], [1], title="", value_title="")
    with pytest.raises(InvalidInput, match="2 rows of 2 entries"):
        specs.heatmap(["a", "b"], ["c", "d"], [[1, 2]], title="", value_title="", row_title="", column_title="")
    with pytest.raises(InvalidInput, match="exact must have the shape"):
        heat(exact=[["1"]])
    with pytest.raises(InvalidInput, match="x values of series 's'"):
        specs.lines({"s": ([1, 2], [1])}, title="", x_title="", y_title="")


def test_other_mistakes_are_named() -> None:
    with pytest.raises(InvalidInput, match="above high"):
        specs.dots_with_intervals(["a"], [1], [2], [0], title="", value_title="")
    with pytest.raises(InvalidInput, match="above high"):
        line(bands={"a": ([1], [2], [0])})
    with pytest.raises(InvalidInput, match="reference_label"):
        bar(reference_label="x")
    with pytest.raises(InvalidInput, match="which series does not"):
        specs.grouped_bars(["a"], {"s": [1]}, {"t": ([1], [1])}, title="", value_title="")
    with pytest.raises(InvalidInput, match="y_log=True needs positive"):
        specs.lines({"s": ([1, 2], [0, 1])}, title="", x_title="", y_title="", y_log=True)
    with pytest.raises(InvalidInput, match="no points"):
        specs.lines({"s": ([], [])}, title="", x_title="", y_title="")
    with pytest.raises(InvalidInput, match="at most 20000"):
        specs.lines({"s": (range(20_001), range(20_001))}, title="", x_title="", y_title="")
    with pytest.raises(InvalidInput, match="at most 2000"):
        specs.bars(range(2001), range(2001), title="", value_title="")
    with pytest.raises(InvalidInput, match="nothing to join"):
        specs.vertical()
    with pytest.raises(InvalidInput, match="single text"):
        specs.bars("abc", [1, 2, 3], title="", value_title="")


def layers_with(spec: dict[str, Any], mark: str) -> list[dict[str, Any]]:
    return [layer for layer in spec["layer"] if layer["mark"]["type"] == mark]


@pytest.mark.parametrize(("n", "text", "cells"), [(14, 1, 196), (15, 0, 225), (100, 0, 10_000), (101, 0, 51**2)])
def test_heatmaps_adapt_to_their_size(n: int, text: int, cells: int) -> None:
    square = np.arange(n * n).reshape(n, n) / n**2
    spec = specs.heatmap(range(n), range(n), square, title="T", value_title="v", row_title="r", column_title="c")
    assert len(layers_with(spec, "text")) == text
    assert len(spec["data"]["values"]) == cells
    assert f"{n} rows" in spec["description"]


def test_blocks_say_what_they_are_and_hide_no_extreme() -> None:
    square = np.zeros((150, 120))
    square[7, 11] = 8.0
    spec = specs.heatmap(range(150), range(120), square, title="T", value_title="v", row_title="r", column_title="c")
    assert spec["title"]["subtitle"] == ["Each cell is the mean of up to 2 × 2 entries."]
    assert "from 0 to 8.0000" in spec["description"]
    (record,) = [r for r in spec["data"]["values"] if r["v"]]
    assert record == {
        "r": "6 … 7",
        "c": "10 … 11",
        "v": 2.0,
        "t": "2.0000",
        "least": "0",
        "largest": "8.0000",
    }


def test_a_block_with_a_gap_has_no_mean() -> None:
    values = [[0.5] * 101 for _ in range(101)]
    values[0][0] = None  # type: ignore[call-overload]
    spec = specs.heatmap(
        range(101),
        range(101),
        values,
        title="T",
        value_title="v",
        row_title="r",
        column_title="c",
        note="Gap.",
    )
    first = spec["data"]["values"][0]
    assert (first["v"], first["least"], first["largest"]) == (None, "0.5000", "0.5000")


def test_exact_texts_reach_the_tooltip() -> None:
    spec = specs.heatmap(
        ["a"], ["b"], [[1 / 3]], title="T", value_title="v", row_title="r", column_title="c", exact=[["1/3"]]
    )
    assert spec["data"]["values"][0]["exact"] == "1/3"
    assert "exact" in [tip["field"] for tip in spec["layer"][0]["encoding"]["tooltip"]]


finite = st.floats(-1e6, 1e6, allow_nan=False)


@given(finite, finite, st.none() | finite)
def test_colour_scales_increase_and_cover_the_values(a: float, b: float, middle: float | None) -> None:
    least, largest = min(a, b), max(a, b)
    domain, colours = _colour_scale(least, largest, middle)
    assert len(domain) == len(colours) >= 2
    assert all(x <= y for x, y in itertools.pairwise(domain))
    assert domain[0] < domain[-1]
    assert domain[0] <= least <= largest <= domain[-1]
    if middle is not None:
        assert colours[domain.index(middle)] == "#aeaba7"
    assert {_ink(value, domain, colours) for value in (least, largest)} <= {"#000000", "#ffffff"}


def test_the_ink_is_the_one_with_more_contrast() -> None:
    for k in range(101):
        grey = blend(["#000000", "#ffffff"], k / 100)
        c = int(grey[1:3], 16) / 255
        light = c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        white, black = 1.05 / (light + 0.05), (light + 0.05) / 0.05
        assert ink_on(grey) == ("#000000" if black > white else "#ffffff")


def test_joined_charts_keep_their_parts_and_one_look() -> None:
    spec = specs.vertical(heat(), specs.beside(bar(), line()))
    assert [part["title"]["text"] for part in (spec["vconcat"][0], *spec["vconcat"][1]["hconcat"])] == ["T"] * 3
    assert json.dumps(spec).count('"config"') == json.dumps(spec).count('"$schema"') == 1
    assert spec["config"] == heat()["config"]


def test_themes_differ_and_leave_the_chart_alone() -> None:
    spec = line()
    before = json.dumps(spec)
    dark, light = specs.themed(spec, True), specs.themed(spec, False)
    assert json.dumps(spec) == before
    assert len({s["config"]["axis"]["labelColor"] for s in (spec, dark, light)}) == 3
    assert dark["layer"] == light["layer"] == spec["layer"]


@pytest.mark.parametrize("page", ["#ffffff", "#15181c"])
def test_the_neutral_text_reads_on_both_pages(page: str) -> None:
    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    def contrast(a: str, b: str) -> float:
        low, high = sorted((luminance(a), luminance(b)))
        return (high + 0.05) / (low + 0.05)

    config = bar()["config"]
    assert contrast(config["axis"]["labelColor"], page) >= 4
    assert all(contrast(colour, page) >= 2 for colour in PALETTE)


def test_names_step_around_a_name_that_is_taken() -> None:
    assert names(["a", "a", "a (2)", "a"], "labels") == ["a", "a (3)", "a (2)", "a (4)"]


def test_a_band_may_stand_without_a_curve() -> None:
    spec = line(bands={"range": ([0.1, 1], [0, 0], [1, 2])})
    assert {record["series"] for record in data_of(spec) if "series" in record} == {"a", "b</script>", "range"}
    alt.Chart.from_dict(spec)


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: specs.bars([], [], title="", value_title=""), "labels is empty"),
        (lambda: specs.bars(["a"], np.ones((1, 1)), title="", value_title=""), "one dimension"),
        (lambda: specs.bars(["a"], [10**400], title="", value_title=""), "fit a float"),
        (lambda: plain({"a": np.array([1.0, np.nan])}), r"spec\['a'\]\[1\]"),
        (
            lambda: specs.heatmap(
                ["a"], ["b"], [[None]], title="", value_title="", row_title="", column_title="", note="n"
            ),
            "nothing but None",
        ),
    ],
)
def test_empty_and_oversized_input_is_refused(call: Callable[[], Any], word: str) -> None:
    with pytest.raises(InvalidInput, match=word):
        call()


@given(st.lists(st.text(max_size=3) | st.integers(0, 3), min_size=1, max_size=12))
def test_names_are_distinct_and_printable(labels: list[object]) -> None:
    result = names(labels, "labels")
    assert len(set(result)) == len(labels)
    assert not any(ord(c) < 32 for name in result for c in name)


@settings(max_examples=40)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=8,
    ).filter(lambda tree: "null" not in json.dumps(tree))
)
def test_plain_changes_nothing_that_is_plain(tree: Any) -> None:
    assert plain(tree) == tree


@pytest.mark.parametrize("bad", [{"a": math.nan}, {"a": [math.inf]}, {1: 2}, {"a": object()}, {"a": {1, 2}}])
def test_plain_refuses_what_json_cannot_hold(bad: Any) -> None:
    with pytest.raises(InvalidInput):
        plain(bad)
