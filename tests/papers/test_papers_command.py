"""``leakwise papers``: the list, a run, its JSON, and an exit code that tells of failures."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from leakwise.cli import app
from leakwise.cli.commands.research.papers import _bars
from leakwise.papers import Result
from leakwise.papers import exhibit as frame


@pytest.fixture(autouse=True, scope="module")
def one_erratum() -> Iterator[None]:
    """The errata have tests of their own; here one of them stands for all."""
    from leakwise.papers import errata

    chosen = [entry for entry in errata.errata("ED") if entry.name == "ed_linear_composition"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(errata, "errata", lambda paper=None, kind=None: chosen)
        yield


def command(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["papers", *words], catch_exceptions=False)
    return done.exit_code, done.stdout, done.stderr


def test_the_list_names_every_exhibit() -> None:
    code, said, _ = command("--list", "--all")
    assert code == 0
    for made in frame.exhibits():
        assert f"{made.paper}/{made.name}" in said
    code, said, _ = command("WC", "--list", "--json")
    assert [entry["number"] for entry in json.loads(said)] == ["Example 1", "Figure 1", "Figure 2", "Figure 3"]


def test_the_help_names_what_is_not_recomputed() -> None:
    said = " ".join(command("--help")[1].replace("│", " ").split())
    assert "every computed figure, table and example" in said
    assert "[ED] Figure 1, [PR] Figure 2, Table 1 and Table 2" in said


def test_an_unknown_name_is_told() -> None:
    code, _, said = command("figure_one")
    assert code == 2
    assert "no exhibit named 'figure_one'" in said


def test_a_run_and_a_second_one(tmp_path: Path) -> None:
    words = ["EN/example_3", "EN/example_4", "--fast", "--jobs", "1", "--output", str(tmp_path)]
    code, said, told = command(*words)
    assert code == 0
    assert "2 made, 0 still true, 0 failed." in said
    assert "[2/2] leakage-envelopes/example_4: made" in told
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "What the paper prints" in page
    assert "log 1/0.55" in page
    code, said, told = command(*words, "--json")
    assert code == 0
    assert told == ""
    assert json.loads(said)["kept"] == ["leakage-envelopes/example_3", "leakage-envelopes/example_4"]
    assert json.loads(command(*words, "--json", "--again")[1])["kept"] == []


def test_a_failure_is_an_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "_REGISTRY", dict(frame._REGISTRY))
    monkeypatch.setattr("leakwise.papers.gallery.write_gallery", lambda directory: directory)

    @frame.exhibit(paper="WC", title="t", shows="s", printed="p")
    def figure_99(*, fast: bool = False, progress: Any = None) -> Result:
        raise ValueError("no such picture")

    code, said, told = command("WC/figure_99", "--output", str(tmp_path))
    assert code == 1
    assert "1 failed" in said
    assert "ValueError: no such picture" in told


class Terminal(io.StringIO):
    """Standard error that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_terminal_gets_a_bar_for_each_exhibit_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr("sys.stderr", screen)
    with _bars(["a", "b"], show=True) as told:
        assert told is not None
        told("a", 0.5, "half way")
        told("b", 1.0, "still true")
        told("a", 1.0, "made")
        told("a", 0.9, "late news")
    said = screen.getvalue()
    assert "all exhibits" in said
    assert "2 of 2" in said
    assert "late news" not in said
