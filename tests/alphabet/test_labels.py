"""Labels: unique, ordered, found by value, stored and read back as they were."""

from __future__ import annotations

import datetime
import json
import math
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakwise.alphabet import (
    Alphabet,
    alphabet_from_plain,
    as_alphabet,
    code_dtype,
    label_from_plain,
    label_to_plain,
)
from leakwise.errors import InvalidInput
from strategies import nested_labels


@given(st.lists(nested_labels, min_size=1, max_size=8, unique=True))
def test_every_label_has_its_code(labels: list[Any]) -> None:
    alphabet = Alphabet(labels)
    assert alphabet.labels == tuple(labels)
    assert [alphabet.code(label) for label in labels] == list(range(len(labels)))
    assert list(alphabet) == labels
    assert len(alphabet) == len(labels)
    assert alphabet == Alphabet(labels)
    assert hash(alphabet) == hash(Alphabet(labels))
    assert alphabet != labels


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b", "a"],
        [True, 1],
        [1, 1.0],
        [0, False],
        [("a", 1), ("a", True)],
        [None, None],
        [np.int64(2), 2],
        [0.0, -0.0],
    ],
)
def test_labels_that_are_equal_are_refused(labels: list[Any]) -> None:
    with pytest.raises(InvalidInput, match=r"different from each other\. Twice or more"):
        Alphabet(labels)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([], "at least one"),
        ("abc", "single text 'abc'"),
        (b"abc", "single text"),
        ([1.0, math.nan], "must not hold nan"),
        ([("a", math.nan)], "must not hold nan"),
        ([np.float32("nan")], "must not hold nan"),
        ([np.datetime64("NaT")], "equals nothing"),
        ([pd.NaT], "equals nothing"),
        ([pd.NA], "equals nothing"),
        ([Decimal("sNaN")], "equals nothing|plain values"),
        ([["a"]], "plain values"),
        ([{"a": 1}], "plain values"),
        ([("a", ["b"])], "plain values"),
        ({"a", "b"}, "order"),
        (np.array([["a"]]), "one dimension"),
        (np.array("a"), "one dimension"),
    ],
)
def test_bad_labels(labels: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Alphabet(labels)


def test_scalars_of_other_libraries_become_plain() -> None:
    alphabet = Alphabet(
        [np.int8(3), np.str_("a"), np.bool_(False), np.float64(0.5), pa.scalar("b"), (np.int64(1), "x")]
    )
    assert [type(label) for label in alphabet] == [int, str, bool, float, str, tuple]
    assert alphabet.labels == (3, "a", False, 0.5, "b", (1, "x"))
    assert alphabet.code(np.int64(3)) == 0


def test_arrays_as_labels() -> None:
    assert Alphabet(np.array(["b", "a"])).labels == ("b", "a")
    assert all(type(label) is int for label in Alphabet(np.arange(3, dtype=np.uint8)))
    assert Alphabet(pa.array(["b", "a"])).labels == ("b", "a")
    assert Alphabet(pd.Index(["b", "a"])).labels == ("b", "a")


def test_dates_as_labels_are_dates_and_not_counts() -> None:
    days = np.array(["2026-01-01", "2026-01-02"], dtype="M8[D]")
    assert Alphabet(days).labels == (datetime.date(2026, 1, 1), datetime.date(2026, 1, 2))
    moments = Alphabet(days.astype("M8[ns]"))
    assert moments.labels == (datetime.datetime(2026, 1, 1), datetime.datetime(2026, 1, 2))
    assert Alphabet([np.timedelta64(3, "ns"), np.timedelta64(5000, "ns")]).labels == (
        np.timedelta64(3, "ns"),
        datetime.timedelta(microseconds=5),
    )


def test_an_unknown_label_offers_the_nearest() -> None:
    with pytest.raises(InvalidInput, match=r"letter 'maried' is not among the 2 values.*Did you mean 'married'"):
        Alphabet(["married", "single"]).code("maried", name="letter")
    with pytest.raises(InvalidInput, match="plain values"):
        Alphabet(["a"]).code(["a"])  # type: ignore[arg-type]


def test_numbered_letters() -> None:
    alphabet = Alphabet.numbered(3)
    assert (alphabet.labels, alphabet.declared) == ((0, 1, 2), False)
    for size in (0, -1, True):
        with pytest.raises(InvalidInput, match="at least one letter"):
            Alphabet.numbered(size)


def test_as_alphabet() -> None:
    alphabet = Alphabet(["a", "b"])
    assert as_alphabet(alphabet, name="letters") is alphabet
    assert not as_alphabet(np.int64(3), name="letters").declared
    assert as_alphabet(("x", "y"), name="letters").declared
    for bad in ({"a": 1}, 2.5, None, True):
        with pytest.raises(InvalidInput, match="letters must be a number of letters or a list"):
            as_alphabet(bad, name="letters")
    with pytest.raises(InvalidInput, match="letters must be a list of labels"):
        as_alphabet("ab", name="letters")
    with pytest.raises(InvalidInput, match="letters must count at least one letter"):
        as_alphabet(0, name="letters")


@given(st.permutations(["a", "b", "c", "d"]))
def test_positions_in(order: list[str]) -> None:
    mine, theirs = Alphabet(order), Alphabet(["a", "b", "c", "d"])
    places = mine.positions_in(theirs, mine="mechanism", theirs="prior")
    if order == ["a", "b", "c", "d"]:
        assert places is None
    else:
        assert places is not None
        assert [theirs.labels[place] for place in places] == order


def test_letters_without_names_fit_by_position() -> None:
    named, numbered = Alphabet(["a", "b"]), Alphabet.numbered(2)
    assert named.positions_in(numbered, mine="m", theirs="p") is None
    assert numbered.positions_in(named, mine="m", theirs="p") is None


def test_mismatched_alphabets() -> None:
    with pytest.raises(InvalidInput, match="The mechanism has 2 values and the prior has 3"):
        Alphabet(["a", "b"]).positions_in(Alphabet.numbered(3), mine="mechanism", theirs="prior")
    with pytest.raises(InvalidInput, match=r"that the prior does not have: 'c'\. The prior has 'a', 'b'"):
        Alphabet(["a", "c"]).positions_in(Alphabet(["a", "b"]), mine="mechanism", theirs="prior")


def test_repr_shows_a_few() -> None:
    assert repr(Alphabet.numbered(9)) == "Alphabet(0, 1, 2, 3, 4 and 4 more)"


@pytest.mark.parametrize(("size", "kind"), [(1, "u1"), (256, "u1"), (257, "u2"), (65536, "u2"), (65537, "u4")])
def test_the_smallest_code_type(size: int, kind: str) -> None:
    assert code_dtype(size) == np.dtype(kind)


# -- stored labels ---------------------------------------------------------------------------------------------


@given(nested_labels)
def test_stored_labels_come_back(label: Any) -> None:
    plain = json.loads(json.dumps(label_to_plain(label)))
    back = label_from_plain(plain)
    assert back == label
    assert type(back) is type(label)


def test_decimals_and_durations_come_back() -> None:
    decimals = [Decimal(text) for text in ("0.10", "-12", "1E+9", "0E-18", "1.5E-999")]
    durations = [datetime.timedelta(days=-3, microseconds=1), datetime.timedelta.min, datetime.timedelta.max]
    for label in (*decimals, *durations):
        back = label_from_plain(json.loads(json.dumps(label_to_plain(label))))
        assert (back, str(back)) == (label, str(label))


def test_large_integers_and_zones_come_back() -> None:
    zoned = datetime.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=datetime.timezone(datetime.timedelta(hours=2)))
    for label in (2**63, -(2**63) - 1, 10**5000, zoned):
        assert label_from_plain(label_to_plain(label)) == label


