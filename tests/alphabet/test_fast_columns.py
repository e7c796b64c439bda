"""The quick ways through columns give what the slow way gives: fixed-width texts, categories of polars."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
from leakwise.alphabet import Alphabet, alphabet_with_edges, columns, edges_of, encode_column

words = st.text(st.sampled_from("abé\0 "), max_size=4).filter(lambda text: not text.endswith("\0"))


@given(st.lists(words, min_size=1, max_size=6, unique=True), st.data())
def test_texts_of_fixed_width_as_objects(labels, data):
    rows = data.draw(st.lists(st.sampled_from(labels), max_size=40))
    alphabet = Alphabet([*labels, 5, None, "a label longer than the column is wide"])
    expected = [labels.index(row) for row in rows]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columns, "_FEW_ROWS", -1)
        patch.setattr(columns, "_BLOCK", 7)
        assert encode_column(np.array(rows, dtype="U7"), alphabet).tolist() == expected
        plain = Alphabet([label.encode() for label in labels])
        assert encode_column(np.array([row.encode() for row in rows], dtype="S9"), plain).tolist() == expected


def test_a_label_that_ends_in_zero_is_not_its_beginning(monkeypatch):
    monkeypatch.setattr(columns, "_FEW_ROWS", -1)
    with pytest.raises(lw.InvalidInput, match="2 of 3 rows with values outside the declared domain: 'a'"):
        encode_column(np.array(["a", "b", "a"]), Alphabet(["a\0", "b"]))


def test_texts_outside_are_named_and_counted(monkeypatch):
    monkeypatch.setattr(columns, "_FEW_ROWS", -1)
    with pytest.raises(lw.InvalidInput, match="3 of 4 rows with values outside the declared domain: 'x', ''"):
        encode_column(np.array(["a", "x", "", "x"]), Alphabet(["a", "b"]))
    with pytest.raises(lw.InvalidInput, match="outside"):
        encode_column(np.array(["a"]), Alphabet([1, 2]))


def test_hashes_that_collide_are_settled_by_the_texts(monkeypatch):
    monkeypatch.setattr(columns, "_FEW_ROWS", -1)
    monkeypatch.setattr(columns, "_hash", lambda rows, factors: np.zeros(len(rows), dtype=np.uint64))
    rows = ["c", "a", "b", "c"] * 5
    assert encode_column(np.array(rows), Alphabet(["a", "b", "c"])).tolist() == ["abc".index(row) for row in rows]


@pytest.mark.parametrize("kind", [pl.Categorical, pl.Enum(["yes", "no", "never said"])])
def test_categories_of_polars(kind):
    # Categories are numbered in the order the process meets them: others first leave gaps in the numbers.
    other = pl.Series(["never said", "yes"], dtype=kind)
    column = pl.Series(["no", "yes", None, "no"], dtype=kind)
    assert encode_column(column, Alphabet(["no", None, "yes"])).tolist() == [0, 2, 1, 0]
    assert encode_column(column.drop_nulls(), Alphabet(["yes", "no"])).tolist() == [1, 0, 1]
    assert encode_column(column.head(0), Alphabet(["yes", "no"])).tolist() == []
    with pytest.raises(lw.InvalidInput, match="1 missing value among 4 rows"):
        encode_column(column, Alphabet(["yes", "no"]))
    with pytest.raises(lw.InvalidInput, match=r"1 of 2 rows .* 'never said'"):
        encode_column(other, Alphabet(["yes", "no"]))


# ------------------------------------------------------------------------------------------------- bins in files


def test_bins_are_stored_with_their_edges(tmp_path):
    letters = lw.bins(0, 1, 3)
    m = lw.randomized_response(letters, lift=3)
    m.save(tmp_path / "m.json")
    prior = lw.Prior.from_data([0.1, 0.5, 0.9], letters)
    prior.save(tmp_path / "p.json")
    again, known = lw.Mechanism.load(tmp_path / "m.json"), lw.Prior.load(tmp_path / "p.json")
    assert again == m
    assert known == prior
    for alphabet in (again.input_alphabet, again.output_alphabet, known.alphabet):
        assert edges_of(alphabet) == letters.edges.tolist()
    assert set(lw.release([0.1, 0.9], again)) <= set(letters.labels)
    lw.certify(m, prior).save(tmp_path / "c.json")
    assert edges_of(lw.verify(tmp_path / "c.json").mechanism.input_alphabet) == letters.edges.tolist()


def test_files_without_bins_stay_as_they_were(tmp_path):
    """What has no bins is written as version 1, which an older Leakwise reads."""
    for name, thing in {"m": lw.randomized_response(2, lift=3), "p": lw.Prior.uniform(2)}.items():
        thing.save(tmp_path / name)
        text = (tmp_path / name).read_text()
        assert '"version":1' in text
        assert "edges" not in text


def test_edges_that_do_not_fit_the_names():
    with pytest.raises(lw.InvalidInput, match="do not fit their names"):
        alphabet_with_edges(Alphabet(["a", "b"]), [0, 1, 2], name="file")
