"""The first screens, of the README and of the documentation, answer what this is, for whom, and what to type."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST = README.split("\n## ", 1)[0]
SCREEN = 60  # lines


def test_the_first_screen_has_its_parts_in_their_order() -> None:
    parts = [
        "pip install leakwise",
        "make demo",
        "make test",
        "lw.protect(",
        "print(r.guarantee)",
        "lw.estimate(",
        "10% before the release is right with at most 20%",
        "**What is not covered.**",
        "docs/start/first-table.md",
        "docs/start/estimate.md",
        "docs/how-to/audit.md",
        "docs/research/tour.md",
        "docs/pictures/studio-1366.png",
    ]
    places = [FIRST.find(part) for part in parts]
    assert -1 not in places, parts[places.index(-1)]
    assert places == sorted(places)
    assert FIRST.count("\n") <= SCREEN
    assert FIRST.count("![") == 1


def test_the_first_example_is_eight_lines_that_fit_a_screen() -> None:
    (block,) = re.findall(r"```python\n(.*?)```", FIRST, re.DOTALL)
    typed = re.findall(r"^(?:>>>|\.\.\.) .*", block, re.MULTILINE)
    assert len(typed) <= 8
    assert max(map(len, block.splitlines())) <= 96  # a block of code does not wrap


def test_every_extra_is_named_where_people_look_for_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    install = (ROOT / "docs/start/install.md").read_text(encoding="utf-8")
    for name in project["optional-dependencies"]:
        assert f"`{name}`" in README.split("Optional parts are extras", 1)[1], name
        assert f"`{name}`" in install, name


def test_the_landing_page_shows_the_knob_and_a_report_and_sends_every_reader_on() -> None:
    text = (ROOT / "docs/index.md").read_text(encoding="utf-8")
    assert re.findall(r"!\[[^\]]{40,}\]\(([^)]+)\)", text) == ["pictures/studio-1366.png", "pictures/report.png"]
    readers = re.findall(r"^\*\*You [^*]+\.\*\* .*?\]\(([\w/-]+)\.md\)", text, re.MULTILINE)
    assert readers == ["start/first-table", "start/estimate", "how-to/audit", "research/tour", "explanation/the-idea"]
    assert re.findall(r"^:caption: (.+)$", text, re.MULTILINE) == [
        "Start",
        "How-to",
        "Concepts",
        "Reference",
        "Research",
    ]


def test_the_studio_says_first_for_whom_it_is_and_what_to_do() -> None:
    page = (ROOT / "src/leakwise/studio/static/index.html").read_text(encoding="utf-8")
    head = page[page.index("<header") : page.index("</header>")]
    for said in ("About to release a sensitive column?", "Turn the knob", "your own table"):
        assert said in head
