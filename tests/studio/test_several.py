"""Further secrets of the same rows: what they tell together, and a command that runs as it is printed."""

from __future__ import annotations

import csv
import os
import random
import re
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner

from leakwise.cli.app import app
from leakwise.errors import LeakwiseError
from leakwise.studio.several import several_secrets
from leakwise.studio.state import State
from studio.states import brought, design_for, in_a_row, make_state, of_value, worst_case

SMOKES = ("smokes", "no,yes", "1.5")
USE = design_for("frequencies")


def told(plain: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = several_secrets(msgspec.convert(plain, State)).body
    return body


def test_lifts_multiply_and_the_command_names_every_secret() -> None:
    plain = {**make_state(goal=USE), "anyone": "20", "row": in_a_row(SMOKES, ("age", "bins: 0,100,5", "3"))}
    found = told(plain)
    assert found["words"] == "All outcomes of a row together: no guess about a row becomes more than 9 times as likely."
    assert not found["beyond"]
    assert found["cli"] == (
        "leakwise release table.csv --protect ill=2 --protect smokes=1.5 --protect age=3 --domain a,b,c "
        "--domain no,yes --domain bins:0,100,5 --prior-from-table --failure 1e-6"
    )
    assert "estimated from the table" in found["note"]


def test_the_product_is_rounded_up() -> None:
    row = in_a_row(("b", "no,yes", "1.00001"), ("c", "no,yes", "1"))
    assert "more than 2.0001 times as likely" in told({**make_state(goal=USE), "row": row})["words"]


def test_a_product_beyond_the_total_is_said_and_the_command_has_the_total() -> None:
    plain = {**make_state(goal=USE), "anyone": "20"}
    within = told({**plain, "row": in_a_row(SMOKES, total="3")})
    assert not within["beyond"], "3 is not beyond 3"
    beyond = told({**plain, "row": in_a_row(SMOKES, total="2.99")})
    assert beyond["beyond"]
    assert "more than 3 times as likely. That is beyond your total of 2.99" in beyond["words"]
    assert "which multiply to at most 2.99" in beyond["words"]
    assert beyond["cli"].endswith("--total 2.99")


def test_without_a_further_secret_there_is_nothing_to_say() -> None:
    for row in (None, in_a_row(), in_a_row(("", " ", "2"))):
        assert told({**make_state(), "row": row})["cli"] is None


def test_what_the_command_does_otherwise_is_said() -> None:
    for plain, words in (
        (make_state(goal=brought()), "one that is brought is for one secret"),
        (make_state(goal=worst_case()), "made for statistics"),
        ({**make_state(goal=USE), "values": [of_value("a", lift_of="1.2")]}, "Limits of single values"),
    ):
        assert words in told({**plain, "row": in_a_row(SMOKES)})["note"]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (in_a_row(SMOKES, name=""), "The secret above has no name"),
        (in_a_row(("", "no,yes", "2")), "A further secret has no name"),
        (in_a_row(("smokes", "", "2")), "smokes has no values"),
        (in_a_row(("smokes", "no,yes", "much")), "The lift of smokes must be a number"),
        (in_a_row(("smokes", "no,yes", "")), "The lift of smokes must be a number"),
        (in_a_row(("smokes", "no,yes", "0.5")), "must be at least 1"),
        (in_a_row(SMOKES, name="smokes"), "'smokes' is named twice"),
        (in_a_row(("age+sex", "no,yes", "2")), "--protect age[+]sex=3"),
        (in_a_row(SMOKES, total="1.7"), "ill alone has a lift of 2"),
        (in_a_row(SMOKES, total="x"), "The total must be a number"),
    ],
)
def test_what_is_wrong_is_said_in_words(row: dict[str, Any], words: str) -> None:
    with pytest.raises(LeakwiseError, match=words):
        told({**make_state(goal=USE), "row": row})


RUN: dict[str, tuple[dict[str, Any], list[Any]]] = {
    "a total": ({**make_state(goal=USE), "anyone": "20", "row": in_a_row(SMOKES, total="2")}, ["a", "b", "c"]),
    "by epsilon, for reading": (
        {
            **make_state(level=("epsilon", "0.4321"), goal=design_for("reading")),
            "anyone": "15.4",
            "row": in_a_row(SMOKES),
        },
        ["a", "b", "c"],
    ),
    "values that need care": (
        {
            **make_state(["<=50K", 'a "b"', "c, d"], goal=USE),
            "anyone": "6",
            "row": in_a_row(SMOKES, name="in=come", table="my table.csv"),
        },
        ["<=50K", 'a "b"', "c, d"],
    ),
    "bins": (
        {**make_state(["[0, 10)", "[10, 20)", "[20, 30]"], goal=USE), "row": in_a_row(SMOKES, name="-age")},
        [3, 14, 25.5],
    ),
    "empty cells of a table": (
        {**make_state(["a", "b", "(empty)"], origin="table", goal=USE), "row": in_a_row(SMOKES, table="-t.csv")},
        ["a", "b", ""],
    ),
}


@pytest.mark.parametrize(("plain", "values"), RUN.values(), ids=RUN)
def test_the_command_runs_as_it_is_printed(plain: dict[str, Any], values: list[Any], tmp_path: Path) -> None:
    found, row = told(plain), plain["row"]
    draw = random.Random(1)
    rows = [(draw.choices(values, [5, 3, 2])[0], draw.choice(["no", "yes"])) for _ in range(1500)]
    with (tmp_path / (row["table"] or "table.csv")).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([(row["name"], "smokes"), *rows])
    words = shlex.split(found["cli"])
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        result = CliRunner().invoke(app, words[1:])
    finally:
        os.chdir(before)
    assert result.exit_code == 0, result.output
    said, done = (
        float(re.findall(r"more than ([\d.]+) times as likely", text)[0]) for text in (found["words"], result.output)
    )
    assert 1 < done <= (float(row["total"]) if row["total"] else said)
