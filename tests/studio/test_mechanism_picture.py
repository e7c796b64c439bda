"""The heat map of the mechanism: nothing is left out unsaid, and what has no room for its name has a dot and a tip."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest

from leakwise.studio.answers import Solved, solve
from leakwise.studio.mechanism_picture import mechanism_picture
from leakwise.studio.parts import what_to_release
from leakwise.studio.state import State
from studio.states import design_for, make_state, matrix


def solved_for(count: int, goal: dict[str, Any], long: bool = False, draft: bool = True) -> Solved:
    names = [f"value number {place} of many" if long else f"v{place}" for place in range(count)]
    state = make_state(names, [str(1000 // (place + 1)) for place in range(count)], kind="counts", goal=goal)
    return solve(msgspec.convert({**state, "anyone": "20"}, State), draft=draft, progress=lambda stage, done: None)


def with_codes() -> Solved:
    """Fifty values and 150 outcomes under the codes that the library gives to many, with lifts above and below 1."""
    weights = [[1 + place * outcome % 7 for outcome in range(150)] for place in range(50)]
    rows = [" ".join(f"{one}/{sum(row)}" for one in row) for row in weights]
    return solved_for(50, matrix(*rows, outputs=[f"y{place:03d}" for place in range(1, 151)]))


def picture(solved: Solved, view: str = "mechanism") -> tuple[dict[str, Any], list[dict[str, Any]], str]:
    found = mechanism_picture(solved, view)
    assert found is not None
    return found["chart"], found["chart"]["data"]["values"], found["words"]


def tips(chart: dict[str, Any]) -> list[str]:
    return [tip["field"] for tip in chart["layer"][0]["encoding"]["tooltip"]]


def test_a_small_mechanism_is_shown_whole_under_its_names() -> None:
    solved = solved_for(3, design_for("frequencies"))
    chart, cells, words = picture(solved)
    assert [cell["v"] for cell in cells] == solved.mechanism.matrix.ravel().tolist()
    assert {cell["c"] for cell in cells} == set(map(str, solved.mechanism.outputs))
    assert tips(chart) == ["r", "c", "t", "exact"]
    assert "shown" not in words
    assert "dot" not in words


@pytest.mark.parametrize("view", ["mechanism", "lifts"])
def test_fifty_values_are_all_there_and_the_caption_counts_the_outcomes_that_are_not(view: str) -> None:
    solved = with_codes()
    chart, cells, words = picture(solved, view)
    assert len({cell["r"] for cell in cells}) == 50
    shown = list(dict.fromkeys(cell["c"] for cell in cells))
    law = solved.nominal.probabilities @ solved.mechanism.matrix
    places = [list(map(str, solved.mechanism.outputs)).index(name) for name in shown]
    assert len(places) == 30
    assert law[places].min() >= np.delete(law, places).max()
    assert "The 30 likeliest of 150 outcomes are shown, which " in words
    # The dots are the values that an outcome makes more likely; its code is explained where one points.
    raised = solved.mechanism.matrix[:, places] > (1 + 1e-9) * law[places]
    assert [cell["up"] for cell in cells] == raised.ravel().tolist()
    assert "A dot marks each value that an outcome makes more likely" in words
    assert tips(chart)[:2] == ["r", "o"]
    first = [f"v{place}" for place in np.flatnonzero(raised[:, 0])]
    assert cells[0]["o"].startswith((f"{shown[0]}: {{{first[0]},", f"{shown[0]}: not "))


def test_of_a_hundred_values_the_caption_says_how_many_are_shown() -> None:
    _, cells, words = picture(solved_for(100, design_for("guessing")))
    assert len({cell["r"] for cell in cells}) == 50
    assert "The 50 likeliest of 100 values are shown." in words
    assert "v0" in {cell["r"] for cell in cells}


def test_long_names_give_way_to_numbers_with_the_name_where_one_points() -> None:
    solved = solved_for(7, design_for("frequencies"), long=True)
    _, cells, words = picture(solved)
    outcomes = solved.mechanism.shape[1]
    assert [cell["c"] for cell in cells[:outcomes]] == [str(place) for place in range(1, outcomes + 1)]
    assert [cell["o"] for cell in cells[:outcomes]] == list(map(str, solved.mechanism.outputs))
    assert "likeliest" not in words
    assert "exact" in cells[0]


def test_outcomes_that_say_nothing_have_no_dots() -> None:
    same = matrix(*["1/13 " * 13] * 3, outputs=[f"o{place}" for place in range(13)])
    _, cells, _ = picture(solved_for(3, same))
    assert not any(cell["up"] for cell in cells)


def test_a_code_among_the_released_rows_is_explained() -> None:
    rows = what_to_release(with_codes())
    assert all(": not " in row["outcome"] or ": {" in row["outcome"] for row in rows)
