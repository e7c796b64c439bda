"""Names of values in options: with commas, colons, equal signs and quotes in them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from leakwise.cli.options.limits import read_masks, read_value_limits
from leakwise.errors import InvalidInput

SWISS = ["Ticino, sud", "Ticino", "sud", 'the "rest"', "a=b"]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('"Ticino, sud"=0.25', "Ticino, sud"),
        ("Ticino, sud=0.25", "Ticino, sud"),  # a value of that name comes first
        ('"Ticino","sud"=0.25', ("Ticino", "sud")),
        ("Ticino,sud=0.25", ("Ticino", "sud")),
        ('"Ticino, sud", sud=0.25', ("Ticino, sud", "sud")),
        ('"the ""rest"""=0.25', 'the "rest"'),
        ('the "rest"=0.25', 'the "rest"'),
        ("a=b=0.25", "a=b"),
        ('"a=b",sud=0.25', ("a=b", "sud")),
    ],
)
def test_a_name_with_a_comma_is_quoted(text: str, key: Any) -> None:
    assert read_value_limits(None, [text], None, SWISS)["ceiling"] == {key: Fraction(1, 4)}
    if isinstance(key, str):
        assert read_value_limits([text.replace("0.25", "2")], None, [text], SWISS) == {
            "lift_of": {key: 2},
            "ceiling": None,
            "floor": {key: Fraction(1, 4)},
        }


def test_a_quote_that_is_never_closed_is_an_error() -> None:
    with pytest.raises(InvalidInput, match="--ceiling has a quote that does not belong there"):
        read_value_limits(None, ['"Ticino, sud=0.25'], None, SWISS)


def test_the_same_value_under_two_spellings_is_named_twice() -> None:
    with pytest.raises(InvalidInput, match="twice"):
        read_value_limits(None, ["Ticino, sud=0.25", '"Ticino, sud"=0.3'], None, SWISS)


def test_pairs_of_names_with_colons_are_quoted_where_they_could_be_read_in_two_ways() -> None:
    times = ["12:30", "12", "30", "30:12"]
    assert read_masks(["12:12:30"], None, times)["forbidden"] == [("12", "12:30")]
    with pytest.raises(InvalidInput, match="can be read in 2 ways"):
        read_masks(["12:30:12"], None, times)
    assert read_masks(['"12:30":12', '12:"30:12"'], None, times)["forbidden"] == [("12:30", "12"), ("12", "30:12")]
    assert read_masks(["Ticino, sud:sud"], None, SWISS)["forbidden"] == [("Ticino, sud", "sud")]
    with pytest.raises(InvalidInput, match="VALUE:OUTCOME"):
        read_masks(["12"], None, times)


def test_shares_of_quoted_names() -> None:
    assert read_masks(None, ['"Ticino, sud"=0.5', "sud=0.25"], SWISS)["keep_at_least"] == {
        "Ticino, sud": Fraction(1, 2),
        "sud": Fraction(1, 4),
    }
    for wrong in ("=0.5", "Genf=0.5"):
        with pytest.raises(InvalidInput, match="not a value of the prior"):
            read_masks(None, [wrong], SWISS)
