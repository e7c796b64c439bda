"""The dense sampler: its law is its weights, to the last word."""

from __future__ import annotations

import threading
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from leakwise.errors import InvalidInput
from leakwise.sampling import RowSampler, SecureStream

# A right sampler fails a goodness-of-fit test of this file once in a million runs.
FALSE_ALARM = 1e-6

MATRICES = [
    (1, [[1, 1]]),
    (1, [[2, 0], [0, 2]]),
    (3, [[8]]),
    (3, [[1, 2, 5], [0, 8, 0], [3, 0, 5]]),
    (6, [[1, 0, 63], [21, 21, 22], [64, 0, 0], [0, 1, 63]]),
    (10, [[1023, 1], [512, 512], [341, 683], [0, 1024]]),
    (10, [[3, 5, 7, 11, 13, 985], [170, 171, 170, 171, 171, 171], [0, 0, 1, 0, 1023, 0]]),
]


def walk(sampler: RowSampler, row: int) -> NDArray[np.intp]:
    words = np.arange(1 << sampler.bits)
    drawn = sampler.draw_from_words(np.full(words.size, row, np.uint8), words)
    return np.bincount(drawn, minlength=sampler.outputs)


def rows_of(bits: int, outcomes: int) -> st.SearchStrategy[list[int]]:
    cuts = st.lists(st.integers(0, 1 << bits), min_size=outcomes - 1, max_size=outcomes - 1).map(sorted)
    return cuts.map(lambda c: [b - a for a, b in pairwise([0, *c, 1 << bits])])


@st.composite
def laws(draw: st.DrawFn, most_bits: int) -> tuple[int, list[list[int]]]:
    bits = draw(st.integers(1, most_bits))
    outcomes = draw(st.integers(1, 6))
    return bits, draw(st.lists(rows_of(bits, outcomes), min_size=1, max_size=4))


def random_weights(rows: int, outcomes: int, bits: int, seed: int) -> NDArray[np.int64]:
    law = np.random.default_rng(seed).dirichlet(np.full(outcomes, 5.0), rows)
    weights = np.floor(law * 2.0**bits).astype(np.int64)
    weights[:, 0] += (1 << bits) - weights.sum(axis=1)
    return weights


@pytest.mark.parametrize("first_bits", [None, 0, 1, 2, 4, 7])
@pytest.mark.parametrize(("bits", "weights"), MATRICES)
def test_walk_through_all_words_gives_the_weights(bits: int, weights: list[list[int]], first_bits: int | None) -> None:
    sampler = RowSampler(np.array(weights), bits, first_bits=first_bits)
    for row, law in enumerate(weights):
        assert walk(sampler, row).tolist() == law


@given(law=laws(8), first_bits=st.none() | st.integers(0, 8))
def test_every_law_is_met_exactly(law: tuple[int, list[list[int]]], first_bits: int | None) -> None:
    bits, weights = law
    sampler = RowSampler(np.array(weights), bits, first_bits=first_bits)
    for row, expected in enumerate(weights):
        assert walk(sampler, row).tolist() == expected


@pytest.mark.parametrize("first_bits", [None, 0, 2, 4])
@pytest.mark.parametrize(("bits", "weights"), MATRICES)
def test_draw_itself_walks_through_all_words(
    tools: Any, bits: int, weights: list[list[int]], first_bits: int | None
) -> None:
    sampler = RowSampler(np.array(weights), bits, first_bits=first_bits)
    for row, law in enumerate(weights):
        drawn = sampler.draw(np.full(1 << 16, row, np.uint8), stream=tools.walk())
        counts = np.bincount(drawn, minlength=len(law))
        assert counts.tolist() == [weight << (16 - bits) for weight in law]


@given(law=laws(64), scale=st.integers(0, 3), first_bits=st.sampled_from([None, 0, 3, 14]))
def test_wide_laws_are_met_exactly(
    tools: Any, law: tuple[int, list[list[int]]], scale: int, first_bits: int | None
) -> None:
    bits, weights = law
    scale = min(scale, 64 - bits)
    bits += scale
    weights = [[weight << scale for weight in row] for row in weights]
    sampler = RowSampler(np.array(weights, dtype=object), bits, first_bits=first_bits)
    # The outcome rises over the words that are searched, and again over those of the table.
    cuts = [0, int(sampler.searched_share * (1 << sampler.first_bits)) << (bits - sampler.first_bits), 1 << bits]
    for row, expected in enumerate(weights):

        def outcome(word: int, row: int = row) -> int:
            return int(sampler.draw_from_words(np.array([row]), np.array([word], np.uint64))[0])

        assert tools.law(outcome, cuts, sampler.outputs) == expected


