"""The architecture page names files that exist, each once in a walk, and all files that run on the way."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import leakwise as lw
from leakwise.cli.app import app

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
    assert len(found["The way of one table"]) >= 40
    for title, files in found.items():
        assert not [file for file in files if not (HOUSE / file).is_file()], title
        assert len(set(files)) == len(files), title


@contextmanager
def files_that_run() -> Iterator[set[str]]:
    """The files of the package that are run, apart from being imported."""
    ran: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and frame.f_code.co_name != "<module>" and path.is_relative_to(HOUSE):
            ran.add(path.relative_to(HOUSE).as_posix())

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield ran
    finally:
        sys.setprofile(before)


def test_the_walk_of_a_design_names_every_file_that_runs() -> None:
    prior = lw.Prior(np.random.default_rng(1).dirichlet(np.ones(20)))
    lw.design(prior, epsilon=0.8)  # everything is imported now
    with files_that_run() as ran:
        lw.design(prior, epsilon=0.7)
    assert not ran - set(walks()["The way of one design"])


def test_the_walk_of_a_table_names_every_file_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    smokes = random.Random(1).choices(["no", "yes"], [3, 1], k=500)
    Path("survey.csv").write_text("smokes\n" + "\n".join(smokes) + "\n", encoding="utf-8")
    command = (
        "release survey.csv --column smokes --domain no,yes --lift 2 --prior no=0.8,yes=0.2 --ledger ledger.db --out"
    )

    def release(out: str) -> None:
        with pytest.raises(SystemExit) as ended:
            app([*command.split(), out])
        assert ended.value.code == 0

    release("first.csv")  # everything is imported now
    with files_that_run() as ran:
        release("second.csv")
    found = walks()
    assert not ran - {*found["The way of one table"], *found["The way of one design"]}
