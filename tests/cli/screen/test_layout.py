"""A page of a result: what comes first, what is short, and what the width of a terminal does to it."""

from __future__ import annotations

import re
import shlex

import pytest

from leakwise.charts.shown import Table
from leakwise.charts.words import Broken, Command, Kept, Notice
from leakwise.cli.screen.layout import MOST_ROWS, laid_out


def texts(parts: list[object], width: int | None = None, *, everything: bool = False) -> list[str]:
    return [line.text for line in laid_out(parts, width, everything=everything)]  # type: ignore[arg-type]


def test_the_guarantee_comes_first_and_notices_are_never_left_out() -> None:
    parts = [
        Table(["value"], [["a"]], "A caption"),
        [f"Sentence {number}." for number in range(5)],
        Notice("Not for others."),
        Broken("A limit is broken."),
        Kept("Nothing leaks."),
    ]
    said = texts(parts)
    assert said[:5] == ["Nothing leaks.", "A limit is broken.", "Sentence 0.", "Sentence 1.", "Sentence 2."]
    assert said[-2:] == ["Not for others.", "More with --all: 2 sentences."]
    assert "Sentence 4." in texts(parts, everything=True)
    assert not any("--all" in line for line in texts(parts, everything=True))


def test_a_paragraph_is_never_cut_so_that_no_sentence_loses_its_condition() -> None:
    assert texts(["Nothing is known. This is so if a. And b. And c.", "More."]) == ["More with --all: 5 sentences."]
    guarantee = Kept("No guess. Except if a. Or b. Or c. Or d.")
    assert texts([guarantee]) == [guarantee]


def test_the_first_table_is_short_and_others_are_shown_where_they_fit_whole() -> None:
    tables = [Table(["x"], [[str(k)] for k in range(rows)], f"Table of {rows}") for rows in (9, 3, 4)]
    said = texts(tables)
    assert "Table of 3" in said
    assert said[-1] == "More with --all: 1 table (Table of 4)."
    long = texts([Table(["x"], [[str(k)] for k in range(50)])])
    assert sum(line.isdecimal() for line in long) == MOST_ROWS
    assert long[-1] == "More with --all: 38 rows."
    assert sum(line.isdecimal() for line in texts([Table(["x"], [[str(k)] for k in range(50)])], everything=True)) == 50


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("everything", [False, True])
def test_no_line_is_longer_than_the_terminal_and_no_number_is_cut(width: int, everything: bool) -> None:
    numbers = [f"{place}.123456789" for place in range(12)]
    rows = [
        ["a name of several words 日本語の名前", *numbers],
        ["averyveryveryveryverylongnamewithoutanyspace", *numbers],
    ]
    headers = ["name", *(f"column {place}" for place in range(12))]
    said = texts([Table(headers, rows, "A caption that is rather long " * 4)], width, everything=everything)
    from leakwise.charts._plain import display_width

    assert max(map(display_width, said)) <= width
    met = set(re.findall(r"[0-9.]{4,}", "\n".join(said)))
    assert met <= set(numbers)
    if everything:
        assert met == set(numbers)
    else:
        assert any("more" in line for line in said)


@pytest.mark.parametrize("width", [24, 60, None])
def test_a_command_can_be_copied_at_any_width(width: int | None) -> None:
    words = ["leakwise", "release", "it's a table.csv", "--domain", ",".join(f"<={k} 'x'" for k in range(40)), "--all"]
    said = texts([Command(shlex.join(words))], width)
    assert width is None or max(map(len, said)) <= width
    assert shlex.split("\n".join(said).replace("\\\n", "")) == words
