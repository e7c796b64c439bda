"""One mixin prints, shows in a notebook and plots; nobody else writes these three by hand."""

from __future__ import annotations

import ast
import pickle
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import leakwise
from leakwise.charts.shown import Drawn, Parts, Shown, Table
from leakwise.charts.specs import bars

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


def test_parts_are_printed_one_below_the_other() -> None:
    assert repr(Whole("a")) == "About a\nname  mass\n────  ────\n   a  0.33\n\n- a\n- two\nInner a"


def test_html_says_the_same_and_escapes_every_part() -> None:
    html = Whole(NASTY)._repr_html_()
    assert NASTY not in html
    assert html.count("&lt;script&gt;") == 4
    assert html.index("<caption") < html.index("0.33") < html.index("<ul><li>") < html.index("<p>Inner")
    assert "<p></p>" not in html


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
