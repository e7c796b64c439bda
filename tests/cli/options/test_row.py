"""Names of columns and bins as they are typed."""

from __future__ import annotations

import pytest

from leakwise.cli.options.row import read_coarsen, read_names
from leakwise.errors import InvalidInput


def test_names_are_split_at_commas_and_may_be_quoted() -> None:
    assert read_names(None) is None
    assert read_names(["sex, income", "zip"]) == ["sex", "income", "zip"]
    assert read_names(['"age, in years",sex']) == ["age, in years", "sex"]


def test_bins_may_be_of_a_column_with_an_equals_sign() -> None:
    found = read_coarsen(["a=b=bins:0,10,2", "age=bins:0,100,4"])
    assert found is not None
    assert list(found) == ["a=b", "age"]


@pytest.mark.parametrize("texts", [["age"], ["age=0,10"], ["age=bins:0,1"], ["age=bins:0,9,3", "age=bins:0,9,3"]])
def test_what_are_no_bins_is_refused(texts: list[str]) -> None:
    with pytest.raises(InvalidInput):
        read_coarsen(texts)
