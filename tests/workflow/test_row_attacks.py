"""What someone tries who wants more from a released row than was promised: labels, hidden copies, codes in codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import leakwise as lw

ROWS = 3000
LIMITS: dict[str, Any] = {"domain": ["no", "yes"], "lift": 1.5, "prior": "table", "failure": 1e-6, "time_limit": 5}
RNG = np.random.default_rng(7)
ILL = RNG.choice(["no", "yes"], ROWS, p=[0.7, 0.3])
NUMBER = RNG.permutation(ROWS)
SEX = RNG.choice(["f", "m"], ROWS)


def table(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"ill": ILL, **columns})


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([f"p{number}{value[0]}" for number, value in zip(NUMBER, ILL, strict=True)], name="patient"),
        pd.Index([f"p{number}" for number in NUMBER]),
        pd.Index(RNG.integers(20, 90, ROWS)),
        pd.Index(NUMBER, name="number"),
        pd.MultiIndex.from_arrays([NUMBER, SEX]),
    ],
    ids=["named texts", "texts", "repeated numbers", "named numbers", "two levels"],
)
def test_index_of_which_nothing_was_said_does_not_go_out(index: pd.Index) -> None:
    with pytest.raises(lw.InvalidInput, match="would go out with the index"):
        lw.protect(table(sex=SEX).set_axis(index), "ill", **LIMITS)


def test_numbers_of_rows_are_kept_and_shuffled_rows_are_numbered_again() -> None:
    some = table(sex=SEX)[ILL != "never"].set_axis(pd.Index(NUMBER))
    assert lw.protect(some, "ill", **LIMITS).table.index.tolist() == NUMBER.tolist()
    named = some.set_axis(pd.Index(NUMBER, name="number"))
    assert isinstance(lw.protect(named, "ill", order="shuffle", **LIMITS).table.index, pd.RangeIndex)


@pytest.mark.parametrize("repeated", [1, 3, 8])
def test_copy_of_the_secret_is_not_unrelated_because_another_given_column_has_a_value_for_each_row(
    repeated: int,
) -> None:
    data = table(number=NUMBER // repeated, sex=SEX, copy=np.where(ILL == "yes", "x", "y"))
    with pytest.raises(lw.InvalidInput, match="'copy', and the table contradicts it: copy tells about ill given sex"):
        lw.protect(data, "ill", given=["number", "sex"], unrelated="copy", **LIMITS)


def test_column_of_lists_that_is_given_hides_no_copy() -> None:
    data = {"ill": ILL.tolist(), "visits": [[one] for one in NUMBER.tolist()], "copy": ILL.tolist()}
    with pytest.raises(lw.InvalidInput, match="'copy', and the table contradicts it"):
        lw.protect(data, "ill", given="visits", unrelated="copy", **LIMITS)


def test_code_at_the_end_of_a_number_that_each_row_has_of_its_own_is_found() -> None:
    case = [f"{number:05}-{'A17' if value == 'yes' else 'B20'}" for number, value in zip(NUMBER, ILL, strict=True)]
    with pytest.raises(lw.InvalidInput, match="'case', and the table contradicts it"):
        lw.protect(table(case=case, sex=SEX), "ill", given="sex", unrelated="case", **LIMITS)


def test_two_columns_that_tell_the_secret_together_are_found_beside_one_with_many_values() -> None:
    one = RNG.integers(0, 2, ROWS)
    data = table(one=one, two=one ^ (ILL == "yes"), street=RNG.integers(0, 60_000, ROWS), flat=NUMBER)
    with pytest.raises(lw.InvalidInput, match="'one' and 'two', and the table contradicts it"):
        lw.protect(data, "ill", given=[], unrelated=["street", "flat", "one", "two"], **LIMITS)


def test_columns_that_tell_nothing_pass_beside_a_number_for_each_row() -> None:
    data = table(number=NUMBER, case=[f"{one:05}" for one in RNG.permutation(ROWS)], street=RNG.integers(0, 40, ROWS))
    with pytest.warns(lw.LeakwiseWarning, match="too rare to learn from"):
        done = lw.protect(data, "ill", given="number", unrelated=["case", "street"], **LIMITS)
    assert "if case and street tell nothing" in done.guarantee


@pytest.mark.parametrize("columns", [{}, {"sex": "f"}])
def test_name_that_only_later_objects_have_does_not_go_out_unseen(tmp_path: Path, columns: dict[str, str]) -> None:
    objects = [
        {"ill": value, **columns} if place < 2000 else {"ill": value, **columns, "copy": value}
        for place, value in enumerate(ILL)
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, objects)))
    with pytest.raises(lw.InvalidInput, match="'copy', which the first object does not have"):
        lw.protect(tmp_path / "t.jsonl", "ill", out=tmp_path / "out.jsonl", **LIMITS)
    assert not (tmp_path / "out.jsonl").exists()
