"""The other columns of an opened table: what is said of them is what the library finds for each combination."""

from __future__ import annotations

import math
import shlex
from typing import Any

import msgspec
import pytest

import leakwise as lw
from leakwise.errors import InvalidInput
from leakwise.guarantee import at_most
from leakwise.studio.answers import solve
from leakwise.studio.state import OtherColumns, State
from leakwise.studio.whole_row import whole_row
from studio.states import design_for, make_state

COUNTS = {("f", "north"): [30, 10, 60], ("m", "north"): [1, 39, 60], ("m", "south"): [10, 3, 2]}


def told(lift: str = "2", **change: Any) -> dict[str, Any]:
    state = make_state(["a", "b", "c"], ["41", "52", "122"], kind="counts", level=("lift", lift))
    solved = solve(
        msgspec.convert({**state, "goal": design_for("frequencies"), "anyone": "20"}, State),
        draft=False,
        progress=lambda stage, done: None,
    )
    others = {
        "table": "my people.csv",
        "column": "ill",
        "given": ["sex", "place"],
        "drop": ['a "name", odd'],
        "keys": [list(key) for key in COUNTS],
        "counts": list(COUNTS.values()),
        **change,
    }
    body: dict[str, Any] = whole_row(solved, msgspec.convert(others, OtherColumns)).body
    worst = max(
        math.exp(lw.epsilon(solved.mechanism, lw.Prior.from_counts(dict(zip("abc", own, strict=True)))))
        for own in COUNTS.values()
        if sum(own) >= 20
    )
    return {**body, "worst": worst}


def test_the_lift_beside_given_columns_is_that_of_the_worst_combination() -> None:
    found = told()
    alone, beside, way_out = found["sentences"]
    assert alone.startswith("sex and place alone: where sex = ")
    assert "15 rows are in combinations of fewer than 20, and are not counted here." in alone
    assert f"up to {at_most(found['worst'])} times as likely as sex and place make it already" in beside
    assert found["beyond"] is (found["worst"] > 2)
    assert "keeps your limit for them as well" in way_out


def test_the_command_names_every_column_of_the_table() -> None:
    words = shlex.split(told()["cli"])
    assert words[:5] == ["leakwise", "release", "my people.csv", "--column", "ill"]
    assert [words[place + 1] for place, word in enumerate(words) if word == "--given"] == ["sex", "place"]
    assert words[words.index("--drop") + 1] == '"a ""name"", odd"'
    assert words[-2:] == ["-o", "my people_released.csv"]


def test_an_empty_cell_is_a_missing_value_whatever_prior_was_chosen() -> None:
    state = msgspec.convert(make_state(["no", "(empty)"], ["1/2", "1/2"], goal=design_for("frequencies")), State)
    solved = solve(state, draft=False, progress=lambda stage, done: None)
    words = shlex.split(whole_row(solved, OtherColumns("t.csv", "ill")).body["cli"])
    assert words[words.index("--domain") + 1] == "no,"


def test_without_given_columns_there_is_only_the_command() -> None:
    found = told(given=[], keys=[], counts=[])
    assert found["sentences"] == []
    assert not found["beyond"]


@pytest.mark.parametrize("change", [{"counts": [[1, 2]] * 3}, {"keys": [["f"]] * 3}, {"counts": []}])
def test_counts_of_other_values_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="Choose the column of the table again"):
        told(**change)