@pytest.mark.parametrize(
    "label",
    [
        math.inf,
        -math.inf,
        Decimal("NaN"),
        Decimal("1E+99999"),
        pd.Timedelta(1, "ns"),
        b"bytes",
        frozenset({1}),
        (1, b"x"),
        "\ud800",
        pd.Timestamp("2026-01-01 00:00:00.000000001"),
    ],
)
def test_labels_that_cannot_be_stored_say_so(label: Any) -> None:
    with pytest.raises(InvalidInput, match="cannot be stored"):
        label_to_plain(label)


@pytest.mark.parametrize(
    "plain",
    [
        [],
        {},
        {"tuple": "ab"},
        {"tuple": [], "date": "2026-01-01"},
        {"integer": "--0x5"},
        {"integer": "12"},
        {"integer": 5},
        {"integer": "-"},
        {"date": "2026-13-01"},
        {"datetime": "noon"},
        {"date": 5},
        {"decimal": "NaN"},
        {"decimal": 0.5},
        {"microseconds": 1 << 80},
        {"microseconds": "1"},
        {"pickle": "x"},
        {"tuple": [[1]]},
    ],
)
def test_damaged_labels_are_refused(plain: Any) -> None:
    with pytest.raises(InvalidInput, match="stored"):
        label_from_plain(plain)


def test_alphabets_from_files() -> None:
    assert alphabet_from_plain(["a", {"tuple": [1, 2]}], declared=True, name="f").labels == ("a", (1, 2))
    assert not alphabet_from_plain([0, 1], declared=False, name="f").declared
    for labels in (["a", "b"], [1, 0], [0, 2]):
        with pytest.raises(InvalidInput, match="'f' is damaged: letters without names"):
            alphabet_from_plain(labels, declared=False, name="f")
    for declared in (True, False):
        with pytest.raises(InvalidInput, match="different"):
            alphabet_from_plain([0, 0], declared=declared, name="f")
    deep: Any = "x"
    for _ in range(100_000):
        deep = {"tuple": [deep]}
    with pytest.raises(InvalidInput, match="nested too deeply"):
        alphabet_from_plain([deep], declared=True, name="f")
    while isinstance(deep, dict):  # taken apart by hand: freeing it whole would recurse as deeply
        deep = deep.pop("tuple").pop()
