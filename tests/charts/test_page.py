"""One page shell: everything inside the page, nothing from outside, and no script unless one is given."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import leakwise
from leakwise.charts.page import html_page, paragraph, section

SOURCE = Path(leakwise.__file__).parent
NASTY = '</title><script>alert("1")</script>'


def policy(page: str) -> dict[str, set[str]]:
    """The directives of a page's content security policy."""
    found = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', page)
    assert len(found) == 1
    return {words[0]: set(words[1:]) for one in found[0].split(";") if (words := one.split())}


WITHOUT_SCRIPT = {
    "default-src": {"'none'"},
    "style-src": {"'unsafe-inline'"},
    "img-src": {"data:"},
    "base-uri": {"'none'"},
    "form-action": {"'none'"},
}


def test_a_page_without_a_script_allows_none() -> None:
    page = html_page("Title", "<p>Text</p>\n", style="p { margin: 0; }")
    assert policy(page) == WITHOUT_SCRIPT
    assert "<script" not in page
    assert page.startswith("<!DOCTYPE html>\n")
    assert "<style>p { margin: 0; }</style>\n</head>\n<body>\n<p>Text</p>\n</body>\n</html>\n" in page


def test_a_page_with_a_script_still_asks_nobody() -> None:
    page = html_page("Title", "", style="", script="run()")
    scripts = {"script-src": {"'unsafe-inline'", "'unsafe-eval'"}, "img-src": {"data:", "blob:"}}
    assert policy(page) == WITHOUT_SCRIPT | scripts
    assert page.count("<script>run()</script>\n</head>") == 1


@pytest.mark.parametrize("page", [html_page(NASTY, "", style=""), section(NASTY), paragraph(NASTY)])
def test_titles_and_texts_are_escaped(page: str) -> None:
    assert "<script" not in page
    assert "&lt;script&gt;" in page


def test_no_other_module_writes_a_shell_or_a_policy() -> None:
    shells = [path for path in SOURCE.rglob("*.py") if "<!doctype" in path.read_text(encoding="utf-8").lower()]
    assert [str(path.relative_to(SOURCE)) for path in shells] == [str(Path("charts", "page.py"))]
