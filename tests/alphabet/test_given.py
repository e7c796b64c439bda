"""Given columns: strata numbered, encoded and stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from leakwise.alphabet import GivenColumns, bins, found_domain
from leakwise.errors import InvalidInput


def test_every_combination_has_a_number_that_leads_back() -> None:
    given = GivenColumns({"a": ["x", "y", None], "b": [1, 2], "c": ["p"]})
    strata = list(given.all())
    assert len(strata) == given.combinations == 6
    assert [given.number(stratum) for stratum in strata] == list(range(6))
    assert [given.numbered(number) for number in range(6)] == strata
    rows = list(zip(*strata, strict=True))
    assert given.encode([list(row) for row in rows]).tolist() == list(range(6))


def test_a_single_column_needs_no_tuple() -> None:
    given = GivenColumns({"age": bins(0, 10, 2)})
    assert given.numbered(1) == given.stratum(("[5, 10]",)) == "[5, 10]"
    assert given.encode([[1.0, 7.0]]).tolist() == [0, 1]
    assert given.coarse() == ["age"]
    assert GivenColumns.from_body(given.to_body(), "file") == given


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
    with pytest.raises(InvalidInput, match=r"2\^62 combinations"):
        GivenColumns({place: range(1000) for place in range(7)})
