"""One mixin prints, shows in a notebook and plots; nobody else writes these three by hand."""

from __future__ import annotations

import ast
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leakwise
from leakwise.charts.render import inline
from leakwise.charts.shown import Drawn, Parts, Shown, Table
from leakwise.charts.specs import bars, heatmap
from leakwise.errors import InvalidInput

SOURCE = Path(leakwise.__file__).parent
NASTY = "<script>alert(1)</script>"


@dataclass(frozen=True, repr=False, slots=True)
class Inner(Shown):
    name: str

    def _shown(self) -> Parts:
        return [f"Inner {self.name}"]


@dataclass(frozen=True, repr=False, slots=True)
class Whole(Drawn):
    name: str

    def _shown(self) -> Parts:
        table = Table(["name", "mass"], [[self.name, 1 / 3]], f"About {self.name}", align="rl", digits=2)
        return [table, "", [self.name, "two"], Inner(self.name)]

    def chart(self) -> dict[str, Any]:
        return bars([self.name], [1.0], title="t", value_title="v")


@dataclass(frozen=True, repr=False, slots=True)
class Told(Whole):
    def _shown(self) -> Parts:
        second = Table(["name"], [["b"]], "Second")
        return [Table(["name", "mass"], [[self.name, 1 / 3]], f"About {self.name}"), "between", second, ["so what"]]


@dataclass(frozen=True, repr=False, slots=True)
class Around(Inner):
    def _shown(self) -> Parts:
        return ["Around", Told(self.name)]


@dataclass(frozen=True, repr=False, slots=True)
class Refused(Told):
    def chart(self) -> dict[str, Any]:
        raise InvalidInput(f"nothing to draw for {self.name}")


@dataclass(frozen=True, repr=False, slots=True)
class Large(Whole):
    def _shown(self) -> Parts:
        return [f"{self.name} (too large to show)"]

    def chart(self) -> dict[str, Any]:
        raise AssertionError("drawn all the same")


def test_parts_are_printed_one_below_the_other() -> None:
    assert repr(Whole("a")) == "About a\nname  mass\n────  ────\n   a  0.33\n\n- a\n- two\nInner a"


def test_html_says_the_same_and_escapes_every_part() -> None:
    html = Whole(NASTY)._repr_html_()
    assert NASTY not in html
    assert "<p></p>" not in html
    inner = Inner(NASTY)._repr_html_()
    assert inner == "<p>Inner &lt;script&gt;alert(1)&lt;/script&gt;</p>"


def test_a_notebook_shows_sentences_then_the_picture_then_the_tables_folded() -> None:
    html = Told("a")._repr_html_()
    shown = ["<p>About a</p>", "<ul><li>so what</li>", "<svg ", "<details><summary>", "0.33", "<p>between", "<caption"]
    assert [html.count(part) for part in shown] == [1] * len(shown)
    places = [html.index(part) for part in [*shown, "Second</caption>", "</details>"]]
    assert places == sorted(places)
    assert html.endswith("</details>")


def test_inside_another_object_the_tables_are_shown_without_fold_and_picture() -> None:
    html = Around("a")._repr_html_()
    assert "0.33" in html
    assert "<svg" not in html
    assert "<details" not in html


def test_without_a_picture_the_tables_are_open_and_the_reason_is_said() -> None:
    html = Refused("<a>")._repr_html_()
    assert "0.33" in html
    assert "<details" not in html
    assert html.endswith("<p>No picture: nothing to draw for &lt;a&gt;</p>")


def test_what_is_too_large_for_a_table_is_not_drawn() -> None:
    assert Large("a")._repr_html_() == "<p>a (too large to show)</p>"


def test_a_large_picture_is_a_png_with_its_description() -> None:
    names = [f"v{k}" for k in range(90)]
    words = {"title": "t", "value_title": "v", "row_title": "r", "column_title": "c"}
    many = inline(heatmap(names, names, np.eye(90), **words))
    few = inline(bars(["a"], [1.0], title="t", value_title="v"))
    assert '<img style="max-width:100%" alt="t. Heat map' in many
    assert "data:image/png;base64," in many
    assert "<svg" in few
    assert "<img" not in few


def test_slots_and_pickle_are_kept() -> None:
    whole = Whole("a")
    assert not hasattr(whole, "__dict__")
    assert pickle.loads(pickle.dumps(whole)) == whole


def test_the_picture_is_that_of_the_chart() -> None:
    assert Whole("a").plot().to_dict()["title"] == Whole("a").chart()["title"]
    assert not hasattr(Inner("a"), "plot")


def test_who_shows_nothing_cannot_be_made() -> None:
    class Silent(Shown):
        pass

    with pytest.raises(TypeError, match="_shown"):
        Silent()  # type: ignore[abstract]


def _written_by_hand(source: str) -> list[str]:
    """The classes of a module with an HTML, a plot, or a printed table of their own."""
    found = []
    for one in ast.walk(ast.parse(source)):
        if isinstance(one, ast.ClassDef):
            own = {part.name: ast.unparse(part) for part in one.body if isinstance(part, ast.FunctionDef)}
            if own.keys() & {"_repr_html_", "plot"} or "text_table" in own.get("__repr__", ""):
                found.append(one.name)
    return found


def test_no_class_writes_its_own_text_html_or_plot() -> None:
    modules = [path for path in SOURCE.rglob("*.py") if path != SOURCE / "charts" / "shown.py"]
    assert {
        str(path.relative_to(SOURCE)): names for path in modules if (names := _written_by_hand(path.read_text()))
    } == {}


@pytest.mark.parametrize("body", ["_repr_html_(self): ...", "plot(self): ...", "__repr__(self): return text_table()"])
def test_the_search_for_handwritten_ones_would_find_one(body: str) -> None:
    assert _written_by_hand(f"class One:\n    def {body}") == ["One"]
