"""The pictures of the documentation are there, small, and shown; ``make screenshots`` makes them again."""

from __future__ import annotations

import re
from pathlib import Path

from browser.pictures import FOLDER, WIDTHS, size

ROOT = Path(__file__).parents[2]
MOST = 200_000


def test_each_picture_is_there_small_and_as_wide_as_it_should_be() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.png" for name in WIDTHS}
    for name, width in WIDTHS.items():
        content = (FOLDER / f"{name}.png").read_bytes()
        assert 5_000 < len(content) < MOST, name
        assert size(content)[0] == width, name


def test_each_picture_is_shown_on_a_page_with_words_for_those_who_do_not_see_it() -> None:
    pages = [ROOT / "README.md", *(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts)]
    texts = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    found = re.findall(r"!\[([^\]]*)\]\([\w./]*pictures/([\w-]+)\.png\)", texts)
    shown = {name: words for words, name in found}
    assert set(shown) == set(WIDTHS)
    assert all(len(words) > 40 for words in shown.values())