@pytest.mark.parametrize(
    "weights",
    [
        [[2**64, 0], [0, 2**64]],
        [[2**64, 0, 0], [1, 2**63, 2**63 - 1]],
        [[2**64 - 1, 1], [0, 2**64]],
        [[2**63, 2**63], [2**64, 0]],
    ],
)
@pytest.mark.parametrize("first_bits", [None, 0, 5])
def test_full_width_with_sure_outcomes(tools: Any, weights: list[list[int]], first_bits: int | None) -> None:
    sampler = RowSampler(np.array(weights, dtype=object), 64, first_bits=first_bits)
    cuts = [0, int(sampler.searched_share * (1 << sampler.first_bits)) << (64 - sampler.first_bits), 1 << 64]
    for row, expected in enumerate(weights):

        def outcome(word: int, row: int = row) -> int:
            return int(sampler.draw_from_words([row], np.array([word], np.uint64))[0])

        assert tools.law(outcome, cuts, sampler.outputs) == expected
        drawn = np.bincount(sampler.draw(np.full(1000, row)), minlength=sampler.outputs)
        assert all(drawn[j] == 0 for j, weight in enumerate(expected) if weight == 0)


@pytest.mark.parametrize(
    ("rows", "outcomes", "bits", "dtype"),
    [(2, 2, 60, np.uint8), (16, 16, 60, np.uint8), (5, 300, 62, np.int64), (40, 7, 12, np.uint32)],
)
def test_goodness_of_fit_at_a_million_draws(tools: Any, rows: int, outcomes: int, bits: int, dtype: type) -> None:
    weights = random_weights(rows, outcomes, bits, seed=rows)
    sampler = RowSampler(weights, bits)
    codes = (np.arange(1_000_000) % rows).astype(dtype)
    drawn = sampler.draw(codes)
    counts = np.bincount(codes.astype(np.intp) * outcomes + drawn, minlength=rows * outcomes)
    assert tools.p_value(counts.reshape(rows, outcomes), weights / 2.0**bits) > FALSE_ALARM


def test_draws_are_independent_of_their_neighbours(tools: Any) -> None:
    weights = np.array([[1, 2, 5]]) << 57
    drawn = RowSampler(weights, 60).draw(np.zeros(1_000_000, np.uint8)).astype(np.intp)
    law = weights[0] / 2.0**60
    for apart in (1, 2):
        pairs = drawn[: -apart : 2 * apart] * 3 + drawn[apart :: 2 * apart][: drawn[: -apart : 2 * apart].size]
        counts = np.bincount(pairs, minlength=9)
        assert tools.p_value(counts[None, :], np.outer(law, law).reshape(1, -1)) > FALSE_ALARM / 2


def test_zeros_are_never_drawn() -> None:
    weights = np.array([[0, 2**60 - 1, 1, 0], [2**59, 0, 0, 2**59]])
    drawn = RowSampler(weights, 60).draw(np.repeat([0, 1], 300_000))
    assert set(drawn[:300_000]) <= {1, 2}
    assert set(drawn[300_000:]) == {0, 3}


def test_a_sure_law_takes_no_random_bits() -> None:
    sampler = RowSampler([[0, 0, 8], [8, 0, 0]], 3)
    assert (sampler.first_bits, sampler.searched_share) == (0, 0.0)
    assert sampler.draw([[0, 1], [1, 0]]).tolist() == [[2, 0], [0, 2]]


def test_a_law_that_fits_the_table_is_never_searched() -> None:
    sampler = RowSampler(np.array([[3, 5], [8, 0]]) << 57, 60)
    assert (sampler.first_bits, sampler.searched_share) == (3, 0.0)


