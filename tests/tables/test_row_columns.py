"""Each column beside the secret is given, unrelated or dropped, and no column is two of them."""

from __future__ import annotations

from typing import Any

import pytest

import leakwise as lw
from leakwise.errors import InvalidInput
from leakwise.tables.row_columns import row_columns

KNOWN = ["name", "age", "sex", "zip", "ill"]


def test_every_column_has_one_role_and_the_rest_is_unspoken() -> None:
    row = row_columns(KNOWN, ("ill",), given=["sex"], unrelated="zip", drop=("name",))
    assert (row.given, row.unrelated, row.dropped, row.unspoken) == (("sex",), ("zip",), ("name",), ("age",))
    assert row.with_unspoken_given().given == ("sex", "age")
    assert row.with_unspoken_given().beside == ("sex", "age", "zip")


def test_a_coarsened_column_is_given_unless_it_is_unrelated() -> None:
    tens = lw.bins(0, 100, 10)
    assert row_columns(KNOWN, ("ill",), coarsen={"age": tens}).given == ("age",)
    row = row_columns(KNOWN, ("ill",), coarsen={"age": tens}, unrelated=["age"])
    assert (row.given, row.unrelated, dict(row.coarsened)) == ((), ("age",), {"age": tens})


def test_bins_in_given_coarsen_and_other_domains_are_declared() -> None:
    row = row_columns(KNOWN, ("ill",), given={"age": lw.bins(0, 100, 5), "sex": ["f", "m"], "zip": None})
    assert row.given == ("age", "sex", "zip")
    assert row.coarsened == {"age": lw.bins(0, 100, 5)}
    assert row.declared == {"sex": ["f", "m"]}


def test_a_tuple_that_is_a_name_is_one_column() -> None:
    assert row_columns([("a", "b"), "ill"], ("ill",), given=("a", "b")).given == (("a", "b"),)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"given": ["sx"]}, r"given \(--given\): column 'sx' is not in the table, .* Did you mean 'sex'\?"),
        ({"drop": ["ill"]}, r"drop \(--drop\) must not name the secret: 'ill' is both"),
        ({"coarsen": {"ill": lw.bins(0, 1, 2)}}, r"coarsen \(--coarsen\) must not name the secret"),
        ({"given": ["sex"], "drop": ["sex"]}, "'sex' is named by both given and drop"),
        ({"unrelated": ["sex", "sex"]}, "must name each column once"),
        ({"coarsen": {"age": lw.bins(0, 1, 2)}, "drop": ["age"]}, "both coarsened"),
        ({"coarsen": {"age": [0, 10]}}, r"coarsen must give bins for column 'age'"),
        ({"coarsen": ["age"]}, "coarsen must be a mapping from columns to bins"),
        ({"given": {"age": lw.bins(0, 1, 2)}, "coarsen": {"age": lw.bins(0, 1, 3)}}, "different bins"),
        ({"given": {"age": [1, 2]}, "coarsen": {"age": lw.bins(0, 1, 3)}}, "Name its bins only"),
    ],
)
def test_what_contradicts_itself_is_refused(said: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        row_columns(KNOWN, ("ill",), **said)


def test_a_bare_column_has_no_other_columns() -> None:
    assert row_columns(None, ()).beside == ()
    with pytest.raises(InvalidInput, match="'drop' must be left out when the data is a bare column"):
        row_columns(None, (), drop=["x"])
