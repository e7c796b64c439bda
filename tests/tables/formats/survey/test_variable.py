"""What a domain names in a variable of a survey, and how outcomes are stored in it."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakwise.alphabet import Alphabet
from leakwise.errors import InvalidInput
from leakwise.tables.formats.survey.variable import Clock, Variable, number_text

SMOKES = Variable("smokes", "whole", {1: "no", 2: "yes", 8: "other", 9: "other", ".a": "refused"})


def test_a_value_is_named_by_its_code_or_by_its_label() -> None:
    assert SMOKES.keys(Alphabet(["no", 2, ".a", "9", None])) == [1, 2, ".a", 9, None]
    assert SMOKES.keys(Alphabet(["refused", "unheard of"])) == [".a", "unheard of"]


@pytest.mark.parametrize("domain", [["no", 1], ["refused", ".a"], ["1", 1]])
def test_one_value_named_twice_is_refused(domain: list[object]) -> None:
    with pytest.raises(InvalidInput, match="one value of column 'smokes'"):
        SMOKES.keys(Alphabet(domain))


def test_a_label_of_two_codes_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match=r"'other' can be several values of column 'smokes': 8, 9"):
        SMOKES.keys(Alphabet(["no", "other"]))


def test_a_label_that_looks_like_another_code_is_refused() -> None:
    swapped = Variable("x", "whole", {1: "2", 2: "1"})
    with pytest.raises(InvalidInput, match="several values"):
        swapped.keys(Alphabet(["1", "2"]))
    assert swapped.keys(Alphabet([1, 2])) == [1, 2]


def test_new_codes_keep_clear_of_codes_and_missing_values() -> None:
    spss = Variable("x", "number", {1.0: "no", 3.0: "yes"}, [(4.0, 9.0)], ending="sav")
    stored = spss.stored(["new", "yes", "newer", "newest"])
    assert stored.codes == [2, 3, 10, 11]
    assert stored.labels == {2: "new", 3: "yes", 10: "newer", 11: "newest"}
    assert stored.missing == []


def test_no_code_left_is_an_error_and_not_an_endless_search() -> None:
    full = Variable("x", "number", {}, [(-1e308, 1e308)], ending="sav")
    with pytest.raises(InvalidInput, match="no code left"):
        full.stored(["new"])


def test_a_label_that_spss_would_cut_is_refused() -> None:
    with pytest.raises(InvalidInput, match="120 bytes"):
        Variable("x", "number", ending="sav").stored(["x" * 121])


CLOCKS = [
    Clock(datetime.datetime(1960, 1, 1), 86_400_000_000, True),
    Clock(datetime.datetime(1582, 10, 14), 1_000_000, True),
    Clock(datetime.datetime(1960, 1, 1), 1000, False),
    Clock(datetime.datetime(1582, 10, 14), 1_000_000, False),
]


@given(st.sampled_from(CLOCKS), st.datetimes(datetime.datetime(1600, 1, 1), datetime.datetime(2200, 1, 1)))
def test_a_date_is_the_number_that_stands_for_it_and_back(clock: Clock, moment: datetime.datetime) -> None:
    shown = moment.date() if clock.dates else moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    assert clock.shown(clock.raw(shown)) == shown


def test_a_time_of_day_that_a_date_hides_is_refused() -> None:
    day = Variable("day", "number", clock=CLOCKS[1], format="DATE11", ending="sav")
    assert day.shown(86_400.0) == datetime.date(1582, 10, 15)
    with pytest.raises(InvalidInput, match="time of day"):
        day.shown(86_401.0)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_back_from_its_text(number: float) -> None:
    assert float(number_text(number)) == number
