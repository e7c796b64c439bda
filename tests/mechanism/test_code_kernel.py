"""Kernels of codes: the same answers as their matrix, every pair of letters alike, and files that are checked."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest

import leakwise as lw
from leakwise.mechanism import CodeKernel, Mechanism
from leakwise.mechanism.code_kernel import Places, places_of
from leakwise.proof.codes import code_columns
from small_codes import KINDS, dense, small


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_is_that_of_the_matrix(kind, full):
    kernel = small(*kind, full=full)
    other, generator = dense(kernel), np.random.default_rng(1)
    some = generator.random(kernel.shape[0]) < 0.5
    some[0] = True
    prior = np.array([int(weight) << 90 for weight in generator.integers(1, 1000, kernel.shape[0])], dtype=object)
    assert kernel.shape == other.shape
    assert (kernel.weights.sum(axis=1) == kernel.denominator).all()
    assert np.array_equal(kernel.weights, other.weights)
    for rows in (None, some):
        assert np.array_equal(kernel.column_max(rows), other.column_max(rows))
        assert np.array_equal(kernel.column_min(rows), other.column_min(rows))
    assert kernel.output_law(prior) == other.output_law(prior)
    order = generator.permutation(kernel.shape[0])
    assert np.array_equal(kernel.take_rows(order).weights, other.weights[order])
    assert kernel.dyadic(kernel.denominator.bit_length() - 1) is kernel


@pytest.mark.parametrize("kind", KINDS)
def test_any_two_letters_share_equally_many_windows(kind):
    places = places_of(kind[2], kind[0], kind[1])
    words = np.random.default_rng(0).permutation(places.q**places.digits)[: kind[2]]
    nothing, one = np.zeros((places.count, places.q), dtype=int), np.ones(places.count, dtype=int)
    inside = CodeKernel(places, words, nothing, one, places.raised * places.count).weights
    shared = (inside @ inside.T)[~np.eye(len(words), dtype=bool)]
    assert len(set(shared.tolist())) == 1


def test_files_keep_it_and_are_checked(tmp_path):
    mechanism, path = Mechanism.from_kernel(small(3, 2, 9)), tmp_path / "m.json"
    mechanism.save(path)
    loaded = Mechanism.load(path)
    assert isinstance(loaded.kernel, CodeKernel)
    assert loaded == mechanism
    assert loaded == Mechanism.from_kernel(dense(mechanism.kernel))
    assert loaded != Mechanism.from_kernel(small(3, 2, 9, full=True))
    assert json.loads(path.read_text())["version"] == 4
    body = json.loads(path.read_text())["body"]["kernel"]
    assert body["kind" if "kind" in body else "type"] == "code"


@pytest.mark.parametrize(
    "change",
    [
        lambda kernel: (kernel.words[[0, 0, *range(2, 9)]], kernel.low, kernel.step),  # one word for two letters
        lambda kernel: (kernel.words + 1, kernel.low, kernel.step),  # a word that there is not
        lambda kernel: (kernel.words, -kernel.low, kernel.step),
        lambda kernel: (kernel.words, kernel.low * 1000, kernel.step),  # more than the denominator
        lambda kernel: (kernel.words, kernel.low[:2], kernel.step),
    ],
)
def test_what_is_no_code_is_refused(change):
    kernel = small(3, 2, 9)
    with pytest.raises(lw.InvalidInput):
        CodeKernel(kernel.places, *change(kernel), kernel.denominator)


@pytest.mark.parametrize("numbers", [(4, 2, 1), (3, 2, 3), (3, 0, 1), (2, 40, 1)])
def test_what_are_no_places_is_refused(numbers):
    with pytest.raises(lw.InvalidInput, match="prime"):
        Places(*numbers)


@pytest.mark.parametrize("kind", KINDS)
def test_sums_over_symbols_and_letters_are_those_of_every_pair(kind):
    kernel = small(*kind)
    generator, places = np.random.default_rng(2), kernel.places
    symbols = places.spelled(kernel.words) @ places.functions.T % places.q  # N × places
    has = symbols[:, :, None] == np.arange(places.q)
    values, tables = generator.random((kernel.shape[0], 2)), generator.random((places.count, places.q, 2))
    assert kernel.by_symbol(values) == pytest.approx(np.einsum("irs,ik->rsk", has, values))
    assert kernel.by_letter(tables) == pytest.approx(np.einsum("irs,rsk->ik", has, tables))
    order = generator.permutation(kernel.shape[0])
    first = np.where(has.any(axis=0), order[has[order].argmax(axis=0)], -1)
    assert np.array_equal(kernel.first_of(order), first)


def test_the_answers_of_thousands_of_letters_make_no_table_of_letters_times_places():
    """Such a table took five CPU-seconds for a release of 10,000 values, whatever the number of rows."""
    places = places_of(4000, 2, 1)
    low, step = np.ones((places.count, 2), dtype=int), np.full(places.count, 3)
    kernel = CodeKernel(places, np.arange(4000), low, step, 1 << 20)
    assert kernel.shape[0] * places.count > 16e6
    tracemalloc.start()
    try:
        assert (kernel.column_max() == 4).sum() == 2 * places.count
        assert kernel.by_letter(np.ones((places.count, 2, 1))) == pytest.approx(np.full((4000, 1), places.count))
        assert len(list(code_columns(kernel, lw.Prior.uniform(4000), [True] * 4000))) == kernel.shape[1]
        assert tracemalloc.get_traced_memory()[1] < 8e6
    finally:
        tracemalloc.stop()
