"""The declared values of a column, typed or listed in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

import leakwise as lw
from leakwise.cli.options.domain import domain_files, read_domain


def listed(tmp_path: Path, text: str) -> str:
    (tmp_path / "values.csv").write_text(text, encoding="utf-8")
    return f"@{tmp_path / 'values.csv'}"


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("region\nNorth\nSouth\n", ("North", "South")),
        ('region\n"North, east"\n"5"" pipe"\n', ("North, east", '5" pipe')),
        ('region\na\n""\nb\n', ("a", "", "b")),
        ("region\na\n\nb\n", ("a", None, "b")),
        ('region\na\n\n""\n', ("a", None, "")),
        ('region\n"two\nlines"\nb', ("two\nlines", "b")),
        ("\ufeffcode\r\n1\r\n007\r\n2.5\r\n\r\n\r\n", (1, "007", "2.5")),
        ('"a, header"\n@home\n', ("@home",)),
    ],
)
def test_a_file_of_values_tells_the_empty_text_from_a_missing_value(tmp_path, text, labels):
    assert read_domain(listed(tmp_path, text)).labels == labels


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("code,name\n1,a\n", "must have one column"),
        ('code\n"a"b\n', "in double quotes"),
        ('code\n"a\n', "in double quotes"),
        ("code\n", "at least one value below it"),
        ("", "at least one value below it"),
        ("code\na\nb\na\n", "Twice or more: 'a'"),
    ],
)
def test_a_file_that_lists_no_values_is_refused(tmp_path, text, said):
    with pytest.raises(lw.InvalidInput, match=said):
        read_domain(listed(tmp_path, text))


def test_a_file_that_is_not_there_or_no_text_is_refused_by_name(tmp_path):
    with pytest.raises(lw.InvalidInput, match="must name a file of values: No such file"):
        read_domain(f"@{tmp_path / 'none.csv'}")
    (tmp_path / "values.csv").write_bytes(b"code\n\xff\xfe\n")
    with pytest.raises(lw.InvalidInput, match="not a file of text in UTF-8"):
        read_domain(f"@{tmp_path / 'values.csv'}")


def test_quotes_hold_commas_and_the_sign_of_a_file():
    assert read_domain('a,"b, c",d').labels == ("a", "b, c", "d")
    assert read_domain('"@home",away').labels == ("@home", "away")
    assert read_domain('no,"",').labels == ("no", "", None)
    assert domain_files(["no,yes", "@a.csv", "@b.csv"]) == {"--domain": "a.csv", "--domain ": "b.csv"}


def test_missing_is_one_more_value_once():
    assert read_domain("no,yes", missing=True).labels == ("no", "yes", None)
    assert read_domain("no,yes,", missing=True).labels == ("no", "yes", None)
    assert read_domain("bins:0,10,1", missing=True).labels == ("[0, 10]", None)
