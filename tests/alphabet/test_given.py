"""Given columns: strata numbered, encoded and stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from leakwise.alphabet import GivenColumns, bins, encode_column, found_domain
from leakwise.errors import InvalidInput


def test_every_combination_has_codes_that_lead_back() -> None:
    given = GivenColumns({"a": ["x", "y", None], "b": [1, 2], "c": ["p"]})
    strata = list(given.all())
    assert len(strata) == given.combinations == 6
    rows = list(zip(*strata, strict=True))
    codes = given.encode([list(row) for row in rows])
    assert [given.coded(row) for row in zip(*codes, strict=True)] == strata


def test_a_single_column_needs_no_tuple() -> None:
    given = GivenColumns({"age": bins(0, 10, 2)})
    assert given.coded([1]) == given.stratum(("[5, 10]",)) == "[5, 10]"
    assert [codes.tolist() for codes in given.encode([[1.0, 7.0]])] == [[0, 1]]
    assert given.coarse() == ["age"]
    assert GivenColumns.from_body(given.to_body(), "file") == given


def test_bins_may_have_a_place_for_missing_values() -> None:
    ages = bins(0, 10, 2).with_missing()
    assert ages.labels == ("[0, 5)", "[5, 10]", None)
    assert encode_column(np.array([10.0, np.nan, 0.0]), ages).tolist() == [1, 2, 0]
    assert encode_column(["[5, 10]", None], ages).tolist() == [1, 2]
    with pytest.raises(InvalidInput, match="outside the declared domain: 11"):
        encode_column([3, None, 11], ages)
    given = GivenColumns({"age": ages})
    assert GivenColumns.from_body(given.to_body(), "file") == given


def test_columns_are_narrowed_to_the_values_of_some_strata() -> None:
    given = GivenColumns({"a": ["x", "y", "z"], "age": bins(0, 10, 2)})
    narrow = given.narrowed([("z", "[0, 5)"), ("x", "[0, 5)")])
    assert [domain.labels for domain in narrow.domains] == [("x", "z"), ("[0, 5)", "[5, 10]")]
    assert given.narrowed([]).domains[0].labels == (None,)


@pytest.mark.parametrize("make", [list, np.array, pd.Series, pd.Categorical, pl.Series, pa.array, pa.chunked_array])
def test_the_values_that_occur_are_found_in_any_kind_of_column(make: Any) -> None:
    values = ["b", "a", "b"]
    assert found_domain(make([values] if make is pa.chunked_array else values)).labels == ("a", "b")


def test_missing_values_come_last() -> None:
    assert found_domain(pd.Series([2.0, np.nan, 1.0])).labels == (1.0, 2.0, None)
    assert found_domain([3, None, 1]).labels == (1, 3, None)


def test_what_is_not_plain_is_refused() -> None:
    with pytest.raises(InvalidInput, match="plain values"):
        found_domain([[1], [2]])
