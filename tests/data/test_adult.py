"""The Adult table: the counts as published, and a table that has exactly these counts."""

from __future__ import annotations

import hashlib
from collections import Counter
from importlib import resources

import pytest

from leakwise.data import adult_counts, adult_table
from leakwise.errors import InvalidInput

FIRST_ORDER = "6fc3629d8c34e6b9e677e150adfd0c9180d35bdc913b6abf46f9476eb8e3d788"
COLUMNS = ("sex", "marital_status", "occupation", "income")


def rows_of(table: dict[str, list[str]]) -> list[tuple[str, ...]]:
    return list(zip(*(table[name] for name in COLUMNS), strict=True))


def test_margins_are_those_of_the_published_training_part() -> None:
    margins: dict[str, Counter[str]] = {name: Counter() for name in COLUMNS}
    for entry in adult_counts():
        for name in COLUMNS:
            margins[name][entry[name]] += entry["rows"]  # type: ignore[literal-required]
    assert margins["sex"] == {"Male": 21790, "Female": 10771}
    assert margins["income"] == {"<=50K": 24720, ">50K": 7841}
    assert margins["marital_status"] == {
        "Married-civ-spouse": 14976,
        "Never-married": 10683,
        "Divorced": 4443,
        "Separated": 1025,
        "Widowed": 993,
        "Married-spouse-absent": 418,
        "Married-AF-spouse": 23,
    }
    assert len(margins["occupation"]) == 15
    assert margins["occupation"]["?"] == 1843


def test_every_combination_is_listed_once_and_occurs() -> None:
    counts = adult_counts()
    combinations = [tuple(entry[name] for name in COLUMNS) for entry in counts]  # type: ignore[literal-required]
    assert len(set(combinations)) == len(combinations) == 307
    assert all(entry["rows"] > 0 for entry in counts)


@pytest.mark.parametrize("seed", [None, 0, 1, -7])
def test_table_has_exactly_the_counts(seed: int | None) -> None:
    expected = {tuple(e[name] for name in COLUMNS): e["rows"] for e in adult_counts()}  # type: ignore[literal-required]
    table = adult_table(shuffle_seed=seed)
    assert tuple(table) == COLUMNS
    assert Counter(rows_of(table)) == expected


def test_seed_fixes_the_order_for_good() -> None:
    joined = "\n".join(",".join(row) for row in rows_of(adult_table(shuffle_seed=0)))
    assert hashlib.sha256(joined.encode()).hexdigest() == FIRST_ORDER
    assert rows_of(adult_table()) == rows_of(adult_table(shuffle_seed=0))
    assert rows_of(adult_table(shuffle_seed=1)) != rows_of(adult_table(shuffle_seed=2))


def test_unshuffled_rows_follow_the_counts() -> None:
    rows = rows_of(adult_table(shuffle_seed=None))
    assert rows[:116] == [("Female", "Divorced", "?", "<=50K")] * 116
    assert rows[116] == ("Female", "Divorced", "?", ">50K")


def test_each_call_returns_lists_of_its_own() -> None:
    first = adult_table()
    first["sex"].clear()
    assert len(adult_table()["sex"]) == 32561


@pytest.mark.parametrize("seed", [1.5, "3", True])
def test_seed_must_be_an_integer_or_none(seed: object) -> None:
    with pytest.raises(InvalidInput, match=r"'shuffle_seed'.*integer or None"):
        adult_table(shuffle_seed=seed)  # type: ignore[arg-type]


def test_file_and_its_source_travel_with_the_package() -> None:
    room = resources.files("leakwise.data")
    assert "Becker" in room.joinpath("README.md").read_text(encoding="utf-8")
    assert room.joinpath("adult_counts.csv").read_text(encoding="utf-8").startswith("sex,marital_status,")