def test_many_letters_stay_within_memory() -> None:
    n = 2000
    weights = np.full((n, n), (1 << 60) // n, dtype=np.int64)
    weights[np.arange(n), np.arange(n)] += (1 << 60) - weights.sum(axis=1)
    sampler = RowSampler(weights, 60)
    assert sampler.nbytes <= 3 * weights.nbytes
    assert sampler.dtype == np.uint16
    drawn = sampler.draw(np.arange(n))
    assert drawn.dtype == np.uint16
    assert drawn.max() < n


def test_blocks_shapes_and_targets() -> None:
    weights = random_weights(3, 4, 40, seed=1)
    sampler = RowSampler(weights, 40)
    codes = np.random.default_rng(2).integers(0, 3, 300_001).astype(np.uint8)
    expected = sampler.draw(codes, SecureStream(unsafe_seed=1))
    wide = np.empty(codes.size, np.int32)
    assert sampler.draw(codes, SecureStream(unsafe_seed=1), out=wide) is wide
    assert (wide == expected).all()
    strided = np.repeat(codes, 2)[::2]
    assert (sampler.draw(strided, SecureStream(unsafe_seed=1)) == expected).all()
    for dtype in (np.int8, np.uint16, np.int32, np.uint64):
        assert (sampler.draw(codes.astype(dtype), SecureStream(unsafe_seed=1)) == expected).all()
    square = codes[:300_000].reshape(3, 1000, 100)
    assert sampler.draw(square).shape == square.shape
    assert sampler.draw(np.uint8(1)).shape == ()
    assert sampler.draw([]).size == 0
    assert sampler.draw_from_words([], []).size == 0


def test_codes_may_be_overwritten_by_their_outcomes() -> None:
    weights = random_weights(4, 4, 20, seed=3)
    sampler = RowSampler(weights, 20, first_bits=3)  # many draws are searched after the table has been read
    codes = np.random.default_rng(2).integers(0, 4, 200_000).astype(np.uint8)
    expected = sampler.draw(codes, SecureStream(unsafe_seed=1))
    in_place = codes.copy()
    sampler.draw(in_place, SecureStream(unsafe_seed=1), out=in_place)
    assert (in_place == expected).all()
    memory = np.append(np.uint8(0), codes)
    shifted = sampler.draw(memory[1:], SecureStream(unsafe_seed=1), out=memory[:-1])
    assert (shifted == expected).all()
    signed = codes.view(np.int8).copy()
    sampler.draw(signed, SecureStream(unsafe_seed=1), out=signed.view(np.uint8))
    assert (signed == expected).all()


def test_threads_share_a_sampler(tools: Any) -> None:
    weights = random_weights(16, 16, 60, seed=4)
    sampler = RowSampler(weights, 60)
    codes = (np.arange(400_000) % 16).astype(np.uint8)
    drawn: list[NDArray[Any]] = []
    threads = [threading.Thread(target=lambda: drawn.append(sampler.draw(codes))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not (drawn[0] == drawn[1]).all()
    together = np.bincount(np.tile(codes, 3).astype(np.intp) * 16 + np.concatenate(drawn), minlength=256)
    assert tools.p_value(together.reshape(16, 16), weights / 2.0**60) > FALSE_ALARM


@pytest.mark.parametrize(
    ("weights", "bits", "message"),
    [
        ([[1, 2]], 2, r"Row 0 sums to 3"),
        ([[2, 2], [4, 1]], 2, r"Row 1 sums to 5"),
        ([[5, -1]], 2, r"must not be negative. Got -1"),
        (np.array([[5, -1]], dtype=object), 2, r"from 0 to 2\*\*64. Got -1"),
        (np.array([[2**64 + 4]], dtype=object), 2, r"from 0 to 2\*\*64"),
        (np.array([[2**64, 2**64]], dtype=object), 64, r"Row 0 sums to 36893488147419103232"),
        (np.array([[2**63, 2**63]], dtype=np.uint64), 63, r"Row 0 sums to 18446744073709551616"),
        ([[0.5, 0.5]], 2, r"must be integers. Got an array of float64"),
        (np.array([[0.5, 3.5]], dtype=object), 2, r"must be integers. Got something else"),
        ([4], 2, r"2 dimension"),
        (np.empty((0, 2), np.int64), 2, r"non-empty"),
        ([[4]], 0, r"bits must be an integer from 1 to 64"),
        ([[4]], 65, r"bits must be an integer from 1 to 64"),
        ([[4]], 2.0, r"bits must be an integer from 1 to 64"),
    ],
)
def test_bad_weights(weights: Any, bits: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        RowSampler(weights, bits)


@pytest.mark.parametrize(
    ("codes", "message"),
    [
        (np.array([0, 2, 1, 9], np.uint8), r"from 0 to 1. Got 2, 9 \(2 of 4 are outside\)"),
        (np.array([0, -1]), r"Got -1 \(1 of 2 are outside\)"),
        (np.array([0.0, 1.0]), r"Got dtype float64"),
        (np.array([True, False]), r"Got dtype bool"),
        (np.array(["a"]), r"integer row numbers"),
    ],
)
def test_bad_codes(codes: Any, message: str) -> None:
    sampler = RowSampler([[3, 1], [1, 3]], 2)
    with pytest.raises(InvalidInput, match=message):
        sampler.draw(codes)


def test_bad_targets_words_and_table_sizes() -> None:
    sampler = RowSampler([[3, 1], [1, 3]], 2)
    read_only = np.empty(2, np.uint8)
    read_only.setflags(write=False)
    for out, message in [
        (np.empty(3, np.uint8), "of shape"),
        (np.empty(2, np.int8), "holds every uint8"),
        (read_only, "writable"),
        (np.empty(4, np.uint8)[::2], "C-contiguous"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            sampler.draw([0, 1], out=out)
    with pytest.raises(InvalidInput, match="one for each of the 2 codes"):
        sampler.draw_from_words([0, 1], [3])
    with pytest.raises(InvalidInput, match=r"below 2\*\*2. Got 4"):
        sampler.draw_from_words([0, 1], [3, 4])
    for first_bits in (-1, 17):
        with pytest.raises(InvalidInput, match="first_bits must be from 0 to 16"):
            RowSampler([[3, 1]], 2, first_bits=first_bits)
    assert repr(sampler) == "RowSampler(2 rows, 2 outcomes, bits=2)"
