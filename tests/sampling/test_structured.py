"""The structured sampler: common law plus diagonal, to the last word and without a matrix."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from leakwise.errors import InvalidInput
from leakwise.sampling import SecureStream, StructuredSampler

# A right sampler fails a goodness-of-fit test of this file once in a million runs.
FALSE_ALARM = 1e-6

LAWS = [
    (1, [1, 1, 1], -1),
    (3, [1, 1, 1], 5),
    (3, [0, 0], 8),
    (3, [0, 3, 0, 1, 0], 4),
    (3, [2, 2, 2, 2], 0),
    (3, [5, 0, 3, 0], 0),
    (4, [16], 0),
    (4, [9], 7),
    (4, [20], -4),
    (4, [16, 16], -16),
    (4, [10, 8], -2),
    (6, [4, 9, 33, 5, 17], -4),
    (6, [13, 13, 13, 13, 13], -1),
    (6, [5, 5, 59], -5),
    (6, [59, 5, 5], -5),
    (10, [1, 0, 500, 23, 17], 483),
    (10, [171] * 6, -2),
    (10, [296, 4, 728], -4),
]


def matrix_row(common: list[int], diagonal: int, row: int) -> list[int]:
    return [weight + diagonal * (row == j) for j, weight in enumerate(common)]


@st.composite
def laws(draw: st.DrawFn, most_bits: int) -> tuple[int, list[int], int]:
    bits = draw(st.integers(1, most_bits))
    letters = draw(st.integers(1, 6))
    total = 1 << bits
    if letters > 1 and draw(st.booleans()):
        # N weights of total 2**bits + cut, each at least cut: this much is left to share out.
        cut = draw(st.integers(0, total // (letters - 1)))
        left = total - (letters - 1) * cut
        edges = [0, *sorted(draw(st.integers(0, left)) for _ in range(letters - 1)), left]
        return bits, [b - a + cut for a, b in pairwise(edges)], -cut
    cuts = sorted(draw(st.integers(0, total)) for _ in range(letters))
    if draw(st.booleans()):  # equal weights
        each = cuts[0] // letters
        return bits, [each] * letters, total - each * letters
    edges = [0, *cuts]
    return bits, [b - a for a, b in pairwise(edges)], total - cuts[-1]


def assert_exact(bits: int, common: list[int], diagonal: int, guide_bits: int | None) -> None:
    sampler = StructuredSampler(np.array(common), diagonal, bits, guide_bits=guide_bits)
    words = np.arange(1 << bits)
    for row in range(len(common)):
        drawn = sampler.draw_from_words(np.full(words.size, row), words)
        assert np.bincount(drawn, minlength=len(common)).tolist() == matrix_row(common, diagonal, row)


@pytest.mark.parametrize("guide_bits", [None, 1, 2, 4, 24])
@pytest.mark.parametrize(("bits", "common", "diagonal"), LAWS)
def test_walk_through_all_words_gives_the_weights(
    bits: int, common: list[int], diagonal: int, guide_bits: int | None
) -> None:
    assert_exact(bits, common, diagonal, guide_bits)


@given(law=laws(8), guide_bits=st.none() | st.integers(1, 8))
def test_every_law_is_met_exactly(law: tuple[int, list[int], int], guide_bits: int | None) -> None:
    assert_exact(*law, guide_bits)


@pytest.mark.parametrize("guide_bits", [None, 1, 4])
@pytest.mark.parametrize(("bits", "common", "diagonal"), LAWS)
def test_draw_itself_walks_through_all_words(
    tools: Any, bits: int, common: list[int], diagonal: int, guide_bits: int | None
) -> None:
    sampler = StructuredSampler(np.array(common), diagonal, bits, guide_bits=guide_bits)
    for row in range(len(common)):
        drawn = sampler.draw(np.full(1 << 16, row, np.uint16), stream=tools.walk())
        expected = [weight << (16 - bits) for weight in matrix_row(common, diagonal, row)]
        assert np.bincount(drawn, minlength=len(common)).tolist() == expected


def assert_wide(tools: Any, bits: int, common: list[int], diagonal: int, guide_bits: int | None) -> None:
    sampler = StructuredSampler(np.array(common, dtype=object), diagonal, bits, guide_bits=guide_bits)
    for row in range(len(common)):

        def outcome(word: int, row: int = row) -> int:
            return int(sampler.draw_from_words([row], np.array([word], np.uint64))[0])

        # The letter rises over the words, but for those that stay and those that a cut gives to the last letter.
        begin = sum(common[:row])
        if diagonal >= 0:
            cuts = [0, sum(common), 1 << bits]
        elif row < len(common) - 1:
            cuts = [0, begin, begin - diagonal, 1 << bits]
        else:
            cuts = [0, 1 << bits]
        assert tools.law(outcome, cuts, len(common)) == matrix_row(common, diagonal, row)


@given(law=laws(64), guide_bits=st.sampled_from([None, 1, 5]))
def test_wide_laws_are_met_exactly(tools: Any, law: tuple[int, list[int], int], guide_bits: int | None) -> None:
    assert_wide(tools, *law, guide_bits)


@pytest.mark.parametrize("guide_bits", [None, 3])
@pytest.mark.parametrize(
    ("common", "diagonal"),
    [
        ([0, 0, 0], 2**64),
        ([2**64, 0], 0),
        ([2**64], 0),
        ([2**64, 2**64], -(2**64)),
        ([2**64, 1], -1),
        ([1, 2**64], -1),
        ([2**63, 2**63], 0),
        ([2**63, 2**63, 2**63], -(2**63)),
        ([(2**64 - 1) // 17] * 17, 1),
        ([(2**64 - 1) // 17 + 1] * 17, -16),
        ([5, 2**64 - 5, 5], -5),
    ],
)
def test_full_width(tools: Any, common: list[int], diagonal: int, guide_bits: int | None) -> None:
    assert_wide(tools, 64, common, diagonal, guide_bits)


def weights_near(letters: int, bits: int, seed: int) -> NDArray[np.int64]:
    """Weights within a factor of three of one another, of total close to 2**bits."""
    mean = (1 << bits) // letters
    weights = np.random.default_rng(seed).integers(mean // 2, mean + mean // 2, letters)
    return weights + ((1 << bits) - int(weights.sum())) // letters


@pytest.mark.parametrize("kind", ["response", "rather not itself", "positive", "negative", "zeros"])
def test_goodness_of_fit_at_a_million_draws(tools: Any, kind: str) -> None:
    letters, bits = 50, 60
    common = weights_near(letters, bits, seed=1)
    if kind == "response":
        common = np.full(letters, (1 << 59) // letters)
    elif kind == "rather not itself":
        common = np.full(letters, (2 << bits) // (2 * letters - 1))  # its own letter half as likely as another
    elif kind == "positive":
        common //= 3
    elif kind == "negative":
        cut = int(common.min()) // 2
        common[7] += (1 << bits) + cut - int(common.sum())
    else:
        common[::2] = 0
    diagonal = (1 << bits) - int(common.sum())
    sampler = StructuredSampler(common, diagonal, bits)
    codes = (np.arange(1_000_000) % letters).astype(np.uint8)
    drawn = sampler.draw(codes)
    counts = np.bincount(codes.astype(np.intp) * letters + drawn, minlength=letters**2)
    law = common[None, :] / 2.0**bits + np.eye(letters) * (diagonal / 2.0**bits)
    assert tools.p_value(counts.reshape(letters, letters), law) > FALSE_ALARM


def test_a_letter_that_is_never_itself() -> None:
    codes = np.arange(170_000) % 17
    for guide_bits in (None, 2):
        drawn = StructuredSampler([1] * 17, -1, 4, guide_bits=guide_bits).draw(codes)
        assert not (drawn == codes).any()
        assert set(drawn) == set(range(17))


@pytest.mark.parametrize("kind", ["response", "rather not itself", "positive", "negative"])
def test_a_million_letters_in_linear_memory(kind: str) -> None:
    letters, bits = 1_000_000, 60
    if kind == "response":
        common = np.full(letters, (1 << 59) // letters)
    elif kind == "rather not itself":
        common = np.full(letters, (2 << bits) // (2 * letters - 1))
    else:
        common = weights_near(letters, bits, seed=2)
        common[-1] += (1 << bits) - int(common.sum()) + int(common.min()) // 2
        if kind == "positive":
            common //= 2
    diagonal = (1 << bits) - int(common.sum())
    sampler = StructuredSampler(common, diagonal, bits)
    assert sampler.nbytes <= 32 * letters
    codes = np.random.default_rng(3).integers(0, letters, 200_000).astype(np.uint32)
    drawn = sampler.draw(codes)
    assert drawn.dtype == np.uint32
    assert drawn.max() < letters
    # Hoeffding: off by this much with probability at most 2 exp(-2 * 200_000 * 0.006**2) < 1.2e-6.
    stay = float((common[codes] + diagonal).mean()) / 2.0**bits
    assert abs((drawn == codes).mean() - stay) < 0.006


def test_shapes_and_targets() -> None:
    common = [5, 9, 33, 4, 17]
    for sampler in (StructuredSampler(common, -4, 6), StructuredSampler([9] * 5, 19, 6)):
        codes = np.random.default_rng(2).integers(0, 5, 300_000).astype(np.uint8)
        expected = sampler.draw(codes, SecureStream(unsafe_seed=1))
        in_place = codes.copy()
        assert sampler.draw(in_place, SecureStream(unsafe_seed=1), out=in_place) is in_place
        assert (in_place == expected).all()
        memory = np.append(np.uint8(0), codes)
        assert (sampler.draw(memory[1:], SecureStream(unsafe_seed=1), out=memory[:-1]) == expected).all()
        for dtype in (np.int8, np.int64, np.uint64):
            assert (sampler.draw(codes.astype(dtype), SecureStream(unsafe_seed=1)) == expected).all()
        assert sampler.draw(codes.reshape(3, -1)).shape == (3, 100_000)
        assert sampler.draw([]).size == 0
        assert sampler.draw_from_words([], []).size == 0
    assert repr(sampler) == "StructuredSampler(5 letters, diagonal=19, bits=6)"


@pytest.mark.parametrize(
    ("common", "diagonal", "bits", "message"),
    [
        ([1, 1], 1, 2, r"sum\(common\) \+ diagonal must be 2\*\*2 = 4. Got 3"),
        ([5, 1], -2, 2, r"must not be negative. Got 1 \+ \(-2\)"),
        (np.array([2**64, 1], dtype=object), -2, 64, r"Got 18446744073709551615"),
        (np.array([2**64, 1, 1], dtype=object), -2, 64, r"must not be negative. Got 1 \+ \(-2\)"),
        ([5, -1], 0, 2, r"must not be negative. Got -1"),
        ([2.0, 2.0], 0, 2, r"must be integers"),
        ([2, 2], 0.0, 2, r"diagonal must be an integer. Got 0.0"),
        ([[2, 2]], 0, 2, r"1 dimension"),
        ([], 4, 2, r"non-empty"),
        ([2, 2], 0, 0, r"bits must be an integer from 1 to 64"),
    ],
)
def test_bad_laws(common: Any, diagonal: Any, bits: int, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        StructuredSampler(common, diagonal, bits)


def test_bad_codes_words_and_guides() -> None:
    sampler = StructuredSampler([1, 1], 2, 2)
    with pytest.raises(InvalidInput, match=r"from 0 to 1\. Got 2"):
        sampler.draw([0, 2])
    with pytest.raises(InvalidInput, match=r"below 2\*\*2. Got 4"):
        sampler.draw_from_words([0], [4])
    with pytest.raises(InvalidInput, match="guide_bits must be from 1 to 24"):
        StructuredSampler([1, 1], 2, 2, guide_bits=0)
