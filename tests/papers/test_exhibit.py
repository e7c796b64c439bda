"""The frame of the exhibits: names, results, findings, and how they are found."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leakwise.errors import InvalidInput
from leakwise.papers import PAPERS, Finding, Result, compared, exhibits, find, further, stated
from leakwise.papers.exhibit import COMPUTED, SHOWN, exhibit

ASKED = {
    "EX": {"example_1", "example_2", "example_3"} | {f"figure_{n}{part}" for n in (1, 2, 3, 4) for part in "ab"},
    "WC": {"example_1", "figure_1", "figure_2", "figure_3"},
    "EN": {f"example_{n}" for n in (1, 2, 3, 4)} | {"figure_1", *(f"figure_2{part}" for part in "abcd")},
    "ED": {"example_1", "example_2", "figure_2a", "figure_2b", "figure_3a", "figure_3b", "figure_4", "figure_5"}
    | {"figure_6a", "figure_6b", "figure_7"},
    "PR": {"figure_1", "figure_3", "figure_4", "figure_5", "figure_6", "figure_7", "table_3"},
    "LW": {f"theorem_{n}" for n in (5, 7, 12, 13)},
}


@pytest.mark.parametrize("paper", SHOWN)
def test_every_computed_figure_and_table_of_the_papers_has_its_function(paper: str) -> None:
    made = {one.name: one for one in exhibits(paper)}
    assert made.keys() >= ASKED[paper]
    for one in made.values():
        module = inspect.getmodule(one.function)
        assert module is not None
        assert module.__name__.startswith(f"leakwise.papers.{SHOWN[paper].module}")
        assert one.function.__doc__
        assert one.title
        assert len(one.shows) > 40
        assert one.printed


SCHEMATIC = {"ED": {"Figure 1"}, "PR": {"Figure 2", "Table 1", "Table 2"}}
ROOT = Path(__file__).parents[2]


def test_no_exhibit_is_called_a_table_or_figure_that_its_paper_does_not_have() -> None:
    """Tables are only in [PR]; the schematic ones are named, and nothing claims to compute them."""
    for made in exhibits():
        kind = made.name.split("_")[0]
        assert made.number.lower().replace(" ", "_") == made.name or kind == "theorem"
        assert kind != "table" or made.paper == "PR"
        assert made.number not in SCHEMATIC.get(made.paper, ())
    assert {made.full_name for made in exhibits() if made.name.startswith("theorem") and made.paper in PAPERS} == {
        "empirical-distributions/theorem_5",
        "leakage-envelopes/theorem_5_conjecture",
    }
    assert {key: set(paper.drawn) for key, paper in PAPERS.items() if paper.drawn} == SCHEMATIC


@pytest.mark.parametrize(
    "file",
    ["README.md", "Makefile", "scripts/papers", "docs/research/papers.md", "docs/research/tour.md",
     "src/leakwise/cli/commands/research/papers.py", "src/leakwise/papers/__init__.py",
     "src/leakwise/papers/gallery.py", "src/leakwise/papers/notes_page.py"],
)  # fmt: skip
def test_every_figure_and_table_is_said_of_the_computed_ones_only(file: str) -> None:
    said = " ".join((ROOT / file).read_text(encoding="utf-8").split()).lower()
    assert "every figure and table" not in said
    assert "every figure, table" not in said


@pytest.mark.parametrize("file", ["docs/research/papers.md", "src/leakwise/cli/commands/research/papers.py"])
def test_the_schematic_ones_are_named(file: str) -> None:
    said = (ROOT / file).read_text(encoding="utf-8")
    for key, numbers in SCHEMATIC.items():
        for number in numbers:
            assert number in said
            assert number in COMPUTED
        assert f"[{key}]" in said


def test_a_theorem_of_our_own_article_is_there_and_has_its_tests() -> None:
    article = (ROOT / "docs" / "paper" / "article.md").read_text(encoding="utf-8")
    for made in exhibits("LW"):
        assert f"**{made.number}" in article


def test_the_module_of_a_paper_holds_all_its_functions() -> None:
    import importlib

    for made in exhibits():
        module = importlib.import_module(f"leakwise.papers.{SHOWN[made.paper].module}")
        assert getattr(module, made.name) is made.function


def test_examples_come_first_then_figures_then_tables() -> None:
    assert [one.name for one in exhibits("EN")][:6] == [
        *(f"example_{n}" for n in (1, 2, 3, 4)),
        "figure_1",
        "figure_2a",
    ]
    assert [one.paper for one in exhibits()] == sorted([one.paper for one in exhibits()], key=list(SHOWN).index)


def test_finding_by_paper_by_exhibit_and_by_name() -> None:
    assert [one.full_name for one in find(["WC/figure_1", "worst-case-utility/figure_3"])] == [
        "worst-case-utility/figure_1",
        "worst-case-utility/figure_3",
    ]
    assert {one.paper for one in find(["figure_2a"])} == {"EX", "EN", "ED"}
    assert find(["wc", "WC/figure_1"]) == exhibits("WC")
    assert find() == exhibits()
    with pytest.raises(InvalidInput, match=r"figure_1x.*Did you mean.*--list"):
        find(["figure_1x"])
    with pytest.raises(InvalidInput, match="one of EX, WC, ED, PR, EN, LW"):
        exhibits("XX")


def test_csv_keeps_ten_digits_and_says_nothing_for_none() -> None:
    result = Result(
        [{"a": 1 / 3, "b": None, "c": True}, {"a": np.float64(-0.0), "d": "x,y"}, {"a": float("inf"), "b": np.int64(7)}]
    )
    assert result.csv() == 'a,b,c,d\n0.3333333333,,yes,\n0,,,"x,y"\ninf,7,,\n'
    assert result.column("b") == [None, None, 7]
    with pytest.raises(InvalidInput, match=r"Got 'e' instead"):
        result.column("e")
    with pytest.raises(InvalidInput, match="rows is empty"):
        Result([])


def test_a_finding_that_disagrees_says_why() -> None:
    assert compared("a number", 0.69, np.log(2), within=0.005) == Finding("a number", 0.69, float(np.log(2)), True)
    assert not compared("a number", 0.7, 0.693, within=0.005).agrees
    assert stated("a word", "yes", "no", False, "because").why == "because"
    assert stated("a word", "yes", "yes", True, "because").why == ""
    assert isinstance(stated("a word", None, np.float64(1), np.bool_(True)).ours, float)
    for broken in ({"agrees": False}, {"agrees": True, "beyond": True}):
        with pytest.raises(InvalidInput, match="say why"):
            Finding("a number", 1.0, 2.0, **broken)
    with pytest.raises(InvalidInput, match="not both"):
        Finding("a number", 1.0, 2.0, False, "because", beyond=True)
    sharper = further("a number", 2.0, 1.0, "halved")
    assert (sharper.agrees, sharper.beyond, sharper.to_dict()["why"]) == (True, True, "halved")


def test_an_exhibit_must_keep_to_the_form() -> None:
    words: dict[str, Any] = {"paper": "WC", "title": "t", "shows": "s", "printed": "p"}

    def figure_9(*, fast: bool = False, progress: Any = None, n: int = 3, seed: int = 1) -> Result:
        return Result([{"n": n}])

    def figure_10(n: int, *, fast: bool = False, progress: Any = None) -> Result:
        return Result([{"n": n}])

    def picture(*, fast: bool = False, progress: Any = None) -> Result:
        return Result([{"n": 1}])

    with pytest.raises(InvalidInput, match="paper must be one of"):
        exhibit(**{**words, "paper": "ZZ"})
    with pytest.raises(InvalidInput, match="figure_10 must be named like"):
        exhibit(**words)(figure_10)
    with pytest.raises(InvalidInput, match="picture must be named like"):
        exhibit(**words)(picture)
    with pytest.raises(InvalidInput, match="seed=2"):
        exhibit(**words, seed=2)(figure_9)


def test_parameters_are_those_of_the_paper() -> None:
    made = next(one for one in exhibits("WC") if one.name == "figure_1")
    assert made.parameters["draws"] == 1000
    assert made.parameters["seed"] == made.seed
    assert "fast" not in made.parameters
