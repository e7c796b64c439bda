"""Mechanisms on queries: the laws of the paper, distortions, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leakwise import records
from leakwise.errors import InvalidInput


@given(st.floats(0.05, 6.0))
def test_section_7_2_flip_probabilities(epsilon: float) -> None:
    q = records.parity(3)
    assert q.laplace(epsilon).rows[0, 1] == pytest.approx(0.5 * math.exp(-epsilon / 2), rel=1e-12)  # (46)
    assert q.exponential(epsilon).rows[0, 1] == pytest.approx(1 / (math.exp(epsilon / 2) + 1), rel=1e-12)  # (48)
    by_match = q.exponential(epsilon, utility=lambda f, y: float(f == y))
    assert by_match.rows == pytest.approx(q.exponential(epsilon).rows, rel=1e-12)


def test_generalised_symmetric_channel() -> None:
    c = records.modular_sum(4, 5).symmetric_channel(flip=0.2)
    assert np.diag(c.rows) == pytest.approx(0.8)
    assert c.rows[0, 1] == pytest.approx(0.05)  # (33)


@given(st.floats(0.05, 4.0), st.sampled_from(["laplace", "geometric"]))
@settings(max_examples=30)
def test_noise_on_counts_is_differentially_private(epsilon: float, family: str) -> None:
    rows = getattr(records.count(6), family)(epsilon).rows
    assert rows.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert (rows > 0).all()
    assert np.abs(np.log(rows[1:] / rows[:-1])).max() <= epsilon * (1 + 1e-9)


def test_laplace_keeps_small_probabilities() -> None:
    rows = records.count(40).laplace(2.0).rows
    ratio = rows[0, 20:39] / rows[0, 21:40]
    assert ratio == pytest.approx(np.full(19, math.exp(2.0)), rel=1e-9)


def test_sensitivity() -> None:
    assert records.parity(5).sensitivity == 1
    assert records.pairs(6).sensitivity == 5  # n - 1
    assert records.weighted_sum([1, 4]).sensitivity == 4


def test_distortion_for_uniform_product_and_given_data() -> None:
    q = records.count(3)
    c = q.laplace(0.8)
    d = np.abs(np.arange(4)[:, None] - np.arange(4))
    each = (c.rows * d).sum(axis=1)
    table = q.table()
    assert c.distortion() == pytest.approx(each[table].mean())
    p = np.array([0.9, 0.1])
    joint = np.multiply.outer(np.multiply.outer(p, p), p).reshape(-1)
    expected = (joint * each[table]).sum()
    assert c.distortion(data=[0.9, 0.1]) == pytest.approx(expected)
    assert c.distortion(data=[[0.9, 0.1]] * 3) == pytest.approx(expected)
    assert c.distortion(data=joint) == pytest.approx(expected)
    assert q.symmetric_channel(0.3).distortion(metric="hamming") == pytest.approx(0.3)


def test_channels_by_answer_class_and_dataset_agree() -> None:
    q = records.modular_sum(3, 3)
    by_answer = q.symmetric_channel(0.3)
    space = q.orbit_space()
    by_class = q.channel(by_answer.rows[[q.space().answer.tolist().index(a) for a in space.answer]], by="class")
    by_dataset = q.channel(by_answer.by_dataset(), by="dataset")
    assert by_class.by_dataset() == pytest.approx(by_answer.by_dataset())
    values = [records.leakage(c, 1.5, tolerance=1e-5) for c in (by_answer, by_class, by_dataset)]
    for r in values:
        assert r.closed
        assert abs(r.value - values[0].value) <= 2e-5
        assert len(r.alike) == 3
    assert by_class.distortion() == pytest.approx(by_answer.distortion())
    assert by_dataset.distortion(data=[0.2, 0.8]) == pytest.approx(by_answer.distortion(data=[0.2, 0.8]))


def test_classes_that_split_an_answer_reach_every_dataset() -> None:
    q = records.modular_sum(3, 3)
    rows = np.random.default_rng(0).dirichlet([1, 1, 1], size=4)
    c = q.channel(rows, by="class")
    ones = np.array([bin(k).count("1") for k in range(8)])
    order = [int(name.split(" of weight 1")[0].split()[-1]) if "weight 1" in name else 0 for name in c.space.names]
    assert c.by_dataset() == pytest.approx(rows[[order.index(k) for k in ones]])
    assert c.by_answer() is None
    with pytest.raises(InvalidInput, match="equal answer differently"):
        c.mechanism()


def test_the_exact_mechanism() -> None:
    m = records.parity(4).laplace(1.0).mechanism()
    assert m.inputs == (0, 1)
    assert m.matrix[0, 1] == pytest.approx(0.5 * math.exp(-0.5))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda q: q.channel([[0.5, 0.4], [0.5, 0.5]]), "sums to 0.9"),
        (lambda q: q.channel([[1.5, -0.5], [0.5, 0.5]]), "at least 0"),
        (lambda q: q.channel([[math.nan, 1.0], [0.5, 0.5]]), "finite"),
        (lambda q: q.channel([[1.0, 0.0]]), "1 rows"),
        (lambda q: q.channel([1.0, 0.0]), "dimensions"),
        (lambda q: q.channel([[1.0, 0.0]] * 2, by="person"), "by is 'person'"),
        (lambda q: q.channel([[1.0, 0.0]] * 3, by="dataset"), "3 rows"),
        (lambda q: q.channel([[1.0, 0.0]] * 3, by="class"), "shape"),
        (lambda q: q.symmetric_channel(1.2), "flip"),
        (lambda q: q.laplace(0.0), "epsilon"),
        (lambda q: q.geometric(-1.0), "epsilon"),
        (lambda q: q.exponential(1.0, utility=[[1.0]]), "utility"),
        (lambda q: q.laplace(1.0).distortion(metric="far"), "metric"),
        (lambda q: q.laplace(1.0).distortion(metric=[[1.0]]), "metric"),
        (lambda q: q.laplace(1.0).distortion(data=[0.5, 0.6]), "sum to 1"),
        (lambda q: q.laplace(1.0).distortion(data="normal"), "uniform"),
        (lambda q: q.laplace(1.0).distortion(data=np.ones(3) / 3), "3 numbers"),
    ],
)
def test_bad_channels(make: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        make(records.parity(2))  # type: ignore[operator]


def test_it_prints() -> None:
    c = records.parity(2).symmetric_channel(0.25)
    assert "0.7500" in repr(c)
    assert "<table" in c._repr_html_()
    assert "parity of 2 bits" in repr(c.query)
