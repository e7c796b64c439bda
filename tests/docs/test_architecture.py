"""The architecture page names files that exist, each once in a walk, and all that one design runs through."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType

import numpy as np

import leakwise as lw

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
HOUSE = ROOT / "src" / "leakwise"


def walks() -> dict[str, list[str]]:
    """The files that each section of the page names, in order."""
    parts = re.split(r"^## (.+)$", PAGE, flags=re.MULTILINE)
    return {title: re.findall(r"`([\w/]+\.py)`", body) for title, body in zip(parts[1::2], parts[2::2], strict=True)}


def test_the_rule_of_the_design_comes_first() -> None:
    said = " ".join(PAGE.replace("\n>", " ").split())
    rule = (
        "A privacy constraint is a convex cone of columns; a utility is a sublinear function of a column; a mechanism "
        "is a set of columns from the cone that add up to the all-ones vector."
    )
    assert said.startswith(f"# Architecture {rule}")


def test_every_file_named_exists_and_is_named_once() -> None:
    found = walks()
    assert len(found["The way of one design"]) >= 40
    for title, files in found.items():
        assert not [file for file in files if not (HOUSE / file).is_file()], title
        assert len(set(files)) == len(files), title


def test_the_walk_of_a_design_names_every_file_that_runs() -> None:
    prior = lw.Prior(np.random.default_rng(1).dirichlet(np.ones(20)))
    ran: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and frame.f_code.co_name != "<module>" and path.is_relative_to(HOUSE):
            ran.add(path.relative_to(HOUSE).as_posix())

    lw.design(prior, epsilon=0.8)  # everything is imported now
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        lw.design(prior, epsilon=0.7)
    finally:
        sys.setprofile(before)
    assert not ran - set(walks()["The way of one design"])
