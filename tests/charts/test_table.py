"""Tables and numbers: what is shown is what is there."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakwise.charts._plain import display_width
from leakwise.charts.table import html_table, number, text_table
from leakwise.errors import InvalidInput


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (-0.0, "0"),
        (1, "1"),
        (1.0, "1"),
        (np.float64(1.0), "1"),
        (np.int64(7), "7"),
        (np.float32(0.5), "0.5000"),
        (0.5, "0.5000"),
        (2.0, "2.0000"),
        (0.99999999, "1.0000"),
        (-0.25, "-0.2500"),
        (0.001, "0.0010"),
        (0.00099, "9.900e-4"),
        (3e-7, "3.000e-7"),
        (-3e-7, "-3.000e-7"),
        (5e-324, "4.941e-324"),
        (1234567.8, "1.235e+6"),
        (123456.789, "123456.7890"),
        (10**14, "100000000000000"),
        (2**60, "1.153e+18"),
        (Fraction(1, 3), "0.3333"),
        (Fraction(2, 1), "2.0000"),
        (Fraction(2**2000 + 1, 2**2000), "1.0000"),
        (Fraction(1, 2**2000), "8.710e-603"),
        (Decimal("0.125"), "0.1250"),
        (math.inf, "∞"),
        (-math.inf, "-∞"),
        (math.nan, "NaN"),
    ],
)
def test_number(value: object, text: str) -> None:
    assert number(value) == text


def test_number_digits() -> None:
    assert number(math.pi, 2) == "3.14"
    assert number(0.01, 2) == "1.0e-2"
    assert number(0.05, 1) == "5e-2"


@pytest.mark.parametrize("bad", ["1", None, True, np.bool_(True), 1j])
def test_number_refuses_what_is_not_a_number(bad: object) -> None:
    with pytest.raises(InvalidInput, match="real number"):
        number(bad)


@pytest.mark.parametrize("digits", [0, -1, 2.0, True])
def test_number_refuses_bad_digits(digits: object) -> None:
    with pytest.raises(InvalidInput, match="digits"):
        number(0.5, digits)  # type: ignore[arg-type]


@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 12))
def test_number_stays_near_and_never_hides_a_nonzero(x: float, digits: int) -> None:
    text = number(x, digits)
    back = float(Decimal(text))
    assert (text == "0") == (x == 0)
    assert (text == "1") == (x == 1)
    if x:
        assert back != 0 or abs(x) < 1e-307
        # Rounded, never cut: at most half a unit of the last digit shown away.
        shown = Decimal(text)
        last = Decimal(10) ** int(shown.as_tuple().exponent)
        assert abs(shown - Decimal(x)) <= last / 2


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=1).filter(lambda f: f != 1))
def test_a_fraction_that_is_not_one_does_not_print_as_one(x: Fraction) -> None:
    assert number(x) not in ("0", "1")


def test_exact_layout() -> None:
    table = text_table(
        ["outcome", "leakage", "certified"],
        [["a", 0.6931471805599453, True], ["not b", 0.0, False], ["c", None, None]],
        title="Leakage by outcome",
    )
    assert table == (
        "Leakage by outcome\n"
        "outcome  leakage  certified\n"
        "───────  ───────  ─────────\n"
        "a         0.6931  yes\n"
        "not b          0  no\n"
        "c              —  —"
    )


def test_align_is_followed() -> None:
    assert text_table(["aaaa", "b", "cccc"], [["x", 1, "y"]], align="rlc") == (
        "aaaa  b  cccc\n────  ─  ────\n   x  1   y"
    )


@pytest.mark.parametrize("align", ["l", "lx", ["left", "right"]])
def test_bad_align_is_refused(align: object) -> None:
    with pytest.raises(InvalidInput, match="align"):
        text_table(["a", "b"], [[1, 2]], align=align)  # type: ignore[arg-type]


def test_long_tables_are_elided_in_the_middle() -> None:
    lines = text_table(["i"], [[i] for i in range(103)], max_rows=10).splitlines()
    assert [line.strip() for line in lines[2:]] == [
        *"01234",
        "… 93 more",
        *(str(i) for i in range(98, 103)),
    ]


@given(st.integers(0, 60), st.integers(2, 30))
def test_rows_shown_and_rows_counted_add_up(count: int, most: int) -> None:
    lines = text_table(["i"], [[i] for i in range(count)], max_rows=most).splitlines()[2:]
    hidden = [int(m[1]) for line in lines if (m := re.fullmatch(r"… (\d+) more", line))]
    shown = [int(line) for line in lines if line.strip().isdigit()]
    assert len(shown) + sum(hidden) == count
    assert len(lines) <= most + 1
    assert all(h > 1 for h in hidden)


@given(st.integers(3, 60), st.integers(40, 120))
def test_wide_tables_are_elided_in_the_middle_and_fit(columns: int, width: int) -> None:
    names = [f"column {j}" for j in range(columns)]
    lines = text_table(names, [[j / 7 for j in range(columns)]] * 2, max_width=width).splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("column 0")
    hidden = re.search(r"… (\d+) more", lines[0])
    shown = re.findall(r"column \d+", lines[0])
    assert len(shown) + (int(hidden[1]) if hidden else 0) == columns
    assert shown[-1] == names[-1]


def test_no_rows() -> None:
    assert text_table(["a"], []) == "a\n─\n(no rows)"


def test_control_characters_cannot_break_a_line_or_colour_a_terminal() -> None:
    table = text_table(["label"], [["two\nlines"], ["\x1b[31mred"], ["\u202eabc"], ["\ud800"]])
    assert table.splitlines()[2:] == ["two\\nlines", "\\x1b[31mred", "\\u202eabc", "\\ud800"]
    table.encode()


def test_wide_letters_keep_the_columns_straight() -> None:
    lines = text_table(["word", "n"], [["日本", 1], ["e\u0301te", 2], ["abcdef", 3]]).splitlines()
    assert {display_width(line) for line in lines} == {9}


def test_long_cells_are_cut_and_marked() -> None:
    cell = text_table(["x"], [["a" * 300]]).splitlines()[-1]
    assert cell == "a" * 39 + "…"


def test_ragged_rows_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"rows\[1\] has 1 cells where headers has 2"):
        text_table(["a", "b"], [[1, 2], [3]])


@pytest.mark.parametrize("headers", [[], "ab"])
def test_bad_headers_are_refused(headers: object) -> None:
    with pytest.raises(InvalidInput, match="headers"):
        html_table(headers, [])  # type: ignore[arg-type]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html_is_escaped_and_accessible() -> None:
    nasty = "<script>alert('x')</script> & \"q\" é"
    reader = _Reader()
    reader.feed(html_table([nasty, "n"], [[nasty, 0.5], ["b", 1e-9]], caption=nasty))
    assert {tag for tag, _ in reader.tags} == {"table", "caption", "thead", "tbody", "tr", "th", "td"}
    assert reader.texts.count(nasty) == 3
    assert [a["scope"] for tag, a in reader.tags if tag == "th"] == ["col", "col", "row", "row"]
    assert "1.000e-9" in reader.texts
    numbers = [a["style"] for tag, a in reader.tags if tag == "td"]
    assert all(style is not None and "text-align:right" in style for style in numbers)


def test_html_says_how_many_rows_it_left_out() -> None:
    html = html_table(["i", "j"], [[i, i] for i in range(1000)], max_rows=100)
    assert re.search('<td colspan="2"[^>]*>… 900 more</td>', html)
    assert html.count("<tr>") == 1 + 100 + 1


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(InvalidInput, match="max_rows"):
        text_table(["i"], [[1]], max_rows=1)


def test_the_word_for_columns_that_are_left_out_is_not_broken():
    names = ["a long name of a row", *(f"column {letter}" for letter in "abcdef")]
    for width in range(40, 80):
        text = text_table(names, [["some words in a cell", *[0.123] * 6]], max_width=width, wrap=True)
        assert "more" not in text or re.search(r"… \d more", text), text
