"""What the page writes for an opened table runs as it is, and says one thing: command, settings and notebook."""

from __future__ import annotations

import json
import random
import shlex
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

import leakwise as lw
import notebook_cells
from leakwise.cli import app
from leakwise.studio.answers import solve
from leakwise.studio.state import File, OtherColumns, State
from leakwise.studio.whole_row import whole_row
from studio.states import brought, design_for, make_state, of_value

TABLE = "my people.csv"
COLUMNS = ["age", "sex", "ill, or not"]
STATISTICS = design_for("frequencies")


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(5)
    rows = [f"{rng.randint(0, 99)},{rng.choice('fm')},{rng.choice(['no', 'no', 'yes', ''])}" for _ in range(3000)]
    (tmp_path / TABLE).write_text("\n".join([",".join(COLUMNS[:2]) + ',"ill, or not"', *rows]) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)


def found(state: dict[str, Any], column: str, **columns: list[str]) -> dict[str, Any]:
    others: dict[str, Any] = {"table": TABLE, "column": column, **columns}
    said = [name for names in columns.values() for name in names]
    others["drop"] = [name for name in COLUMNS if name not in (column, *said)]
    if "given" in columns:
        others |= {"keys": [["f"], ["m"]], "counts": [[100, 60, 40], [180, 120, 100]]}
    solved = solve(msgspec.convert(state, State), draft=False, progress=lambda stage, done: None)
    return whole_row(solved, msgspec.convert(others, OtherColumns)).body


ILL = ["no", "yes", "(empty)"]
FROM_ROWS = make_state(ILL, ["280", "180", "140"], kind="counts", goal=STATISTICS)
FROM_ROWS["prior"]["origin"] = "table"
AGES = make_state(["[0, 50)", "[50, 100]"], ["1/4", "3/4"], goal=STATISTICS)
CASES: dict[str, tuple[dict[str, Any], str, dict[str, list[str]]]] = {
    "from the rows, with a missing value": ({**FROM_ROWS, "anyone": "20"}, "ill, or not", {}),
    "given columns": ({**FROM_ROWS, "anyone": "7"}, "ill, or not", {"given": ["sex"], "unrelated": ["age"]}),
    "a uniform prior": ({**make_state(ILL, ["1/3"] * 3, goal=design_for("reading"))}, "ill, or not", {}),
    "a typed prior of bins": ({**AGES, "anyone": "20"}, "age", {}),
    "limits of single values": (
        {
            **make_state(ILL, ["1/2", "1/4", "1/4"], level=("epsilon", "0.7"), goal=STATISTICS),
            "anyone": "20",
            "values": [of_value("yes", lift_of="1.2"), of_value("(empty)", lift_of="1.3", ceiling="0.5")],
        },
        "ill, or not",
        {},
    ),
    "a mechanism that was brought": ({**FROM_ROWS, "goal": brought()}, "ill, or not", {}),
}


@pytest.mark.parametrize("case", CASES)
def test_command_settings_and_notebook_run_and_say_the_same(case: str, tmp_path: Path) -> None:
    state, column, columns = CASES[case]
    body = found(state, column, **columns)
    settings, notebook = (msgspec.convert(body["files"][what], File) for what in ("settings", "notebook"))
    assert (settings.name, notebook.name) == ("my people_release.toml", "my people_release.ipynb")

    # The settings are those that the command itself saves, except for the mechanism, which there is only afterwards.
    words = [*shlex.split(body["cli"])[1:], "--save-config", "saved.toml"]
    done = CliRunner().invoke(app, words, catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    saved = tomllib.loads(Path("saved.toml").read_text(encoding="utf-8"))
    assert tomllib.loads(settings.text) == {key: value for key, value in saved.items() if key != "mechanism"}

    # With them the command is a short one.
    Path(settings.name).write_text(settings.text, encoding="utf-8")
    Path("my people_released.csv").rename("first.csv")
    words = [*shlex.split(body["short_cli"])[1:], "--overwrite"]
    again = CliRunner().invoke(app, words, catch_exceptions=False)
    assert again.exit_code == 0, again.stderr
    assert again.stdout.splitlines()[0] == done.stdout.splitlines()[0]  # the guarantee

    # The notebook makes the same promise, and ends with the frequencies.
    Path("my people_released.csv").unlink()
    names, shown = notebook_cells.run(json.loads(notebook.text), notebook.name)
    assert names["r"].guarantee == done.stdout.splitlines()[0]
    assert isinstance(shown[-1], lw.results.Estimate)
    assert {path.name for path in tmp_path.glob("my people_released.*")} == {
        "my people_released.csv",
        "my people_released.mechanism.json",
        "my people_released.report.html",
    }


def test_a_second_run_of_the_notebook_is_refused_and_says_why() -> None:
    text = msgspec.convert(found(*CASES["a typed prior of bins"][:2])["files"]["notebook"], File).text
    notebook_cells.run(json.loads(text), "first")
    with pytest.raises(lw.InvalidInput, match=r"my people_released\.csv"):
        notebook_cells.run(json.loads(text), "second")
    assert "A second run would be a second release of the same people" in text


def test_what_a_release_does_otherwise_than_the_screen_is_said() -> None:
    assert found(*CASES["a uniform prior"][:2])["note"] == ""
    assert "one that is brought is for one secret" in found(*CASES["a mechanism that was brought"][:2])["note"]
    state, column, _ = CASES["a uniform prior"]
    assert "your prior is of the secret alone" in found(state, column, given=["sex"])["note"]


def test_names_of_columns_and_values_stay_text_in_the_notebook() -> None:
    """A name is never Python, Markdown or HTML of its own."""
    nasty = '`"]); import os #<img src=x>\n# head'
    state = {**make_state([nasty, "b"], ["0.5", "0.5"], goal=STATISTICS), "anyone": "20"}
    solved = solve(msgspec.convert(state, State), draft=False, progress=lambda stage, done: None)
    body = whole_row(solved, OtherColumns(table="../x.csv", column=nasty, drop=["a\nb"])).body
    book = json.loads(msgspec.convert(body["files"]["notebook"], File).text)
    title = "".join(book["cells"][0]["source"])
    assert title.splitlines()[0] == "# Release of `'\"]); import os #<img src=x> # head` in `../x.csv`"
    for cell in book["cells"]:
        if cell["cell_type"] == "code":
            code = compile("".join(cell["source"]), "cell", "exec")
            assert "os" not in code.co_names
