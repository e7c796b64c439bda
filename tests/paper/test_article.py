"""The article is built to HTML and PDF, and each of its theorems names tests that there are."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
ARTICLE = ROOT / "docs" / "paper" / "article.md"
CLAIM = re.compile(r"^\*\*(?P<name>(Theorem|Corollary|Proposition) \d+)\b", re.MULTILINE)


def claims() -> dict[str, str]:
    """Return what the article says from each claim to the next one."""
    text = ARTICLE.read_text(encoding="utf-8")
    starts = list(CLAIM.finditer(text))
    ends = [*(start.start() for start in starts[1:]), len(text)]
    return {start["name"]: text[start.start() : end] for start, end in zip(starts, ends, strict=True)}


def functions_of(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_claim_has_a_proof_and_names_tests_that_there_are() -> None:
    found = claims()
    assert len(found) >= 13
    for name, text in found.items():
        assert "*Proof.*" in text, name
        assert text.count("$\\square$") == 1, name
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
        assert named, f"{name} names no test"
        for path, test in named:
            assert test in functions_of(ROOT / path), f"{name} names {path}::{test}, which there is not"
        own = [test for path, test in named if path.startswith("tests/paper/")]
        assert any(test.startswith(f"test_{name.lower().replace(' ', '_')}_") for test in own), name


def test_the_article_is_built_to_html_and_pdf(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(
        [str(ROOT / "scripts" / "paper"), str(tmp_path)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # formulas that cannot be read are told of there
    assert (tmp_path / "leakwise.pdf").read_bytes().startswith(b"%PDF")
    page = (tmp_path / "leakwise.html").read_text(encoding="utf-8")
    assert page.count("<math") > 400
    assert 'class="math' not in page  # what is left as TeX
    assert "http://" not in re.sub(r'xmlns="[^"]*"', "", page)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["leakwise.html", "leakwise.pdf"]
