"""Every link from one page to another leads somewhere, and every page is in the index."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)
OUTSIDE = [
    ROOT / name for name in ("README.md", "SECURITY.md", "CHANGELOG.md", "attack/README.md", "benchmarks/README.md")
]
LINK = re.compile(r"\]\((?!https?:)([^)\s#]+)(#[\w-]+)?\)")


@pytest.mark.parametrize("page", [*OUTSIDE, *PAGES], ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for target, anchor in LINK.findall(text):
        there = (page.parent / target).resolve()
        assert there.is_file(), f"{target} does not exist"
        if anchor:
            heads = re.findall(r"^#+ (.+)$", there.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor[1:] in {head.lower().replace(" ", "-") for head in heads}, f"{target} has no heading {anchor}"
    for named in re.findall(r"`(docs/[\w./-]+)`", text):
        assert (ROOT / named).exists(), f"{named} does not exist"


def test_every_page_is_in_the_index() -> None:
    listed = re.findall(r"^[\w/-]+$", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), re.MULTILINE)
    pages = {page.relative_to(ROOT / "docs").with_suffix("").as_posix() for page in PAGES} - {"index"}
    assert set(listed) == pages
    assert len(listed) == len(set(listed))


def test_the_commands_page_names_every_command() -> None:
    from leakwise.cli.app import COMMANDS

    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"`leakwise {name}" not in page] == []


def test_every_tag_of_a_paper_is_in_the_bibliography() -> None:
    known = set(
        re.findall(r"\*\*\[([A-Z]{2,4})\]\*\*", (ROOT / "docs/reference/bibliography.md").read_text(encoding="utf-8"))
    )
    pages = [page for page in PAGES if page.parent.name != "paper"]  # the article has a list of its own
    texts = [*pages, *(ROOT / "src" / "leakwise" / "mechanism" / "catalog").glob("*.py")]
    cited = {tag for text in texts for tag in re.findall(r"\[([A-Z]{2,4})\]", text.read_text(encoding="utf-8"))}
    assert {"EX", "ED", "WC", "EN", "PR", "WBLJ"} <= known
    assert cited <= known


@pytest.mark.parametrize("room", ["src", "docs", "tests", "benchmarks", "attack"])
def test_no_file_cites_one_that_the_repository_does_not_have(room: str) -> None:
    cited = re.compile("MATH" + r"(\.md|,? section)")
    files = [*(ROOT / room).rglob("*.py"), *(ROOT / room).rglob("*.md")]
    files = [file for file in files if file.name != "test_words.py"]  # it names what is retired
    assert [file for file in files if cited.search(file.read_text(encoding="utf-8"))] == []
